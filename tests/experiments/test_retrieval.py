"""Retrieval from end to end: scores of every protocol, and recorded retrievals."""

import json
import logging
import re
from dataclasses import replace

import numpy as np
import pytest

import sgp
from sgp.datasets.protocols import PROTOCOLS, ProtocolSplit, domain_instances
from sgp.datasets.recorded import atom_of
from sgp.datasets.store import cache_folder
from sgp.encoders import text
from sgp.errors import ConfigurationError, InputError
from sgp.experiments.retrieval import MOST, NEAREST, record_retrievals
from sgp.methods import state_encoders
from sgp.reports.tables import retrieval_table
from sgp.viewer.retrieved import retrieved_files

SYMBOLS = {"text.sentences": "symbols"}
CONFIG = sgp.experiments.RetrievalConfig(("paper", "hard"), size=16, transitions=12, plans=4)
pytestmark = pytest.mark.usefixtures("in_shared_home")  # instances are computed once and cached


def retrieved(protocol, names, domains=("ferry", "satellite"), **settings):
    learners = sgp.experiments.learners_of(names, {**SYMBOLS, **settings})
    return sgp.experiments.retrieve("acpbench", [protocol], learners, domains, (42,), CONFIG, most=150, device="cpu")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_protocol_gives_its_scores(protocol):
    scores = retrieved(protocol, ["displacements:schema", "displacements:copy"])
    subjects = {(each.variant, each.domain) for each in scores.itertuples()}
    settings = "+text.sentences=symbols"
    from_other = {"ferry": "+from=satellite", "satellite": "+from=ferry"} if protocol == "cross-domain" else {}
    # In leave-one-out over two domains, the model is trained on one.
    assert subjects == {
        (f"{kind}{settings}+most=150{from_other.get(domain, '') or lone(protocol, domain)}", domain)
        for kind in ("schema", "copy")
        for domain in ("ferry", "satellite")
    }
    values = scores[scores.metric == "hit@5"]
    assert values.value.between(0, 1).all()
    assert len(set(zip(values.variant, values.domain, values.pool, strict=True))) == len(values) == 2 * 2 * 2
    for each in scores.itertuples():
        assert (each.suite, each.split, each.seed, each.method) == ("acpbench", protocol, 42, "displacements")
        assert each.n >= 1
        assert "cores" in each.note
    plans = {each.metric for each in scores.itertuples() if each.pool == "paper" and "plan" in each.metric}
    assert ("plan_exact_hit@1" in plans) == (protocol != "interpolation")
    sheet = retrieval_table(scores, "title")
    of_ferry = [row.words for row in sheet.rows if row.words[1] == "ferry"]
    assert all(words[7] for words in of_ferry), "how often the action is found"
    assert [bool(words[8]) for words in of_ferry] == [protocol != "interpolation"] * 4, "whole plans"
    assert [bool(words[9]) for words in of_ferry] == [protocol != "interpolation"] * 2 + [False] * 2, "followed"
    assert [row.words[0] for row in sheet.rows if row.heading] == [f"{protocol}, pools {kind}" for kind in CONFIG.pools]


def lone(protocol, domain):
    other = {"ferry": "satellite", "satellite": "ferry"}[domain]
    return f"+from={other}" if protocol == "leave-one-out" else ""


@pytest.mark.parametrize("domain", ["ferry", "blocksworld", pytest.param("logistics", marks=pytest.mark.slow)])
def test_lifted_displacements_follow_whole_plans_exactly(domain):
    scores = retrieved("plan-variant", ["displacements:renamed"], [domain])
    found = {each.metric: each.value for each in scores.itertuples() if each.pool in ("paper", "")}
    assert found["closed_loop_exact"] == found["plan_exact_hit@1"] == found["hit@1"] == 1.0
    assert (found["acc@1"], found["plans"]) == (1.0, 4)


