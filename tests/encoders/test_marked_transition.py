from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest

import sgp
from sgp.encoders.marked_transition import MarkedConfig, MarkedTransitionEncoder
from sgp.errors import ConfigurationError, DomainMismatch, StoreError
from sgp.planning.lookahead import Lookahead
from sgp.planning.pddl import Problem
from sgp.planning.task import Task
from tests.conftest import blocks_problem

SUITE = sgp.load_suite("state-centric")
DOMAINS = ("blocksworld", "gripper", "logistics", "visitall")
CONFIGS = {
    "default": MarkedConfig(),
    "deep": MarkedConfig(3, 2, 2),
    "changes alone": MarkedConfig(0, 0, 0),
    "long closed walks": MarkedConfig(1, 0, 4),
    "from some places": MarkedConfig(walk_growth=0.1),
    "passed atoms": MarkedConfig(1, 2, 3, passed_atoms=True),
}


class Reference:
    """Oracle: the embedding by its definition, with nested tuples as features and explicit graphs."""

    def __init__(self, task, config, walked):
        self.task, self.config, self.walked = task, config, walked
        unary = defaultdict(set)
        for atom in task.static_atoms:
            if len(atom.objects) == 1:
                unary[atom.objects[0]].add(atom.predicate)
        constants = {thing.name for thing in task.domain_text.constants}
        self.kinds = {
            thing.name: (frozenset(thing.types), frozenset(unary[thing.name]), thing.name in constants and thing.name)
            for thing in task.objects
        }
        self.goal = {literal.atom: literal.positive for literal in task.goal}
        self.static = {atom for atom in task.static_atoms if len(atom.objects) > 1}

    def fluents(self, state):
        return set(map(self.task.fluent, self.task.fluents(state)))

    def atom_colour(self, atom, before, after):
        return atom.predicate, self.goal.get(atom), atom in before, atom in after

    def refinement(self, before, after):
        """Colours of all nodes at each level in the graph of a transition."""
        atoms = before | after | set(self.goal)
        levels = [{**self.kinds, **{atom: self.atom_colour(atom, before, after) for atom in atoms}}]
        for _ in range(self.config.iterations):
            last, new = levels[-1], {}
            for name in self.kinds:
                around = {
                    (place, last[atom])
                    for atom in atoms
                    for place, argument in enumerate(atom.objects)
                    if argument == name
                }
                new[name] = (last[name], frozenset(around))
            for atom in atoms:
                new[atom] = (last[atom], tuple(last[name] for name in atom.objects))
            levels.append(new)
        return levels

    def features(self, state, after_state):
        before, after = self.fluents(state) | self.static, self.fluents(after_state) | self.static
        found = set()
        plain = self.refinement(before, before)
        for level, colours in enumerate(self.refinement(before, after)):
            for node, colour in colours.items():
                if plain[level].get(node) != colour:
                    found.add(("colour", level, colour))
        changed = before ^ after
        tokens = {name: self.kinds[name] for atom in changed for name in atom.objects}
        atoms = {atom: self.atom_colour(atom, before, after) for atom in changed}
        for _ in range(2):
            tokens, atoms = (
                {
                    name: (
                        token,
                        frozenset((p, atoms[a]) for a in changed for p, other in enumerate(a.objects) if other == name),
                    )
                    for name, token in tokens.items()
                },
                {a: (atoms[a], tuple(tokens[name] for name in a.objects)) for a in changed},
            )
        found |= {("atom", colour) for colour in atoms.values()} | {("object", token) for token in tokens.values()}
        kept = [atom for atom in before | set(self.goal) if atom not in changed]
        passed = {name: (kind,) for name, kind in self.kinds.items()}
        if self.config.passed_atoms:
            for name, kind in self.kinds.items():
                alone = {self.atom_colour(atom, before, before) for atom in kept if atom.objects == (name,)}
                passed[name] = (kind, frozenset(alone))

        def walk(name, path, used):
            for atom in kept:
                if atom in used:
                    continue
                colour = self.atom_colour(atom, before, before)
                for place_in, argument in enumerate(atom.objects):
                    if argument != name:
                        continue
                    entered = place_in in self.walked[atom.predicate]
                    if entered and len(atom.objects) == 1 and len(used) < self.config.open_atoms:
                        found.add(("end", path, colour))
                    for place_out, other in enumerate(atom.objects):
                        if place_out == place_in:
                            continue
                        step = (*path, (colour, place_in, place_out))
                        if other in tokens:
                            # The last of several atoms is entered from the walk's end.
                            last = place_out in self.walked[atom.predicate] if used else entered
                            if last and len(used) < self.config.closed_atoms:
                                found.add(("closed", step, tokens[other]))
                            continue
                        if not entered:
                            continue
                        step = (*step, passed[other])
                        if len(used) < self.config.open_atoms:
                            found.add(("open", step))
                        if len(used) + 1 < max(self.config.open_atoms, self.config.closed_atoms):
                            walk(other, step, used | {atom})

        for name, token in tokens.items():
            walk(name, (token,), frozenset())
        return found


