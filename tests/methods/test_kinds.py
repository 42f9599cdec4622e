"""Methods of every kind: training data, result, and discovery by their file in the folder; sentence encoders."""

import subprocess
import sys
from io import StringIO
from unittest.mock import Mock

import numpy as np
import pytest
from rich.console import Console

import sgp
from sgp import methods
from sgp.datasets import runs
from sgp.datasets.runs import open_run
from sgp.errors import ConfigurationError, DomainMismatch, InputError, MissingLibrary, StoreError, SuiteError
from sgp.experiments import listing
from sgp.files import read_json, write_json
from sgp.methods.state_encoders import Text

# Modules of methods. The first learns action costs from demonstrations: rare schemas in expert plans are expensive.
# The second learns from problems alone: random walks by its seed in all problems. The third learns from transitions of
# several domains the mean change of atom counts by action schema, and does not plan.
HEAD = """
import json
from collections import Counter, defaultdict
from dataclasses import dataclass
import numpy as np
from sgp.datasets.training_data import Demonstrations, Problems, Transitions
from sgp.planning.policy import REPLACE, Ranking, one_step
from sgp.policies.decoding import BeamDecoding
from sgp.methods.baselines import RandomSuccessor

@dataclass(frozen=True)
class Training:
    times: int = 1

class Base:
    libraries, paper = (), ""
    def deterministic(self, training): return True
    def invariant(self, training): return True

"""
KINDS = {
    "frequent_schema": """
@dataclass(frozen=True)
class Frequent:
    counts: dict
    rules = REPLACE
    def refuses(self, task): return None
    def rank(self, nodes, choices):
        return [Ranking(np.array([-float(self.counts.get(e.actions[-1].name, 0)) for e in c])) for c in choices]

class Method(Base):
    key, title, learns_from = "frequent-schema", "Frequent", Demonstrations
    variants, decodings = {"counts": Training()}, {"default": BeamDecoding(), "wide": BeamDecoding(beam=2)}
    def train(self, training, data, draft):
        counts = Counter(action.name for each in data.train for action in each.actions)
        (draft.folder / "counts.json").write_text(json.dumps(counts))
        return self.decodings["default"].planner(Frequent(dict(counts)), one_step)
    def load(self, run, decoding):
        return decoding.planner(Frequent(json.loads((run.folder / "counts.json").read_text())), one_step)
""",
    "blind_walk": """
class Method(Base):
    key, title, learns_from = "blind-walk", "Blind", Problems
    variants, decodings = {"seeded": Training()}, {"default": BeamDecoding()}
    def invariant(self, training): return False
    def train(self, training, data, draft):
        draft.facts.update(problems=len(data.train))
        return self.decodings["default"].planner(RandomSuccessor(len(data.train)), one_step)
    def load(self, run, decoding):
        return decoding.planner(RandomSuccessor(run.record["facts"]["problems"]), one_step)
""",
    "mean_change": """
@dataclass(frozen=True)
class Displacements:
    means: dict
    def refuses(self, task): return None
    def embed(self, task, states):
        names = sorted(task.domain_text.predicates)
        rows = [[a.predicate for a in task.atoms(state)] for state in states]
        return np.array([[row.count(name) for name in names] for row in rows], np.float64)
    def predict(self, task, states, actions):
        return self.embed(task, states) + np.array([self.means[each.name] for each in actions])

class Method(Base):
    key, title, libraries, learns_from = "mean-change", "Mean change", ("scipy",), Transitions
    variants = {"counts": Training()}
    def train(self, training, data, draft):
        changes, model = defaultdict(list), Displacements({})
        for each in data.train:
            before, after = model.embed(each.task, [each.before, each.after])
            changes[each.action.name].append(after - before)
        means = {name: np.mean(found, axis=0).tolist() for name, found in changes.items()}
        (draft.folder / "means.json").write_text(json.dumps(means))
        return Displacements(means)
    def load_model(self, run):
        return Displacements(json.loads((run.folder / "means.json").read_text()))
""",
    "thirsty": "import a_library_that_nobody_has\n",
}
SUITE = sgp.load_suite("state-centric")


@pytest.fixture
def kinds(tmp_path, monkeypatch, home):
    """The built-in methods and four more, in a folder of the package's path."""
    for name, text in KINDS.items():
        (tmp_path / f"{name}.py").write_text(f"{HEAD}{text}\nMETHOD = Method()\n")

    def forget():
        methods.built_in_keys.cache_clear()
        methods._imported.cache_clear()
        for name in KINDS:
            sys.modules.pop(f"sgp.methods.{name}", None)

    monkeypatch.setattr(methods, "__path__", [*methods.__path__, str(tmp_path)])
    forget()
    yield home
    forget()


