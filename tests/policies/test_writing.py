from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

import sgp
from sgp.encoders.tokens import BEGIN, END, Tokens, Vocabulary
from sgp.models.transformer import PlanTransformer, SequenceTransformer, TransformerShape
from sgp.planning.policy import Node, one_step
from sgp.policies.writing import DecoderInput, Prefix, Writer, WrittenActions

SUITE = sgp.load_suite("state-centric")
TOKENS = Tokens(Vocabulary(SUITE.domain_text("gripper"), names=30))
SHAPE = TransformerShape(2, 16, 2)


@pytest.fixture(scope="module")
def task():
    return sgp.Task(SUITE.problems("gripper", "train")[1])


@pytest.fixture(scope="module")
def plan():
    return sgp.load_training_data(SUITE, "gripper").train[1].actions


@dataclass(frozen=True)
class Script:
    """Predicts given tokens with high probability, then the end token."""

    row: tuple[int, ...]

    def refuses(self, tokens, task, state):
        return None

    def begin(self, tokens, inputs):
        return [Prefix(self._next(0), 0) for _ in inputs]

    def write(self, prefixes, rows):
        lengths = [prefix.length + len(row) for prefix, row in zip(prefixes, rows, strict=True)]
        return [Prefix(self._next(length), length) for length in lengths]

    def _next(self, place):
        logits = np.linspace(0, 1, len(TOKENS.vocabulary))
        logits[self.row[place] if place < len(self.row) else END] = 9.0
        return logits


def script(task, plan, end=True):
    naming = TOKENS.drawn_naming(task)
    return (*TOKENS.named(TOKENS.actions(task, plan), naming).tolist(), *([END] if end else []))


def solved(task, row, how):
    policy = WrittenActions(Script(tuple(row)), TOKENS, how)
    return sgp.Planner(policy, one_step, revisits=True).solve(task, sgp.Limit(actions=200))


@pytest.mark.parametrize("how", ["greedy", "applicable"])
def test_what_is_written_is_what_is_done_also_where_all_tokens_are_nearly_alike(task, plan, how):
    rollout = solved(task, script(task, plan), how)
    assert rollout.solved
    assert rollout.plan == plan
    assert [word for word, _ in rollout.steps[0].written] == [plan[0].name, *plan[0].objects]
    assert all(0.9 < probability < 1 for _, probability in rollout.steps[0].written)
    assert rollout.written == ()
    # Both take the first action in the order of the PDDL among those tied with the best token of all.
    policy = WrittenActions(Doubtful(script(task, plan)), TOKENS, how)
    assert sgp.Planner(policy, one_step, revisits=True).solve(task, sgp.Limit(actions=len(plan))).plan == plan


def test_failures_of_writing_are_reported_and_a_sequence_that_is_too_long_is_refused(task, plan):
    row = script(task, plan)
    first = next(place for place, each in enumerate(row[1:], start=1) if each in TOKENS.schemas)
    known = TOKENS.objects(task, TOKENS.drawn_naming(task))
    unknown = next(each for each in range(TOKENS.vocabulary.first_name, len(TOKENS.vocabulary)) if each not in known)
    for broken, words in (
        ((*row[:first], END), "the plan ends before the goal holds"),
        (row[:first] + row[:first], "inapplicable: ("),
        ((*row[:first], BEGIN), "ill-formed: the begin in the place of an action"),
        ((*row[: first - 1], row[0]), "in the place of an object of ("),
        ((*row[: first - 1], unknown), "ill-formed: name "),
    ):
        rollout = solved(task, broken, "greedy")
        assert (rollout.outcome, len(rollout.steps)) == (sgp.Outcome.REFUSED, int(broken[:first] == row[:first]))
        assert words in rollout.reason
        assert rollout.written, "the tokens of the decision at which it failed"
        assert all(word in {"the end", "the begin"} or word in rollout.reason for word, _ in rollout.written)
        assert (rollout.written[-1][0] == "the end") == words.startswith("the plan ends")
    back = script(task, (plan[0], replaced(task, plan[0])), end=False)
    rollout = solved(task, back * 100, "applicable")
    assert (rollout.reason, rollout.outcome) == ("the plan has more than 500 tokens", sgp.Outcome.REFUSED)
    writer = replace(network("sequence"), model=SequenceTransformer(len(TOKENS.vocabulary), 510, SHAPE))
    length = TOKENS.sequence_length(task, task.init)
    assert WrittenActions(writer, TOKENS, "greedy").refuses(task) == (
        f"state and goal have {length} tokens and a plan up to 500, and the model 510 positions; train with "
        f"positions={length + 500} or more"
    )


def replaced(task, pick):
    """Return the action that undoes a pick: the drop in the same place."""
    choice = [each.actions[0] for each in task.successors(task.apply(task.init, pick))]
    return next(each for each in choice if (each.name, each.objects) == ("drop", pick.objects))


