from itertools import product

import pytest

import sgp
from sgp.errors import ConfigurationError
from sgp.planning.lookahead import Lookahead, successors_for
from sgp.planning.planner import Planner
from sgp.planning.rollout import Outcome
from sgp.planning.state_space import StateSpace
from sgp.planning.task import Task
from tests.conftest import COURIER, blocks_problem, pddl_problem
from tests.planning.test_planner import Indifferent

SUITE = sgp.load_suite("state-centric")
DOMAINS = ("blocksworld", "gripper", "logistics", "visitall")


def plans(candidates):
    return [" ".join(map(str, each.actions)) for each in candidates]


def forms_by(task, abstraction):
    """The function that returns the novelty forms of atoms."""
    types = {thing.name: "object" if abstraction == "base" else thing.types for thing in task.objects}
    goal = set() if abstraction == "goals" else {literal.atom for literal in task.goal}

    def forms(atoms):
        for atom in atoms:
            if abstraction == "none" or atom in goal or not atom.objects:
                yield atom
            else:
                for kept in range(len(atom.objects)):
                    yield atom.predicate, kept, tuple(
                        name if place == kept else types[name] for place, name in enumerate(atom.objects)
                    )  # fmt: skip

    return lambda atoms: set(forms(atoms))


def naive(task, state, abstraction="none"):
    """Oracle: IW(1) by its definition, with every successor generated."""
    by, found = forms_by(task, abstraction), []

    def forms(where):
        return by(task.atoms(where))

    seen, met, found_at = forms(state), {state}, {}
    queue = [(state, ())]
    for origin, path in queue:
        for actions, after, _ in task.successors(origin):
            new = not forms(after) <= seen
            seen |= forms(after)
            if after not in met and (new or not path or task.is_goal(after)):
                met.add(after)
                found.append((path + actions, after, found_at.get(origin)))
                found_at[after] = len(found) - 1
                if new:
                    queue.append((after, path + actions))
    return found


def listed(candidates):
    return [(each.actions, each.state, each.parent) for each in candidates]


MODES, ABSTRACTIONS = ["grounded", "lifted"], ["none", "types", "base", "goals"]


