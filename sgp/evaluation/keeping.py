"""Rollouts of an evaluation, kept as files that the dashboard shows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sgp.planning.subject import Subject

if TYPE_CHECKING:
    from sgp.planning.planner import Keep
    from sgp.planning.rollout import Rollout

_NOT_IN_FILE_NAMES = re.compile(r"[^\w.+=-]+")


@dataclass(frozen=True)
class Keeping:
    """A folder to keep rollouts in, a file for each, which model makes them, and what is kept of each step."""

    folder: Path
    about: Subject
    what: Keep = "auto"

    def path(self, problem: str) -> Path:
        """The file of a problem's rollout: another model, decoding, suite, split or problem has another."""
        about = self.about
        seed = "" if about.seed is None else f"seed{about.seed}"
        words = filter(None, (about.domain, *about.planner, seed, about.suite, about.split, problem))
        return self.folder / f"{_NOT_IN_FILE_NAMES.sub('_', '-'.join(words))}.jsonl"

    def keep(self, rollout: Rollout) -> None:
        """Writes a rollout, in place of an older one.

        Notes of the policies (predicted embeddings) are left out: they are most of a file, and the viewer shows none.
        """
        from sgp.planning.recording import write_rollouts

        write_rollouts(self.path(rollout.task.name), [rollout.without_notes()], self.about.record())