@dataclass(frozen=True)
class Doubtful(Script):
    """Predicts its script slightly below an invalid token and slightly above all others."""

    def _next(self, place):
        logits = np.full(len(TOKENS.vocabulary), 9 - 1.4e-4)
        logits[self.row[place] if place < len(self.row) else END] = 9 - 0.5e-4
        logits[BEGIN] = 9.0
        return logits


def test_greedy_goes_on_behind_the_goal_and_takes_no_goal_state_that_was_not_written(task, plan):
    """A pick and a drop after the goal do no harm; picking the last ball up again does."""
    last = task.init
    for action in plan:
        last = task.apply(last, action)
    pick = next(each.actions[0] for each in task.successors(last) if each.actions[0].name == "pick")
    drop = pick._replace(name="drop")
    for more, words in (
        ((pick, drop), ""),
        ((pick,), "the goal held, and no longer does where the plan ends"),
        ((drop,), "the goal held, then: inapplicable: (drop"),
    ):
        rollout = solved(task, script(task, (*plan, *more)), "greedy")
        assert rollout.solved == (not words)
        assert words in rollout.reason
        if words.startswith("the goal held, then"):
            said = [word for word, _ in rollout.written]
            assert said == [each for action in (plan[-1], *more) for each in (action.name, *action.objects)]
        assert solved(task, script(task, (*plan, *more)), "applicable").solved
    # In the state before the last action the goal is one action away, but another action is predicted.
    other = script(task, (*plan[:-1], plan[-2]), end=False)
    rollout = solved(task, other, "greedy")
    assert not rollout.solved
    assert len(rollout.steps) == len(plan) - 1


def network(kind, seed=4):
    torch.manual_seed(seed)
    vocabulary = TOKENS.vocabulary
    if kind == "sequence":
        return Writer(SequenceTransformer(len(vocabulary), 1024, SHAPE).eval(), "cpu")
    return Writer(PlanTransformer(len(vocabulary), vocabulary.arity, SHAPE).eval(), "cpu")


@pytest.mark.parametrize("kind", ["plans", "sequence"])
def test_twenty_actions_are_written_as_if_all_was_read_again_and_continuations_are_kept_apart(kind, task):
    """Against one pass over the whole sequence without cached keys and values."""
    writer, prefixes, row = network(kind), [], [BEGIN]

    class Watched(WrittenActions):
        def _write(self, hypotheses):
            super()._write(hypotheses)
            prefixes.extend(hypothesis.prefix for hypothesis in hypotheses)
            row.extend(token for hypothesis in hypotheses for token in hypothesis.row)

    planner = sgp.Planner(Watched(writer, TOKENS, "applicable"), one_step, revisits=True)
    rollout = planner.solve(task, sgp.Limit(actions=20))
    assert len(rollout.steps) == 20
    naming = TOKENS.drawn_naming(task)
    if kind == "plans":
        atoms = torch.as_tensor(TOKENS.named(TOKENS.state(task, task.init), naming))[None]
        given = atoms, torch.ones(atoms.shape[:2], dtype=torch.bool)
    else:
        given, row = (), [*TOKENS.sequence(task, task.init, naming).tolist(), *row[1:]]
    whole, _ = writer.model(*given, torch.tensor([row]), torch.ones(1, len(row), dtype=torch.bool))
    assert np.abs(prefixes[-1].logits - whole[0, -1].detach().numpy()).max() < 1e-4
    # Two continuations of one prefix, and two of the first of these, against each of them alone.
    writer = network(kind)
    inputs = DecoderInput(task, task.init, TOKENS.drawn_naming(task))
    token = min(TOKENS.schemas)
    (begun,) = writer.begin(TOKENS, [inputs])
    first, second = writer.write([begun, begun], [[token, 20], [token + 1, 21, 22]])
    (third,) = writer.write([first], [[23]])
    (fourth,) = writer.write([first], [[24]])
    for prefix, row in ((third, [token, 20, 23]), (fourth, [token, 20, 24]), (second, [token + 1, 21, 22])):
        (fresh,) = writer.begin(TOKENS, [inputs])
        (again,) = writer.write([fresh], [row])
        assert np.allclose(prefix.logits, again.logits, atol=1e-5)
        (onward,), (same,) = (writer.write([each], [[25]]) for each in (prefix, again))
        assert np.allclose(onward.logits, same.logits, atol=1e-5)


@pytest.mark.parametrize("kind", ["plans", "sequence"])
def test_ranked_actions_cost_what_their_tokens_are_worth_one_by_one(kind, task):
    writer = network(kind)
    policy = WrittenActions(writer, TOKENS, "ranked")
    choice = one_step(task, task.init)
    (ranking,) = policy.rank([Node(task, task.init)], [choice])
    naming = TOKENS.drawn_naming(task)
    scores = []
    for each in choice:
        (prefix,), score = writer.begin(TOKENS, [DecoderInput(task, task.init, naming)]), 0.0
        for token in TOKENS.named(TOKENS.actions(task, each.actions), naming).tolist():
            score += prefix.logits[token] - np.logaddexp.reduce(prefix.logits)
            (prefix,) = writer.write([prefix], [[token]])
        scores.append(score)
    expected = np.logaddexp.reduce(scores) - np.array(scores)
    assert np.allclose(ranking.costs, expected, atol=1e-4)
    assert np.exp(-ranking.costs).sum() == pytest.approx(1)


