// Marks on the scrubber: the steps that gave something away, by how many actions more than needed.

const MARK_SHAPES = { inaccuracy: "M4.5 1v7", mistake: "M4.5 1 8.5 8h-8z", "dead end": "M1 1l7 7M8 1l-7 7" };
const MARKS_LEGEND =
  "Below the scrubber, where it is known how far the goal is: a line is an inaccuracy (one action more than needed), a triangle a " +
  "mistake (two or more), a cross a step into a dead end, from which no plan leads to the goal. Distances are those of a search " +
  "through all states or, where these are too many, of the best plans known: then a mark says \u201cas far as is known\u201d.";

/** A rollout's marks in order, each with its place, kind and words; null where nobody knows what is left. */
function marksOf({ marks, least }) {
  return marks?.map(([place, lost]) => {
    if (lost === null) return { place, kind: "dead end", words: "a step into a dead end: no plan leads to the goal from there" };
    const kind = lost === 1 ? "inaccuracy" : "mistake";
    const needed = `${plural(lost, "action")} more than needed${least ? "" : ", as far as is known"}`;
    return { place, kind, words: `${kind === "mistake" ? "a" : "an"} ${kind}, ${needed}` };
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
