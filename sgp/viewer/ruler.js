// The costs of a step's candidates on a line: where the model predicts an embedding, their true distances from the prediction.

const RULER = { width: 320, height: 78, base: 48, ends: 65, left: 16, right: 14, row: 13, rows: 3, cut: 44, tick: 6 };
const TOGETHER = 7; // units: candidates that lie so close have one label
const SIDES = [[0, 1, -1], [1, 0, -1], [-1, 0, 1]]; // in which order places of a label are tried: above its line, to the right, to the left
const NEIGHBOURS = 60; // units: labels for which there is no room are joined to one that is so close
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
    title.textContent = !step ? "Beam" : `${predicts ? "Distance from the prediction" : "Cost of the candidates"}${part}`;
    drawing.style.display = step ? "" : "none"; // at the end only the lanes below remain
    if (!listed.length) return;
    const costs = listed.map((each) => each.cost);
    const state = step.state_cost ?? step.candidates.find((each) => !each.add?.length && !each.delete?.length)?.cost ?? null;
    const [low, high] = [predicts ? 0 : Math.min(...costs), Math.max(...costs, predicts ? (state ?? 0) : -Infinity)];
    const nearest = Math.min(...costs, predicts ? (state ?? Infinity) : Infinity);
    const broken = predicts && high - nearest < BROKEN * high; // the axis is cut between 0 and the nearest
    const [start, begin] = broken ? [nearest, RULER.left + RULER.cut] : [low, RULER.left];
    const span = high - start > 1e-6 * Math.abs(high) ? high - start : 1; // costs that count as equal are at one place
    const x = (cost) => begin + ((RULER.width - begin - RULER.right) * (cost - start)) / span;
    const write = numbersApart([start, high]);
    const text = (at_, y, words, more = {}) => s("text", { x: at_, y, "text-anchor": "middle", fill: "var(--ink)", ...more }, words);
    drawing.append(s("line", { x1: RULER.left, x2: RULER.width - RULER.right, y1: RULER.base, y2: RULER.base, stroke: "var(--ink)" }));
    if (predicts) drawing.append(s("path", { d: "M0-6 6 0 0 6-6 0z", transform: `translate(${RULER.left} ${RULER.base})`, ...LOOKS.predicted }));
    if (broken) {
      drawing.append(s("path", { d: `M${begin - 22} ${RULER.base - 5}l5 10m3-10l5 10`, stroke: "var(--ink)", fill: "none" }));
      drawing.append(text(RULER.left, RULER.ends, "0", { "text-anchor": "start" }));
    }
    const [first, end] = [start, high].map(write);
    drawing.append(text(begin, RULER.ends, first, { "text-anchor": "start" }));
    if (first !== end) drawing.append(text(RULER.width - RULER.right, RULER.ends, end, { "text-anchor": "end" }));
    if (predicts && state !== null) {
      drawing.append(s("path", { d: "M-3.5 1h7v7h-7z", transform: `translate(${x(state).toFixed(1)} ${RULER.base})`, fill: "var(--ink)" }));
      drawing.append(text(Math.min(Math.max(x(state), 40), RULER.width - 40), RULER.height - 2, "current state"));
    }
    const signs = (each) => `${each.rank - 1 === step.chosen ? "✔" : ""}${each.marks.includes("expert") ? "▲" : ""}${!hidden && step.best?.includes(each.rank - 1) ? "◆" : ""}`;
    const isLooked = (each) => each.rank - 1 === rank && rank !== step.chosen;
    const groups = mostLabelled(listed, { x, signs, looked: isLooked });
    const colour = (found) => found.some(isLooked) ? "var(--orange)" : found.some((each) => each.rank - 1 === step.chosen) ? "var(--blue)"
      : found.every((each) => step.unavailable.includes(each.rank - 1)) ? "var(--faint)" : "var(--ink)"; // prettier-ignore
    const clickable = (found, shape) => {
      const words = found.map((each) => `rank ${each.rank}, ${number(each.cost)}: ${name(each)}`).join("\n");
      const element = s("g", { class: "tick" }, s("title", {}, words), shape);
      element.addEventListener("click", () => pick((found.find((each) => each.rank - 1 === step.chosen) ?? found[0]).rank - 1));
      return element;
    };
    const labels = []; // above the lines of all candidates
    for (const group of groups) {
      const top = group.label ? RULER.base - 12 - RULER.row * group.label.row : RULER.base - RULER.tick;
      for (const place of new Set(group.members.map((each) => x(each.cost).toFixed(1)))) {
        const found = group.members.filter((each) => x(each.cost).toFixed(1) === place);
        const chosen = found.some((each) => each.rank - 1 === step.chosen);
        const long = group.label && group.ticks.some((each) => each.toFixed(1) === place);
        drawing.append(clickable(found, s("line", { x1: place, x2: place, y1: long ? top + 2 : RULER.base - RULER.tick, y2: RULER.base, stroke: colour(found), "stroke-width": chosen ? 2.5 : 1 })));
      }
      if (!group.label) continue;
      const chosen = group.members.some((each) => each.rank - 1 === step.chosen);
      labels.push(clickable(group.members, text(group.label.middle.toFixed(1), top, group.label.words, { fill: colour(group.members), "font-weight": chosen ? 700 : 400, stroke: "var(--paper)", "stroke-width": 3, "paint-order": "stroke" })));
    }
    drawing.append(...labels);
    drawing.setAttribute("aria-label", listed.map((each) => `rank ${each.rank} at ${number(each.cost)}`).join(", "));
  }
  return { element, show };
}

