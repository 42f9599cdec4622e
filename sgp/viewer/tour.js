// A stop of the tour: drawings made and escaped by our Python, rows of bars, and the keys for the stops before and after.

const STEPS = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 };
const COLOURS = { more: "#0072b2", less: "#d55e00", other: "#8a8f98" }; // Okabe and Ito; the numbers say the same
const mounted = new WeakMap(); // Streamlit calls again for the same element on every rerun

function box(tag, className, ...children) {
  const element = document.createElement(tag);
  element.className = className;
  element.append(...children); // strings become text nodes
  return element;
}

function figure(kind, title, content) {
  return box("figure", kind, ...(title ? [box("figcaption", "", title)] : []), content);
}

function drawing(text) {
  return document.importNode(new DOMParser().parseFromString(text, "image/svg+xml").documentElement, true);
}

/** A table of rows: label, words, a bar for each value on a common scale, the values, a note. */
function barTable(rows) {
  const values = rows.flatMap((row) => row.values);
  const low = Math.min(0, ...values);
  const span = Math.max(0, ...values) - low || 1;
  const ranked = rows.some((row) => "chosen" in row);
  const bar = (row, value, place) => {
    const element = box("div", "bar");
    const colour = row.fill ?? (ranked ? (row.chosen ? COLOURS.more : COLOURS.other) : value < 0 ? COLOURS.less : COLOURS.more);
    const [left, width] = [(100 * (Math.min(value, 0) - low)) / span, (100 * Math.abs(value)) / span];
    Object.assign(element.style, { marginLeft: `${left}%`, width: `max(1px, ${width}%)`, background: colour, opacity: place ? 0.4 : 1 });
    return element;
  };
  const lines = rows.map((row) =>
    box("tr", row.chosen ? "chosen" : "",
      box(row.label ? "th" : "td", "", row.label),
      box("td", "words", row.words),
      box("td", "bars", ...row.values.map((value, place) => bar(row, value, place))),
      box("td", "numbers", ...row.shown.map((each) => box("div", "", each))),
      box("td", "note", row.note ?? ""))); // prettier-ignore
  return box("table", ranked ? "ranked" : rows.length > 12 ? "many" : "", box("tbody", "", ...lines));
}

/** Draw a stop, which has the fields of `Stop` in tour.py, into an element of class `row`. */
function drawStop(row, { scenes, graph, bars, heading }) {
  const chart = graph ? drawing(graph) : bars.length ? barTable(bars) : null;
  row.classList.toggle("both", scenes.length > 0 && chart !== null);
  const pictures = box("div", "scenes", ...scenes.map(([title, picture]) => figure("scene", title, drawing(picture))));
  row.replaceChildren(...(scenes.length ? [pictures] : []), ...(chart ? [figure("chart", heading, chart)] : []));
}

export default ({ data: bytes, parentElement, setTriggerValue }) => {
  drawStop(parentElement.querySelector(".row"), JSON.parse(new TextDecoder().decode(bytes)));
  const known = mounted.has(parentElement);
  mounted.set(parentElement, setTriggerValue);
  if (known) return;
  document.addEventListener("keydown", function onKey(event) {
    if (!parentElement.isConnected) return document.removeEventListener("keydown", onKey);
    const target = event.composedPath()[0];
    if (!(event.key in STEPS) || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName)) return;
    event.preventDefault();
    mounted.get(parentElement)("go", STEPS[event.key]);
  });
};
