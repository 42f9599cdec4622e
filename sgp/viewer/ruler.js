// The costs of a step's candidates on a line: where the model predicts an embedding, their true distances from the prediction.

const RULER = { width: 320, height: 84, base: 48, ends: 71, left: 16, right: 14, row: 13, rows: 3, cut: 44 };
const TOGETHER = 7; // units: candidates that lie so close have one label
const BROKEN = 0.2; // of the largest distance: where all distances lie so close, the axis does not begin at 0
const RULED = 12; // candidates on the line: the cheapest, the chosen one, the expert's

/** The ruler; `show(at, rank, hidden)` draws a step's (`hidden`: not which candidates are on a shortest plan), `pick` hears of a candidate that is clicked. */
function drawRuler(rollout, { name, pick }) {
  const title = h("h3", {});
  const drawing = s("svg", { viewBox: `0 0 ${RULER.width} ${RULER.height}`, role: "img" });
  const element = h("section", { class: "ruler" }, title, drawing);

  function show(at, rank, hidden) {
    const step = rollout.steps[at];
    const predicts = Boolean(step?.expects);
    drawing.replaceChildren();
    const listed = (step?.candidates ?? []).filter((each, place) => each.cost !== null && (place < RULED || place === step.chosen || place === rank || each.marks.includes("expert")));
    const part = listed.length < (step?.candidates.length ?? 0) ? ` (${listed.length} of ${step.candidates.length})` : "";
    title.textContent = !step ? "Rollout finished" : `${predicts ? "Distance from the prediction" : "Cost of the candidates"}${part}`;
    if (!listed.length) return;
    const costs = listed.map((each) => each.cost);
    const state = step.state_cost ?? step.candidates.find((each) => !each.add?.length && !each.delete?.length)?.cost ?? null;
    const [low, high] = [predicts ? 0 : Math.min(...costs), Math.max(...costs, predicts ? (state ?? 0) : -Infinity)];
    const nearest = Math.min(...costs, predicts ? (state ?? Infinity) : Infinity);
    const broken = predicts && high - nearest < BROKEN * high; // the axis is cut between 0 and the nearest
    const [start, begin] = broken ? [nearest, RULER.left + RULER.cut] : [low, RULER.left];
    const x = (cost) => begin + ((RULER.width - begin - RULER.right) * (cost - start)) / (high - start || 1);
    const inFull = (value) => (number(nearest) === number(high) ? value.toFixed(3) : number(value));
    const text = (at_, y, words, more = {}) => s("text", { x: at_, y, "text-anchor": "middle", fill: "var(--ink)", ...more }, words);
    drawing.append(s("line", { x1: RULER.left, x2: RULER.width - RULER.right, y1: RULER.base, y2: RULER.base, stroke: "var(--ink)" }));
    if (predicts) drawing.append(s("path", { d: "M0-6 6 0 0 6-6 0z", transform: `translate(${RULER.left} ${RULER.base})`, ...LOOKS.predicted }));
    drawing.append(text(RULER.left, RULER.ends, broken ? "0" : number(low), { "text-anchor": "start" }), text(RULER.width - RULER.right, RULER.ends, inFull(high), { "text-anchor": "end" }));
    if (broken) {
      drawing.append(s("path", { d: `M${begin - 22} ${RULER.base - 5}l5 10m3-10l5 10`, stroke: "var(--ink)", fill: "none" }));
      drawing.append(text(begin, RULER.ends, inFull(nearest), { "text-anchor": "start" }));
    }
    if (predicts && state !== null) {
      drawing.append(s("path", { d: "M-4 4h8v8h-8z", transform: `translate(${x(state).toFixed(1)} ${RULER.base})`, fill: "var(--ink)" }));
      drawing.append(text(Math.min(Math.max(x(state), 40), RULER.width - 40), RULER.height - 2, "current state"));
    }
    const groups = []; // of candidates that lie at nearly the same place
    for (const each of listed) {
      if (groups.length && x(each.cost) - x(groups.at(-1)[0].cost) < TOGETHER) groups.at(-1).push(each);
      else groups.push([each]);
    }
    const ends = []; // of each row of labels, where the last one ends
    const labels = []; // above the lines of all candidates
    for (const group of groups) {
      const ranks = group.map((each) => each.rank - 1);
      const [place, chosen] = [x(group[0].cost), ranks.includes(step.chosen)];
      const signs = (each) => `${each.rank - 1 === step.chosen ? "✔" : ""}${each.marks.includes("expert") ? "▲" : ""}${!hidden && step.best?.includes(each.rank - 1) ? "◆" : ""}`;
      const words = rangesOf(group, signs);
      const half = 4 + 3.6 * words.length;
      let row = ends.findIndex((end) => end < place - half);
      if (row < 0) row = Math.min(ends.length, RULER.rows - 1);
      ends[row] = place + half;
      const looked = ranks.includes(rank) && !chosen;
      const closed = ranks.every((each) => step.unavailable.includes(each));
      const colour = looked ? "var(--orange)" : chosen ? "var(--blue)" : closed ? "var(--faint)" : "var(--ink)";
      const top = RULER.base - 12 - RULER.row * row;
      const title_ = group.map((each) => `rank ${each.rank}, ${number(each.cost)}: ${name(each)}`).join("\n");
      const line = s("line", { x1: place.toFixed(1), x2: place.toFixed(1), y1: top + 2, y2: RULER.base, stroke: colour, "stroke-width": chosen ? 2.5 : 1 });
      const label = text(Math.max(half, Math.min(place, RULER.width - half)).toFixed(1), top, words, { fill: colour, "font-weight": chosen ? 700 : 400, stroke: "var(--paper)", "stroke-width": 3, "paint-order": "stroke" });
      const visible = [line, label].map((each) => s("g", { class: "tick" }, s("title", {}, title_), each));
      visible.forEach((each) => each.addEventListener("click", () => pick(chosen ? step.chosen : ranks[0])));
      drawing.append(visible[0]);
      labels.push(visible[1]);
    }
    drawing.append(...labels);
    drawing.setAttribute("aria-label", listed.map((each) => `rank ${each.rank} at ${number(each.cost)}`).join(", "));
  }
  return { element, show };
}
