// The rollout player: takes a rollout as data (see playback.py) and plays it in the browser. No dependencies.
// Hosts: Streamlit's components v2 and anywidget (the default export), and the exported page (openPage, called there).
// One script of several files, joined by page.py.

const SETTLE_AFTER = 200; // milliseconds of rest before the whole table is drawn

const KEYS = [
  ["1 … 9, 0", "select the candidate of this rank (0: the tenth)"],
  ["↓, ↑", "select the next or previous candidate (in the table)"],
  ["Esc", "back to the chosen candidate"],
  ["t", "next tie"],
  ["d", "next divergence: a step that leaves the states of the expert's plan"],
  ["p", "jump to the plateau: the longest run of steps with no new minimum of open goals"],
  ["n, N", "next or previous mark on the scrubber"],
  ["r", "retry the marked steps: find an action that wastes none"],
  ["m", "zoom the map to this step's points, or show all"],
  ["z", "toggle large view"],
];
const BRANCH_KEY = ["b", "branch: continue from the selected candidate instead of the chosen one"]; // where the host can plan
const NOTE_KEY = ["e", "write a note on this step (Ctrl+Enter stores it, Esc leaves it as it was)"]; // where the host stores notes
const EXPERT = "The expert is a classical planner. For suite state-centric: A* with LM-cut, whose plans are shortest, or where it takes too long greedy best-first search with the FF heuristic, whose plans may be long.";
const VIEWS = ["all", "step", "explain", "teach"]; // which panels are shown
const POINTING =
  "Click or hover a candidate to see its resulting state, its position on the map and why it was (not) chosen. " +
  "Hover an action or an atom to read it in English.";

/**
 * Builds the player in `host` (an element or a shadow root). `options.onStep` hears of a step where the user rests;
 * `options.coverage` is the table beside the map, `options.choices` what another rollout is chosen by (`options.onChoose`).
 */
