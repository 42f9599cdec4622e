"""Data of the pages, cached and shared by all sessions; no page changes them."""

import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path

import pandas
import streamlit as st
from basics import plain

import sgp
from sgp.datasets.recorded import Recorded
from sgp.datasets.subject import PlannerName
from sgp.evaluation.scores import PLANNER
from sgp.reports.papers import beside_ours
from sgp.viewer.library import planner_name, planner_words
from sgp.viewer.playback import playback


def stamp() -> str:
    """A hash of the names, times and sizes of recorded rollouts and maps; it changes with the files."""
    return _stamp_of(folders())


def retrieved_stamp() -> str:
    """The same for recorded retrievals."""
    return _stamp_of(retrieved_folders())


def _stamp_of(those: tuple[Path, Path]) -> str:
    files = [file for folder in those for file in sorted(folder.glob("*.json*"))]
    facts = ((str(each), each.stat().st_mtime_ns, each.stat().st_size) for each in files)
    return sha256(repr(tuple(facts)).encode()).hexdigest()


def retrieved_folders() -> tuple[Path, Path]:
    """The folders of recorded retrievals: the package's and the user's own."""
    return sgp.viewer.retrieved_folder(), sgp.viewer.own_retrieved_folder()


def folders() -> tuple[Path, Path]:
    """The folders of recorded rollouts: the package's and the user's own."""
    return sgp.viewer.recorded_folder(), sgp.data.own_rollouts_folder()


def library() -> sgp.viewer.Library:
    """The recorded rollouts, read again when a file changes."""
    return _library(stamp())


@st.cache_resource(show_spinner="Reading the recorded rollouts", max_entries=4)
def _library(stamp: str) -> sgp.viewer.Library:
    return sgp.recorded_rollouts(*folders())


def rollout_of(row) -> Recorded | None:
    """The recorded rollout of an attempt (a row of `attempts`)."""
    seed = None if pandas.isna(row.seed) else row.seed
    wanted = (row.planner, row.domain, row.suite, row.split, seed, row.problem)
    for each in library().rollouts:
        about = each.about
        if (about.planner.title, about.domain, about.suite, about.split, about.seed, each.head.get("name")) == wanted:
            return each
    return None


def player_data(recorded: Recorded) -> dict:
    """The player's data of a rollout, not copied: copying takes longer than a step."""
    return _player_data(recorded, recorded.place, stamp())


@st.cache_resource(show_spinner=False, max_entries=64)
def _player_data(_recorded: Recorded, place: str, stamp: str) -> dict:
    return playback(_recorded)


@st.cache_resource(show_spinner=False)
def measured() -> pandas.DataFrame:
    """The measured scores of the data folder."""
    return sgp.load_scores()


def scores_of(domain: str, planner: PlannerName) -> pandas.DataFrame:
    """The measured scores of a planner in a domain."""
    scores = measured()
    return scores[(scores["domain"] == domain) & (scores["planner"] == planner.title)]


def name_of(row) -> str:
    """The name to read of the planner of a score or attempt."""
    return planner_name(PlannerName(*(getattr(row, column) for column in PLANNER)))


def names_of(rows: pandas.DataFrame) -> dict[str, str]:
    """The names to read of the planners in scores or attempts, by title."""
    return {row.planner: name_of(row) for row in rows.drop_duplicates("planner").itertuples()}


FAMILIES = ("fast-downward", "goal-count", "contrastive-jumps")  # after the suite's own method; the others follow


def family(suite: str, method: str) -> tuple[int, str]:
    """The place of a method among those of a suite: the suite's own one first, then baselines, as a sort key."""
    first = (suite, *FAMILIES)
    return first.index(method) if method in first else len(first), method


def words_in(names: Iterable[str]) -> dict[str, str]:
    """The known words in names of planners and splits with their meanings."""
    known = planner_words("meanings")
    parts = {part for name in names for part in re.split(r"[ +=]", name)}
    parts |= {piece for part in parts - set(known) for piece in part.split("-")}
    return {word: meaning for word, meaning in known.items() if word in parts}


def about(name: str) -> str:
    """What the words in a name mean, a line each."""
    return "\n".join(f"{word}: {meaning}" for word, meaning in words_in([name]).items())


def about_all(titles: Iterable[str]) -> str:
    """What the words in names of planners and splits mean, as a list in Markdown."""
    names = planner_words("names")
    rows = ((names.get(word) or word, word, meaning) for word, meaning in words_in(titles).items())
    return "\n".join(
        f"- **{plain(name)}**{f' ({plain(word)})' * (name != word)}: {plain(meaning)}" for name, word, meaning in rows
    )


def bound(label: str, options: Sequence[str], name: str, default: int = 0) -> str:
    """A select box bound to the address's parameter `name`; check the link first."""
    return str(st.selectbox(label, options, index=default, key=name, bind="query-params"))


@st.cache_resource(show_spinner=False)
def attempts() -> pandas.DataFrame:
    """The attempts behind the measured scores."""
    return sgp.load_attempts()


@st.cache_resource(show_spinner=False)
def published() -> pandas.DataFrame:
    """The published numbers shown beside ours."""
    return beside_ours()


@st.cache_resource(show_spinner=False)
def scaling() -> pandas.DataFrame:
    """The measured curves over size, and the published numbers on scaling."""
    theirs = beside_ours()
    return pandas.concat([sgp.load_scores("measured/scaling"), theirs[theirs["split"] == "scaling"]])
