// Two rollouts of one problem under one scrubber (data: comparison.py). Joined after player.js, whose names it uses;
// its default export replaces the player's. A position is a number of actions taken, the same on both sides.

const COMPARE_KEYS = [
  ["→ or k, ← or j", "next action, action before"],
  ["Home, End", "start, end"],
  ["Space", "play, pause"],
  ["+, −", "faster, slower"],
  ["d", "the first action that differs"],
  ["?", "this help"],
];
const COMPARE_STYLE = `
.sgp .sides { display: grid; gap: 12px; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); }
.sgp .sides h2 { font-size: 15px; font-weight: 600; margin: 0; padding: 0; } .sgp .sides p { margin: 0 0 8px; }
.sgp .compared { display: grid; gap: 10px; align-content: start; }
.sgp .compared .pictures { grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); }
.sgp .taken { min-height: 42px; } .sgp .differs { background: var(--pick); border-radius: 4px; padding: 0 4px; }
@container (max-width: 760px) { .sgp .sides { grid-template-columns: minmax(0, 1fr); } }
`;

/** Builds the comparison in `host`. `options.onStep` hears of a position where the user rests. */
export function mountComparison(host, data, options = {}) {
  const last = data.length;
  const clamp = (place) => Math.max(0, Math.min(last, place));
  let at = clamp(options.step || 0);
  let speed = 1;
  let playing = 0;
  let asked = 0;
  let resting = 0;
  const equal = new Set(data.equal);
  const matchTheme = () => followTheme(root);
  const parts = {};
  const part = (name, element) => (parts[name] = element);
  const button = (content, title, onclick) => h("button", { type: "button", title, "aria-label": title, onclick }, content);

  const style = h("style");
  style.textContent = STYLE + COMPARE_STYLE;
  const differ = data.divergence === null ? "the plans do not differ" : `first difference: action ${data.divergence + 1} (d)`;
  const sides = data.sides.map(buildSide);
  const root = h("div", { class: "sgp compare", tabindex: "0", role: "region",
    "aria-label": `Two rollouts of ${data.problem}. Press ? for the keys.` },
    h("header", {}, h("b", {}, data.problem), h("span", {}, data.domain), h("span", {}, "a position is a number of actions")),
    h("div", { class: "controls" },
      button(icon("first"), "Start (Home)", () => go(0)),
      button(icon("back"), "Action before (left arrow or j)", () => go(at - 1)),
      part("play", h("button", { type: "button", class: "play", title: "Play or pause (Space)", onclick: toggle })),
      button(icon("next"), "Next action (right arrow or k)", () => go(at + 1)),
      button(icon("end"), "End (End)", () => go(last)),
      part("scrub", h("input", { type: "range", min: 0, max: last, step: 1, "aria-label": "Actions taken",
        oninput: (event) => go(Number(event.target.value)) })),
      part("place", h("output", { class: "place" })),
      part("speed", h("select", { "aria-label": "Speed", title: "Speed (+ and −)",
        onchange: (event) => { speed = Number(event.target.value); } },
        ...SPEEDS.map((each) => h("option", { value: each, selected: each === 1 }, `${each}×`)))),
      h("button", { type: "button", class: "diverge", disabled: data.divergence === null, onclick: divergence }, differ),
      button("? keys", "Keys (?)", help)),
    part("say", h("p", { class: "why", "aria-live": "polite" })),
    h("div", { class: "sides" }, ...sides.map((side) => side.element)),
    part("help", h("div", { class: "help", hidden: true, role: "dialog", "aria-label": "Keys", onclick: help },
      h("section", {}, h("h3", {}, "Keys"),
        h("dl", {}, ...COMPARE_KEYS.flatMap(([key, what]) => [h("dt", {}, key), h("dd", {}, what)])),
        h("p", {}, "Inside of a jump (several actions in one decision) the state at its start is shown."),
        part("close", button("Close", "Close (Esc)", () => {})))))); // prettier-ignore
  host.append(style, root);
  matchTheme();

  function buildSide(side) {
    const starts = [0]; // how many actions were taken when each frame was reached
    for (const step of side.steps) starts.push(starts[starts.length - 1] + step.actions.length);
    const length = starts[starts.length - 1];
    const [symbol, ending] = OUTCOMES[side.outcome] || ["", side.outcome];
    const pictures = new Map();
    const parse = (numbers) => {
      const text = numbers.map((each) => side.elements[each]).join("");
      return document.importNode(new DOMParser().parseFromString(text, "image/svg+xml").documentElement, true);
    };
    const state = h("div", { class: "picture" });
    const goal = h("div", { class: "picture" });
    goal.append(parse(side.goal));
    const stateTitle = h("h3", {});
    const goalTitle = h("h3", {});
    const taken = h("p", { class: "taken" });
    const element = h("div", { class: "compared" },
      h("div", {}, h("h2", {}, side.model), h("p", { class: "faint" }, `${symbol} ${ending}, ${plural(length, "action")}`)),
      taken,
      h("div", { class: "pictures" }, h("section", {}, stateTitle, state), h("section", {}, goalTitle, goal)),
      h("section", { class: "curves" }, drawOpen(side, starts))); // prettier-ignore
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
        go(Math.round((((event.clientX - box.left) / box.width) * width - 10) / (620 / Math.max(last, 1))));
      });
      pictures.set("cursor", (place) => ["x1", "x2"].forEach((end) => cursor.setAttribute(end, x(place))));
      return drawing;
    }

    function show() {
      while (frame + 1 < starts.length && starts[frame + 1] <= at) frame += 1;
      while (starts[frame] > at) frame -= 1;
      if (!pictures.has(frame)) pictures.set(frame, parse(side.frames[frame].picture));
      if (state.firstChild !== pictures.get(frame)) state.replaceChildren(pictures.get(frame));
      const open = side.frames[frame].open;
      const step = side.steps[frame];
      const inside = at - starts[frame];
      const ended = frame === side.steps.length;
      stateTitle.textContent = ended ? `State at the end, after ${plural(length, "action")}` : `State after ${plural(starts[frame], "action")}`;
      if (!ended && inside) stateTitle.textContent += `; inside of a jump of ${step.actions.length}`;
      goalTitle.textContent = `${data.goals - open} of ${data.goals} satisfied, ${open} open`;
      if (ended) taken.replaceChildren(`${symbol} ${ending}.`);
      else {
        const next = step.actions.map((action, place) => h("code", { class: starts[frame] + place === data.divergence ? "differs" : "" }, action));
        const cost = step.cost === null ? "" : `, cost ${number(step.cost)}`;
        const rank = step.of > 1 ? `: rank ${step.rank} of ${step.of}${cost}` : "";
        taken.replaceChildren("Takes ", ...next.flatMap((code, place) => (place ? [" ", code] : [code])), rank);
      }
      pictures.get("cursor")(at);
    }
    return { element, show };
  }

  function render() {
    asked = 0;
    sides.forEach((side) => side.show());
    parts.play.replaceChildren(icon(playing ? "pause" : "play"), playing ? " pause" : " play");
    parts.scrub.value = at;
    parts.scrub.setAttribute("aria-valuetext", `${at} of ${last} actions`);
    parts.place.textContent = `${at} of ${last}`;
    const same = equal.has(at) ? "Both sides are in the same state. " : "";
    const where = data.divergence === null ? "" : at < data.divergence ? "The plans agree up to here." : at === data.divergence ? "Here the plans part." : "";
    parts.say.textContent = same + where;
    root.dataset.step = at;
    root.dataset.playing = playing ? "yes" : "no";
    clearTimeout(resting);
    if (options.onStep && !playing) resting = setTimeout(() => options.onStep(at), REPORT_AFTER);
  }

  function schedule() {
    if (!asked) asked = requestAnimationFrame(render);
  }

  function go(place, keepPlaying = false) {
    if (!keepPlaying) pause();
    at = clamp(place);
    schedule();
  }

  function divergence() {
    if (data.divergence !== null) go(data.divergence);
    else parts.say.textContent = "The plans do not differ.";
  }

  function toggle() {
    if (playing) return pause();
    if (at === last) go(0);
    let before = performance.now();
    let owed = 0;
    const tick = (now) => {
      owed += ((now - before) / 1000) * speed * STEPS_PER_SECOND;
      before = now;
      const steps = Math.floor(owed);
      owed -= steps;
      playing = at + steps < last ? requestAnimationFrame(tick) : 0;
      if (steps) go(at + steps, true);
      else if (!playing) schedule();
    };
    playing = requestAnimationFrame(tick);
    return schedule();
  }

  function pause() {
    if (playing) cancelAnimationFrame(playing);
    if (playing) schedule();
    playing = 0;
  }

  function changeSpeed(direction) {
    speed = SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, SPEEDS.indexOf(speed) + direction))];
    parts.speed.value = speed;
  }

  function help() {
    parts.help.hidden = !parts.help.hidden;
    (parts.help.hidden ? root : parts.close).focus();
  }

  const bindings = {
    ArrowRight: () => go(at + 1), k: () => go(at + 1), ArrowLeft: () => go(at - 1), j: () => go(at - 1),
    Home: () => go(0), End: () => go(last), " ": toggle, "+": () => changeSpeed(1), "-": () => changeSpeed(-1),
    d: divergence, "?": help, Escape: () => parts.help.hidden || help(),
  }; // prettier-ignore

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || !bindings[event.key]) return;
    const target = event.composedPath()[0];
    const inside = event.composedPath().includes(root);
    const tag = target.tagName;
    if (target.isContentEditable || ["TEXTAREA", "SELECT"].includes(tag) || (tag === "INPUT" && target.type !== "range")) return;
    if (!inside && (tag === "INPUT" || target.closest?.('[role="combobox"], [role="listbox"], [role="dialog"]'))) return;
    if (event.key === " " && ["BUTTON", "A", "SUMMARY"].includes(tag)) return; // Space presses the focused button
    event.preventDefault();
    bindings[event.key]();
  }

  document.addEventListener("keydown", onKey);
  render();
  return {
    matchTheme,
    go,
    destroy() {
      pause();
      clearTimeout(resting);
      document.removeEventListener("keydown", onKey);
      style.remove();
      root.remove();
    },
  };
}

export default ({ data, parentElement, setStateValue }) => {
  const before = mounted.get(parentElement);
  if (before && before.id === data.comparison.id) before.player.matchTheme();
  else {
    if (before) before.player.destroy();
    const onStep = (step) => {
      if (step === mounted.get(parentElement).told) return;
      mounted.get(parentElement).told = step;
      setStateValue("step", step);
    };
    const player = mountComparison(parentElement, data.comparison, { step: data.step, onStep });
    mounted.set(parentElement, { id: data.comparison.id, player, told: data.step });
  }
  return () =>
    setTimeout(() => {
      if (parentElement.isConnected) return;
      mounted.get(parentElement)?.player.destroy();
      mounted.delete(parentElement);
    });
};
