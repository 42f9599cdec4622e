// The nodes of a state's instance learning graph that a recorded WL feature describes, which names no objects: every node is described as the
// feature's text is made (ColourWords in wl_vocabulary.py), and the texts are compared. Two colours of one text are one feature here.

const LISTED = 4; // neighbours in a description

/** The literals of a goal, in PDDL, as their atoms with whether they are positive. */
const signsOf = (literals) => new Map(literals.map((each) => (each.startsWith("(not ") ? [each.slice(5, -1), false] : [each, true])));

function roleOf(positive, holds) {
  if (positive === undefined) return "";
  return positive ? (holds ? "a goal that holds" : "an open goal") : `a goal not to be, and ${holds ? "true" : "false"}`;
}

/** A text with its parts in one order: neighbours that differ in their role in the goal alone have no fixed order. */
const inOrder = (text) => text.replace(/ more kinds?( of atoms)?/g, " more").split("; ").map((part) => part.split(/, (?=[\d(]|and )| with /).sort().join(", ")).join("; ");

/** The nodes, objects or atoms, of each feature of a state (a set of atoms), by the feature's ordered text; `signs`: see `signsOf`. */
function describedNodes(state, signs) {
  const around = new Map(); // for each object its neighbours by predicate, role and position
  const atoms = [...new Set([...state, ...signs.keys()])].map((text) => {
    const [predicate, ...objects] = text.slice(1, -1).split(" ");
    const atom = { text, predicate, objects, role: roleOf(signs.get(text), state.has(text)), joined: signs.get(text) !== false };
    if (!atom.joined) return atom; // negated goals have no edges
    objects.forEach((each, position) => {
      const kinds = around.get(each) ?? around.set(each, new Map()).get(each);
      const key = `${predicate} ${position} ${atom.role}`;
      kinds.set(key, { ...atom, position, count: (kinds.get(key)?.count ?? 0) + 1 });
    });
    return atom;
  });
  const neighbours = (object, name) => {
    const order = (one, other) => Boolean(other.role) - Boolean(one.role) || (one.predicate < other.predicate ? -1 : one.predicate > other.predicate ? 1 : one.position - other.position);
    const words = [...around.get(object).values()].sort(order).map(({ predicate, objects, position, count, role }) =>
      `${count > 1 ? `${count} of ` : ""}(${[predicate, ...objects.map((_, place) => (place === position ? name : "·"))].join(" ")})${role && `, ${role}`}`);
    return words.slice(0, LISTED).join(", ") + (words.length > LISTED ? `, and ${words.length - LISTED} more` : "");
  };
  const found = new Map();
  const describe = (words, node) => (found.get(inOrder(words)) ?? found.set(inOrder(words), new Set()).get(inOrder(words))).add(node);
  for (const object of around.keys()) {
    describe("objects", object);
    describe(`objects x with ${neighbours(object, "x")}`, object);
  }
  for (const { text, predicate, objects, role, joined } of atoms) {
    const names = [..."xyzuvw"].slice(0, objects.length);
    const words = `atoms (${[predicate, ...names].join(" ")})${role && `, ${role}`}`;
    describe(words, text);
    if (joined && objects.length) describe([words, ...objects.map((each, place) => `${names[place]} with ${neighbours(each, names[place])}`)].join("; "), text);
  }
  return found;
}

const objectsIn = (node) => (node.startsWith("(") ? node.slice(1, -1).split(" ").slice(1) : [node]);

/** The atoms of the state after a candidate of a step of a player's rollout. */
function stateAfter(rollout, at, rank) {
  const state = new Set(rollout.initial);
  const taken = rollout.steps.slice(0, at).map((step) => step.candidates[step.chosen]);
  for (const candidate of [...taken, rollout.steps[at].candidates[rank]]) {
    candidate.delete.forEach((each) => state.delete(rollout.atoms[each]));
    candidate.add.forEach((each) => state.add(rollout.atoms[each]));
  }
  return state;
}
