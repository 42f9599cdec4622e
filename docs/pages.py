"""Executed notebooks for pages without a kernel: players and plots become what a browser shows by itself."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import nbformat
import plotly.io
from nbformat import NotebookNode

import sgp
from sgp.errors import InputError
from sgp.files import write_text

PLOT = "application/vnd.plotly.v1+json"
VIEW = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"
PICTURE = "image/svg+xml"
PLOTLY = '<script src="../plotly.js"></script>\n'  # as seen from the page of a notebook


def for_the_site(notebook: NotebookNode, name: str, players: Path) -> NotebookNode:
    """A copy whose plots, pictures and players are HTML; each player's page is written into the folder `players`.

    Raises InputError for a widget that is no player: without a kernel there is nothing to show of it.
    """
    shown = nbformat.from_dict(notebook)
    states = shown.metadata.pop("widgets", {}).get(STATE, {}).get("state", {})
    before_first_plot = PLOTLY
    outputs = ((place, output) for place, cell in enumerate(shown.cells) for output in cell.get("outputs", []))
    for number, (place, output) in enumerate(outputs, start=1):
        data = output.get("data", {})
        if VIEW in data:
            widget = states[data[VIEW]["model_id"]]["state"]
            if "data" not in widget or "step" not in widget:
                raise InputError(
                    f"{name}, cell {place + 1} shows a widget that is no player of 'sgp.show'; "
                    "the site has no kernel for it, show a picture or a table"
                )
            address = f"{name}-{number}.html"
            write_text(players / address, sgp.viewer.html_page(widget["data"]))
            markup = _player(address, widget)
        elif PLOT in data:
            markup = before_first_plot + _plot(data[PLOT], f"plot-{number}")
            before_first_plot = ""
        elif PICTURE in data:
            markup = f'<div class="picture">{data[PICTURE]}</div>'
        else:
            continue
        output["data"] = nbformat.from_dict({"text/html": markup})
    return shown


def _plot(figure: Mapping[str, Any], name: str) -> str:
    """A plot's element and the call that draws it."""
    title = figure["layout"].get("title", {}).get("text", "plot")
    drawn = plotly.io.to_html(
        {"data": figure["data"], "layout": figure["layout"]},
        include_plotlyjs=False,
        full_html=False,
        validate=False,
        div_id=name,
        default_height=450,
        config={"responsive": True, "displaylogo": False},
    )
    return f'<div class="plot" role="figure" aria-label="{escape(title)}">{drawn}</div>'


def _player(address: str, widget: Mapping[str, Any]) -> str:
    """A player's frame, at the step where the notebook opened it, and a link to the same page alone."""
    data, place = widget["data"], f"../players/{address}#step={widget['step']}"
    title = escape(f"Rollout of {data['problem']}")
    return (
        f'<iframe class="player" title="{title}" src="{place}" loading="lazy"></iframe>'
        f'<p class="alone"><a href="{place}">The player on a page of its own</a></p>'
    )
