// The rollout player: takes a rollout as data (see playback.py) and plays it in the browser. No dependencies.
// Hosts: Streamlit's components v2 and anywidget (the default export), and the exported page (openPage, called there).
// Names come from outside: they become text nodes, never markup. Drawings are made and escaped by our Python.

const STEPS_PER_SECOND = 2; // at speed 1
const SPEEDS = [0.25, 0.5, 1, 2, 4, 8];
const ROWS = 60; // candidates shown before "show all"
const ROWS_MOVING = 14; // of them, what fits into the table: the others follow when the user rests
const SETTLE_AFTER = 200; // milliseconds of rest before the whole table is drawn
const REPORT_AFTER = 400; // and before the host hears of a new step
const SVG = "http://www.w3.org/2000/svg";

const MARKS = {
  chosen: ["✔", "chosen"],
  goal: ["★", "goal"],
  tied: ["=", "tied"],
  visited: ["↺", "visited"],
  collapsed: ["≡", "alike"],
  rejected: ["✕", "rejected"],
  expert: ["▲", "expert"],
  forced: ["⚑", "forced"],
};
const SHUT = ["visited", "collapsed", "rejected"];
const OUTCOMES = {
  solved: ["✔", "solved"],
  horizon: ["✕", "not solved: the limit on actions was reached"],
  stuck: ["✕", "not solved: every successor was visited before"],
  refused: ["✕", "not solved: the model refuses"],
  timeout: ["✕", "not solved: out of time"],
  memory: ["✕", "not solved: out of memory"],
};
const KEYS = [
  ["→ or k, ← or j", "next step, step before"],
  ["Home, End", "first step, end"],
  ["Space", "play, pause"],
  ["+, −", "faster, slower"],
  ["1 … 9, 0", "pick the candidate of this rank (0: the tenth)"],
  ["↓, ↑", "pick the next candidate, the one before (in the table)"],
  ["Esc", "back to the chosen candidate"],
  ["t", "next tie"],
  ["d", "next divergence: a step that leaves the states of the expert's plan"],
  ["p", "start of the plateau: the longest stretch without a new least number of open goals"],
  ["z", "large drawings, or as before"],
  ["c", "copy a link to this step"],
  ["?", "this help"],
];
const BRANCH_KEY = ["b", "branch: go on from the picked candidate instead of the chosen one"]; // where the host can plan
const LEGEND =
  "over best: what it costs more than the cheapest; open: how many goals it leaves open; visited: a state from before; " +
  "alike: the model cannot tell it from another one; tied: the same least cost; rejected: the model rules it out; " +
  "expert: a state that the expert's plan reaches later than any state so far; " +
  "forced: taken because somebody said so, not the model.";

