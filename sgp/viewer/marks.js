// Marks on the scrubber: the steps that gave something away, by how many actions more than needed.

const MARK_SHAPES = { inaccuracy: "M4.5 1v7", mistake: "M4.5 1 8.5 8h-8z", "dead end": "M1 1l7 7M8 1l-7 7" };
const MARKS_LEGEND =
  "Below the scrubber, where the distance to the goal is known: a line lengthens the plan by one action, a triangle by two or more, a " +
  "cross leads into a dead end. Distances are exact where the state space is small; elsewhere they are estimated from the best known " +
  "plans, and a mark says \u201cpossibly\u201d.";

/** A rollout's marks in order, each with its place, kind and words; null where nobody knows what is left. */
function marksOf({ marks, least }) {
  return marks?.map(([place, lost]) => {
    if (lost === null) return { place, kind: "dead end", words: "dead end: the goal cannot be reached any more" };
    const kind = lost === 1 ? "inaccuracy" : "mistake";
    const words = least ? `lengthens the shortest plan by ${lost}` : `possibly ${plural(lost, "action")} longer than necessary (estimated)`;
    return { place, kind, words };
  }) ?? null; // prettier-ignore
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