def transitions(problems, steps=2):
    rng = np.random.default_rng(0)
    for problem in problems:
        task = Task(problem)
        state = task.init
        for _ in range(steps):
            choice = Lookahead()(task, state)
            places = rng.permutation(len(choice))[:12]
            yield task, state, [choice[place] for place in sorted(places)]
            state = choice[int(rng.integers(len(choice)))].state


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize("domain", DOMAINS)
def test_features_are_those_of_the_definition(domain, config):
    """Features of kernel and reference correspond one to one and occur in the same transitions."""
    found = list(transitions(SUITE.problems(domain, "train")[2::5][:4]))
    encoder, _ = MarkedTransitionEncoder.fit(config, found)
    ours, theirs = defaultdict(set), defaultdict(set)
    number = 0
    for task, state, choice in found:
        reference = Reference(task, config, encoder.walked)
        embedded = encoder.embed(task, state, choice)
        for row, successor in enumerate(choice):
            for column in embedded.columns[embedded.first[row] : embedded.first[row + 1]]:
                ours[int(column)].add(number)
            for feature in reference.features(state, successor.state):
                theirs[feature].add(number)
            number += 1
    assert number > 20
    assert Counter(map(frozenset, ours.values())) == Counter(map(frozenset, theirs.values()))
    assert encoder.dimension == len(theirs) + 2


def test_typed_problems_with_constants_and_negative_goals_too(courier):
    encoder, _ = MarkedTransitionEncoder.fit(
        MarkedConfig(), [(courier, courier.init, courier.successors(courier.init))]
    )
    reference = Reference(courier, MarkedConfig(), encoder.walked)
    embedded = encoder.embed(courier, courier.init, courier.successors(courier.init))
    sizes = [len(reference.features(courier.init, each.state)) for each in courier.successors(courier.init)]
    assert np.diff(embedded.first).tolist() == sizes


def test_renaming_changes_no_embedding():
    problem = SUITE.problems("logistics", "interpolation")[0]
    renamed = Problem("r", problem.domain_pddl, problem.problem_pddl.replace("p1", "q9").replace("l1-", "z-"))
    one, two = Task(problem), Task(renamed)
    encoder, _ = MarkedTransitionEncoder.fit(MarkedConfig(), [(one, one.init, one.successors(one.init))])
    first, second = (encoder.embed(task, task.init, task.successors(task.init)) for task in (one, two))
    weights = np.arange(encoder.dimension, dtype=float)
    assert Counter(first.measured(weights).keys) == Counter(second.measured(weights).keys)
    assert encoder.unseen(two, two.init, two.successors(two.init)) == 0.0


