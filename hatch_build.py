"""Build hook: compiles the kernels into the wheel, and into the checkout of an editable installation."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelHook(BuildHookInterface[Any]):
    """Adds the extension module of the kernels to the wheel."""

    def dependencies(self) -> list[str]:
        """Return what the build needs besides hatchling: the imports of the kernels' modules, numba, a C compiler."""
        needed = [
            "filelock",
            "numba>=0.61",
            "numpy>=2",
            "platformdirs",
            "setuptools",
        ]
        has_compilers = os.environ.get("CC") or (shutil.which("cc") and shutil.which("c++"))
        return needed if has_compilers else [*needed, "ziglang"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the extension module. Without Python's headers there is none, and kernels run as Python, slowly."""
        sys.path.insert(0, self.root)
        from sgp.ahead_of_time import build
        from sgp.compilation import missing_tool

        if missing := missing_tool():
            self.app.display_warning(f"kernels are not compiled and will run slowly, because {missing} is missing")
            return
        file = build(Path(self.root, "sgp"))
        if version != "editable":
            build_data.update(pure_python=False, infer_tag=True)
            build_data["force_include"][str(file)] = f"sgp/{file.name}"
