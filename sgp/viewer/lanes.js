// The beam as lanes: the nodes that beam search kept at the decisions around a step, which of them lead on, and the path through them.

const LANES = { width: 320, row: 15, top: 14, left: 150, pitch: 17, most: 4 }; // most: lanes that are drawn
const LANES_LEGEND =
  "Below the distances or costs: the nodes that beam search kept at the decisions around the step, a row for each place in the beam. The blue line is the shown plan. " +
  "A cross: no successor of this node was kept at the next decision.";
const BEFORE = 2; // decisions drawn before the step, if there are so many

/** The beam; `show(at)` draws the decisions around a step, `visit` hears of one that is clicked. Hidden where no beam was recorded. */
function drawLanes(rollout, { visit }) {
  const widest = Math.min(LANES.most, Math.max(0, ...rollout.steps.map((step) => step.beam?.length ?? 0)));
  const height = LANES.top + LANES.row * widest;
  const drawing = s("svg", { viewBox: `0 0 ${LANES.width} ${height}`, role: "img" });
  const element = h("div", { class: "lanes", hidden: widest < 2 }, drawing);
  const name = ([, actions]) => actions.map((each) => rollout.actions[each]).join(" ");
  const y = (row) => LANES.top + LANES.row * (row + 0.5) - 2;

  /** The places in a step's beam that are drawn: the best, and the one of the path. */
  function drawn(at) {
    const { beam = [], lane } = rollout.steps[at];
    const best = [...beam.keys()].slice(0, LANES.most);
    return !beam.length || best.includes(lane) ? best : [...best.slice(0, -1), lane];
  }

  /** The first decision (from 0) at which nothing of a kept node is in the beam any more; null if some of it is in the last one. */
  function droppedAt(at, place) {
    let alive = new Set([place]);
    for (let next = at + 1; next < rollout.steps.length && rollout.steps[next].beam; next += 1) {
      alive = new Set(rollout.steps[next].beam.flatMap(([before], each) => (alive.has(before) ? [each] : [])));
      if (!alive.size) return next;
    }
    return null;
  }

  function label(at, place, row) {
    const kept = rollout.steps[at].beam[place];
    const [chosen, end] = [place === rollout.steps[at].lane, droppedAt(at, place)];
    const fate = chosen ? "✔ shown plan" : end === null ? "" : `dropped after step ${end}`;
    const said = chosen ? "the shown plan goes through it" : end === null ? "some of its successors are in the last beam" : `the last of its successors is dropped after step ${end}`;
    return s("text", { x: 0, y: y(row) + 4, "font-weight": chosen ? 700 : 400, fill: chosen ? "var(--blue)" : "var(--ink)" },
      s("title", {}, `${name(kept)}: path cost ${number(kept[2])}; ${said}`), `${"ABCD"[row]}: ${number(kept[2])}  ${fate}`); // prettier-ignore
  }

  function node(at, place, row, x) {
    const step = rollout.steps[at];
    const chosen = place === step.lane;
    const end = droppedAt(at, place) === at + 1;
    const shape = end && !chosen ? s("path", { d: `M${x - 3.5} ${y(row) - 3.5}l7 7m0-7l-7 7`, stroke: "var(--faint)", "stroke-width": 1.6 })
      : s("circle", { cx: x, cy: y(row), r: chosen ? 4.5 : 3.5, fill: chosen ? "var(--blue)" : "var(--faint)" }); // prettier-ignore
    const group = s("g", { class: "kept" }, s("title", {}, `step ${at + 1}, place ${place + 1} of ${step.beam.length}: ${name(step.beam[place])}, path cost ${number(step.beam[place][2])}${end && !chosen ? "; dropped after it" : ""}`), shape);
    group.addEventListener("click", () => visit(at));
    return group;
  }

  function show(at) {
    const step = rollout.steps[at];
    const kept = step?.beam?.length ?? 0;
    const title = !step ? "The last decisions" : kept ? `Path costs after step ${at + 1}` : "Beam: not recorded here";
    drawing.replaceChildren(s("text", { x: 0, y: 10, class: "faint", "font-weight": 600 }, title));
    const count = Math.floor((LANES.width - LANES.left) / LANES.pitch);
    const start = Math.max(0, Math.min(at - BEFORE, rollout.steps.length - count));
    const x = (place) => LANES.left + LANES.pitch * (place - start + 0.5);
    if (kept) drawing.append(s("rect", { x: x(at) - LANES.pitch / 2, y: 0, width: LANES.pitch, height, fill: "var(--here)" }));
    const [lines, nodes] = [s("g", {}), s("g", {})];
    for (let place = start; place < Math.min(start + count, rollout.steps.length); place += 1) {
      const rows = drawn(place);
      const rowsBefore = place > start ? drawn(place - 1) : [];
      const { beam, lane } = rollout.steps[place];
      if ((place + 1) % 5 === 0 || place === at) nodes.append(s("text", { x: Math.min(x(place), LANES.width - 12), y: 10, "text-anchor": "middle", class: "faint" }, String(place + 1)));
      rows.forEach((each, row) => {
        const from = rowsBefore.indexOf(beam[each][0]);
        const path = each === lane && rowsBefore[from] === rollout.steps[place - 1]?.lane;
        if (from >= 0) lines.append(s("line", { x1: x(place - 1), x2: x(place), y1: y(from), y2: y(row), stroke: path ? "var(--blue)" : "var(--faint)", "stroke-width": path ? 2.5 : 1.2 }));
        nodes.append(node(place, each, row, x(place)));
      });
    }
    drawing.append(lines, nodes, ...(kept ? drawn(at).map((each, row) => label(at, each, row)) : []));
    drawing.setAttribute("aria-label", kept ? drawn(at).map((each) => `${each + 1}: ${name(step.beam[each])}, path cost ${number(step.beam[each][2])}${each === step.lane ? ", on the path" : ""}`).join("; ") : title);
  }
  return { element, show };
}
