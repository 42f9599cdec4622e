"""Contracts of planning methods, state encoders and domains."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from string import Formatter
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pytest

from sgp import api, solving
from sgp.datasets.generation import with_names
from sgp.datasets.runs import Origin, Run, RunKey, new_run, open_run
from sgp.datasets.suite import load_suite
from sgp.datasets.training_data import Demonstrations, load_training_data
from sgp.domains import canonical_name, get_domain, serving
from sgp.domains.domain import Domain
from sgp.encoders import EncoderKind, StateEncoder, plugged_encoder
from sgp.errors import ConfigurationError, DomainMismatch, StoreError
from sgp.methods import planning_method, recorded_libraries
from sgp.methods.configuration import configure
from sgp.methods.contract import PlanningMethod, Selectable, Settings
from sgp.methods.loading import forget, load_planner
from sgp.planning.experts import find_plan
from sgp.planning.pddl import Problem, read_domain
from sgp.planning.planner import Limit, Planner
from sgp.planning.rollout import Rollout
from sgp.planning.states import State
from sgp.planning.task import Task, replay
from sgp.planning.validation import validate
from sgp.policies.decoding import PORTFOLIO

_GENERATED, _SOLVED = 14, 12  # sizes below which problems are generated, and solved by an expert


def _sizes(domain: Domain, end: int) -> list[int]:
    """Return the sizes below `end`, or the three smallest if there are none."""
    return [size for size in range(1, end) if domain.sizes.has(size)] or list(islice(domain.sizes.above(0), 3))


def _problem(domain: Domain, seed: int, size: int) -> Problem:
    return Problem("generated", domain.pddl, domain.generate_size(np.random.default_rng(seed), size))


class DomainContract:
    """The contract of the domains in `names`; an expert solves a problem of each of the `smallest` sizes."""

    names: ClassVar[Sequence[str]] = ()
    smallest: ClassVar[int] = 3

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        assert self.names, f"{type(self).__name__} names no domain; expected some in 'names'"
        metafunc.parametrize("domain", [get_domain(name) for name in self.names], ids=list(self.names))

    def test_a_problem_of_size_n_has_exactly_n_objects_and_is_unsolved(self, domain: Domain) -> None:
        """Constants of the domain do not count; the smallest problems may be solved."""
        sizes = _sizes(domain, _GENERATED)
        for size in sizes:
            for seed in range(3):
                task = Task(_problem(domain, seed, size))
                assert len(task.text.objects) == size == task.size - len(task.domain_text.constants)
                assert task.text.domain == task.domain_text.name
                assert size not in sizes[-3:] or not task.is_goal(task.init)

    def test_solutions_of_the_size_equation_have_the_size_and_are_distinct(self, domain: Domain) -> None:
        for size in _sizes(domain, 30):
            solutions = list(domain.sizes.solutions(size))
            assert all(domain.sizes.count(**solution) == size for solution in solutions)
            assert len({tuple(solution.items()) for solution in solutions}) == len(solutions)

    def test_arguments_are_drawn_uniformly_from_all_solutions(self, domain: Domain) -> None:
        """The size with the most solutions, up to 12, is tested."""
        solutions_of = {
            size: {tuple(solution.items()) for solution in domain.sizes.solutions(size)}
            for size in _sizes(domain, _GENERATED)
        }
        size = max((size for size in solutions_of if len(solutions_of[size]) <= 12), key=lambda n: len(solutions_of[n]))
        rng = np.random.default_rng(2)
        drawn = Counter(tuple(domain.sizes.draw(rng, size).items()) for _ in range(200 * len(solutions_of[size])))
        assert set(drawn) == solutions_of[size]
        # 200 expected of each, with a standard deviation of 14.
        assert all(abs(count - 200) < 70 for count in drawn.values()), drawn

    def test_grounded_and_lifted_tasks_have_the_same_actions(self, domain: Domain) -> None:
        """Types, hierarchies and constants have the same meaning in both models."""
        problem = _problem(domain, 7, max(_sizes(domain, _GENERATED)))
        grounded, lifted = (Task(problem, mode) for mode in ("grounded", "lifted"))
        state, other = grounded.init, lifted.init
        for step in range(4):
            successors, others = grounded.successors(state), lifted.successors(other)
            assert [each.actions for each in successors] == [each.actions for each in others]
            state, other = (each[step % len(each)].state for each in (successors, others))

    def test_the_smallest_problems_are_solvable(self, domain: Domain) -> None:
        """The simulator and VAL accept Fast Downward's plan."""
        if not domain.solvable:
            pytest.skip("generated problems may have no plan")
        for seed, size in enumerate(_sizes(domain, _SOLVED)[: self.smallest]):
            problem = _problem(domain, seed, size)
            plan = find_plan(problem).plan
            assert plan is not None
            task = Task(problem)
            assert task.is_goal(replay(task, plan)[-1])
            assert validate(problem, plan).valid

    def test_a_seed_determines_the_problem(self, domain: Domain) -> None:
        size = max(_sizes(domain, _SOLVED))
        texts = [domain.generate_size(np.random.default_rng(seed), size) for seed in (1, 1, 2, 3, 4, 5)]
        assert texts[0] == texts[1]
        assert len(set(texts)) > 2

    def test_wrong_sizes_and_arguments_are_refused(self, domain: Domain) -> None:
        """A size without a solution; an argument out of bounds, unknown or missing."""
        name, (least, _) = next(iter(domain.sizes.bounds.items()))
        smallest = {other: bounds[0] for other, bounds in domain.sizes.bounds.items()}
        rng = np.random.default_rng(0)
        for arguments, words in (
            ({**smallest, name: least - 1}, f"{name} is {least - 1}; expected {least}"),
            ({"colour": 1}, "unknown argument colour"),
            ({}, f"argument {name} is missing"),
        ):
            with pytest.raises(ConfigurationError, match=words):
                domain.generate(rng, **arguments)
        with pytest.raises(ConfigurationError, match=f"of exactly 0 objects; try {min(_sizes(domain, _GENERATED))}$"):
            domain.generate_size(rng, 0)

    def test_a_domain_is_found_by_name_alias_and_signature(self, domain: Domain) -> None:
        """Letter case does not matter."""
        for name in (domain.name, *domain.aliases):
            assert get_domain(name.upper()) is domain
            assert canonical_name(name) == domain.name
        for model in domain.models.values():
            assert serving(read_domain(model)) is domain

    def test_every_predicate_and_action_has_a_template_with_each_argument_once(self, domain: Domain) -> None:
        """Of all its models; templates of external models have other names."""
        atoms: dict[str, int] = {}
        actions: dict[str, int] = {}
        for text in domain.texts.values():
            atoms.update(text.predicates)
            actions.update((name, len(schema.parameters)) for name, schema in text.schemas.items())
        words, others = domain.words, domain.others_words
        for templates, external, arities, more in (
            (words.atoms, others.atoms, atoms, ["not"]),
            (words.actions, others.actions, actions, []),
        ):
            assert templates.keys() == arities.keys()
            assert not external.keys() & arities.keys()
            for name, template in {**templates, **external}.items():
                fields = [part[1:] for part in Formatter().parse(template) if part[1] is not None]
                arity = arities.get(name, len(fields) - len(more))
                assert sorted(fields) == sorted((each, "", None) for each in [*map(str, range(arity)), *more]), name


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
    """The contract of encoders, fitted on walks in problems of `domains` of a bundled suite (none: all domains)."""

    keys: ClassVar[Sequence[str]] = ()
    kinds: ClassVar[Sequence[EncoderKind]] = ()
    domains: ClassVar[Sequence[str]] = ()

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
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
        return kind.fit(walks, walks[0][0].size)

    def test_embeddings_are_finite_rows_of_one_length(self, encoder: StateEncoder, walks: Walks) -> None:
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
        columns = list(range(min(5, encoder.dimension)))
        words = encoder.in_words(walks[0][0], columns)
        assert len(words) == len(columns)
        assert all(isinstance(each, str) and each for each in words)

    def test_a_saved_encoder_gives_the_same_embeddings(
        self, kind: EncoderKind, encoder: StateEncoder, walks: Walks, tmp_path: Path
    ) -> None:
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
        if not kind.invariant:
            pytest.skip("not invariant")
        task = walks[0][0]
        other = Task(renamed(task, reverse=True))
        assert np.array_equal(encoder.embed(task, [task.init]), encoder.embed(other, [other.init]))
        assert np.array_equal(encoder.embed_goal(task), encoder.embed_goal(other))

    def test_a_problem_of_another_domain_is_refused(self, encoder: StateEncoder, walks: Walks) -> None:
        problem = walks[0][0].problem
        changed = problem.domain_pddl.replace("(:predicates", "(:predicates (never-heard-of ?x)", 1)
        with pytest.raises(DomainMismatch):
            encoder.refuses(Task(Problem("other", changed, problem.problem_pddl)))


