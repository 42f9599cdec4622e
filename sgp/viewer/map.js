// The embedding in two dimensions: training data, the path so far, the predicted point, the candidates of a step.

const MAP = { width: 400, height: 270, margin: 12 };
const SHAPES = {
  state: "M-4.5-4.5h9v9h-9z",
  predicted: "M0-6.5 6.5 0 0 6.5-6.5 0z",
  candidate: "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
  chosen: "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z",
};
const LOOKS = {
  state: { fill: "var(--ink)", stroke: "var(--paper)" },
  predicted: { fill: "none", stroke: "var(--orange)", "stroke-width": 2 },
  candidate: { fill: "var(--paper)", stroke: "var(--ink)", "stroke-width": 1.5 },
  chosen: { fill: "var(--blue)", stroke: "var(--paper)" },
};
const shape = (name) => s("path", { d: SHAPES[name], class: "mark", ...LOOKS[name] });

/** The embedding in two dimensions; returns what moves it to a step. `name` says a candidate's actions. */
function drawMap(box, rollout, { name, pick }) {
  const map = rollout.map;
  if (!map?.steps) {
    box.append(h("h3", {}, "Embedding map"), h("p", { class: "faint" }, `None: ${map?.missing ?? "no map was made"}.`));
    return () => {};
  }
  const states = map.of === "states";
  const projections = map.umap ? ["UMAP", "PCA"] : ["PCA"];
  const share = Math.round(100 * (map.explained[0] + map.explained[1]));
  // The chosen point lies above the others.
  const order = map.steps.map((step, place) => [...step.candidates].sort((one, two) => (one[0] === rollout.steps[place].chosen) - (two[0] === rollout.steps[place].chosen)));
  const all = [...map.context];
  for (const step of map.steps) all.push(...[step.state, step.predicted].filter(Boolean), ...step.candidates.map((each) => each.slice(1)));
  let projection = projections[0];
  let shown = [0, null];
  let place = () => [0, 0];
  let path = [];

  const context = s("path", { fill: "none", stroke: "var(--faint)", "stroke-opacity": 0.45, "stroke-width": 3, "stroke-linecap": "round" });
  const line = s("polyline", { fill: "none", stroke: "var(--ink)", "stroke-opacity": 0.55, "stroke-width": 1.5, "stroke-linejoin": "round" });
  const here = s("g", {}, shape("state"));
  const predicted = s("g", {}, s("title", {}, "the predicted next state"), shape("predicted"));
  const most = Math.max(...map.steps.map((step) => step.candidates.length), 0);
  const points = Array.from({ length: most }, () => {
    const point = { element: s("g", { class: "point", tabindex: 0, role: "button" }), rank: 0, kind: "", words: "" };
    point.element.addEventListener("click", () => pick(point.rank));
    point.element.addEventListener("keydown", (event) => event.key === "Enter" && pick(point.rank));
    for (const event of ["pointerenter", "focus"]) point.element.addEventListener(event, () => (said.textContent = point.words));
    return point;
  });
  const drawing = s("svg", { viewBox: `0 0 ${MAP.width} ${MAP.height}`, class: "points", role: "group",
    "aria-label": `Map of the embedding: training ${map.of}, the path so far and the candidates of this step` },
    line, ...points.map((each) => each.element), here, predicted); // prettier-ignore
  const ground = s("svg", { viewBox: `0 0 ${MAP.width} ${MAP.height}`, class: "ground", "aria-hidden": "true" }, context);
  const said = h("p", { class: "said" });
  const buttons = projections.map((each) => h("button", { type: "button", "aria-pressed": "false", onclick: () => choose(each) }, each));
  const caption = h("p", { class: "faint" });
  const key = (kind, words) => h("span", {}, s("svg", { viewBox: "-8 -8 16 16", "aria-hidden": "true" }, shape(kind)), words);
  const grey = s("svg", { viewBox: "-8 -8 16 16", "aria-hidden": "true" }, s("circle", { r: 3, fill: "var(--faint)", "fill-opacity": 0.6 }));
  const way = s("svg", { viewBox: "-8 -8 16 16", "aria-hidden": "true" }, s("path", { d: "M-8 5 0-4 8 3", fill: "none", stroke: "var(--ink)" }));
  const legend = [h("span", {}, grey, `training ${map.of}`), h("span", {}, way, "path so far"), ...(states ? [key("state", "state"), key("predicted", "predicted")] : []),
    key("chosen", "chosen"), key("candidate", "other candidates")]; // prettier-ignore
  box.append(h("h3", {}, h("span", {}, `Embedding of ${map.of}`), ...buttons), h("div", { class: "layers" }, ground, drawing), said, h("p", { class: "legend" }, ...legend), caption);

  function choose(which) {
    projection = which;
    buttons.forEach((button) => button.setAttribute("aria-pressed", String(button.textContent === which)));
    const first = which === "UMAP" ? 2 : 0;
    const [low, high] = [Math.min, Math.max].map((end) => [0, 1].map((axis) => all.reduce((best, each) => end(best, each[first + axis]), all[0][first + axis])));
    const inner = [MAP.width, MAP.height].map((size) => size - 2 * MAP.margin);
    const scale = Math.min(...[0, 1].map((axis) => inner[axis] / (high[axis] - low[axis] || 1)));
    place = (point) => [0, 1].map((axis) => MAP.margin + inner[axis] / 2 + (point[first + axis] - (low[axis] + high[axis]) / 2) * scale);
    context.setAttribute("d", map.context.map((each) => `M${place(each).map((value) => value.toFixed(1)).join(" ")}h0`).join(""));
    path = rollout.steps.map((step, index) => map.steps[index].candidates.find(([rank]) => rank === step.chosen).slice(1));
    if (states && map.steps.length) path.unshift(map.steps[0].state);
    path = path.map((each) => place(each).map((value) => value.toFixed(1)).join(" "));
    const held = which === "PCA" ? `; they hold ${share} % of the training points' variance` : "";
    caption.textContent = `Approximate: two of ${map.dimensions} dimensions${held}. True costs are in the table.${
      states ? "" : " A point is the transition to a candidate; the model learns a direction among them, no point, so none is predicted."}`; // prettier-ignore
    move(...shown);
  }

  const put = (element, point) => {
    element.setAttribute("visibility", point ? "visible" : "hidden");
    if (point) element.setAttribute("transform", `translate(${place(point).join(" ")})`);
  };

  function move(at, rank) {
    shown = [at, rank];
    const step = map.steps[at];
    line.setAttribute("points", path.slice(0, at + (states ? 1 : 0)).join(" "));
    const end = states && !step && map.steps.length ? map.steps[at - 1].candidates.find(([each]) => each === rollout.steps[at - 1].chosen).slice(1) : null;
    put(here, states ? (step?.state ?? end) : null);
    put(predicted, step?.predicted ?? null);
    points.forEach((point, index) => {
      const found = step && order[at][index];
      point.element.style.display = found ? "" : "none";
      if (!found) return;
      const [number_, ...coordinates] = found;
      const candidate = rollout.steps[at].candidates[number_];
      const kind = number_ === rollout.steps[at].chosen ? "chosen" : "candidate";
      if (point.kind !== kind) point.element.replaceChildren(shape(kind));
      point.words = `rank ${candidate.rank}, cost ${number(candidate.cost)}: ${name(candidate)}`;
      Object.assign(point, { rank: number_, kind });
      point.element.setAttribute("aria-label", point.words);
      const picked = number_ === rank && kind !== "chosen";
      point.element.firstChild.setAttribute("stroke", picked ? "var(--orange)" : LOOKS[kind].stroke);
      point.element.firstChild.setAttribute("stroke-width", picked ? 3.5 : (LOOKS[kind]["stroke-width"] ?? 1));
      put(point.element, coordinates);
    });
    said.textContent = points.find((point) => point.rank === rank && point.element.style.display !== "none")?.words ?? "";
  }

  choose(projection);
  return move;
}
