// Guess the move: the user takes a candidate before the model's choice is shown; the score counts agreement with the
// model and with the expert (data: playback.py, one rollout). The rollout goes on as the model went. Decisions with one
// option are skipped. The browser stores the guesses until its tab is closed.

const GUESS_STYLE = `
.sgp.guess { font-size: 16px; } .sgp.guess .bar { display: flex; flex-wrap: wrap; gap: 8px 14px; align-items: center; margin: 0 0 8px; }
.sgp.guess .score { font-variant-numeric: tabular-nums; margin: 0; } .sgp.guess .score b { font-size: 18px; }
.sgp.guess .board { display: grid; gap: 12px; grid-template-columns: minmax(0, 1fr); }
@container (min-width: 860px) { .sgp.guess .board { grid-template-columns: minmax(0, 5fr) minmax(0, 4fr); } }
.sgp.guess h3 { font-size: 14px; } .sgp.guess .pictures .picture { height: clamp(200px, 60vh, 760px); }
.sgp.guess .pictures.wide { grid-template-columns: minmax(0, 1fr); align-content: start; }
.sgp.guess .pictures.wide .picture { flex: none; height: clamp(170px, 31vh, 480px) !important; aspect-ratio: auto !important; }
.sgp.guess .pictures.wide section + section .picture { height: clamp(130px, 23vh, 360px) !important; }
.sgp.guess .choices { display: grid; gap: 5px; align-content: start; max-height: 66vh; overflow: auto; padding: 3px; }
.sgp.guess .choice { display: grid; grid-template-columns: 1.6em minmax(0, 1fr) max-content; gap: 2px 10px; text-align: left;
  width: 100%; align-items: baseline; padding: 5px 10px; } .sgp.guess .choice code { font-size: 15px; }
.sgp.guess .choice small { grid-column: 2 / -1; color: var(--faint); font-size: 14px; }
.sgp.guess .choice[aria-disabled=true] { cursor: default; } .sgp.guess .choice.yours { background: var(--pick); }
.sgp.guess .choice.models { border: 2px solid var(--blue); font-weight: 600; }
.sgp.guess .key { color: var(--faint); } .sgp.guess .badge { font-size: 14px; font-weight: 400; }
.sgp.guess .verdict { min-height: 24px; margin: 0 0 8px; }
`;
const KEYED = 9; // choices that have a digit

