"""The entrance of the dashboard and of a static site as HTML: cards, and recorded rollouts with their last states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape

from sgp.datasets.recorded import Recorded
from sgp.planning.rollout import Outcome
from sgp.viewer.library import method_name, outcome_words, settings_words
from sgp.viewer.playback import drawn_state
from sgp.wording import counted

TITLE = "Learned generalized planning"
ABOUT = (
    "sgp trains planners on small problems and lets them solve larger ones of the same domain. Each rollout below is "
    "a recorded execution of a planner: step through its states, see what it chose from and how it ranked the "
    "candidates."
)
BELOW = (
    "The pictures show the last state of each rollout. The expert is the classical planner whose plans the models "
    "learn from; not all of its plans are shortest ones."
)


@dataclass(frozen=True)
class Entry:
    """A rollout in the gallery: the address of its page, the planner, and lengths in actions.

    `planner` is the planner's title, `method` and `settings` are its name to read, `ending` is the outcome in words.
    """

    address: str
    suite: str
    domain: str
    problem: str
    planner: str
    method: str
    settings: str
    solved: bool
    ending: str
    length: int
    expert: int | None
    svg: str

    @classmethod
    def of(cls, recorded: Recorded, address: str) -> Entry:
        """The entry of a rollout. Raises the errors of `drawn_state`."""
        with recorded.reading():
            about, head, steps = recorded.about, recorded.head, recorded.steps
            return cls(
                address,
                about.suite,
                about.domain or "other",
                str(head.get("name", "unnamed")),
                about.planner.title,
                method_name(about),
                settings_words(about.planner),
                head.get("outcome") == Outcome.SOLVED,
                outcome_words(str(head.get("outcome"))),
                sum(len(step["candidates"][step["chosen"]]["actions"]) for step in steps),
                len(head.get("expert") or ()) or None,
                drawn_state(recorded, len(steps) + 1),
            )


def link(address: str, words: str) -> str:
    """A link as HTML."""
    return f'<a href="{escape(address)}">{escape(words)}</a>'


def cards(step: str, failures: str, tour: str, stops: int) -> str:
    """Links to three ways to begin, as HTML: step through a plan, see failures, learn the method."""
    ways = (
        (step, "Step through a plan", "decision by decision, with the candidates of each"),
        (failures, "Why rollouts fail", "recorded rollouts that do not reach the goal"),
        (tour, "Learn the method", f"from a state to the chosen action, in {stops} stops"),
    )
    items = (f'<li><a href="{escape(to)}"><b>{title}</b>{escape(words)}</a></li>' for to, title, words in ways)
    return f"<ul class=cards>{''.join(items)}</ul>"


def gallery(entries: Iterable[Entry]) -> str:
    """Rollouts as HTML, each with what `site.js` filters by."""
    return f"<ul class=gallery>{''.join(map(''.join, map(_item, entries)))}</ul>"


def _item(entry: Entry) -> Iterator[str]:
    outcome = entry.ending if entry.solved else f"not solved\n{entry.ending}"
    length = counted(entry.length, "action") + ("" if entry.expert is None else f" (expert plan: {entry.expert})")
    ended = "solved" if entry.solved else f"not solved ({entry.ending})"
    yield f'<li data-domain="{escape(entry.domain)}" data-planner="{escape(entry.planner)}" '
    yield f'data-outcome="{escape(outcome)}"><a href="{escape(entry.address)}">'
    yield f"<div class=thumbnail aria-hidden=true>{entry.svg}</div>"
    yield f"<b>{escape(f'{entry.domain} {entry.problem}')}</b>"
    yield f'<span title="{escape(entry.planner)}">{escape(entry.method)}</span>'
    yield f"<small>{escape(entry.settings)}</small>" if entry.settings else ""
    yield f"<span>{escape(f'{ended}, {length}')}</span></a></li>"
