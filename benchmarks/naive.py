"""The state-centric decoder on naive primitives: the baseline of `decoding.py`.

The same algorithm as `sgp.planning.planner` with a nearest-embedding policy (beam, one visited set, candidates of equal
embedding collapsed, ties in the order of the PDDL), on the primitives described in the paper's appendix G.3:
pyperplan's successors (with static facts), one wlplan object graph per state, and one single-row prediction per call of
XGBoost's scikit-learn wrapper.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import xgboost
from pyperplan import grounding
from pyperplan.pddl.parser import Parser
from wlplan.feature_generator import load_feature_generator
from wlplan.planning import Atom, Predicate, State, parse_problem

from sgp.planning.native import native_output_silenced
from sgp.planning.pddl import Action, Problem, read_domain, read_problem
from sgp.planning.planner import horizon
from sgp.planning.rollout import TIE_ABSOLUTE, TIE_RELATIVE


class NaivePlanner:
    """Decoder with the files of a trained run in delta mode, one problem and one state at a time."""

    def __init__(self, encoder: Path, model: Path, rounds: int, beam: int):
        with native_output_silenced():
            self.features = load_feature_generator(str(encoder), quiet=True)
        self.model = xgboost.XGBRegressor()
        self.model.load_model(model)
        self.model.set_params(n_jobs=1)
        self.rounds, self.beam = rounds, beam
        self.decisions = self.scored = 0

    def solve(self, problem: Problem) -> tuple[Action, ...] | None:
        """Return the plan, or None."""
        search = _Problem(problem)
        self.features.set_problem(search.wl_problem)
        goal = self._embed(search, search.goal)
        start = search.initial_state
        if search.goal <= start:
            return ()
        beam: list[tuple[float, frozenset[str], tuple[Action, ...]]] = [(0.0, start, ())]
        visited = {start}
        for _ in range(horizon(search.size)):
            self.decisions += 1
            pool = []
            for cost, state, plan in beam:
                phi = self._embed(search, state)
                row = np.concatenate([phi, goal]).astype(np.float32)[None]
                target = phi + self.model.predict(row, iteration_range=(0, self.rounds))[0]
                for action, successor in search.successors(state):
                    if search.goal <= successor:
                        return (*plan, action)
                    self.scored += 1
                    vector = self._embed(search, successor)
                    distance = float(np.linalg.norm(vector.astype(np.float64) - target.astype(np.float64)))
                    pool.append((cost + distance, successor, (*plan, action), vector.tobytes()))
            beam = self._cheapest([entry for entry in pool if entry[1] not in visited])
            if not beam:
                return None
            visited.update(state for _, state, _ in beam)
        return None

    def _cheapest(
        self, pool: list[tuple[float, frozenset[str], tuple[Action, ...], bytes]]
    ) -> list[tuple[float, frozenset[str], tuple[Action, ...]]]:
        kept = []
        seen: set[object] = set()
        rest = sorted(range(len(pool)), key=lambda place: pool[place][0])
        while rest and len(kept) < self.beam:
            least = pool[rest[0]][0]
            bound = least + max(TIE_RELATIVE * abs(least), TIE_ABSOLUTE)
            tied = sorted(place for place in rest if pool[place][0] <= bound)
            rest = [place for place in rest if pool[place][0] > bound]
            for place in tied:
                cost, state, plan, vector = pool[place]
                if len(kept) < self.beam and state not in seen and vector not in seen:
                    kept.append((cost, state, plan))
                    seen |= {state, vector}
        return kept

    def _embed(self, search: _Problem, state: frozenset[str]) -> np.ndarray:
        atoms = [search.atom(fact) for fact in state]
        return np.array(self.features.embed(State(atoms)), np.float32)


class _Problem:
    """A problem grounded by pyperplan, with its operators in the order of the PDDL."""

    def __init__(self, problem: Problem):
        domain, text = read_domain(problem.domain_pddl), read_problem(problem.problem_pddl)
        objects = [thing.name for thing in (*domain.constants, *text.objects)]
        self.size = len(objects)
        self.predicates = {name: Predicate(name, arity) for name, arity in domain.predicates.items()}
        with tempfile.TemporaryDirectory() as folder:
            paths = Path(folder, "domain.pddl"), Path(folder, "problem.pddl")
            paths[0].write_text(problem.domain_pddl, encoding="utf-8")
            paths[1].write_text(problem.problem_pddl, encoding="utf-8")
            parser = Parser(str(paths[0]), str(paths[1]))
            task = grounding.ground(
                parser.parse_problem(parser.parse_domain()),
                remove_statics_from_initial_state=False,
                remove_irrelevant_operators=False,
            )
            self.wl_problem = parse_problem(str(paths[0]), str(paths[1]))
        self.initial_state, self.goal = task.initial_state, task.goals
        actions, places = list(domain.schemas), {name: place for place, name in enumerate(objects)}
        named = [(_action(operator.name), operator) for operator in task.operators]
        named.sort(key=lambda pair: (actions.index(pair[0].name), [places[thing] for thing in pair[0].objects]))
        self.operators = named

    def successors(self, state: frozenset[str]) -> Iterator[tuple[Action, frozenset[str]]]:
        for action, operator in self.operators:
            if operator.applicable(state):
                yield action, operator.apply(state)

    def atom(self, fact: str) -> Atom:
        name, *objects = fact.strip("()").split()
        return Atom(self.predicates[name], objects)


def _action(text: str) -> Action:
    name, *objects = text.strip("()").split()
    return Action(name, tuple(objects))
