// Two rollouts of one problem under one scrubber (data: comparison.py). A position is a number of actions taken, the same
// on both sides.

const COMPARE_STYLE = `
.sgp .sides, .sgp .lower, .sgp .lower > div { display: grid; gap: 8px; grid-template-columns: minmax(0, 1fr); }
.sgp .compared { display: grid; gap: 4px; align-content: start; }
.sgp .compared h2 { display: flex; gap: 10px; align-items: baseline; font-size: 14px; font-weight: 600; margin: 0; padding: 0; }
.sgp .compared h2 small { font-size: 12.5px; font-weight: 400; color: var(--faint); }
.sgp .taken { height: 38px; overflow: auto; margin: 0 !important; } .sgp .differs { background: var(--pick); border-radius: 4px; padding: 0 4px; }
.sgp.compare header { margin: 0; } .sgp .difference { margin: 0 0 6px; font-size: 13px; } .sgp.compare .why { margin: 0 0 6px; } .sgp.compare .controls { margin-bottom: 4px; }
.sgp.compare .picture { height: clamp(150px, calc(var(--sgp-room, 620px) / 2 - 62px), 480px); }
.sgp .middle { display: grid; gap: 8px; grid-template-rows: minmax(0, 1fr) auto; } .sgp .middle section { display: flex; flex-direction: column; }
.sgp.compare .middle .picture { height: auto; flex: 1; min-height: 90px; }
.sgp .middle .picture svg { position: absolute; inset: 0; } .sgp .middle .curves svg { max-height: 110px; } .sgp .middle .curves text { font-size: 16px; }
.sgp .lower { margin-top: 8px; } .sgp .lower .candidates { max-height: none; height: 100%; }
.sgp .lower .map .layers { aspect-ratio: auto; flex: 1; min-height: 96px; } .sgp .lower .map :is(.notes, .caption) { display: none; } /* the table has it */
.sgp .lower .map h3 button { padding: 0 4px; } .sgp .lower .map .legend { gap: 0 6px; font-size: 11px; }
.sgp .lower .map h3 span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.sgp .lower .candidates :is(th, td):is(:nth-child(4), :nth-child(5), :nth-child(6), :nth-child(7)) { display: none; }
@container (min-width: 760px) { .sgp .sides { grid-template-columns: minmax(0, 6fr) minmax(0, 4fr) minmax(0, 6fr); }
  .sgp .lower { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); }
  .sgp .lower > div { grid-template-columns: minmax(0, 7fr) minmax(0, 5fr); height: clamp(170px, calc(var(--sgp-room, 620px) / 2 - 136px), 440px); }
  .sgp .lower > div:first-child { direction: rtl; } .sgp .lower > div:first-child > * { direction: ltr; } } /* each map below its own board */
@container (min-width: 760px) and (max-width: 1100px) { .sgp .lower .candidates :is(th, td):nth-child(3) { display: none; } .sgp .lower .map h3 { flex-wrap: wrap; } .sgp .lower .map h3 span { flex: 1 0 100%; } } /* room for the actions */
`;
const LINES = [
  { stroke: "var(--blue)", "stroke-width": 2 },
  { stroke: "var(--orange)", "stroke-width": 2, "stroke-dasharray": "5 3" },
];

