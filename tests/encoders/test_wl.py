"""wlplan, called state by state on objects of its own parser, is the oracle of the WL encoder.

It has no build for Python 3.13, where the tests that need it are skipped.
"""

import json
import random
import sys
from collections import Counter
from functools import lru_cache
from itertools import product

import numpy as np
import pytest

import sgp
from sgp.domains import builtin_domains
from sgp.encoders.kernels.wl import neighbour_hash
from sgp.encoders.wl import WLConfig, WLEncoder, collect_with_wlplan
from sgp.encoders.wl_vocabulary import Vocabulary, coloured_graph
from sgp.errors import ConfigurationError, MissingLibrary, StoreError
from sgp.planning.lookahead import Lookahead
from sgp.planning.pddl import Problem
from sgp.planning.policy import one_step
from sgp.planning.task import Candidates, Task, Trajectory
from tests.conftest import COURIER, COURIER_PROBLEM
from tests.sampling import each_value, walked

SUITE = sgp.load_suite("state-centric")
DOMAINS = ["blocksworld", "gripper", "logistics", "visitall"]
EACH_DOMAIN = [*DOMAINS[:3], pytest.param("visitall", marks=pytest.mark.slow)]  # which has hundreds of problems


class Oracle:
    """wlplan itself: features from a saved vocabulary, and a new graph for every state.

    Problems come from wlplan's own parser, which takes up to half a second each; `parse` False builds them directly.
    """

    def __init__(self, encoder, folder, parse=True):
        generators = pytest.importorskip("wlplan.feature_generator")
        self.planning = pytest.importorskip("wlplan.planning")
        self.folder, self.parse = folder, parse
        encoder.save(folder / "vocabulary.json")
        self.features = generators.load_feature_generator(str(folder / "vocabulary.json"), quiet=True)

    def embed(self, task, states):
        """Rows of the states, then of the goal."""
        problem = self.parsed(task) if self.parse else self.made(task)
        self.features.set_problem(problem)
        predicates = {predicate.name: predicate for predicate in problem.domain.predicates}
        every = [*map(task.atoms, states), task.goal_atoms]
        return np.array([self.features.embed(self.planning.State(self.atoms(predicates, atoms))) for atoms in every])

    def atoms(self, predicates, atoms):
        return [self.planning.Atom(predicates[atom.predicate], list(atom.objects)) for atom in atoms]

    def parsed(self, task):
        (self.folder / "d.pddl").write_text(task.problem.domain_pddl)
        (self.folder / "p.pddl").write_text(task.problem.problem_pddl)
        return self.planning.parse_problem(str(self.folder / "d.pddl"), str(self.folder / "p.pddl"))

    def made(self, task):
        made = {name: self.planning.Predicate(name, arity) for name, arity in task.domain_text.predicates.items()}
        domain = self.planning.Domain("d", sorted(made.values(), key=repr), [], [], [])
        names = sorted(thing.name for thing in task.objects)
        return self.planning.Problem(domain, names, self.atoms(made, task.goal_atoms), [])


def ours(encoder, task, states):
    return np.vstack([encoder.embed(task, states), encoder.embed_goal(task)])


def trajectories(domain, split="train", suite=SUITE):
    plans = sgp.data.expert_plans(suite, domain, split)
    planned = [(problem, plans[problem.sha256].plan) for problem in suite.problems(domain, split)]
    return [Trajectory.of(Task(problem), plan) for problem, plan in planned if plan is not None]


def fit(domain, config=None, most=None):
    return WLEncoder.fit(config or WLConfig(), [(each.task, each.states) for each in trajectories(domain)[:most]])


def walk(task, steps, seed=0):
    return list(walked(task, steps + 1, seed))


@pytest.mark.parametrize("domain", EACH_DOMAIN)
def test_vectors_equal_wlplans_on_every_bundled_problem(domain, tmp_path):
    encoder = fit(domain)
    oracle = Oracle(encoder, tmp_path, parse=False)
    for split in SUITE.domain(domain).splits:
        for problem in SUITE.problems(domain, split):
            task = Task(problem)
            states = walk(task, 2)
            assert np.array_equal(ours(encoder, task, states), oracle.embed(task, states)), problem.name


