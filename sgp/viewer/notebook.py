"""The player in a cell of a notebook: the script of the dashboard and of the exported page, hosted by anywidget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlencode

import anywidget
import traitlets

from sgp.datasets.recorded import Recorded
from sgp.errors import InputError
from sgp.viewer.comparison import comparison
from sgp.viewer.export import recorded, script
from sgp.viewer.library import own_rollouts_folder, recorded_folder, recorded_rollouts
from sgp.viewer.playback import playback

if TYPE_CHECKING:
    from sgp.planning.rollout import Rollout

DASHBOARD = "http://localhost:8501"


class Player(anywidget.AnyWidget):
    """A rollout in a cell.

    `step` is the player's position, from 1; one past the last step is the end. Setting it moves the player; a step that
    does not exist raises TraitError. `link` is the rollout's address in the dashboard without the step, empty if the
    dashboard does not have it.
    """

    _esm = script("player")
    first: ClassVar = 1
    data = traitlets.Dict().tag(sync=True)
    step = traitlets.Int(1).tag(sync=True)
    link = traitlets.Unicode("").tag(sync=True)

    @property
    def last(self) -> int:
        """The greatest value of `step`."""
        return len(self.data["steps"]) + 1

    @traitlets.validate("step")
    def _there(self, proposal: Any) -> int:
        step: int = proposal["value"]
        if not self.first <= step <= self.last:
            raise traitlets.TraitError(f"there is no step {step}; choose one from {self.first} to {self.last}")
        return step

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.data['problem']!r}, step={self.step} of {self.last})"


class Comparison(Player):
    """Two rollouts of one problem in a cell, with one scrubber; `step` is the number of actions taken, from 0."""

    _esm = script("compare")
    first: ClassVar = 0
    step = traitlets.Int(0).tag(sync=True)

    @property
    def last(self) -> int:
        """The greatest value of `step`."""
        return int(self.data["length"])


def show(
    rollout: Rollout | Recorded | Path | str,
    beside: Rollout | Recorded | Path | str | None = None,
    step: int | None = None,
    about: Mapping[str, Any] | None = None,
    dashboard: str = DASHBOARD,
) -> Player:
    """The player of a rollout (of a file: its first one) for a notebook.

    With `beside`, two rollouts are compared. `step` is the initial position. `about` names the model of a rollout that
    was not recorded (fields of `Subject`); `sgp.data.as_recorded` adds explanations. If the dashboard (at the address
    `dashboard`) has the rollout, a link opens the same step there. Raises InputError for rollouts of two problems and
    for a file without a rollout, StoreError for a damaged record.
    """
    left = recorded(rollout, about)
    if beside is None:
        player = Player(data=playback(left), link=_link(dashboard, left))
    else:
        right = recorded(beside)
        player = Comparison(data=comparison(left, right), link=_link(dashboard, left, right))
    if step is not None:
        player.step = step
    return player


@dataclass(frozen=True)
class Link:
    """An address in the dashboard; a notebook displays it as a link."""

    address: str
    words: str = "Open this step in the dashboard"

    def _repr_markdown_(self) -> str:
        return f"[{self.words}]({self.address}) (`sgp dashboard` serves it)"


def link(rollout: Recorded | Path | str, step: int = 1, dashboard: str = DASHBOARD) -> Link:
    """The address of a recorded rollout's step (from 1) in the dashboard."""
    found = recorded(rollout)
    address = _link(dashboard, found)
    if not address:
        raise InputError(
            f"the dashboard does not have {found.source}; put the file into {own_rollouts_folder()} to see it there"
        )
    if not 1 <= step <= len(found.steps) + 1:
        raise InputError(f"there is no step {step}; choose one from 1 to {len(found.steps) + 1}")
    return Link(f"{address}&step={step}")


def _link(dashboard: str, *shown: Recorded) -> str:
    """The dashboard's address of one rollout, or of two on page Compare; empty if it does not have them."""
    folders = (recorded_folder(), own_rollouts_folder())
    if any(Path(each.source).parent not in folders for each in shown):
        return ""
    library = recorded_rollouts(*folders)
    address = library.address_of(shown[0])
    if len(shown) == 1:
        return f"{dashboard}/?{urlencode(address)}"
    # A rollout that is not in the library is an expert's plan, whose title has no outcome.
    titles = [library.address_of(each)["model"] if each in library.rollouts else each.about.model for each in shown]
    sides = dict(zip(("left", "right"), titles, strict=True))
    return f"{dashboard}/compare?{urlencode({'domain': address['domain'], 'problem': address['problem'], **sides})}"
