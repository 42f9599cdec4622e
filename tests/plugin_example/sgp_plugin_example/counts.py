"""Counts: for each predicate, the number of true atoms and the number of these that are goals."""

from collections import Counter

import numpy as np

from sgp.files import write_text


class CountEncoder:
    """Vectors [2P] of P predicates."""

    def __init__(self, domain_text):
        self.domain_text, self.predicates = domain_text, sorted(domain_text.predicates)
        self.dimension = 2 * len(self.predicates)

    def refuses(self, task):
        task.require_domain(self.domain_text)

    def embed(self, task, states):
        goals = set(task.goal_atoms)
        return np.stack([self._row(atoms, goals) for atoms in map(task.atoms, states)])

    def embed_candidates(self, task, states, choices):
        return self.embed(task, [candidate.state for choice in choices for candidate in choice])

    def embed_goal(self, task):
        return self._row(task.goal_atoms, set(task.goal_atoms))

    def in_words(self, task, columns):
        names = [*self.predicates, *(f"{name} of the goal" for name in self.predicates)]
        return [f"the number of {names[column]}" for column in columns]

    def _row(self, atoms, goals):
        atoms = list(atoms)
        every = Counter(atom.predicate for atom in atoms)
        reached = Counter(atom.predicate for atom in atoms if atom in goals)
        return np.array([each[name] for each in (every, reached) for name in self.predicates], np.float32)


class Counts:
    key, title, libraries, invariant = "counts", "Counts of atoms", (), True

    def fit(self, states, largest):
        return CountEncoder(states[0][0].domain_text)

    def save(self, encoder, path):
        write_text(path, "{}\n")  # the domain determines everything

    def load(self, path, domain_text, largest):
        return CountEncoder(domain_text)


ENCODER = Counts()
