// The beam as lanes: the nodes that beam search kept at the decisions around a step, which of them lead on, and the path through them.

const LANES = { width: 320, row: 15, top: 14, left: 150, pitch: 17, most: 4 }; // most: lanes that are drawn
const LANES_LEGEND =
  "Below the distances or costs: the nodes that beam search kept at the decisions around the step, a row for each place in the beam. The blue line is the shown plan. " +
  "A cross: no successor of this node was kept at the next decision; beside a path cost: the last step at which the node or a successor of it is in the beam.";
const BEFORE = 2; // decisions drawn before the step, if there are so many

/** The beam; `show(at)` draws the decisions around a step, `visit` hears of one that is clicked. Hidden where no beam was recorded. */
function drawLanes(rollout, { visit }) {
  const widest = Math.min(LANES.most, Math.max(0, ...rollout.steps.map((step) => step.beam?.length ?? 0)));
  const height = LANES.top + LANES.row * widest;
  const title = s("text", { x: 0, y: 10, class: "faint", "font-weight": 600 });
  const here = s("rect", { y: 0, width: LANES.pitch, height, fill: "var(--here)" });
  const [lines, nodes, numbers] = [s("g", {}), s("g", {}), s("g", {})];
  const columns = new Map(); // of the decisions that were drawn
  let labels = [];
  const drawing = s("svg", { viewBox: `0 0 ${LANES.width} ${height}`, role: "img" }, title, here, lines, nodes, numbers);
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

  function label(at, place, row, write) {
    const kept = rollout.steps[at].beam[place];
    const [chosen, end] = [place === rollout.steps[at].lane, droppedAt(at, place)];
    const fate = chosen ? "✔ shown" : end === null ? "" : `✕ step ${end}`;
    const said = chosen ? "the shown plan goes through it" : end === null ? "some of its successors are in the last beam" : `the last of its successors is dropped after step ${end}`;
    return s("text", { x: 0, y: y(row) + 4, "font-weight": chosen ? 700 : 400, fill: chosen ? "var(--blue)" : "var(--ink)" },
      s("title", {}, `${name(kept)}: path cost ${write(kept[2])}; ${said}`), `${"ABCD"[row]}: ${write(kept[2])}  ${fate}`); // prettier-ignore
  }

  function node(at, place, row) {
    const step = rollout.steps[at];
    const [chosen, x] = [place === step.lane, LANES.pitch * (at + 0.5)];
    const end = droppedAt(at, place) === at + 1;
    const shape = end && !chosen ? s("path", { d: `M${x - 3.5} ${y(row) - 3.5}l7 7m0-7l-7 7`, stroke: "var(--faint)", "stroke-width": 1.6 })
      : s("circle", { cx: x, cy: y(row), r: chosen ? 4.5 : 3.5, fill: chosen ? "var(--blue)" : "var(--faint)" }); // prettier-ignore
    const group = s("g", { class: "kept" }, s("title", {}, `step ${at + 1}, place ${place + 1} of ${step.beam.length}: ${name(step.beam[place])}, path cost ${number(step.beam[place][2])}${end && !chosen ? "; dropped after it" : ""}`), shape);
    group.addEventListener("click", () => visit(at));
    return group;
  }

  /** A decision's nodes and the lines from the decision before to them, which are drawn once. */
  function columnOf(at) {
    const { beam, lane } = rollout.steps[at];
    const [rows, rowsBefore] = [drawn(at), at ? drawn(at - 1) : []];
    const [lines, nodes] = [s("g", {}), s("g", {}, ...rows.map((each, row) => node(at, each, row)))];
    rows.forEach((each, row) => {
      const from = rowsBefore.indexOf(beam[each][0]);
      if (from < 0) return;
      const path = each === lane && rowsBefore[from] === rollout.steps[at - 1].lane;
      lines.append(s("line", { x1: LANES.pitch * (at - 0.5), x2: LANES.pitch * (at + 0.5), y1: y(from), y2: y(row), stroke: path ? "var(--blue)" : "var(--faint)", "stroke-width": path ? 2.5 : 1.2 }));
    });
    return { lines, nodes };
  }

  /** Draws the decisions from `start` to before `end`; those that are drawn already stay in the page. */
  function showColumns(start, end) {
    for (let at = start; at < end; at += 1) if (!columns.has(at)) columns.set(at, columnOf(at));
    for (const [at, column] of columns) {
      const toggle = (group, part, wanted) => wanted !== (part.parentNode === group) && (wanted ? group.append(part) : part.remove());
      toggle(lines, column.lines, at > start && at < end);
      toggle(nodes, column.nodes, at >= start && at < end);
    }
    for (const group of [lines, nodes]) group.setAttribute("transform", `translate(${LANES.left - LANES.pitch * start} 0)`);
  }

  function show(at) {
    const step = rollout.steps[at];
    const kept = step?.beam?.length ?? 0;
    title.textContent = !step ? "The last decisions" : kept ? `Path costs, step ${at + 1}` : "Beam: not recorded here";
    const count = Math.floor((LANES.width - LANES.left) / LANES.pitch);
    const start = Math.max(0, Math.min(at - BEFORE, rollout.steps.length - count));
    const end = Math.min(start + count, rollout.steps.length);
    const x = (place) => LANES.left + LANES.pitch * (place - start + 0.5);
    here.setAttribute("visibility", kept ? "visible" : "hidden");
    if (kept) here.setAttribute("x", x(at) - LANES.pitch / 2);
    showColumns(start, end);
    const numbered = Array.from({ length: end - start }, (_, each) => start + each).filter((place) => place === at || ((place + 1) % 5 === 0 && Math.abs(place - at) > 1));
    numbers.replaceChildren(...numbered.map((place) => s("text", { x: Math.min(x(place), LANES.width - 12), y: 10, "text-anchor": "middle", class: "faint" }, String(place + 1))));
    labels.forEach((each) => each.remove());
    const write = numbersApart(kept ? step.beam.map(([, , cost]) => cost) : []);
    labels = kept ? drawn(at).map((each, row) => label(at, each, row, write)) : [];
    drawing.append(...labels);
    drawing.setAttribute("aria-label", kept ? drawn(at).map((each) => `${each + 1}: ${name(step.beam[each])}, path cost ${write(step.beam[each][2])}${each === step.lane ? ", on the path" : ""}`).join("; ") : title.textContent);
  }
  return { element, show };
}
