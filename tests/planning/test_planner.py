import math
import re
import time
from functools import partial, reduce
from itertools import count

import numpy as np
import pytest

import sgp
from sgp.domains import all_domains
from sgp.errors import ConfigurationError
from sgp.planning import planner as planner_module
from sgp.planning.clock import Clock, with_limit_checks
from sgp.planning.lookahead import successors_for
from sgp.planning.pddl import Problem, parse_plan
from sgp.planning.planner import Limit, Planner, horizon
from sgp.planning.policy import REPLACE, Ranking, Rules, one_of_each, one_step
from sgp.planning.rollout import Mark, Outcome
from sgp.planning.task import Successor, Task, replay
from tests.conftest import blocks_problem


class Costs:
    """A policy from a function of (task, action, successor state) to a cost, and one to a key."""

    def __init__(self, cost, key=None, additive=False, refusal=None, reason="", **rules):
        self.cost, self.key, self.refusal, self.reason = cost, key, refusal, reason
        self.rules = Rules(additive, **rules)
        self.calls = []

    def refuses(self, task):
        return self.refusal

    def rank(self, nodes, choices):
        self.calls.append(list(nodes))
        assert all(choices), "a policy is never asked about no candidates"
        found = []
        for node, choice in zip(nodes, choices, strict=True):
            costs = np.array([self.cost(node.task, str(each.actions[-1]), each.state) for each in choice], float)
            keys = None if self.key is None else [self.key(node.task, each.state) for each in choice]
            found.append(Ranking(costs, keys, reason=self.reason))
        return found


class Indifferent:
    rules = REPLACE

    def refuses(self, task):
        return None

    def rank(self, nodes, choices):
        return [Ranking(np.zeros(len(choice))) for choice in choices]


class Last(Indifferent):
    """Prefers the last candidate."""

    def rank(self, nodes, choices):
        return [Ranking(-np.arange(len(choice), dtype=float)) for choice in choices]


def by_name(**costs):
    """Costs by action name with '_' for '-', 9 for the others."""
    return Costs(lambda task, action, state: costs.get(action.strip("()").split()[0].replace("-", "_"), 9.0))


def atoms(task, state):
    return frozenset(map(str, task.atoms(state)))


def said(actions):
    return " ".join(map(str, actions))


def marks(step):
    return {str(each.actions[0]): Mark(int(mark)) for each, mark in zip(step.candidates, step.marks, strict=True)}


def test_a_policy_may_refuse_a_problem_unless_its_goal_holds_at_the_start(two_blocks):
    solved = Task(blocks_problem("a b", "(ontable a) (ontable b) (clear a) (clear b)", "(clear a)"))
    policy = Costs(lambda *_: 0.0, refusal="more than 3 objects")
    for task, outcome, reason in ((solved, Outcome.SOLVED, ""), (two_blocks, Outcome.REFUSED, "more than 3 objects")):
        rollout = Planner(policy).solve(task)
        assert (rollout.outcome, rollout.reason, rollout.plan, rollout.steps) == (outcome, reason, (), ())
    assert policy.calls == []


def test_the_first_goal_state_generated_wins_whatever_it_costs(two_blocks):
    rollout = Planner(by_name(pick_up=0.0, stack=5.0, put_down=1.0)).solve(two_blocks)
    assert said(rollout.plan) == "(pick-up a) (stack a b)"
    assert marks(rollout.steps[-1])["(stack a b)"] == Mark.CHOSEN | Mark.GOAL | Mark.TIED


def test_visited_states_are_masked_the_initial_one_among_them(two_blocks):
    planner = Planner(Costs(lambda task, action, state: {"(pick-up b)": 0.0}.get(action, 1.0)))
    second = marks(planner.solve(two_blocks).steps[1])
    assert second["(put-down b)"] == Mark.VISITED
    assert Mark.CHOSEN in second["(stack b a)"]


def test_a_state_without_unvisited_successors_is_stuck(courier):
    task = Task(blocks_problem("a", "(ontable a) (clear a)", "(on a a)"))
    # To the shop without the parcel: the van cannot return and the parcel cannot be loaded.
    for policy, stuck, plan in (
        (by_name(pick_up=0.0), task, "(pick-up a)"),
        (by_name(drive=0.0, load=1.0), courier, "(drive v1 depot shop)"),
    ):
        rollout = Planner(policy).solve(stuck)
        assert (rollout.outcome, said(rollout.plan)) == (Outcome.STUCK, plan)


