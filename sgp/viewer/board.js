// State and goal beside each other; over the state, the ghost of what a candidate would make of it, and in words at its edge.

const LIKE_MOST = 0.5; // of a drawing's parts that a ghost may change: beyond, it stands alone

const EXPECTS =
  "The predicted embedding is approximated by a weighted mix of the current state and all successors. The number before atoms is the total " +
  "weight of the successors that add (+) or delete (−) them; it is not a probability.";

/** The board; `drawing(frame)` gives a frame's. `render(at, rank, looked)` shows a step; `looked`: somebody points or picked. */
function board(rollout, { drawing, goal }) {
  const english = rollout.words;
  const titles = [h("h3", {}), h("h3", {})];
  const now = h("div", { class: "now" });
  const would = h("div", { class: "would" });
  const change = h("div", { class: "change", tabindex: "0", role: "group", "aria-label": "What changes" });
  const expects = h("p", { class: "expects", title: EXPECTS, hidden: !rollout.steps.some((step) => step.expects) });
  const goals = rollout.wanted.map(([words]) => ({ sign: document.createTextNode("○ "), element: h("li", {}), words }));
  goals.forEach((each) => each.element.append(each.sign, each.words));
  const list = h("ul", { class: "goals", tabindex: "0", "aria-label": "Goals" }, ...goals.map((each) => each.element));
  const element = picturePair(titles, [h("div", { class: "picture" }, now, would), h("div", { class: "picture" }, goal)], [drawing(0), goal], [h("div", {}, change, expects), list]);
  const last = rollout.steps.length;
  let ghosted = { key: "", words: "" };
  let mentioned = []; // parts of drawings that are emphasised
  let pixels = 0; // the width of `expects`; 0: to be read, for which the page is laid out
  new ResizeObserver(() => (pixels = 0)).observe(expects);

  function render(at, rank, looked) {
    if (!expects.hidden) pixels ||= expects.clientWidth;
    const step = rollout.steps[at];
    const candidate = step ? step.candidates[rank] : null;
    exchange(now, drawing(at), at);
    titles[0].textContent = at === 0 ? "Initial state" : at === last ? "Final state" : `State after ${plural(at, "step")}`;
    renderGoals(at);
    renderGhost(at, rank, looked);
    const conditional = !candidate || (rank === step.chosen && !looked) ? "" : "Would ";
    const said = !candidate ? ["The rollout ends here."] : !candidate.add.length && !candidate.delete.length ? ["No effect: the state does not change."]
      : [...atoms(conditional ? "Would add" : "The chosen action adds", "+", candidate.add), ...atoms(conditional ? "Would delete" : "and deletes", "−", candidate.delete)]; // prettier-ignore
    change.replaceChildren(...said);
    if (!expects.hidden) renderExpected(step, pixels);
  }

  function atoms(title, symbol, found) {
    const said = found.map((atom) => h("code", { title: english && english.atoms[atom] }, rollout.atoms[atom]));
    return [h("p", { class: symbol === "+" ? "adds" : "deletes" }, `${symbol} ${title}: `, ...(said.length ? said : ["nothing"]))];
  }

  /** What the prediction reads as: a group for each score; in a line of `width` pixels only the groups that fit. */
  function renderExpected(step, width) {
    const { changes, nothing } = step?.expects ?? { changes: [], nothing: 0 };
    const scores = [...new Set([...changes.map(([, , score]) => score), ...(nothing > 0 ? [nothing] : [])])].sort((one, other) => other - one);
    const groups = scores.map((score) => h("span", {}, `(${score.toFixed(2)}): `,
      ...changes.filter((each) => each[2] === score).flatMap(([atom, true_]) => [
        h("code", { title: english && `${true_ ? "becomes true" : "becomes false"}: ${english.atoms[atom]}` }, `${true_ ? "+" : "\u2212"}${rollout.atoms[atom]}`), " "]),
      ...(score === nothing ? ["no change"] : []))); // prettier-ignore
    let room = width - 200; // pixels, without the words before the groups
    const wide = (group) => [...group.children].reduce((sum, atom) => sum + atom.textContent.length * 7.3 + 11, 8) + (group.children.length ? 32 : 90);
    const fitting = groups.findIndex((each, place) => (room -= wide(each)) < (place < groups.length - 1 ? 55 : 0)); // the button's
    const shown = fitting < 0 ? groups.length : Math.max(1, fitting);
    const showAll = () => {
      expects.replaceChildren("Predicted effects by weight ", ...groups);
      expects.classList.add("all");
    };
    const more = shown < groups.length ? [h("button", { type: "button", onclick: showAll }, `${groups.length - shown} more`)] : [];
    expects.classList.remove("all");
    expects.replaceChildren(...(groups.length ? ["Predicted effects by weight ", ...groups.slice(0, shown), ...more] : []));
  }

  function renderGoals(at) {
    const open = rollout.frames[at].open;
    titles[1].textContent = `Goal: ${rollout.goals - open} of ${rollout.goals} satisfied`;
    rollout.wanted.forEach(([, turns], place) => {
      const holds = turns.filter((turn) => turn <= at).length % 2 === 0;
      if (goals[place].holds === holds) return;
      goals[place].holds = holds;
      goals[place].sign.data = holds ? "✔ " : "○ ";
      goals[place].element.className = holds ? "holds" : "";
    });
  }

  /** The state that a candidate leads to, as far as it differs: known where it was drawn, and of the chosen one. */
  function renderGhost(at, rank, looked) {
    const key = looked && at < last ? `${at} ${rank}` : "";
    if (key !== ghosted.key) ghosted = { key, words: drawGhost(key, at, rank) };
    if (ghosted.words) titles[0].textContent += ghosted.words;
  }

  /** Draws the ghost, or none; gives what the heading says of it. */
  function drawGhost(key, at, rank) {
    const places = key ? picturedAfter(at, rank) : null;
    const ghost = places && ghostOf(drawing(at), parseDrawing(rollout.elements, places));
    would.replaceChildren(...(ghost ? [ghost.drawing] : []));
    now.classList.toggle("replaced", Boolean(ghost?.alone));
    if (!key) return "";
    return ghost ? `; ${ghost.alone ? "shown" : "pale"}: the resulting state` : "";
  }

  function picturedAfter(at, rank) {
    const step = rollout.steps[at];
    if (rank === step.chosen) return rollout.frames[at + 1].picture;
    const changes = step.candidates[rank].picture;
    if (!changes) return null;
    const places = [...rollout.frames[at].picture];
    for (const [place, gone, ...come] of [...changes].reverse()) places.splice(place, gone, ...come);
    return places;
  }

  /** Emphasises objects in state and goal: their labels, or shapes without a label; [] ends it. */
  function emphasise(names) {
    mentioned.forEach((each) => each.classList.remove("mentioned"));
    mentioned = names.length ? [...element.querySelectorAll(".picture svg")].flatMap((each) => partsOf(each, new Set(names))) : [];
    mentioned.forEach((each) => each.classList.add("mentioned"));
  }
  return { element, render, emphasise };
}

