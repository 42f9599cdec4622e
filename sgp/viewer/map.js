// The embedding in two dimensions: training data, the path so far, the predicted point, the candidates of a step.

const MAP = { width: 400, height: 270, margin: 20 }; // a unit has at least one pixel: in a smaller box there are fewer units
const CLOSE = 7; // units of the drawing: dots that lie so close hide each other
const LETTER = 14; // units: the height of the labels' letters, as in the style
const FROM_POINT = [6, 14]; // units between a point and its label
const FROM_PREDICTED = [12, 20, 30];
const LEAST_VIEW = 12; // of the 1000 units of a map: what is closest up
const ARROW = 7; // length of an arrow's head
const SHAPES = {
  state: "M-4.5-4.5h9v9h-9z",
  predicted: "M0-14 14 0 0 14-14 0z", // around a candidate, or a ring, that lies there
  candidate: "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
  chosen: "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z",
  ring: "M-7.5 0a7.5 7.5 0 1 0 15 0a7.5 7.5 0 1 0-15 0z",
  nearest: "M-5-5 5 5M-5 5 5-5",
};
const LOOKS = {
  state: { fill: "var(--ink)", stroke: "var(--paper)" },
  predicted: { fill: "none", stroke: "var(--orange)", "stroke-width": 2.5 },
  candidate: { fill: "var(--paper)", stroke: "var(--ink)", "stroke-width": 1.5 },
  chosen: { fill: "var(--blue)", stroke: "var(--paper)" },
  ring: { fill: "none", stroke: "var(--blue)", "stroke-width": 2 },
  nearest: { fill: "none", stroke: "var(--faint)", "stroke-width": 2 },
};
const shape = (name) => s("path", { d: SHAPES[name], class: `mark ${name}`, ...LOOKS[name] });
const signOf = (content) => s("svg", { viewBox: "-15 -15 30 30", "aria-hidden": "true" }, content);
const atPlace = (values) => values.map((value) => value.toFixed(1)).join(" ");

/**
 * The map; `show(at, rank)` moves it to a step and the candidate that is looked at, `zoom` closes up on the step's points.
 *
 * `name` says a candidate's actions; `pick` hears of a point that is chosen, `point` of one under the pointer (null: none).
 * `zoomed`: close up from the start. Of several maps that look at the same, `linked(what, ...)` calls `choose` (a projection) or `zoom` of each; `visit` hears
 * of a step of the path that is clicked; a click on a point of training says where it comes from.
 */