/** Builds the comparison in `host`. `options.onStep` hears of a position where the user rests. */
export function mountComparison(host, data, options = {}) {
  const last = data.length;
  const equal = new Set(data.equal);
  const walk = transport({ last, unit: "action", first: 0, show, name: (at) => `${at} of ${plural(last, "action")}`,
    bindings: { d: divergence, m: () => linked("zoom") },
    keys: [["d", "the first action that differs"], ["m", "zoom both maps to this step's points, or show all"]],
    notes: [h("p", {}, "Within a jump (several actions in one decision) the state at its start is shown. The symbols of the maps are those of the player; a click on the path goes to that step.")],
    onMove: () => sides.forEach((side) => side.forget()) }, options); // prettier-ignore
  const differ = data.divergence === null ? "the plans are identical" : `first difference: action ${data.divergence + 1} (d)`;
  const sides = data.sides.map(buildSide);
  const curves = drawBoth();
  const goal = h("div", { class: "picture" }, parseDrawing(data.sides[0].elements, data.sides[0].goal));
  const root = h("div", { class: "sgp compare", tabindex: "0", role: "region",
    "aria-label": `Two rollouts of ${data.problem}. Press ? for the keys.` },
    walk.controls(h("button", { type: "button", class: "diverge", disabled: data.divergence === null, onclick: divergence }, differ)),
    h("header", {}, h("b", {}, data.problem), h("span", {}, data.domain), h("span", {}, "The scrubber counts actions"), walk.said),
    h("p", { class: "difference" }, data.difference.join(" ")),
    h("div", { class: "sides" }, sides[0].element,
      h("div", { class: "middle" }, h("section", {}, h("h3", {}, `Goal (${plural(data.goals, "atom")})`), goal), h("section", { class: "curves" }, curves.element)),
      sides[1].element),
    h("div", { class: "lower" }, ...sides.map((side) => side.below)),
    walk.help); // prettier-ignore

  /** Both maps look at the same: the projection, or the step's points. */
  function linked(what, ...given) {
    sides.forEach((side) => side.map[what](...given));
  }

  function buildSide(side) {
    const starts = [0]; // how many actions were taken when each frame was reached
    for (const step of side.steps) starts.push(starts[starts.length - 1] + step.candidates[step.chosen].actions.length);
    const length = starts[starts.length - 1];
    const [symbol, ending] = endOf(side);
    const pictures = new Map();
    const state = h("div", { class: "picture" });
    const title = h("h3", {});
    const taken = h("p", { class: "taken", tabindex: "0", role: "group", "aria-label": "Next action" });
    const element = h("div", { class: "compared" },
      h("h2", { title: side.model }, side.planner, h("small", {}, `${symbol} ${ending}, ${plural(length, "action")}`)),
      h("section", {}, title, state), taken); // prettier-ignore
    const name = (candidate) => candidate.actions.map((each) => side.actions[each]).join(" ");
    const inWords = (candidate) => side.words && candidate.actions.map((each) => side.words[each]).join("; then ");
    let [frame, picked, pointed, all] = [0, null, null, false];
    const pick = (rank) => {
      if (rank !== null && !side.steps[frame]?.candidates[rank]) return;
      [picked, pointed] = [rank, null];
      walk.schedule();
    };
    const point = (rank) => {
      if (rank === pointed) return;
      pointed = rank;
      walk.schedule();
    };
    const pickBeside = (direction) => side.steps[frame] && pick((picked ?? side.steps[frame].chosen) + direction);
    const showAll = () => {
      all = true;
      walk.schedule();
    };
    const table = candidatesTable({ bounds: hasBounds(side), name, inWords, pick, pickBeside, point, showAll });
    const map = drawMap(side, { name, pick, point, linked, visit: (place) => walk.go(starts[place]) });
    const below = h("div", {}, table.element, map.element);

    function move(at) {
      while (frame + 1 < starts.length && starts[frame + 1] <= at) frame += 1;
      while (starts[frame] > at) frame -= 1;
      if (!pictures.has(frame)) pictures.set(frame, parseDrawing(side.elements, side.frames[frame].picture));
      exchange(state, pictures.get(frame), frame);
      const step = side.steps[frame];
      const inside = at - starts[frame];
      title.textContent = step ? `State after ${plural(starts[frame], "action")}` : `Final state, after ${plural(length, "action")}`;
      if (step && inside) title.textContent += `, shown until its jump of ${step.candidates[step.chosen].actions.length} ends`;
      title.textContent += `: ${side.frames[frame].open} of ${data.goals} goals open`;
      if (!step) taken.replaceChildren(`${symbol} ${ending}.`);
      else {
        const { actions, cost, rank } = step.candidates[step.chosen];
        const next = actions.map((action, place) => h("code", { title: side.words?.[action] ?? null,
          class: starts[frame] + place === data.divergence ? "differs" : "" }, side.actions[action])); // prettier-ignore
        const count = step.candidates.length;
        const how = count > 1 ? `: rank ${rank} of ${count}${cost === null ? "" : `, cost ${number(cost)}`}` : "";
        taken.replaceChildren("Next action: ", ...next.flatMap((code, place) => (place ? [" ", code] : [code])), how);
      }
      const rank = step ? (pointed ?? picked ?? step.chosen) : null;
      const row = table.render(step, frame + 1, { picked, pointed, shown: rank, all, settled: true });
      map.show(frame, rank);
      if (row && pointed === null) table.scroll.scrollTop = row.offsetTop - table.scroll.clientHeight / 2;
    }

    function forget() {
      [picked, pointed, all] = [null, null, false];
    }
    const open = () => side.frames[frame].open;
    return { element, below, map, move, forget, open, starts, frames: side.frames };
  }

  /** Open goals over the actions taken, of both sides. */
  function drawBoth() {
    const [width, height, top, below] = [400, 166, 28, 24]; // below: room for the letter of the first difference
    const x = (place) => 10 + ((width - 20) * place) / Math.max(last, 1);
    const most = Math.max(1, ...sides.flatMap((each) => each.frames.map((one) => one.open)));
    const y = (open) => height - below - ((height - below - 2 - top) * open) / most;
    const lines = sides.map((side, number_) => {
      let path = `M${x(0)} ${y(side.frames[0].open)}`;
      side.frames.forEach((each, place) => (path += `H${x(side.starts[place]).toFixed(1)}V${y(each.open).toFixed(1)}`));
      return s("path", { d: path, fill: "none", ...LINES[number_] });
    });
    const labels = sides.map((_, number_) => s("text", { x: 40 + 190 * number_, y: 14 }));
    const keys = sides.map((_, number_) => s("path", { d: `M${10 + 190 * number_} 9h24`, ...LINES[number_] }));
    const cursor = s("line", { y1: top - 4, y2: height - below + 4, stroke: "var(--ink)" });
    const marks = data.divergence === null ? [] : [
      s("line", { x1: x(data.divergence), x2: x(data.divergence), y1: top - 4, y2: height - below + 4, stroke: "var(--faint)", "stroke-dasharray": "3 3" }),
      s("text", { x: x(data.divergence), y: height - 5, "text-anchor": "middle", class: "faint" }, "d")]; // prettier-ignore
    const element = s("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" }, s("title", {}, "Open goals over the actions taken, of both sides; click to go there"),
      s("line", { x1: 10, x2: width - 10, y1: height - below, y2: height - below, stroke: "var(--rule)" }), ...keys, ...labels, ...marks, ...lines, cursor); // prettier-ignore
    const seek = (event) => {
      const box = element.getBoundingClientRect();
      const scale = Math.min(box.width / width, box.height / height); // the drawing stands in the middle of its box
      walk.go(Math.round((((event.clientX - box.left - box.width / 2) / scale + width / 2 - 10) / (width - 20)) * last));
    };
    element.addEventListener("pointerdown", (event) => {
      element.setPointerCapture(event.pointerId);
      seek(event);
    });
    element.addEventListener("pointermove", (event) => event.buttons && seek(event));
    const move = (at) => {
      ["x1", "x2"].forEach((end) => cursor.setAttribute(end, x(at)));
      ["left", "right"].forEach((which, number_) => (labels[number_].textContent = `open goals ${which}: ${sides[number_].open()}`));
    };
    return { element, move };
  }

  function show(at) {
    sides.forEach((side) => side.move(at));
    curves.move(at);
    const same = equal.has(at) ? "Both sides are in the same state. " : "";
    const where = data.divergence === null ? "" : at < data.divergence ? "Plans identical so far." : at === data.divergence ? "The plans diverge here." : "";
    walk.describe(at, same + where);
  }

  function divergence() {
    if (data.divergence !== null) walk.go(data.divergence);
    else walk.say("The plans are identical.");
  }

  return walk.start(host, root, STYLE + COMPARE_STYLE);
}

/** The exported page. */
export function openPage() {
  return inPage(mountComparison, 0);
}

export default hosts("comparison", mountComparison, 0);