/** The labels of named objects in a drawing, or where an object has none its shape; a group's title begins with its object. */
function partsOf(drawing, names) {
  const own = new Map([...names].map((each) => [each, { labels: [], shapes: [] }]));
  for (const title of drawing.querySelectorAll("g > title")) {
    const found = own.get(title.textContent.split(/[:;]/)[0].split(" ").at(-1)); // "b1: on b2", "c0-1; goal", "truck t1"
    const [label, shape] = ["text", "rect"].map((tag) => title.parentElement.querySelector(`:scope > ${tag}`));
    if (found && label) found.labels.push(label);
    else if (found && shape) found.shapes.push(shape);
  }
  return [...own.values()].flatMap(({ labels, shapes }) => (labels.length ? labels : shapes));
}

/** What of a drawing differs from another one of its size; all of it, alone, where the size or most parts differ. */
function ghostOf(before, after) {
  const written = (each) => new XMLSerializer().serializeToString(each);
  const parts = new Set([...before.children].map(written));
  const same = [...after.children].filter((each) => parts.has(written(each)));
  const alone = before.getAttribute("viewBox") !== after.getAttribute("viewBox") || same.length < LIKE_MOST * after.children.length;
  if (!alone) same.forEach((each) => each.remove());
  after.setAttribute("class", alone ? "ghost alone" : "ghost");
  return { drawing: after, alone };
}