def test_a_dead_beam_node_does_not_end_the_search(courier):
    rollout = Planner(by_name(drive=0.0, load=1.0), width=2).solve(courier)
    assert rollout.outcome is Outcome.SOLVED
    assert said(rollout.plan) == "(load q1 v1 depot) (drive v1 depot shop) (unload q1 v1 shop)"


def test_a_limit_on_seconds_or_decisions_leaves_the_actions_open(three_blocks):
    assert [horizon(size) for size in (1, 10, 11, 121)] == [100, 100, 110, 1210]
    limits = {Limit(): 100, Limit(memory=1): 100, Limit(7, seconds=1): 7, Limit(7, decisions=1): 7}
    assert {limit: limit.horizon(3) for limit in limits} == limits
    assert Limit(seconds=1).horizon(3) == Limit(decisions=1).horizon(3) == math.inf
    anywhere = Planner(Costs(lambda *_: 1.0), revisits=True)
    assert len(anywhere.solve(three_blocks).plan) == 100
    assert len(anywhere.solve(three_blocks, Limit(decisions=130)).plan) == 130
    assert len(anywhere.solve(three_blocks, Limit(seconds=60, actions=50)).plan) == 50


def test_jumps_beyond_the_horizon_are_not_taken(two_blocks):
    assert Planner(by_name(), successors=jumps).solve(two_blocks, Limit(actions=2)).solved
    rollout = Planner(by_name(), successors=jumps).solve(two_blocks, Limit(actions=1))
    assert (rollout.outcome, rollout.plan) == (Outcome.HORIZON, ())


def test_a_dead_end_after_a_jump_beyond_the_horizon_is_reported_as_the_limit(courier):
    delivery = parse_plan("(load q1 v1 depot)\n(drive v1 depot shop)\n(unload q1 v1 shop)")
    end = reduce(courier.apply, delivery, courier.init)

    def with_delivery(task, state):
        return [*one_step(task, state), *([Successor(tuple(delivery), end)] if state == task.init else [])]

    driving = Planner(by_name(drive=0.0, load=1.0), with_delivery)
    assert driving.solve(courier, Limit(actions=3)).solved
    rollout = driving.solve(courier, Limit(actions=2))
    assert (rollout.outcome, said(rollout.plan)) == (Outcome.HORIZON, "(drive v1 depot shop)")
    assert "2 actions" in rollout.reason


def test_rejected_candidates_are_never_taken_and_all_rejected_is_refused(two_blocks):
    for reason, words in (("", "rejects every"), ("the plan has ended", "^the plan has ended$")):
        for revisits in (False, True):
            rollout = Planner(Costs(lambda *_: np.inf, reason=reason), revisits=revisits).solve(two_blocks)
            assert rollout.outcome is Outcome.REFUSED
            assert re.search(words, rollout.reason)
    dear = {"(stack a b)": np.inf, "(pick-up a)": 0.0}
    picky = Planner(Costs(lambda task, action, state: dear.get(action, 1.0))).solve(two_blocks)
    assert picky.outcome is Outcome.REFUSED, "even if the rejected candidate is a goal"
    assert said(picky.plan) == "(pick-up a)"
    unused = Costs(lambda *_: 1.0, reason="not every candidate is rejected")
    assert Planner(unused).solve(two_blocks, Limit(actions=2)).reason == ""


def test_a_faithful_policy_takes_no_goal_state_that_it_did_not_choose(two_blocks):
    def generated(task, action, state):
        return {"(pick-up a)": 0.0, "(put-down a)": 0.0}.get(action, 5.0)

    # Holding a, the goal is one action away; the policy's choice puts a down again.
    faithful = Planner(Costs(generated, only_chosen=True), revisits=True).solve(two_blocks, Limit(actions=4))
    assert (faithful.outcome, said(faithful.plan[:2])) == (Outcome.HORIZON, "(pick-up a) (put-down a)")
    assert faithful.plan[2:] == faithful.plan[:2]
    assert not any(Mark.GOAL in mark for step in faithful.steps for mark in marks(step).values())
    assert Planner(Costs(generated)).solve(two_blocks).plan != faithful.plan[:2]
    right = Costs(lambda task, action, state: float(action not in ("(pick-up a)", "(stack a b)")), only_chosen=True)
    rollout = Planner(right).solve(two_blocks)
    assert said(rollout.plan) == "(pick-up a) (stack a b)"
    assert marks(rollout.steps[-1])["(stack a b)"] & Mark.GOAL


