"""What every method that plans must keep."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pytest

from sgp import api, solving
from sgp.contracts.renaming import renamed
from sgp.datasets.runs import Origin, Run, RunKey, new_run, open_run
from sgp.datasets.suite import load_suite
from sgp.datasets.training_data import Demonstrations, load_training_data
from sgp.errors import ConfigurationError, DomainMismatch, StoreError
from sgp.methods import planning_method, recorded_libraries
from sgp.methods.configuration import configure
from sgp.methods.contract import PlanningMethod, Selectable, Settings
from sgp.methods.loading import forget, planner_of
from sgp.planning.planner import Limit, Planner
from sgp.planning.rollout import Rollout
from sgp.planning.task import Task
from sgp.policies.decoding import PORTFOLIO

SUITE = "state-centric"
_ACTIONS = 25  # of a rollout
_PICKLES = {".pkl", ".pickle", ".pt", ".joblib"}
Training: TypeAlias = Callable[[str, str, str | None], Run]


def rollouts(planner: Planner, domain: str) -> list[Rollout]:
    """What a planner does on the first problems for validation of a domain."""
    return planner.solve_many(map(Task, load_suite(SUITE).problems(domain, "validation")[:3]), Limit(actions=_ACTIONS))


def _domains() -> list[str]:
    return list(load_suite(SUITE).domains)


def _smallest() -> str:
    """The domain of the suite with the smallest training problems, in which runs are trained quickly."""
    suite = load_suite(SUITE)
    return min(suite.domains, key=lambda name: suite.domains[name].splits["train"][-1].size)


class MethodContract:
    """The contract of the methods that a subclass names by their keys; each trains on problems of a bundled suite.

    `settings` are fields of training by a method's key that make it quick; they are for tests alone. `variants` are
    those of a method that are tried, all where it is not named, as where others need weights that are not installed.
    Tests that ask for a variant and a domain run over a sample: every variant in the domain with the smallest problems,
    and each method's first variant in all domains. The other combinations have the marks `beyond_sample`, or are left
    out where it is None.
    """

    keys: ClassVar[Sequence[str]] = ()
    settings: ClassVar[Mapping[str, Settings]] = {}
    variants: ClassVar[Mapping[str, Sequence[str]]] = {}
    beyond_sample: ClassVar[Sequence[pytest.MarkDecorator] | None] = None

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run a test over every method, and over its variants and the suite's domains where it asks for them."""
        methods = [planning_method(key) for key in self.keys]
        assert methods, f"{type(self).__name__} names no method; expected some in 'keys'"
        names = [name for name in ("method", "variant", "domain") if name in metafunc.fixturenames]
        cases = {
            tuple(each[name] for name in names): each
            for method in methods
            for each in self._cases(method, "variant" in names, "domain" in names)
        }
        parameters = [
            pytest.param(
                *(case[name] for name in names),
                id="-".join(getattr(case[name], "key", case[name]) for name in names),
                marks=() if case["sample"] else self.beyond_sample or (),
            )
            for case in cases.values()
            if case["sample"] or self.beyond_sample is not None
        ]
        if names:
            metafunc.parametrize(names, parameters)

    def _cases(self, method: PlanningMethod, variants: bool, domains: bool) -> Iterator[dict[str, Any]]:
        """The combinations of a method with its variants and the domains, and whether each belongs to the sample."""
        first = self._tried(method)[0]
        for variant in self._tried(method) if variants else [first]:
            for domain in _domains() if domains else [_smallest()]:
                sample = domain == _smallest() or variant == first
                yield {"method": method, "variant": variant, "domain": domain, "sample": sample}

    @pytest.fixture(scope="class")
    def contract_home(self, tmp_path_factory: pytest.TempPathFactory) -> Path:
        """A store of the contract's own."""
        return tmp_path_factory.mktemp("contract-home")

    @pytest.fixture
    def contract_store(self, contract_home: Path) -> Iterator[Path]:
        """That store in use."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SGP_HOME", str(contract_home))
            yield contract_home

    @pytest.fixture
    def trained(self, contract_store: Path) -> Training:
        """Trains a method on a domain of the suite, each run once."""

        def train(method: str, domain: str, variant: str | None = None) -> Run:
            return api.train(method, domain, SUITE, variant, device="cpu", overrides=self._quick(method))

        return train

    def _quick(self, method: str) -> Settings:
        return self.settings.get(method, {})

    def _tried(self, method: PlanningMethod) -> list[str]:
        return list(self.variants.get(method.key, method.variants))

    def test_a_run_saved_and_loaded_gives_identical_rollouts(
        self, method: PlanningMethod, variant: str, domain: str, trained: Training
    ) -> None:
        """And rollouts go somewhere."""
        run = trained(method.key, domain, variant)
        first = planner_of(open_run(run.folder))
        found = rollouts(first, domain)
        forget()  # what is kept in memory is no proof of what was saved
        second = planner_of(open_run(run.folder))
        assert second is not first
        assert found == rollouts(second, domain)
        assert any(rollout.steps for rollout in found)

    def test_every_decoding_plans(self, method: PlanningMethod, trained: Training) -> None:
        """By what one training left, or says why not; the default is there.

        A portfolio needs a second planner, and what a decoding is not for another training than the default's.
        """
        assert next(iter(method.decodings)) == "default"
        run = trained(method.key, _smallest(), self._tried(method)[0])
        for decoding in method.decodings:
            if decoding == PORTFOLIO:
                with pytest.raises(ConfigurationError, match="holds one planner alone"):
                    planner_of(run, decoding)
                continue
            try:
                planner = planner_of(run, decoding)
            except ConfigurationError as error:
                if decoding == "default" or "conflicts with" not in str(error):
                    raise
                continue
            assert any(rollout.steps or rollout.reason for rollout in rollouts(planner, _smallest())), decoding

    def test_a_trained_planner_is_the_one_that_is_saved(
        self, method: PlanningMethod, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What `train` gives plans as what `load` gives."""
        monkeypatch.setenv("SGP_HOME", str(tmp_path))
        variant = self._tried(method)[0]
        found: dict[str, Planner] = {}

        class Watched:
            def __getattr__(self, name: str) -> Any:
                return getattr(method, name)

            def train(self, config: Any, data: Any, draft: Any) -> Planner:
                found["planner"] = method.train(config, data, draft)
                return found["planner"]

        monkeypatch.setattr(api, "get_method", lambda key: Watched())
        run = api.train(method.key, _smallest(), SUITE, variant, overrides=self._quick(method.key))
        assert rollouts(found["planner"], _smallest()) == rollouts(planner_of(run), _smallest())

    def test_a_snapshot_saved_and_loaded_gives_identical_rollouts(self, method: PlanningMethod, tmp_path: Path) -> None:
        """Of a method whose training passes through several planners."""
        if not isinstance(method, Selectable):
            pytest.skip("makes one planner")
        name, config = configure(method, self._tried(method)[0], self._quick(method.key))
        data = load_training_data(load_suite(SUITE), _smallest())
        snapshot = next(method.snapshots(config, data, tmp_path / "training", 13, "cpu"))
        assert np.isfinite(snapshot.loss)
        key = RunKey(method.key, name, SUITE, _smallest(), 13)
        origin = Origin(asdict(snapshot.training), data.domains, data.facts, "cpu", recorded_libraries(method))
        with new_run(key, origin, tmp_path / "run") as draft:
            snapshot.save(draft)
        found = rollouts(planner_of(open_run(tmp_path / "run")), _smallest())
        assert found == rollouts(planner_of(open_run(tmp_path / "run")), _smallest())
        assert any(rollout.steps for rollout in found)

    def test_rollouts_do_not_depend_on_what_is_solved_beside_them(
        self, method: PlanningMethod, variant: str, trained: Training
    ) -> None:
        """Nor on the size of a batch."""
        domain = _domains()[0]
        planner = planner_of(trained(method.key, domain, variant))
        problems = load_suite(SUITE).problems(domain, "validation")
        alone = [planner.solve(Task(problem), Limit(actions=_ACTIONS)) for problem in problems]
        for together in (rollouts(planner, domain), rollouts(replace(planner, batch=2), domain)):
            for one, two in zip(alone, together, strict=True):
                assert (one.plan, one.outcome) == (two.plan, two.outcome)
                for step, other in zip(one.steps, two.steps, strict=True):
                    # A network's results depend on the batch in their last bits.
                    assert np.allclose(step.costs, other.costs, rtol=1e-5, atol=1e-6)

    def test_renaming_objects_changes_no_multiset_of_costs(
        self, method: PlanningMethod, variant: str, domain: str, trained: Training
    ) -> None:
        """Where that is claimed."""
        if not method.invariant(method.variants[variant]):
            pytest.skip("claims no invariance")
        planner = planner_of(trained(method.key, domain, variant))
        task = Task(load_suite(SUITE).problems(domain, "interpolation")[0])
        one, two = (planner.solve(each, Limit(actions=1)).steps[0] for each in (task, Task(renamed(task))))
        assert np.allclose(sorted(one.costs), sorted(two.costs), rtol=1e-6)
        assert len(one.candidates) == len(two.candidates)

    def test_a_run_records_what_it_is(self, method: PlanningMethod, variant: str, trained: Training) -> None:
        """Method, data and versions; its place follows from them; it holds no pickle."""
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

    def test_a_problem_of_another_domain_is_refused_with_the_difference(
        self, method: PlanningMethod, trained: Training
    ) -> None:
        """Whatever the policy would make of it."""
        run = trained(method.key, _smallest(), self._tried(method)[0])
        other = next(name for name in _domains() if name != _smallest())
        with pytest.raises(DomainMismatch, match=f"was trained on {_smallest()}; .*lacks the predicate"):
            solving.solve(load_suite(SUITE).problems(other, "validation")[0], run.folder)

    def test_a_run_that_plans_otherwise_than_when_it_was_trained_is_refused(
        self, method: PlanningMethod, trained: Training, tmp_path: Path
    ) -> None:
        """By the numbers that are kept of a training problem, each of them; what learns nothing keeps none."""
        run = trained(method.key, _smallest(), self._tried(method)[0])
        for name in run.record["check"].get("vectors", ()):
            folder = shutil.copytree(run.folder, tmp_path / name / run.folder.name)
            record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
            record["check"]["vectors"][name][0] += 0.5
            (folder / "run.json").write_text(json.dumps(record), encoding="utf-8")
            with pytest.raises(StoreError, match=f"gives another {name} than when it was trained"):
                planner_of(open_run(folder))

    def test_seeds_matter_only_to_methods_that_say_so(self, method: PlanningMethod, contract_store: Path) -> None:
        """Two seeds give one planner exactly where `deterministic` says so."""
        variant, domain = self._tried(method)[0], _smallest()
        runs = [
            api.train(method.key, domain, SUITE, variant, seed=seed, overrides=self._quick(method.key))
            for seed in (1, 2)
        ]
        one, two = (rollouts(planner_of(run), domain) for run in runs)
        config = configure(method, variant, self._quick(method.key))[1]
        assert (one == two) is method.deterministic(config)
