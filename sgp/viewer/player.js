// The rollout player: takes a rollout as data (see playback.py) and plays it in the browser. No dependencies.
// Hosts: Streamlit's components v2 and anywidget (the default export), and the exported page (openPage, called there).
// One script of several files, joined by page.py.

const ROWS = 60; // candidates shown before "show all"
const ROWS_MOVING = 14; // of them, what fits into the table: the others follow when the user rests
const SETTLE_AFTER = 200; // milliseconds of rest before the whole table is drawn
const WANTED = 12; // open goals in a tooltip, which has no room for hundreds

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

const KEYS = [
  ["1 … 9, 0", "pick the candidate of this rank (0: the tenth)"],
  ["↓, ↑", "pick the next candidate, the one before (in the table)"],
  ["Esc", "back to the chosen candidate"],
  ["t", "next tie"],
  ["d", "next divergence: a step that leaves the states of the expert's plan"],
  ["p", "start of the plateau: the longest stretch without a new least number of open goals"],
  ["z", "large drawings, or as before"],
];
const BRANCH_KEY = ["b", "branch: go on from the picked candidate instead of the chosen one"]; // where the host can plan
const LEGEND =
  "over best: what it costs more than the cheapest; open: how many goals it leaves open; visited: a state from before; " +
  "alike: the model cannot tell it from another one; tied: the same least cost; rejected: the model rules it out; " +
  "expert: a state that the expert's plan reaches later than any state so far; " +
  "forced: taken because somebody said so, not the model.";
const POINTING = "Actions, atoms and the goal's heading say in English what they mean where the pointer rests on them.";