/** Builds the quiz in `host`. `options.onStep` hears of a step where the user rests. */
export function mountGuess(host, rollout, options = {}) {
  const last = rollout.steps.length;
  const stored = `sgp guesses ${rollout.id}`;
  // By step, the rank (from 0) that was guessed, or null where the answer was asked for.
  const guesses = new Map(JSON.parse(sessionStorage.getItem(stored) ?? "[]"));
  const name = (candidate) => candidate.actions.map((each) => rollout.actions[each]).join(" ");
  const inWords = (candidate) => rollout.words && candidate.actions.map((each) => rollout.words.actions[each]).join("; then ");
  const features = rollout.words?.features ?? rollout.features;
  const choices = rollout.steps.map(openChoices);
  const pictures = new Map();
  const goal = parseDrawing(rollout.elements, rollout.goal);
  const bindings = { Enter: on, " ": on, ArrowRight: on, k: on, ArrowLeft: back, j: back, a: answer, "?": () => {}, "+": () => {}, "-": () => {} };
  for (let place = 0; place < KEYED; place += 1) bindings[place + 1] = () => guess(place);
  const walk = transport({ last, unit: "decision", first: 1, show, bindings, keys: [], notes: [],
    name: (at) => (at < last ? `decision ${at + 1} of ${last}` : "the end") },
    { ...options, step: nextOpen(Math.max(0, options.step || 0)) }); // prettier-ignore
  const place = h("b", {});
  const score = h("p", { class: "score" });
  const verdict = h("p", { class: "verdict", "aria-live": "polite" });
  const state = h("div", { class: "picture" });
  const stateTitle = h("h3", {});
  const goalTitle = h("h3", {});
  const listTitle = h("h3", {});
  const list = h("div", { class: "choices", role: "group", "aria-label": "Options" });
  const again = button("Start over", "Delete the guesses of this rollout", startOver);
  const tell = button("Answer (a)", "Show what the model does, without a guess", answer);
  const root = h("div", { class: "sgp guess", tabindex: "0", role: "region",
    "aria-label": `Guess the move in ${rollout.problem}: digits choose, the right arrow goes on.` },
    h("div", { class: "bar" }, button(icon("back"), "Back (left arrow)", back), place,
      button("Next →", "Next decision (right arrow)", on), tell, again, score),
    verdict,
    h("div", { class: "board" },
      picturePair([stateTitle, goalTitle], [state, h("div", { class: "picture" }, goal)], [drawing(0), goal]),
      h("section", {}, listTitle, list))); // prettier-ignore

  /** The candidates that were open to choice, in an order that tells nothing of their costs. */
  function openChoices(step) {
    const unavailable = new Set(step.unavailable);
    const open = step.candidates.filter((each) => !unavailable.has(each.rank - 1));
    return open.sort((one, other) => (name(one) < name(other) ? -1 : 1));
  }

  function drawing(frame) {
    if (!pictures.has(frame)) pictures.set(frame, parseDrawing(rollout.elements, rollout.frames[frame].picture));
    return pictures.get(frame);
  }

  function guess(which) {
    const found = choices[walk.at]?.[which];
    if (!found || answered(walk.at)) return;
    note(found.rank - 1);
  }

  function answer() {
    if (walk.at === last || answered(walk.at)) return;
    note(null);
  }

  function note(rank) {
    guesses.set(walk.at, rank);
    sessionStorage.setItem(stored, JSON.stringify([...guesses]));
    walk.schedule();
  }

  function startOver() {
    guesses.clear();
    sessionStorage.removeItem(stored);
    walk.go(nextOpen(0));
  }

  /** The first decision from a place on with several options, or the end. */
  function nextOpen(at) {
    while (at < last && choices[at].length < 2) at += 1;
    return at;
  }

  function on() {
    walk.go(nextOpen(walk.at + 1));
  }

  function back() {
    const before = choices.findLastIndex((open, at) => at < walk.at && open.length > 1);
    if (before >= 0) walk.go(before);
  }

  /** How many decisions with one option were skipped directly before a place, in words. */
  function skippedInWords(at) {
    const skipped = at - 1 - choices.findLastIndex((open, place) => place < at && open.length > 1);
    return skipped ? `Skipped: ${plural(skipped, "decision")} with one option. ` : "";
  }

  /** Whether the model's choice is shown. */
  function answered(at) {
    return guesses.has(at);
  }

  /** Whether the expert's plan passes the state of a decision. */
  const passes = (at) => Boolean(rollout.expert?.passes[at]);
  /** The rank of a candidate among those that can be chosen. */
  const rankOf = (at, candidate) => 1 + choices[at].filter((each) => each.rank < candidate.rank).length;
  const models = (step) => step.candidates[step.chosen];
  const equal = (step, candidate) => candidate.gap !== null && candidate.gap === models(step).gap;
  const experts = (candidate) => candidate.marks.includes("expert");
  const over = (step, candidate) => candidate.gap === null ? ", rejected" : candidate.gap === 0 ? ", lowest cost"
    : `, cost ${number(candidate.gap)} above the lowest`; // prettier-ignore

  function show(at) {
    const step = rollout.steps[at];
    if (state.firstChild !== drawing(at)) state.replaceChildren(drawing(at));
    const open = rollout.frames[at].open;
    stateTitle.textContent = at === 0 ? "Initial state" : at === last ? "Final state" : `State before decision ${at + 1}`;
    goalTitle.textContent = `Goal: ${rollout.goals - open} of ${rollout.goals} satisfied`;
    place.textContent = step ? `Decision ${at + 1} of ${last}` : "The end";
    tell.disabled = !step || answered(at);
    score.replaceChildren(...scored());
    const known = step && answered(at);
    root.dataset.answered = known ? "yes" : "no";
    verdict.replaceChildren(...judged(at));
    listTitle.textContent = !step ? "No decision is left" : known ? "Options with the rank that the model gives them"
      : `${plural(choices[at].length, "option")}${choices[at].length > KEYED ? `: click one, or press 1 to ${KEYED} for the first ${KEYED}` : ": click or press a number"}`; // prettier-ignore
    list.replaceChildren(...(step ? choices[at].map((each, which) => choice(step, each, which, known, guesses.get(at))) : []));
  }

  function choice(step, candidate, which, known, guessed) {
    const rank = candidate.rank - 1;
    const at = walk.at;
    const [yours, taken] = [known && guessed === rank, known && rank === step.chosen];
    const said = known
      ? [...(yours ? [badge("●", "you")] : []), ...(taken ? [badge("✔", "model")] : []),
         ...(experts(candidate) ? [badge("▲", "expert")] : []), ` rank ${rankOf(at, candidate)}${over(step, candidate)}`] // prettier-ignore
      : [];
    const english = inWords(candidate);
    return h("button", { type: "button", class: ["choice", yours && "yours", taken && "models"].filter(Boolean).join(" "),
      "aria-disabled": known ? "true" : null, onclick: () => guess(which) },
      h("span", { class: "key" }, which < KEYED ? String(which + 1) : ""), h("code", {}, name(candidate)), h("span", {}, ...said),
      english ? h("small", {}, english) : ""); // prettier-ignore
  }

  function judged(at) {
    const step = rollout.steps[at];
    if (!step) {
      const [symbol, ending] = endOf(rollout);
      return [`${skippedInWords(at)}${symbol} The model's rollout ends here: ${ending}.`];
    }
    if (!answered(at)) return [skippedInWords(at), "Which candidate does the model choose (one action or several)? Visited states are excluded."];
    const cheaper = choices[at].filter((each) => each.gap !== null && each.gap < models(step).gap).length;
    const path = cheaper ? ` (beam search passed over ${plural(cheaper, "cheaper candidate")})` : "";
    const taken = h("span", {}, h("code", {}, name(models(step))), path);
    const guessed = guesses.get(at);
    if (guessed === null) return ["The model chooses ", taken, ". Press → to continue."];
    const yours = step.candidates[guessed];
    const agreed = guessed === step.chosen ? ["Yes: the model chooses ", taken, " too"]
      : equal(step, yours) ? ["Equally good: the model chooses ", taken, " at the same cost"]
      : ["No: the model chooses ", taken, `; it ranks your action ${rankOf(at, yours)} of ${choices[at].length}`]; // prettier-ignore
    const known = passes(at);
    const also = !known ? "the expert's plan does not pass this state" : experts(yours) ? "the expert chooses your action too" : "the expert does not choose your action";
    const loss = lossInWords(rollout.frames[at].left, yours);
    return [...agreed, `; ${also}.${loss ? ` Your action: ${loss.replace(/^it is /, "")}.` : ""}${reasonsAgainst(step, guessed)} Press → to continue.`];
  }

  /** Why the model's choice and not the guessed one, where that was recorded; without the rank, which counts all candidates. */
  function reasonsAgainst(step, guessed) {
    if (!explanationOf(step, guessed)) return "";
    return ` ${reasonsInWords(step, guessed, name, (each) => features[each], true).replace(` (rank ${guessed + 1})`, "")}`;
  }

  /** The running score in words. */
  function scored() {
    const steps = [...guesses].filter(([, rank]) => rank !== null).map(([at, rank]) => [rollout.steps[at], rollout.steps[at].candidates[rank], at]);
    if (!steps.length) return ["No guess yet"];
    const met = steps.filter(([step, yours]) => equal(step, yours) || yours === models(step)).length;
    const led = steps.filter(([, , at]) => passes(at));
    const followed = led.filter(([, yours]) => experts(yours)).length;
    const its = led.filter(([step]) => experts(models(step))).length;
    const beside = led.length ? [" · matched the expert: ", h("b", {}, `${followed} of ${led.length}`), ` (the model: ${its})`] : [];
    return ["Matched the model: ", h("b", {}, `${met} of ${steps.length}`), ...beside];
  }

  return walk.start(host, root, STYLE + GUESS_STYLE);
}

export default hosts("rollout", mountGuess, 1);
