// Why this one and not that one: the sentence on a choice, and the shares of features behind it. Sentence and reasons
// compare the chosen candidate with one and the same other: the step's `next`, or whichever is pointed at.

const LEAST_SHARE = 1e-9;
const BRIEF = 75; // characters of a feature in the sentence

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
  const words = `: rank ${rank + 1} of ${step.candidates.length}, cost ${numbersApart(step.candidates.map((each) => each.cost))(candidate.cost)}`;
  return words + (rank === step.chosen ? saidOfChosen(step, candidate, rank) : saidOfOther(step, candidate));
}

function saidOfOther(step, candidate) {
  if (candidate.cost === null) return "; rejected by the model";
  const cost = step.candidates[step.chosen].cost;
  const gap = cost === null ? "" : costsAlike(step, candidate) ? ", the same as the chosen one" : `, ${signed(candidate.cost - cost)} against the chosen one`;
  if (candidate.marks.includes("visited")) return `${gap}; its state was visited before`;
  if (!candidate.marks.includes("collapsed")) return gap;
  const other = candidate.same_as === null ? "a candidate of another beam state" : `rank ${candidate.same_as + 1}`;
  return `${gap}; equivalent to ${other}`;
}

function saidOfChosen(step, candidate, rank) {
  const unavailable = new Set(step.unavailable);
  const cheaper = step.candidates.slice(0, rank).filter((each) => (each.gap ?? Infinity) < (candidate.gap ?? Infinity));
  const same = step.candidates.filter((each, place) => place !== rank && each.marks.includes("visited") && costsAlike(step, each)).length;
  const ties = same ? `; ${plural(same, "equally cheap candidate")} already visited` : "";
  const next = step.next === null ? null : step.candidates[step.next];
  const beyond = next?.cost > candidate.cost ? ` (next available: rank ${next.rank}, costs ${number(next.cost - candidate.cost)} more)` : "";
  if (candidate.marks.includes("forced")) return "; an override, not the choice of the model";
  if (candidate.marks.includes("goal")) return "; it reaches the goal and ends the search";
  if (cheaper.some((each) => !unavailable.has(each.rank - 1))) {
    const near = step.candidates[step.greedy];
    return `; beam search followed this path, although rank ${near.rank} was unvisited and ${number(candidate.cost - near.cost)} cheaper`;
  }
  if (cheaper.length) {
    const why = cheaper.every((each) => each.marks.includes("visited")) ? "already visited" : "already visited or equivalent to others";
    return `; the ${cheaper.length === 1 ? "cheaper one was" : `${cheaper.length} cheaper ones were`} ${why}${ties}${beyond}`;
  }
  if (step.tie) return `; tied with rank ${next.rank}, so the first in PDDL order was chosen${ties}`;
  if (step.candidates.length === 1) return ", the only candidate";
  return `, the lowest${ties}${beyond}`;
}

/** How many candidates of a step were not available, by why. */
function unavailableInWords(step) {
  const marked = step.unavailable.map((each) => step.candidates[each].marks);
  const kinds = [["visited", "already visited"], ["collapsed", "equivalent to another one"], ["rejected", "rejected by the model"]];
  const counts = kinds.map(([mark, words], place) => [marked.filter((each) => each.includes(mark) && !kinds.slice(0, place).some(([before]) => each.includes(before))).length, words]);
  return counts.filter(([count]) => count).map(([count, words]) => `${count} ${words}`).join(", ");
}

/** Why there are no reasons against a candidate, or "" where there are some. */
function unexplained(step, other) {
  if (step.because) return `Chosen by ${step.because}.`;
  if (other === null) return step.candidates.length === 1 ? "This was the only candidate." : `No other candidate was available: ${unavailableInWords(step)}.`;
  if (explanationOf(step, other)) return "";
  if (step.unavailable.includes(other)) return `Rank ${other + 1} was not available${saidOfOther(step, step.candidates[other]).replace(/^[^;]*/, "")}.`;
  const known = step.why.map((each) => each.against + 1);
  if (!known.length) return "No explanation was recorded for this choice.";
  return `Not explained against rank ${other + 1}; only against ${known.length === 1 ? "rank" : "ranks"} ${known.join(", ")}.`;
}

/** The explanation as one sentence. `name` gives a candidate's actions, `feature` what a feature is called; `inBrief`: long names are cut. */
export function reasonsInWords(step, other, name, feature, inBrief) {
  const found = explanationOf(step, other);
  const total = found.reasons.reduce((sum, [, , , share]) => sum + share, 0);
  const strongest = (sign) => found.reasons.filter(([, chosen, , share]) => chosen !== null && sign * share > LEAST_SHARE)[0];
  const sides = [strongest(-1), strongest(1)]; // a share below 0 lowers the chosen one's cost
  const names = sides.map((reason) => reason && feature(reason[0]));
  const shown = inBrief ? briefly(names) : names;
  const part = (place, sign, words) => {
    const all = found.reasons.reduce((sum, [, , , share]) => sum + (sign * share > 0 ? share : 0), 0);
    const [, own, others] = sides[place];
    const whose = own < others ? "the alternative's " : "";
    return `; most ${words}: ${whose}“${shown[place]}” (${Math.round((100 * sides[place][3]) / all)} % of all ${words})`;
  };
  const measure = Math.abs(total) <= LEAST_SHARE ? `equal ${found.measure}` : `${found.measure} ${number(Math.abs(total))} ${total < 0 ? "lower" : "higher"}`;
  const because = sides[0] ? part(0, -1, "in favour") : "; none of the listed features is in favour";
  const against = sides[1] ? part(1, 1, "against") : "";
  const relation = Math.abs(total) <= LEAST_SHARE ? "Tied with" : "Chosen over";
  return `${relation} ${name(step.candidates[other])} (rank ${other + 1}): ${measure}${because}${against}.`;
}

