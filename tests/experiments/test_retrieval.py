"""Retrieval from end to end: every protocol gives its scores once; settings reach the models that have them."""

from __future__ import annotations

import logging
import re
from dataclasses import replace

import pytest

from sgp.api import train_split
from sgp.datasets.protocols import PROTOCOLS, ProtocolSplit
from sgp.datasets.store import cache_folder
from sgp.encoders import sentences
from sgp.errors import ConfigurationError, InputError
from sgp.experiments.retrieval import RetrievalConfig, learners_of, retrieve
from sgp.methods import state_encoders
from sgp.reports.tables import retrieval_table

SYMBOLS = {"text.sentences": "symbols"}
CONFIG = RetrievalConfig(("paper", "hard"), size=16, transitions=12, plans=4)


@pytest.fixture(scope="module", autouse=True)
def _home(in_shared_home):
    """Instances are computed once and cached."""


def retrieved(protocol, names, domains=("ferry", "satellite"), **settings):
    learners = learners_of(names, {**SYMBOLS, **settings})
    return retrieve("acpbench", [protocol], learners, domains, (42,), CONFIG, most=150, device="cpu")


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
    hits = {
        (each.variant[:4], each.domain, each.decoding): each.value
        for each in scores.itertuples()
        if each.metric == "hit@5"
    }
    assert all(0 <= value <= 1 for value in hits.values())
    assert len(hits) == 2 * 2 * 2
    for each in scores.itertuples():
        assert (each.suite, each.split, each.seed, each.method) == ("acpbench", protocol, 42, "displacements")
        assert each.count >= 1
        assert "cores" in each.note
    plans = {each.metric for each in scores.itertuples() if each.decoding == "paper" and "plan" in each.metric}
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
    found = {each.metric: each.value for each in scores.itertuples() if each.decoding in ("paper", "")}
    assert found["closed_loop_exact"] == found["plan_exact_hit@1"] == found["hit@1"] == 1.0
    assert found["acc@1"] == 1.0
    assert found["plans"] == 4


@pytest.mark.slow
def test_features_of_a_domain_that_was_not_learned_from_are_told_and_have_no_scores(caplog):
    with caplog.at_level(logging.WARNING):
        learners = learners_of(["wl-displacements"])
        assert retrieve("acpbench", ["cross-domain"], learners, ("ferry", "satellite"), (42,), CONFIG, 150).empty
    assert "wl-displacements schema has no scores in satellite: domain satellite was not learned from" in caplog.text
    scores = retrieve(
        "acpbench",
        ["leave-one-out"],
        learners_of(["wl-displacements", "displacements:renamed"], SYMBOLS),
        ("ferry", "satellite"),
        (42,),
        CONFIG,
        most=150,
        shots=(2,),
    )
    assert {each.variant.partition("+shots=2+")[2] for each in scores.itertuples()} == {"from=satellite", "from=ferry"}
    hits = {
        (each.method, each.domain): each.value
        for each in scores.itertuples()
        if (each.metric, each.decoding) == ("hit@1", "hard")
    }
    assert hits["displacements", "ferry"] == 1.0, "a transition of each schema is enough"
    assert hits["displacements", "ferry"] > hits["wl-displacements", "ferry"] > 0.1


def test_a_text_over_the_limit_takes_one_model_away_and_no_other(monkeypatch, caplog):
    monkeypatch.setattr(sentences, "PRETRAINED", {"minilm": replace(sentences.PRETRAINED["minilm"], limit=20)})
    for known in ("_VECTORS", "_ENCODERS"):
        monkeypatch.setattr(state_encoders, known, {})
    with caplog.at_level(logging.WARNING):
        learners = learners_of(["embedplan:minilm-sentence", "displacements:copy"], {"text.sentences": "minilm"})
        scores = retrieve("acpbench", ["extrapolation"], learners, ("ferry",), (42,), CONFIG, most=30)
    assert {each.method for each in scores.itertuples()} == {"displacements"}
    told = r"embedplan minilm-sentence has no scores in ferry: a text has \d+ tokens"
    assert re.search(rf"{told} .* at most 20 .* atom by atom \(mode atoms\)", caplog.text)


def test_what_was_measured_is_kept():
    first = retrieved("extrapolation", ["embedplan:hashed-atoms"], ["ferry"], **{"training.epochs": "1"})
    kept = {path: path.stat().st_mtime_ns for path in (cache_folder() / "retrieval").iterdir()}
    assert retrieved("extrapolation", ["embedplan:hashed-atoms"], ["ferry"], **{"training.epochs": "1"}).equals(first)
    assert {path: path.stat().st_mtime_ns for path in (cache_folder() / "retrieval").iterdir()} == kept


def test_an_unseen_schema_is_told_once_whatever_stands_beside_it(caplog):
    """No plan of Satellite has schema 'switch_off', which competes with the schemas that occur."""
    with caplog.at_level(logging.WARNING):
        retrieved("extrapolation", ["displacements:renamed"], ["satellite"])
    told = [each.getMessage() for each in caplog.records if "occurs in no transition" in each.getMessage()]
    assert len(told) == len(set(told)) <= 2


def test_a_schema_that_no_model_can_have_learned_is_told_once(caplog):
    with caplog.at_level(logging.WARNING):
        learners = learners_of(["displacements:ridge", "displacements:copy"], SYMBOLS)
        retrieve("acpbench", ["extrapolation"], learners, ("ferry",), (42,), CONFIG, most=2)
    (told,) = [each.getMessage() for each in caplog.records if "is learned from in ferry" in each.getMessage()]
    unseen = re.search(r"seed 42, is by (.*), and some that are measured are: .*learn from more \(--most\)", told)[1]
    assert len(set(unseen.split(", ")) & {"board", "debark", "sail"}) == 2, "one transition is learned from"


def test_settings_reach_the_learners_that_have_them():
    found = learners_of(["embedplan:hashed-atoms", "displacements:ridge"], {"penalty": "5", "training.epochs": "3"})
    assert [each.settings for each in found] == [(("training.epochs", "3"),), (("penalty", "5"),)]
    with pytest.raises(ConfigurationError, match=r"no learner has the setting 'no\.such'"):
        learners_of(["displacements:ridge"], {"no.such": "1"})
    with pytest.raises(InputError, match="method contrastive-jumps makes planners; expected one that predicts states"):
        learners_of(["contrastive-jumps"])


def test_a_method_that_learns_from_plans_is_refused():
    with pytest.raises(InputError, match="method contrastive-jumps learns from no transitions"):
        train_split("contrastive-jumps", ProtocolSplit("acpbench", "extrapolation", ("ferry",), ("ferry",), 1))