/** Builds the player in `host` (an element or a shadow root). `options.onStep` hears of a step where the user rests. */
export function mount(host, rollout, options = {}) {
  const last = rollout.steps.length; // frames 0 to last; frame i is the state in which step i is decided
  let picked = null; // a rank, or null for the chosen candidate
  let all = false; // whether every candidate is shown
  let settled = true;
  let settling = 0;
  let current = null; // the plan's row of the step that is shown
  const reasonRows = Array.from({ length: Math.max(0, ...rollout.steps.map((step) => step.why?.length ?? 0)) }, () =>
    ["number", "", "", "faint"].map((look) => h("span", { class: look })));
  const tableRows = []; // of the candidates' table, filled anew for each step
  const pictures = new Map(); // parsed drawings of states by frame
  const shut = rollout.steps.map((step) => new Set(step.shut)); // ranks (from 0) that were not open to choice

  const actions = (candidate) => candidate.actions.map((each) => rollout.actions[each]).join(" ");
  const english = rollout.words; // sentences, or null
  const inWords = (candidate) => english && candidate.actions.map((each) => english.actions[each]).join("; then ");
  const parts = {};
  const part = (name, element) => (parts[name] = element);
  const bindings = {
    t: nextTie,
    d: nextDivergence,
    p: plateau,
    z: enlarge,
    Escape: () => pick(null),
    ...(options.onBranch && { b: branch }),
  };
  for (let rank = 0; rank < 10; rank += 1) bindings[(rank + 1) % 10] = () => pick(rank);
  const walk = transport({ last, unit: "step", first: 1, show, bindings,
    name: (at) => (at < last ? `step ${at + 1} of ${last}` : "end"),
    keys: [...KEYS, ...(options.onBranch ? [BRANCH_KEY] : [])],
    notes: [h("h3", {}, "The table"), h("p", {}, LEGEND), english ? h("p", {}, POINTING) : ""],
    onMove() {
      picked = null;
      all = settled = false;
      clearTimeout(settling);
      settling = setTimeout(settle, SETTLE_AFTER);
    },
    onEnd: () => clearTimeout(settling) }, options); // prettier-ignore
  const goal = parseDrawing(rollout.elements, rollout.goal);
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
    walk.controls(
      button("large", "Large drawings, or as before (z)", enlarge),
      options.onBranch ? button("branch here", "Go on from the picked candidate (b)", branch) : "",
    ),
    walk.said,
    part("words", h("p", { class: "words", hidden: !english })),
    part("written", h("p", { class: "written", hidden: ![rollout, ...rollout.steps].some((each) => each.written.length) })),
    part("reasons", h("details", { class: "reasons", open: true, hidden: !reasonRows.length, ontoggle: () => walk.schedule() },
      part("reasonsTitle", h("summary")), h("ol", {}, ...reasonRows.map((spans) => h("li", {}, ...spans))))), // prettier-ignore
    h(
      "div",
      { class: "grid" },
      h(
        "div",
        { class: "main" },
        picturePair([part("stateTitle", h("h3", {})), part("goalTitle", h("h3", {}))],
          [part("state", h("div", { class: "picture" })), part("goal", h("div", { class: "picture" }, goal))], [drawing(0), goal]), // prettier-ignore
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
          part("scroll", h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Candidates", onkeydown: pickBeside },
            h("table", {}, h("thead", {}, h("tr", {}, ...[["rank", 1], ["candidate"], ["cost", 1], ["over best", 1],
              ["open", 1], ["marks"]].map(([words, right]) => h("th", { scope: "col", class: right ? "number" : "" }, words)))),
              part("rows", h("tbody", { onclick: pickRow }))))), // prettier-ignore
          part("more", button("", "Show every candidate", () => { all = true; walk.schedule(); })), // prettier-ignore
        ),
        h("section", {}, h("h3", {}, "Plan"), part("plan", h("ol", { class: "scroll plan" }))),
        h("section", { class: "changes" }, part("changeTitle", h("h3", {})), part("change", h("div", { class: "change" }))),
      ),
    ),
    walk.help,
  );
  const taken = rollout.steps.map((step) => step.candidates[step.chosen]);
  const rows = [...taken.map((each) => [actions(each), inWords(each)]), [`${symbol} ${ending}`, null]];
  const planButtons = rows.map(([action, title], index) => h("button", { type: "button", tabindex: -1, title, onclick: () => walk.go(index) },
    h("span", {}, index < last ? String(index + 1) : ""), h("code", {}, action))); // prettier-ignore
  parts.plan.append(...planButtons.map((each) => h("li", {}, each)));
  const moveCursor = drawCurves(parts.curves, rollout, walk.go);
  const moveMap = drawMap(parts.map, rollout, { name: actions, pick });

  function settle() {
    settled = true;
    walk.schedule();
  }

  /** Picks the candidate of a rank (from 0), or the chosen one again (null). */
  function pick(rank) {
    if (rank !== null && !rollout.steps[walk.at]?.candidates[rank]) return;
    picked = rank;
    if (rank >= ROWS) all = true;
    walk.schedule();
  }

  /** Up and down in the table pick the candidate beside the picked one. */
  function pickBeside(event) {
    const direction = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const step = rollout.steps[walk.at];
    if (!direction || !step || event.target !== parts.scroll) return;
    event.preventDefault();
    pick((picked ?? step.chosen) + direction);
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
    exchange(parts.state, drawing(at), at);
    const open = rollout.frames[at].open;
    parts.stateTitle.textContent = at === 0 ? "State at the start" : at === last ? "State at the end" : `State after step ${at}`;
    parts.goalTitle.textContent = `Goal: ${rollout.goals - open} of ${rollout.goals} satisfied, ${open} open`;
    parts.goalTitle.title = openGoals(at);
    moveCursor(at);
    if (current !== planButtons[at]) {
      current?.removeAttribute("aria-current");
      current?.setAttribute("tabindex", "-1");
      current = planButtons[at];
      current.setAttribute("aria-current", "step");
      current.setAttribute("tabindex", "0");
    }
    const rank = step ? (picked ?? step.chosen) : null;
    const row = renderCandidates(at, rank);
    renderChange(at, rank);
    renderReasons(at);
    moveMap(at, rank);
    walk.say(...sentence(at, rank));
    parts.words.textContent = parts.words.title = english && step ? `In words: ${inWords(step.candidates[rank])}.` : "";
    renderWritten(step);
    // Scrolling asks where things are: last, so that the browser lays the page out once.
    reveal([[parts.plan, planButtons[at]], ...(row ? [[parts.scroll, row, 26]] : [])]);
  }

  function openGoals(at) {
    const open = rollout.wanted.filter(([, turns]) => turns.filter((place) => place <= at).length % 2).map(([goal]) => goal);
    const more = open.length - WANTED;
    return open.length ? ["Open:", ...open.slice(0, WANTED), ...(more > 0 ? [`and ${more} more`] : [])].join("\n") : "";
  }

  function sentence(at, rank) {
    const step = rollout.steps[at];
    if (!step) return [`${symbol} ${ending} after ${plural(rollout.length, "action")} in ${plural(last, "step")}.`];
    const candidate = step.candidates[rank];
    const count = step.candidates.length;
    const cheaper = step.candidates.slice(0, rank).filter((each) => (each.gap ?? Infinity) < (candidate.gap ?? Infinity));
    const allShut = cheaper.every((each) => shut[at].has(each.rank - 1));
    let words = `: rank ${rank + 1} of ${count}, cost ${number(candidate.cost)}`;
    if (rank !== step.chosen) {
      const gap = candidate.cost === null ? null : candidate.cost - step.candidates[step.chosen].cost;
      words += gap === null ? "; the model rejects it" : `, ${gap < 0 ? "−" : "+"}${number(Math.abs(gap))} against the chosen one`;
    } else if (candidate.marks.includes("goal")) words += "; it reaches the goal, which ends the search";
    else if (cheaper.length && allShut) {
      const visited = cheaper.every((each) => each.marks.includes("visited"));
      words += `; the ${cheaper.length === 1 ? "cheaper one was" : `${cheaper.length} cheaper ones were`} ${
        visited ? "visited before" : "visited before or alike"}`; // prettier-ignore
    }
    else if (step.tie && !cheaper.length) words += `; tied, so the first in the order of the PDDL`;
    else if (candidate.gap === 0) {
      const next = step.candidates.find((each) => each.gap > 0 && !each.marks.includes("visited"));
      words += next ? `, the least; the next open one costs ${number(next.gap)} more` : ", the least";
    } else if (!allShut) words += "; cheaper ones were open, but the beam's best path led through this one";
    return [rank === step.chosen ? "Chosen " : "Picked ", h("code", {}, actions(candidate)), `${words}.`];
  }

  function renderCandidates(at, rank) {
    const step = rollout.steps[at];
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
      const classes = [index === step.chosen && "chosen", shut[at].has(index) && "closed", index === picked && "picked"];
      const marks = candidate.marks.filter((mark) => MARKS[mark] && (mark !== "tied" || step.tie));
      const over = candidate.gap === null ? "" : candidate.gap === 0 ? "0" : `+${number(candidate.gap)}`;
      const texts = [String(candidate.rank), actions(candidate), number(candidate.cost), over, String(candidate.open)];
      row.show(texts, inWords(candidate), marks, classes.filter(Boolean).join(" "), index === rank);
    });
    return rank === null ? null : tableRows[shown.indexOf(candidates[rank])].element;
  }

  function pickRow(event) {
    const row = event.target.closest("tr");
    if (row) pick(Number(row.firstChild.textContent) - 1);
  }

  function renderReasons(at) {
    if (parts.reasons.hidden) return;
    const step = rollout.steps[at];
    const other = step?.why ? step.candidates[step.against] : null;
    const total = other ? step.why.reduce((sum, reason) => sum + reason.share, 0) : 0;
    const alone = step?.candidates.every((each, rank) => rank === step.chosen || shut[at].has(rank));
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

  /** The tokens of the action that was written here, or last, each with its probability. */
  function renderWritten(step) {
    const tokens = (step ?? rollout).written;
    const words = step ? "Written: " : "Written last, which no candidate is: ";
    parts.written.replaceChildren(...(tokens.length ? [words] : ["Nothing was written here."]),
      ...tokens.flatMap(([word, probability]) => [h("code", {}, word), ` ${probability.toFixed(2)}  `])); // prettier-ignore
  }

  function renderChange(at, rank) {
    const step = rollout.steps[at];
    const candidate = step ? step.candidates[rank] : null;
    parts.changeTitle.textContent = !candidate ? "The end changes nothing"
      : `What ${rank === step.chosen ? "this step" : "the picked candidate"} changes; ${
        plural(rollout.frames[at].atoms - candidate.delete.length, "atom")} kept`; // prettier-ignore
    const list = (title, symbol, atoms) =>
      h("div", {}, h("h3", {}, `${title}: ${atoms.length}`), h("ul", {}, ...atoms.map((atom) => 
        h("li", {}, `${symbol} `, h("code", { title: english && english.atoms[atom] }, rollout.atoms[atom])))));
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
    else walk.say(rollout.expert ? "This rollout never leaves the expert's states." : "No expert's plan was recorded for this problem.");
  }

  function plateau() {
    if (rollout.plateau) walk.go(rollout.plateau[0]);
    else walk.say("This rollout has no plateau: every step reaches a new least number of open goals.");
  }

  function branch() {
    const step = rollout.steps[walk.at];
    if (!step) walk.say("The rollout ends here: go back to a step and pick one of its candidates.");
    else if (picked === null || picked === step.chosen)
      walk.say("Pick another candidate first (its rank's digit, or a click in the table); then press b.");
    else {
      walk.rest();
      options.onBranch(walk.at, picked);
    }
  }

  return walk.start(host, root, STYLE);
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
    show(words, title, marks, look, selected) {
      words.forEach((word, place) => {
        if (texts[place].data !== word) texts[place].data = word;
      });
      if (title !== null && cells[1].title !== title) cells[1].title = title;
      if (shown.marks !== marks.join()) marksCell.replaceChildren(...marks.map((mark) => badge(...MARKS[mark])));
      if (shown.look !== look) element.className = look;
      if (shown.selected !== selected) element.setAttribute("aria-selected", String(selected));
      Object.assign(shown, { marks: marks.join(), look, selected });
    },
  };
}

/** How the rollout goes beside the expert's plan, in words. */
function beside({ length, divergences }) {
  const left = divergences.length ? `leaves its states at step ${divergences[0] + 1}` : "never leaves its states";
  return `expert: ${plural(length, "action")}; the rollout ${left}`;
}

/** The exported page. */
export function openPage() {
  return inPage(mount, 1);
}

export default hosts("rollout", mount, 1);
