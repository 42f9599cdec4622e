"""A recorded rollout as an animated GIF: each state with the goal, the action that led there, and who planned."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from sgp import drawing
from sgp.domains import draw_goal, draw_series
from sgp.errors import InputError, MissingLibrary
from sgp.planning.domain import Scene
from sgp.planning.recorded import Recorded

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_FRAMES = 200
WIDEST, HIGHEST, NARROWEST = 640.0, 560.0, 360.0  # pixels: of the drawings together, and least for the words
MILLISECONDS = 500  # a frame: two steps a second, as the player plays
LAST_MILLISECONDS = 2000  # the last frame stays
_BESIDE = 1.4  # times as wide as high: wider states have the goal below them
_MARGIN, _GAP, _LINE, _LETTER = 12.0, 20.0, 20.0, 7.2  # pixels; the last is a letter's width
_SIZE = re.compile(r'(<svg [^>]*?)\bwidth="([\d.]+)" height="([\d.]+)"')


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
    """A rollout as an animated GIF on white: state and goal, above them the problem, the planner and the last action.

    It is as large as the largest drawing asks for; all states have one scale. `advance` hears of the share that is
    done, from 0 to 1. Long rollouts are shown by `most` evenly chosen states. Raises InputError for a `most` outside of
    2 to 200, PddlError where the domain cannot be read, and MissingLibrary where Pillow draws no words.
    """
    pictures, goal = _pictures(recorded), _goal(recorded)
    places = shown_frames(len(pictures), most)
    states = [pictures[place] for place in places]
    frame = Frame.around(states, goal, _caption(recorded))
    images = []
    with _rasteriser() as raster:
        for done, (place, state) in enumerate(zip(places, states, strict=True), start=1):
            svg = frame.drawn(state, _last_action(recorded, place), _open(recorded, place))
            images.append(raster(svg).quantize(64))
            advance(done / (len(places) + 1))
    durations = [MILLISECONDS] * (len(images) - 1) + [LAST_MILLISECONDS]
    file = io.BytesIO()
    images[0].save(file, "GIF", save_all=True, append_images=images[1:], duration=durations, loop=0)
    advance(1.0)
    return file.getvalue()


@dataclass(frozen=True)
class Frame:
    """What all frames share: the goal, the caption, and where things stand, in pixels."""

    goal: str
    caption: str
    scale: float  # of the drawings
    state: tuple[float, float]  # width and height of the largest state
    at_goal: tuple[float, float]
    size: tuple[float, float]

    @classmethod
    def around(cls, states: list[str], goal: str, caption: str) -> Frame:
        """The smallest frame that holds every state and the goal, shrunk to at most 640 x 560 pixels of drawings."""
        wide, high = (max(each) for each in zip(*map(_size, states), strict=True))
        goal_wide, goal_high = _size(goal)
        beside = wide < _BESIDE * high
        across, down = (wide + goal_wide, max(high, goal_high)) if beside else (max(wide, goal_wide), high + goal_high)
        scale = min(1.0, WIDEST / across, HIGHEST / down)
        wide, high, goal_wide, goal_high = (scale * each for each in (wide, high, goal_wide, goal_high))
        top = _MARGIN + 3 * _LINE
        at_goal = (_MARGIN + wide + _GAP, top) if beside else (_MARGIN, top + high + _LINE + _GAP)
        width = max(NARROWEST, at_goal[0] + goal_wide + _MARGIN, _MARGIN + wide + _MARGIN)
        height = max(top + high, at_goal[1] + goal_high) + _MARGIN
        return cls(goal, caption, scale, (wide, high), at_goal, (width, height))

    def drawn(self, state: str, action: str, ended: str) -> str:
        """One frame as SVG: the state stands on the ground of the largest one, so that what stands still does."""
        width, height = self.size
        left, top = self.at_goal
        letters = int((width - 2 * _MARGIN) / _LETTER)
        grey = {"font_size": 12, "fill": "#5c6470"}
        high = self.scale * _size(state)[1]
        parts = [
            drawing.rect(0, 0, width, height, fill="white"),
            drawing.text(_cut(self.caption, letters), _MARGIN, _MARGIN + 10, font_size=13, font_weight=700),
            drawing.text(_cut(action, letters), _MARGIN, _MARGIN + 10 + _LINE, font_size=13),
            drawing.text(_cut(ended, int(self.state[0] / _LETTER) or 1), _MARGIN, _MARGIN + 8 + 2 * _LINE, **grey),
            drawing.text("Goal", left, top - 12, **grey),
            self._placed(state, _MARGIN, _MARGIN + 3 * _LINE + self.state[1] - high),
            self._placed(self.goal, left, top),
        ]
        return drawing.picture(width, height, parts, self.caption)

    def _placed(self, svg: str, x: float, y: float) -> str:
        """A drawing at a place, in this frame's scale."""
        wide, high = _size(svg)
        place = f'x="{x:.1f}" y="{y:.1f}" width="{self.scale * wide:.1f}" height="{self.scale * high:.1f}"'
        return _SIZE.sub(lambda found: found[1] + place, svg, count=1)


