"""Models of transitions: the lower and upper baselines, and EmbedPlan."""

import math
import shutil
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from sgp.api import train_split
from sgp.datasets.generation import with_names
from sgp.datasets.protocols import ProtocolSplit, domain_instances
from sgp.datasets.runs import open_run
from sgp.encoders.text import TextConfig
from sgp.evaluation.retrieval import queries, ranks, summary
from sgp.methods.configuration import configure
from sgp.methods.displacements import renamed, seen_from
from sgp.methods.embedplan import (
    METHOD,
    ContrastTraining,
    LatentShape,
    LatentTransition,
    action_loss,
    loss,
    state_loss,
    transition_rows,
)
from sgp.methods.loading import load_model
from sgp.methods.state_encoders import text_encoders
from sgp.planning.pddl import Action, Atom
from sgp.planning.task import Task
from tests.sampling import each_value

SPLIT = ProtocolSplit("acpbench", "interpolation", ("ferry",), ("ferry",), 42)
QUICK = {"training.epochs": "30", "training.learning_rate": "0.001", "training.warm_up": "1"}
pytestmark = pytest.mark.usefixtures("in_shared_home")  # instances are computed once and cached


def cosine(one, other):
    return float(one @ other / (np.linalg.norm(one) * np.linalg.norm(other)))


def test_the_losses_and_the_shape_are_those_of_the_paper():
    rng = np.random.default_rng(0)
    predicted, after = rng.standard_normal((2, 4, 3))
    tau = 0.07
    by_hand = 0.0
    for i in range(4):
        terms = [math.exp(cosine(predicted[i], after[j]) / tau) for j in range(4)]
        by_hand -= math.log(terms[i] / sum(terms)) / 4  # embedplan, eq. 31
    assert float(state_loss(torch.tensor(predicted), torch.tensor(after), tau)) == pytest.approx(by_hand)
    rivals, there = rng.standard_normal((4, 5, 3)), rng.random((4, 5)) < 0.6
    there[:, 0] = True
    by_hand = 0.0
    for i in range(4):
        terms = [math.exp(cosine(rivals[i, k], after[i]) / tau) for k in range(5) if there[i, k]]
        by_hand -= math.log(terms[0] / sum(terms)) / 4  # embedplan, eq. 32
    found = action_loss(*map(torch.tensor, (rivals[there], after, there)), tau)
    assert float(found) == pytest.approx(by_hand)
    # embedplan, section 3, B.1.3 and Table 6; heads as in its implementation.
    model = LatentTransition(768, LatentShape())
    change = 256 * 128 + 128 + 2 * (128 * 128 + 128)
    assert sum(each.numel() for each in model.step.parameters()) == change + 128 * 128 + 2 * 128
    head = 768 * 768 + 768 + 2 * 768 + 768 * 128 + 128
    assert sum(each.numel() for each in model.states.parameters()) == head


@pytest.mark.parametrize("weight", [0.0, 2.0])
def test_the_loss_of_a_batch_is_that_of_its_parts(weight):
    """Embeddings computed once per state and action give the loss of eq. 31 and 32 computed from scratch."""
    data = SPLIT.replayed()
    encoders = text_encoders(TextConfig("symbols"))
    rows = transition_rows(data.train[:12], encoders, 4, 0, "")
    assert (rows.applicable[:, 0] == rows.action).all()
    assert rows.applicable.shape[1] == 4, "two or three are applicable in most states, four at most are drawn"
    torch.manual_seed(0)
    model = LatentTransition(rows.states.shape[1], LatentShape(latent=8, hidden=8, width=16))
    chosen, config = torch.tensor([5, 0, 7]), ContrastTraining(action_weight=weight)
    after = model.embed(rows.states[rows.after[chosen]])
    taken = model.predict(rows.states[rows.before[chosen]], rows.actions[rows.action[chosen]])
    expected = state_loss(taken, after, config.temperature)
    for place, number in enumerate(chosen.tolist()):
        listed = rows.applicable[number][rows.applicable[number] >= 0]
        there = torch.ones(1, len(listed), dtype=torch.bool)
        tried = model.predict(rows.states[rows.before[number]].expand(len(listed), -1), rows.actions[listed])
        told_apart = action_loss(tried, after[place : place + 1], there, config.temperature)
        expected = expected + weight / 3 * told_apart
    with torch.no_grad():
        assert float(loss(model, config, rows, chosen)) == pytest.approx(float(expected.detach()), rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["mlp", "hypernetwork"])
def test_what_is_learned_is_found_again_and_beats_what_is_not(kind):
    settings = {**QUICK, "shape.kind": kind}
    run = train_split("embedplan", SPLIT, "hashed-atoms", settings, "cpu")
    model, again = load_model(run.folder), METHOD.load_model(open_run(run.folder))
    blank = load_model(train_split("embedplan", SPLIT, "hashed-atoms", {"training.epochs": "0"}, "cpu").folder)
    test = SPLIT.held_out("ferry").transitions[:80]
    asked = queries("paper", test, domain_instances("acpbench", "ferry"), across=True, seed=1)
    learned, untrained = (summary(ranks(each, asked))["hit@5"] for each in (model, blank))
    assert learned > 0.5 > untrained
    task, before, action, _ = test[0]
    assert np.allclose(model.predict(task, [before], [action]), again.predict(task, [before], [action]))
    assert np.allclose(np.linalg.norm(model.embed(task, [before]), axis=1), 1.0)
    assert run.record["facts"]["epoch"] >= 1
    assert train_split("embedplan", SPLIT, "hashed-atoms", settings, "cpu").record["trained"] == run.record["trained"]