def test_scalars_norms_and_products(three_blocks):
    choice = Lookahead()(three_blocks, three_blocks.init)
    encoder, _ = MarkedTransitionEncoder.fit(MarkedConfig(), [(three_blocks, three_blocks.init, choice)])
    embedded = encoder.embed(three_blocks, three_blocks.init, choice)
    dense = np.zeros((len(choice), encoder.dimension))
    for row in range(len(choice)):
        dense[row, embedded.columns[embedded.first[row] : embedded.first[row + 1]]] = 1
    dense[:, -2:] = [(np.log2(len(each.actions)), three_blocks.is_goal(each.state)) for each in choice]
    weights = np.random.default_rng(1).normal(size=encoder.dimension)
    products, squared_norms, keys = embedded.measured(weights)
    assert np.allclose(products, dense @ weights)
    assert np.allclose(squared_norms, (dense**2).sum(axis=1))
    for one in range(len(choice)):
        for two in range(len(choice)):
            assert (keys[one] == keys[two]) == bool((dense[one] == dense[two]).all())


def test_the_number_of_actions_is_told_where_it_is_asked_for(three_blocks):
    choice = Lookahead()(three_blocks, three_blocks.init)
    transitions = [(three_blocks, three_blocks.init, choice)]
    told, untold = (MarkedTransitionEncoder.fit(MarkedConfig(lengths=each), transitions) for each in (True, False))
    assert told[0].dimension == untold[0].dimension
    assert told[1][0].scalars[:, 0].any()
    assert not untold[1][0].scalars[:, 0].any()
    assert (told[1][0].scalars[:, 1] == untold[1][0].scalars[:, 1]).all()


def test_what_training_never_saw_is_dropped(three_blocks, two_blocks):
    small, _ = MarkedTransitionEncoder.fit(
        MarkedConfig(), [(two_blocks, two_blocks.init, two_blocks.successors(two_blocks.init))]
    )
    choice = three_blocks.successors(three_blocks.init)
    embedded = small.embed(three_blocks, three_blocks.init, choice)
    assert len(embedded.columns) == 0 or embedded.columns.max() < len(small.hashes)
    whole = replace_vocabulary(small, three_blocks, choice).embed(three_blocks, three_blocks.init, choice)
    share = small.unseen(three_blocks, three_blocks.init, choice)
    assert share == pytest.approx(1 - len(embedded.columns) / len(whole.columns))
    assert 0 < share <= 1


def replace_vocabulary(encoder, task, choice):
    return MarkedTransitionEncoder.fit(encoder.config, [(task, task.init, choice)])[0]


def test_dense_static_predicates_stay_out_of_the_walks():
    task = Task(SUITE.problems("visitall", "validation")[0])
    found = [(task, task.init, task.successors(task.init))]
    dense, _ = MarkedTransitionEncoder.fit(MarkedConfig(), found)
    assert dense.walked["connected"] == [0, 1]
    sparse, _ = MarkedTransitionEncoder.fit(MarkedConfig(walk_degree=2), found)
    assert sparse.walked["connected"] == []
    assert sparse.walked["at-robot"] == [0]
    assert sparse.dimension < dense.dimension


def test_walks_do_not_enter_where_static_relations_grow_with_the_problems():
    logistics = sgp.get_domain("logistics")
    rng = np.random.default_rng(0)
    tasks = [
        Task(
            Problem(
                f"{count}", logistics.pddl, logistics.generate(rng, cities=2, locations=count, airplanes=1, packages=1)
            )
        )
        for count in (3, 2, 6, 5, 4, 7, 8, 9)  # locations per city
    ]
    found = [(tasks[0], tasks[0].init, tasks[0].successors(tasks[0].init))]

    def entered(growth, tasks=tasks):
        return MarkedTransitionEncoder.fit(MarkedConfig(walk_growth=growth), found, tasks)[0].walked["in-city"]

    assert entered(0) == [0, 1], "the default"
    assert entered(2.6) == [0], "a city of 9 locations where one of the smallest problems has 3 at most: more than 8.8"
    assert entered(2.7) == [0, 1]
    assert entered(2.6, tasks[:1]) == [0, 1], "of one problem nothing grows"


