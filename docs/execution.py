"""Notebooks executed by a kernel, and their outputs kept for as long as their text is the same."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from sgp.files import write_text


class CellFailed(Exception):
    """A cell of a notebook raised an error, or its kernel died."""


@dataclass(frozen=True)
class Prepared:
    """A notebook as it will be executed: its file, and its content on the chosen path."""

    file: Path
    content: NotebookNode

    @property
    def sha256(self) -> str:
        """The hash of the cells' kinds and text."""
        return sha256("\0".join(f"{cell.cell_type}\0{cell.source}" for cell in self.content.cells).encode()).hexdigest()

    def place(self, folder: Path) -> Path:
        """Where the executed notebook is kept."""
        return folder / f"{self.file.stem}-{self.sha256[:16]}.ipynb"

    def kept(self, folder: Path) -> NotebookNode | None:
        """The executed notebook of before, or None."""
        place = self.place(folder)
        return nbformat.read(place, as_version=4) if place.exists() else None


def prepared(file: Path, full: bool) -> Prepared:
    """A notebook without outputs, on its fast path or, with `full`, with FAST = False in its cell `parameters`."""
    content = nbformat.read(file, as_version=4)
    for cell in content.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
            if full and "parameters" in cell.metadata.get("tags", []):
                cell.source = re.sub(r"^FAST = True\b", "FAST = False", cell.source, flags=re.MULTILINE)
    return Prepared(file, content)


def execute(notebook: Prepared, folder: Path) -> NotebookNode:
    """The notebook with its outputs, kept in a folder. Raises CellFailed with the cell, its text and the error."""
    content = nbformat.from_dict(notebook.content)
    at: list[int] = []
    client = NotebookClient(
        content,
        timeout=None,
        kernel_name="python3",
        resources={"metadata": {"path": str(notebook.file.parent)}},
        on_cell_start=lambda cell, cell_index: at.append(cell_index),
    )
    try:
        # Plots as data alone, without a script for each; bars of progress are for terminals.
        client.execute(env={**os.environ, "PLOTLY_RENDERER": "plotly_mimetype", "SGP_PROGRESS": "0"})
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        reason = f"{error.ename}: {error.evalue}" if isinstance(error, CellExecutionError) else str(error)
        number = at[-1] + 1
        text = content.cells[at[-1]].source
        raise CellFailed(f"{notebook.file}, cell {number} of {len(content.cells)}: {reason}\n{text}") from error
    write_text(notebook.place(folder), nbformat.writes(content))
    return content
