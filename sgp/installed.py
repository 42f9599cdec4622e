"""Version, bundled folders and optional libraries of the installed package."""

from __future__ import annotations

import importlib.metadata
import importlib.resources
import importlib.util
import re
from pathlib import Path

from sgp.errors import MissingLibrary, StoreError

DISTRIBUTION = "sgp-planning"  # imported as sgp
_OTHERWISE = {"PIL": "pillow", "sklearn": "scikit-learn", "umap": "umap-learn"}


def version() -> str:
    """Version of the package; "unknown" for a checkout that is not installed."""
    try:
        return importlib.metadata.version(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def bundled(name: str) -> Path:
    """Folder bundled with the package: `data` or `dashboard`."""
    package = Path(str(importlib.resources.files("sgp")))
    for folder in (package / "bundled" / name, package.parent / name):
        if folder.is_dir():
            return folder
    raise StoreError(f"the folder '{name}' of the package is missing beside {package}; install the package again")


def has_dashboard() -> bool:
    """Whether the libraries of the dashboard are installed: the extra `dashboard`."""
    return all(importlib.util.find_spec(module) is not None for module in ("streamlit", "sklearn"))


def requirement(module: str) -> str:
    """Return the smallest extra of the package that includes a module's library, or else the library itself."""
    library = _OTHERWISE.get(module, module).replace("_", "-").lower()
    try:
        lines = importlib.metadata.requires(DISTRIBUTION) or ()
    except importlib.metadata.PackageNotFoundError:  # a checkout that is not installed
        return library
    extras: dict[str, list[str]] = {}  # libraries by extra
    for line in lines:
        name, extra = re.match(r"[\w.-]+", line), re.search(r"extra == ['\"]([\w-]+)['\"]", line)
        if name and extra:
            extras.setdefault(extra.group(1), []).append(name.group().lower().replace("_", "-"))
    bringing = [extra for extra, libraries in extras.items() if library in libraries]
    return f"{DISTRIBUTION}[{min(bringing, key=lambda extra: len(extras[extra]))}]" if bringing else library


def missing(what: str, error: ModuleNotFoundError) -> MissingLibrary | None:
    """Return the error for a library that `what` needs, or None if the missing module is part of sgp."""
    library = (error.name or "").partition(".")[0]
    if library in ("", "sgp"):
        return None
    return MissingLibrary(lacking(what, library))


def lacking(what: str, library: str) -> str:
    """Message for a library that is not installed, with the command that installs it."""
    return (
        f"{what} needs the library {library}, which is not installed; install it with "
        f"'pip install \"{requirement(library)}\"'"
    )