def test_decisions_are_limited_apart_from_actions(three_blocks):
    anywhere = Costs(lambda *_: 1.0)
    for most in (1, 3):
        rollout = Planner(anywhere, revisits=True).solve(three_blocks, Limit(decisions=most))
        assert (rollout.outcome, len(rollout.steps)) == (Outcome.HORIZON, most)
        assert rollout.reason == f"the limit of {most} decisions is reached"
    assert "2 actions" in Planner(anywhere, revisits=True).solve(three_blocks, Limit(actions=2)).reason

    rollout = Planner(anywhere, jumps, revisits=True).solve(three_blocks, Limit(decisions=2))
    assert (len(rollout.steps), len(rollout.plan)) == (2, 4)
    forced = [each.successor.actions for each in rollout.steps]
    rollout = Planner(anywhere).resume(three_blocks, forced, Limit(decisions=2))
    assert (rollout.outcome, len(rollout.steps)) == (Outcome.HORIZON, 2)


def test_ties_within_the_tolerance_go_to_the_first_in_the_pddl(three_blocks):
    for cheaper, gain, tie, chosen, tied in (
        ("b", 5e-7, 1e-6, "(pick-up b)", True),
        ("c", 5e-7, 1e-6, "(pick-up b)", True),  # a tie is not won by the last bits
        ("c", 5e-6, 1e-6, "(unstack c a)", False),
        ("c", 0.01, 0.05, "(pick-up b)", True),
    ):
        policy = Costs(lambda task, action, state, of=cheaper, by=gain: 1.0 - by * (f" {of}" in action), tie=tie)
        step = Planner(policy).solve(three_blocks, Limit(actions=1)).steps[0]
        assert list(marks(step)) == ["(pick-up b)", "(unstack c a)"]
        assert said(step.successor.actions) == chosen
        assert (Mark.TIED in marks(step)["(pick-up b)"], Mark.TIED in marks(step)["(unstack c a)"]) == (tied, True)
    with pytest.raises(ConfigurationError, match="tolerance of ties is 1; expected a number from 0 and below 1"):
        Rules(additive=True, tie=1)


def test_candidates_of_equal_key_are_collapsed_to_the_first(three_blocks):
    every = Costs(lambda *_: 1.0, key=lambda task, state: "same")
    step = Planner(every, width=2).solve(three_blocks, Limit(actions=1)).steps[0]
    beam = Mark.CHOSEN | Mark.BEAM | Mark.TIED
    assert marks(step) == {"(pick-up b)": beam, "(unstack c a)": Mark.COLLAPSED | Mark.TIED}
    apart = Costs(lambda *_: 1.0, key=atoms)
    step = Planner(apart, width=2).solve(three_blocks, Limit(actions=1)).steps[0]
    assert Mark.BEAM in marks(step)["(unstack c a)"]


def test_nodes_dearer_than_the_margin_leave_the_beam(three_blocks):
    apart = Costs(lambda task, action, state: 3.0 if " c" in action else 1.0, key=atoms)
    for margin, beam in ((1.9, False), (2.0, True), (math.inf, True)):
        step = Planner(apart, width=2, margin=margin).solve(three_blocks, Limit(actions=1)).steps[0]
        assert (Mark.BEAM in marks(step)["(unstack c a)"]) == beam
    tied = Costs(lambda *_: 1.0, key=atoms)
    step = Planner(tied, width=2, margin=0.0).solve(three_blocks, Limit(actions=1)).steps[0]
    assert Mark.BEAM in marks(step)["(unstack c a)"], "tied candidates are within every margin"


def test_the_beam_holds_no_state_twice():
    task = Task(blocks_problem("a b c d", " ".join(f"(ontable {x}) (clear {x})" for x in "abcd"), "(on a b) (on b c)"))
    policy = Costs(lambda *_: 1.0)
    Planner(policy, width=5).solve(task, Limit(actions=6))
    states = [node.state for nodes in policy.calls for node in nodes]
    assert max(map(len, policy.calls)) > 1
    assert len(set(states)) == len(states), "one visited set serves the whole beam over all steps"


def test_a_path_costs_what_its_steps_cost_together(three_blocks):
    def cost(task, action, state):
        return {"(unstack c a)": 1.0, "(put-down c)": 10.0, "(pick-up b)": 100.0}.get(action, 1000.0)

    for additive, costs in ((True, [0, 1, 11, 111]), (False, [0, 1, 10, 100])):
        policy = Costs(cost, additive=additive)
        Planner(policy).solve(three_blocks, Limit(actions=4))
        assert [node.cost for (node,) in policy.calls] == costs