const STYLE = `
.sgp { --paper: var(--st-background-color, light-dark(#ffffff, #14171c));
  --ink: var(--st-text-color, light-dark(#1d2127, #e8eaee));
  --panel: light-dark(#f5f6f8, #1d2128); --rule: light-dark(#d8dce2, #3a404a); --faint: light-dark(#5c6470, #a2aab6);
  --blue: light-dark(#0067a5, #63b3ed); --orange: light-dark(#b34700, #ff9e57);
  --pick: light-dark(#fff0c9, #4a3d14); --here: light-dark(#dcecf8, #1d3a52);
  background: var(--paper); color: var(--ink); container-type: inline-size; position: relative;
  font: 14px/1.4 var(--st-font, system-ui, sans-serif); outline-offset: 3px; }
.sgp * { box-sizing: border-box; }
.sgp :focus-visible, .sgp:focus-visible { outline: 2px solid var(--blue); outline-offset: 1px; border-radius: 4px; }
.sgp header { display: flex; flex-wrap: wrap; gap: 2px 14px; align-items: baseline; margin-bottom: 8px; }
.sgp header b { font-size: 17px; } .sgp header span { color: var(--faint); }
.sgp .outcome { color: var(--ink) !important; border: 1px solid var(--rule); border-radius: 10px; padding: 0 9px; }
.sgp .controls { display: flex; flex-wrap: wrap; gap: 6px; align-items: center; margin-bottom: 10px; }
.sgp button, .sgp select { font: inherit; color: inherit; background: var(--panel); border: 1px solid var(--rule);
  border-radius: 6px; padding: 3px 10px; cursor: pointer; min-height: 30px; }
.sgp button:hover { border-color: var(--blue); }
.sgp .play { min-width: 92px; font-weight: 600; }
.sgp .icon { vertical-align: -1px; fill: currentColor; stroke: currentColor; stroke-width: 1.5; stroke-linejoin: round; }
.sgp input[type=range] { flex: 1 1 160px; accent-color: var(--blue); min-width: 120px; }
.sgp .place { font-variant-numeric: tabular-nums; min-width: 88px; text-align: right; }
.sgp .why { margin: 0 0 10px; min-height: 20px; }
.sgp .reasons { margin: 0 0 10px; font-size: 13px; } .sgp .reasons summary { cursor: pointer; }
.sgp .reasons li { display: grid; grid-template-columns: 8ch 8ch minmax(0, 1fr) max-content; gap: 10px; min-height: 20px;
  font-variant-numeric: tabular-nums; } .sgp .reasons li span:nth-child(3) { overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap; } .sgp .reasons ol { min-height: 120px; padding: 2px 0 0 16px; }
.sgp .grid { display: grid; gap: 12px; grid-template-columns: minmax(0, 1fr); }
.sgp .pictures { display: grid; grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); gap: 12px; }
.sgp section { border: 1px solid var(--rule); border-radius: 8px; padding: 8px 10px; min-width: 0;
  contain: content; } /* a step lays out and paints the sections that it changes */
.sgp .main, .sgp .side { display: grid; gap: 12px; align-content: start; min-width: 0; }
.sgp h3 { font-size: 12px; font-weight: 600; color: var(--faint); margin: 0 0 6px; letter-spacing: 0; padding: 0; }
.sgp .picture { display: grid; place-items: center; height: clamp(200px, 44cqw, 420px); }
.sgp .picture svg { width: 100%; height: 100%; }
.sgp .candidates { display: flex; flex-direction: column; align-items: start; max-height: 372px; gap: 4px; }
.sgp .scroll { overflow: auto; width: 100%; }
.sgp table { border-collapse: collapse; width: 100%; table-layout: fixed; font-variant-numeric: tabular-nums; margin: 0; }
.sgp th { position: sticky; top: 0; background: var(--paper); text-align: left; font-weight: 600; color: var(--faint);
  font-size: 12px; box-shadow: 0 1px var(--rule); }
.sgp th, .sgp td { padding: 2px 8px 2px 0; border: 0; vertical-align: top; }
.sgp .number { text-align: right; white-space: nowrap; } .sgp td.marks { padding-right: 0; }
.sgp th:nth-child(1) { width: 36px; } .sgp th:nth-child(3) { width: 62px; } .sgp th:nth-child(4) { width: 68px; }
.sgp th:nth-child(5) { width: 44px; } .sgp th:nth-child(6) { width: 88px; }
.sgp tbody tr { cursor: pointer; } .sgp tbody tr:hover { background: var(--panel); }
.sgp tr.chosen td { font-weight: 600; } .sgp tr.closed td { color: var(--faint); }
.sgp tr.picked { background: var(--pick) !important; } .sgp code { font: 12.5px/1.4 ui-monospace, monospace;
  background: none; color: inherit; padding: 0; overflow-wrap: anywhere; }
.sgp .badge { display: inline-block; border: 1px solid var(--rule); border-radius: 8px; padding: 0 6px; font-size: 12px;
  white-space: nowrap; }
.sgp .change { display: grid; grid-template-columns: 1fr 1fr; gap: 10px; }
.sgp ul, .sgp ol { list-style: none; margin: 0; padding: 0; } .sgp li { margin: 0; padding: 0; }
.sgp .plan { max-height: 220px; } .sgp .plan button { display: flex; gap: 8px; width: 100%; text-align: left; border: 0;
  background: none; padding: 1px 6px; min-height: 24px; }
.sgp .plan button:hover { background: var(--panel); } .sgp .plan [aria-current] { background: var(--here); font-weight: 600; }
.sgp .plan span { color: var(--faint); min-width: 3ch; text-align: right; }
.sgp .tracks { display: grid; gap: 12px; grid-template-columns: minmax(0, 1fr); }
@container (min-width: 560px) { .sgp .tracks.two { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); } }
.sgp .map h3 { display: flex; gap: 6px; align-items: center; } .sgp .map h3 span { flex: 1; }
.sgp .map h3 button { min-height: 24px; padding: 0 8px; } .sgp .map [aria-pressed=true] { background: var(--here); }
.sgp .map .layers { position: relative; } .sgp .map svg.points { width: 100%; height: auto; display: block; position: relative; }
.sgp .map svg.ground { position: absolute; inset: 0; width: 100%; will-change: transform; } .sgp .map .point { cursor: pointer; }
.sgp .map p { margin: 4px 0 0; font-size: 12px; } .sgp .map .said { min-height: 17px; overflow: hidden;
  text-overflow: ellipsis; white-space: nowrap; } .sgp .map .legend { display: flex; flex-wrap: wrap; gap: 2px 12px; }
.sgp .map .legend svg { width: 14px; height: 12px; vertical-align: -1px; margin-right: 4px; }
.sgp .map .point:focus-visible .mark { stroke-width: 5; }
.sgp .curves svg { width: 100%; height: auto; display: block; cursor: crosshair; touch-action: none; }
.sgp .tracks.two .curves text { font-size: 13px; } .sgp .curves text { fill: var(--ink); font: 11px var(--st-font, system-ui, sans-serif); }
.sgp .faint { color: var(--faint); } .sgp .curves text.faint { fill: var(--faint); }
.sgp .help { position: absolute; inset: 0; background: color-mix(in srgb, var(--paper) 78%, transparent); z-index: 9;
  display: grid; place-items: start center; padding-top: 40px; }
.sgp .help[hidden] { display: none; } .sgp .help section { background: var(--paper); max-width: 560px; padding: 16px 20px;
  box-shadow: 0 6px 30px #0005; }
.sgp dl { display: grid; grid-template-columns: max-content 1fr; gap: 4px 18px; margin: 0 0 12px; } .sgp dd { margin: 0; }
.sgp dt { font-weight: 600; }
@container (min-width: 860px) {
  .sgp .grid { grid-template-columns: minmax(0, 11fr) minmax(0, 9fr); }
  .sgp .picture { height: clamp(220px, 26cqw, 420px); }
  .sgp .candidates { height: 372px; } .sgp .plan { height: 220px; } .sgp .changes { min-height: 128px; } }
.sgp.large .grid { grid-template-columns: minmax(0, 1fr); } .sgp.large .picture { height: 80vh; }
`;

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

