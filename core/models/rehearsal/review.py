"""The rehearsal Builder's review of a Case: it counts what can be counted and waives a finding only for a reason."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from core.models.rehearsal.builder_material import Examined
from core.models.rehearsal.transcript import Transcript

_FORMAT = re.compile(r"[,;|_./`{}<>=\[\]]|\d")


def findings_of(talk: Transcript) -> dict[str, list[Mapping[str, Any]]]:
    """Return the open findings, by Case, that the newest answer with findings reported."""
    for step in reversed(talk.steps):
        if step.name != "submit_revision" or step.answer is None or "findings" not in step.answer:
            continue
        found = step.answer["findings"]
        entries = (
            [{"case_id": case, **entry} for case, listed in found.items() for entry in listed]
            if isinstance(found, dict)
            else found
        )
        by_case: dict[str, list[Mapping[str, Any]]] = {}
        for entry in entries if isinstance(entries, list) else []:
            if isinstance(entry, dict):
                by_case.setdefault(str(entry.get("case_id", "")), []).append(entry)
        return by_case
    return {}


def is_format(text: str) -> bool:
    """Tell whether a shared text is a line of names and separators, not prose that gives something away."""
    return len(_FORMAT.findall(text)) >= max(2, text.strip().count(" "))


def review(case_id: str, counted: Examined | None, findings: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a Case's entry for `record_review`."""
    waivers, leaks = [], []
    for finding in findings:
        text = str(finding.get("text", ""))
        if is_format(text):
            name = finding.get("finding", finding.get("id", text))
            waivers.append({"finding": name, "reason": "a line of names or format that both sides must hold"})
        else:
            leaks.append(text)
    verdicts = {
        "statement_coherent": "ok",
        "rubric_consistent": "ok",
        "rubric_self_contained": "ok",
        "items_apply": "ok",
    }
    if counted is None:
        verdicts["statement_coherent"] = "could not be examined"
    else:
        if counted.titles < 1:
            verdicts["statement_coherent"] = "the statement has no title line"
        if abs(counted.total - 100) > 1e-9:
            verdicts["rubric_consistent"] = f"the items total {counted.total:g}, not 100"
        if counted.items < 2:
            verdicts["items_apply"] = f"only {counted.items} item tells how points are earned"
    leak = "none" if not leaks else "shared with the statement: " + "; ".join(leaks)[:400]
    return {"case_id": case_id, **verdicts, "leak": leak, "waivers": waivers}
