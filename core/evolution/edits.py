"""The edit surface of a Candidate: what a proposer may change of an Agent State, and how much (EVOLUTION 3.5 no. 63).

AGENTS.md, the agent's own skills, its strategies, and a few settings of system_config.yaml. Not the system prompt, the
thinking level or a skill of the library, and nothing outside the state. Everything here is pure: it looks at bytes
and gives bytes.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from core.evolution import strategy_edits
from core.evolution.refusal import Refusal
from core.foundation.visible import decode
from core.skillrepo.document import read_text

EditKind = Literal["agents_md", "skill", "strategy", "config", "other"]
AGENTS_MD = "AGENTS.md"
CONFIG = "system_config.yaml"
FILES_LIMIT = 8  # files of one Candidate
AGENTS_MD_BYTES = 24 << 10
SKILL_FILE_BYTES = 32 << 10
CANDIDATE_BYTES = 64 << 10
LIMITS: Mapping[str, tuple[int, int]] = {
    "max_turns": (1, 200),
    "model.max_tokens": (256, 64_000),
    "model.timeoutMs": (1_000, 600_000),
    "skills.top_k": (1, 50),
}
"""Runtime limits that a Candidate may set, with their bounds."""
CHOICES: Mapping[str, tuple[str, ...]] = {"skills.selection": ("all", "bm25", "strategy")}
"""Settings that a Candidate may choose, with what there is to choose."""
SETTABLE = (*sorted(LIMITS), *CHOICES)

_SKILL_PATH = re.compile(r"skills/(?P<skill>[A-Za-z0-9][A-Za-z0-9_-]{0,63})(?:/[A-Za-z0-9][A-Za-z0-9._-]{0,99}){1,4}")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Edit:
    """One file's change: whole new `content`, configuration values to `set`, or `delete`. `why` is for the operator."""

    path: str
    content: str | None = None
    set: Mapping[str, Any] = field(default_factory=dict)
    delete: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True)
class EditSummary:
    """What a change comes to, counted in lines."""

    kind: EditKind
    path: str
    added: int
    removed: int
    why: str = ""

    def fields(self) -> dict[str, Any]:
        """Return it as journals and the ledger carry it."""
        return {"kind": self.kind, "path": self.path, "added": self.added, "removed": self.removed}


def kind_of(path: str) -> EditKind:
    """Return what kind of change a change of `path` is."""
    if path == AGENTS_MD:
        return "agents_md"
    if path == CONFIG:
        return "config"
    if path.startswith(strategy_edits.ROOT):
        return "strategy"
    return "skill" if path.startswith("skills/") else "other"


def digest(edits: Sequence[Edit]) -> str:
    """Return a hash of what the edits do; reasons and order do not count."""
    told = sorted(
        json.dumps([e.path, e.content, dict(e.set), e.delete], sort_keys=True, ensure_ascii=True) for e in edits
    )
    return "sha256:" + hashlib.sha256("\n".join(told).encode("ascii")).hexdigest()


def problem(edits: Sequence[Edit], present: Mapping[str, bytes], library: frozenset[str]) -> Refusal | None:
    """Return why these edits are outside the surface, or None.

    `present` maps the state's relative paths to content; `library` names skills that belong to the library.
    """
    if not edits:
        return Refusal("no_edits", "A Candidate changes something: give at least one edit.")
    if len(edits) > FILES_LIMIT:
        return Refusal("too_many_edits", f"A Candidate changes at most {FILES_LIMIT} files; test one idea at a time.")
    paths = [edit.path for edit in edits]
    if len({path.casefold() for path in paths}) != len(paths):
        return Refusal("duplicate_path", "A file is named twice; give one edit a file.")
    if sum(len((edit.content or "").encode("utf-8", "replace")) for edit in edits) > CANDIDATE_BYTES:
        return Refusal("too_large", f"The edits hold more than {CANDIDATE_BYTES >> 10} KiB; keep a Candidate small.")
    for edit in edits:
        if refused := _one(edit, present, library):
            return refused
    if all(_idle(edit, present) for edit in edits):
        return Refusal("no_change", "The edits leave the state as it is; change something or end the run.")
    after = _after(edits, present)
    return _skills_stay_whole(edits, after) or strategy_edits.problem([e.path for e in edits], present, after)