// Drawn, because fonts lack the signs of a player.
const ICONS = { first: "M3 2v12M13 2 5 8l8 6z", back: "M12 2 4 8l8 6z", play: "M4 2v12l9-6z", pause: "M4 2h3v12H4zM9 2h3v12H9z",
  next: "M4 2v12l8-6z", end: "M13 2v12M3 2v12l8-6z" }; // prettier-ignore
const icon = (name) =>
  s("svg", { viewBox: "0 0 16 16", width: 13, height: 13, class: "icon", "aria-hidden": "true" }, s("path", { d: ICONS[name] }));

const badge = (symbol, words) => h("span", { class: "badge" }, `${symbol} ${words}`);
const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

/** Builds the player in `host` (an element or a shadow root). `options.onStep` hears of a step where the user rests. */
export function mount(host, rollout, options = {}) {
  const last = rollout.steps.length; // frames 0 to last; frame i is the state in which step i is decided
  const clamp = (place) => Math.max(0, Math.min(last, place));
  let at = clamp(options.step || 0);
  let picked = null; // a rank, or null for the chosen candidate
  let speed = 1;
  let playing = 0; // the animation frame asked for, or 0
  let all = false; // whether every candidate is shown
  let drawn = false;
  let settled = true;
  let settling = 0;
  let resting = 0;
  let current = null; // the plan's row of the step that is shown
  let gone = false;
  const reasonRows = Array.from({ length: Math.max(0, ...rollout.steps.map((step) => step.why?.length ?? 0)) }, () =>
    ["number", "", "", "faint"].map((look) => h("span", { class: look })));
  const tableRows = []; // of the candidates' table, filled anew for each step
  const pictures = new Map(); // parsed drawings of states by frame

  const actions = (candidate) => candidate.actions.map((each) => rollout.actions[each]).join(" ");
  const parts = {};
  const part = (name, element) => (parts[name] = element);
  const button = (content, title, onclick) => h("button", { type: "button", title, "aria-label": title, onclick }, content);

  const style = h("style");
  style.textContent = STYLE;
  const [symbol, ending] = OUTCOMES[rollout.outcome] || ["", rollout.outcome];
  const root = h(
    "div",
    { class: "sgp", tabindex: "0", role: "region", "aria-label": `Rollout of ${rollout.problem}. Press ? for the keys.` },
    h(
      "header",
      {},
      h("b", {}, rollout.problem),
      h("span", {}, [rollout.domain, rollout.split].filter(Boolean).join(", ")),
      h("span", {}, rollout.model),
      h("span", { class: "outcome" }, `${symbol} ${ending}, ${plural(rollout.length, "action")}`),
      rollout.reason ? h("span", {}, rollout.reason) : "",
      rollout.expert ? h("span", {}, beside(rollout.expert)) : "",
    ),
    h(
      "div",
      { class: "controls" },
      button(icon("first"), "First step (Home)", () => go(0)),
      button(icon("back"), "Step before (left arrow or j)", () => go(at - 1)),
      part("play", h("button", { type: "button", class: "play", title: "Play or pause (Space)", onclick: toggle })),
      button(icon("next"), "Next step (right arrow or k)", () => go(at + 1)),
      button(icon("end"), "End (End)", () => go(last)),
      part("scrub", h("input", { type: "range", min: 0, max: last, step: 1, "aria-label": "Step",
        oninput: (event) => go(Number(event.target.value)) })), // prettier-ignore
      part("place", h("output", { class: "place" })),
      part("speed", h("select", { "aria-label": "Speed", title: "Speed (+ and −)",
        onchange: (event) => { speed = Number(event.target.value); } },
        ...SPEEDS.map((each) => h("option", { value: each, selected: each === 1 }, `${each}×`)))), // prettier-ignore
      button("large", "Large drawings, or as before (z)", enlarge),
      button("copy link", "Copy a link to this step (c)", copyLink),
      options.onBranch ? button("branch here", "Go on from the picked candidate (b)", branch) : "",
      button("? keys", "Keys (?)", help),
    ),
    part("why", h("p", { class: "why", "aria-live": "polite" })),
    part("reasons", h("details", { class: "reasons", open: true, hidden: !reasonRows.length, ontoggle: () => schedule() },
      part("reasonsTitle", h("summary")), h("ol", {}, ...reasonRows.map((spans) => h("li", {}, ...spans))))), // prettier-ignore
    h(
      "div",
      { class: "grid" },
      h(
        "div",
        { class: "main" },
        h(
          "div",
          { class: "pictures" },
          h("section", {}, part("stateTitle", h("h3", {})), part("state", h("div", { class: "picture" }))),
          h("section", {}, part("goalTitle", h("h3", {})), part("goal", h("div", { class: "picture" }))),
        ),
        h("div", { class: `tracks ${rollout.map?.steps ? "two" : ""}` },
          part("map", h("section", { class: "map" })), h("section", { class: "curves" }, part("curves", h("div")))), // prettier-ignore
      ),
      h(
        "div",
        { class: "side" },
        h(
          "section",
          { class: "candidates" },
          part("candidatesTitle", h("h3", {})),
          part("scroll", h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Candidates" },
            h("table", {}, h("thead", {}, h("tr", {}, ...[["rank", 1], ["candidate"], ["cost", 1], ["over best", 1],
              ["open", 1], ["marks"]].map(([words, right]) => h("th", { scope: "col", class: right ? "number" : "" }, words)))),
              part("rows", h("tbody", { onclick: pickRow }))))), // prettier-ignore
          part("more", button("", "Show every candidate", () => { all = true; render(); })), // prettier-ignore
        ),
        h("section", {}, h("h3", {}, "Plan"), part("plan", h("ol", { class: "scroll plan" }))),
        h("section", { class: "changes" }, part("changeTitle", h("h3", {})), part("change", h("div", { class: "change" }))),
      ),
    ),
    part("help", h("div", { class: "help", hidden: true, role: "dialog", "aria-label": "Keys", onclick: help },
      h("section", {}, h("h3", {}, "Keys"), h("dl", {}, ...[...KEYS, ...(options.onBranch ? [BRANCH_KEY] : [])].flatMap(([key, what]) => [h("dt", {}, key), h("dd", {}, what)])), h("h3", {}, "The table"), h("p", {}, LEGEND),
        part("close", button("Close", "Close (Esc)", () => {}))))), // prettier-ignore
  );
  const rows = [...rollout.steps.map((step) => actions(step.candidates[step.chosen])), `${symbol} ${ending}`];
  const planButtons = rows.map((words, index) => h("button", { type: "button", tabindex: -1, onclick: () => go(index) },
    h("span", {}, index < last ? String(index + 1) : ""), h("code", {}, words))); // prettier-ignore
  parts.plan.append(...planButtons.map((each) => h("li", {}, each)));
  parts.goal.append(parse(rollout.goal));
  const moveCursor = drawCurves(parts.curves, rollout, (place) => go(place));
  const moveMap = drawMap(parts.map, rollout, { name: actions, pick: (rank) => pick(rank) });
  host.append(style, root);
  matchTheme();

  function go(place, keepPlaying = false) {
    if (!keepPlaying) pause();
    at = clamp(place);
    picked = null;
    all = settled = false;
    clearTimeout(settling);
    settling = setTimeout(settle, SETTLE_AFTER);
    schedule();
  }

  function settle() {
    settled = true;
    schedule();
  }

  function schedule() {
    if (!drawn) return;
    drawn = false;
    requestAnimationFrame(render);
  }

  function pick(rank) {
    const step = rollout.steps[at];
    if (!step || rank < 0 || rank >= step.candidates.length) return;
    picked = rank;
    if (rank >= ROWS) all = true;
    schedule();
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
    schedule();
    return undefined;
  }

  function pause() {
    if (playing) cancelAnimationFrame(playing);
    if (playing) schedule();
    playing = 0;
  }

  function help() {
    parts.help.hidden = !parts.help.hidden;
    (parts.help.hidden ? root : parts.close).focus();
  }

  function enlarge() {
    root.classList.toggle("large");
  }

  function changeSpeed(direction) {
    speed = SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, SPEEDS.indexOf(speed) + direction))];
    parts.speed.value = speed;
  }

  function drawing(frame) {
    if (!pictures.has(frame)) pictures.set(frame, parse(rollout.frames[frame].picture));
    return pictures.get(frame);
  }

  function parse(numbers) {
    const text = numbers.map((each) => rollout.elements[each]).join("");
    return document.importNode(new DOMParser().parseFromString(text, "image/svg+xml").documentElement, true);
  }

  function render() {
    drawn = true;
    const step = rollout.steps[at];
    if (parts.state.firstChild !== drawing(at)) parts.state.replaceChildren(drawing(at));
    const open = rollout.frames[at].open;
    parts.stateTitle.textContent = at === 0 ? "State at the start" : at === last ? "State at the end" : `State after step ${at}`;
    parts.goalTitle.textContent = `Goal: ${rollout.goals - open} of ${rollout.goals} satisfied, ${open} open`;
    if (root.dataset.playing !== (playing ? "yes" : "no"))
      parts.play.replaceChildren(icon(playing ? "pause" : "play"), playing ? " pause" : " play");
    parts.scrub.value = at;
    parts.scrub.setAttribute("aria-valuetext", at < last ? `step ${at + 1} of ${last}` : "end");
    parts.place.textContent = at < last ? `step ${at + 1} of ${last}` : "end";
    moveCursor(at);
    if (current !== planButtons[at]) {
      current?.removeAttribute("aria-current");
      current?.setAttribute("tabindex", "-1");
      current = planButtons[at];
      current.setAttribute("aria-current", "step");
      current.setAttribute("tabindex", "0");
    }
    const rank = step ? (picked ?? step.chosen) : null;
    const row = renderCandidates(step, rank);
    renderChange(step, rank);
    renderReasons(step);
    moveMap(at, rank);
    parts.why.setAttribute("aria-live", playing ? "off" : "polite");
    parts.why.replaceChildren(...sentence(step, rank));
    // Scrolling asks where things are: last, so that the browser lays the page out once.
    reveal([[parts.plan, planButtons[at]], ...(row ? [[parts.scroll, row, 26]] : [])]);
    root.dataset.step = at;
    root.dataset.playing = playing ? "yes" : "no";
    report();
  }

  function report() {
    clearTimeout(resting);
    if (options.onStep && !playing && !gone) resting = setTimeout(() => options.onStep(at), REPORT_AFTER);
  }

  function sentence(step, rank) {
    if (!step) return [`${symbol} ${ending} after ${plural(rollout.length, "action")} in ${plural(last, "step")}.`];
    const candidate = step.candidates[rank];
    const count = step.candidates.length;
    const cheaper = step.candidates.slice(0, rank).filter((each) => (each.gap ?? Infinity) < (candidate.gap ?? Infinity));
    const shut = cheaper.filter((each) => each.marks.some((mark) => ["visited", "collapsed"].includes(mark)));
    let words = `: rank ${rank + 1} of ${count}, cost ${number(candidate.cost)}`;
    if (rank !== step.chosen) {
      const gap = candidate.cost === null ? null : candidate.cost - step.candidates[step.chosen].cost;
      words += gap === null ? "; the model rejects it" : `, ${gap < 0 ? "−" : "+"}${number(Math.abs(gap))} against the chosen one`;
    } else if (candidate.marks.includes("goal")) words += "; it reaches the goal, which ends the search";
    else if (cheaper.length && shut.length === cheaper.length) {
      const visited = cheaper.every((each) => each.marks.includes("visited"));
      words += `; the ${cheaper.length === 1 ? "cheaper one was" : `${cheaper.length} cheaper ones were`} ${
        visited ? "visited before" : "visited before or alike"}`; // prettier-ignore
    }
    else if (step.tie && !cheaper.length) words += `; tied, so the first in the order of the PDDL`;
    else if (candidate.gap === 0) {
      const next = step.candidates.find((each) => each.gap > 0 && !each.marks.includes("visited"));
      words += next ? `, the least; the next open one costs ${number(next.gap)} more` : ", the least";
    } else if (cheaper.length > shut.length) words += "; cheaper ones were open, but the beam's best path led through this one";
    return [rank === step.chosen ? "Chosen " : "Picked ", h("code", {}, actions(candidate)), `${words}.`];
  }

  function renderCandidates(step, rank) {
    const candidates = step ? step.candidates : [];
    parts.candidatesTitle.textContent = step ? `Candidates of step ${at + 1}: ${candidates.length}` : "Candidates: none at the end";
    const rows = all ? Infinity : settled ? ROWS : ROWS_MOVING;
    const shown = candidates.filter((_, index) => index < rows || index === rank || index === step.chosen);
    parts.more.hidden = all || candidates.length <= ROWS;
    parts.more.textContent = `show all ${candidates.length}`;
    while (tableRows.length < shown.length) tableRows.push(tableRow(parts.rows));
    tableRows.forEach((row, place) => {
      const candidate = shown[place];
      row.hide(!candidate);
      if (!candidate) return;
      const index = candidate.rank - 1;
      const closed = candidate.marks.some((mark) => ["visited", "collapsed", "rejected"].includes(mark));
      const classes = [index === step.chosen && "chosen", closed && "closed", index === picked && "picked"];
      const marks = candidate.marks.filter((mark) => MARKS[mark] && (mark !== "tied" || step.tie));
      const over = candidate.gap === null ? "" : candidate.gap === 0 ? "0" : `+${number(candidate.gap)}`;
      const texts = [String(candidate.rank), actions(candidate), number(candidate.cost), over, String(candidate.open)];
      row.show(texts, marks, classes.filter(Boolean).join(" "), index === rank);
    });
    return rank === null ? null : tableRows[shown.indexOf(candidates[rank])].element;
  }

  function pickRow(event) {
    const row = event.target.closest("tr");
    if (row) pick(Number(row.firstChild.textContent) - 1);
  }

  function renderReasons(step) {
    if (parts.reasons.hidden) return;
    const other = step?.why ? step.candidates[step.against] : null;
    const total = other ? step.why.reduce((sum, reason) => sum + reason.share, 0) : 0;
    const alone = step?.candidates.every((each, rank) => rank === step.chosen || each.marks.some((mark) => SHUT.includes(mark)));
    parts.reasonsTitle.textContent = other
      ? `Rather than ${actions(other)} (rank ${step.against + 1}): ${step.measure} ${signed(total)}, by feature`
      : !step ? "Nothing was chosen at the end." : alone ? "No other candidate was open here." : "This choice was not explained."; // prettier-ignore
    if (!parts.reasons.open) return;
    reasonRows.forEach((spans, place) => {
      const reason = other ? step.why[place] : null;
      const values = !reason || reason.chosen === null ? "" : `chosen ${short(reason.chosen)}, other ${short(reason.other)}`;
      const words = reason ? [signed(reason.share), reason.share < 0 ? "for" : "against", reason.feature, values] : ["", "", "", ""];
      spans.forEach((span, column) => (span.textContent = words[column]));
      spans[2].title = words[2];
    });
  }

  function renderChange(step, rank) {
    const candidate = step ? step.candidates[rank] : null;
    parts.changeTitle.textContent = !candidate ? "The end changes nothing"
      : `What ${rank === step.chosen ? "this step" : "the picked candidate"} changes; ${
        plural(rollout.frames[at].atoms - candidate.delete.length, "atom")} kept`; // prettier-ignore
    const list = (title, symbol, atoms) =>
      h("div", {}, h("h3", {}, `${title}: ${atoms.length}`), h("ul", {}, ...atoms.map((atom) => h("li", {}, `${symbol} `, h("code", {}, rollout.atoms[atom])))));
    parts.change.replaceChildren(...(candidate ? [list("Added", "+", candidate.add), list("Deleted", "−", candidate.delete)] : []));
  }

  /** Scrolls each box, never the page, so that its element is seen. */
  function reveal(wanted) {
    const scrolls = wanted.map(([box, element, above = 0]) => {
      const inside = element.getBoundingClientRect();
      const frame = box.getBoundingClientRect();
      if (inside.top >= frame.top + above && inside.bottom <= frame.bottom) return null;
      return box.scrollTop + inside.top - frame.top - (frame.height - inside.height) / 2;
    });
    wanted.forEach(([box], index) => {
      if (scrolls[index] !== null) box.scrollTop = scrolls[index];
    });
  }

  function nextTie() {
    const from = at === last ? -1 : at; // after the end comes the start
    for (let ahead = 1; ahead <= last; ahead += 1) {
      const place = (from + ahead) % last;
      if (rollout.steps[place].tie) return go(place);
    }
    return say("No step of this rollout has a tie.");
  }

  function nextDivergence() {
    const found = rollout.expert?.divergences ?? [];
    if (found.length) go(found.find((place) => place > at) ?? found[0]);
    else say(rollout.expert ? "This rollout never leaves the expert's states." : "No expert's plan was recorded for this problem.");
  }

  function plateau() {
    if (rollout.plateau) go(rollout.plateau[0]);
    else say("This rollout has no plateau: every step reaches a new least number of open goals.");
  }

  async function copyLink() {
    const link = (options.link ?? linkToHere)(at + 1);
    try {
      await navigator.clipboard.writeText(link);
      say(`Copied: ${link}`);
    } catch {
      say(`Copy it from here: ${link}`); // the browser gives no clipboard to this page
    }
  }

  function branch() {
    const step = rollout.steps[at];
    if (!step) say("The rollout ends here: go back to a step and pick one of its candidates.");
    else if (picked === null || picked === step.chosen)
      say("Pick another candidate first (its rank's digit, or a click in the table); then press b.");
    else {
      clearTimeout(resting);
      options.onBranch(at, picked);
    }
  }

  function say(words) {
    parts.why.setAttribute("aria-live", "polite");
    parts.why.textContent = words;
  }

  const bindings = {
    ArrowRight: () => go(at + 1),
    k: () => go(at + 1),
    ArrowLeft: () => go(at - 1),
    j: () => go(at - 1),
    Home: () => go(0),
    End: () => go(last),
    " ": toggle,
    "+": () => changeSpeed(1),
    "-": () => changeSpeed(-1),
    t: nextTie,
    d: nextDivergence,
    p: plateau,
    z: enlarge,
    c: copyLink,
    "?": help,
    ...(options.onBranch && { b: branch }),
  };

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const target = event.composedPath()[0];
    const inside = event.composedPath().includes(root);
    const tag = target.tagName;
    if (target.isContentEditable || ["TEXTAREA", "SELECT"].includes(tag) || (tag === "INPUT" && target.type !== "range")) return;
    if (!inside && (tag === "INPUT" || target.closest?.('[role="combobox"], [role="listbox"], [role="dialog"]'))) return;
    if (event.key === " " && ["BUTTON", "A", "SUMMARY"].includes(tag)) return; // Space presses the focused button
    if (event.key === "Escape") {
      if (!parts.help.hidden) help();
      picked = null;
      schedule();
      return;
    }
    let action = bindings[event.key];
    if (/^[0-9]$/.test(event.key)) action = () => pick((Number(event.key) + 9) % 10);
    if (target === parts.scroll && event.key.match(/^Arrow(Up|Down)$/) && at < last)
      action = () => pick((picked ?? rollout.steps[at].chosen) + (event.key === "ArrowDown" ? 1 : -1));
    if (!action) return;
    event.preventDefault();
    action();
  }

  function matchTheme() {
    followTheme(root);
  }

  const listening = options.keys === "own" ? root : document;
  listening.addEventListener("keydown", onKey);
  render();
  return {
    matchTheme,
    go,
    place: () => ({ at, end: at === last && !playing, playing: playing > 0, speed, focused: root.matches(":focus-within") }),
    /** Goes on as another player of this rollout was: with the focus, playing, at its speed. */
    goOn(before) {
      parts.speed.value = speed = before.speed;
      if (before.focused) root.focus({ preventScroll: true });
      if (before.playing && at < last) toggle();
    },
    destroy() {
      gone = true; // a frame that was asked for is drawn still, and reports nothing
      pause();
      clearTimeout(settling);
      clearTimeout(resting);
      listening.removeEventListener("keydown", onKey);
      style.remove();
      root.remove();
    },
  };
}

