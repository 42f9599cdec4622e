"""Recorded rollouts to show: real ones, and one whose names contain markup."""

import json

import numpy as np
import pytest

import sgp
from sgp.analysis.explanations import explanation_records
from sgp.datasets.recorded import Recorded, map_file, read_recorded
from sgp.datasets.recording import records, with_distances
from sgp.planning.lookahead import Lookahead
from sgp.planning.planner import Limit, Planner
from sgp.planning.policy import ADD_UP
from sgp.policies.nearest_transition import NearestTransition
from tests.browsing import watched
from tests.planning.test_planner import by_name

IMAGE = "<img/src=x/onerror=window.harmed=1>"
SCRIPT = "</script><script>window.harmed=1</script><!--"
QUOTE = "\"'&b>"
HOSTILE_DOMAIN = f"""(define (domain {SCRIPT}) (:predicates (at ?x) ({IMAGE} ?x))
  (:action {IMAGE} :parameters (?x ?y) :precondition (at ?x) :effect (and (at ?y) ({IMAGE} ?y) (not (at ?x)))))"""
HOSTILE_PROBLEM = f"""(define (problem {SCRIPT}) (:domain {SCRIPT}) (:objects {IMAGE} {SCRIPT} {QUOTE})
  (:init (at {QUOTE})) (:goal (and (at {SCRIPT}) (not (at {QUOTE})))))"""


def as_recorded(rollout, expert=(), explanations=(), left=None, **about):
    made = records(rollout, about, expert, explanations)
    made = made if left is None else with_distances(made, left.record())
    head, *steps = json.loads(json.dumps(list(made)))
    return Recorded("test", 1, head, tuple(steps))


@pytest.fixture
def solved(three_blocks):
    """Six steps; at the start several candidates are tied."""
    return Planner(by_name(pick_up=0.2, stack=0.1, unstack=0.2, put_down=0.2), width=50).solve(three_blocks)


@pytest.fixture
def unsolved(three_blocks):
    return Planner(by_name(pick_up=0.1, stack=0.4, unstack=0.2, put_down=0.3)).solve(three_blocks, Limit(actions=5))


def ranked_rollout():
    """A policy of random weights and its rollout of twenty steps with many jumps."""
    task = sgp.Task(sgp.load_suite("state-centric").problems("blocksworld", "interpolation")[0])
    encoder, _ = sgp.data.MarkedTransitionEncoder.fit(
        sgp.data.MarkedConfig(), [(task, task.init, Lookahead()(task, task.init))]
    )
    weights = np.random.default_rng(3).normal(size=(2, encoder.dimension))
    policy = NearestTransition(encoder, weights, alpha=0.3, rules=ADD_UP)
    return policy, Planner(policy, Lookahead(), width=2).solve(task, Limit(actions=20))


@pytest.fixture
def ranked():
    """That rollout with explanations against several candidates."""
    policy, rollout = ranked_rollout()
    return as_recorded(rollout, explanations=explanation_records(rollout, policy))


def candidate(end, cost, *marks):
    return {
        **{"actions": [f"({IMAGE} {QUOTE} {end})"], "parent": None, "add": [f"({IMAGE} {end})", f"(at {end})"]},
        **{"delete": [f"(at {QUOTE})"], "cost": cost, "key": None, "marks": list(marks)},
    }


HOSTILE = [
    {
        **{"record": "rollout", "format": 1, "name": SCRIPT, "sha256": "0"},
        **{"domain_pddl": HOSTILE_DOMAIN, "problem_pddl": HOSTILE_PROBLEM, "initial": [f"(at {QUOTE})"]},
        **{"outcome": "solved", "reason": IMAGE, "written": [[SCRIPT, 0.25]], "seconds": 0.5, "steps": 1},
        "expert": [f"({IMAGE} {QUOTE} {SCRIPT})"],
        "about": {"method": IMAGE, "variant": SCRIPT, "domain": IMAGE, "suite": "s", "split": QUOTE, "seed": 1},
    },
    {
        **{"record": "step", "chosen": 1, "note": {}, "written": [[IMAGE, 0.5], [SCRIPT, 1]]},
        "candidates": [candidate(IMAGE, None, "rejected"), candidate(SCRIPT, -0.5, "chosen", "goal")],
        **{"against": 0, "measure": IMAGE},
        "why": [{"feature": f"{SCRIPT}{IMAGE}", "chosen": 1.0, "other": 0.0, "share": -0.5}],
    },
]


@pytest.fixture
def hostile(tmp_path):
    """A file with one step whose names contain markup."""
    file = tmp_path / "hostile.jsonl"
    file.write_text("".join(f"{json.dumps(record)}\n" for record in HOSTILE))
    (recorded,) = read_recorded(file)
    map_file(file).write_text(json.dumps(map_with(recorded)))
    return recorded


def map_with(recorded):
    point = [1, 2, 30, 40]
    counts = (len(step["candidates"]) for step in recorded.steps)
    points = [{str(place): [place, 5, 10 * place, 50] for place in range(count)} for count in counts]
    steps = [{"state": point, "predicted": [3, 3, 3, 3], "candidates": each} for each in points]
    entry = {"line": recorded.line, "chosen": recorded.chosen, "steps": steps}
    ground = {"of": "states", "dimensions": 7, "explained": [0.5, 0.25], "umap": True}
    return {"format": 1, **ground, "context": [point, [90, 9, 9, 99]], "rollouts": [entry]}


@pytest.fixture
def open_page(browser, tmp_path):
    """Open a rollout's exported page; fail on errors and messages in its log. Its requests are in its list `asked`."""
    pages = []

    def open_(rollout, hash_="", script="", **options):
        file = tmp_path / "page.html"
        sgp.viz.export_html(rollout, file)
        page = watched(browser.new_context(**options).new_page())
        pages.append(page)
        page.on("console", lambda message: page.wrong.append(message.text))
        page.add_init_script(script)
        page.goto(f"file://{file}{hash_}")
        page.wait_for_selector(".sgp[data-step]")
        return page

    yield open_
    for page in pages:
        page.context.close()
        assert not page.wrong
