"""Contract of state encoders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, TypeAlias

import numpy as np
import pytest

from sgp.datasets.renaming import with_names
from sgp.datasets.suite import load_suite
from sgp.encoders import EncoderKind, StateEncoder, plugged_encoder
from sgp.errors import DomainMismatch
from sgp.planning.pddl import Problem
from sgp.planning.task import State, Task

SUITE = "state-centric"
Walks: TypeAlias = list[tuple[Task, list[State]]]


def renamed(task: Task, reverse: bool = False) -> Problem:
    """Rename all objects of a problem except constants; `reverse` also reverses their order."""
    objects = task.text.objects
    names = {name: f"thing-{place}-x" for place, (name, _) in enumerate(objects)}
    return with_names(task, names, range(len(objects))[::-1] if reverse else None)


def _walk(task: Task) -> list[State]:
    """Return up to six states, each a successor of the one before."""
    states = [task.init]
    for step in range(5):
        successors = task.successors(states[-1])
        if successors:
            states.append(successors[step % len(successors)].state)
    return states


class EncoderContract:
    """The contract of the encoders with the `keys` of entry points, or of the given `kinds`.

    They are fitted on walks in training problems of `domains` of a bundled suite (none: all domains).
    """

    keys: ClassVar[Sequence[str]] = ()
    kinds: ClassVar[Sequence[EncoderKind]] = ()
    domains: ClassVar[Sequence[str]] = ()

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run every test for every encoder and domain."""
        kinds = [*self.kinds, *map(plugged_encoder, self.keys)]
        assert kinds, f"{type(self).__name__} names no encoder; expected some in 'keys'"
        metafunc.parametrize("kind", kinds, ids=[kind.key for kind in kinds])
        metafunc.parametrize("domain", self.domains or tuple(load_suite(SUITE).domains))

    @pytest.fixture
    def walks(self, domain: str) -> Walks:
        """Tasks of four training problems, the largest first, with states."""
        tasks = list(map(Task, load_suite(SUITE).problems(domain, "train")[:4]))
        return [(task, _walk(task)) for task in sorted(tasks, key=lambda task: -task.size)]

    @pytest.fixture
    def encoder(self, kind: EncoderKind, walks: Walks) -> StateEncoder:
        """An encoder fitted on the walks."""
        return kind.fit(walks, walks[0][0].size)

    def test_embeddings_are_finite_rows_of_one_length(self, encoder: StateEncoder, walks: Walks) -> None:
        """Also that of the goal."""
        task, states = walks[0]
        assert encoder.refuses(task) is None
        rows, goal = encoder.embed(task, states), encoder.embed_goal(task)
        assert rows.shape == (len(states), encoder.dimension)
        assert goal.shape == (encoder.dimension,)
        assert np.issubdtype(rows.dtype, np.floating)
        assert np.isfinite(rows).all()
        assert np.isfinite(goal).all()
        assert len({row.tobytes() for walk in walks for row in encoder.embed(*walk)}) > 1, "states differ"

    def test_embeddings_do_not_depend_on_the_batch(self, encoder: StateEncoder, walks: Walks) -> None:
        """States have the same embedding alone, among others, and as candidates."""
        task, states = walks[0]
        for row, state in zip(encoder.embed(task, states), states, strict=True):
            assert np.array_equal(encoder.embed(task, [state])[0], row)
        successors = [task.successors(state) for state in states]
        candidates = [candidate.state for group in successors for candidate in group]
        assert np.allclose(encoder.embed_candidates(task, states, successors), encoder.embed(task, candidates))

    def test_columns_have_descriptions(self, encoder: StateEncoder, walks: Walks) -> None:
        """One for each column."""
        columns = list(range(min(5, encoder.dimension)))
        words = encoder.in_words(walks[0][0], columns)
        assert len(words) == len(columns)
        assert all(isinstance(each, str) and each for each in words)

    def test_a_saved_encoder_gives_the_same_embeddings(
        self, kind: EncoderKind, encoder: StateEncoder, walks: Walks, tmp_path: Path
    ) -> None:
        """Its file is no pickle."""
        task, states = walks[0]
        path = tmp_path / "encoder.json"
        kind.save(encoder, path)
        loaded = kind.load(path, task.domain_text, task.size)
        assert loaded.dimension == encoder.dimension
        assert np.array_equal(loaded.embed(task, states), encoder.embed(task, states))
        assert np.array_equal(loaded.embed_goal(task), encoder.embed_goal(task))
        assert not path.exists() or not path.read_bytes().startswith(b"\x80")

    def test_names_and_order_of_objects_change_no_embedding(
        self, kind: EncoderKind, encoder: StateEncoder, walks: Walks
    ) -> None:
        """Of an encoder that is `invariant`."""
        if not kind.invariant:
            pytest.skip("not invariant")
        task = walks[0][0]
        other = Task(renamed(task, reverse=True))
        assert np.array_equal(encoder.embed(task, [task.init]), encoder.embed(other, [other.init]))
        assert np.array_equal(encoder.embed_goal(task), encoder.embed_goal(other))

    def test_a_problem_of_another_domain_is_refused(self, encoder: StateEncoder, walks: Walks) -> None:
        """A domain with one more predicate."""
        problem = walks[0][0].problem
        changed = problem.domain_pddl.replace("(:predicates", "(:predicates (never-heard-of ?x)", 1)
        with pytest.raises(DomainMismatch):
            encoder.refuses(Task(Problem("other", changed, problem.problem_pddl)))