/** A row of the candidates' table, whose cells are written only where they change. */
function tableRow(body) {
  const texts = Array.from({ length: 5 }, () => document.createTextNode(""));
  const marksCell = h("td", { class: "marks" });
  const cells = texts.map((text, place) => h("td", { class: place === 1 ? "" : "number" }, place === 1 ? h("code", {}, text) : text));
  const element = h("tr", {}, ...cells, marksCell);
  const shown = { marks: "", look: "", selected: null, hidden: false };
  body.append(element);
  return {
    element,
    hide(hidden) {
      if (shown.hidden !== hidden) element.hidden = shown.hidden = hidden;
    },
    show(words, marks, look, selected) {
      words.forEach((word, place) => {
        if (texts[place].data !== word) texts[place].data = word;
      });
      if (shown.marks !== marks.join()) marksCell.replaceChildren(...marks.map((mark) => badge(...MARKS[mark])));
      if (shown.look !== look) element.className = look;
      if (shown.selected !== selected) element.setAttribute("aria-selected", String(selected));
      Object.assign(shown, { marks: marks.join(), look, selected });
    },
  };
}

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

/** Streamlit's theme is its own choice, not the system's: takes light or dark from its background. */
function followTheme(root) {
  const colour = getComputedStyle(root).getPropertyValue("--st-background-color").trim();
  const hex = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})/i.exec(colour);
  if (!hex) return;
  const [red, green, blue] = hex.slice(1).map((each) => parseInt(each, 16));
  root.style.colorScheme = 0.3 * red + 0.59 * green + 0.11 * blue < 128 ? "dark" : "light";
}

