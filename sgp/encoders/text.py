"""States and actions as English sentences, embedded by a frozen sentence encoder.

Source: "Textual Planning with Explicit Latent Transitions" (embedplan), section 3 and appendix C.2. A state is
described by the sentences of its true fluent atoms, in the order of the PDDL's predicates and objects, because
shuffling the sentences moves a vector of mode "sentence" further than another fact does. The paper embeds actions as
PDDL ("pick-up(C)"); here they are sentences, too.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sgp.domains.domain import Words
from sgp.encoders import Embeddings
from sgp.encoders.sentences import SentenceVectors
from sgp.errors import check_fields
from sgp.planning.pddl import Action, Atom, DomainText
from sgp.planning.task import State, Successor, Task, TaskCache

logger = logging.getLogger(__name__)

Mode = Literal["atoms", "sentence"]


@dataclass(frozen=True)
class TextConfig:
    """Selection of the sentence encoder, and whether a state is one text or the sum of its atoms' sentence vectors.

    The paper embeds a whole state (`sentence`). The sum (`atoms`) is our addition: exact, fast, and without a limit.
    Raises ConfigurationError for another mode.
    """

    sentences: str = "minilm"
    mode: Mode = "atoms"

    def __post_init__(self) -> None:
        check_fields(self, "text")


class TextEncoder:
    """Encoder of states, actions and goals by the sentences that describe them.

    In mode "atoms", a state's embedding is the sum of its atoms' vectors, each computed once.
    """

    def __init__(self, vectors: SentenceVectors, words: Words, domain: DomainText, mode: Mode = "atoms"):
        self.vectors, self.words, self.domain, self.mode = vectors, words, domain, mode
        missing = words.lacking(domain)
        if missing:
            logger.warning(
                "%s of domain %s have no sentence and are embedded as PDDL; give the domain words, as "
                "sgp.domains.domain.Words",
                ", ".join(missing),
                domain.name,
            )
        # Caches: clearing them changes only the time.
        self._atoms: dict[str, NDArray[np.float32]] = {}
        self._rows: TaskCache[tuple[NDArray[np.float32], set[int]]] = TaskCache()

    @property
    def dimension(self) -> int:
        """Length D of an embedding, that of a sentence vector."""
        return self.vectors.dimension

    def refuses(self, task: Task) -> str | None:
        """Return why the text of the initial state or of the goal is too long, or None.

        Raises DomainMismatch for another domain's task.
        """
        task.require_domain(self.domain)
        if self.mode == "atoms" or self.vectors.limit is None:
            return None
        texts = {"its initial state": self.text(task, task.init), "its goal": self.describe(self._goal(task))}
        for what, length in zip(texts, self.vectors.lengths(list(texts.values())), strict=True):
            if length > self.vectors.limit:
                return (
                    f"the text of {what} has {length} tokens, and the encoder reads {self.vectors.limit}: embed it "
                    "atom by atom (mode atoms)"
                )
        return None

    def text(self, task: Task, state: State) -> str:
        """Return the text that describes a state."""
        return self.describe(sorted((task.fluent(each) for each in task.fluents(state)), key=_place_in(task)))

    def describe(self, atoms: Sequence[Atom]) -> str:
        """Return the text that describes atoms."""
        return ". ".join(map(self.words.sentence, atoms))

    def embed(self, task: Task, states: Sequence[State]) -> Embeddings:
        """Return the embeddings [n, D] of states. Raises ConfigurationError for a text over the encoder's limit."""
        if self.mode == "sentence":
            return self.vectors.vectors([self.text(task, state) for state in states])
        fluents = [task.fluents(state) for state in states]
        rows = self._known(task, fluents)
        found = np.empty((len(states), self.dimension), np.float32)
        for place, numbers in enumerate(fluents):
            found[place] = rows[numbers].sum(axis=0, dtype=np.float64)  # makes the order of atoms irrelevant
        return found

    def embed_atoms(self, atoms: Sequence[Atom]) -> Embeddings:
        """Return the embedding [D] of a state in which exactly these fluent atoms are true."""
        if self.mode == "sentence":
            (found,) = self.vectors.vectors([self.describe(atoms)])
            return np.asarray(found)
        return np.asarray(self.atom_vectors(atoms).sum(axis=0, dtype=np.float64), np.float32)

    def atom_vectors(self, atoms: Sequence[Atom]) -> Embeddings:
        """Return the vectors [n, D] of atoms' sentences."""
        return self._sentence_vectors([self.words.sentence(atom) for atom in atoms])

    def embed_actions(self, actions: Sequence[Action]) -> Embeddings:
        """Return the vectors [n, D] of actions' sentences."""
        return self._sentence_vectors([self.words.sentence(action) for action in actions])

    def embed_candidates(
        self, task: Task, states: Sequence[State], choices: Sequence[Sequence[Successor]]
    ) -> Embeddings:
        """Return the embeddings [n, D] of all candidates, ordered by state."""
        return self.embed(task, [each.state for choice in choices for each in choice])

    def embed_goal(self, task: Task) -> Embeddings:
        """Return the embedding [D] of a state in which exactly the goal's positive atoms are true."""
        return self.embed_atoms(self._goal(task))

    def _goal(self, task: Task) -> list[Atom]:
        """Return the goal's positive atoms, in the same order as a state's atoms."""
        return sorted(task.goal_atoms, key=_place_in(task))

    def in_words(self, task: Task, columns: Sequence[int]) -> list[str]:
        """Return the columns' numbers; columns of a sentence vector have no other description."""
        return [f"number {column} of the sentences' vector" for column in columns]

    def _sentence_vectors(self, texts: Sequence[str]) -> Embeddings:
        new = list(dict.fromkeys(text for text in texts if text not in self._atoms))
        if new:
            self._atoms.update(zip(new, self.vectors.vectors(new), strict=True))
        found = [self._atoms[text] for text in texts]
        return np.array(found, np.float32).reshape(len(texts), self.dimension)

    def _known(self, task: Task, fluents: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Return the vectors [f, D] of a task's fluent atoms by number; rows of other atoms are undefined."""
        rows, there = self._rows.get(task) or (np.empty((0, self.dimension), np.float32), set[int]())
        new = list(set().union(*fluents) - there)
        if new:
            if max(new) >= len(rows):
                more = np.zeros((max(2 * max(new), 64), self.dimension), np.float32)
                more[: len(rows)] = rows
                rows = more
            rows[new] = self.atom_vectors([task.fluent(number) for number in new])
            self._rows[task] = rows, there.union(new)
        return rows


def _place_in(task: Task) -> Callable[[Atom], tuple[int, list[int]]]:
    """Return a sort key that orders atoms by the PDDL's predicates, then by its objects."""
    predicates = {name: place for place, name in enumerate(task.domain_text.predicates)}
    objects = {each.name: place for place, each in enumerate(task.objects)}
    return lambda atom: (predicates[atom.predicate], [objects[name] for name in atom.objects])
