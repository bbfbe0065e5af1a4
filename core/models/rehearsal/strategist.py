"""The rehearsal model as one who drafts strategies: the failing skill's substitute, with a limit (STRATEGY S104)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.models.interface import Request
from core.models.rehearsal.transcript import Reply, Transcript, call, json_object

_TIMEOUT_MS = 5000
_HARMLESS = frozenset({"none", "read"})


def reply(request: Request, seed: int) -> Reply:
    """Draft a strategy for the failure in the request, of the skills that it lists. One failure has one answer."""
    del seed
    told = json_object(Transcript.of(request).first_user) or {}
    failure = told.get("failure") or {}
    skill, code = str(failure.get("skill", "")), str(failure.get("code", ""))
    skills = {str(entry["name"]): entry for entry in told.get("skills") or ()}
    own = skills.get(skill, {})
    harmless = [name for name, entry in skills.items() if entry.get("side_effects") in _HARMLESS and name != skill]
    named = own.get("fallback")
    instead = str(named) if named in skills else next(iter(harmless), skill)
    last = next((name for name in harmless if name != instead), "")
    given = _context(skills.get(instead, {}), told.get("names") or {})
    lines = [
        f'IF event.code == "{code}" THEN' if code else "IF intent.confidence > 0.5 THEN",
        f"trigger_skill({instead}, context={{{given}}})" if given else f"trigger_skill({instead})",
        f"set_timeout({_TIMEOUT_MS})",
    ]
    draft = {
        "purpose": f"{skill or 'A step'} failed with {code or 'a check'}: go on with {instead}.",
        "event": f"failure:{skill}/{code}" if skill and code else "turn",
        "draft": "\n".join([*lines, f"fallback_to({last})"] if last else lines),
    }
    return (call(request, 0, "draft_strategy", draft),)


def _context(skill: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """Return the inputs with the known names that end like them: order_id is order.id."""
    found = {
        key: next((path for path in sorted(names) if path.replace(".", "_").endswith(str(key))), "")
        for key in skill.get("inputs") or {}
    }
    return ", ".join(f"{key}: {path}" for key, path in found.items() if path)