@pytest.mark.parametrize("additive", [True, False])
def test_every_step_knows_the_beam_and_the_place_of_its_path_in_it(three_blocks, additive):
    policy = by_name(pick_up=0.2, stack=0.4, unstack=0.2, put_down=0.3)
    policy.rules = Rules(additive)
    rollout = Planner(policy, width=3).solve(three_blocks, Limit(actions=5))
    before, widths, cost = [("start", 0.0)], set(), 0.0
    for step in rollout.steps:
        lane = step.beam[step.lane]
        cost = step.costs[step.chosen] + (cost if additive else 0.0)
        assert before[lane.before][0] in ("start", "path")
        assert (lane.actions, lane.cost) == (step.successor.actions, pytest.approx(cost))
        assert [each.cost for each in step.beam] == sorted(each.cost for each in step.beam)
        assert all(each.cost >= (before[each.before][1] if additive else 0.0) for each in step.beam)
        widths.add(len(step.beam))
        before = [("path" if place == step.lane else "aside", each.cost) for place, each in enumerate(step.beam)]
    assert max(widths) == 3
    assert all(not step.beam for step in Planner(policy).solve(three_blocks, Limit(actions=5)).steps)


def test_errors_of_a_policy_are_raised_and_are_no_outcome(two_blocks):
    for cost, error, words in (
        (lambda *_: np.nan, ConfigurationError, "no number"),
        (lambda *_: -np.inf, ConfigurationError, "no number"),
        (lambda *_: 1 / 0, ZeroDivisionError, "division"),
    ):
        with pytest.raises(error, match=words):
            Planner(Costs(cost)).solve(two_blocks)


def test_seconds_and_memory_are_outcomes(two_blocks, three_blocks, monkeypatch):
    endless = Costs(lambda task, action, state: 1.0)
    assert Planner(endless).solve(three_blocks, Limit(seconds=1e-9)).outcome is Outcome.TIMEOUT
    monkeypatch.setattr(planner_module, "Clock", partial(Clock, held=lambda: 2 * 10**9))
    slow = Costs(lambda task, action, state: time.sleep(0.2) or 1.0)
    outcomes = {each.outcome for each in Planner(slow).solve_many([two_blocks, three_blocks], Limit(memory=10**9))}
    assert outcomes == {Outcome.MEMORY}
    assert Planner(slow).solve(two_blocks, Limit(memory=3 * 10**9)).outcome is not Outcome.MEMORY


@pytest.mark.slow
def test_a_decision_is_ended_that_takes_too_long(two_blocks, three_blocks):
    """The problem with most of the candidates times out; the others continue."""

    class Endless(Costs):
        def rank(self, nodes, choices):
            for _ in with_limit_checks(count()) if any(node.task is three_blocks for node in nodes) else ():
                pass
            return super().rank(nodes, choices)

    def doubled(task, state):
        return list(task.successors(state)) * (9 if task is three_blocks else 1)

    planner = Planner(Endless(lambda *_: 1.0), doubled)
    other, ended = planner.solve_many([two_blocks, three_blocks], Limit(seconds=2))
    assert (ended.outcome, ended.steps) == (Outcome.TIMEOUT, ())
    assert other.outcome is not Outcome.TIMEOUT
    assert other.steps


def test_looking_ahead_is_ended_and_the_steps_made_so_far_remain(three_blocks):
    asked = []

    def endless(task, state):
        asked.append(state)
        if len(asked) == 2:
            for _ in with_limit_checks(count()):
                pass
        return task.successors(state)

    rollout = Planner(by_name(), endless).solve(three_blocks, Limit(seconds=0.5))
    assert (rollout.outcome, len(rollout.steps)) == (Outcome.TIMEOUT, 1)


def test_seconds_of_the_processor_do_not_pass_while_others_work(two_blocks):
    def waiting(task, state):
        time.sleep(0.3)  # waits, as if other processes used the CPU
        return task.successors(state)

    def busy(task, state):
        for _ in with_limit_checks(count()):
            pass

    with pytest.raises(ConfigurationError, match="the limit counts CPU time but gives no seconds; expected seconds"):
        Limit(processor=True)
    right = by_name(pick_up=0.0, stack=0.0)
    assert Planner(right, waiting).solve(two_blocks, Limit(seconds=0.2)).outcome is Outcome.TIMEOUT
    found = Planner(right, waiting).solve(two_blocks, Limit(seconds=0.2, processor=True))
    assert found.solved
    assert found.seconds < 0.2
    assert Planner(right, busy).solve(two_blocks, Limit(seconds=0.1, processor=True)).outcome is Outcome.TIMEOUT


