"""A recorded rollout as files for other programs: the plan, the steps as a table."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sgp.planning.pddl import Problem, format_plan, parse_plan
from sgp.planning.recorded import Recorded
from sgp.planning.subject import Variant
from sgp.viewer.playback import playback

if TYPE_CHECKING:
    import pandas as pd


def run_id(recorded: Recorded) -> str:
    """Which run made a rollout, as runs are named in the store: method/variant/suite/domain/seed, then its decoding."""
    about = recorded.about
    seed = "" if about.seed is None else f"seed{about.seed}"
    variant = str(replace(Variant.parse(about.variant), selected_by=about.selected_by))
    return "/".join(filter(None, (about.method, variant, about.suite, about.domain, seed, about.decoding)))


def file_stem(recorded: Recorded) -> str:
    """A name for files of a rollout, of letters, digits, hyphens and points alone."""
    words = f"{run_id(recorded)}-{recorded.head.get('name', 'rollout')}"
    return "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-.") else "-" for letter in words)


def plan_text(recorded: Recorded) -> str:
    """The actions in PDDL, one a line, with their cost as the last line; comments say how it ended and who made it.

    The plan of an unsolved problem is the best path at its end, and the first line says so.
    Raises PlanError for an action that cannot be read, PddlError for a recorded problem with costs that cannot.
    """
    lines = "\n".join(action for step in recorded.steps for action in step["candidates"][step["chosen"]]["actions"])
    plan = parse_plan(lines, recorded.place)
    head = recorded.head
    problem = Problem(head["name"], head["domain_pddl"], head["problem_pddl"], alternative=head.get("goal"))
    ended = head["outcome"]
    known = f"; {ended}; run {run_id(recorded) or 'unknown'}".replace("\n", " ")
    warning = "" if ended == "solved" else "; not a solution: the goal is not reached\n"
    return f"{warning}{known}\n{format_plan(plan, problem)}"


def steps_table(recorded: Recorded) -> pd.DataFrame:
    """A row for each decision: run, problem, step, what was chosen at what cost and rank, open goals, and its atoms.

    `open_goals` counts them after the step; several actions of a jump are separated by spaces, as are atoms.
    """
    import pandas as pd

    data = playback(recorded)
    rows = []
    taken = 0
    for number, (step, after) in enumerate(zip(data["steps"], data["frames"][1:], strict=True), start=1):
        chosen = step["candidates"][step["chosen"]]
        taken += len(chosen["actions"])
        rows.append(
            {
                "run": run_id(recorded),
                "domain": data["domain"],
                "split": data["split"],
                "problem": data["problem"],
                "sha256": recorded.head["sha256"],
                "outcome": data["outcome"],
                "step": number,
                "actions": " ".join(data["actions"][action] for action in chosen["actions"]),
                "actions_so_far": taken,
                "cost": chosen["cost"],
                "rank": chosen["rank"],
                "over_best": chosen["gap"],
                "candidates": len(step["candidates"]),
                "tie": step["tie"],
                "open_goals": after["open"],
                "added": " ".join(data["atoms"][atom] for atom in chosen["add"]),
                "deleted": " ".join(data["atoms"][atom] for atom in chosen["delete"]),
            }
        )
    return pd.DataFrame.from_records(rows)


def steps_csv(recorded: Recorded) -> bytes:
    """The table of steps as CSV.

    Raises StoreError for a damaged record, PddlError and PlanError for texts in it that cannot be read.
    """
    text: str = steps_table(recorded).to_csv(index=False)
    return text.encode()


def steps_parquet(recorded: Recorded) -> bytes:
    """The table of steps as Parquet.

    Raises StoreError for a damaged record, PddlError and PlanError for texts in it that cannot be read.
    """
    found: bytes = steps_table(recorded).to_parquet(index=False)
    return found
