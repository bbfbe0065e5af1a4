"""What the matrix reads in a thread: a cell, a file of its workspace. And the matrix as plain text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from textual.message import Message

from core.state.paths import ProjectPaths
from tui.stores.cell import CellPage, read_cell
from tui.stores.kept_files import Preview, preview
from tui.stores.matrix_page import Cell, MatrixPage, MatrixRow
from tui.stores.runs import Subject


class CellRead(Message):
    """What was found of a cell."""

    def __init__(self, cell: Cell, page: CellPage) -> None:
        self.cell, self.page = cell, page
        super().__init__()


class FileRead(Message):
    """The beginning of a file of a workspace."""

    def __init__(self, workspace: str, preview: Preview) -> None:
        self.workspace, self.preview = workspace, preview
        super().__init__()


def read_one(subject: Subject, cell: Cell) -> Callable[[ProjectPaths], Message]:
    """Return what reads a cell."""
    return lambda project: CellRead(cell, read_cell(project, subject, cell))


def read_preview(workspace: str, name: str) -> Callable[[ProjectPaths], Message]:
    """Return what reads the beginning of a file."""
    return lambda project: FileRead(workspace, preview(Path(workspace), name))


def grid_text(page: MatrixPage, rows: Sequence[MatrixRow]) -> str:
    """Return a matrix as lines with tabs, for a pager, a clipboard or a spreadsheet; a failure is a word, no number."""
    runs = [f"run {run}" for run in range(1, page.columns + 1)]
    lines = [page.title, "\t".join(["Case", *runs, "mean", page.spread_name, "delta"])]
    for row in rows:
        cells = [
            "" if cell is None else cell.state if cell.score is None else f"{cell.score:.2f}" for cell in row.cells
        ]
        cells += [""] * (page.columns - len(cells))
        sums = ["" if value is None else f"{value:.2f}" for value in (row.mean, row.spread, row.delta)]
        lines.append("\t".join([row.case_id, *cells, *sums]))
    return "\n".join(lines) + "\n"