@pytest.mark.slow
def test_a_method_of_each_kind_is_trained_saved_and_loaded(kinds):
    tasks = [sgp.Task(problem) for problem in SUITE.problems("gripper", "interpolation")]
    for key in ("frequent-schema", "blind-walk"):
        run = sgp.train(key, "gripper", "state-centric")
        found = sgp.load_planner(run.folder).solve_many(tasks)
        assert found == sgp.load_planner(run.folder).solve_many(tasks)
        assert any(rollout.steps for rollout in found)
        assert set(sgp.evaluate([run.folder], "state-centric").scores.metric) >= {"coverage"}
    assert open_run(run.folder).record["data"].keys() == {"sha256", "train", "validation"}, "no plan was asked for"


def test_what_learns_across_domains_names_them_all_and_predicts_but_neither_plans_nor_is_selected(kinds):
    run = sgp.train("mean-change", ["gripper", "blocksworld"], "state-centric")
    assert run.key.domain == "blocksworld+gripper"
    assert list(run.record["domains"]) == ["blocksworld", "gripper"], "in the order of the suite"
    assert "scipy" in run.record["versions"]
    card = (run.folder / "card.md").read_text()
    assert "does not plan" in card
    assert "VAL" not in card
    model = sgp.load_model(run.folder)
    for domain in ("gripper", "blocksworld"):
        for each in sgp.trajectories(SUITE, domain, "interpolation"):
            # Every schema of these domains changes the same numbers of atoms wherever it is applied.
            predicted = model.predict(each.task, each.states[:-1], each.actions)
            assert np.allclose(predicted, model.embed(each.task, each.states[1:]))
    again = sgp.train("mean-change", ["blocksworld", "gripper"], "state-centric")
    assert again.record["trained"] == run.record["trained"]
    assert sgp.train("mean-change", "gripper", "state-centric").folder != run.folder
    run = sgp.train("mean-change", ["gripper", "blocksworld"], "state-centric")
    words = "method mean-change predicts states and makes no planner; give a run of a method that plans"
    problem = SUITE.problems("gripper", "validation")[0]
    for attempt in (
        lambda: sgp.load_planner(run.folder),
        lambda: sgp.evaluate([run.folder], "state-centric"),
        lambda: sgp.experiments.grid_cells("state-centric", ["gripper"], {"mean-change": []}),
    ):
        with pytest.raises(InputError, match=words):
            attempt()
    with pytest.raises(DomainMismatch, match=r"was trained on blocksworld, gripper, where a run of one domain"):
        sgp.solve(problem, run.folder)
    planner = sgp.train("blind-walk", "gripper", "state-centric")
    with pytest.raises(InputError, match="holds a planner of method blind-walk, not a model of transitions"):
        sgp.load_model(planner.folder)
    with pytest.raises(InputError, match="method mean-change makes one planner, so that there is none to select"):
        sgp.experiments.train_jointly("mean-change", "gripper", "state-centric")


def test_no_domain_and_several_where_one_is_expected_are_refused(kinds):
    with pytest.raises(SuiteError, match="no domain is named; expected some of suite state-centric: blocksworld, grip"):
        sgp.train("mean-change", [], "state-centric")
    for key, kind in (("frequent-schema", "demonstrations"), ("blind-walk", "problems")):
        words = f"domains are gripper, visitall; expected one, because the method learns from the {kind}"
        with pytest.raises(SuiteError, match=words):
            sgp.train(key, ["gripper", "visitall"], "state-centric")


def test_a_missing_library_breaks_the_method_that_needs_it_alone(kinds, monkeypatch):
    assert "thirsty" in methods.list_methods()
    assert methods.get_method("zero-change").key == "zero-change"
    words = "method thirsty needs the library a_library_that_nobody_has, which is not installed; install it with"
    with pytest.raises(MissingLibrary, match=words):
        sgp.train("thirsty", "gripper", "state-centric")
    rows = {row[0]: row for row in zip(*(column._cells for column in listing.methods().columns), strict=True)}
    assert rows["thirsty"][1].startswith(words)
    assert rows.keys() == set(methods.list_methods())
    assert "thirsty" not in {key for key, _ in methods.planning_variants()}
    with pytest.raises(InputError, match=r"describes no ablations; choose one of aiw-ad, contrastive-jumps$"):
        methods.ablations(methods.get_method("zero-change"))

    def lacking(key):
        raise MissingLibrary("install it with 'pip install \"sgp-planning[networks]\"'")

    monkeypatch.setattr(listing, "get_method", lacking)
    console = Console(width=300, file=StringIO())
    console.print(listing.methods())
    assert console.file.getvalue().count('"sgp-planning[networks]"') == len(methods.list_methods()), (
        "the extra is whole"
    )


