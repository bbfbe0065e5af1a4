"""The fast way to read a scoreboard that is written the plain way (EVOLUTION 2.2 no. 46), as its writers do.

A general YAML reader takes a second for ten thousand Runs. Here the head of each evaluation still goes through
`yaml12`, but its Cases are matched line by line against patterns so narrow that any text they accept means the same
to every YAML reader. Anything else (a comment, a quote, another order or indent) gives None, and the general reader
decides.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from pydantic import ValidationError

from core.state import yaml12
from core.state.evaluation import Evaluation

_OPENING = "evaluations:\n"
_ITEM = re.compile(r"^  - ", re.MULTILINE)
_CASES = "\n    cases:\n"
# A letter first and a hyphen later: never null, a boolean or a number to any reader.
_NAME = r"([A-Za-z][A-Za-z0-9_]*-[A-Za-z0-9_-]*)"
_NUMBER = r"((?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?)"
_WHOLE = r"(0|[1-9][0-9]{0,14})"


def _measures(pad: str) -> str:
    return rf"score: {_NUMBER}\n{pad}cost: (?:null|{_NUMBER})\n{pad}duration_ms: {_WHOLE}\n"


_CASE = re.compile(rf"      - case: {_NAME}\n        {_measures(' ' * 8)}        runs:\n")
_RUN = re.compile(rf"          - {_measures(' ' * 12)}            session_id: {_NAME}\n")


def read_plain(text: str) -> tuple[Evaluation, ...] | None:
    """Return the evaluations in `text`, None where it is not written plainly or an evaluation is not acceptable."""
    if not text.startswith(_OPENING + "  - ") or not text.endswith("\n"):
        return None
    starts = [match.start() for match in _ITEM.finditer(text)]
    found: list[Evaluation] = []
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        evaluation = _evaluation(text[start:end])
        if evaluation is None:
            return None
        found.append(evaluation)
    return tuple(found)


@lru_cache(maxsize=128)  # a scoreboard only grows: the evaluations before the new one are known
def _evaluation(item: str) -> Evaluation | None:
    at = item.find(_CASES)
    if at < 0:
        return None
    cases = _cases(item, at + len(_CASES))
    try:
        listed = yaml12.load(item[: at + 1])
        head = listed[0] if isinstance(listed, list) and len(listed) == 1 else None
        if cases is None or not isinstance(head, dict) or "cases" in head:
            return None
        return Evaluation.model_validate({**head, "cases": cases})
    except (yaml12.YamlError, ValidationError):
        return None


def _cases(item: str, at: int) -> list[dict[str, Any]] | None:
    """Return the Cases from `at` to the end, None where a line is anything else."""
    cases: list[dict[str, Any]] = []
    while at < len(item):
        case = _CASE.match(item, at)
        if case is None:
            return None
        at = case.end()
        runs: list[dict[str, Any]] = []
        while (run := _RUN.match(item, at)) is not None:
            runs.append({**_measured(run.group(1, 2, 3)), "session_id": run[4]})
            at = run.end()
        cases.append({"case": case[1], **_measured(case.group(2, 3, 4)), "runs": runs})
    return cases


def _measured(texts: tuple[str | None, ...]) -> dict[str, Any]:
    score, cost, duration = texts
    assert score is not None
    assert duration is not None
    return {"score": float(score), "cost": None if cost is None else float(cost), "duration_ms": int(duration)}