/** Open goals and cost over the steps, above each other; returns what moves the cursor. */
function drawCurves(box, rollout, go) {
  const narrow = Boolean(rollout.map?.steps); // the map stands beside
  const width = narrow ? 400 : 640;
  const height = narrow ? 172 : 74;
  const [left, right, top] = [10, 10, 20];
  const last = rollout.steps.length;
  const x = (place) => left + ((width - left - right) * place) / Math.max(last, 1);
  const costs = rollout.steps.map((step) => step.candidates[step.chosen].cost);
  const curves = [
    { title: "open goals", values: rollout.frames.map((frame) => frame.open), colour: "var(--blue)", low: 0, steps: true },
    { title: "cost of the chosen candidate", values: costs, colour: "var(--orange)", dash: "5 2" },
  ];
  const drawing = s("svg", { viewBox: `0 0 ${width} ${curves.length * (height + 14)}`, role: "img" });
  drawing.append(s("title", {}, "Open goals and cost over the steps; click to go there"));
  const labels = curves.map((curve, index) => {
    const base = index * (height + 14);
    const finite = curve.values.filter((value) => value !== null);
    const high = Math.max(...finite, curve.low ?? -Infinity, finite.length ? -Infinity : 1);
    const low = Math.min(...finite, curve.low ?? Infinity, finite.length ? Infinity : 0);
    const y = (value) => base + height - ((height - top) * (value - low)) / (high - low || 1);
    if (rollout.plateau) {
      const [from, to] = rollout.plateau.map(x);
      drawing.append(s("rect", { x: from, y: base + top, width: to - from, height: height - top, fill: "var(--rule)", opacity: 0.45 }));
      if (index === 0 && to - from > 60)
        drawing.append(s("text", { x: (from + to) / 2, y: base + height - 4, class: "faint", "text-anchor": "middle" }, "plateau"));
    }
    drawing.append(s("line", { x1: left, x2: width - right, y1: base + height, y2: base + height, stroke: "var(--rule)" }));
    let path = "";
    let pen = false;
    curve.values.forEach((value, place) => {
      if (value === null) pen = false;
      else {
        path += pen && curve.steps ? `H${x(place).toFixed(1)}V${y(value).toFixed(1)}` : `${pen ? "L" : "M"}${x(place).toFixed(1)} ${y(value).toFixed(1)}`;
        pen = true;
      }
    });
    drawing.append(s("path", { d: path, fill: "none", stroke: curve.colour, "stroke-width": 2, "stroke-dasharray": curve.dash || "none" }));
    const dot = s("circle", { r: 4, fill: curve.colour });
    const label = s("text", { x: left, y: base + 12 });
    const range = s("text", { x: width - right, y: base + 12, class: "faint", "text-anchor": "end" }, `${short(low)} to ${short(high)}`);
    drawing.append(dot, label, range);
    return { curve, dot, label, y };
  });
  const bottom = curves.length * (height + 14) - 3;
  rollout.steps.forEach((step, place) => {
    if (step.tie) drawing.append(s("text", { x: x(place), y: bottom, "text-anchor": "middle", class: "faint" }, "="));
  });
  const cursor = s("line", { y1: top, y2: bottom - 10, stroke: "var(--ink)", "stroke-width": 1 });
  drawing.append(cursor);
  const seek = (event) => {
    const frame = drawing.getBoundingClientRect();
    const place = ((event.clientX - frame.left) / frame.width) * width;
    go(Math.round(((place - left) / (width - left - right)) * last));
  };
  drawing.addEventListener("pointerdown", (event) => {
    drawing.setPointerCapture(event.pointerId);
    seek(event);
  });
  drawing.addEventListener("pointermove", (event) => event.buttons && seek(event));
  box.append(drawing);
  return (at) => {
    cursor.setAttribute("x1", x(at));
    cursor.setAttribute("x2", x(at));
    for (const { curve, dot, label, y } of labels) {
      const value = curve.values[at];
      const there = value !== undefined && value !== null;
      dot.setAttribute("visibility", there ? "visible" : "hidden");
      if (there) {
        dot.setAttribute("cx", x(at));
        dot.setAttribute("cy", y(value));
      }
      label.textContent = `${curve.title}${there ? `: ${short(value)}` : ""}`;
    }
  };
}

