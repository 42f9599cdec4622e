"""A recorded rollout as files: a self-contained HTML page, the plan, the steps as a table, an animated GIF.

`script` has the player's JavaScript.
"""

from __future__ import annotations

import gzip
import io
import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from html import escape
from pathlib import Path
from string import Template
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

from sgp import drawing
from sgp.datasets.recorded import Recorded, read_recorded
from sgp.datasets.subject import Variant
from sgp.domains import draw_goal, draw_series
from sgp.domains.domain import Scene
from sgp.errors import InputError, MissingLibrary
from sgp.files import write_text
from sgp.planning.pddl import Problem, format_plan, parse_plan
from sgp.viewer.library import outcome_words
from sgp.viewer.playback import playback
from sgp.wording import counted

if TYPE_CHECKING:
    import pandas as pd
    from PIL.Image import Image

    from sgp.planning.rollout import Rollout


def run_id(recorded: Recorded) -> str:
    """The run that made a rollout, named as in the store: method/variant/suite/domain/seed, then its decoding."""
    about = recorded.about
    seed = "" if about.seed is None else f"seed{about.seed}"
    variant = str(replace(Variant.parse(about.variant), selected_by=about.selected_by))
    return "/".join(filter(None, (about.method, variant, about.suite, about.domain, seed, about.decoding)))


def file_stem(recorded: Recorded) -> str:
    """A file name for a rollout, of letters, digits, hyphens and points."""
    words = f"{run_id(recorded)}-{recorded.head.get('name', 'rollout')}"
    return re.sub(r"[^A-Za-z0-9.-]", "-", words)


def plan_text(recorded: Recorded) -> str:
    """The actions in PDDL, one a line, and their cost; comments name the outcome and the run.

    The plan of an unsolved problem is the best path at its end, and the first line reports this.
    """
    lines = "\n".join(action for step in recorded.steps for action in step["candidates"][step["chosen"]]["actions"])
    head = recorded.head
    problem = Problem(head["name"], head["domain_pddl"], head["problem_pddl"], alternative=head.get("goal"))
    origin = f"; {head['outcome']}; run {run_id(recorded) or 'unknown'}".replace("\n", " ")
    warning = "" if head["outcome"] == "solved" else "; not a solution: the goal is not reached\n"
    return f"{warning}{origin}\n{format_plan(parse_plan(lines, recorded.place), problem)}"