@pytest.mark.parametrize("kind", ["plans", "sequence"])
def test_regrounding_counts_tokens_and_keeps_nothing_else(kind):
    """An untrained network moves to and fro up to the token limit; a node stores only the number of tokens."""
    memories = []

    class Watched(WrittenActions):
        def rank(self, nodes, choices):
            memories.extend(node.memory for node in nodes)
            return super().rank(nodes, choices)

    task = sgp.Task(SUITE.problems("gripper", "validation")[0])
    planner = sgp.Planner(Watched(network(kind), TOKENS, "regrounding"), one_step, revisits=True)
    rollout = planner.solve(task, sgp.Limit(actions=1000))
    assert rollout.reason == "the plan has more than 500 tokens"
    counts = np.cumsum([0, *(len(step.written) for step in rollout.steps)]).tolist()
    assert counts[-1] == 500 or counts[-1] - len(rollout.written) < 500 <= counts[-1] + len(rollout.written)
    assert [each.prefix.length for each in memories[1:]] == counts[1 : len(memories)]
    assert all(each.prefix.state is None for each in memories[1:])


@pytest.mark.parametrize("kind", ["plans", "sequence"])
@pytest.mark.parametrize("how", ["greedy", "applicable", "regrounding", "ranked"])
def test_problems_that_are_solved_together_are_solved_as_alone(kind, how):
    """They have different numbers of atoms, and end at different times."""
    tasks = [sgp.Task(problem) for problem in SUITE.problems("gripper", "train")[:6]]
    planner = sgp.Planner(WrittenActions(network(kind), TOKENS, how), one_step, revisits=True)
    together = planner.solve_many(tasks, sgp.Limit(actions=12))
    for task, rollout in zip(tasks, together, strict=True):
        alone = planner.solve(task, sgp.Limit(actions=12))
        assert (alone.plan, alone.outcome, alone.reason) == (rollout.plan, rollout.outcome, rollout.reason)
        for one, other in zip(alone.steps, rollout.steps, strict=True):
            assert np.allclose(one.costs, other.costs, rtol=1e-4)


@pytest.mark.parametrize("how", ["regrounding", "ranked"])
def test_a_state_that_is_met_again_is_not_read_again_and_the_same_comes_of_it(how, monkeypatch):
    policy = WrittenActions(network("plans", seed=1), TOKENS, how)
    read = []

    def reading(self, tokens, inputs, begin=Writer.begin):
        return read.extend(inputs) or begin(self, tokens, inputs)

    monkeypatch.setattr(Writer, "begin", reading)

    def rollouts():
        read.clear()
        tasks = [sgp.Task(problem) for problem in SUITE.problems("gripper", "interpolation")]
        return sgp.Planner(policy, one_step, revisits=True).solve_many(tasks, sgp.Limit(actions=180)), len(read)

    found, count = rollouts()
    met = [{step.state for step in rollout.steps} for rollout in found]
    monkeypatch.setattr(WrittenActions, "_known", lambda self, node, choice: None)
    anew, every = rollouts()
    assert [rollout.reason for rollout in anew] == [rollout.reason for rollout in found]
    assert every == sum(len(rollout.steps) + (rollout.outcome is sgp.Outcome.REFUSED) for rollout in anew)
    refused = sum(rollout.outcome is sgp.Outcome.REFUSED for rollout in found)
    assert count <= sum(map(len, met)) + refused < every / 3
    for one, other in zip(found, anew, strict=True):
        assert (one.plan, one.outcome) == (other.plan, other.outcome)
        for step, again in zip(one.steps, other.steps, strict=True):
            assert np.allclose(step.costs, again.costs, atol=1e-4)
            assert [word for word, _ in step.written] == [word for word, _ in again.written]


@pytest.mark.parametrize("how", ["regrounding", "ranked"])
def test_a_forced_first_move_is_not_what_is_remembered_of_its_state(how):
    """When the rollout returns to its start, all candidates are ranked, not only the action override."""
    planner = sgp.Planner(WrittenActions(network("plans", seed=1), TOKENS, how), one_step, revisits=True)
    task = sgp.Task(SUITE.problems("gripper", "interpolation")[0])
    came_back = 0
    for successor in task.successors(task.init):
        rollout = planner.resume(task, [successor.actions], sgp.Limit(actions=60))
        again = [step for step in rollout.steps[1:] if step.state == task.init]
        came_back += bool(again)
        assert all(len(step.candidates) == len(task.successors(task.init)) for step in again)
    assert came_back
