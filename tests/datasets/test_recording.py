import gzip
import json
import re

import numpy as np
import pytest

from sgp.datasets.recorded import Recorded, read_heads, read_recorded
from sgp.datasets.recording import read_rollouts, records, write_rollouts
from sgp.datasets.subject import PlannerName, Subject, Variant, read_subject
from sgp.errors import StoreError
from sgp.planning.pddl import parse_plan
from sgp.planning.planner import Limit, Planner
from sgp.planning.policy import Ranking
from sgp.planning.rollout import Mark, Outcome, marks_of
from sgp.planning.task import missing_goal_atoms
from sgp.workers import Local
from tests.planning.test_planner import Costs, PairRanker, atoms, by_name, two_steps


@pytest.fixture
def rollouts(two_blocks, three_blocks, courier):
    picky = Costs(
        lambda task, action, state: np.inf if "b" in action else 1 / 3, key=lambda task, state: hash(atoms(task, state))
    )
    return [
        Planner(by_name(pick_up=0.1, stack=0.2)).solve(two_blocks),
        Planner(picky, width=2).solve(three_blocks, Limit(actions=7)),
        Planner(PairRanker(), successors=two_steps, width=8).solve(three_blocks),
        Planner(by_name(drive=0.0)).solve(courier),
        Planner(Costs(lambda *_: 0.0, refusal="no slots")).solve(two_blocks),
    ]


def returned(rollout):
    return rollout


def test_rollouts_come_back_from_other_processes_as_they_were(rollouts):
    found = dict(Local(2).map(returned, [(each,) for each in rollouts]))
    back = [found[place] for place in range(len(rollouts))]
    assert back == rollouts
    assert [each.plan for each in back] == [each.plan for each in rollouts]
    assert back[1].steps[0].keys == rollouts[1].steps[0].keys
    assert back[0].task is not rollouts[0].task
    assert [back[0].task.is_goal(each.successor.state) for each in back[0].steps] == [False, True]


def test_rollouts_read_back_are_equal(rollouts, tmp_path):
    file = tmp_path / "rollouts.jsonl"
    write_rollouts(file, rollouts)
    back = read_rollouts(file)
    assert back == rollouts
    assert [each.outcome for each in back[2:]] == [Outcome.SOLVED, Outcome.STUCK, Outcome.REFUSED]
    assert [each.plan for each in back] == [each.plan for each in rollouts]
    assert back[4].reason == "no slots"
    assert [each.seconds for each in back] == [each.seconds for each in rollouts]


def test_the_beam_is_written_and_read_back_and_a_record_without_it_is_read(rollouts, tmp_path):
    file = tmp_path / "rollouts.jsonl"
    write_rollouts(file, rollouts)
    for back, rollout in zip(read_rollouts(file), rollouts, strict=True):
        assert [(list(step.beam), step.lane) for step in back.steps] == [
            (list(step.beam), step.lane) for step in rollout.steps
        ]
    assert any(len(step.beam) > 1 for step in rollouts[2].steps)
    assert all("beam" not in record for record in records(rollouts[0]))
    old = [
        {name: value for name, value in each.items() if name not in ("beam", "lane")} for each in records(rollouts[2])
    ]
    file.write_text("".join(f"{json.dumps(each)}\n" for each in old))
    (back,) = read_rollouts(file)
    assert back == rollouts[2]
    assert not any(step.beam for step in back.steps)


def test_different_rollouts_are_not_equal(rollouts, two_blocks):
    assert rollouts[0] != rollouts[1]
    assert rollouts[0] != Planner(by_name(pick_up=0.1, stack=0.3)).solve(two_blocks)
    assert rollouts[0] == Planner(by_name(pick_up=0.1, stack=0.2)).solve(two_blocks)
    assert rollouts[0] != "rollout"


def test_a_record_tells_everything_that_a_viewer_needs(rollouts, tmp_path):
    file = tmp_path / "rollouts.jsonl"
    write_rollouts(file, rollouts[:1])
    head, first, second = map(json.loads, file.read_text().splitlines())
    assert head["outcome"] == "solved"
    assert head["initial"] == ["(clear a)", "(clear b)", "(handempty)", "(ontable a)", "(ontable b)"]
    assert first["chosen"] == 0
    assert first["candidates"][0] == {
        "actions": ["(pick-up a)"],
        "parent": None,
        "add": ["(holding a)"],
        "delete": ["(clear a)", "(handempty)", "(ontable a)"],
        "cost": 0.1,
        "key": None,
        "marks": ["chosen", "beam", "tied"],
    }
    assert second["candidates"][second["chosen"]]["marks"] == ["chosen", "goal", "tied"]