def steps_table(recorded: Recorded) -> pd.DataFrame:
    """One row per decision: run, problem, step, the chosen candidate with cost and rank, open goals, and its atoms.

    `open_goals` counts after the step. The actions of a jump are separated by spaces, as are atoms.
    """
    import pandas as pd

    data = playback(recorded)
    facts = {name: data[name] for name in ("domain", "split", "problem")}
    facts = {"run": run_id(recorded), **facts, "sha256": recorded.head["sha256"], "outcome": data["outcome"]}
    rows = []
    taken = 0
    for number, (step, after) in enumerate(zip(data["steps"], data["frames"][1:], strict=True), start=1):
        chosen = step["candidates"][step["chosen"]]
        taken += len(chosen["actions"])
        rows.append(
            {
                **facts,
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
    """The table of steps as CSV."""
    return str(steps_table(recorded).to_csv(index=False)).encode()


def steps_parquet(recorded: Recorded) -> bytes:
    """The table of steps as Parquet."""
    return bytes(steps_table(recorded).to_parquet(index=False))


MOST_FRAMES = 200
WIDEST, HIGHEST, NARROWEST = 640.0, 560.0, 360.0  # pixels: most for the drawings together, least for the words
MILLISECONDS, LAST_MILLISECONDS = 500, 2000  # of a frame, and of the last one
_BESIDE = 1.4  # wider states have the goal below them
_LETTER = 7.2  # width in pixels


def shown_frames(states: int, most: int = MOST_FRAMES) -> list[int]:
    """Indices of the states that an animation shows: all, or `most` evenly spaced ones with the first and the last."""
    if not 2 <= most <= MOST_FRAMES:
        raise InputError(f"{most} frames were requested; expected 2 to {MOST_FRAMES}")
    return [round(at * (states - 1) / (most - 1)) for at in range(most)] if states > most else list(range(states))


def gif(recorded: Recorded, most: int = MOST_FRAMES, advance: Callable[[float], object] = lambda _: None) -> bytes:
    """A rollout as an animated GIF: state and goal on white, above them the problem, the planner and the last action.

    Long rollouts show at most `most` evenly spaced states; `advance` receives the share that is done, from 0 to 1.
    """
    places = shown_frames(len(recorded.steps) + 1, most)
    frames, width = gif_frames(recorded, places)
    images = []
    with rasteriser() as raster:
        for done, svg in enumerate(frames, start=1):
            images.append(raster(svg, width).quantize(64))
            advance(done / (len(places) + 1))
    durations = [MILLISECONDS] * (len(images) - 1) + [LAST_MILLISECONDS]
    file = io.BytesIO()
    images[0].save(file, "GIF", save_all=True, append_images=images[1:], duration=durations, loop=0)
    advance(1.0)
    return file.getvalue()


def gif_frames(recorded: Recorded, places: list[int]) -> tuple[list[str], int]:
    """The frames of a GIF as SVG, all of one size and scale, and their width in pixels."""
    text, problem = recorded.domain, recorded.problem
    objects = (*text.constants, *problem.objects)
    scenes = [Scene(objects, state, problem.goal) for state in recorded.states()]
    pictures, goal = draw_series(text, scenes), draw_goal(text, scenes[0])
    wide, high = (max(sizes) for sizes in zip(*map(drawing.size, pictures), strict=True))
    goal_wide, goal_high = drawing.size(goal)
    beside = wide < _BESIDE * high
    across, down = (wide + goal_wide, max(high, goal_high)) if beside else (max(wide, goal_wide), high + goal_high)
    pixel = max(1.0, across / WIDEST, down / HIGHEST)  # in the drawings' own units
    margin, line = 12 * pixel, 20 * pixel
    top = margin + 3 * line
    left, goal_top = (margin + wide + line, top) if beside else (margin, top + high + 2 * line)
    width = max(NARROWEST * pixel, left + goal_wide + margin, wide + 2 * margin)
    height = max(top + high, goal_top + goal_high) + margin
    letters = int((width - 2 * margin) / (_LETTER * pixel))
    planner = ", ".join(filter(None, (str(recorded.head.get("name", "")), recorded.about.domain, recorded.about.model)))

    def words(text: str, x: float, y: float, size: int, **more: object) -> str:
        shown = text if len(text) <= letters else f"{text[: letters - 1]}…"
        return drawing.text(shown, x, y, font_size=size * pixel, **more)

    frames = []
    for place in places:
        last, state = _captions(recorded, place)
        parts = [
            drawing.rect(0, 0, width, height, fill="white"),
            words(planner, margin, margin + 10 * pixel, 13, font_weight=700),
            words(last, margin, margin + 10 * pixel + line, 13),
            words(state, margin, margin + 8 * pixel + 2 * line, 12, fill="#5c6470"),
            words("Goal", left, goal_top - 12 * pixel, 12, fill="#5c6470"),
            _placed(pictures[place], margin, top + high - drawing.size(pictures[place])[1]),
            _placed(goal, left, goal_top),
        ]
        frames.append(drawing.picture(width, height, parts, planner))
    return frames, round(width / pixel)


def _placed(svg: str, x: float, y: float) -> str:
    return svg.replace("<svg ", f'<svg x="{x:.1f}" y="{y:.1f}" ', 1)


def _captions(recorded: Recorded, place: int) -> tuple[str, str]:
    """The action (or jump) that led to a state, and the number of open goals; at the end also the outcome."""
    steps, count, outcome = recorded.steps, len(recorded.open_goals[place]), recorded.head["outcome"]
    last, state = f"Start of {len(steps)} steps", f"State: {counted(count, 'goal')} open"
    if place:
        chosen = steps[place - 1]["candidates"][steps[place - 1]["chosen"]]
        last = f"{place} of {len(steps)}: {' '.join(chosen['actions'])}"
    if place == len(steps):
        state += "; solved" if outcome == "solved" else f"; not solved ({outcome_words(outcome)})"
    return last, state


@contextmanager
def rasteriser() -> Iterator[Callable[[str, int], Image]]:
    """Render an SVG at a width in pixels, on white, with Pillow's own font: a machine may have no fonts."""
    from PIL.Image import open as open_image
    from PIL.ImageFont import FreeTypeFont, load_default
    from resvg_py import svg_to_bytes

    with TemporaryDirectory(prefix="sgp-font-") as folder:
        font = load_default(12)
        if not isinstance(font, FreeTypeFont):
            raise MissingLibrary("Pillow is built without FreeType and cannot draw text; install it from PyPI")
        file, family = Path(folder, "letters.ttf"), str(font.getname()[0])
        file.write_bytes(font.font_bytes)
        fonts: dict[str, Any] = {"font_files": [str(file)], "sans_serif_family": family, "monospace_family": family}
        render = partial(svg_to_bytes, background="white", skip_system_fonts=True, **fonts)
        yield lambda svg, width: open_image(io.BytesIO(render(svg_string=svg, width=width))).convert("RGB")


_EXPORT = re.compile(r"^export (default )?", re.MULTILINE)
_NONCE = "player"  # names the one script that the page runs: browsers disagree on 'self' for pages on a disk
_SHARED = ("elements", "motion", "style", "marks", "transport", "hosts")
_PARTS = {
    "player": (
        *_SHARED,
        "board",
        "candidates",
        "features",
        "reasons",
        "coverage",
        "curves",
        "map",
        "ruler",
        "lanes",
        "notes",
        "player",
    ),
    "compare": (*_SHARED, "candidates", "map", "compare"),
    "guess": (*_SHARED, "reasons", "guess"),
    "branches": ("branches",),
    "tour": ("elements", "style", "marks", "candidates", "map", "ruler", "lanes", "tour"),
}


@cache
def script(name: Literal["player", "compare", "guess", "branches", "tour"]) -> str:
    """A view as one ES module for Streamlit; player and comparison also for anywidget and exported pages."""
    # One text, because a module given as text cannot import another; the last file has the exports.
    return "\n".join((Path(__file__).parent / f"{part}.js").read_text(encoding="utf-8") for part in _PARTS[name])


def page_script() -> str:
    """The player as a file that pages share, for a script element without a type: a page on a disk loads no module."""
    return f'"use strict";\n(() => {{\n{_EXPORT.sub("", script("player"))}\nopenPage();\n}})();\n'


def html_page(data: dict[str, Any], above: str = "", source: str = "") -> str:
    """The page that plays the data of a rollout (`playback`) or of two (`comparison`), below the markup `above`.

    `source` is the address of a file with its `page_script`; without it, the page contains the script.
    """
    written = json.dumps(data, allow_nan=False, separators=(",", ":")).encode()
    embedded = b64encode(gzip.compress(written, mtime=0)).decode()  # a fifth; and no name can end the element
    sides = data.get("sides", [data])
    title = escape(f"{data['problem']}: {' and '.join(side['planner'] for side in sides)}")
    code = f'<script type="module">\n{script("compare" if "sides" in data else "player")}\nopenPage();\n</script>'
    element = f'<script nonce="{_NONCE}" src="{source}"></script>' if source else code
    # The page's policy allows no external content, whatever the names in the data.
    page = Template((Path(__file__).parent / "page.html").read_text(encoding="utf-8"))
    allowed = f"'nonce-{_NONCE}'" if source else "'unsafe-inline'"
    return page.substitute(title=title, data=embedded, script=element, above=above, allowed=allowed)


def export_html(
    rollout: Rollout | Recorded | Path | str, path: Path | str, about: Mapping[str, Any] | None = None
) -> None:
    """Write a rollout, or the first one of a recorded file, as one self-contained HTML page.

    `about` names the model of a rollout that was not recorded (fields of `Subject`). Raises StoreError for a damaged
    file, InputError for one without a rollout.
    """
    write_text(path, html_page(playback(recorded(rollout, about))))


def recorded(rollout: Rollout | Recorded | Path | str, about: Mapping[str, Any] | None = None) -> Recorded:
    """The record of a rollout, or the first one of a file; arguments and errors as of `export_html`."""
    if isinstance(rollout, Recorded):
        return rollout
    if isinstance(rollout, Path | str):
        found = read_recorded(rollout)
        if not found:
            raise InputError(f"{rollout} contains no rollout; expected a file that 'sgp solve --rollout' wrote")
        return found[0]
    from sgp.datasets.recording import records  # needs the planning library

    head, *steps = records(rollout, about)
    return Recorded(rollout.task.name, 1, head, tuple(steps))
