from collections import Counter, defaultdict
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import sgp
from sgp.encoders.marked_transition import MarkedConfig, MarkedTransitionEncoder
from sgp.encoders.marked_words import TransitionWords
from sgp.errors import ConfigurationError, DomainMismatch, StoreError
from sgp.planning.lookahead import Lookahead
from sgp.planning.pddl import Problem
from sgp.planning.task import Task
from tests.conftest import COURIER, COURIER_PROBLEM, blocks_problem

SUITE = sgp.load_suite("state-centric")
DOMAINS = ("blocksworld", "gripper", "logistics", "visitall")
MARKED = MarkedConfig()
CONFIGS = {
    "default": MARKED,
    "deep": MarkedConfig(3, 2, 2),
    "changes alone": MarkedConfig(0, 0, 0),
    "long closed walks": MarkedConfig(1, 0, 4),
    "from some places": MarkedConfig(walk_growth=0.1),
    "passed atoms": MarkedConfig(1, 2, 3, passed_atoms=True),
    "counted": MarkedConfig(2, 0, 0, counted=True),
    "counted deep": MarkedConfig(4, 0, 0, counted=True),
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
        atoms = before | after | set(self.goal)
        levels = [{**self.kinds, **{atom: self.atom_colour(atom, before, after) for atom in atoms}}]
        for _ in range(self.config.iterations):
            last, new = levels[-1], {}
            for name in self.kinds:
                around = {(at, last[atom]) for atom in atoms for at, each in enumerate(atom.objects) if each == name}
                new[name] = (last[name], frozenset(around))
            for atom in atoms:
                new[atom] = (last[atom], tuple(last[name] for name in atom.objects))
            levels.append(new)
        return levels

    def features(self, state, after_state):
        """Return how often each feature occurs; walks are counted by their start, path and end."""
        before, after = self.fluents(state) | self.static, self.fluents(after_state) | self.static
        found = Counter()
        plain = self.refinement(before, before)
        for level, colours in enumerate(self.refinement(before, after)):
            for node, colour in colours.items():
                if plain[level].get(node) != colour:
                    found["colour", level, colour] += 1
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
        found.update(("atom", colour) for colour in atoms.values())
        found.update(("object", token) for token in tokens.values())
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
                        found["end", path, colour] += 1
                    for place_out, other in enumerate(atom.objects):
                        if place_out == place_in:
                            continue
                        step = (*path, (colour, place_in, place_out))
                        if other in tokens:
                            # The last of several atoms is entered from the walk's end.
                            last = place_out in self.walked[atom.predicate] if used else entered
                            if last and len(used) < self.config.closed_atoms:
                                found["closed", step, tokens[other]] += 1
                            continue
                        if not entered:
                            continue
                        step = (*step, passed[other])
                        if len(used) < self.config.open_atoms:
                            found["open", step] += 1
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


def fitted(task, config=MARKED, choice=None):
    """Return an encoder of transitions from the initial state, these transitions, and their embeddings."""
    given = task, task.init, choice or task.successors(task.init)
    encoder, (embedded,) = MarkedTransitionEncoder.fit(config, [given])
    return encoder, given, embedded


def features(embedded, row):
    return embedded.columns[embedded.first[row] : embedded.first[row + 1]]


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize("domain", DOMAINS)
def test_features_are_those_of_the_definition(domain, config):
    compare_with_definition(list(transitions(SUITE.problems(domain, "train")[2::5][:4])), config)


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_features_of_one_candidate_in_a_large_graph_are_those_of_the_definition(config):
    """Most of the graph is too far from the change to be coloured."""
    found = []
    for name, size in (("blocksworld", 40), ("visitall", 49), ("logistics", 40), ("sokoban", 60)):
        domain, rng = sgp.get_domain(name), np.random.default_rng(1)
        problem = Problem(name, domain.pddl, domain.generate_scaled(rng, domain.scaled.nearest(size)))
        found.append([(task, state, [one]) for task, state, choice in transitions([problem]) for one in choice])
    for of_domain in found:
        compare_with_definition(of_domain, config)


def compare_with_definition(found, config):
    """Features of kernel and reference correspond one to one and occur equally often in the same transitions."""
    encoder, _ = MarkedTransitionEncoder.fit(config, found)
    ours, theirs = defaultdict(Counter), defaultdict(Counter)
    number = 0
    for task, state, choice in found:
        reference = Reference(task, config, encoder.walked)
        embedded = encoder.embed(task, state, choice)
        for row, successor in enumerate(choice):
            for column in features(embedded, row):
                ours[int(column)][number] += 1
            for feature, count in reference.features(state, successor.state).items():
                theirs[feature][number] = count if config.counted else 1
            number += 1
    assert number > 20
    one, other = (Counter(frozenset(times.items()) for times in each.values()) for each in (ours, theirs))
    assert one == other
    assert encoder.dimension == len(theirs) + 2


def test_typed_problems_with_constants_and_negative_goals_too(courier):
    encoder, (_, _, choice), embedded = fitted(courier)
    reference = Reference(courier, MARKED, encoder.walked)
    sizes = [len(reference.features(courier.init, each.state)) for each in choice]
    assert np.diff(embedded.first).tolist() == sizes


def test_renaming_changes_no_embedding():
    problem = SUITE.problems("logistics", "interpolation")[0]
    renamed = Problem("r", problem.domain_pddl, problem.problem_pddl.replace("p1", "q9").replace("l1-", "z-"))
    one, two = Task(problem), Task(renamed)
    encoder, *_ = fitted(one)
    first, second = (encoder.embed(task, task.init, task.successors(task.init)) for task in (one, two))
    weights = np.arange(encoder.dimension, dtype=float)
    assert Counter(first.measured(weights).keys) == Counter(second.measured(weights).keys)
    assert encoder.unseen(two, two.init, two.successors(two.init)) == 0.0


def test_scalars_norms_and_products_of_present_and_counted_features():
    task = Task(SUITE.problems("gripper", "train")[-1])
    choice, found = Lookahead()(task, task.init), []
    for counted in (False, True):
        encoder, given, embedded = fitted(task, MarkedConfig(counted=counted), choice)
        dense = np.zeros((len(choice), encoder.dimension))
        for row in range(len(choice)):
            np.add.at(dense[row], features(embedded, row), 1)
        assert (dense.max() > 1) == counted
        found.append(dense > 0)
        dense[:, -2:] = [(np.log2(len(each.actions)), task.is_goal(each.state)) for each in choice]
        weights = np.random.default_rng(1).normal(size=encoder.dimension)
        products, squared_norms, keys = embedded.measured(weights)
        assert np.allclose(products, dense @ weights)
        assert np.allclose(squared_norms, (dense**2).sum(axis=1))
        for one, two in combinations(range(len(choice)), 2):
            assert (keys[one] == keys[two]) == bool((dense[one] == dense[two]).all())
        again = encoder.embed(*given)
        assert (again.columns.tolist(), again.first.tolist()) == (embedded.columns.tolist(), embedded.first.tolist())
    assert np.array_equal(*found)


def test_the_number_of_actions_is_a_feature_on_request(three_blocks):
    choice = Lookahead()(three_blocks, three_blocks.init)
    (with_, _, some), (without, _, none) = (fitted(three_blocks, MarkedConfig(lengths=each), choice) for each in (1, 0))
    assert with_.dimension == without.dimension
    assert some.scalars[:, 0].any()
    assert not none.scalars[:, 0].any()
    assert (some.scalars[:, 1] == none.scalars[:, 1]).all()


def test_what_training_never_saw_is_dropped(three_blocks, two_blocks):
    small, *_ = fitted(two_blocks)
    _, given, whole = fitted(three_blocks)
    embedded, share = small.embed(*given), small.unseen(*given)
    assert len(embedded.columns) == 0 or embedded.columns.max() < len(small.hashes)
    assert share == pytest.approx(1 - len(embedded.columns) / len(whole.columns))
    assert 0 < share <= 1


def test_dense_static_predicates_stay_out_of_the_walks():
    task = Task(SUITE.problems("visitall", "validation")[0])
    (dense, *_), (sparse, *_) = fitted(task), fitted(task, MarkedConfig(walk_degree=2))
    assert dense.walked["connected"] == [0, 1]
    assert (sparse.walked["connected"], sparse.walked["at-robot"]) == ([], [0])
    assert sparse.dimension < dense.dimension


def test_walks_do_not_enter_where_static_relations_grow_with_the_problems():
    logistics = sgp.get_domain("logistics")
    rng, tasks = np.random.default_rng(0), []
    for count in (3, 2, 6, 5, 4, 7, 8, 9):  # locations per city
        text = logistics.generate(rng, cities=2, locations=count, airplanes=1, packages=1)
        tasks.append(Task(Problem(f"{count}", logistics.pddl, text)))
    found = [(tasks[0], tasks[0].init, tasks[0].successors(tasks[0].init))]

    def entered(growth, tasks=tasks):
        return MarkedTransitionEncoder.fit(MarkedConfig(walk_growth=growth), found, tasks)[0].walked["in-city"]

    assert entered(0) == [0, 1], "the default"
    assert entered(2.6) == [0], "a city of 9 locations where one of the smallest problems has 3 at most: more than 8.8"
    assert entered(2.7) == [0, 1]
    assert entered(2.6, tasks[:1]) == [0, 1], "of one problem nothing grows"


def test_an_equation_in_the_goal_is_no_walk_s_business():
    text = blocks_problem("a b", "(ontable a) (clear a) (ontable b) (clear b)", "(on a b) (not (= a b))")
    domain = text.domain_pddl.replace(":strips", ":strips :equality :negative-preconditions")
    task = Task(replace(text, domain_pddl=domain))
    assert any(literal.atom.predicate == "=" for literal in task.goal)
    encoder, given, embedded = fitted(task)
    assert len(embedded.scalars) == len(given[2])
    assert len(encoder.in_words(*given, range(encoder.dimension))) == encoder.dimension


def test_saved_features_are_read_again_and_damage_is_told(three_blocks, courier, tmp_path):
    encoder, *_ = fitted(three_blocks)
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


COURIER_TASK = Problem("courier", COURIER, COURIER_PROBLEM)  # types, constants, a negative goal


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize("domain", [*DOMAINS, "courier"])
def test_descriptions_have_the_hashes_of_the_kernels(domain, config):
    """Descriptions and kernels share their hash functions; the independent oracle is in test_marked_transition."""
    problems = SUITE.problems(domain, "train")[2::5][:3] if domain in DOMAINS else [COURIER_TASK]
    count = 0
    for task, state, choice in transitions(problems):
        encoder, _ = MarkedTransitionEncoder.fit(config, [(task, state, choice)])
        graph = encoder._graph(task)
        words = TransitionWords(config, task, state, graph.object_colours, graph.kind, encoder.walked)
        embedded = encoder.embed(task, state, choice)
        for row, successor in enumerate(choice):
            columns = features(embedded, row)
            assert set(words.of(successor.state)) == set(map(int, encoder.hashes[columns]))
            count += len(columns)
    assert count > (100 if domain in DOMAINS else 10)


def test_what_a_stacked_block_is_told_to_change(two_blocks):
    held = two_blocks.successors(two_blocks.init)[0].state
    choice = two_blocks.successors(held)
    encoder, (embedded,) = MarkedTransitionEncoder.fit(MarkedConfig(1, 1, 0), [(two_blocks, held, choice)])
    said = {
        str(choice[row].actions[0]): set(encoder.in_words(two_blocks, held, [choice[row]], columns))
        for row, columns in enumerate(np.split(embedded.columns, embedded.first[1:-1]))
    }
    assert "(on a b) becomes true, a goal" in said["(stack a b)"]
    assert "(clear b) becomes false" in said["(stack a b)"]
    assert "(ontable a) becomes true" in said["(put-down a)"]
    assert not any("(on a b) becomes" in words for words in said["(put-down a)"])
    assert "b changes, beside it (ontable b)" in said["(stack a b)"]
    assert encoder.in_words(two_blocks, held, choice, [encoder.dimension - 1]) == ["the goal is reached"]
