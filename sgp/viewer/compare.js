// Two rollouts of one problem under one scrubber (data: comparison.py). A position is a number of actions taken, the same
// on both sides.

const COMPARE_STYLE = `
.sgp .sides { display: grid; gap: 12px; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); }
.sgp .sides h2 { font-size: 15px; font-weight: 600; margin: 0; padding: 0; } .sgp .sides p { margin: 0 0 8px; }
.sgp .compared { display: grid; gap: 10px; align-content: start; }
.sgp .taken { min-height: 40px; margin: 0 !important; } .sgp .differs { background: var(--pick); border-radius: 4px; padding: 0 4px; }
@container (max-width: 760px) { .sgp .sides { grid-template-columns: minmax(0, 1fr); } }
`;

/** Builds the comparison in `host`. `options.onStep` hears of a position where the user rests. */
export function mountComparison(host, data, options = {}) {
  const last = data.length;
  const equal = new Set(data.equal);
  const walk = transport({ last, unit: "action", first: 0, show, name: (at) => `${at} of ${plural(last, "action")}`,
    bindings: { d: divergence },
    keys: [["d", "the first action that differs"]],
    notes: [h("p", {}, "Inside of a jump (several actions in one decision) the state at its start is shown.")] }, options); // prettier-ignore
  const differ = data.divergence === null ? "the plans do not differ" : `first difference: action ${data.divergence + 1} (d)`;
  const sides = data.sides.map(buildSide);
  const root = h("div", { class: "sgp compare", tabindex: "0", role: "region",
    "aria-label": `Two rollouts of ${data.problem}. Press ? for the keys.` },
    h("header", {}, h("b", {}, data.problem), h("span", {}, data.domain), h("span", {}, "a position is a number of actions")),
    walk.controls(h("button", { type: "button", class: "diverge", disabled: data.divergence === null, onclick: divergence }, differ)),
    walk.said,
    h("div", { class: "sides" }, ...sides.map((side) => side.element)),
    walk.help); // prettier-ignore

  function buildSide(side) {
    const starts = [0]; // how many actions were taken when each frame was reached
    for (const step of side.steps) starts.push(starts[starts.length - 1] + step.actions.length);
    const length = starts[starts.length - 1];
    const [symbol, ending] = OUTCOMES[side.outcome] || ["", side.outcome];
    const pictures = new Map();
    let moveCursor = null;
    const state = h("div", { class: "picture" });
    const wanted = parseDrawing(side.elements, side.goal);
    const goal = h("div", { class: "picture" }, wanted);
    pictures.set(0, parseDrawing(side.elements, side.frames[0].picture));
    const stateTitle = h("h3", {});
    const goalTitle = h("h3", {});
    const taken = h("p", { class: "taken" });
    const element = h("div", { class: "compared" },
      h("div", {}, h("h2", {}, side.model), h("p", { class: "faint" }, `${symbol} ${ending}, ${plural(length, "action")}`)),
      taken,
      picturePair([stateTitle, goalTitle], [state, goal], [pictures.get(0), wanted]),
      h("section", { class: "curves" }, drawOpen())); // prettier-ignore
    let frame = 0;

    function drawOpen() {
      const [width, height] = [640, 84];
      const x = (place) => 10 + (620 * place) / Math.max(last, 1);
      const most = Math.max(1, ...data.sides.flatMap((each) => each.frames.map((one) => one.open)));
      const y = (open) => 78 - (58 * open) / most;
      let path = `M${x(0)} ${y(side.frames[0].open)}`;
      side.frames.forEach((each, place) => (path += `H${x(starts[place]).toFixed(1)}V${y(each.open).toFixed(1)}`));
      const cursor = s("line", { y1: 18, y2: 80, stroke: "var(--ink)" });
      const marks = data.divergence === null ? [] : [
        s("line", { x1: x(data.divergence), x2: x(data.divergence), y1: 18, y2: 80, stroke: "var(--orange)", "stroke-dasharray": "3 3" }),
        s("text", { x: x(data.divergence) + 4, y: 28, class: "faint" }, "d")]; // prettier-ignore
      const drawing = s("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" }, s("title", {}, "Open goals over the actions taken"),
        s("text", { x: 10, y: 12 }, "open goals"), s("text", { x: 630, y: 12, class: "faint", "text-anchor": "end" }, `0 to ${most}`),
        s("line", { x1: 10, x2: 630, y1: 78, y2: 78, stroke: "var(--rule)" }), ...marks,
        s("path", { d: path, fill: "none", stroke: "var(--blue)", "stroke-width": 2 }), cursor); // prettier-ignore
      drawing.addEventListener("pointerdown", (event) => {
        const box = drawing.getBoundingClientRect();
        walk.go(Math.round((((event.clientX - box.left) / box.width) * width - 10) / (620 / Math.max(last, 1))));
      });
      moveCursor = (place) => ["x1", "x2"].forEach((end) => cursor.setAttribute(end, x(place)));
      return drawing;
    }

    function move(at) {
      while (frame + 1 < starts.length && starts[frame + 1] <= at) frame += 1;
      while (starts[frame] > at) frame -= 1;
      if (!pictures.has(frame)) pictures.set(frame, parseDrawing(side.elements, side.frames[frame].picture));
      exchange(state, pictures.get(frame), frame);
      const open = side.frames[frame].open;
      const step = side.steps[frame];
      const inside = at - starts[frame];
      const ended = frame === side.steps.length;
      stateTitle.textContent = ended ? `State at the end, after ${plural(length, "action")}` : `State after ${plural(starts[frame], "action")}`;
      if (!ended && inside) stateTitle.textContent += `; inside of a jump of ${step.actions.length}`;
      goalTitle.textContent = `${data.goals - open} of ${data.goals} satisfied, ${open} open`;
      if (ended) taken.replaceChildren(`${symbol} ${ending}.`);
      else {
        const next = step.actions.map((action, place) => h("code", { title: side.words[action] ?? null,
          class: starts[frame] + place === data.divergence ? "differs" : "" }, action)); // prettier-ignore
        const cost = step.cost === null ? "" : `, cost ${number(step.cost)}`;
        const rank = step.of > 1 ? `: rank ${step.rank} of ${step.of}${cost}` : "";
        taken.replaceChildren("Takes ", ...next.flatMap((code, place) => (place ? [" ", code] : [code])), rank);
      }
      moveCursor(at);
    }
    return { element, move };
  }

  function show(at) {
    sides.forEach((side) => side.move(at));
    const same = equal.has(at) ? "Both sides are in the same state. " : "";
    const where = data.divergence === null ? "" : at < data.divergence ? "The plans agree up to here." : at === data.divergence ? "Here the plans part." : "";
    walk.say(same + where);
  }

  function divergence() {
    if (data.divergence !== null) walk.go(data.divergence);
    else walk.say("The plans do not differ.");
  }

  return walk.start(host, root, STYLE + COMPARE_STYLE);
}

/** The exported page. */
export function openPage() {
  return inPage(mountComparison, 0);
}

export default hosts("comparison", mountComparison, 0);