def _one(edit: Edit, present: Mapping[str, bytes], library: frozenset[str]) -> Refusal | None:
    ways = (edit.content is not None) + bool(edit.set) + edit.delete
    if ways != 1:
        return Refusal("bad_edit", f"{edit.path}: give exactly one of content, set (configuration only) or delete.")
    if edit.path == CONFIG:
        return _config(edit)
    if edit.set:
        return Refusal("outside_surface", f"{edit.path}: `set` is for {CONFIG} only; give the whole new content.")
    if edit.path == AGENTS_MD:
        if edit.delete or not (edit.content or "").strip():
            return Refusal("outside_surface", f"{AGENTS_MD} may be changed, not emptied or removed.")
        return _text(edit, AGENTS_MD_BYTES)
    match = _SKILL_PATH.fullmatch(edit.path)
    strategy = strategy_edits.PATH.fullmatch(edit.path)
    if (match is None and strategy is None) or ".." in edit.path.split("/"):
        return Refusal(
            "outside_surface",
            f"{edit.path!r} is outside the edit surface: {AGENTS_MD}, skills/<own skill>/<file>, "
            f"strategies/<domain>/<id>.yaml, and settings of {CONFIG} by `set`.",
        )
    if match is not None and match["skill"] in library:
        return Refusal(
            "library_skill", f"{match['skill']} belongs to the library and is not changed; write a skill of your own."
        )
    if edit.delete:
        if edit.path not in present:
            return Refusal("no_such_file", f"{edit.path} does not exist, so it cannot be deleted.")
        return None
    if any(name.casefold() == edit.path.casefold() and name != edit.path for name in present):
        return Refusal("outside_surface", f"{edit.path} differs from an existing file only in upper and lower case.")
    return _text(edit, SKILL_FILE_BYTES)


def _text(edit: Edit, limit: int) -> Refusal | None:
    content = edit.content or ""
    if len(content.encode("utf-8", "replace")) > limit:
        return Refusal("too_large", f"{edit.path} would hold more than {limit >> 10} KiB.")
    if _CONTROL.search(content) or any(0xD800 <= ord(c) <= 0xDFFF for c in content):
        return Refusal("not_text", f"{edit.path} holds control characters or half a character; write plain text.")
    return None


def _config(edit: Edit) -> Refusal | None:
    if not edit.set:
        return Refusal("outside_surface", f"{CONFIG} is changed by `set` only, one of: {', '.join(SETTABLE)}.")
    for key, value in edit.set.items():
        if key in CHOICES:
            if value not in CHOICES[key]:
                return Refusal("limit_range", f"{key} must be one of {', '.join(CHOICES[key])}, not {value!r}.")
            continue
        if key not in LIMITS:
            return Refusal(
                "outside_surface", f"{key!r} is not a setting you may change; those are: {', '.join(SETTABLE)}."
            )
        low, high = LIMITS[key]
        whole = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if not whole or value != int(value) or not low <= value <= high:
            return Refusal("limit_range", f"{key} must be a whole number from {low} to {high}, not {value!r}.")
    return None


def _idle(edit: Edit, present: Mapping[str, bytes]) -> bool:
    return edit.content is not None and present.get(edit.path) == edit.content.encode("utf-8")


def _after(edits: Sequence[Edit], present: Mapping[str, bytes]) -> dict[str, bytes]:
    after = dict(present)
    for edit in edits:
        if edit.delete:
            after.pop(edit.path, None)
        elif edit.content is not None:
            after[edit.path] = edit.content.encode("utf-8")
    return after


def _skills_stay_whole(edits: Sequence[Edit], after: Mapping[str, bytes]) -> Refusal | None:
    """Refuse a Candidate after which a touched skill has no SKILL.md that a strict reader would take."""
    for skill in sorted({edit.path.split("/")[1] for edit in edits if edit.path.startswith("skills/")}):
        if not any(path.startswith(f"skills/{skill}/") for path in after):
            continue
        raw = after.get(f"skills/{skill}/SKILL.md")
        if raw is None:
            return Refusal("skill_invalid", f"skills/{skill} has no SKILL.md; a skill is found by it.")
        document = read_text(raw, directory=skill)
        if not document.valid:
            reasons = "; ".join(str(found) for found in document.diagnostics)
            return Refusal("skill_invalid", f"skills/{skill}/SKILL.md is not a valid skill: {reasons}.")
    return None


def summarize(
    before: Mapping[str, bytes], after: Mapping[str, bytes], why: Mapping[str, str]
) -> tuple[EditSummary, ...]:
    """Return what changed between two states, file by file; lines that say nothing but the version are left out."""
    found: list[EditSummary] = []
    for path in sorted({*before, *after}):
        old, new = before.get(path), after.get(path)
        if old == new:
            continue
        lines = [line for line in _difference(path, old, new) if not line.startswith(("+++", "---"))]
        added = sum(line.startswith("+") for line in lines)
        removed = sum(line.startswith("-") for line in lines)
        if path == CONFIG:
            added -= sum(line.startswith("+version:") for line in lines)
            removed -= sum(line.startswith("-version:") for line in lines)
            if added <= 0 and removed <= 0 and path not in why:
                continue
        found.append(EditSummary(kind_of(path), path, max(added, 0), max(removed, 0), why.get(path, "")))
    return tuple(found)


def unified(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> str:
    """Return one unified diff over all files that differ."""
    return "".join(
        line
        for path in sorted({*before, *after})
        if before.get(path) != after.get(path)
        for line in _difference(path, before.get(path), after.get(path))
    )


def _difference(path: str, old: bytes | None, new: bytes | None) -> list[str]:
    old_lines = [] if old is None else decode(old).splitlines(keepends=True)
    new_lines = [] if new is None else decode(new).splitlines(keepends=True)
    names = ("/dev/null" if old is None else f"a/{path}", "/dev/null" if new is None else f"b/{path}")
    told = difflib.unified_diff(old_lines, new_lines, *names)
    return [line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in told]
