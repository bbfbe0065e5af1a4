"""The general lessons that the rehearsal Optimizer may try. No lesson says whether it is good; scores decide.

A lesson is a file `lessons/<id>.md`:

    ---
    id: documents-first
    edit: agents_md | skill | strategy | config
    kinds: [table, log]            kinds of chore it claims to help (`target_statement.KINDS`)
    words: [dates, notes]          words of public statements or symptoms that call for it
    symptoms: [turn-limit]         what was seen of a run: low-score, turn-limit
    hypothesis: one sentence
    expected_gain: 8               points of the average that its author hoped for
    skill: tidy-records            only for edit: skill, the directory's name
    strategy: shop.refund          only for edit: strategy, the strategy's id
    builds_on: documents-first     a lesson that must be in force before this one may be tried
    related: [more-turns]          lessons that its author would try together with it, in one bounded Candidate
    ---
    the text of the edit: a section for AGENTS.md, a whole SKILL.md, a whole strategy (of whatever version), or
    `key: value` lines of the configuration
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from core.models.rehearsal.transcript import front_matter

Edit = Literal["agents_md", "skill", "strategy", "config"]
_EDITS: tuple[Edit, ...] = ("agents_md", "skill", "strategy", "config")
_VERSION = re.compile(r"^version: *(\d+) *$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Lesson:
    """One lesson; `body` is the text of its edit as it stands in the file."""

    id: str
    edit: Edit
    kinds: tuple[str, ...]
    words: tuple[str, ...]
    symptoms: tuple[str, ...]
    hypothesis: str
    expected_gain: float
    skill: str
    related: tuple[str, ...]
    body: str
    strategy: str = ""
    builds_on: str = ""

    @property
    def path(self) -> str:
        """Where the edit goes, relative to the agent's state."""
        if self.edit == "skill":
            return f"skills/{self.skill}/SKILL.md"
        if self.edit == "strategy":
            return f"strategies/{self.strategy.partition('.')[0]}/{self.strategy}.yaml"
        return "AGENTS.md" if self.edit == "agents_md" else "system_config.yaml"

    @property
    def settings(self) -> Mapping[str, int | float | bool | str]:
        """The keys that a config lesson sets; empty for the others."""
        if self.edit != "config":
            return {}
        pairs = (line.partition(":")[::2] for line in self.body.splitlines() if ":" in line)
        return {key.strip(): _value(text.strip()) for key, text in pairs}

    def agents_md(self, current: str) -> str:
        """Return AGENTS.md with this lesson's section at its end, once."""
        if self.body.strip() in current:
            return current
        return current.rstrip("\n") + "\n\n" + self.body.strip("\n") + "\n"

    def next_version(self, current: str | None) -> str:
        """Return the strategy as the version after the one in `current`, the first where there is none."""
        found = _VERSION.search(current or "")
        if found is None:
            return self.body
        told = f"version: {int(found[1]) + 1}\nparent_version: {found[1]}"
        return _VERSION.sub(told, self.body, count=1)


def _value(text: str) -> int | float | bool | str:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.strip("[] ").split(",") if part.strip())


def parse(text: str) -> Lesson:
    """Return the lesson that `text` is. Raises ValueError where it is none."""
    fields, body = front_matter(text)
    edit = next((kind for kind in _EDITS if kind == fields.get("edit")), None)
    if edit is None or not fields.get("id"):
        raise ValueError(f"a lesson needs an id and an edit of {', '.join(_EDITS)}")
    return Lesson(
        id=fields["id"],
        edit=edit,
        kinds=_names(fields.get("kinds", "")),
        words=_names(fields.get("words", "")),
        symptoms=_names(fields.get("symptoms", "")),
        hypothesis=fields.get("hypothesis", ""),
        expected_gain=float(fields.get("expected_gain", "0")),
        skill=fields.get("skill", ""),
        related=_names(fields.get("related", "")),
        body=body,
        strategy=fields.get("strategy", ""),
        builds_on=fields.get("builds_on", ""),
    )


@cache
def lessons() -> tuple[Lesson, ...]:
    """Return every lesson of the library, ordered by id."""
    found = (
        parse(entry.read_text(encoding="utf-8"))
        for entry in (files("core.models.rehearsal") / "lessons").iterdir()
        if entry.name.endswith(".md") and entry.name != "README.md"
    )
    return tuple(sorted(found, key=lambda lesson: lesson.id))