@pytest.mark.slow
def test_features_of_a_domain_that_was_not_learned_from_are_told_and_have_no_scores(caplog):
    with caplog.at_level(logging.WARNING):
        learners = sgp.experiments.learners_of(["wl-displacements"])
        assert sgp.experiments.retrieve(
            "acpbench", ["cross-domain"], learners, ("ferry", "satellite"), (42,), CONFIG, 150
        ).empty
    assert "wl-displacements schema has no scores in satellite: domain satellite was not learned from" in caplog.text
    names = ["wl-displacements", "displacements:renamed"]
    given = ["leave-one-out"], sgp.experiments.learners_of(names, SYMBOLS), ("ferry", "satellite"), (42,), CONFIG
    scores = sgp.experiments.retrieve("acpbench", *given, most=150, shots=(2,))
    assert {each.variant.partition("+shots=2+")[2] for each in scores.itertuples()} == {"from=satellite", "from=ferry"}
    scores = scores[(scores.metric == "hit@1") & (scores.pool == "hard")]
    hits = scores.set_index(["method", "domain"]).value
    assert hits["displacements", "ferry"] == 1.0, "a transition of each schema is enough"
    assert hits["displacements", "ferry"] > hits["wl-displacements", "ferry"] > 0.1


def test_a_text_over_the_limit_takes_one_model_away_and_no_other(monkeypatch, caplog):
    monkeypatch.setattr(text, "PRETRAINED", {"minilm": replace(text.PRETRAINED["minilm"], limit=20)})
    for known in ("_VECTORS", "_ENCODERS"):
        monkeypatch.setattr(state_encoders, known, {})
    with caplog.at_level(logging.WARNING):
        learners = sgp.experiments.learners_of(
            ["embedplan:minilm-sentence", "displacements:copy"], {"text.sentences": "minilm"}
        )
        scores = sgp.experiments.retrieve("acpbench", ["extrapolation"], learners, ("ferry",), (42,), CONFIG, most=30)
    assert {each.method for each in scores.itertuples()} == {"displacements"}
    told = r"embedplan minilm-sentence has no scores in ferry: a text has \d+ tokens"
    assert re.search(rf"{told} .* at most 20 .* atom by atom \(mode atoms\)", caplog.text)


def test_what_was_measured_is_kept():
    first = retrieved("extrapolation", ["embedplan:hashed-atoms"], ["ferry"], **{"training.epochs": "1"})
    kept = {path: path.stat().st_mtime_ns for path in (cache_folder() / "retrieval").iterdir()}
    assert retrieved("extrapolation", ["embedplan:hashed-atoms"], ["ferry"], **{"training.epochs": "1"}).equals(first)
    assert {path: path.stat().st_mtime_ns for path in (cache_folder() / "retrieval").iterdir()} == kept


def test_an_unseen_schema_is_reported_once(caplog):
    """No plan of Satellite has schema 'switch_off', which competes with the schemas that occur."""
    with caplog.at_level(logging.WARNING):
        retrieved("extrapolation", ["displacements:renamed"], ["satellite"])
    told = [each.getMessage() for each in caplog.records if "occurs in no transition" in each.getMessage()]
    assert len(told) == len(set(told)) <= 2
    with caplog.at_level(logging.WARNING):
        learners = sgp.experiments.learners_of(["displacements:ridge", "displacements:copy"], SYMBOLS)
        sgp.experiments.retrieve("acpbench", ["extrapolation"], learners, ("ferry",), (42,), CONFIG, most=2)
    (told,) = [each.getMessage() for each in caplog.records if "is learned from in ferry" in each.getMessage()]
    unseen = re.search(r"seed 42, is by (.*), and some that are measured are: .*learn from more \(--most\)", told)[1]
    assert len(set(unseen.split(", ")) & {"board", "debark", "sail"}) == 2, "one transition is learned from"


