"""What the pages read, kept between requests and shared by all sessions: nothing here is changed by a page."""

from hashlib import sha256
from pathlib import Path

import streamlit as st

import sgp


def stamp() -> str:
    """What tells the files of recorded rollouts and their maps, with time and size: another one means a new file.

    It is short, since what is kept by it is looked up by it many times a page.
    """
    return _stamp_of(folders())


def retrieved_stamp() -> str:
    """The same of recorded retrievals."""
    return _stamp_of(retrieved_folders())


def _stamp_of(those: tuple[Path, Path]) -> str:
    files = [file for folder in those for file in sorted(folder.glob("*.json*"))]
    told = ((str(each), each.stat().st_mtime_ns, each.stat().st_size) for each in files)
    return sha256(repr(tuple(told)).encode()).hexdigest()


def retrieved_folders() -> tuple[Path, Path]:
    """Where recorded retrievals lie: those that come with the package, and the user's own."""
    return sgp.retrieved_folder(), sgp.own_retrieved_folder()


def folders() -> tuple[Path, Path]:
    """Where recorded rollouts lie: those that come with the package, and the user's own."""
    return sgp.recorded_folder(), sgp.own_rollouts_folder()


def library() -> sgp.Library:
    """The recorded rollouts, read again when a file changes."""
    return _library(stamp())


@st.cache_resource(show_spinner="Reading the recorded rollouts", max_entries=4)
def _library(stamp: str) -> sgp.Library:
    return sgp.recorded_rollouts(*folders())


def player_data(recorded: sgp.Recorded) -> dict:
    """The player's data of a rollout, which nobody changes: copying it would take longer than stepping."""
    return _player_data(recorded, recorded.place, stamp())


@st.cache_resource(show_spinner=False, max_entries=64)
def _player_data(_recorded: sgp.Recorded, place: str, stamp: str) -> dict:
    return sgp.playback(_recorded)


@st.cache_resource(show_spinner=False)
def measured() -> list[sgp.Score]:
    """The committed scores."""
    return sgp.measured()


@st.cache_resource(show_spinner=False)
def attempts() -> list[sgp.AttemptRow]:
    """The attempts behind the committed scores."""
    return sgp.measured_attempts()


@st.cache_resource(show_spinner=False)
def published() -> list[sgp.Score]:
    """The published coverages that stand beside ours."""
    return [score for score in sgp.beside_ours() if score.metric == "coverage"]


@st.cache_resource(show_spinner=False)
def measured_scaling() -> list[sgp.Score]:
    """The committed curves over size."""
    return sgp.measured_scaling()


@st.cache_resource(show_spinner=False)
def published_scaling() -> list[sgp.Score]:
    """The published numbers on scaling that stand beside ours."""
    return [score for score in sgp.beside_ours() if sgp.is_scaling(score)]
