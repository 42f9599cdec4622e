// Why this one and not that one: the sentence on a choice, and the shares of features behind it. Sentence and reasons
// compare the chosen candidate with one and the same other: the step's `next`, or whichever is pointed at.

const LEAST_SHARE = 1e-9;

/** The rank (from 0) that the chosen candidate of a step is compared with while rank is looked at; null where none is. */
export const comparedWith = (step, rank) => (rank === step.chosen ? step.next : rank);

/** What was recorded on the chosen candidate against another one, or undefined. */
export const explanationOf = (step, other) => step.why.find((each) => each.against === other);

/** Whether a candidate costs what the chosen one costs, as the planner compares costs. */
function costsAlike(step, candidate) {
  const cost = step.candidates[step.chosen].cost;
  if (cost === null || candidate.cost === null) return false;
  return Math.abs(candidate.cost - cost) <= Math.max(1e-6 * Math.abs(cost), 1e-9);
}

/** What is said of a candidate after its name: its rank and cost, and how it came to be chosen or not. */
export function saidOf(step, rank) {
  const candidate = step.candidates[rank];
  const words = `: rank ${rank + 1} of ${step.candidates.length}, cost ${number(candidate.cost)}`;
  return words + (rank === step.chosen ? saidOfChosen(step, candidate, rank) : saidOfOther(step, candidate));
}

function saidOfOther(step, candidate) {
  if (candidate.cost === null) return "; the model rejects it";
  const cost = step.candidates[step.chosen].cost;
  const gap = cost === null ? "" : costsAlike(step, candidate) ? ", as much as the chosen one" : `, ${signed(candidate.cost - cost)} against the chosen one`;
  if (candidate.marks.includes("visited")) return `${gap}; its state was visited before`;
  if (!candidate.marks.includes("collapsed")) return gap;
  const twin = candidate.twin === null ? "a candidate of another state of the beam" : `rank ${candidate.twin + 1}`;
  return `${gap}; the model cannot tell it from ${twin}, which was kept`;
}

function saidOfChosen(step, candidate, rank) {
  const shut = new Set(step.shut);
  const cheaper = step.candidates.slice(0, rank).filter((each) => (each.gap ?? Infinity) < (candidate.gap ?? Infinity));
  const same = step.candidates.filter((each, place) => place !== rank && each.marks.includes("visited") && costsAlike(step, each)).length;
  const ties = same ? `; ${same === 1 ? "one that costs as little was" : `${same} that cost as little were`} visited before` : "";
  const next = step.next === null ? null : step.candidates[step.next];
  const beyond = next?.cost > candidate.cost ? `; the next open one, rank ${next.rank}, costs ${number(next.cost - candidate.cost)} more` : "";
  if (candidate.marks.includes("forced")) return "; forced, because somebody said so";
  if (candidate.marks.includes("goal")) return "; it reaches the goal, which ends the search";
  if (cheaper.some((each) => !shut.has(each.rank - 1))) return "; cheaper ones were open, but the beam's best path led through this one";
  if (cheaper.length) {
    const why = cheaper.every((each) => each.marks.includes("visited")) ? "visited before" : "visited before or alike";
    return `; the ${cheaper.length === 1 ? "cheaper one was" : `${cheaper.length} cheaper ones were`} ${why}${ties}${beyond}`;
  }
  if (step.tie) return `; tied with rank ${next.rank}, so the first in the order of the PDDL${ties}`;
  return `, the least${ties}${beyond}`;
}

/** Why there are no reasons against a candidate, or "" where there are some. */
function unexplained(step, other) {
  if (!step) return "Nothing was chosen at the end.";
  if (other === null) return "No other candidate was open here.";
  if (explanationOf(step, other)) return "";
  if (step.shut.includes(other)) return `Rank ${other + 1} was not open to choice.`;
  const known = step.why.map((each) => each.against + 1);
  if (!known.length) return "This choice was not explained.";
  return `Not explained against rank ${other + 1}; only against ${known.length === 1 ? "rank" : "ranks"} ${known.join(", ")}.`;
}

