"""The player's JavaScript, and a rollout as one self-contained HTML file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, Literal

from sgp.errors import InputError
from sgp.files import write_text
from sgp.planning.recorded import Recorded, read_recorded
from sgp.viewer.playback import playback

if TYPE_CHECKING:
    from sgp.planning.rollout import Rollout

_SHARED = ("elements", "motion", "style", "marks", "transport", "hosts")
_PARTS = {
    "player": (*_SHARED, "board", "candidates", "reasons", "coverage", "curves", "map", "player"),
    "compare": (*_SHARED, "candidates", "map", "compare"),
    "guess": (*_SHARED, "guess"),
    "branches": ("branches",),
    "tour": ("tour",),
}


@cache
def script(name: Literal["player", "compare", "guess", "branches", "tour"]) -> str:
    """A view as one ES module for Streamlit; player and comparison also for anywidget and exported pages."""
    # One text, because a module given as text cannot import another; the last file has the exports.
    return "\n".join((Path(__file__).parent / f"{part}.js").read_text(encoding="utf-8") for part in _PARTS[name])


def html_page(data: dict[str, Any]) -> str:
    """The page that plays the data of a rollout (`playback`) or of two (`comparison`)."""
    # A name can contain "</script>" or "<!--": within JSON every "<" can be escaped.
    embedded = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    sides = data.get("sides", [data])
    title = escape(f"{data['problem']}: {' and '.join(side['model'] for side in sides)}")
    view = script("compare" if "sides" in data else "player")
    # The page's policy allows no external content, whatever the names in the data.
    page = Template((Path(__file__).parent / "page.html").read_text(encoding="utf-8"))
    return page.substitute(title=title, data=embedded, script=view)


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
    from sgp.planning.recording import records  # needs the planning library

    head, *steps = records(rollout, about)
    return Recorded(rollout.task.name, 1, head, tuple(steps))
