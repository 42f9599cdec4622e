"""What was installed with the package: its version, the folders that it brings, and the libraries of its extras."""

from __future__ import annotations

import importlib.metadata
import importlib.resources
import importlib.util
import re
from pathlib import Path

from sgp.errors import MissingLibrary, StoreError

_OTHERWISE = {"PIL": "pillow", "sklearn": "scikit-learn", "umap": "umap-learn", "_wlplan": "wlplan"}


def version() -> str:
    """The version of the package; "unknown" for a checkout on the path that was not installed."""
    try:
        return importlib.metadata.version("sgp")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def bundled(name: str) -> Path:
    """A folder that comes with the package, `data` or `dashboard`.

    It stands inside an installed package, and beside the package in a checkout. Raises StoreError where it is missing.
    """
    package = Path(str(importlib.resources.files("sgp")))
    for folder in (package / "bundled" / name, package.parent / name):
        if folder.is_dir():
            return folder
    raise StoreError(f"the folder '{name}' of the package is missing beside {package}; install the package again")


def has_dashboard() -> bool:
    """Whether the libraries of the dashboard are installed: the extra `dashboard`."""
    return all(importlib.util.find_spec(module) is not None for module in ("streamlit", "sklearn"))


def requirement(module: str) -> str:
    """What to install for a module: the smallest extra of the package that brings it, or else the library itself."""
    library = _OTHERWISE.get(module, module).replace("_", "-").lower()
    try:
        lines = importlib.metadata.requires("sgp") or ()
    except importlib.metadata.PackageNotFoundError:  # a checkout on the path that was not installed
        return library
    extras: dict[str, list[str]] = {}  # the libraries that each brings
    for line in lines:
        name, extra = re.match(r"[\w.-]+", line), re.search(r"extra == ['\"]([\w-]+)['\"]", line)
        if name and extra:
            extras.setdefault(extra.group(1), []).append(name.group().lower().replace("_", "-"))
    bringing = [extra for extra, libraries in extras.items() if library in libraries]
    return f"sgp[{min(bringing, key=lambda extra: len(extras[extra]))}]" if bringing else library


def missing(what: str, error: ModuleNotFoundError) -> MissingLibrary | None:
    """What is raised where `what` needs a library that is not installed; None where a module of our own is missing."""
    library = (error.name or "").partition(".")[0]
    if library in ("", "sgp"):
        return None
    return MissingLibrary(lacking(what, library))


def lacking(what: str, library: str) -> str:
    """The sentence for a library that is not installed, with the command that installs it."""
    return (
        f"{what} needs the library {library}, which is not installed; install it with "
        f"'pip install \"{requirement(library)}\"'"
    )
