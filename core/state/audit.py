"""Who decided what, and when: one line each in `<project>/.exuvia/audit.jsonl`, never changed afterwards."""

from __future__ import annotations

import os
import platform
import pwd
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.foundation.clock import now_s
from core.state.jsonlines import Gap, append_record, read_lines
from core.state.paths import ProjectPaths


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A decision.

    `action` is a short word such as "roll_back" or "approve", `subject` what it was done to, `actor` who or what
    asked ("console", "cli", "optimizer" ...), `signature` the account and terminal it came from: a label for
    people, not a proof (DECISIONS 22).
    """

    time: str
    action: str
    subject: str
    actor: str
    signature: str
    detail: Mapping[str, Any]


def signature() -> str:
    """Return `user@host` and the terminal, if there is one: `ada@mill pts/3`."""
    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        user = str(os.getuid())
    return f"{user}@{platform.node() or 'localhost'} {_terminal()}".rstrip()


def record(
    project: ProjectPaths, action: str, subject: str, detail: Mapping[str, Any], actor: str | None = None
) -> AuditEntry:
    """Append a decision and return it as written; `detail` must hold no secret. Raises StorageError."""
    entry = AuditEntry(now_s(), action, subject, actor or "operator", signature(), dict(detail))
    append_record(
        project.audit,
        {
            "time": entry.time,
            "action": entry.action,
            "subject": entry.subject,
            "actor": entry.actor,
            "signature": entry.signature,
            "detail": entry.detail,
        },
    )
    return entry


def read(project: ProjectPaths) -> tuple[AuditEntry, ...]:
    """Return every decision, oldest first; see `gaps` for lines that can't be read."""
    return tuple(
        AuditEntry(**{name: str(found.get(name, "")) for name in _TEXTS}, detail=_mapping(found.get("detail")))
        for found in read_lines(project.audit).records
    )


def gaps(project: ProjectPaths) -> tuple[Gap, ...]:
    """Return the damaged places of the audit file."""
    return read_lines(project.audit).gaps


_TEXTS = ("time", "action", "subject", "actor", "signature")


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _terminal() -> str:
    for descriptor in (0, 1, 2):
        try:
            return os.ttyname(descriptor).removeprefix("/dev/")
        except OSError:
            continue
    return ""