def test_listing_and_checking_a_key_imports_no_method():
    code = (
        "import sys\nimport sgp.methods as m\nassert 'gnn-value' in m.list_methods()\n"
        "try:\n    m.get_method('magic')\nexcept Exception as error:\n    assert 'unknown method' in str(error)\n"
        "print([name for name in sys.modules if name in ('torch', 'xgboost') or name.startswith('sgp.methods.gnn')])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_decodings_are_named_changed_and_checked(kinds):
    run = sgp.train("frequent-schema", "gripper", "state-centric")
    assert (sgp.load_planner(run.folder).width, sgp.load_planner(run.folder, "wide").width) == (1, 2)
    planner = sgp.load_planner(run.folder, "wide+beam=5+revisits=true")
    assert (planner.width, planner.revisits) == (5, True)
    words = "method frequent-schema has no decoding 'deep'; expected one of default, wide, with settings as in"
    with pytest.raises(ConfigurationError, match=words):
        sgp.load_planner(run.folder, "deep")
    assert sgp.load_planner(run.folder, "wide+margin=0.5").margin == 0.5
    assert sgp.load_planner(run.folder, "wide+candidates=iw+min_novel=4").successors.min_novel == 4
    for call in (sgp.evaluate, sgp.diagnose):
        with pytest.raises(ConfigurationError, match="no decoding is named; expected some, separated by commas"):
            call([run.folder], "state-centric", decodings=[])
    for setting in ("beam", "decoding.beam"):
        words = rf"setting {setting} is one of decoding, not of training; .*'--decoding default\+beam=4'"
        with pytest.raises(ConfigurationError, match=words):
            sgp.train("frequent-schema", "gripper", "state-centric", overrides={setting: "4"})
    with pytest.raises(ConfigurationError, match="no method of the grid has the decoding 'deep'"):
        sgp.experiments.grid_cells("state-centric", ["gripper"], {"frequent-schema": []}, decodings=["default", "deep"])


def test_one_training_is_tried_by_several_decodings(kinds):
    run = sgp.train("frequent-schema", "gripper", "state-centric")
    tried_by = ["default", "wide", "default+beam=1"]
    found = sgp.evaluate([run.folder], "state-centric", ["validation"], decodings=tried_by)
    assert [key[1:] for key in found.attempts] == [(each, "validation") for each in tried_by]
    assert len(list(kinds.rglob("run.json"))) == 1
    plans = {decoding: [each.plan for each in tried] for (_, decoding, _), tried in found.attempts.items()}
    assert plans["default"] == plans["default+beam=1"]
    assert set(found.scores.decoding) == {"default", "wide", "default+beam=1"}


@pytest.mark.slow
def test_solving_hashes_each_file_of_a_run_once(quick_run, monkeypatch):
    run = quick_run("state-centric", "gripper", "wl-xgboost-state")
    hashed = Mock(wraps=runs._sha256)
    monkeypatch.setattr(runs, "_sha256", hashed)
    rollout = sgp.solve(SUITE.problems("gripper", "validation")[0], run.folder)
    sgp.data.as_recorded(rollout, run.folder)
    assert sorted(call.args[0].name for call in hashed.call_args_list) == sorted([*run.record["files"]] * 2)


def test_a_recorded_rollout_names_its_decoding_and_one_that_a_training_does_not_allow_is_refused(quick_run):
    run = quick_run("state-centric", "gripper", "wl-xgboost-state")
    rollout = sgp.solve(SUITE.problems("gripper", "validation")[0], run.folder, decoding="greedy+beam=2")
    about = sgp.data.as_recorded(rollout, run.folder, "greedy+beam=2").about
    assert about.decoding == "greedy+beam=2"
    assert "· greedy+beam=2" in about.model
    assert sgp.data.as_recorded(rollout, run.folder).about.decoding == ""
    run = quick_run("state-centric", "gripper", "fsf-xgboost-delta")
    with pytest.raises(ConfigurationError, match="strip_static conflicts with encoder fsf"):
        sgp.load_planner(run.folder, "no-statics")


SETTINGS = {"encoder": "text", "text.sentences": "hashed"}


@pytest.mark.slow
def test_a_planner_over_sentences_is_trained_saved_and_loaded(home):
    run = sgp.train("contrastive-delta", "gripper", "state-centric", overrides=SETTINGS, device="cpu")
    assert run.record["facts"]["dimension"] == 256
    tasks = [sgp.Task(problem) for problem in sgp.load_suite("state-centric").problems("gripper", "validation")]
    first, again = (sgp.load_planner(run.folder).solve_many(tasks, sgp.Limit(actions=10)) for _ in range(2))
    assert first == again
    assert all(len(rollout.steps) > 1 for rollout in first)


def test_an_encoder_of_other_weights_is_refused(tmp_path, three_blocks):
    kind = Text(sgp.data.TextConfig("hashed"))
    kind.save(kind.fit([(three_blocks, [three_blocks.init])], 3), tmp_path / "encoder.json")
    found = kind.load(tmp_path / "encoder.json", three_blocks.domain_text, 3)
    assert found.embed_goal(three_blocks).shape == (256,)
    write_json(tmp_path / "encoder.json", {"vectors": "another"})
    with pytest.raises(StoreError, match=r"is of vectors by 'another', here they are by .*; train the run again"):
        kind.load(tmp_path / "encoder.json", three_blocks.domain_text, 3)
    assert read_json(tmp_path / "encoder.json") == {"vectors": "another"}