_ACTIONS = 25  # of a rollout
_PICKLES = {".pkl", ".pickle", ".pt", ".joblib"}
Training: TypeAlias = Callable[[str, str, str | None], Run]


def rollouts(planner: Planner, domain: str) -> list[Rollout]:
    """Solve the first validation problems of a domain."""
    return planner.solve_many(map(Task, load_suite(SUITE).problems(domain, "validation")[:3]), Limit(actions=_ACTIONS))


def _domains() -> list[str]:
    return list(load_suite(SUITE).domains)


def _smallest() -> str:
    """Return the domain with the smallest training problems, in which training is fast."""
    suite = load_suite(SUITE)
    return min(suite.domains, key=lambda name: suite.domains[name].splits["train"][-1].size)


class MethodContract:
    """The contract of the methods in `keys`; each trains on problems of a bundled suite.

    `settings` are training fields by method key that make training fast. `variants` are the tested variants by method
    key (default: all; others may need weights that are not installed). Tests with a variant and a domain run over a
    sample: every variant in the domain with the smallest problems, and the first variant in all domains. The other
    combinations have the marks `beyond_sample`, or are omitted if it is None.
    """

    keys: ClassVar[Sequence[str]] = ()
    settings: ClassVar[Mapping[str, Settings]] = {}
    variants: ClassVar[Mapping[str, Sequence[str]]] = {}
    beyond_sample: ClassVar[Sequence[pytest.MarkDecorator] | None] = None

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        assert self.keys, f"{type(self).__name__} names no method; expected some in 'keys'"
        names = [name for name in ("method", "variant", "domain") if name in metafunc.fixturenames]
        cases: dict[tuple[Any, ...], bool] = {}  # whether each belongs to the sample
        for method in map(planning_method, self.keys):
            tested = self._tested(method)
            for variant in tested if "variant" in names else tested[:1]:
                for domain in _domains() if "domain" in names else [_smallest()]:
                    case = {"method": method, "variant": variant, "domain": domain}
                    cases[tuple(case[name] for name in names)] = domain == _smallest() or variant == tested[0]
        if names:
            parameters = [
                pytest.param(
                    *case,
                    id="-".join(getattr(part, "key", part) for part in case),
                    marks=() if sample else self.beyond_sample or (),
                )
                for case, sample in cases.items()
                if sample or self.beyond_sample is not None
            ]
            metafunc.parametrize(names, parameters)

    @pytest.fixture(scope="class")
    def contract_store(self, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SGP_HOME", str(home := tmp_path_factory.mktemp("contract-home")))
            yield home

    @pytest.fixture
    def trained(self, contract_store: Path) -> Training:
        """Train a method on a domain of the suite; each run is trained once."""

        def train(method: str, domain: str, variant: str | None = None) -> Run:
            return api.train(method, domain, SUITE, variant, device="cpu", overrides=self._fast(method))

        return train

    def _fast(self, method: str) -> Settings:
        return self.settings.get(method, {})

    def _tested(self, method: PlanningMethod) -> list[str]:
        return list(self.variants.get(method.key, method.variants))

    def test_a_loaded_run_plans_equally(
        self, method: PlanningMethod, variant: str, domain: str, trained: Training
    ) -> None:
        run = trained(method.key, domain, variant)
        first = load_planner(open_run(run.folder))
        before = rollouts(first, domain)
        forget()  # the planner in memory
        second = load_planner(open_run(run.folder))
        assert second is not first
        assert before == rollouts(second, domain)
        assert any(rollout.steps for rollout in before)

    def test_every_decoding_plans(self, method: PlanningMethod, trained: Training) -> None:
        """Or conflicts with the training, which the default decoding does not; a portfolio needs a second planner."""
        assert next(iter(method.decodings)) == "default"
        run = trained(method.key, _smallest(), self._tested(method)[0])
        for decoding in method.decodings:
            if decoding == PORTFOLIO:
                with pytest.raises(ConfigurationError, match="holds one planner alone"):
                    load_planner(run, decoding)
                continue
            try:
                planner = load_planner(run, decoding)
            except ConfigurationError as error:
                if decoding == "default" or "conflicts with" not in str(error):
                    raise
                continue
            assert any(rollout.steps or rollout.reason for rollout in rollouts(planner, _smallest())), decoding

    def test_saving_keeps_the_planner(
        self, method: PlanningMethod, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SGP_HOME", str(tmp_path))
        planners: list[Planner] = []

        class Watched:
            def __getattr__(self, name: str) -> Any:
                return getattr(method, name)

            def train(self, config: Any, data: Any, draft: Any) -> Planner:
                planners.append(method.train(config, data, draft))
                return planners[-1]

        monkeypatch.setattr(api, "get_method", lambda key: Watched())
        overrides = self._fast(method.key)
        run = api.train(method.key, _smallest(), SUITE, self._tested(method)[0], overrides=overrides)
        assert rollouts(planners[-1], _smallest()) == rollouts(load_planner(run), _smallest())

    def test_a_loaded_checkpoint_gives_identical_rollouts(self, method: PlanningMethod, tmp_path: Path) -> None:
        if not isinstance(method, Selectable):
            pytest.skip("makes one planner")
        name, config = configure(method, self._tested(method)[0], self._fast(method.key))
        data = load_training_data(load_suite(SUITE), _smallest())
        checkpoint = next(method.checkpoints(config, data, tmp_path / "training", 13, "cpu"))
        assert np.isfinite(checkpoint.loss)
        key = RunKey(method.key, name, SUITE, _smallest(), 13)
        origin = Origin(asdict(checkpoint.training), data.domains, data.facts, "cpu", recorded_libraries(method))
        with new_run(key, origin, tmp_path / "run") as draft:
            checkpoint.save(draft)
        first, second = (rollouts(load_planner(open_run(tmp_path / "run")), _smallest()) for _ in range(2))
        assert first == second
        assert any(rollout.steps for rollout in first)

    def test_rollouts_do_not_depend_on_the_batch(self, method: PlanningMethod, variant: str, trained: Training) -> None:
        domain = _domains()[0]
        planner = load_planner(trained(method.key, domain, variant))
        problems = load_suite(SUITE).problems(domain, "validation")
        alone = [planner.solve(Task(problem), Limit(actions=_ACTIONS)) for problem in problems]
        for together in (rollouts(planner, domain), rollouts(replace(planner, batch=2), domain)):
            for one, two in zip(alone, together, strict=True):
                assert (one.plan, one.outcome) == (two.plan, two.outcome)
                for step, other in zip(one.steps, two.steps, strict=True):
                    # A network's results depend on the batch in their last bits.
                    assert np.allclose(step.costs, other.costs, rtol=1e-5, atol=1e-6)

    def test_renamed_objects_have_equal_costs(
        self, method: PlanningMethod, variant: str, domain: str, trained: Training
    ) -> None:
        if not method.invariant(method.variants[variant]):
            pytest.skip("not invariant")
        planner = load_planner(trained(method.key, domain, variant))
        task = Task(load_suite(SUITE).problems(domain, "interpolation")[0])
        one, two = (planner.solve(each, Limit(actions=1)).steps[0] for each in (task, Task(renamed(task))))
        assert np.allclose(sorted(one.costs), sorted(two.costs), rtol=1e-6)
        assert len(one.candidates) == len(two.candidates)

    def test_a_run_records_its_origin(self, method: PlanningMethod, variant: str, trained: Training) -> None:
        """Its folder follows from them; it contains no pickle."""
        domain = _smallest()
        run = trained(method.key, domain, variant)
        record = json.loads((run.folder / "run.json").read_text())
        assert (record["method"], record["suite"], record["domain"], record["seed"]) == (method.key, SUITE, domain, 13)
        assert record["variant"].split("+")[0] == variant
        data = load_training_data(load_suite(SUITE), domain)
        assert record["data"]["train"] == len(data.train)
        if method.learns_from is Demonstrations:
            assert record["data"]["transitions"] == sum(map(len, data.train))
        assert {"python", "sgp", *recorded_libraries(method)} <= record["versions"].keys()
        assert run.folder.parts[-5:] == (record["method"], record["variant"], SUITE, domain, "seed13")
        assert not [path for path in run.folder.rglob("*") if path.suffix in _PICKLES]

    def test_a_problem_of_another_domain_is_refused(self, method: PlanningMethod, trained: Training) -> None:
        run = trained(method.key, _smallest(), self._tested(method)[0])
        other = next(name for name in _domains() if name != _smallest())
        with pytest.raises(DomainMismatch, match=f"was trained on {_smallest()}; .*lacks the predicate"):
            solving.solve(load_suite(SUITE).problems(other, "validation")[0], run.folder)

    def test_a_changed_run_is_refused(self, method: PlanningMethod, trained: Training, tmp_path: Path) -> None:
        """Each of the outputs saved for a training problem is compared; a method that learns nothing has none."""
        run = trained(method.key, _smallest(), self._tested(method)[0])
        for name in run.record["check"].get("vectors", ()):
            folder = shutil.copytree(run.folder, tmp_path / name / run.folder.name)
            record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
            record["check"]["vectors"][name][0] += 0.5
            (folder / "run.json").write_text(json.dumps(record), encoding="utf-8")
            with pytest.raises(StoreError, match=f"gives another {name} than when it was trained"):
                load_planner(open_run(folder))

    def test_seeds_matter_unless_deterministic(self, method: PlanningMethod, contract_store: Path) -> None:
        variant, domain, overrides = self._tested(method)[0], _smallest(), self._fast(method.key)
        runs = [api.train(method.key, domain, SUITE, variant, seed=seed, overrides=overrides) for seed in (1, 2)]
        one, two = (rollouts(load_planner(run), domain) for run in runs)
        assert (one == two) is method.deterministic(configure(method, variant, overrides)[1])
