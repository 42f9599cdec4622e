// Distances to the goal: marks on the scrubber for the steps that lengthen the plan, and the number of actions left in words.


const MARK_SHAPES = { inaccuracy: "M4.5 1v7", mistake: "M4.5 1 8.5 8h-8z", "dead end": "M1 1l7 7M8 1l-7 7" };
const MARKS_LEGEND =
  "Marks below the scrubber are proved losses: a line lengthens the shortest plan by one action, a triangle by two or more, a cross leads " +
  "into a dead end. Where the exact number of actions left is not known, a step has a mark only if the known bounds prove a loss.";

/** A rollout's marks in order, each with its place, kind and words; null where nothing is known of what is left. */
function marksOf({ marks }) {
  return marks?.map(([place, lost, exact]) => {
    if (lost === null) return { place, kind: "dead end", words: "dead end: the goal cannot be reached any more" };
    return { place, kind: lost === 1 ? "inaccuracy" : "mistake", words: `lengthens the shortest plan by ${exact ? "" : "at least "}${lost}` };
  }) ?? null; // prettier-ignore
}

/** The number of actions left, or its bounds, in a few letters; "" where nothing was recorded. */
function leftInWords(left) {
  if (left === undefined) return "";
  if (!Array.isArray(left)) return left === "dead end" ? "✕" : String(left);
  return left[1] === null ? `≥ ${left[0]}` : `${left[0]} to ${left[1]}`;
}

/** The lower and the upper bound of a recorded number of actions left. */
const boundsOf = (left) => (left === "dead end" ? [Infinity, Infinity] : Array.isArray(left) ? [left[0], left[1] ?? Infinity] : [left, left]);

/** What a candidate of a step does to the length of the plan, in words; "" where nothing was recorded. */
function lossInWords(here, candidate) {
  if (here === undefined || candidate.left === undefined) return "";
  const [[low, high], [least, most]] = [boundsOf(here), boundsOf(candidate.left)];
  const count = candidate.actions.length;
  if (low === Infinity) return "";
  if (least === Infinity) return "it leads into a dead end";
  if (most + count <= low) return "it is on a shortest plan";
  if (least + count > high) return `it lengthens the shortest plan by ${low === high && least === most ? "" : "at least "}${least + count - high}`;
  return "whether it lengthens the shortest plan is unknown";
}

/** The marks below a scrubber of places 0 to `last`; a click goes there. Screen readers hear them with the place. */
function markRow(marks, last, go) {
  return h("span", { class: "lapses", "aria-hidden": "true" }, ...marks.map(({ place, kind, words }) => {
    const shape = s("svg", { viewBox: "0 0 9 9", class: kind.replace(" ", "-") });
    shape.append(s("path", { d: MARK_SHAPES[kind] }));
    const title = `step ${place + 1}: ${words}`;
    return h("i", { title, style: `--at: ${place / Math.max(last, 1)}`, onclick: () => go(place) }, shape);
  })); // prettier-ignore
}