def test_a_record_holds_the_experts_plan_and_which_model_made_it(rollouts):
    expert = parse_plan("(pick-up a)\n(stack a b)")
    head, *_ = records(rollouts[0], {"method": "m"}, expert)
    assert (head["expert"], head["about"]) == (["(pick-up a)", "(stack a b)"], {"method": "m"})
    head, *_ = records(rollouts[0])
    assert (head["expert"], head["about"]) == ([], {})


def test_notes_with_arrays_are_kept(two_blocks, tmp_path):
    class Noting(Costs):
        def rank(self, nodes, choices):
            return [
                Ranking(each.costs, note={"predicted": np.array([0.5, 1.0], np.float32)})
                for each in super().rank(nodes, choices)
            ]

    write_rollouts(tmp_path / "r.jsonl", [Planner(Noting(lambda *_: 1.0)).solve(two_blocks)])
    assert read_rollouts(tmp_path / "r.jsonl")[0].steps[0].note == {"predicted": [0.5, 1.0]}


def test_what_was_written_is_kept_without_notes_too(two_blocks, tmp_path):
    """At each step, and at the end, where the last token belongs to no candidate."""

    class Writing(Costs):
        def rank(self, nodes, choices):
            ends = nodes[0].length == 1
            written = (("pick-up", 0.75), (f"b{nodes[0].length}", 1.0))
            return [
                Ranking(np.full(len(each.costs), np.inf) if ends else each.costs, reason="no" * ends, written=written)
                for each in super().rank(nodes, choices)
            ]

    rollout = Planner(Writing(lambda *_: 1.0)).solve(two_blocks)
    write_rollouts(tmp_path / "r.jsonl", [rollout.without_notes()])
    (read,) = read_rollouts(tmp_path / "r.jsonl")
    bare = Planner(Writing(lambda *_: 1.0), keep="plan").solve(two_blocks)
    for each in (rollout, read, bare):
        assert each.steps[0].written == (("pick-up", 0.75), ("b0", 1.0))
        assert (each.written, each.reason) == ((("pick-up", 0.75), ("b1", 1.0)), "no")


def test_a_file_that_is_to_be_compressed_holds_the_same(rollouts, tmp_path):
    write_rollouts(tmp_path / "r.jsonl", rollouts)
    write_rollouts(tmp_path / "r.jsonl.gz", rollouts)
    plain, packed = (tmp_path / name for name in ("r.jsonl", "r.jsonl.gz"))
    assert gzip.decompress(packed.read_bytes()).decode() == plain.read_text()
    assert [each.steps for each in read_recorded(packed)] == [each.steps for each in read_recorded(plain)]
    before = packed.read_bytes()
    write_rollouts(packed, rollouts)
    assert packed.read_bytes() == before, "no time of writing is in it"
    packed.write_bytes(before[:-20])
    with pytest.raises(StoreError, match=r"r\.jsonl\.gz: cut or changed"):
        read_heads(packed)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda lines: lines[:-1], "ends after 1 of 2 steps"),
        (lambda lines: [*lines[:-1], lines[-1][:40]], "line 3: cut or changed"),
        (lambda lines: lines[1:], "expected a rollout of format 1"),
        (lambda lines: [lines[0].replace('"format": 1', '"format": 99'), *lines[1:]], "expected a rollout of format 1"),
        (
            lambda lines: [lines[0], lines[1].replace('"add": ["(holding a)"]', '"add": []'), lines[2]],
            "not what its actions lead to",
        ),
        (lambda lines: [lines[0], lines[1].replace("(pick-up a)", "(pick-up z)"), lines[2]], "not applicable"),
        (lambda lines: [lines[0].replace('"(clear a)", ', "", 1), *lines[1:]], "initial atoms"),
        (lambda lines: [lines[0], '{"record": "step"}\n', lines[2]], "not a record of a rollout"),
        (lambda lines: [lines[0], re.sub('"cost": [0-9.]+', '"cost": NaN', lines[1]), lines[2]], "NaN is no number"),
        (
            lambda lines: [lines[0], re.sub('"cost": [0-9.]+', '"cost": "x"', lines[1]), lines[2]],
            "could not convert string",
        ),
        (lambda lines: [lines[0], re.sub('"marks": .*?]', '"marks": [3]', lines[1]), lines[2]], "not a record of a"),
    ],
)
def test_damaged_records_are_refused_in_one_sentence(rollouts, tmp_path, damage, words):
    file = tmp_path / "rollouts.jsonl"
    write_rollouts(file, rollouts[:1])
    file.write_text("".join(damage(file.read_text().splitlines(keepends=True))))
    with pytest.raises(StoreError, match=words) as caught:
        read_rollouts(file)
    assert "rollouts.jsonl" in str(caught.value)


def test_a_missing_record_is_named(tmp_path):
    with pytest.raises(StoreError, match=r"none\.jsonl is missing"):
        read_rollouts(tmp_path / "none.jsonl")


