from itertools import combinations

import numpy as np
import pytest
import torch

import sgp
from sgp.encoders.relations import RelationalEncoder
from sgp.encoders.trees import TreeConfig, TreeEncoder, concatenate_trees, tree_encoder
from sgp.errors import ConfigurationError
from sgp.models.relational import LookaheadModel, RelationalShape
from sgp.planning.lookahead import Lookahead
from sgp.planning.pddl import Problem
from sgp.planning.policy import one_step
from sgp.planning.task import Task
from sgp.training.tree_ranking import tree_scores
from tests.conftest import COURIER, COURIER_PROBLEM, blocks_problem
from tests.sampling import walked

DOMAINS = ("blocksworld", "ferry", "spanner", "rovers", "visitall")
POSITIVE = COURIER_PROBLEM.replace(" (not (in q1 v1))", "")


def generated(domain, seed):
    built_in = sgp.get_domain(domain)
    size = next(each for each in range(9, 40) if built_in.sizes.has(each))
    return Task(Problem(domain, built_in.pddl, built_in.generate_size(np.random.default_rng(seed), size)))


def tuples(trees, place=0):
    """Return the non-empty relations of one tree, by name."""
    found = {}
    for name, relation in trees.graphs.relations.items():
        rows = relation.arguments[relation.first[place] : relation.first[place + 1]]
        if len(rows):
            found[name] = set(map(tuple, rows.tolist()))
            assert len(found[name]) == len(rows), f"a tuple of {name} stands once"
    return found


def naive(task, state, choice):
    """Oracle: AD by the paper's definition, atom by atom, without the state's own relations."""
    places = {thing.name: place for place, thing in enumerate(task.objects)}
    before, goal = set(task.atoms(state)), set(task.goal_atoms)
    found, depth = {}, []

    def add(name, *row):
        found.setdefault(name, set()).add(row)

    for place, candidate in enumerate(choice):
        node, after = len(places) + place, set(task.atoms(candidate.state))
        for atoms, name in ((after - before, "added"), (before - after, "deleted")):
            for atom in atoms:
                row = node, *(places[each] for each in atom.objects)
                add(f"{atom.predicate}:{name}", *row)
                if atom in goal:
                    add(f"{atom.predicate}:{name}-goal", *row)
        depth.append(1 if candidate.parent is None else depth[candidate.parent] + 1)
        if candidate.parent is not None:
            add(":edge", len(places) + candidate.parent, node)
        add(":at-depth", node, len(places) + len(choice) + depth[-1] - 1)
    nodes = [len(places) + len(choice) + each for each in range(max(depth))]
    for pair in combinations(nodes, 2):
        add(":before", *pair)
    return found


@pytest.mark.parametrize("mode", ["grounded", "lifted"])
@pytest.mark.parametrize("domain", DOMAINS)
def test_a_tree_is_what_the_paper_writes(domain, mode):
    task = Task(generated(domain, 0).problem, mode)
    encoder = TreeEncoder(task.domain_text, TreeConfig())
    bare = TreeEncoder(task.domain_text, TreeConfig(depths=False, edges=False))
    for state in walked(task, 6, seed=1):
        choice = Lookahead("types")(task, state)
        if not choice:
            continue
        expected, trees = naive(task, state, choice), encoder.encode(task, state, choice)
        found = tuples(trees)
        ours = {name: rows for name, rows in found.items() if ":added" in name or ":deleted" in name or name[0] == ":"}
        assert ours == expected
        assert (trees.objects, trees.candidates) == ([len(task.objects)], [len(choice)])
        assert trees.graphs.objects == trees.objects + trees.candidates + trees.depths
        own = {name: rows for name, rows in found.items() if name[0] != ":"}
        assert tuples(bare.encode(task, state, choice)) == own