/** Two names of features (or undefined), long ones cut at the ends of their parts; where the cut ones are equal, the first part that differs. */
function briefly(names) {
  const ends = (name, limit) => Math.max(...[",", ";"].map((each) => name.lastIndexOf(each, limit)));
  const cut = (name) => (!name || name.length <= BRIEF ? name : `${name.slice(0, ends(name, BRIEF) > 0 ? ends(name, BRIEF) : name.lastIndexOf(" ", BRIEF))} …`);
  const [one, other] = names.map(cut);
  if (one !== other || !one) return [one, other];
  const differing = [...names[0]].findIndex((letter, place) => letter !== names[1][place]);
  return names.map((name) => {
    const rest = name.slice(ends(name, differing - 1) + 1).trim();
    return `… ${rest.split(/[,;]/)[0]} …`;
  });
}

/** The panel of reasons; `render(at, rank)` fills it. `emphasise` hears of the objects of the feature that is pointed at. */
function reasonsPanel(rollout, { name, schedule, emphasise }) {
  const most = Math.max(0, ...rollout.steps.flatMap((step) => step.why.map((each) => each.reasons.length)));
  const english = rollout.words?.features ?? rollout.features;
  const signs = signsOf(rollout.wanted.map(([, , literal]) => literal));
  let raw = false;
  const said = h("p", { class: "because", tabindex: "0" });
  const rows = Array.from({ length: most }, () => {
    const row = { bar: h("i"), value: h("span", { class: "number" }), feature: h("span", { class: "feature" }), values: h("span", { class: "faint" }) };
    const [look, leave] = [() => row.reason && lookAt(row), () => emphasise([])];
    row.element = h("li", { tabindex: "0", onpointerenter: look, onfocus: look, onpointerleave: leave, onblur: leave }, h("span", { class: "diverging" }, row.bar), row.value, row.feature, row.values);
    return row;
  });
  const toggle = h("button", { type: "button", class: "raw", "aria-pressed": "false", onclick: showRaw }, "raw features and values");
  const title = h("summary");
  const details = h("details", { open: true, hidden: !most, ontoggle: schedule }, title,
    h("p", { class: "faint" }, "Positive contributions favour the chosen action, negative ones the alternative; they sum to the difference. ", toggle), h("ol", {}, ...rows.map((row) => row.element))); // prettier-ignore

  /** Emphasises the objects of a row's feature; of a WL feature, those that it describes after only one of the two actions. */
  function lookAt({ reason: [feature], at, other, feature: words }) {
    const objects = rollout.named[feature];
    if (objects) return emphasise(objects);
    const text = inOrder(rollout.features[feature]);
    const found = [rollout.steps[at].chosen, other].map((rank) => describedNodes(stateAfter(rollout, at, rank), signs).get(text) ?? new Set());
    const only = found.map((each, place) => [...each].filter((node) => !found[1 - place].has(node)));
    words.title = [english[feature], rollout.features[feature], ...only.map((each, place) => each.length && `Only after ${place ? `rank ${other + 1}` : "the chosen action"}: ${each.join(", ")}`)].filter(Boolean).join("\n");
    const nodes = only.flat().length ? only.flat() : [...found[0], ...found[1]]; // where the colours alone differ, of one text: all
    return emphasise(nodes.flatMap(objectsIn));
  }

  function showRaw() {
    raw = !raw;
    toggle.setAttribute("aria-pressed", String(raw));
    details.classList.toggle("rawly", raw);
    schedule();
  }

  function render(at, rank) {
    const step = rollout.steps[at];
    if (!step) return; // at the end the panel is hidden
    const other = comparedWith(step, rank);
    const missing = unexplained(step, other);
    const sentence = (inBrief) => missing || reasonsInWords(step, other, name, (each) => english[each], inBrief);
    said.textContent = sentence(true);
    said.title = sentence(false);
    const found = missing ? null : explanationOf(step, other);
    title.textContent = found ? `Feature contributions to the ${found.measure} (vs. rank ${other + 1})` : "Feature contributions: none";
    details.style.visibility = found ? "" : "hidden";
    if (!details.open) return;
    const widest = Math.max(LEAST_SHARE, ...(found?.reasons ?? []).map(([, , , share]) => Math.abs(share)));
    rows.forEach((row, place) => {
      const reason = found?.reasons[place];
      row.element.style.visibility = reason ? "" : "hidden";
      Object.assign(row, { reason, at, other });
      if (!reason) return;
      const [feature, chosen, against, share] = reason;
      row.bar.className = share < 0 ? "for" : "against";
      row.bar.style.width = `${(50 * Math.abs(share)) / widest}%`;
      row.value.textContent = signed(-share);
      row.feature.textContent = raw ? rollout.features[feature] : english[feature];
      row.feature.title = `${english[feature]}\n${rollout.features[feature]}`;
      row.values.textContent = raw && chosen !== null ? `chosen ${short(chosen)}, other ${short(against)}` : "";
    });
  }
  return { element: h("section", { class: "reasons", hidden: !most && !rollout.steps.some((step) => step.because) }, said, details), render };
}
