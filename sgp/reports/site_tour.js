// The tour as a page: its stops one below another, the choices that redraw a stop, and the presenter's view of one stop.

const stops = JSON.parse(document.getElementById("stops").textContent);
const sections = [...document.querySelectorAll(".stop")];
const presenter = document.getElementById("present");
let presented = -1; // the index of the only stop that is shown; -1: all are

for (const section of sections) {
  const row = section.querySelector(".row");
  const choice = section.querySelector("select");
  const show = () => {
    const stop = stops[Number(row.dataset.stop) + (choice?.selectedIndex ?? 0)];
    section.querySelector(".words").textContent = stop.words;
    drawStop(row, stop);
  };
  choice?.addEventListener("change", show);
  show();
}

/** Presents a stop alone, or shows all (-1). */
function presentStop(place) {
  const left = presented;
  presented = place;
  document.body.classList.toggle("presenting", place >= 0);
  sections.forEach((section, index) => {
    section.hidden = place >= 0 && index !== place;
    section.querySelector(".row").classList.toggle("present", place >= 0);
  });
  history.replaceState(null, "", place < 0 ? location.pathname : `#present=${place + 1}`);
  if (place >= 0) scrollTo(0, 0);
  else sections[left]?.scrollIntoView();
}

/** The stop that is read: the first whose end is below the middle of the window. */
const read = () => Math.max(0, sections.findIndex((section) => section.getBoundingClientRect().bottom > innerHeight / 2));

function go(step) {
  const place = (presented < 0 ? read() : presented) + step;
  if (!(place in sections)) return;
  if (presented < 0) sections[place].scrollIntoView();
  else presentStop(place);
}

presenter.hidden = false;
presenter.addEventListener("click", () => presentStop(0));
hearKeys(() => sections[presented < 0 ? read() : presented], () => true, go, (shown) => {
  if (shown !== presented >= 0) presentStop(shown ? read() : -1);
});
const named = Number.parseInt(new URLSearchParams(location.hash.slice(1)).get("present"), 10);
if (named - 1 in sections) presentStop(named - 1);
