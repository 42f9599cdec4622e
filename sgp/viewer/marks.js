// Distances to the goal: marks on the scrubber for the steps that waste actions, and the number of actions left in words.


const MARK_SHAPES = { inaccuracy: "M4.5 1v7", mistake: "M4.5 1 8.5 8h-8z", "dead end": "M1 1l7 7M8 1l-7 7" };
const MARKS_LEGEND =
  "Marks below the scrubber are proved losses: a line wastes one action, compared with a shortest plan; a triangle wastes two or more; a cross " +
  "leads into a dead end. Where the exact number of actions left is not known, a step has a mark only if the known bounds prove a loss. " +
  "Marks that lie close together are drawn as one; key n visits each of them.";

/** A rollout's marks in order, each with its place, kind and words; null where nothing is known of what is left. */
function marksOf({ marks }) {
  return marks?.map(([place, lost, exact]) => {
    if (lost === null) return { place, kind: "dead end", words: "dead end: the goal cannot be reached any more" };
    return { place, kind: lost === 1 ? "inaccuracy" : "mistake", words: `wastes ${exact ? "" : "at least "}${plural(lost, "action")}` };
  }) ?? null; // prettier-ignore
}

/** The number of actions left, or its bounds, in a few letters. */
function leftInWords(left) {
  if (left === undefined || (left[1] === null && left[0] <= 1)) return "unknown"; // only a goal has none left
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
  if (least + count > high) return `it wastes ${low === high && least === most ? "" : "at least "}${plural(least + count - high, "action")}`;
  return "whether it wastes actions is unknown";
}

const MARK_PITCH = 12; // pixels between the middles of two marks
const GRAVITY = ["inaccuracy", "mistake", "dead end"];

/**
 * The marks below a scrubber of places 0 to `last`, of which `here()` is shown; a click goes there. Screen readers hear them with the place.
 *
 * Marks that would overlap are one mark, of the gravest kind; a click goes to the next one among them.
 */
function markRow(marks, last, go, here) {
  const row = h("span", { class: "lapses", "aria-hidden": "true" });
  const draw = (width) => {
    const groups = [];
    for (const mark of marks) {
      const before = groups.at(-1);
      if (before && ((mark.place - before[0].place) * width) / Math.max(last, 1) < MARK_PITCH) before.push(mark);
      else groups.push([mark]);
    }
    row.replaceChildren(...groups.map((group) => {
      const kind = GRAVITY.findLast((each) => group.some((mark) => mark.kind === each));
      const shape = s("svg", { viewBox: "0 0 9 9", class: kind.replace(" ", "-") }, s("path", { d: MARK_SHAPES[kind] }));
      const listed = group.map(({ place, words }) => `step ${place + 1}: ${words}`);
      const title = (group.length > 1 ? [`${group.length} marks`, ...listed] : listed).join("\n");
      const visit = () => go((group.find(({ place }) => place > here()) ?? group[0]).place);
      return h("i", { title, style: `--at: ${group[0].place / Math.max(last, 1)}`, onclick: visit }, shape);
    })); // prettier-ignore
  };
  draw(160);
  if (marks.length) new ResizeObserver(([{ contentRect }]) => draw(contentRect.width)).observe(row);
  return row;
}
