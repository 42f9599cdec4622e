"""Lower and upper baselines: lifted displacements and effects are exact, the others follow plain formulas."""

from __future__ import annotations

import numpy as np
import pytest

from sgp.api import train_split
from sgp.datasets.protocols import ProtocolSplit, domain_instances
from sgp.encoders.text import TextConfig
from sgp.evaluation.retrieval import queries, ranks, summary
from sgp.methods.displacements import renamed, seen_from
from sgp.methods.loading import load_model
from sgp.methods.state_encoders import text_encoders
from sgp.planning.pddl import Action, Atom, with_names
from sgp.planning.task import Task
from tests.sampling import each_value

SYMBOLS = {"text.sentences": "symbols"}


@pytest.fixture(scope="module", autouse=True)
def _home(in_shared_home):
    """Instances are computed once and cached."""


def split(domain, protocol="extrapolation", measured=None, most=None):
    return ProtocolSplit("acpbench", protocol, (domain,), (measured or domain,), 42, most)


def model_of(variant, of, settings=SYMBOLS):
    return load_model(train_split("displacements", of, variant, settings, "cpu").folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("domain", "variant"), each_value(["blocksworld", "ferry", "depot", "satellite"], ["renamed", "induction"])
)
def test_what_is_lifted_finds_every_state_after_among_its_neighbours(domain, variant):
    of = split(domain)
    test = of.held_out(domain).transitions[:60]
    asked = queries("hard", test, domain_instances("acpbench", domain), across=False, seed=0, size=64)
    assert summary(ranks(model_of(variant, of), asked))["hit@1"] == 1.0


def test_one_transition_a_schema_is_enough():
    of = split("ferry", "interpolation", most=12)
    assert {each.action.name for each in of.replayed().train} == {"sail", "board", "debark"}
    test = of.held_out("ferry").transitions[:60]
    asked = queries("hard", test, domain_instances("acpbench", "ferry"), across=False, seed=0, size=64)
    assert summary(ranks(model_of("renamed", of), asked))["hit@1"] == 1.0


def test_arguments_have_the_names_of_their_places():
    action = Action("drive", ("t1", "depot", "t1"))
    assert renamed(Atom("at", ("t1", "depot")), action) == Atom("at", ("argument 1", "argument 2"))
    assert renamed(Atom("at", ("t2", "depot")), action) == Atom("at", ("t2", "argument 2"))


def test_renaming_the_arguments_of_an_action_changes_no_embedding():
    """Arguments of an action may have any name: relative to the action, the states are the same."""
    instance = domain_instances("acpbench", "ferry")[3]
    encoder = text_encoders(TextConfig("symbols"))(instance.task)
    step = instance.transitions[0]
    names = {each.name: each.name for each in instance.task.text.objects}
    names |= {name: f"thing-{name}" for name in step.action.objects}
    other = Task(with_names(instance.task, names), mode="lifted")
    action = Action(step.action.name, tuple(names[name] for name in step.action.objects))
    for state in (step.before, step.after):
        atoms = [instance.task.fluent(number) for number in instance.task.fluents(state)]
        twin = other.state_with([Atom(each.predicate, tuple(names[name] for name in each.objects)) for each in atoms])
        ours, theirs = (
            seen_from(encoder, task, [one], taken)
            for task, one, taken in ((instance.task, state, step.action), (other, twin, action))
        )
        assert np.allclose(ours, theirs, atol=1e-5)
        assert not np.allclose(encoder.embed(instance.task, [state]), encoder.embed(other, [twin]), atol=1e-2)


def test_the_floors_are_plain_formulas():
    of = split("ferry", "interpolation", most=60)
    data = of.replayed()
    encoder = text_encoders(TextConfig("symbols"))(data.train[0].task)
    before, after = (
        np.concatenate([encoder.embed(each.task, [getattr(each, side)]) for each in data.train]).astype(np.float64)
        for side in ("before", "after")
    )
    test = of.held_out("ferry").transitions[:10]
    here = np.concatenate([encoder.embed(each.task, [each.before]) for each in test])

    def predicted(variant):
        model = model_of(variant, of)
        return np.concatenate([model.predict(each.task, [each.before], [each.action]) for each in test])

    assert np.array_equal(predicted("copy"), here)
    schemas = np.array([each.action.name for each in data.train])
    means = {name: (after - before)[schemas == name].mean(axis=0) for name in set(schemas)}
    assert np.allclose(predicted("schema"), here + [means[each.action.name] for each in test], atol=1e-5)
    acted = {each.action for each in data.train}
    grounded = predicted("grounded")
    for row, origin, each in zip(grounded, here, test, strict=True):
        same = np.array([other.action == each.action for other in data.train])
        change = (after - before)[same].mean(axis=0) if each.action in acted else means[each.action.name]
        assert np.allclose(row, origin + change, atol=1e-5)
    # Ridge: least squares with additional rows for the penalty.
    actions = encoder.embed_actions([each.action for each in data.train])
    given = np.hstack([before, actions, np.ones((len(before), 1))])
    penalty = np.eye(given.shape[1])[:-1]
    weights = np.linalg.lstsq(
        np.vstack([given, penalty]), np.vstack([after, np.zeros((len(penalty), after.shape[1]))]), rcond=None
    )[0]
    rows = np.hstack([here, encoder.embed_actions([each.action for each in test]), np.ones((len(test), 1))])
    assert np.allclose(predicted("ridge"), rows @ weights, atol=1e-4)


def test_an_action_of_an_unseen_schema_changes_nothing_and_that_is_told(caplog, monkeypatch):
    monkeypatch.setattr("sgp.methods.displacements._WARNED", set())
    model = model_of("renamed", split("blocksworld", "cross-domain", "ferry"))
    task = domain_instances("acpbench", "ferry")[0].task
    actions = task.applicable(task.init)
    seen = [model.embed_seen(task, [task.init], action)[0] for action in actions]
    assert np.allclose(model.predict(task, [task.init] * len(actions), actions), seen, atol=1e-6)
    for name in {action.name for action in actions}:
        assert caplog.text.count(f"action {name} of domain ferry occurs in no transition that was learned from") == 1


@pytest.mark.slow
def test_schemas_of_one_name_are_told_apart_by_their_domains():
    """'drop' empties a rover's store, and puts a crate down in Depot."""
    of = ProtocolSplit("acpbench", "multi-domain", ("depot", "rovers"), ("rovers",), 42)
    dropped = [each for each in of.held_out("rovers").transitions if each.action.name == "drop"]
    assert dropped
    asked = queries("hard", dropped[:10], domain_instances("acpbench", "rovers"), across=False, seed=0, size=32)
    assert summary(ranks(model_of("renamed", of), asked))["hit@1"] == 1.0