def test_a_want_of_memory_ends_one_problem_and_the_next_are_solved(two_blocks, three_blocks):
    def successors(task, state):
        if task is three_blocks:
            raise MemoryError
        return task.successors(state)

    ended, other = Planner(by_name(unstack=0.0), successors).solve_many([three_blocks, two_blocks])
    assert ended.outcome is Outcome.MEMORY
    assert other.outcome is not Outcome.MEMORY


def test_reading_is_part_of_the_seconds(three_blocks, monkeypatch):
    monkeypatch.setattr(three_blocks, "seconds", 10.0)
    rollout = Planner(by_name()).solve(three_blocks, Limit(seconds=9.0))
    assert (rollout.outcome, rollout.steps) == (Outcome.TIMEOUT, ())


def test_what_a_rollout_keeps_changes_no_choice(three_blocks, monkeypatch):
    anywhere = Costs(lambda task, action, state: float(len(atoms(task, state))), additive=True)
    for width in (1, 3):
        whole, small, plan = (
            Planner(anywhere, width=width, keep=keep).solve(three_blocks, Limit(actions=8))
            for keep in ("steps", "auto", "plan")
        )
        assert whole == small
        assert (plan.plan, plan.outcome, plan.end) == (whole.plan, whole.outcome, whole.end)
        for step, alone in zip(whole.steps, plan.steps, strict=True):
            assert len(step.candidates) > 1
            assert alone.state == step.state
            assert [each.actions for each in alone.candidates] == [step.successor.actions]
            assert (alone.costs[0], alone.marks[0]) == (step.costs[step.chosen], step.marks[step.chosen])
        monkeypatch.setattr(planner_module, "MOST_SAVED", sum(len(step.candidates) for step in whole.steps) - 1)
        assert Planner(anywhere, width=width).solve(three_blocks, Limit(actions=8)) == plan
        monkeypatch.undo()


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"width": 0}, "width is 0; expected at least 1"),
        ({"batch": 0}, "batch is 0; expected at least 1"),
        ({"margin": -1}, "planner's margin is -1; expected at least 0"),
        ({"keep": "all"}, "keep is 'all'; expected one of auto, steps, plan"),
    ],
)
def test_planners_check_themselves(setting, words):
    with pytest.raises(ConfigurationError, match=words):
        Planner(by_name(), **setting)


def test_lockstep_calls_the_policy_on_all_problems_and_changes_no_rollout():
    problems = sgp.load_suite("state-centric").problems("blocksworld", "train")

    def cost(task, action, state):
        return float(len(atoms(task, state) - set(map(str, task.goal_atoms))))

    together = Costs(cost, additive=True)
    batched = Planner(together, width=3, batch=4).solve_many(map(Task, problems), Limit(actions=15))
    single = Planner(Costs(cost, additive=True), width=3)
    alone = [single.solve(Task(problem), Limit(actions=15)) for problem in problems]
    assert batched == alone
    assert max(map(len, together.calls)) > 3, "several problems stood in one call"
    assert [rollout.task.name for rollout in batched] == [problem.name for problem in problems]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 0, -1])
@pytest.mark.parametrize("name", ["actions", "seconds", "memory", "decisions"])
def test_a_limit_is_a_positive_number(name, value):
    with pytest.raises(ConfigurationError, match=f"limit on {name} is .*; expected a positive number or none"):
        Limit(**{name: value})


class PairRanker(Costs):
    """Embeds the pair of state and candidate: the number of goal atoms that the jump gains for each action."""

    def __init__(self):
        super().__init__(None)

    def rank(self, nodes, choices):
        pairs = zip(nodes, choices, strict=True)
        gains = ([gain(node, each) / len(each.actions) for each in choice] for node, choice in pairs)
        return [Ranking(-np.array(each)) for each in gains]


def gain(node, successor):
    before, after = (set(node.task.atoms(each)) for each in (node.state, successor.state))
    return len((after - before) & {*node.task.goal_atoms}) - len((before - after) & {*node.task.goal_atoms})