/** The explanation as one sentence. `name` gives a candidate's actions, `feature` what a feature is called. */
export function reasonsInWords(step, other, name, feature) {
  const found = explanationOf(step, other);
  const total = found.reasons.reduce((sum, [, , , share]) => sum + share, 0);
  const strongest = (sign) => found.reasons.filter(([, chosen, , share]) => chosen !== null && sign * share > LEAST_SHARE)[0];
  const part = (reason, sign) => {
    const all = found.reasons.reduce((sum, [, , , share]) => sum + (sign * share > 0 ? share : 0), 0);
    return `“${feature(reason[0])}” (${Math.round((100 * reason[3]) / all)} % of what speaks`;
  };
  const [pro, contra] = [strongest(-1), strongest(1)]; // a share below 0 lowers the chosen one's cost
  const measure = Math.abs(total) <= LEAST_SHARE ? `equal ${found.measure}` : `${found.measure} ${number(Math.abs(total))} ${total < 0 ? "lower" : "higher"}`;
  const because = !pro ? ", though nothing that has a name speaks for it" : `${total < 0 ? ", above all because of" : "; what speaks for it most is"} ${part(pro, -1)} for it)`;
  const against = contra ? `. Most against it: ${part(contra, 1)} against it)` : "";
  return `Rather than ${name(step.candidates[other])} (rank ${other + 1}): ${measure}${because}${against}.`;
}

/** The panel of reasons; `render(at, rank)` fills it. */
function reasonsPanel(rollout, { name, schedule }) {
  const most = Math.max(0, ...rollout.steps.flatMap((step) => step.why.map((each) => each.reasons.length)));
  const english = rollout.words?.features ?? rollout.features;
  let raw = false;
  const said = h("p", { class: "because", tabindex: "0" });
  const rows = Array.from({ length: most }, () => {
    const row = { bar: h("i"), value: h("span", { class: "number" }), feature: h("span", { class: "feature" }), values: h("span", { class: "faint" }) };
    row.element = h("li", {}, h("span", { class: "diverging" }, row.bar), row.value, row.feature, row.values);
    return row;
  });
  const toggle = h("button", { type: "button", class: "raw", "aria-pressed": "false", onclick: showRaw }, "raw features and values");
  const title = h("summary");
  const details = h("details", { open: true, hidden: !most, ontoggle: schedule }, title,
    h("p", { class: "faint" }, "+ speaks for the chosen one, − for the other one; the shares add up. ", toggle), h("ol", {}, ...rows.map((row) => row.element))); // prettier-ignore

  function showRaw() {
    raw = !raw;
    toggle.setAttribute("aria-pressed", String(raw));
    details.classList.toggle("rawly", raw);
    schedule();
  }

  function render(at, rank) {
    const step = rollout.steps[at];
    const other = step ? comparedWith(step, rank) : null;
    const missing = unexplained(step, other);
    said.textContent = said.title = missing || reasonsInWords(step, other, name, (each) => english[each]);
    const found = missing ? null : explanationOf(step, other);
    title.textContent = found ? `Shares of features in the ${found.measure}, against rank ${other + 1}` : "Shares of features: none";
    if (!details.open) return;
    const widest = Math.max(LEAST_SHARE, ...(found?.reasons ?? []).map(([, , , share]) => Math.abs(share)));
    rows.forEach((row, place) => {
      const reason = found?.reasons[place];
      row.element.style.visibility = reason ? "" : "hidden";
      if (!reason) return;
      const [feature, chosen, against, share] = reason;
      row.bar.className = share < 0 ? "for" : "against";
      row.bar.style.width = `${(50 * Math.abs(share)) / widest}%`;
      row.value.textContent = signed(-share);
      row.feature.textContent = raw ? rollout.features[feature] : english[feature];
      row.feature.title = rollout.features[feature];
      row.values.textContent = raw && chosen !== null ? `chosen ${short(chosen)}, other ${short(against)}` : "";
    });
  }
  return { element: h("section", { class: "reasons", hidden: !most }, said, details), render };
}
