// The tree of branches (data: branches.py): a button for each, with its line from the step where it leaves its parent.

const [WIDTH, HEIGHT] = [380, 30];

const svg = (tag, attributes) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
  return element;
};

function cell(className, words) {
  const element = document.createElement("span");
  element.className = className;
  element.textContent = words;
  return element;
}

export default ({ data: bytes, parentElement, setTriggerValue }) => {
  const { rows, shown } = JSON.parse(new TextDecoder().decode(bytes));
  const longest = Math.max(1, ...rows.map((row) => row.steps));
  const x = (step) => 8 + ((WIDTH - 24) * step) / longest;
  const colour = (row) => (row.outcome === "solved" ? "#0072b2" : "#d55e00"); // Okabe and Ito; a sign says the same
  const placeOf = (branch) => rows.findIndex((row) => row.branch === branch);

  /** The line of a row, and the parts of the lines to branches below that cross it. */
  function lines(row, place) {
    const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT, "aria-hidden": "true" });
    const line = (x1, y1, x2, y2, stroke, width) => picture.append(svg("line", { x1, y1, x2, y2, stroke, "stroke-width": width }));
    rows.forEach((other, below) => {
      const above = placeOf(other.parent);
      if (above < 0 || place < above || place > below) return;
      const [from, to] = [place === above ? HEIGHT / 2 : 0, place === below ? HEIGHT / 2 : HEIGHT];
      line(x(other.start), from, x(other.start), to, colour(other), 2);
    });
    line(x(row.start), HEIGHT / 2, x(row.steps), HEIGHT / 2, colour(row), 4);
    picture.append(svg("circle", { cx: x(row.start), cy: HEIGHT / 2, r: 4, fill: colour(row) }));
    const sign = row.outcome === "solved" ? "M-5 0l4 5 7-10" : "M-5-5l10 10M5-5l-10 10";
    picture.append(svg("path", { d: sign, transform: `translate(${x(row.steps)} ${HEIGHT / 2})`, fill: "none", stroke: colour(row), "stroke-width": 3 }));
    return picture;
  }

  const heads = document.createElement("div");
  heads.className = "row heads";
  const titles = [["", `decisions, 0 to ${longest}`], ["", "override"], ["", "outcome"], ["number", "actions"], ["number", "open goals"]];
  heads.append(...titles.map((title) => cell(...title)));
  const buttons = rows.map((row, place) => {
    const button = document.createElement("button");
    button.className = "row";
    button.dataset.branch = row.branch;
    button.setAttribute("aria-pressed", String(row.branch === shown));
    const outcome = `${row.outcome === "solved" ? "✔" : "✕"} ${row.ending}`;
    button.append(lines(row, place), cell("", row.words), cell("", outcome), cell("number", row.actions), cell("number", row.open));
    button.addEventListener("click", () => setTriggerValue("shown", row.branch));
    return button;
  });
  const box = parentElement.querySelector(".tree");
  const focused = buttons.find((each) => each.dataset.branch === box.getRootNode().activeElement?.dataset.branch);
  box.replaceChildren(heads, ...buttons);
  focused?.focus({ preventScroll: true });
};
