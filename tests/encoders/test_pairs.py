from __future__ import annotations

import numpy as np
import pytest
import torch

import sgp
from sgp.encoders.relations import RelationalEncoder
from sgp.encoders.trees import PairEncoder, TreeConfig, concatenate_trees, tree_encoder
from sgp.models.relational import LookaheadModel, RelationalShape
from sgp.planning.lookahead import Lookahead
from sgp.planning.task import Task
from sgp.policies.tree_scores import tree_scores

AIW = Lookahead("types")
KINDS = ("external", "internal", "internal-delta")
SUITE = sgp.load_suite("state-centric")


@pytest.fixture(scope="module", params=["blocksworld", "logistics"])
def task(request):
    return Task(SUITE.problems(request.param, "train")[-1])


def copies(trees):
    """Return the tuples of a tree by relation: of the state's own objects, then of each candidate's copies."""
    things, count = int(trees.objects[0]), int(trees.candidates[0])
    found = [{} for _ in range(1 + count)]
    for name, relation in trees.graphs.relations.items():
        for row in relation.arguments.tolist():
            (copy,) = {node // things for node in row}  # no tuple joins copies
            found[copy].setdefault(name, set()).add(tuple(node % things for node in row))
    return found


def alone(task, state):
    """Return the tuples of a state by relation."""
    encoded = RelationalEncoder(task.domain_text).encode(task, [state])
    rows = {name: set(map(tuple, each.arguments.tolist())) for name, each in encoded.relations.items()}
    return {name: each for name, each in rows.items() if each}


def changed(task, before, after):
    """Return the atoms that differ between two states, by relation."""
    places = {thing.name: place for place, thing in enumerate(task.objects)}
    old, new, found = set(task.atoms(before)), set(task.atoms(after)), {}
    for atoms, kind in ((new - old, "added"), (old - new, "deleted")):
        for atom in atoms:
            row = tuple(places[name] for name in atom.objects)
            for name in (kind, f"{kind}-goal") if atom in task.goal_atoms else (kind,):
                rows = {row} if row else {(place,) for place in places.values()}
                found.setdefault(f"{atom.predicate}:{name}", set()).update(rows)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_candidate_is_copies_of_the_objects(kind, task):
    choice = AIW(task, task.init)
    encoder = tree_encoder(task.domain_text, TreeConfig(kind))
    assert isinstance(encoder, PairEncoder)
    trees = encoder.encode(task, task.init, choice)
    assert set(trees.graphs.relations) == set(encoder.relations)
    own, *others = copies(trees)
    assert own == alone(task, task.init)
    for found, candidate in zip(others, choice, strict=True):
        after = alone(task, candidate.state)
        if kind == "external":
            assert found == after
        elif kind == "internal":
            assert found == {**own, **{f"{name}:after": rows for name, rows in after.items()}}
        else:
            assert found == {**own, **changed(task, task.init, candidate.state)}


def test_places_know_their_candidate_and_the_object_that_they_copy(task):
    choice = AIW(task, task.init)[:2]
    trees = tree_encoder(task.domain_text, TreeConfig("external")).encode(task, task.init, choice)
    joined, things = concatenate_trees([trees, trees]).joined(), len(task.objects)
    assert joined.nodes == 6 * things
    assert joined.owners.tolist() == np.repeat([0, 1, 2, 3], things).tolist()
    assert joined.candidate_trees.tolist() == [0, 0, 1, 1]
    assert joined.partners.tolist() == [*range(things)] * 2 + [*range(3 * things, 4 * things)] * 2
    assert joined.places.tolist() == [*range(things, 3 * things), *range(4 * things, 6 * things)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_candidate_does_not_hear_of_its_siblings(kind, task):
    choice = AIW(task, task.init)
    encoder = tree_encoder(task.domain_text, TreeConfig(kind))
    torch.manual_seed(0)
    model = LookaheadModel(encoder.relations, RelationalShape(3, 8), copied=True).eval()
    (together,) = tree_scores(model, encoder.encode(task, task.init, choice), "cpu")
    alone = [tree_scores(model, encoder.encode(task, task.init, [each]), "cpu")[0][0] for each in choice]
    assert np.allclose(together, alone, rtol=1e-5, atol=1e-6)
    assert len(set(together.round(4).tolist())) > 1
