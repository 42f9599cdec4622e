"""A recorded rollout as files for other programs: the plan, the steps as a table, the drawings as an animation."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from sgp.domains import draw_scene
from sgp.errors import InputError
from sgp.planning.domain import Scene
from sgp.planning.pddl import format_plan, parse_plan
from sgp.planning.recorded import Recorded
from sgp.planning.subject import selected_variant
from sgp.viewer.playback import playback

if TYPE_CHECKING:
    import pandas as pd
    from PIL.Image import Image

MOST_FRAMES = 200
GIF_WIDTH = 480  # pixels
MILLISECONDS = 500  # a frame: two steps a second, as the player plays
LAST_MILLISECONDS = 2000  # the last frame stays


def run_id(recorded: Recorded) -> str:
    """Which run made a rollout, as runs are named in the store: method/variant/suite/domain/seed, then its decoding."""
    about = recorded.about
    seed = "" if about.seed is None else f"seed{about.seed}"
    variant = selected_variant(about.variant, about.selected_by)
    return "/".join(filter(None, (about.method, variant, about.suite, about.domain, seed, about.decoding)))


def file_stem(recorded: Recorded) -> str:
    """A name for files of a rollout, of letters, digits, hyphens and points alone."""
    words = f"{run_id(recorded)}-{recorded.head.get('name', 'rollout')}"
    return "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-.") else "-" for letter in words)


def plan_text(recorded: Recorded) -> str:
    """The actions in PDDL, one a line, with their number as the last line; comments say how it ended and who made it.

    The plan of an unsolved problem is the best path at its end, and the first line says so.
    Raises PlanError for an action that cannot be read.
    """
    lines = "\n".join(action for step in recorded.steps for action in step["candidates"][step["chosen"]]["actions"])
    plan = parse_plan(lines, recorded.place)
    ended = recorded.head["outcome"]
    known = f"; {ended}; run {run_id(recorded) or 'unknown'}".replace("\n", " ")
    warning = "" if ended == "solved" else "; not a solution: the goal is not reached\n"
    return f"{warning}{known}\n{format_plan(plan)}"


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


def shown_frames(states: int, most: int = MOST_FRAMES) -> list[int]:
    """Which of so many states an animation shows: all, or `most` of them evenly, the first and the last included.

    Raises InputError for fewer than two frames or more than 200.
    """
    if not 2 <= most <= MOST_FRAMES:
        raise InputError(f"{most} frames were asked for; expected 2 to {MOST_FRAMES}")
    if states <= most:
        return list(range(states))
    return [round(at * (states - 1) / (most - 1)) for at in range(most)]


def gif(
    recorded: Recorded,
    most: int = MOST_FRAMES,
    advance: Callable[[float], object] = lambda _: None,
) -> bytes:
    """The drawings of a rollout's states as an animated GIF on white, 480 pixels wide.

    `advance` hears of the share that is done, from 0 to 1. Long rollouts are shown by `most` evenly chosen states.
    Raises InputError for a `most` outside of 2 to 200, and PddlError where the domain cannot be read.
    """
    from PIL.Image import new

    pictures = list(_pictures(recorded))
    places = shown_frames(len(pictures), most)
    images = []
    for done, place in enumerate(places, start=1):
        images.append(_raster(pictures[place]()))
        advance(done / (len(places) + 1))
    width, height = (max(size) for size in zip(*(image.size for image in images), strict=True))
    frames = []
    for image in images:  # drawings may grow; all frames get the largest size
        frame = new("RGB", (width, height), "white")
        frame.paste(image)
        frames.append(frame.quantize(64))
    durations = [MILLISECONDS] * (len(frames) - 1) + [LAST_MILLISECONDS]
    file = io.BytesIO()
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:], duration=durations, loop=0)
    advance(1.0)
    return file.getvalue()


def _pictures(recorded: Recorded) -> Iterator[Callable[[], str]]:
    """What draws each state as SVG."""
    text, problem = recorded.domain, recorded.problem
    objects = (*text.constants, *problem.objects)
    for state in recorded.states():
        yield partial(draw_scene, text, Scene(objects, state, problem.goal))


def _raster(svg: str) -> Image:
    """A drawing as an image on white; letters come from the fonts of this machine."""
    from PIL.Image import open as open_image
    from resvg_py import svg_to_bytes

    return open_image(io.BytesIO(svg_to_bytes(svg_string=svg, width=GIF_WIDTH, background="white"))).convert("RGB")