CONFIGS = [WLConfig(k, kind) for k in (0, 1, 2, 3) for kind in ("multiset", "set")]
OPTIONS = CONFIGS + [WLConfig(2, *each) for each in product(("multiset", "set"), ("a-m", "i-m", "i-f", "i-mf"))]


def same_vocabulary(gathered, iterations, hash_):
    """Assert that the vocabulary is wlplan's in every entry, and return it."""
    pytest.importorskip("wlplan")
    config = WLConfig(iterations, hash_)
    ours, theirs = (
        json.loads(each.text)
        for each in (WLEncoder.fit(config, gathered).vocabulary, collect_with_wlplan(config, gathered))
    )
    for data in (ours, theirs):
        data["colour_to_layer"].sort()  # wlplan's order is that of a hash table
    assert ours == theirs
    return ours


@pytest.mark.parametrize(("config", "domain"), each_value(CONFIGS, DOMAINS), ids=str)
def test_the_vocabulary_is_that_of_wlplan(config, domain):
    gathered = [(each.task, each.states) for each in trajectories(domain)[:12]]
    data = same_vocabulary(gathered, config.iterations, config.hash)
    assert [level > 3 for level in map(len, data["colour_hash"])] == [True] * (config.iterations + 1)


GOALS = ["", "(not (at q1 depot))", "(at q1 shop) (road depot shop)", "(not (road depot shop))"]
GOALS += ["(not (closed mill)) (not (at v1 mill)) (at b1 mill)", "(not (at q1 depot)) (not (at q1 depot))"]


@pytest.mark.parametrize(("goal", "mode", "config"), each_value(GOALS, ["grounded", "lifted"], CONFIGS[::-1]), ids=str)
def test_the_vocabulary_with_types_constants_and_negative_goals_is_that_of_wlplan(goal, mode, config):
    text = COURIER_PROBLEM.replace("(:goal (and", f"(:goal (and {goal}")
    task, other = Task(Problem("courier", COURIER, text), mode), Task(Problem("first", COURIER, COURIER_PROBLEM), mode)
    same_vocabulary([(task, walk(task, 5)), (other, walk(other, 3))], config.iterations, config.hash)


def test_the_vocabulary_of_atoms_without_objects_and_of_no_states(two_blocks):
    domain = "(define (domain d) (:predicates (a) (b)) (:action do :parameters () :precondition (a) :effect (b)))"
    task = Task(Problem("p", domain, "(define (problem p) (:domain d) (:objects x) (:init (a)) (:goal (b)))"))
    same_vocabulary([(task, [task.init])], 2, "set")
    assert WLEncoder.fit(WLConfig(hash="set"), [(two_blocks, [])]).dimension == 0


@pytest.mark.oracle
@pytest.mark.parametrize("hash_", ["multiset", "set"])
@pytest.mark.parametrize("domain", builtin_domains(), ids=lambda domain: domain.name)
def test_the_vocabulary_of_every_domain_is_that_of_wlplan(domain, hash_):
    sizes = [size for size in range(4, 40) if domain.sizes.has(size)][:12:4]
    for model in domain.models:
        rng = np.random.default_rng(7)
        problems = [domain.translated(domain.generate_size(rng, size), model) for size in sizes]
        tasks = [Task(Problem(domain.name, domain.models[model], text)) for text in problems]
        for iterations in range(6):
            same_vocabulary([(task, walk(task, 30, seed=iterations)) for task in tasks], iterations, hash_)


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("name", "domain"),
    [(name, domain) for name in ("state-centric", "track") for domain in sgp.load_suite(name).domains],
)
def test_the_vocabulary_of_all_training_plans_is_that_of_wlplan(name, domain):
    gathered = [(each.task, each.states) for each in trajectories(domain, suite=sgp.load_suite(name))]
    for iterations, hash_ in ((2, "multiset"), (2, "set")):
        same_vocabulary(gathered, iterations, hash_)