class TokenPrefix(Costs):
    """Generates a fixed plan action by action; the prefix is the memory, every other action is rejected."""

    def __init__(self, plan):
        super().__init__(None)
        self.plan = plan

    def rank(self, nodes, choices):
        rankings = []
        for node, choice in zip(nodes, choices, strict=True):
            prefix = node.memory or ()
            costs = np.array([0.0 if each.actions == (self.plan[len(prefix)],) else np.inf for each in choice])
            rankings.append(Ranking(costs, memories=[prefix + each.actions for each in choice]))
        return rankings


def two_steps(task, state):
    """All successors and their successors: a lookahead tree of depth two with parents."""
    found = list(task.successors(state))
    for parent, child in enumerate(tuple(found)):
        for grandchild in task.successors(child.state):
            found.append(Successor(child.actions + grandchild.actions, grandchild.state, parent))
    return found


def jumps(task, state):
    return [each._replace(parent=None) for each in two_steps(task, state) if each.parent is not None]


def test_a_token_prefix_is_carried_to_the_chosen_node(three_blocks):
    plan = parse_plan("(unstack c a)\n(put-down c)\n(pick-up b)\n(stack b c)\n(pick-up a)\n(stack a b)")
    rollout = Planner(TokenPrefix(plan)).solve(three_blocks)
    assert rollout.solved
    assert rollout.plan == plan


def test_lookahead_jumps_are_unrolled_into_the_plan(three_blocks):
    rollout = Planner(PairRanker(), successors=two_steps, width=8).solve(three_blocks)
    assert rollout.solved
    assert three_blocks.is_goal(rollout.end)
    assert any(len(step.successor.actions) == 2 for step in rollout.steps)
    assert len(rollout.steps) < len(rollout.plan)
    for step in rollout.steps:
        parent = step.successor.parent
        assert parent is None or step.candidates[parent].actions == step.successor.actions[:1]


class Drawn(Indifferent):
    """Costs are drawn anew for each state."""

    def __init__(self):
        self.decisions = 0

    def rank(self, nodes, choices):
        self.decisions += len(nodes)
        lengths = [(node.length, len(choice)) for node, choice in zip(nodes, choices, strict=True)]
        return [Ranking(np.random.default_rng(pair).uniform(0, 3, pair[1])) for pair in lengths]


@pytest.mark.parametrize("candidates", [one_step, one_of_each, successors_for("iw", 0, True)])
@pytest.mark.parametrize("domain", all_domains(), ids=lambda domain: domain.name)
def test_independent_candidates_are_taken_together_in_an_applicable_plan(domain, candidates):
    size = next(domain.scaled.above(14))
    problem = Problem("drawn", domain.pddl, domain.generate_scaled(np.random.default_rng(4), size))
    policy = Drawn()
    rollout = Planner(policy, candidates, parallel=2.5).solve(Task(problem), Limit(60))
    task = Task(problem)
    states = replay(task, rollout.plan)
    assert rollout.solved == task.is_goal(states[-1])
    together, before = 0, set()
    for step in rollout.steps:
        start, states = states[0], states[len(step.successor.actions) :]
        changed = atoms(task, start) ^ atoms(task, states[0])
        assert atoms(rollout.task, step.successor.state) == atoms(task, states[0])
        if "because" in step.note:
            assert len(step.candidates) == 1
            together += 1
        else:
            before = set()
        assert not before & changed
        before |= changed
    assert rollout.decisions == policy.decisions
    assert rollout.decisions - (len(rollout.steps) - together) in (0, 1), "the last has no step if stuck"


def test_two_towers_are_built_in_one_decision_but_two_blocks_are_not_picked_up():
    table = " ".join(f"(ontable {block}) (clear {block})" for block in "abcd")
    problem = blocks_problem("a b c d", table, "(on a b) (on c d)")

    def tried(candidates, parallel):
        goal = {"(on a b)", "(on c d)"}
        policy = Costs(lambda task, action, state: -float(len(goal & atoms(task, state))))
        rollout = Planner(policy, candidates, parallel=parallel).solve(Task(problem), Limit(8))
        return rollout.outcome, len(rollout.steps), len(policy.calls), len(rollout.plan)

    jumps = successors_for("iw", 0)
    assert tried(jumps, 0.0) == (Outcome.SOLVED, 2, 2, 4)
    assert tried(jumps, 0.5) == (Outcome.SOLVED, 2, 1, 4)
    picked = Planner(Indifferent(), one_step, parallel=0.5).solve(Task(problem), Limit(1))
    assert len(picked.steps) == 1, "the hand is empty no more"