EAGER = {**QUICK, "training.epochs": "400", "training.patience": "2", "training.learning_rate": "0.05"}
SMALL = replace(SPLIT, max_transitions=60)


def test_training_ends_when_validation_no_longer_improves(tmp_path):
    training = configure(METHOD, "hashed-atoms", EAGER)[1]
    losses = [each.loss for each in METHOD.checkpoints(training, SMALL.replayed(), tmp_path, 1, "cpu")]
    assert len(losses) == 1 + int(np.argmin(losses)) + 2 < 100


@pytest.mark.parametrize("taken_note_of", [False, True])
@pytest.mark.parametrize("stop", [2, -1])
def test_the_same_command_goes_on_after_an_interruption(stop, taken_note_of, tmp_path, monkeypatch):
    """A resumed training gives the run and the record of an uninterrupted one and removes its checkpoints."""
    monkeypatch.setenv("SGP_HOME", str(tmp_path))
    train = partial(train_split, "embedplan", SMALL, "hashed-atoms", EAGER, "cpu")
    checkpoints, seen = METHOD.checkpoints, []

    def watched(*arguments, stop=0):
        for checkpoint in checkpoints(*arguments):
            seen.append(checkpoint.name)
            if len(seen) == stop and not taken_note_of:
                raise KeyboardInterrupt
            yield checkpoint
            if len(seen) == stop:
                raise KeyboardInterrupt

    monkeypatch.setattr(METHOD, "checkpoints", watched, raising=False)
    whole = train()
    names = list(seen)
    shutil.rmtree(whole.folder)
    seen.clear()
    last = stop % (len(names) + 1)
    with monkeypatch.context() as patch:
        patch.setattr(METHOD, "checkpoints", partial(watched, stop=last), raising=False)
        with pytest.raises(KeyboardInterrupt):
            train()
    gone_on = train()
    assert seen == names[:last] + names[last if taken_note_of else last - 1 :]
    beside = dict.fromkeys(("seconds", "processor_seconds"))
    assert gone_on.record["facts"] | beside == whole.record["facts"] | beside
    assert (gone_on.record["files"], gone_on.record["check"]) == (whole.record["files"], whole.record["check"])
    assert not list((tmp_path / "training").glob("[!.]*"))


SYMBOLS = {"text.sentences": "symbols"}


def split(domain, protocol="extrapolation", measured=None, most=None):
    return ProtocolSplit("acpbench", protocol, (domain,), (measured or domain,), 42, most)


def model_of(variant, of):
    return load_model(train_split("displacements", of, variant, SYMBOLS, "cpu").folder)


def hits(variant, of, domain, transitions, size=64):
    asked = queries("hard", transitions, domain_instances("acpbench", domain), across=False, seed=0, size=size)
    return summary(ranks(model_of(variant, of), asked))["hit@1"]


DOMAINS = ["blocksworld", "ferry", "depot", "satellite"]


@pytest.mark.slow
@pytest.mark.parametrize(("domain", "variant"), each_value(DOMAINS, ["renamed", "induction"]))
def test_what_is_lifted_finds_every_state_after_among_its_neighbours(domain, variant):
    of = split(domain)
    assert hits(variant, of, domain, of.held_out(domain).transitions[:60]) == 1.0


def test_renaming_arguments_changes_no_embedding_and_one_transition_a_schema_is_enough():
    action = Action("drive", ("t1", "depot", "t1"))
    assert renamed(Atom("at", ("t1", "depot")), action) == Atom("at", ("argument 1", "argument 2"))
    assert renamed(Atom("at", ("t2", "depot")), action) == Atom("at", ("t2", "argument 2"))
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
        given = ((instance.task, [state], step.action), (other, [twin], action))
        ours, theirs = (seen_from(encoder, *each) for each in given)
        assert np.allclose(ours, theirs, atol=1e-5)
        assert not np.allclose(encoder.embed(instance.task, [state]), encoder.embed(other, [twin]), atol=1e-2)
    of = split("ferry", "interpolation", most=12)
    assert {each.action.name for each in of.replayed().train} == {"sail", "board", "debark"}
    assert hits("renamed", of, "ferry", of.held_out("ferry").transitions[:60]) == 1.0


def test_the_floors_are_plain_formulas():
    of = split("ferry", "interpolation", most=60)
    data = of.replayed()
    encoder = text_encoders(TextConfig("symbols"))(data.train[0].task)
    before = np.vstack([encoder.embed(each.task, [each.before]) for each in data.train]).astype(float)
    after = np.vstack([encoder.embed(each.task, [each.after]) for each in data.train]).astype(float)
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
    assert hits("renamed", of, "rovers", dropped[:10], size=32) == 1.0