const signed = (value) => (value < 0 ? number(value) : `+${number(value)}`);

/** How the rollout goes beside the expert's plan, in words. */
function beside({ length, divergences }) {
  const left = divergences.length ? `leaves its states at step ${divergences[0] + 1}` : "never leaves its states";
  return `expert: ${plural(length, "action")}; the rollout ${left}`;
}

const short = (value) => (Number.isInteger(value) && value >= 0 ? String(value) : number(value));

const mounted = new WeakMap(); // Streamlit calls again for the same element on every rerun

function mountStreamlit({ data, parentElement, setStateValue, setTriggerValue }) {
  const before = mounted.get(parentElement);
  if (before && before.id === data.rollout.id) before.player.matchTheme();
  else {
    // A rollout that grows goes on where the user is; who is at its end stays at its end.
    const place = before && data.rollout.grows && before.grows === data.rollout.grows ? before.player.place() : null;
    const first = place ? (place.end ? Infinity : place.at) : data.step;
    if (before) before.player.destroy();
    const onStep = (step) => step !== mounted.get(parentElement)?.told && setStateValue("step", tell(step));
    const tell = (step) => (mounted.get(parentElement).told = step);
    const onBranch = data.branching && ((step, rank) => setTriggerValue("branch", { step: step + 1, rank: rank + 1 }));
    const player = mount(parentElement, data.rollout, { step: first, onStep, onBranch });
    mounted.set(parentElement, { id: data.rollout.id, grows: data.rollout.grows, player, told: player.place().at });
    if (place) player.goOn(place);
  }
  return () =>
    setTimeout(() => {
      if (parentElement.isConnected) return;
      mounted.get(parentElement)?.player.destroy();
      mounted.delete(parentElement);
    });
}