def test_without_wlplan_only_pruning_is_refused(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] in ("wlplan", "_wlplan")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "wlplan.data", None)
    assert fit("gripper", most=3).dimension > 100
    with pytest.raises(MissingLibrary, match=r"pruning 'i-m' .* library wlplan, .*pip install wlplan==2\.1\.0"):
        fit("gripper", WLConfig(pruning="i-m"), most=3)


@pytest.mark.slow
def test_the_dimension_of_gripper_and_visitall_is_the_published_one():
    """In Gripper and VisitAll colours do not depend on random instances; in the other domains they do."""
    assert fit("gripper").dimension == 302
    assert fit("visitall").dimension == 138


ENCODER = fit("blocksworld")


def test_a_vocabulary_of_another_version_or_kind_or_of_no_states_is_refused():
    data = json.loads(ENCODER.vocabulary.text)
    for change, words in (
        ({"package_version": "3.0.0"}, r"written by wlplan 3\.0\.0, this package reads that of 2\.1\.0"),
        ({"graph_representation": "aoag"}, "not of 'wl' features on the graph 'ilg'"),
    ):
        with pytest.raises(StoreError, match=words):
            Vocabulary(json.dumps(data | change))
    with pytest.raises(StoreError, match="no complete JSON"):
        Vocabulary(ENCODER.vocabulary.text[:-20])
    with pytest.raises(ConfigurationError, match="at least one training task"):
        WLEncoder.fit(WLConfig(), [])


def test_collecting_prints_nothing(capfd):
    fit("blocksworld", most=2)
    assert capfd.readouterr().out == ""


@lru_cache
def fitted(domain, config):
    """Fit on few training problems, so that many colours are unseen."""
    if config.pruning != "none":
        pytest.importorskip("wlplan")
    return fit(domain, config, most=6)


def states_of(choices):
    return [candidate.state for choice in choices for candidate in choice]


def some_states(task, seed):
    """States of two walks, shuffled, so that consecutive states are not neighbours."""
    states = [*walk(task, 7, seed), *walk(task, 3, seed + 1)]
    random.Random(seed).shuffle(states)
    return states


@pytest.mark.parametrize(("config", "domain"), each_value(OPTIONS, DOMAINS), ids=str)
def test_vectors_of_candidates_equal_those_of_states_and_of_wlplan(domain, config, tmp_path):
    encoder = fitted(domain, config)
    oracle = Oracle(encoder, tmp_path, parse=domain == "gripper")
    for problem in (SUITE.problems(domain, "train")[-1], SUITE.problems(domain, "extrapolation")[3]):
        task = Task(problem)
        states = some_states(task, seed=5)
        for successors in (one_step, Lookahead(states=30)):
            choices = [successors(task, state) for state in states]
            rows = encoder.embed_candidates(task, states, choices)
            found = states_of(choices)
            assert np.array_equal(rows, encoder.embed(task, found))
            assert np.array_equal(ours(encoder, task, found[::7]), oracle.embed(task, found[::7]))
            assert len(rows) > len(states)


@pytest.mark.parametrize(("config", "mode"), each_value(CONFIGS, ["grounded", "lifted"]), ids=str)
def test_with_types_constants_and_negative_goals(mode, config, tmp_path):
    seen = Task(Problem("courier-1", COURIER, COURIER_PROBLEM), mode)
    encoder = WLEncoder.fit(config, [(seen, walk(seen, 5))])
    oracle = Oracle(encoder, tmp_path)
    unseen = Task(Problem("other", COURIER, COURIER_PROBLEM.replace("(at q1 depot)", "(at q1 mill)")), mode)
    for task in (seen, unseen):
        states = some_states(task, seed=2)
        for successors in (one_step, Lookahead()):
            choices = [successors(task, state) for state in states]
            assert isinstance(choices[0], Candidates)
            rows = encoder.embed_candidates(task, states, choices)
            assert np.array_equal(rows, encoder.embed(task, states_of(choices)))
            assert np.array_equal(ours(encoder, task, states_of(choices)), oracle.embed(task, states_of(choices)))
    if config == WLConfig():
        assert encoder.embed(unseen, [unseen.init]).sum() < encoder.embed(seen, [seen.init]).sum(), "unseen are dropped"