def test_an_equation_in_the_goal_is_no_walk_s_business():
    text = blocks_problem("a b", "(ontable a) (clear a) (ontable b) (clear b)", "(on a b) (not (= a b))")
    task = Task(
        replace(text, domain_pddl=text.domain_pddl.replace(":strips", ":strips :equality :negative-preconditions"))
    )
    assert any(literal.atom.predicate == "=" for literal in task.goal)
    choice = task.successors(task.init)
    encoder, (embedded,) = MarkedTransitionEncoder.fit(MarkedConfig(), [(task, task.init, choice)])
    said = encoder.in_words(task, task.init, choice, range(encoder.dimension))
    assert len(embedded.scalars) == len(choice)
    assert len(said) == encoder.dimension


def test_saved_features_are_read_again_and_damage_is_told(three_blocks, courier, tmp_path):
    choice = three_blocks.successors(three_blocks.init)
    encoder, _ = MarkedTransitionEncoder.fit(MarkedConfig(), [(three_blocks, three_blocks.init, choice)])
    file = tmp_path / "e.safetensors"
    encoder.save(file)
    again = MarkedTransitionEncoder.load(file, encoder.config, encoder.domain_text, encoder.walked)
    assert np.array_equal(again.hashes, encoder.hashes)
    file.write_bytes(b"x")
    with pytest.raises(StoreError, match="holds no features of transitions; train the run again"):
        MarkedTransitionEncoder.load(file, encoder.config, encoder.domain_text, encoder.walked)
    with pytest.raises(DomainMismatch, match="is of another domain than the model"):
        encoder.refuses(courier)
    with pytest.raises(ConfigurationError, match="needs at least one training transition"):
        MarkedTransitionEncoder.fit(MarkedConfig(), [])


def test_a_goal_atom_that_is_reached_is_seen(two_blocks):
    """Two tasks that differ in the goal alone embed the same change differently."""
    on_table = "(ontable a) (ontable b) (clear a) (clear b)"
    other = Task(blocks_problem("a b", on_table, "(on b a)"))
    found = [(task, task.init, task.successors(task.init)) for task in (two_blocks, other)]
    encoder, _ = MarkedTransitionEncoder.fit(MarkedConfig(), found)
    one, two = (encoder.embed(*each).measured(np.zeros(encoder.dimension)).keys for each in found)
    assert one[0] != two[0]  # (pick-up a)
    assert set(one) == set(two)  # the tasks are the same up to renaming


def test_counted_features_are_the_present_ones_as_often_as_they_occur():
    task = Task(SUITE.problems("gripper", "train")[-1])
    choice = Lookahead()(task, task.init)
    transitions_ = [(task, task.init, choice)]
    _, (present,) = MarkedTransitionEncoder.fit(MarkedConfig(), transitions_)
    encoder, (counted,) = MarkedTransitionEncoder.fit(MarkedConfig(counted=True), transitions_)
    dense = np.zeros((len(choice), encoder.dimension))
    for row in range(len(choice)):
        known = counted.columns[counted.first[row] : counted.first[row + 1]]
        np.add.at(dense[row], known, 1)
        assert np.unique(known).tolist() == present.columns[present.first[row] : present.first[row + 1]].tolist()
    assert dense.max() > 1
    dense[:, -2:] = counted.scalars
    weights = np.arange(encoder.dimension, dtype=float)
    assert np.allclose(counted.measured(weights).squared_norms, (dense**2).sum(axis=1))
    assert np.allclose(counted.measured(weights).products, dense @ weights)
    again = encoder.embed(*transitions_[0])
    assert (again.columns.tolist(), again.first.tolist()) == (counted.columns.tolist(), counted.first.tolist())
