() => {
  const host = document.querySelector("[data-testid=stBidiComponentRegular]") ?? document;
  const inside = [host, ...[...host.querySelectorAll("*")].map((each) => each.shadowRoot).filter(Boolean)];
  const words = inside.flatMap((root) => [...root.querySelectorAll(".row svg text, .row td, .row figcaption")]);
  return words.filter((each) => each.textContent.trim() && each.closest("figure.chart, figcaption")).map((each) => {
    const scale = each.getScreenCTM ? each.getScreenCTM().d : 1;
    return parseFloat(getComputedStyle(each).fontSize) * scale;
  });
}