def _size(svg: str) -> tuple[float, float]:
    """Width and height of a drawing."""
    found = _SIZE.match(svg)
    assert found is not None
    return float(found[2]), float(found[3])


def _caption(recorded: Recorded) -> str:
    return ", ".join(filter(None, (str(recorded.head.get("name", "")), recorded.about.domain, recorded.about.model)))


def _last_action(recorded: Recorded, place: int) -> str:
    """The action, or the jump of several, that led to a state."""
    if place == 0:
        return f"Start of {len(recorded.steps)} steps"
    step = recorded.steps[place - 1]
    return f"{place} of {len(recorded.steps)}: {' '.join(step['candidates'][step['chosen']]['actions'])}"


def _open(recorded: Recorded, place: int) -> str:
    """How many goals are open; at the end how it ended, too."""
    count = len(recorded.open_goals[place])
    words = f"State: {count} goal{'' if count == 1 else 's'} open"
    ended = recorded.head["outcome"]
    return (
        f"{words}; {ended if ended == 'solved' else f'not solved ({ended})'}" if place == len(recorded.steps) else words
    )


def _pictures(recorded: Recorded) -> list[str]:
    """Each state as SVG, objects in the places of the player."""
    text, problem = recorded.domain, recorded.problem
    objects = (*text.constants, *problem.objects)
    return draw_series(text, [Scene(objects, state, problem.goal) for state in recorded.states()])


def _goal(recorded: Recorded) -> str:
    text, problem = recorded.domain, recorded.problem
    objects = (*text.constants, *problem.objects)
    return draw_goal(text, Scene(objects, next(recorded.states()), problem.goal))


def _cut(words: str, most: int) -> str:
    return words if len(words) <= most else f"{words[: most - 1]}…"


@contextmanager
def _rasteriser() -> Iterator[Callable[[str], Image]]:
    """What makes an image on white of a drawing, its letters in Pillow's own font: a machine may have none."""
    from PIL.Image import open as open_image
    from PIL.ImageFont import FreeTypeFont, load_default
    from resvg_py import svg_to_bytes

    with TemporaryDirectory(prefix="sgp-font-") as folder:
        font = load_default(12)
        if not isinstance(font, FreeTypeFont):
            raise MissingLibrary("Pillow is built without FreeType, and words cannot be drawn; install it from PyPI")
        file, family = Path(folder, "letters.ttf"), str(font.getname()[0])
        file.write_bytes(font.font_bytes)
        render = partial(
            svg_to_bytes,
            background="white",
            skip_system_fonts=True,
            font_files=[str(file)],
            sans_serif_family=family,
            monospace_family=family,
        )
        yield lambda svg: open_image(io.BytesIO(render(svg_string=svg))).convert("RGB")