function drawMap(rollout, { name, pick, point, linked, visit, zoomed = false }) {
  const map = rollout.map;
  const box = h("section", { class: "map" });
  if (!map?.steps) {
    box.append(h("h3", {}, "Embedding map"), h("p", { class: "faint" }, `${(map?.missing ?? "No map available").replace(/^./, (letter) => letter.toUpperCase())}.`));
    return { element: box, show: () => {}, zoom: () => {}, choose: () => {} };
  }
  const states = map.of === "states";
  const projections = map.umap ? ["UMAP", "PCA"] : ["PCA"];
  const share = Math.round(100 * (map.explained[0] + map.explained[1]));
  // The chosen point lies above the others.
  const order = map.steps.map((step, place) => [...step.candidates].sort((one, two) => (one[0] === rollout.steps[place].chosen) - (two[0] === rollout.steps[place].chosen)));
  const chosenPoint = (at) => map.steps[at]?.candidates.find(([rank]) => rank === rollout.steps[at].chosen).slice(1) ?? null;
  const everything = [...map.context];
  for (const step of map.steps) everything.push(...pointsOf(step));
  let projection = projections[0];
  let shown = [0, rollout.steps[0]?.chosen ?? null];
  let close = zoomed; // whether the step's points fill the map
  let place = () => [0, 0];
  let size = [MAP.width, MAP.height]; // of the drawing in units

  const context = s("path", { fill: "none", stroke: "var(--faint)", "stroke-opacity": 0.45, "stroke-width": 3, "stroke-linecap": "round" });
  const line = s("polyline", { fill: "none", stroke: "var(--ink)", "stroke-opacity": 0.55, "stroke-width": 1.5, "stroke-linejoin": "round" });
  const arrow = s("path", { class: "arrow", fill: "none", stroke: "var(--blue)", "stroke-width": 2.5, "stroke-linecap": "round", "stroke-linejoin": "round" });
  const nearest = s("g", {}, s("title", {}, `the nearest of the training ${map.of}`), shape("nearest"));
  const apart = s("path", { fill: "none", stroke: "var(--faint)", "stroke-width": 1.5, "stroke-dasharray": "3 3" });
  const here = s("g", {}, s("title", {}, "the state"), shape("state"));
  const ring = s("g", { class: "coincides" }, s("title", {}, "the chosen state, which lies on the current one"), shape("ring"));
  const predicted = s("g", { class: "prediction" }, s("title", {}, "the predicted next state"), shape("predicted"), s("text", {}));
  const most = Math.max(...map.steps.map((step) => step.candidates.length), 0);
  const points = Array.from({ length: most }, () => {
    const each = { element: s("g", { class: "point", tabindex: 0, role: "button" }), rank: 0, kind: "", words: "" };
    each.label = s("text");
    each.element.addEventListener("click", () => pick(each.rank));
    each.element.addEventListener("keydown", (event) => event.key === "Enter" && pick(each.rank));
    each.element.addEventListener("pointerenter", () => point(each.rank));
    each.element.addEventListener("pointerleave", () => point(null));
    each.element.addEventListener("focus", () => point(each.rank));
    each.element.addEventListener("blur", () => point(null));
    return each;
  });
  const drawing = s("svg", { class: "points", role: "group",
    "aria-label": `Map of the embedding: training ${map.of}, the path so far and the candidates of this step` },
    nearest, arrow, ...points.map((each) => each.element), ring, here, predicted); // prettier-ignore
  const [ground, paths] = [[context], [line, apart]].map((drawn) => s("svg", { class: "ground", "aria-hidden": "true" }, ...drawn));
  const layers = h("div", { class: "layers" }, ground, paths, drawing);
  const notes = h("p", { class: "notes" });
  const buttons = projections.map((each) => h("button", { type: "button", "aria-pressed": "false", onclick: () => (linked ? linked("choose", each) : choose(each)) }, each));
  const closer = h("button", { type: "button", "aria-pressed": String(zoomed), title: "This step's points, or all (m)", onclick: () => (linked ? linked("zoom") : zoom()) }, "zoom");
  const caption = h("p", { class: "faint caption" });
  const chosenSign = signOf(shape("chosen"));
  const key = (sign, words) => h("span", {}, signOf(sign), words);
  const legend = [key(s("circle", { r: 3, fill: "var(--faint)", "fill-opacity": 0.6 }), "training"),
    key(s("path", { d: "M-8 5 0-4 8 3", fill: "none", stroke: "var(--ink)" }), "path"),
    ...(states ? [key(shape("state"), "state"), key(shape("predicted"), "predicted")] : []),
    h("span", {}, chosenSign, "chosen"), key(shape("candidate"), "candidates")]; // prettier-ignore
  box.append(h("h3", {}, h("span", { title: `The embedding of ${map.of} in two dimensions` }, `Map of ${map.of}`), closer, ...buttons), layers,
    notes, h("p", { class: "legend" }, ...legend), caption); // prettier-ignore

  function pointsOf(step) {
    return [...[step.state, step.predicted].filter(Boolean), ...step.candidates.map((each) => each.slice(1))];
  }

  function choose(which) {
    projection = which;
    buttons.forEach((each) => each.setAttribute("aria-pressed", String(each.textContent === which)));
    frame(everything);
    show(...shown);
  }

  /** The drawing has the shape of its box; in a large box its units are larger. */
  function fit() {
    const { clientWidth: width, clientHeight: height } = layers;
    if (!width || !height) return; // hidden
    const unit = Math.max(1, Math.min(width / MAP.width, height / MAP.height)); // pixels
    size = [width / unit, height / unit];
    for (const each of [ground, paths, drawing]) each.setAttribute("viewBox", `0 0 ${atPlace(size)}`);
    frame(everything);
    show(...shown);
  }

  function zoom() {
    close = !close;
    closer.setAttribute("aria-pressed", String(close));
    if (!close) frame(everything);
    show(...shown);
  }

  /** Lets these points fill the drawing. */
  function frame(seen) {
    const first = projection === "UMAP" ? 2 : 0;
    const [low, high] = [Math.min, Math.max].map((end) => [0, 1].map((axis) => seen.reduce((best, each) => end(best, each[first + axis]), seen[0][first + axis])));
    const inner = size.map((each) => Math.max(each - 2 * MAP.margin, 1));
    const scale = Math.min(...[0, 1].map((axis) => inner[axis] / Math.max(high[axis] - low[axis], LEAST_VIEW)));
    place = (each) => [0, 1].map((axis) => MAP.margin + inner[axis] / 2 + (each[first + axis] - (low[axis] + high[axis]) / 2) * scale);
    context.setAttribute("d", map.context.map((each) => `M${atPlace(place(each))}h0`).join(""));
  }

  const put = (element, found) => {
    element.setAttribute("visibility", found ? "visible" : "hidden");
    if (found) element.setAttribute("transform", `translate(${place(found).join(" ")})`);
  };
  const between = (one, other) => Math.hypot(...place(one).map((value, axis) => value - place(other)[axis]));

  /** The points of the path so far: of states that in which each step is decided, else each transition. */
  function pathTo(at) {
    const path = map.steps.slice(0, at).map((_, index) => chosenPoint(index));
    if (states && map.steps.length) path.unshift(map.steps[0].state);
    return path;
  }

  /** A click visits a step of the path, where the host wants that, or says what a point of training is. */
  function clicked(event) {
    if (event.target.closest(".point")) return;
    const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(drawing.getScreenCTM().inverse());
    const closest = (points) => {
      const away = points.map((each) => Math.hypot(place(each)[0] - x, place(each)[1] - y));
      const first = away.indexOf(Math.min(...away));
      return away[first] < CLOSE ? first : null;
    };
    const [step, point] = [visit ? closest(pathTo(shown[0])) : null, map.training ? closest(map.context) : null];
    if (step !== null) visit(step);
    else if (point !== null) {
      put(nearest, map.context[point]);
      notes.textContent = notes.title = wordsOnTraining(point);
    }
  }

  function wordsOnTraining(point) {
    const [problem, before, actions] = map.training.points[point];
    const where = `${map.training.problems[problem]} after ${plural(before, "action")} of the expert's plan`;
    return states ? `Training (×): the state of ${where}.` : `Training (×): ${map.training.actions[actions]} in ${where}.`;
  }

  function show(at, rank) {
    shown = [at, rank];
    const step = map.steps[at];
    if (close) frame(step ? pointsOf(step) : everything);
    const path = pathTo(at);
    line.setAttribute("points", path.map((each) => atPlace(place(each))).join(" "));
    const state = states ? (step?.state ?? chosenPoint(at - 1)) : null;
    const chosen = step ? chosenPoint(at) : null;
    put(here, state);
    put(predicted, step?.predicted ?? null);
    const coincides = Boolean(state && chosen && between(state, chosen) < CLOSE);
    put(ring, coincides ? chosen : null);
    chosenSign.replaceChildren(shape(coincides ? "ring" : "chosen"));
    showNearest(step, state ?? chosen);
    points.forEach((each, index) => showPoint(each, step && order[at][index], at, rank));
    const looked = step?.candidates.find(([each]) => each === rank)?.slice(1);
    const from = states ? state : path[path.length - 1];
    drawArrow(from, looked);
    const marks = [...(step ? step.candidates.map((each) => each.slice(1)) : []), state].filter(Boolean).map((each) => boxAround(place(each), 5));
    if (coincides) marks.push(boxAround(place(chosen), 9));
    if (step?.predicted) marks.push(boxAround(place(step.predicted), 11));
    if (isFar(step)) marks.push(boxAround(place(map.context[step.nearest]), 5));
    const filled = [...marks, ...alongLine(from, looked)];
    const labels = showLabels(step ? order[at] : [], at, filled);
    labelPredicted(close && step?.predicted, [...filled, ...labels.map(wider)]);
    writeNotes(step, coincides, looked ? null : rank);
    writeCaption(step?.candidates.length, rollout.steps[at]?.candidates.length);
  }

  /** How many candidates are drawn of how many, and how the points were projected; a full sentence is its title. */
  function writeCaption(drawn, all) {
    const pca = projection === "PCA";
    const few = drawn === all ? "" : `${drawn} of ${all} candidates; `;
    const fewInFull = drawn === all ? "" : ` The candidates are the ${drawn} cheapest of ${all}.`;
    caption.textContent = `${few}${projection} of ${map.dimensions} dimensions: ${pca ? `${share} % of variance` : "distorted"}`;
    caption.title = `${projection} of ${map.dimensions} dimensions${pca ? ` (${share} % of the variance)` : ""}: distances are distorted. Exact costs are in the table.${fewInFull}${
      states ? "" : " Each point is a transition. The model learns one target direction for all states; it lies far from the data and is not drawn."}`; // prettier-ignore
  }

  const wordsOf = (candidate) => `rank ${candidate.rank}, cost ${number(candidate.cost)}: ${name(candidate)}`;

  function showPoint(each, found, at, rank) {
    each.element.style.display = found ? "" : "none";
    if (!found) return;
    const [number_, ...coordinates] = found;
    const candidate = rollout.steps[at].candidates[number_];
    const kind = number_ === rollout.steps[at].chosen ? "chosen" : "candidate";
    if (each.kind !== kind) each.element.replaceChildren(shape(kind), each.label);
    each.words = wordsOf(candidate);
    Object.assign(each, { rank: number_, kind });
    each.element.setAttribute("aria-label", each.words);
    const looked = number_ === rank && kind !== "chosen";
    each.element.firstChild.setAttribute("stroke", looked ? "var(--orange)" : LOOKS[kind].stroke);
    each.element.firstChild.setAttribute("stroke-width", looked ? 3.5 : (LOOKS[kind]["stroke-width"] ?? 1));
    put(each.element, coordinates);
  }

  /** The ranks of a step's points beside them; points that lie close, or whose labels would overlap, have one label together. */
  function showLabels(found, at, marks) {
    points.forEach((each) => (each.label.textContent = ""));
    if (!close) return [];
    const sign = ({ rank }) => (rank - 1 === rollout.steps[at].chosen ? "✔" : "");
    const groups = found.map((each, index) => {
      const candidate = rollout.steps[at].candidates[each[0]];
      return { index, points: [place(each.slice(1))], members: [candidate], words: rangesOf([candidate], sign), chosen: each[0] === rollout.steps[at].chosen };
    });
    for (let both = tooClose(groups, marks); both; both = tooClose(groups, marks)) {
      const [kept, gone] = both[1].chosen ? [both[1], both[0]] : both;
      kept.points.push(...gone.points);
      kept.members = [...kept.members, ...gone.members].sort((one, other) => one.rank - other.rank);
      kept.words = rangesOf(kept.members, sign);
      groups.splice(groups.indexOf(gone), 1);
    }
    for (const { index, words, points: own, box: [left, , , bottom] } of groups) {
      const { label } = points[index];
      label.textContent = words;
      label.setAttribute("x", (left - own[0][0]).toFixed(1));
      label.setAttribute("y", (bottom - own[0][1]).toFixed(1));
    }
    return groups.map((each) => each.box);
  }

  /** The word beside the predicted point, where it covers the least of what is drawn. */
  function labelPredicted(found, filled) {
    const label = predicted.lastChild;
    label.textContent = found ? "predicted" : "";
    if (!found) return;
    const [x, y] = place(found);
    const boxes = boxesBeside([x, y], label.textContent, FROM_PREDICTED);
    const covered = boxes.map((each) => filled.reduce((sum, other) => sum + overlapOf(each, other), isInside(each) ? 0 : Infinity));
    const [left, , , bottom] = boxes[covered.indexOf(Math.min(...covered))];
    label.setAttribute("x", (left - x).toFixed(1));
    label.setAttribute("y", (bottom - y).toFixed(1));
  }

  const isInside = ([left, top, right, bottom]) => left >= 0 && top >= 0 && right <= size[0] && bottom <= size[1];

  /** Places the labels of groups of points where they cover the least of the marks; two groups that need one label, or none. */
  function tooClose(groups, marks) {
    const apart = (one, other) => Math.min(...one.points.flatMap(([x, y]) => other.points.map(([left, top]) => Math.hypot(x - left, y - top))));
    const pairs = groups.flatMap((one, first) => groups.slice(first + 1).map((other) => [one, other]));
    const near = pairs.find((both) => apart(...both) < CLOSE);
    if (near) return near;
    const placed = [];
    for (const group of [...groups].sort((one, other) => other.chosen - one.chosen || one.members[0].rank - other.members[0].rank)) {
      const covered = (box) => marks.reduce((sum, each) => sum + overlapOf(box, each), 0) + 20 * placed.reduce((sum, each) => sum + overlapOf(wider(box), each.box), 0);
      const boxes = group.points.flatMap((each) => boxesBeside(each, group.words)).filter(isInside);
      const costs = boxes.map(covered);
      group.box = boxes[costs.indexOf(Math.min(...costs))] ?? boxesBeside(group.points[0], group.words)[0];
      const other = placed.find((each) => overlapOf(wider(group.box), each.box) > 0);
      if (other) return [other, group];
      placed.push(group);
    }
    return null;
  }

  /** From the state, or the transition before, to the candidate that is looked at. */
  function drawArrow(from, to) {
    const long = from && to && between(from, to) >= CLOSE;
    arrow.setAttribute("visibility", long ? "visible" : "hidden");
    if (!long) return;
    const [[x, y], [left, top]] = [place(to), place(from)];
    const turn = Math.atan2(y - top, x - left);
    const [tip, edge] = [x - 5 * Math.cos(turn), y - 5 * Math.sin(turn)]; // the edge of the point
    const heads = [turn + 2.6, turn - 2.6].map((each) => atPlace([tip + ARROW * Math.cos(each), edge + ARROW * Math.sin(each)]));
    arrow.setAttribute("d", `M${atPlace([left, top])}L${atPlace([tip, edge])}M${heads[0]}L${atPlace([tip, edge])}L${heads[1]}`);
  }

  /** Small boxes along the line between two points, which labels leave free; none where one is missing. */
  function alongLine(from, to) {
    if (!from || !to) return [];
    const [[x, y], [left, top]] = [place(to), place(from)];
    const count = Math.min(200, Math.ceil(between(from, to) / 4)); // a step of the map can be long
    return Array.from({ length: count }, (_, each) => boxAround([left + ((x - left) * each) / count, top + ((y - top) * each) / count], 2));
  }

  const isShown = (found) => place(found).every((value, axis) => value >= 0 && value <= size[axis]);
  const isFar = (step) => step && map.usual !== null && step.distance > map.usual;

  function showNearest(step, own) {
    const found = isFar(step) ? map.context[step.nearest] : null;
    put(nearest, found);
    apart.setAttribute("d", found ? `M${atPlace(place(own))}L${atPlace(place(found))}` : "");
  }

  /** One line, whose title has the rest. `missing`: a rank that is looked at and not on the map, or null. */
  function writeNotes(step, coincides, missing) {
    const found = step && missing !== null ? [[`Rank ${missing + 1} is not on the map.`, ""]] : [];
    if (isFar(step)) found.push(farther(isShown(map.context[step.nearest]) ? "×" : "× out of view", step.distance, map.usual, map.of));
    if (coincides) found.push(["Ring: the chosen state lies on the current one.", ""]);
    notes.textContent = found.map(([words]) => words).join(" ");
    notes.title = found.map((words) => words.filter(Boolean).join(" ")).join("\n");
  }

  drawing.addEventListener("click", clicked);
  choose(projection);
  new ResizeObserver(fit).observe(layers);
  return { element: box, show, zoom, choose: (which) => projections.includes(which) && choose(which) };
}

