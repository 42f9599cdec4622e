// At every so many steps of a player: for the marks of the predicted and the chosen successor on the map, and for their labels, how many pixels
// each paints and how many of these are seen: inside the frame, with nothing drawn above. Of a label these are the pixels of its letters' box.
async (every) => {
  const svg = document.querySelector(".map svg.points");
  const [range, frame] = [document.querySelector("input[type=range]"), svg.getBoundingClientRect()];
  const isText = (each) => each.tagName === "text";
  const boxOf = (each) => {
    const { left, top, right, bottom } = each.getBoundingClientRect();
    if (isText(each)) return [left, top + 3, right, bottom - (/[a-z]/.test(each.textContent) ? 1 : 4)]; // digits end at the base line
    return [left - 1.5, top - 1.5, right + 1.5, bottom + 1.5]; // with half of the stroke
  };
  const paints = ([each, [left, top, right, bottom]], x, y) => {
    if (x < left || y < top || x > right || y > bottom) return false;
    if (isText(each)) return true;
    const point = new DOMPoint(x, y).matrixTransform(each.getScreenCTM().inverse());
    return each.isPointInStroke(point) || (each.getAttribute("fill") !== "none" && each.isPointInFill(point));
  };
  const steps = [];
  for (let at = 0; at < Number(range.max); at += every) {
    range.value = at;
    range.dispatchEvent(new Event("input", { bubbles: true }));
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    if (document.querySelector(".sgp").dataset.step !== String(at)) throw new Error(`step ${at} is not shown`);
    const elements = [...svg.querySelectorAll("path.mark, text")].filter((each) => each.checkVisibility({ visibilityProperty: true }) && (!isText(each) || each.textContent));
    const drawn = elements.reverse().map((each) => [each, boxOf(each)]); // the topmost first
    const point = [...svg.querySelectorAll(".point")].find((each) => each.querySelector(".chosen"));
    const rank = point?.getAttribute("aria-label").match(/\d+/)[0];
    const first = (fits) => drawn.find(([each]) => fits(each));
    const wanted = {
      predicted: first((each) => each.matches(".predicted")),
      chosen: first((each) => each.matches(".ring")) ?? first((each) => each === point?.querySelector(".chosen")),
      predictedLabel: first((each) => each.textContent === "predicted"),
      chosenLabel: first((each) => each.textContent.split(" ").includes(`${rank}✔`)),
    };
    steps.push(Object.fromEntries(Object.entries(wanted).map(([name, found]) => {
      let [painted, seen] = [0, 0];
      const [left, top, right, bottom] = found?.[1] ?? [0, 0, 0, 0];
      for (let y = Math.floor(top) + 0.5; y < bottom; y += 1)
        for (let x = Math.floor(left) + 0.5; x < right; x += 1) {
          if (!paints(found, x, y)) continue;
          painted += 1;
          const inside = x >= frame.left && x <= frame.right && y >= frame.top && y <= frame.bottom;
          if (inside && drawn.find((each) => paints(each, x, y)) === found) seen += 1;
        }
      return [name, [painted, seen]];
    })));
  }
  return steps;
}
