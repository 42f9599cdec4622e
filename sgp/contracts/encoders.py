"""What every encoder of states must keep."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from sgp.contracts.renaming import renamed
from sgp.datasets.suite import load_suite
from sgp.encoders import EncoderKind, StateEncoder, plugged_encoder
from sgp.errors import DomainMismatch
from sgp.planning.pddl import Problem
from sgp.planning.task import State, Task

_STEPS = 5  # of the walk whose states are embedded
_MOST = 4  # training problems
_SUITE = "state-centric"


def _walk(task: Task) -> list[State]:
    """States from the initial one on, each a successor of the one before."""
    states = [task.init]
    for step in range(_STEPS):
        choice = task.successors(states[-1])
        if not choice:
            break
        states.append(choice[step % len(choice)].state)
    return states


def _training(domain: str) -> list[tuple[Task, list[State]]]:
    return [(task, _walk(task)) for task in map(Task, load_suite(_SUITE).problems(domain, "train")[:_MOST])]


class EncoderContract:
    """The contract of the encoders that a subclass names by the `keys` of their entry points, or hands over in `kinds`.

    They are made from walks in training problems of `domains` of a bundled suite, all of them where none is named.
    """

    keys: ClassVar[Sequence[str]] = ()
    kinds: ClassVar[Sequence[EncoderKind]] = ()
    domains: ClassVar[Sequence[str]] = ()

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Every test runs over every encoder and domain."""
        kinds = [*self.kinds, *map(plugged_encoder, self.keys)]
        assert kinds, f"{type(self).__name__} names no encoder; expected some in 'keys'"
        metafunc.parametrize("kind", kinds, ids=[kind.key for kind in kinds])
        metafunc.parametrize("domain", self.domains or tuple(load_suite(_SUITE).domains))

    def _fitted(self, kind: EncoderKind, domain: str) -> tuple[StateEncoder, Task, list[State]]:
        """An encoder, the largest training task and its states."""
        training = _training(domain)
        task, states = max(training, key=lambda each: each[0].size)
        return kind.fit(training, task.size), task, states

    def test_embeddings_have_one_row_of_the_same_length_for_each_state(self, kind: EncoderKind, domain: str) -> None:
        """The goal's has the length of a state's."""
        encoder, task, states = self._fitted(kind, domain)
        assert encoder.refuses(task) is None
        rows, goal = encoder.embed(task, states), encoder.embed_goal(task)
        assert rows.shape == (len(states), encoder.dimension)
        assert goal.shape == (encoder.dimension,)
        assert np.issubdtype(rows.dtype, np.floating)
        assert np.isfinite(rows).all()
        assert np.isfinite(goal).all()
        every = [row.tobytes() for other, some in _training(domain) for row in encoder.embed(other, some)]
        assert len(set(every)) > 1, "states differ"

    def test_a_state_is_embedded_alike_alone_among_others_and_as_a_candidate(
        self, kind: EncoderKind, domain: str
    ) -> None:
        """Batches do not matter."""
        encoder, task, states = self._fitted(kind, domain)
        rows = encoder.embed(task, states)
        for row, state in zip(rows, states, strict=True):
            assert np.array_equal(encoder.embed(task, [state])[0], row)
        choices = [task.successors(state) for state in states]
        candidates = [candidate.state for choice in choices for candidate in choice]
        assert np.allclose(encoder.embed_candidates(task, states, choices), encoder.embed(task, candidates))

    def test_columns_have_words(self, kind: EncoderKind, domain: str) -> None:
        """One each."""
        encoder, task, _ = self._fitted(kind, domain)
        columns = list(range(min(5, encoder.dimension)))
        words = encoder.in_words(task, columns)
        assert len(words) == len(columns)
        assert all(isinstance(each, str) and each for each in words)

    def test_what_is_saved_embeds_as_before(self, kind: EncoderKind, domain: str, tmp_path: Path) -> None:
        """Read for the same domain; no pickle."""
        encoder, task, states = self._fitted(kind, domain)
        path = tmp_path / "encoder.json"
        kind.save(encoder, path)
        read: Any = kind.load(path, task.domain_text, task.size)
        assert read.dimension == encoder.dimension
        assert np.array_equal(read.embed(task, states), encoder.embed(task, states))
        assert np.array_equal(read.embed_goal(task), encoder.embed_goal(task))
        assert not path.exists() or not path.read_bytes().startswith(b"\x80"), "a pickle"

    def test_renaming_objects_changes_no_embedding(self, kind: EncoderKind, domain: str) -> None:
        """Where that is claimed: names, and the order in which objects stand in the file."""
        if not kind.invariant:
            pytest.skip("claims no invariance")
        encoder, task, _ = self._fitted(kind, domain)
        other = Task(renamed(task, reverse=True))
        for one, two in ((task, other), (other, task)):
            assert np.array_equal(encoder.embed(one, [one.init]), encoder.embed(two, [two.init]))
            assert np.array_equal(encoder.embed_goal(one), encoder.embed_goal(two))

    def test_a_problem_of_another_domain_is_refused(self, kind: EncoderKind, domain: str) -> None:
        """By an error that says which."""
        encoder, task, _ = self._fitted(kind, domain)
        extra = "(:predicates (never-heard-of ?x)"
        problem = task.problem
        changed = Problem("other", problem.domain_pddl.replace("(:predicates", extra, 1), problem.problem_pddl)
        with pytest.raises(DomainMismatch):
            encoder.refuses(Task(changed))
