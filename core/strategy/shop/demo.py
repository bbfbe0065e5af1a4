"""What the layers are worth, in our own numbers: the flat baseline, then one, two and three layers (S8, S14, S39, S5).

Every arm serves the same visits with the same fates; utterances are held out; time is virtual. Nothing is hard-coded:
what comes out is told, with its spread over seeds, and each arm beside the one before it on the same visits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from statistics import fmean
from typing import Any

from core.statistics.intervals import over_clusters
from core.strategy.execution.records import Execution
from core.strategy.governance.advisor import advise
from core.strategy.shop.banks import VERSIONS, Layers, bank_files, replayed_files
from core.strategy.shop.mistriggers import Share, measure
from core.strategy.shop.serving import FLAT, FLAT_MODEL, Arm, Served, compiled, layered_bank, serve
from core.strategy.shop.talk import BUTTONS, TASKS, Model
from core.strategy.shop.toolbox import schemas
from core.strategy.shop.visits import MIX, World

SEEDS = 20
REPORTED: Mapping[str, str] = {
    "S14 mis-triggers": "34 % by keywords, 9 % with confidence, 2.3 % with memory",
    "S39 pseudo-success": "17.2 % caught, in finance",
    "S8 flat baseline": "47 skills: wrong tool three times, 22 s",
    "S131 success": "+27.6 %",
}
"""What the account says of its own system. Ours is measured in a simulator and is not to be compared by size."""
Rows = Sequence[Sequence[Served]]
"""Visits by seed."""
Name = Layers | str
LAYERS: tuple[Layers, ...] = (1, 2, 3)
SILENT = "three, never asks"
"""All layers without the strategy that asks what is wanted: how much of the gain is a customer who answers well."""
ASKS = "service/service.unsure.yaml"
REFUND = "refund"


def run_demo(seeds: int | Sequence[int] = SEEDS, model: Model | None = None) -> dict[str, Any]:
    """Return the whole of it as plain JSON. `seeds` is a number of seeds or the seeds themselves, two at least."""
    chosen = tuple(range(seeds)) if isinstance(seeds, int) else tuple(seeds)
    if len(chosen) < 2:
        raise ValueError("a spread over seeds needs two of them")
    return asyncio.run(_demo(chosen, model or Model()))


async def _demo(seeds: Sequence[int], model: Model) -> dict[str, Any]:
    shop = await _arms("shop", seeds, model, (FLAT, *LAYERS))
    kiosk = await _arms("kiosk", seeds, BUTTONS, (FLAT, *LAYERS))
    others = await _arms("shop", seeds, model, (FLAT_MODEL, SILENT))
    past: dict[int, Rows] = {}
    for version in VERSIONS:
        bank = compiled(replayed_files(version))
        past[version] = [await serve(bank, seed, model=model, task=REFUND) for seed in seeds]
    return {
        "seeds": len(seeds),
        "visits": sum(map(len, shop[FLAT])),
        "ablation": _ablation(shop),
        "others": [{"layers": name, **_row(rows)} for name, rows in others.items()],
        "mistriggers": [_share(share) for share in measure(seeds, model)],
        "history": [{"version": version, **_row(rows)} for version, rows in past.items()],
        "advice": {"shop": _advice(shop[3]), "by_task": {task: _by_task(shop, task) for task in MIX["shop"]}},
        "kiosk": {"ablation": _ablation(kiosk), "advice": _advice(kiosk[3])},
        "reported": dict(REPORTED),
    }


async def _arms(
    world: World, seeds: Sequence[int], model: Model, names: Sequence[Name]
) -> dict[Name, list[tuple[Served, ...]]]:
    return {name: await _rows(_arm(name), seeds, model, world) for name in names}


async def _rows(arm: Arm, seeds: Sequence[int], model: Model, world: World = "shop") -> list[tuple[Served, ...]]:
    return [await serve(arm, seed, world, model) for seed in seeds]


def _arm(name: Name) -> Arm:
    if name == SILENT:
        return compiled({file: text for file, text in bank_files().items() if file != ASKS})
    if isinstance(name, int):
        return layered_bank(name)
    return FLAT if name == FLAT else FLAT_MODEL


def _share(share: Share) -> dict[str, Any]:
    return {**asdict(share), "interval": list(share.interval) if share.interval else None}


def _advice(rows: Rows) -> dict[str, Any]:
    """Return what the advisor says of what was seen with all layers (S5, S6)."""
    every = [one for served in rows for one in served]
    kinds = {one.visit.task for one in every if one.visit.task in TASKS}
    advice = advise((run for one in every for run in one.executions), skills=len(schemas()), kinds=len(kinds))
    return {**asdict(advice), "layers": list(advice.layers)}


def _by_task(arms: Mapping[Name, Rows], task: str) -> dict[str, Any]:
    """Return the advice for one task beside what plans really brought there: the rule of thumb can be wrong."""
    two, three = (_of_task(arms[layers], task) for layers in (2, 3))
    first = [[replace(one, executions=_of_first_turn(one)) for one in served] for served in three]
    advice = _advice(first)
    return {**{key: advice[key] for key in ("size", "calls", "branches")}, "gain": _gain(two, three)}


def _of_first_turn(one: Served) -> tuple[Execution, ...]:
    return tuple(run for run in one.executions if run.turn == 1)


def _ablation(arms: Mapping[Name, Rows]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    before: Rows | None = None
    for name, served in arms.items():
        rows.append({"layers": name, **_row(served), "gain": _gain(before, served)})
        before = served
    return rows


def _row(rows: Rows) -> dict[str, Any]:
    """Return one arm's numbers: shares of visits or of turns, milliseconds; None where nothing was counted."""
    every = [one for served in rows for one in served]
    claimed = [one for one in every if one.claimed]
    spread = over_clusters([[float(one.success) for one in served] for served in rows])
    return {
        "success": fmean(one.success for one in every),
        "interval": [max(0.0, spread.low), min(1.0, spread.high)] if spread else None,
        "solved": fmean(one.verdict == "solved" for one in every),
        "wrong": fmean(one.verdict == "wrong" for one in every),
        "handed": fmean(one.handed for one in every),
        "mistriggers": sum(one.mistriggered for one in every) / sum(one.turns for one in every),
        "pseudo_success": fmean(one.pseudo for one in claimed) if claimed else None,
        "latency_ms": fmean(one.latency_ms for one in every),
        "questions": fmean(one.questions for one in every),
    }


def _gain(before: Rows | None, after: Rows) -> dict[str, Any] | None:
    """Return how much more often an arm succeeds than the one before it, on the same visits; Student's over seeds."""
    if before is None:
        return None
    pairs = [
        [float(new.success) - float(old.success) for old, new in zip(first, second, strict=True)]
        for first, second in zip(before, after, strict=True)
    ]
    spread = over_clusters(pairs)
    difference = fmean(value for values in pairs for value in values)
    return {"difference": difference, "interval": [spread.low, spread.high] if spread else None}


def _of_task(rows: Rows, task: str) -> Rows:
    return [[one for one in served if one.visit.task == task] for served in rows]
