// What is built with: elements, numbers and words, icons, drawings. Names come from outside: they become text nodes,
// never markup. Drawings are made and escaped by our Python.

const SVG = "http://www.w3.org/2000/svg";

/** A sign for the end of a rollout, and the words for it. */
const endOf = ({ outcome, ending }) => (outcome === "solved" ? ["✔", ending] : ["✕", `unsolved: ${ending}`]);

function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children); // strings become text nodes
  return element;
}

function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function number(value) {
  if (value === null) return "∞";
  const size = Math.abs(value);
  const digits = size >= 1000 ? size.toFixed(0) : size >= 0.001 || size === 0 ? size.toFixed(3) : size.toPrecision(2);
  return value < 0 ? `−${digits}` : digits;
}

const MOST_DECIMALS = 6;

/** How to write numbers so that different ones among these look different, if six decimals are enough. */
function numbersApart(values) {
  const different = [...new Set(values.filter((each) => each !== null).map((each) => each.toFixed(MOST_DECIMALS)))].map(Number);
  if (new Set(different.map(number)).size === different.length) return number;
  let decimals = 1;
  while (decimals < MOST_DECIMALS && new Set(different.map((each) => each.toFixed(decimals))).size < different.length) decimals += 1;
  return (value) => (value === null ? number(value) : value.toFixed(decimals).replace("-", "−"));
}

// Drawn, because fonts lack the signs of a player.
const ICONS = { first: "M3 2v12M13 2 5 8l8 6z", back: "M12 2 4 8l8 6z", play: "M4 2v12l9-6z", pause: "M4 2h3v12H4zM9 2h3v12H9z",
  next: "M4 2v12l8-6z", end: "M13 2v12M3 2v12l8-6z" }; // prettier-ignore
const icon = (name) =>
  s("svg", { viewBox: "0 0 16 16", width: 13, height: 13, class: "icon", "aria-hidden": "true" }, s("path", { d: ICONS[name] }));

const badge = (symbol, words, title = null) => h("span", { class: "badge", title }, `${symbol} ${words}`);
const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

const signed = (value) => (value < 0 ? number(value) : `+${number(value)}`);
const short = (value) => (Number.isInteger(value) && value >= 0 ? String(value) : number(value));
const button = (content, title, onclick) => h("button", { type: "button", title, "aria-label": title, onclick }, content);

const EDGE = 8; // units of its margin that are cut off

/** A drawing of our Python: its elements' places in the rollout's list, joined to one SVG. */
function parseDrawing(elements, places) {
  const text = places.map((each) => elements[each]).join("");
  const drawing = document.importNode(new DOMParser().parseFromString(text, "image/svg+xml").documentElement, true);
  const { width, height } = drawing.viewBox.baseVal;
  drawing.setAttribute("viewBox", `${EDGE} ${EDGE} ${width - 2 * EDGE} ${height - 2 * EDGE}`);
  return drawing;
}

const MARGINS = 44; // units of a drawing: about what the margins of a panel take
const WIDE = 1.4; // times as wide as high: such drawings stand below each other where there is little room

/** The state's and the goal's place beside or below each other, as the first state and the goal are shaped; texts below. */
function picturePair(titles, pictures, drawings, below = ["", ""]) {
  const shapes = drawings.map((drawing) => drawing.viewBox.baseVal.width / drawing.viewBox.baseVal.height);
  pictures.forEach((picture, place) => picture.style.setProperty("--aspect", shapes[place].toFixed(3)));
  const pair = h("div", { class: `pictures ${Math.min(...shapes) >= WIDE ? "wide" : ""}` },
    ...pictures.map((picture, place) => h("section", {}, titles[place], picture, below[place]))); // prettier-ignore
  const widths = drawings.map((drawing) => drawing.viewBox.baseVal.width + MARGINS);
  const share = Math.max(0.62, Math.min(0.75, widths[0] / (widths[0] + widths[1]))); // of the width that is the state's
  pair.style.setProperty("--columns", `minmax(0, ${share.toFixed(2)}fr) minmax(0, ${(1 - share).toFixed(2)}fr)`);
  return pair;
}
