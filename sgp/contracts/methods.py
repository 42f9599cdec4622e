"""Contract of planning methods."""

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
from sgp.contracts.encoders import SUITE, renamed
from sgp.datasets.runs import Origin, Run, RunKey, new_run, open_run
from sgp.datasets.suite import load_suite
from sgp.datasets.training_data import Demonstrations, load_training_data
from sgp.errors import ConfigurationError, DomainMismatch, StoreError
from sgp.methods import planning_method, recorded_libraries
from sgp.methods.configuration import configure
from sgp.methods.contract import PlanningMethod, Selectable, Settings
from sgp.methods.loading import forget, load_planner
from sgp.planning.planner import Limit, Planner
from sgp.planning.rollout import Rollout
from sgp.planning.task import Task
from sgp.policies.decoding import PORTFOLIO

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
        """Run a test for every method, and for its variants and the domains if the test takes them."""
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
    def contract_home(self, tmp_path_factory: pytest.TempPathFactory) -> Path:
        """Make a store for the contract."""
        return tmp_path_factory.mktemp("contract-home")

    @pytest.fixture
    def contract_store(self, contract_home: Path) -> Iterator[Path]:
        """Use that store."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SGP_HOME", str(contract_home))
            yield contract_home

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
        """Some rollout has steps."""
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
        """`train` and `load` return planners with the same rollouts."""
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
        """Of a method whose training makes several planners."""
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
        """Nor on its size."""
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
        """Of a method that is `invariant`."""
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
        """With the difference between the domains."""
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
        """Two seeds give the same rollouts exactly if the method is `deterministic`."""
        variant, domain, overrides = self._tested(method)[0], _smallest(), self._fast(method.key)
        runs = [api.train(method.key, domain, SUITE, variant, seed=seed, overrides=overrides) for seed in (1, 2)]
        one, two = (rollouts(load_planner(run), domain) for run in runs)
        assert (one == two) is method.deterministic(configure(method, variant, overrides)[1])
