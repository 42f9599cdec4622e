// A stop of the tour: drawings made and escaped by our Python, rows of bars, a decision as in the player, a question with its folded answer, and the keys.

const STEPS = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 };
const COLOURS = { more: "#0072b2", less: "#d55e00" }; // Okabe and Ito; the numbers say the same
const mounted = new WeakMap(); // Streamlit calls again for the same element on every rerun

const box = (tag, className, ...children) => h(tag, { class: className }, ...children);

function figure(kind, title, content) {
  return box("figure", kind, ...(title ? [box("figcaption", "", title)] : []), content);
}

function drawing(text) {
  return document.importNode(new DOMParser().parseFromString(text, "image/svg+xml").documentElement, true);
}

/** A table of rows: label, words, a bar for each value on a common scale, the values. */
function barTable(rows) {
  const values = rows.flatMap((row) => row.values);
  const low = Math.min(0, ...values);
  const span = Math.max(0, ...values) - low || 1;
  const bar = (row, value, place) => {
    const element = box("div", "bar");
    const colour = row.fill ?? (value < 0 ? COLOURS.less : COLOURS.more);
    const [left, width] = [(100 * (Math.min(value, 0) - low)) / span, (100 * Math.abs(value)) / span];
    Object.assign(element.style, { marginLeft: `${left}%`, width: `max(1px, ${width}%)`, background: colour, opacity: place ? 0.4 : 1, outline: place ? "1px solid currentColor" : "" });
    return element;
  };
  const lines = rows.map((row) =>
    h("tr", {},
      box(row.label ? "th" : "td", "", row.label),
      box("td", "words", row.words),
      box("td", "bars", ...row.values.map((value, place) => bar(row, value, place))),
      box("td", "numbers", ...row.shown.map((each) => box("div", "", each))))); // prettier-ignore
  return box("table", rows.length > 12 ? "many" : "", box("tbody", "", ...lines));
}

/** A decision of a rollout as the player shows it: candidates, ruler, and lanes, or the map if `mapped`. */
function drawDecision({ rollout, at, mapped }) {
  const step = rollout.steps[at];
  const name = (candidate) => candidate.actions.map((each) => rollout.actions[each]).join(" ");
  const root = box("div", "sgp");
  let picked = null;
  const pick = (rank) => render((picked = rank));
  const pickBeside = (direction) => step.candidates[(picked ?? step.chosen) + direction] && pick((picked ?? step.chosen) + direction);
  const table = candidatesTable({ beam: step.path !== undefined, bounds: hasBounds(rollout), name, inWords: () => null, pick, pickBeside, point: () => null, showAll: () => null });
  const ruler = drawRuler(rollout, { name, pick });
  const map = mapped && drawMap(rollout, { name, pick, point: () => null, zoomed: true });
  const lanes = !mapped && drawLanes(rollout, { visit: () => null });
  function render() {
    const rank = picked ?? step.chosen;
    table.render(step, at + 1, { picked, pointed: null, shown: rank, all: true });
    [ruler, map || lanes].forEach((each) => each.show(at, rank));
  }
  if (lanes && !lanes.element.hidden) ruler.element.append(lanes.element, box("p", "faint", LANES_LEGEND));
  root.append(h("style", {}, STYLE), box("div", "decision", map ? map.element : "", box("div", "", table.element, ruler.element)));
  render();
  return root;
}

/** A question, and its answer in a fold; `open` if it is shown. */
function questionBox(question, answer, open) {
  const fold = box("details", "question", box("summary", "", question), box("p", "", answer));
  fold.open = open;
  return fold;
}

const FEW_BARS = 4; // stand below the pictures, which are larger then

/** Draw a stop, which has the fields of `Stop` in tour.py, into an element of class `row`; if the question is "", another one is asked above it. */
function drawStop(row, { scenes, graph, bars, decision, heading, question, answer }) {
  const chart = graph ? drawing(graph) : decision ? drawDecision(decision) : bars.length ? barTable(bars) : null;
  row.classList.toggle("both", scenes.length > 0 && chart !== null);
  row.classList.toggle("few", !graph && bars.length > 0 && bars.length <= FEW_BARS);
  row.classList.toggle("asked", !question);
  const many = scenes.length > 2;
  const pictures = box("div", many ? "scenes many" : "scenes", ...scenes.map(([title, picture]) => figure("scene", title, drawing(picture))));
  const before = row.querySelector(".question");
  const open = Boolean(before?.open) && before.firstChild.textContent === question;
  row.replaceChildren(...(scenes.length ? [pictures] : []), ...(chart ? [figure("chart", heading, chart)] : []),
    ...(question ? [questionBox(question, answer, open)] : [])); // prettier-ignore
  if (decision) followTheme(chart);
}

/** Hears the keys of the stops: `go` of a step forward or back, `present` of p and (false) of Escape; a folds the answer. */
function hearKeys(root, connected, go, present) {
  document.addEventListener("keydown", function onKey(event) {
    if (!connected()) return document.removeEventListener("keydown", onKey);
    const target = event.composedPath()[0];
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName)) return;
    const fold = root().querySelector(".question");
    if (event.key in STEPS) go(STEPS[event.key]);
    else if (event.key === "p" || event.key === "Escape") present(event.key === "p");
    else if (event.key === "a" && fold) {
      fold.open = !fold.open;
      fold.scrollIntoView({ block: "nearest" });
    } else return;
    event.preventDefault();
  });
}

export default ({ data: bytes, parentElement, setTriggerValue }) => {
  const row = parentElement.querySelector(".row");
  const stop = JSON.parse(new TextDecoder().decode(bytes));
  row.classList.toggle("present", stop.present);
  drawStop(row, stop);
  const known = mounted.has(parentElement);
  mounted.set(parentElement, setTriggerValue);
  if (known) return;
  const report = (name) => (value) => mounted.get(parentElement)(name, value);
  hearKeys(() => row, () => parentElement.isConnected, report("go"), report("present"));
};
