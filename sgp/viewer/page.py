"""A rollout as one HTML file with the player in it, which needs nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgp.errors import InputError
from sgp.files import write_text
from sgp.planning.recorded import Recorded, read_recorded
from sgp.viewer.playback import playback

if TYPE_CHECKING:
    from sgp.planning.rollout import Rollout

# The policy lets nothing in from outside, whatever a name in the data may look like.
_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; \
style-src 'unsafe-inline'; img-src data:">
<title>{title}</title>
<style>:root {{ color-scheme: light dark; }} body {{ margin: 0; background: light-dark(#fff, #14171c); }}
#player {{ max-width: 1500px; margin: 0 auto; padding: 14px 18px; }}</style>
</head>
<body>
<div id="player"></div>
<noscript>The player needs JavaScript.</noscript>
<script type="application/json" id="rollout">{data}</script>
<script type="module">
{script}
openPage();
</script>
</body>
</html>
"""


_SHARED = ("elements", "motion", "style", "marks", "transport", "hosts")


@cache
def player_script() -> str:
    """The player's JavaScript, an ES module for Streamlit's components v2, anywidget and the exported page."""
    return _script(*_SHARED, "board", "candidates", "reasons", "coverage", "curves", "map", "player")


@cache
def compare_script() -> str:
    """The JavaScript of two rollouts side by side, an ES module for Streamlit's components v2 and anywidget."""
    return _script(*_SHARED, "candidates", "map", "compare")


@cache
def guess_script() -> str:
    """The JavaScript in which a user guesses the model's choices, an ES module for Streamlit's components v2."""
    return _script(*_SHARED, "guess")


def _script(*names: str) -> str:
    """The files joined, the last one with the exports: a module that is given as text can import no other."""
    return "\n".join((Path(__file__).parent / f"{name}.js").read_text(encoding="utf-8") for name in names)


def html_page(data: dict[str, Any]) -> str:
    """The page that plays a rollout's data (`playback`), or that of two beside each other (`comparison`)."""
    # A name may hold "</script>" or "<!--": inside JSON every "<" can be written so that no parser of HTML sees it.
    embedded = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    compared = "sides" in data
    models = " and ".join(side["model"] for side in data["sides"]) if compared else data["model"]
    title = escape(f"{data['problem']}: {models}")
    return _PAGE.format(title=title, data=embedded, script=compare_script() if compared else player_script())


def export_html(
    rollout: Rollout | Recorded | Path | str, path: Path | str, about: Mapping[str, Any] | None = None
) -> None:
    """Writes a rollout, or the first one of a recorded file, as one self-contained HTML page.

    `about` says which model made a rollout that was not read from a file (fields of `Subject`). Raises StoreError for a
    file that is no record, and InputError for one that holds no rollout.
    """
    write_text(path, html_page(playback(recorded(rollout, about))))


def recorded(rollout: Rollout | Recorded | Path | str, about: Mapping[str, Any] | None = None) -> Recorded:
    """A rollout as a file holds it: a living one written down, or the first one of a file; raises as `export_html`."""
    if isinstance(rollout, Recorded):
        return rollout
    if isinstance(rollout, Path | str):
        found = read_recorded(rollout)
        if not found:
            raise InputError(f"{rollout} holds no rollout; give a file that 'sgp solve --rollout' wrote")
        return found[0]
    from sgp.planning.recording import records  # a living rollout has the planning library with it

    head, *steps = records(rollout, about)
    return Recorded(rollout.task.name, 1, head, tuple(steps))