export function mount(host, rollout, options = {}) {
  const last = rollout.steps.length; // frames 0 to last; frame i is the state in which step i is decided
  let picked = null; // a rank, or null for the chosen candidate
  let pointed = null; // the rank under the pointer, or null
  let all = false; // whether every candidate is shown
  let settled = true;
  let settling = 0;
  let retrying = false; // whether the user looks for better actions at the marked steps
  let current = null; // the plan's row of the step that is shown
  const pictures = new Map(); // parsed drawings of states by frame

  const actions = (candidate) => candidate.actions.map((each) => rollout.actions[each]).join(" ");
  const english = rollout.words; // sentences, or null
  const inWords = (candidate) => english && candidate.actions.map((each) => english.actions[each]).join("; then ");
  const bindings = {
    t: nextTie,
    d: nextDivergence,
    p: plateau,
    n: () => nextMark(1),
    N: () => nextMark(-1),
    r: retry,
    m: () => map.zoom(),
    z: enlarge,
    Escape: () => pick(null),
    ...(options.onBranch && { b: branch }),
    ...(options.onNote && { e: () => notes.edit() }),
  };
  for (let rank = 0; rank < 10; rank += 1) bindings[(rank + 1) % 10] = () => pick(rank);
  const marks = marksOf(rollout);
  const retryButton = button("retry", "Find better actions at the marked steps (r)", retry);
  const walk = transport({ last, unit: "step", first: 1, show, bindings, marks,
    name: (at) => (at < last ? `step ${at + 1} of ${last}` : "end"),
    keys: [...KEYS, ...(options.onBranch ? [BRANCH_KEY] : []), ...(options.onNote ? [NOTE_KEY] : [])],
    notes: [h("h3", {}, "The table"), meaningsList(), h("p", {}, POINTING),
      ...(marks ? [h("h3", {}, "The scrubber"), h("p", {}, MARKS_LEGEND)] : []),
      ...(rollout.steps.some((step) => step.beam?.length > 1) ? [h("h3", {}, "The beam"), h("p", {}, LANES_LEGEND)] : []),
      ...(rollout.steps.some((step) => step.expects) ? [h("h3", {}, "Predicted effects"), h("p", {}, EXPECTS)] : [])],
    onMove() {
      picked = pointed = null;
      all = settled = false;
      clearTimeout(settling);
      settling = setTimeout(settle, SETTLE_AFTER);
    },
    onEnd: () => clearTimeout(settling) }, options); // prettier-ignore
  const summary = (rollout.expert ? ` The expert's plan has ${plural(rollout.expert.length, "action")}.` : "") +
    (marks ? ` ${plural(marks.length, "step")} ${marks.length === 1 ? "is" : "are"} proved to waste actions${marks.length ? " (key n: the next one)" : ""}.` : ""); // prettier-ignore
  const goal = parseDrawing(rollout.elements, rollout.goal);
  const [symbol, ending] = endOf(rollout);
  const pictured = board(rollout, { drawing, goal });
  const views = h("select", { "aria-label": "View", title: "all panels; step: board and candidates; explain: board, map and reasons; teach: board and sentence", onchange: () => (root.dataset.view = views.value) },
    ...VIEWS.map((value) => h("option", { value }, value)));
  const table = candidatesTable({ beam: rollout.steps.some((step) => step.path !== undefined), bounds: hasBounds(rollout), name: actions, inWords, pick, pickBeside, point, showAll: () => { all = true; walk.schedule(); } }); // prettier-ignore
  const reasons = reasonsPanel(rollout, { name: actions, schedule: walk.schedule, emphasise: pictured.emphasise });
  const map = drawMap(rollout, { name: actions, pick, point, zoomed: true });
  const ruler = drawRuler(rollout, { name: actions, pick });
  const lanes = drawLanes(rollout, { visit: walk.go });
  ruler.element.append(lanes.element);
  const covered = options.coverage ? coverageTable(options.coverage) : null;
  const curves = h("section", { class: "curves" }, h("div"));
  const words = h("p", { class: "words", hidden: !english });
  const written = h("p", { class: "written", hidden: ![rollout, ...rollout.steps].some((each) => each.written.length) });
  const plan = h("ol", { class: "scroll plan" });
  const planPanel = h("section", { class: "planned" }, h("h3", {}, "Plan"), plan);
  const notes = stepNotes(rollout.notes ?? {}, options.onNote, markNoted);
  const mapless = !rollout.map?.steps && !covered; // its room is for the pictures
  const side = h("div", { class: "side" }, h("section", { class: "choice" }, walk.said, words, notes.element, written), table.element, reasons.element);
  const below = h("div", { class: `more ${mapless ? "" : "two"}` }, mapless ? "" : curves, planPanel);
  const root = h(
    "div",
    { class: `sgp ${mapless ? "mapless" : ""} ${marks?.length ? "marked" : ""}`, tabindex: "0", role: "region", "aria-label": `Rollout of ${rollout.problem}. Press ? for the keys.` },
    h("div", { class: "bar" }, ...choiceBoxes(options),
      walk.controls(
        views,
        button("large", "Toggle large view (z)", enlarge),
        marks?.length ? retryButton : "",
        options.onNote ? button("note", "Write a note on this step (e)", notes.edit) : "",
        options.onBranch ? button("branch here", "Continue from the selected candidate (b)", branch) : "",
      )), // prettier-ignore
    h(
      "header",
      {},
      h("b", {}, rollout.problem),
      h("span", {}, [rollout.domain, rollout.split].filter(Boolean).join(", ")),
      h("span", { title: rollout.model }, rollout.planner),
      h("span", { class: "outcome" }, `${symbol} ${ending}, ${plural(rollout.length, "action")}`),
      rollout.reason && rollout.outcome !== "horizon" ? h("span", {}, rollout.reason) : "", // the outcome says the limit
      rollout.expert ? h("span", { title: EXPERT }, beside(rollout.expert)) : "",
    ),
    h("div", { class: "grid" },
      h("div", { class: "main" }, pictured.element, h("div", { class: "below" }, map.element, h("div", { class: "beside" }, ruler.element, covered ? covered.element : mapless ? curves : ""))),
      side),
    below,
    walk.help,
  ); // prettier-ignore
  const taken = rollout.steps.map((step) => step.candidates[step.chosen]);
  const rows = [...taken.map((each) => [actions(each), inWords(each)]), [`${symbol} ${ending}`, null]];
  const planButtons = rows.map(([action, title], index) => h("button", { type: "button", tabindex: -1, title, onclick: () => walk.go(index) },
    h("span", {}, index < last ? String(index + 1) : ""), h("code", {}, action))); // prettier-ignore
  plan.append(...planButtons.map((each) => h("li", {}, each)));
  markNoted();
  const moveCursor = drawCurves(curves.firstChild, rollout, walk.go);

  function markNoted() {
    planButtons.forEach((each, place) => each.classList.toggle("noted", notes.has(place)));
  }

  function settle() {
    settled = true;
    walk.schedule();
  }

  /** Picks the candidate of a rank (from 0), or the chosen one again (null). */
  function pick(rank) {
    if (rank !== null && !rollout.steps[walk.at]?.candidates[rank]) return;
    picked = rank;
    pointed = null;
    if (rank >= ROWS) all = true;
    walk.schedule();
  }

  /** Looks at the candidate under the pointer as if it was picked, until the pointer leaves (null). */
  function point(rank) {
    if (rank === pointed) return;
    pointed = rank;
    walk.schedule();
  }

  /** Up and down in the table pick the candidate beside the picked one. */
  function pickBeside(direction) {
    const step = rollout.steps[walk.at];
    if (step) pick((picked ?? step.chosen) + direction);
  }

  function enlarge() {
    root.classList.toggle("large");
  }

  function drawing(frame) {
    if (!pictures.has(frame)) pictures.set(frame, parseDrawing(rollout.elements, rollout.frames[frame].picture));
    return pictures.get(frame);
  }

  function show(at) {
    const step = rollout.steps[at];
    const rank = step ? (pointed ?? picked ?? step.chosen) : null;
    pictured.render(at, rank, (pointed ?? picked) !== null);
    moveCursor(at);
    if (current !== planButtons[at]) {
      current?.removeAttribute("aria-current");
      current?.setAttribute("tabindex", "-1");
      current = planButtons[at];
      current.setAttribute("aria-current", "step");
      current.setAttribute("tabindex", "0");
    }
    const row = table.render(step, at + 1, { picked, pointed, shown: rank, all, settled, hidden: asks(at) });
    reasons.render(at, rank);
    map.show(at, rank);
    ruler.show(at, rank, asks(at));
    lanes.show(at);
    fillEnd(!step);
    if (pointed !== null) walk.said.setAttribute("aria-live", "off"); // pointing is no event
    walk.describe(`${at} ${rank} ${asks(at)}`, ...sentence(step, rank));
    words.textContent = words.title = english && step ? `In words: ${inWords(step.candidates[rank])}.` : "";
    notes.show(at);
    renderWritten(step);
    // Scrolling asks where things are: last, so that the browser lays the page out once.
    reveal([[plan, planButtons[at]], ...(row && pointed === null ? [[table.scroll, row, 26]] : [])]);
  }

  /** At the end, the plan takes the place of the candidates and reasons, of which there are none. */
  function fillEnd(ended) {
    root.classList.toggle("ended", ended);
    ruler.element.hidden = ended && lanes.element.hidden;
    const place = ended ? side : below;
    if (planPanel.parentElement === place) return;
    const focused = root.getRootNode().activeElement;
    place.append(planPanel);
    if (planPanel.contains(focused)) focused.focus({ preventScroll: true }); // moving takes the focus away
  }

  function sentence(step, rank) {
    if (!step) return [`${symbol} ${ending} after ${plural(rollout.length, "action")} in ${plural(last, "step")}.${summary}`];
    const mark = marks?.find((each) => each.place === walk.at);
    if (asks(walk.at)) return [`The rollout's choice at step ${walk.at + 1} ${mark.kind === "dead end" ? "leads into a dead end" : mark.words}. Select an action that does not.`];
    const loss = rank === step.chosen && mark ? mark.words : lossInWords(rollout.frames[walk.at].left, step.candidates[rank]);
    const [best, ...equal] = rank === step.chosen && mark ? step.best : [];
    const better = best === undefined ? "" : `; optimal: ${actions(step.candidates[best])} ${equal.length ? `… (${equal.length + 1} in all)` : `(rank ${best + 1})`}`;
    const gaveAway = loss ? `; ${loss}${better}` : "";
    return [rank === step.chosen ? "Chosen " : "Selected ", h("code", {}, actions(step.candidates[rank])), `${saidOf(step, rank)}${gaveAway}.`];
  }

  /** The tokens of the action that was written here, or last, each with its probability. */
  function renderWritten(step) {
    const tokens = (step ?? rollout).written;
    const said = step ? "Written: " : "Written last (not a candidate): ";
    written.replaceChildren(...(tokens.length ? [said] : ["Nothing was written here."]),
      ...tokens.flatMap(([word, probability]) => [h("code", {}, word), ` ${probability.toFixed(2)}  `])); // prettier-ignore
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
    const from = walk.at === last ? -1 : walk.at; // after the end comes the start
    for (let ahead = 1; ahead <= last; ahead += 1) {
      const place = (from + ahead) % last;
      if (rollout.steps[place].tie) return walk.go(place);
    }
    return walk.say("No step of this rollout has a tie.");
  }

  function nextDivergence() {
    const found = rollout.expert?.divergences ?? [];
    if (found.length) walk.go(found.find((place) => place > walk.at) ?? found[0]);
    else walk.say(rollout.expert ? "This rollout never leaves the expert's states." : "No expert plan was recorded for this problem.");
  }

  /** To the next mark (1) or the one before (-1), around the ends. */
  function nextMark(direction) {
    if (!marks) return walk.say("The distance to the goal is not known for this rollout.");
    if (!marks.length) return walk.say("No step of this rollout is known to waste actions.");
    const ahead = direction > 0 ? marks : marks.toReversed();
    return walk.go((ahead.find(({ place }) => (place - walk.at) * direction > 0) ?? ahead[0]).place);
  }

  /** Whether the user is asked for a better action than the one of this step. */
  const asks = (at) => retrying && picked === null && Boolean(marks?.some((each) => each.place === at));

  function retry() {
    if (!marks?.length) return nextMark(1);
    retrying = !retrying;
    retryButton.setAttribute("aria-pressed", String(retrying));
    if (retrying) walk.go(marks[0].place);
    return walk.schedule();
  }

  function plateau() {
    if (rollout.plateau) walk.go(rollout.plateau[0]);
    else walk.say("This rollout has no plateau: every step reaches a new minimum of open goals.");
  }

  function branch() {
    const step = rollout.steps[walk.at];
    if (!step) walk.say("The rollout ends here. Go back to a step and select one of its candidates.");
    else if (picked === null || picked === step.chosen)
      walk.say("Select another candidate first (its rank's digit, or a click in the table); then press b.");
    else {
      walk.rest();
      options.onBranch(walk.at, picked);
    }
  }

  const started = walk.start(host, root, STYLE);
  covered?.reveal();
  return started;
}

/** What another rollout is chosen by, where the host has several: a box each, whose options depend on those before. */
function choiceBoxes({ choices = [], onChoose }) {
  return choices.map(({ name, options: titles, chosen, about, labels = titles }) =>
    h("select", { class: "choose", "aria-label": name, title: `${name}: ${labels[titles.indexOf(chosen)]}${about && `\n${about}`}`, onchange: (event) => onChoose(name, event.target.value) },
      ...titles.map((each, place) => h("option", { value: each, selected: each === chosen }, labels[place])))); // prettier-ignore
}

/** How the rollout goes beside the expert's plan, in words. */
function beside({ length, divergences }) {
  const left = divergences.length ? `diverges from it at step ${divergences[0] + 1}` : "never diverges from it";
  return `Expert plan: ${plural(length, "action")}; this rollout ${left}`;
}

/** The exported page. */
export function openPage() {
  return inPage(mount, 1);
}

export default hosts("rollout", mount, 1);
