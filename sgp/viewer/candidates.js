// The table of a step's candidates.

const ROWS = 60; // candidates shown before "show all"
const ROWS_MOVING = 14; // of them, what fits into the table: the others follow when the user rests

const MARKS = {
  chosen: ["✔", "chosen", "the planner moves there"],
  goal: ["★", "goal", "all goals are satisfied there"],
  tied: ["=", "tied", "shares the lowest cost of the available candidates with another one"],
  visited: ["↺", "visited", "its state was visited before"],
  collapsed: ["≡", "same as", "equivalent to that candidate: the model cannot tell them apart; only the first is used"],
  rejected: ["✕", "rejected", "the model assigns infinite cost"],
  expert: ["▲", "expert", "leads to a later state of the expert's plan than any passed so far"],
  forced: ["⚑", "override", "taken because of an override, not chosen by the model"],
  best: ["◆", "optimal", "proved to be on a shortest plan"],
  beam: ["∥", "beam", "kept in the beam beside the chosen one"],
  greedy: ["○", "greedy", "what greedy search would choose"],
};
const COLUMNS = [["rank", 1], ["candidate"], ["cost", 1], ["Δ to lowest", 1], ["path cost", 1], ["actions left", 1], ["open goals", 1], ["notes"]];
const MEANINGS = {
  rank: "1 is the candidate that the model prefers; costs within a millionth of each other count as equal",
  cost: "what the model gives the candidate: the lower, the better",
  "Δ to lowest": "cost above the lowest",
  "path cost": "sum of the costs along the path, which beam search compares (unless costs are heuristic values)",
  "actions left": "length of a shortest plan from there; two numbers are a lower and an upper bound, ≥ a lower bound alone; unknown: no bound was found; ?: hidden while you retry",
  "open goals": "goals that are not satisfied there",
};
/** The columns and marks of the table with their meanings. */
const meaningsList = () => {
  const marks = Object.values(MARKS).map(([symbol, word, meaning]) => [`${symbol} ${word}`, meaning]);
  return h("dl", {}, ...[...Object.entries(MEANINGS), ...marks].flatMap(([word, meaning]) => [h("dt", {}, word), h("dd", {}, meaning)]));
};
const hasBounds = (rollout) => rollout.steps.some((step) => step.candidates.some((candidate) => candidate.left !== undefined));
const BESIDE = { ArrowDown: 1, ArrowUp: -1 };

/**
 * The table; `beam`: with costs of paths; `bounds`: with actions left. `render` fills it for a step and gives the row of a rank; `name` and `inWords` say a candidate's actions,
 * `pick` hears of ranks that are selected by click or key, `point` of those under the pointer (null: of none any more).
 */
function candidatesTable({ beam, bounds, name, inWords, pick, pickBeside, point, showAll }) {
  const title = h("h3", {});
  const tableRows = []; // filled anew for each step
  const rankOf = (event) => {
    const row = event.target.closest("tr");
    return row ? Number(row.firstChild.textContent) - 1 : null;
  };
  const body = h("tbody", { onclick: (event) => rankOf(event) !== null && pick(rankOf(event)),
    onpointerover: (event) => event.pointerType === "mouse" && point(rankOf(event)), onpointerleave: () => point(null) }); // prettier-ignore
  const head = h("tr", {}, ...COLUMNS.map(([words, right]) => h("th", { scope: "col", class: right ? "number" : "", title: MEANINGS[words] ?? null }, words)));
  const scroll = h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Candidates", onkeydown: beside },
    h("table", { class: `${beam ? "" : "pathless"} ${bounds ? "" : "boundless"}` }, h("thead", {}, head), body)); // prettier-ignore
  const more = button("", "Show every candidate", showAll);

  function beside(event) {
    if (!BESIDE[event.key] || event.target !== scroll) return;
    event.preventDefault();
    pickBeside(BESIDE[event.key]);
  }

  /** `picked` and `pointed` are ranks or null, `shown` the rank that the page is about; `all` and `settled` say how many rows; `hidden`: not what is left. */
  function render(step, number_, { picked, pointed, shown: rank, all, settled, hidden }) {
    const candidates = step ? step.candidates : [];
    title.textContent = step ? `Candidates of step ${number_}: ${candidates.length}${bounds ? "" : " · actions left: unknown"}` : "Candidates: the rollout ends here";
    scroll.style.visibility = step ? "" : "hidden";
    const write = numbersApart(candidates.map((each) => each.cost));
    const rows = all ? Infinity : settled ? ROWS : ROWS_MOVING;
    const shown = candidates.filter((_, index) => index < rows || index === rank || index === step.chosen);
    more.hidden = all || candidates.length <= ROWS;
    more.textContent = `show all ${candidates.length}`;
    while (tableRows.length < shown.length) tableRows.push(tableRow(body));
    tableRows.forEach((row, place) => {
      const candidate = shown[place];
      row.hide(!candidate);
      if (!candidate) return;
      const index = candidate.rank - 1;
      const looks = { chosen: index === step.chosen, closed: step.unavailable.includes(index), picked: index === picked, pointed: index === pointed };
      const marks = candidate.marks.filter((mark) => MARKS[mark] && (mark !== "tied" || step.tie) && (mark !== "beam" || (step.path !== undefined && index !== step.chosen)));
      if (step.best?.includes(index) && !hidden) marks.push("best");
      if (index === step.greedy && index !== step.chosen) marks.push("greedy");
      const path = step.path === undefined || candidate.cost === null ? "" : write(step.path + candidate.cost);
      const over = candidate.gap === null ? "" : candidate.gap === 0 ? "0" : `+${number(candidate.gap)}`;
      const texts = [String(candidate.rank), name(candidate), write(candidate.cost), over, path, hidden ? "?" : leftInWords(candidate.left), String(candidate.open)];
      const look = Object.keys(looks).filter((each) => looks[each]).join(" "); // prettier-ignore
      row.show(texts, inWords(candidate), marks.map((mark) => markOf(mark, candidate)), look, index === (picked ?? step.chosen));
    });
    return rank === null ? null : tableRows[shown.indexOf(candidates[rank])].element;
  }
  return { element: h("section", { class: "candidates" }, title, scroll, more), scroll, render };
}

/** A mark's symbol, words and meaning; "same as" names the other candidate. */
function markOf(mark, candidate) {
  const [symbol, words, meaning] = MARKS[mark];
  if (mark !== "collapsed") return [symbol, words, meaning];
  if (candidate.same_as !== null) return [symbol, `${words} ${candidate.same_as + 1}`, meaning];
  return [symbol, "other path", "equivalent to a candidate of another path of the beam; only the first is used"];
}

/** A row of the candidates' table, whose cells are written only where they change. */
function tableRow(body) {
  const texts = Array.from({ length: 7 }, () => document.createTextNode(""));
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
      if (shown.marks !== marks.join()) marksCell.replaceChildren(...marks.map((mark) => badge(...mark)));
      if (shown.look !== look) element.className = look;
      if (shown.selected !== selected) element.setAttribute("aria-selected", String(selected));
      Object.assign(shown, { marks: marks.join(), look, selected });
    },
  };
}