@pytest.mark.parametrize("kind", ["multiset", "set"])
def test_what_was_embedded_before_changes_nothing(kind):
    encoder = fitted("logistics", WLConfig(hash=kind))
    task = Task(SUITE.problems("logistics", "extrapolation")[0])
    states = some_states(task, seed=3)
    choices = [task.successors(state) for state in states]
    together = encoder.embed_candidates(task, states, choices)
    alone = [encoder.embed_candidates(task, [state], [choice]) for state, choice in zip(states, choices, strict=True)]
    assert np.array_equal(together, np.vstack(alone))
    assert np.array_equal(together, encoder.embed_candidates(task, states, choices)), "as often as wanted"
    fresh = WLEncoder(encoder.vocabulary, encoder.domain_text)
    assert np.array_equal(fresh.embed_candidates(task, states[-1:], choices[-1:]), alone[-1])


def test_without_static_atoms():
    encoder = fitted("visitall", WLConfig()).without_static()
    task = Task(SUITE.problems("visitall", "extrapolation")[0])
    states = walk(task, 5)
    choices = [task.successors(state) for state in states]
    rows = encoder.embed_candidates(task, states, choices)
    assert np.array_equal(rows, encoder.embed(task, states_of(choices)))
    assert not np.array_equal(rows, fitted("visitall", WLConfig()).embed_candidates(task, states, choices))


def test_a_goal_that_a_static_atom_is_part_of_or_that_is_said_twice(tmp_path):
    text = COURIER_PROBLEM.replace("(:goal (and", "(:goal (and (at q1 shop) (road depot shop)")
    task = Task(Problem("twice", COURIER, text))
    states = walk(task, 4)
    encoder = WLEncoder.fit(WLConfig(), [(task, states)])
    choices = [task.successors(state) for state in states]
    for each in (encoder, encoder.without_static()):
        rows = each.embed_candidates(task, states, choices)
        assert np.array_equal(rows, each.embed(task, states_of(choices)))
    expected = Oracle(encoder, tmp_path).embed(task, states_of(choices))
    assert np.array_equal(encoder.embed_candidates(task, states, choices), expected[:-1])
    once = Task(Problem("once", COURIER, text.replace("(and (at q1 shop)", "(and")))
    assert np.array_equal(encoder.embed_goal(task), encoder.embed_goal(once))


def test_no_states_and_no_candidates_give_no_rows():
    encoder = fitted("blocksworld", WLConfig())
    task = Task(SUITE.problems("blocksworld", "extrapolation")[0])
    assert encoder.embed_candidates(task, [], []).shape == (0, encoder.dimension)
    assert encoder.embed_candidates(task, [task.init], [[]]).shape == (0, encoder.dimension)


def two_steps(task):
    return [task.init, *(each.state for each in task.successors(task.init))]


@pytest.mark.parametrize("domain", sgp.load_suite("state-centric").domains)
@pytest.mark.parametrize("hash_", ["multiset", "set"])
def test_the_nodes_colours_counted_are_the_embedding(domain, hash_):
    suite = sgp.load_suite("state-centric")
    small, larger = Task(suite.problems(domain, "train")[1]), Task(suite.problems(domain, "interpolation")[-1])
    encoder = WLEncoder.fit(WLConfig(hash=hash_), [(small, two_steps(small))])
    for task in (small, larger):
        for state in two_steps(task):
            graph = coloured_graph(encoder.vocabulary, task, state)
            (row,) = encoder.embed(task, [state])
            counted = Counter(colour for colours in graph.colours for colour in colours if colour >= 0)
            assert counted == {colour: count for colour, count in enumerate(row.tolist()) if count}