def test_settings_reach_the_learners_that_have_them_and_methods_that_plan_are_refused():
    found = sgp.experiments.learners_of(
        ["embedplan:hashed-atoms", "displacements:ridge"], {"penalty": "5", "training.epochs": "3"}
    )
    assert [each.settings for each in found] == [(("training.epochs", "3"),), (("penalty", "5"),)]
    with pytest.raises(ConfigurationError, match=r"no learner has the setting 'no\.such'"):
        sgp.experiments.learners_of(["displacements:ridge"], {"no.such": "1"})
    with pytest.raises(InputError, match="method contrastive-jumps makes planners; expected one that predicts states"):
        sgp.experiments.learners_of(["contrastive-jumps"])
    with pytest.raises(InputError, match="method contrastive-jumps learns from no transitions"):
        sgp.experiments.train_split(
            "contrastive-jumps", ProtocolSplit("acpbench", "extrapolation", ("ferry",), ("ferry",), 1)
        )


RECORDED = sgp.experiments.RetrievalConfig(("paper", "hard"), size=16)
LEARNERS = ["displacements:schema", "displacements:renamed"]


@pytest.fixture(scope="module")
def recorded(in_shared_home, tmp_path_factory):
    folder = tmp_path_factory.mktemp("retrieved")
    learners = sgp.experiments.learners_of(LEARNERS, SYMBOLS)
    (file,) = record_retrievals(folder, "acpbench", ["extrapolation"], learners, ["ferry"], 42, RECORDED, 150, "cpu")
    assert file.name == "acpbench-ferry-extrapolation-42-most150.json"
    (found,), damaged = retrieved_files(folder)
    assert damaged == []
    return found


def test_steps_are_those_of_instances_held_out(recorded):
    split = ProtocolSplit("acpbench", "extrapolation", ("ferry",), ("ferry",), 42, 150)
    held = {
        (each.task.name, *(frozenset(each.task.atoms(state)) for state in (each.before, each.after)), str(each.action))
        for each in split.held_out("ferry").transitions
    }
    assert len(recorded.steps) == MOST
    for place, each in enumerate(recorded.record["steps"]):
        before, after = recorded.states(place)
        problem = recorded.record["problems"][recorded.record["states"][before][0]]
        task = sgp.Task(sgp.Problem("it", recorded.record["domain_pddl"], problem["pddl"]))
        static = frozenset(task.static_atoms)
        ends = (recorded.atoms(state) | static for state in (before, after))
        assert (problem["name"], *ends, each["action"]) in held
        assert recorded.steps[place].startswith(f"{place + 1}. {problem['name']}: ")


def test_ranks_and_nearest_states_are_the_models(recorded):
    split = ProtocolSplit("acpbench", "extrapolation", ("ferry",), ("ferry",), 42, 150)
    of = domain_instances("acpbench", "ferry")
    held_out = split.held_out("ferry").transitions
    known = {(each.task.name, frozenset(each.task.atoms(each.before)), str(each.action)): each for each in held_out}
    for learner, model in zip(sgp.experiments.learners_of(LEARNERS, SYMBOLS), recorded.models, strict=True):
        live = sgp.load_model(
            sgp.experiments.train_split(learner.method, split, learner.variant, SYMBOLS, "cpu").folder
        )
        for place, each in enumerate(recorded.record["steps"]):
            before, after = recorded.states(place)
            name = recorded.problem_of(before)
            (task,) = [one.task for one in of if one.task.name == name]
            step = known[name, recorded.atoms(before) | frozenset(task.static_atoms), each["action"]]
            found = model.found(place, "hard")
            asked = sgp.analysis.queries("hard", [step], of, False, split.seed, RECORDED.size)
            (similar,) = sgp.analysis.similarities(live, asked)
            assert (found.better, found.tied, found.size) == sgp.analysis.rank(similar)
            nearest = np.sort(similar)[::-1][:NEAREST].tolist()
            assert [near.similarity for near in found.nearest] == pytest.approx(nearest, abs=1e-4)
            if found.better == 0 and found.tied == 0:
                assert found.nearest[0].state == after
                assert found.words.startswith("Hit")
    first, lifted = ([model.found(place, "hard").word for place in range(MOST)] for model in recorded.models)
    assert set(lifted) == {"hit"}, "lifted displacements are exact"
    assert "miss" in first


