"""How the command line says where a version of a strategy stands."""

from __future__ import annotations

from core.strategy.bank.states import Standing


def standing_facts(one: Standing) -> dict[str, object]:
    """Return where a version stands, as --json says it."""
    return {
        "version": one.version,
        "state": one.state,
        "stage": one.stage + 1 if one.state == "gray" else None,
        "percent": one.stages[one.stage].percent if one.state == "gray" else None,
        "since": one.since or None,
        "origin": one.origin,
        "reviewed_by": one.reviewed_by or None,
        "sha256": one.sha256,
    }


def stage_words(one: Standing) -> str:
    """Return the share of users that a version in gray answers, with a leading space; "" in other states."""
    return f" {one.stages[one.stage].percent:g} %" if one.state == "gray" else ""