/** The first layout with the most labels, of all orders in which places of labels are tried. */
function mostLabelled(listed, how) {
  const together = []; // candidates that have one label
  for (const each of [...listed].sort((one, other) => one.cost - other.cost || one.rank - other.rank)) {
    if (together.length && how.x(each.cost) - how.x(together.at(-1)[0].cost) < TOGETHER) together.at(-1).push(each);
    else together.push([each]);
  }
  let [best, most] = [null, -1];
  for (const sides of SIDES.flatMap((of) => SIDES.map((others) => [of, others]))) {
    const groups = labelsOf(together, { ...how, sides });
    const labelled = groups.filter(({ label }) => label).length;
    if (labelled > most) [best, most] = [groups, labelled];
    if (most === together.length) break; // there cannot be more
  }
  return best;
}

/**
 * Groups of candidates that lie at nearly the same place, each with its label [words, row, middle] or none where there is no room; candidates
 * with a sign always have one, together with their neighbours if need be. `ticks`: where the label's lines stand. `sides` has the order of places
 * for the chosen candidate, and for others.
 */
function labelsOf(together, { x, signs, looked, sides }) {
  const groups = together.map((members) => ({ members }));
  const weight = (group) => Math.max(...group.members.map((each) => (signs(each).includes("✔") ? 3 : looked(each) ? 2 : signs(each) ? 1 : 0)));
  for (const group of groups) group.ticks = [x((group.members.find((each) => weight({ members: [each] }) > 1) ?? group.members[0]).cost)];
  const first = new Set(); // groups that had no room after others
  for (let again = true; again; ) {
    again = false;
    const placed = [];
    for (const group of [...groups].sort((one, other) => first.has(other) - first.has(one) || weight(other) - weight(one) || one.ticks[0] - other.ticks[0])) {
      group.label = placeFor(group, placed, signs, sides[weight(group) === 3 ? 0 : 1]);
      if (group.label) placed.push(group);
      else if (weight(group) && !first.has(group)) {
        first.add(group);
        again = true;
        break;
      } else if (weight(group)) {
        const away = (other) => Math.min(...group.ticks.flatMap((one) => other.ticks.map((each) => Math.abs(one - each))));
        const other = placed.find((each) => away(each) === Math.min(...placed.map(away)));
        if (!other || away(other) > NEIGHBOURS) continue;
        other.members = [...other.members, ...group.members].sort((one, two) => one.rank - two.rank);
        other.ticks = [...other.ticks, ...group.ticks].sort((one, two) => one - two);
        groups.splice(groups.indexOf(group), 1);
        again = true;
        break;
      }
    }
  }
  return groups;
}

/** The first place above a group's line at which its label touches no other label or line, in words as full as there is room for; or null. */
function placeFor({ members, ticks }, placed, signs, sides) {
  const ranks = [...members].sort((one, other) => one.rank - other.rank);
  const crosses = (tick, [left, right]) => tick > left - 2 && tick < right + 2;
  for (const words of new Set([rangesOf(ranks, signs), briefRanges(ranks, signs)])) {
    const half = widthOf(words) / 2;
    if (2 * half > RULER.width) continue;
    for (let row = 0; row < RULER.rows; row += 1) {
      const middle = (ticks[0] + ticks.at(-1)) / 2;
      for (const side of sides) {
        const centre = Math.max(half, Math.min(middle + side * (half - 3), RULER.width - half));
        const own = [centre - half, centre + half];
        const free = placed.every((other) => {
          const [left, right] = [other.label.middle - widthOf(other.label.words) / 2, other.label.middle + widthOf(other.label.words) / 2];
          if (other.label.row === row) return own[1] + 4 < left || own[0] - 4 > right;
          return other.label.row > row ? !other.ticks.some((each) => crosses(each, own)) : !ticks.some((each) => crosses(each, [left, right]));
        });
        if (free) return { words, row, middle: centre };
      }
    }
  }
  return null;
}

/** Ranks with a sign, and dots for the others: `… 4✔ … 16▲◆`. */
function briefRanges(group, signs) {
  const parts = rangesOf(group, signs).split(" ");
  return parts.map((each) => (/[^\d–]/.test(each) ? each : "…")).filter((each, place, all) => each !== "…" || all[place - 1] !== "…").join(" ");
}

/** About how many units a label takes: digits, spaces and signs. */
const widthOf = (words) => [...words].reduce((sum, each) => sum + (each === " " ? 4.5 : /[\d–]/.test(each) ? 8 : 12), 0);