/** The page's own address with the step in it. */
function linkToHere(step) {
  const link = new URL(location.href);
  link.searchParams.set("step", step);
  return link.href;
}

/** The dashboard's address of a rollout, for hosts that have no address of their own. */
function linkToDashboard(rollout, step) {
  const model = `${rollout.model} (${rollout.outcome})`;
  return `http://localhost:8501/?${new URLSearchParams({ domain: rollout.domain, problem: rollout.problem, model, step })}`;
}

/** anywidget: traits `rollout` (the data) and `step`. Keys count only while the player has the focus. */
function render({ model, el }) {
  const onStep = (step) => {
    model.set("step", step);
    model.save_changes();
  };
  const player = mount(el, model.get("rollout"), { step: model.get("step"), keys: "own", onStep,
    link: (step) => linkToDashboard(model.get("rollout"), step) }); // prettier-ignore
  return () => player.destroy();
}

/** The exported page: data in a script element, the step in the address. */
export function openPage() {
  const rollout = JSON.parse(document.getElementById("rollout").textContent);
  const step = (Number.parseInt(new URLSearchParams(location.hash.slice(1)).get("step"), 10) || 1) - 1;
  const onStep = (place) => history.replaceState(null, "", `#step=${place + 1}`);
  const link = (place) => Object.assign(new URL(location.href), { hash: `step=${place}` }).href;
  return mount(document.getElementById("player"), rollout, { step, onStep, link });
}

export default (component) => (component ? mountStreamlit(component) : { render });