/** A distance from the training data beside the 99th percentile of distances there: in brief, and what is compared. */
function farther(sign, distance, usual, of) {
  if (usual <= 0) return [`Far from training (${sign}), whose points coincide.`, ""];
  return [`Far from training: ${(distance / usual).toFixed(1)} times as far as usual (${sign}).`,
    `The nearest of the training ${of} is that much farther away than 99 % of them are from their nearest neighbour.`]; // prettier-ignore
}

// Boxes are [left, top, right, bottom].
const boxAround = ([x, y], half) => [x - half, y - half, x + half, y + half];
const wider = ([left, top, right, bottom]) => [left - 2, top - 2, right + 2, bottom + 2];
const overlapOf = (one, other) => Math.max(0, Math.min(one[2], other[2]) - Math.max(one[0], other[0])) * Math.max(0, Math.min(one[3], other[3]) - Math.max(one[1], other[1]));

/** Where a label can stand beside a point, the first choice first. */
function boxesBeside([x, y], words, distances = FROM_POINT) {
  const [wide, high] = [0.6 * LETTER * (words.length + (words.includes("✔") ? 0.9 : 0.3)), 0.75 * LETTER];
  return distances.flatMap((away) => {
    const [right, left, above, below, middle] = [x + away, x - away - wide, y - away + 1, y + away + high - 1, y + high / 2];
    const corners = [[right, above], [right, below], [left, above], [left, below], [right + 2, middle], [left - 2, middle], [x - wide / 2, above - 2], [x - wide / 2, below + 2]];
    return corners.map(([start, base]) => [start, base - high, start + wide, base]);
  });
}

/** The ranks of candidates in order, runs of those with the same sign, or none, as a range: `1–3 4✔ 5–7◆`. */
function rangesOf(group, signs) {
  const parts = [];
  for (const each of group) {
    const sign = signs(each);
    const before = parts.at(-1);
    if (before && before.sign === sign && before.last === each.rank - 1) before.last = each.rank;
    else parts.push({ first: each.rank, last: each.rank, sign });
  }
  return parts.map(({ first, last, sign }) => `${first}${last > first ? `–${last}` : ""}${sign}`).join(" ");
}
