"""What makes each table and number of README and docs from the files under `data`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reading import Numbers
from sources_of_dashboard import DASHBOARD
from sources_of_data import DATA
from sources_of_installing import INSTALLING
from sources_of_library import LIBRARY
from sources_of_results import RESULTS
from sources_of_retrieval import RETRIEVAL
from sources_of_scaling import SCALING
from sources_of_settings import SETTINGS
from sources_of_transformers import TRANSFORMER_NUMBERS

SOURCES: Mapping[str, Callable[[], str | Numbers]] = {
    **DASHBOARD,
    **DATA,
    **INSTALLING,
    **LIBRARY,
    **RESULTS,
    **RETRIEVAL,
    **SCALING,
    **SETTINGS,
    **TRANSFORMER_NUMBERS,
}