def test_a_jump_by_hand():
    """a and b on the table, goal a on b: pick up either, then put one on the other."""
    task = Task(blocks_problem("a b", "(ontable a) (ontable b) (clear a) (clear b)", "(on a b)"))
    choice = Lookahead("types")(task, task.init)
    plans = [" ".join(map(str, each.actions)) for each in choice]
    assert plans == ["(pick-up a)", "(pick-up b)", "(pick-up a) (stack a b)", "(pick-up b) (stack b a)"]
    trees = TreeEncoder(task.domain_text, TreeConfig()).encode(task, task.init, choice)
    assert tuples(trees) == {
        "ontable": {(0,), (1,)},
        "clear": {(0,), (1,)},
        "handempty": {(0,), (1,)},
        "on:goal-false": {(0, 1)},
        "holding:added": {(2, 0), (3, 1)},
        "ontable:deleted": {(2, 0), (3, 1), (4, 0), (5, 1)},
        "clear:deleted": {(2, 0), (3, 1), (4, 1), (5, 0)},
        "handempty:deleted": {(2,), (3,)},
        "on:added": {(4, 0, 1), (5, 1, 0)},
        "on:added-goal": {(4, 0, 1)},
        ":edge": {(2, 4), (3, 5)},
        ":before": {(6, 7)},
        ":at-depth": {(2, 6), (3, 6), (4, 7), (5, 7)},
    }
    joined = concatenate_trees([trees, trees]).joined()
    assert joined.nodes == 16
    assert joined.objects.tolist() == [0, 1, 8, 9]
    assert joined.places.tolist() == [2, 3, 4, 5, 10, 11, 12, 13]
    assert joined.owners.tolist() == list(range(8))
    assert joined.candidate_trees.tolist() == [0] * 4 + [1] * 4
    assert joined.depths.tolist() == [6, 7, 14, 15]
    assert joined.arguments[":before"].tolist() == [[6, 7], [14, 15]]


def test_actions_stand_for_candidates():
    task = Task(blocks_problem("a b c", "(ontable a) (on b a) (clear b) (ontable c) (clear c)", "(on a b)"))
    encoder = TreeEncoder(task.domain_text, TreeConfig("actions"))
    found = tuples(encoder.encode(task, task.init, one_step(task, task.init)))
    assert {name: rows for name, rows in found.items() if name.endswith(":applied")} == {
        "pick-up:applied": {(3, 2)},
        "unstack:applied": {(4, 1, 0)},
    }
    assert not {name for name in encoder.relations if name.endswith(":added")}
    with pytest.raises(ConfigurationError, match=r"is 2 actions away, and trees of actions have one each; expect"):
        encoder.encode(task, task.init, Lookahead()(task, task.init))


def test_trees_are_selected_and_cut():
    trees = []
    for seed in range(4):
        task = generated("blocksworld", seed)
        encoder = TreeEncoder(task.domain_text, TreeConfig())
        trees.append(encoder.encode(task, task.init, Lookahead("types")(task, task.init)))
    joined = concatenate_trees(trees)
    chosen = joined.select(np.array([3, 1]))
    assert [tuples(chosen, place) for place in range(2)] == [tuples(trees[3]), tuples(trees[1])]
    assert chosen.candidates.tolist() == [int(trees[3].candidates[0]), int(trees[1].candidates[0])]
    most = int(joined.graphs.weights.max())
    for weight in (1, most, 2 * most, 10 * most):
        parts = joined.parts(weight)
        assert np.concatenate(parts).tolist() == [0, 1, 2, 3]
        assert all(len(part) == 1 or joined.graphs.weights[part].sum() <= weight for part in parts)
    assert len(joined.parts(1)) == 4


def test_constants_types_and_static_atoms_are_the_states_own():
    task = Task(Problem("courier-2", COURIER, POSITIVE))
    encoder = TreeEncoder(task.domain_text, TreeConfig())
    assert encoder.refuses(task) is None
    assert "wants (in q1 v1) to be false" in encoder.refuses(Task(Problem("courier-1", COURIER, COURIER_PROBLEM)))
    assert "road:added" not in encoder.relations, "what no action changes differs in no candidate"
    found = tuples(encoder.encode(task, task.init, Lookahead("types")(task, task.init)))
    assert (len(found["place:type"]), len(found["road"])) == (3, 4)


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
