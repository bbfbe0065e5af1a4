"""The laws in the bank's check: `check_bank(..., laws=LAWS)`, and the check of a Project (S107, S43, S45, S90)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from core.foundation.visible import decode
from core.state.paths import ProjectPaths
from core.strategy.bank.bank import Entry, bank_of
from core.strategy.bank.check import CheckReport, Finding, Law, Level, Subject, check_bank
from core.strategy.bank.texts import text_of
from core.strategy.bank.tracked import tracked
from core.strategy.documents.reading import read
from core.strategy.documents.strategy import Strategy
from core.strategy.governance.laws import Lint, lint, never_failing, prompt_leaks
from core.strategy.schema.directory import skills_of

_ADVICE = frozenset({"lines"})
"""Laws that only warn in a check, whatever they say of themselves: the twelve lines are advice (DECISIONS 26)."""


def one_by_one(subject: Subject) -> Iterator[Finding]:
    """Find what the laws say of each strategy as it is written, with the line of the key."""
    for entry in subject.entries:
        if entry.authored is not None:
            found = lint(entry.authored, subject.compiled.schemas, subject.settings.governance)
            yield from _findings(subject, {entry.id: entry}, found)


def by_what_was_tracked(subject: Subject) -> Iterator[Finding]:
    """Find checks that never failed."""
    yield from _findings(subject, {entry.id: entry for entry in subject.entries}, never_failing(subject.executions))


LAWS: tuple[Law, ...] = (one_by_one, by_what_was_tracked)


def check_project(
    project: ProjectPaths,
    agent_id: str | None = None,
    *,
    only: Iterable[str] | None = None,
    now: datetime | None = None,
) -> CheckReport:
    """Check the bank of a Project with the skills of an agent, or of all, with the laws and what was tracked.

    Faults of the agents' skill.yaml are findings too, and so are strategies that a prompt tells (S90). Raises
    UsageError where there is no bank, or where `only` names a strategy that it hasn't; otherwise as `check_bank`.
    """
    bank, skills = bank_of(project), skills_of(project, agent_id)
    wanted = None if only is None else tuple(only)
    for name in wanted or ():
        bank.entry(name)
    prompts = _prompts(project, agent_id)

    def told(subject: Subject) -> Iterator[Finding]:
        entries = {entry.id: entry for entry in subject.entries}
        written = (entry.authored for entry in subject.entries if entry.authored is not None)
        yield from _findings(subject, entries, prompt_leaks(prompts, written))

    executions = tracked(bank).executions
    report = check_bank(bank, skills.schemas, laws=(*LAWS, told), executions=executions, now=now, only=wanted)
    faulty = tuple(
        Finding("error", "skills", fault.file, fault.line, "", f"{fault.path}: {fault.reason}".removeprefix(": "))
        for fault in skills.faults
    )
    return replace(report, findings=(*report.findings, *faulty))


def lints(project: ProjectPaths, agent_id: str | None = None, only: str | None = None) -> tuple[Lint, ...]:
    """Return what the laws say of a Project's strategies as they are written, or of one; nothing is compiled or run.

    Raises NotFoundError for a strategy that isn't there. A file that can't be read has no laws broken: see the check.
    """
    bank = bank_of(project)
    entries = bank.entries() if only is None else (bank.entry(only),)
    written = [entry.authored for entry in entries if entry.authored is not None]
    schemas, governance = skills_of(project, agent_id).schemas, bank.settings().governance
    names = {one.id for one in written}
    never = [one for one in never_failing(tracked(bank).executions) if one.strategy_id in names]
    each = [found for one in written for found in lint(one, schemas, governance)]
    return (*each, *never, *prompt_leaks(_prompts(project, agent_id), written))


def _prompts(project: ProjectPaths, agent_id: str | None) -> dict[str, str]:
    """Return the texts of agents that go into prompts, by name."""
    files: dict[str, Path] = {}
    for name in project.agent_ids() if agent_id is None else (agent_id,):
        agent = project.agent(name)
        files |= {f"{name}/AGENTS.md": agent.agents_md}
        files |= {f"{name}/skills/{path.parent.name}/SKILL.md": path for path in agent.skills.glob("*/SKILL.md")}
    return {name: decode(path.read_bytes()) for name, path in sorted(files.items()) if path.is_file()}


def _findings(subject: Subject, entries: Mapping[str, Entry], found: Iterable[Lint]) -> Iterator[Finding]:
    for one in found:
        entry = entries.get(one.strategy_id)
        file = "" if entry is None else entry.file.relative_to(entry.file.parents[1]).as_posix()
        level: Level = "warning" if one.law in _ADVICE else one.severity
        line = 0 if entry is None or entry.authored is None else _line(entry, one.path)
        message = f"{one.path}: {one.text} ({one.hint})" if one.path else f"{one.text} ({one.hint})"
        yield Finding(level, f"law: {one.law}", file, line, one.strategy_id, message)


def _line(entry: Entry, path: str) -> int:
    """Return the line of a key, of the nearest one that is there; 1 for the whole."""
    _, source = read(text_of(entry.file), Strategy, entry.file.name)
    parts: tuple[str | int, ...] = tuple(part for part in path.partition(" ")[0].partition("[")[0].split(".") if part)
    return source.place(parts)[0]