@pytest.fixture
def rollout(three_blocks):
    planner = Planner(by_name(pick_up=0.2, stack=0.1, unstack=0.2, put_down=0.2), width=3)
    return planner.solve(three_blocks, Limit(actions=8))


@pytest.fixture
def recorded(rollout):
    head, *steps = json.loads(json.dumps(list(records(rollout))))
    return Recorded("test", 1, head, tuple(steps))


def test_open_goals_are_those_that_the_task_misses(rollout, recorded):
    assert recorded.problem.goal == rollout.task.goal
    states = [*(step.state for step in rollout.steps), rollout.end]
    for state, found in zip(states, recorded.open_goals, strict=True):
        assert [rollout.task.goal[place] for place in sorted(found)] == missing_goal_atoms(rollout.task, state)


def test_candidates_stand_as_the_planner_left_them(rollout, recorded):
    for step, standings in zip(rollout.steps, recorded.standings, strict=True):
        assert [each.marks for each in standings] == step.marks.tolist()
        assert [each.marks.open_to_choice for each in standings] == step.open_to_choice.tolist()
        missing = [len(missing_goal_atoms(rollout.task, each.state)) for each in step.candidates]
        assert [each.open_goals for each in standings] == missing
    shut = np.concatenate([~step.open_to_choice for step in rollout.steps])
    assert set(shut.tolist()) == {True, False}


def test_negative_and_repeated_goals_are_open_each_for_itself():
    problem = "(define (problem p) (:domain d) (:objects) (:init (a) (b)) (:goal (and (a) (not (b)) (c) (a))))"
    candidates = [
        {"add": ["(c)"], "delete": ["(a)"], "marks": ["chosen", "tied"]},
        {"add": [], "delete": ["(b)"], "marks": ["collapsed", "tied"]},
    ]
    steps = ({"chosen": 0, "candidates": candidates},)
    domain = "(define (domain d) (:predicates (a) (b) (c)) (:action go :parameters () :effect (c)))"
    head = {"domain_pddl": domain, "problem_pddl": problem, "initial": ["(a)", "(b)"]}
    recorded = Recorded("made", 1, head, steps)
    assert recorded.open_goals == ({1, 2}, {0, 1, 3})
    assert [(each.open_goals, each.marks.contends) for each in recorded.standings[0]] == [(3, True), (1, False)]


@pytest.mark.parametrize("mark", Mark)
def test_marks_are_written_and_read_in_words(mark):
    assert marks_of((*mark.words, *Mark.BEAM.words)) == mark | Mark.BEAM
    assert mark.open_to_choice == (mark not in (Mark.VISITED, Mark.COLLAPSED, Mark.REJECTED))


def test_without_notes_all_else_stays(rollout):
    bare = rollout.without_notes()
    assert bare == rollout
    assert not any(step.note for step in bare.steps)


def test_a_records_names_are_read_as_they_are_written_today():
    record = {"method": "contrastive_jumps", "variant": "aiw+by=dynamic", "seed": "13", "other": 5}
    assert read_subject(record) == Subject(method="contrastive-jumps", variant="aiw", seed=13, selected_by="dynamic")
    assert read_subject({"seed": None, "suite": None}) == Subject()
    assert Subject(method="m", decoding="default") == Subject(method="m") == read_subject({"method": "m"})
    again = Subject(method="m", variant="v", domain="d", split="s", seed=0, decoding="greedy", selected_by="loss")
    assert read_subject(again.record()) == again


def test_a_planner_is_told_with_what_sets_it_apart():
    assert PlannerName("m", "v").title == "m v"
    assert PlannerName("m", "m").title == "m"
    assert PlannerName("m", "").title == "m"
    assert PlannerName("m", "v", "greedy", "loss").title == "m v · greedy by loss"
    assert Subject(method="m", variant="v", seed=0).model == "m v seed 0"
    assert Subject().model == "a model that the file does not name"


@pytest.mark.parametrize(
    ("text", "variant"),
    [
        ("aiw", Variant("aiw")),
        ("aiw+loss.l2=2+by=dynamic", Variant("aiw+loss.l2=2", selected_by="dynamic")),
        ("ed+training.epochs=25+drawn=4.0", Variant("ed+training.epochs=25", drawn=(4, 0))),
        ("aiw+without=p3", Variant("aiw", left_out="p3")),
        ("pca+protocol=few.500+shots=2", Variant("pca", protocol="few", max_transitions=500, shots=2)),
        ("pca+protocol=few", Variant("pca", protocol="few")),
        ("pca+most=500+shots=2+from=ferry", Variant("pca", max_transitions=500, shots=2, source="ferry")),
    ],
)
def test_variants_are_written_and_parsed(text, variant):
    assert str(variant) == text
    assert Variant.parse(text) == variant