def test_maps_and_differences_of_states_are_recorded(recorded):
    schema, lifted = recorded.models
    assert lifted.training == []
    assert all(near.point is None for near in lifted.found(0, "paper").nearest)
    points = dict(schema.training)
    for place in range(MOST):
        before, _ = recorded.states(place)
        ends = schema.points(place)
        assert {len(point) for point in ends.values()} == {4}
        assert points.get(before, ends["state"]) == ends["state"]
        for pools in recorded.pools:
            for near in schema.found(place, pools).nearest:
                assert points.setdefault(near.state, near.point) == near.point
    one, other = schema.explained
    assert 0 < other <= one < 1
    for place in range(MOST):
        before, after = recorded.states(place)
        told = recorded.differences(before, after)
        assert {sign for sign, _ in told} == {"+", "-"}
        assert len(told) == len(recorded.atoms(before) ^ recorded.atoms(after))
        assert recorded.differences(after, after) == []
    assert "<svg" in recorded.drawing(recorded.states(0)[0])
    assert atom_of(recorded.record["atoms"][0]).predicate in {"at", "at-ferry", "on", "empty-ferry"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda record: record.update(format=9), "is not a recorded retrieval of format 1"),
        (lambda record: record.pop("states"), r"is a damaged recorded retrieval \(KeyError\('states'\)\)"),
        (lambda record: record["models"][0]["steps"].pop(), "is a damaged recorded retrieval"),
        (lambda record: record["pools"].clear(), "is a damaged recorded retrieval .*there are no pools"),
        (lambda record: [each.pop("pddl") for each in record["problems"]], r"retrieval \(KeyError\('pddl'\)\)"),
        (lambda record: record["models"][0]["ground"][0][1].pop(), "have different numbers of coordinates"),
    ],
)
def test_a_damaged_file_is_told_and_others_are_shown(recorded, tmp_path, change, words):
    record = json.loads(json.dumps(recorded.record))
    (tmp_path / "whole.json").write_text(json.dumps(record))
    change(record)
    (tmp_path / "cut.json").write_text(json.dumps(record))
    found, (told,) = retrieved_files(tmp_path)
    assert [each.source for each in found] == [str(tmp_path / "whole.json")]
    assert re.search(words, told)


@pytest.mark.slow
def test_a_model_that_cannot_read_a_domain_is_left_out_and_told(in_shared_home, tmp_path, caplog):
    learners = [
        *sgp.experiments.learners_of(["wl-displacements"]),
        *sgp.experiments.learners_of(["displacements:schema"], SYMBOLS),
    ]
    given = ("acpbench", ["leave-one-out"], learners, ["ferry", "satellite"], 42, RECORDED, 60, "cpu")
    files = record_retrievals(tmp_path, *given, shots=(0, 2))
    told = [each.getMessage() for each in caplog.records if "is not recorded" in each.getMessage()]
    words = "domain {0} was not learned from, and WL features are of one domain each"
    names = ("ferry", "satellite")
    assert told == [f"wl-displacements schema is not recorded in {name}: {words.format(name)}" for name in names]
    found, damaged = retrieved_files(tmp_path)
    assert damaged == []
    assert {each.source for each in found} == {str(file) for file in files}
    assert [len(each.models) for each in found] == [1 if "shots" not in each.source else 2 for each in found]
    assert len({each.title for each in found}) == 4
    config = sgp.experiments.RetrievalConfig(("all",))
    with pytest.raises(InputError, match="pools are all; expected paper, batch or hard"):
        record_retrievals(tmp_path, "acpbench", ["extrapolation"], learners, ["ferry"], config=config)
