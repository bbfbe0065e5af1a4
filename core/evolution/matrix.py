"""A matrix of cells, filled in parallel; only what is missing is run (EVOLUTION 3.5 no. 61; DECISIONS 12, 16)."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Sequence

from core.evolution.cell_context import MatrixContext
from core.evolution.cells import CellRequest, CellResult, known_cells
from core.evolution.evaluator import evaluate_cell
from core.evolution.evaluator_tools import PermanentFailureError
from core.foundation.errors import BlockedError, ExuviaError


async def run_cells(cells: Sequence[CellRequest], context: MatrixContext) -> tuple[CellResult, ...]:
    """Fill `cells`, at most `context.concurrency` at a time, and return their results in the order asked for.

    A cell that the journal knows as scored is not run again. Where a model answers that no request can succeed any
    more (a bad key, a model that is gone), this machine refuses (a full disk, a directory that may not be written), or
    a budget is used up, no further cell is started, finished ones stay, and BlockedError says so.
    """
    known = known_cells(context.events)
    waiting = [cell for cell in cells if cell.cell_id not in known.results]
    for cell in waiting:
        context.emit("cell", **cell.fields(), state="queued")
    results = {cell.cell_id: known.results[cell.cell_id] for cell in cells if cell.cell_id in known.results}
    places = asyncio.Semaphore(context.concurrency)
    hopeless: list[PermanentFailureError] = []
    broken: list[Exception] = []
    spent: list[str] = []

    async def fill(cell: CellRequest) -> None:
        async with places:
            if hopeless or broken or spent:
                return
            if (used := context.over_budget()) is not None:
                spent.append(used)
                return
            try:
                results[cell.cell_id] = await evaluate_cell(cell, context, known)
            except PermanentFailureError as error:
                hopeless.append(error)
            except Exception as error:
                if not isinstance(error, ExuviaError | OSError):
                    traceback.print_exc()  # a fault of our own; the log has it whole
                broken.append(error)

    async with asyncio.TaskGroup() as group:
        for cell in waiting:
            group.create_task(fill(cell))
    if hopeless:
        raise BlockedError(
            f"The model {context.model.provider} / {context.model.model_id} refuses every request: {hopeless[0]}",
            hint="Mend the key or the model, then resume the run; finished cells stay.",
        )
    if broken:
        error = broken[0]
        told = str(error) if isinstance(error, ExuviaError | OSError) else f"a fault of the engine itself, {error!r}"
        hint = error.hint if isinstance(error, ExuviaError) else ""
        raise BlockedError(
            f"The cells could not be run here: {told}",
            hint=f"{hint} Mend it, then resume the run; finished cells stay.".strip(),
        ) from error
    if spent:
        raise BlockedError(
            f"{spent[0]} {len(results)} of {len(cells)} cells are finished and stay.",
            hint="Resume the run to grant the budget once more.",
        )
    return tuple(results[cell.cell_id] for cell in cells)