def test_negated_goals_have_no_edges_and_say_what_they_are(courier):
    encoder = WLEncoder.fit(WLConfig(iterations=1), [(courier, [courier.init])])
    graph = coloured_graph(encoder.vocabulary, courier, courier.init)
    kinds = dict(zip(graph.nodes, graph.kinds, strict=True))
    assert kinds["(in q1 v1)"] == "not goal, open" or kinds["(in q1 v1)"] == "not goal, true"
    assert kinds["(at q1 shop)"] == "goal, open"
    assert kinds["v1"] == "object"
    negated = graph.nodes.index("(in q1 v1)")
    assert all(atom != negated for atom, _, _ in graph.edges)
    assert (graph.nodes.index("(at q1 shop)"), graph.nodes.index("shop"), 2) in graph.edges


def test_names_tell_what_a_colour_stands_for(two_blocks):
    encoder = WLEncoder.fit(WLConfig(), [(two_blocks, [two_blocks.init])])
    graph = coloured_graph(encoder.vocabulary, two_blocks, two_blocks.init)
    colour = graph.colours[1][graph.nodes.index("(on a b)")]
    assert graph.names[colour] == "on (goal, open) with [object at argument 1; object at argument 2]"
    later = graph.names[graph.colours[2][graph.nodes.index("(on a b)")]]
    assert later.startswith(f"colour {colour} with [colour ")


def counted(encoder, task, state):
    """Return a state's histogram in words; colours of several levels may have equal descriptions."""
    (row,) = encoder.embed(task, [state])
    columns = np.flatnonzero(row).tolist()
    said = encoder.in_words(task, columns)
    return sorted((words, int(row[column])) for words, column in zip(said, columns, strict=True))


def test_first_colours_count_objects_and_atoms(two_blocks):
    held = two_blocks.successors(two_blocks.init)[0].state  # a is held, b is on the table
    encoder = WLEncoder.fit(WLConfig(iterations=0), [(two_blocks, [two_blocks.init, held])])
    assert counted(encoder, two_blocks, two_blocks.init) == [
        ("atoms (clear x)", 2),
        ("atoms (handempty)", 1),
        ("atoms (on x y), an open goal", 1),
        ("atoms (ontable x)", 2),
        ("objects", 2),
    ]
    assert ("atoms (holding x)", 1) in counted(encoder, two_blocks, held)


def test_further_colours_tell_the_neighbourhood(two_blocks):
    held = two_blocks.successors(two_blocks.init)[0].state
    encoder = WLEncoder.fit(WLConfig(iterations=2), [(two_blocks, [held])])
    said = dict(counted(encoder, two_blocks, held))
    assert said["objects x with (on x ·), an open goal, (holding x)"] == 1  # a
    assert said["objects x with (on · x), an open goal, (clear x), (ontable x)"] == 1  # b
    around_b = "x with (on · x), an open goal, (clear x), (ontable x)"
    assert f"atoms (clear x); {around_b}" in said
    around_y = "y with (on · y), an open goal, (clear y), (ontable y)"
    assert f"atoms (on x y), an open goal; x with (on x ·), an open goal, (holding x); {around_y}" in said
    assert all(words for words in encoder.in_words(two_blocks, range(encoder.dimension)))


def test_pruned_vocabularies_have_words_for_what_is_left(three_blocks):
    pytest.importorskip("wlplan")
    states = [three_blocks.init, *(each.state for each in three_blocks.successors(three_blocks.init))]
    encoder = WLEncoder.fit(WLConfig(pruning="i-m"), [(three_blocks, states)])
    assert len(encoder.in_words(three_blocks, range(encoder.dimension))) == encoder.dimension


def test_two_equal_neighbours_do_not_hash_as_one_other_neighbour():
    """Hashes of neighbourhoods are sums, so the double of a summand must be no other summand."""
    summands = {int(neighbour_hash(label, colour)) for label in range(4) for colour in range(600)}
    assert len(summands) == 2400
    assert not {2 * each % 2**64 for each in summands} & summands