@pytest.mark.parametrize(("domain", "mode", "abstraction"), [*product(DOMAINS, MODES, ABSTRACTIONS)])
def test_candidates_are_those_of_the_definition(domain, mode, abstraction):
    for problem in SUITE.problems(domain, "validation")[:2] + SUITE.problems(domain, "train")[-2:]:
        task = Task(problem, mode)
        state = task.init
        for _ in range(3):
            found = Lookahead(abstraction)(task, state)
            assert listed(found) == naive(task, state, abstraction)
            state = found[len(found) // 2].state


def test_typed_domains_with_constants_and_negative_goals_too(courier):
    """In the second problem, a place where only a parcel was seen is novel for a van, unless all are of one type."""
    objects, roads = "v1 - van b1 - bike q1 - parcel shop mill yard - place", "(road shop mill) (road mill yard)"
    init = f"(at v1 depot) (at b1 depot) (at q1 shop) (road depot shop) {roads}"
    apart = Task(pddl_problem(COURIER, objects, init, "(at q1 yard)"))
    for task, abstraction in product((courier, apart), ("none", "types", "base")):
        assert listed(Lookahead(abstraction)(task, task.init)) == naive(task, task.init, abstraction)
    found = [plans(Lookahead(abstraction)(apart, apart.init)) for abstraction in ("types", "base")]
    assert ["(drive v1 depot shop) (drive v1 shop mill)" in each for each in found] == [True, False]


def test_a_layer_keeps_those_with_more_of_the_goal():
    """Three towers could grow; only one candidate per layer is expanded, the one with the goal atom."""
    on_table = " ".join(f"(ontable {name}) (clear {name})" for name in "abcd")
    task = Task(blocks_problem("a b c d", on_table, "(on d c)"))
    expanded = {each.parent for each in Lookahead(layer=1)(task, task.init) if each.parent is not None}
    whole = {each.parent for each in Lookahead()(task, task.init) if each.parent is not None}
    assert len(expanded) < len(whole)
    # In the first layer no goal atom is true: the tie is broken in favour of the first, (pick-up a).
    assert min(expanded) == 0
    text = blocks_problem("a b c d", on_table, "(holding d)")
    task = Task(text)
    found = Lookahead(layer=1)(task, task.init)
    assert {plans([found[parent]])[0] for parent in {each.parent for each in found} - {None}} >= {"(pick-up d)"}
    assert "(pick-up a)" not in {plans([found[each.parent]])[0] for each in found if each.parent is not None}


@pytest.mark.parametrize("mode", ["grounded", "lifted"])
@pytest.mark.parametrize("min_novel", [1, 8, 1000])
def test_the_search_ends_after_the_depth_with_enough_and_progress(mode, min_novel):
    """In the second problem, no state at depth 1 satisfies more goals."""
    blocks = blocks_problem("a b c", "(ontable a) (ontable b) (on c a) (clear b) (clear c)", "(on a b) (on b c)")
    tasks = [Task(problem, mode) for problem in (SUITE.problems("visitall", "validation")[0], blocks)]
    starts = [(task, state) for task in tasks for state in (task.init, *(s for _, s, _ in task.successors(task.init)))]
    for task, state in starts:
        whole, found = Lookahead()(task, state), Lookahead(min_novel=min_novel)(task, state)
        goals = [len(set(task.goal_atoms) & set(task.atoms(each.state))) for each in whole]
        better = [count > len(set(task.goal_atoms) & set(task.atoms(state))) for count in goals]
        last = max(len(each.actions) for each in whole)
        for depth in range(last, 0, -1):
            within = [place for place, each in enumerate(whole) if len(each.actions) <= depth]
            if len(within) >= min_novel and any(better[place] for place in within):
                last = depth
        assert plans(found) == plans([each for each in whole if len(each.actions) <= last])


def test_a_dead_end_has_no_candidates():
    stuck = Task(pddl_problem(COURIER, "v - van", "(at v depot)", "(closed depot)"))
    assert not Lookahead()(stuck, stuck.init)
    assert Planner(Indifferent(), Lookahead()).solve(stuck).outcome is Outcome.STUCK


PAINT = """(define (domain paint) (:requirements :strips :negative-preconditions :equality)
  (:predicates (raw ?x) (painted ?x) (dirty ?x))
  (:action paint :parameters (?x) :precondition (raw ?x) :effect (and (painted ?x) (dirty ?x) (not (raw ?x))))
  (:action wipe :parameters (?x) :precondition (dirty ?x) :effect (not (dirty ?x))))"""


def paint(goal, mode=None):
    return Task(pddl_problem(PAINT, "a b", "(raw a) (raw b)", f"(and {goal})"), mode)


@pytest.mark.parametrize(
    "goal",
    [
        "(painted a) (painted a)",
        "(painted a) (= a a)",
        "(painted a) (not (= a b))",
        "(painted a) (not (raw a))",
        "(painted a) (= a b)",
        "(painted a) (not (painted a))",
    ],
)
def test_candidates_know_whether_they_are_goals(goal):
    task = paint(goal)
    found = Lookahead()(task, task.init)
    assert found.goals.tolist() == [task.is_goal(each.state) for each in found]
    space = StateSpace.expand(task, 100)
    assert (space.distances < float("inf")).any() == any(task.is_goal(space.state(n)) for n in range(len(space)))


@pytest.mark.parametrize("mode", ["grounded", "lifted"])
def test_a_goal_is_a_candidate_though_no_atom_of_it_is_new(mode):
    task = paint("(painted a) (painted b)", mode)
    found = Lookahead()(task, task.init)
    assert listed(found) == naive(task, task.init)
    assert sum(task.is_goal(each.state) for each in found) == 1


@pytest.mark.parametrize("layer", [1, 2, 3])
def test_both_ways_to_search_keep_the_same_layers(layer):
    goals = ("(painted a) (not (dirty a)) (not (dirty b))", "(painted b) (not (raw a))")
    problems = [paint(goal).problem for goal in goals]
    for problem in problems + [SUITE.problems(domain, "extrapolation")[3] for domain in DOMAINS]:
        tasks = Task(problem, "grounded"), Task(problem, "lifted")
        grounded, lifted = (plans(Lookahead("types", layer=layer)(task, task.init)) for task in tasks)
        assert grounded == lifted


def test_the_number_of_candidates_is_limited_and_settings_are_checked(three_blocks):
    assert len(Lookahead(states=2)(three_blocks, three_blocks.init)) == 2
    assert successors_for("iw") == successors_for("iw", 0) == Lookahead()
    assert successors_for("iw", 1) == Lookahead(min_novel=1)
    for make, words in (
        (lambda: Lookahead("deep"), "abstraction is 'deep'; expected one of none, types, base"),
        (lambda: Lookahead(layer=0), "lookahead's layer is 0; expected at least 1"),
        (lambda: Lookahead(repetitions=-1), "lookahead's repetitions is -1; expected at least 0"),
        (lambda: successors_for("iw", -1), "min_novel is -1; expected at least 0"),
        (lambda: successors_for("jumps", 0), "candidates is 'jumps'; expected one of one-step, iw"),
    ):
        with pytest.raises(ConfigurationError, match=words):
            make()
