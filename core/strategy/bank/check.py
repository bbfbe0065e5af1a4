"""`exuvia strategy check`: syntax, simulated paths, impact and routing tests of a whole bank (STRATEGY S63 to S66, X5).

Nothing is written and no skill is called. Whoever keeps the bank in git runs it on each change: it exits with 1 where
something is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from core.foundation.errors import DamagedError, ExitCode, ExuviaError, UsageError
from core.strategy.bank.bank import SETTINGS, STATE, Bank, Entry
from core.strategy.bank.dates import period
from core.strategy.bank.impact import ImpactReport, impact
from core.strategy.bank.journal import Journal
from core.strategy.bank.routing import Routed, routed
from core.strategy.bank.simulate import RUNS, Walked, simulate
from core.strategy.bank.states import moment
from core.strategy.bank.texts import text_of
from core.strategy.documents.reading import Fault, FaultyFileError
from core.strategy.documents.release import BankSettings
from core.strategy.documents.skill import SkillSchema
from core.strategy.execution.compiler import CompiledBank, compile_bank
from core.strategy.execution.records import Execution

Level = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about a file. `part` says which part of the check found it: syntax, bank, simulation, routing, or a
    law's name. `line` counts from 1, 0 where it is unknown."""

    level: Level
    part: str
    file: str
    line: int
    strategy: str
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{self.level}: {place or self.strategy}: {self.message}"


@dataclass(frozen=True, slots=True)
class Subject:
    """What a law looks at: the bank's entries, its journal and settings, everything compiled, what was tracked."""

    entries: tuple[Entry, ...]
    journal: Journal
    settings: BankSettings
    compiled: CompiledBank
    executions: tuple[Execution, ...]


Law = Callable[[Subject], Iterable[Finding]]
"""A lint of governance: from the bank to what it finds. Errors break the check."""


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What a check found. `changed` are the strategies whose text is not published as it is; `impact` is of those."""

    findings: tuple[Finding, ...]
    strategies: int
    changed: tuple[str, ...]
    walked: tuple[Walked, ...]
    routed: tuple[Routed, ...]
    impact: tuple[ImpactReport, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong; warnings are let be."""
        return not any(one.level == "error" for one in self.findings)

    @property
    def exit_code(self) -> ExitCode:
        """What the command exits with."""
        return ExitCode.DONE if self.ok else ExitCode.FAILED

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return {
            "ok": self.ok,
            "strategies": self.strategies,
            "changed": list(self.changed),
            "findings": [asdict(one) for one in self.findings],
            "simulated": [one.to_json() for one in self.walked],
            "routing": [asdict(one) for one in self.routed],
            "impact": [one.to_json() for one in self.impact],
        }

    def lines(self) -> tuple[str, ...]:
        """Return it in words, findings first."""
        errors = sum(one.level == "error" for one in self.findings)
        runs, paths = sum(one.runs for one in self.walked), sum(len(one.paths) for one in self.walked)
        passed = sum(one.ok for one in self.routed)
        return (
            *map(str, self.findings),
            f"{self.strategies} strategies: {errors} errors, {len(self.findings) - errors} warnings",
            f"simulated: {runs} runs, {paths} paths",
            f"routing tests: {passed} of {len(self.routed)} pass",
            *(one.text for one in self.impact),
        )


def check_bank(
    root: Path | Bank,
    schemas: Mapping[str, SkillSchema],
    *,
    laws: Sequence[Law] = (),
    executions: Sequence[Execution] = (),
    now: datetime | None = None,
    runs: int = RUNS,
    only: Iterable[str] | None = None,
) -> CheckReport:
    """Check the bank at `root` as it is written, with the skills that there are.

    `executions` are what was tracked, for the impact; `only` limits simulation and impact to those strategies, while
    syntax and routing are always those of the whole bank: a new strategy may take another one's turns. Starts an event
    loop, so call it from a thread without one. Raises NotFoundError where there is no bank.
    """
    bank = root if isinstance(root, Bank) else Bank(root)
    if not bank.root.is_dir():
        raise UsageError(f"there is no bank {bank.root.name}/", hint="Strategies lie in <project>/strategies/.")
    now = now or datetime.now(UTC)
    findings: list[Finding] = []
    settings = _settings(bank, findings)
    entries, told = bank.entries(), bank.journal()
    compiled = _compiled(bank, settings, schemas, findings)
    findings += _of_bank(bank, entries, told, settings)
    wanted = set(only) if only is not None else None
    walked = []
    for strategy_id, one in sorted(compiled.strategies.items()):
        if (wanted is None or strategy_id in wanted) and not one.checks_only:
            walked.append(simulate(compiled, one, runs=runs))
    findings += _of_walks(walked, compiled)
    tests = routed(compiled, now)
    findings += _of_routing(tests, compiled)
    subject = Subject(entries, told, settings, compiled, tuple(executions))
    findings += (finding for law in laws for finding in law(subject))
    changed = tuple(one.id for one in entries if one.authored is not None and not one.published)
    texts = {one.id: one.authored for one in entries if one.authored is not None}
    impacts = (impact(one, texts, executions) for one in changed if wanted is None or one in wanted)
    unique = dict.fromkeys(sorted(findings, key=lambda one: (one.level, one.file, one.line, one.message)))
    return CheckReport(tuple(unique), len(texts), changed, tuple(walked), tests, tuple(impacts))


def _settings(bank: Bank, findings: list[Finding]) -> BankSettings:
    try:
        return bank.settings()
    except FaultyFileError as error:
        findings += (_fault(fault, "syntax") for fault in error.faults)
        return BankSettings()


def _compiled(
    bank: Bank, settings: BankSettings, schemas: Mapping[str, SkillSchema], findings: list[Finding]
) -> CompiledBank:
    texts: dict[str, str] = {}
    for path in bank.files().values():
        name = path.relative_to(bank.root).as_posix()
        try:
            texts[name] = text_of(path)
        except FaultyFileError as error:
            findings += (_fault(fault, "syntax") for fault in error.faults)
    try:
        compiled = compile_bank(texts, settings, schemas)
    except ValueError as error:  # a registry or a pattern of bank.yaml that can't be
        findings.append(Finding("error", "syntax", SETTINGS, 0, "", str(error)))
        compiled = compile_bank({}, BankSettings(), schemas)
    findings += (_fault(fault, "syntax") for fault in compiled.faults)
    findings += (_fault(fault, "syntax", "warning") for fault in compiled.warnings)
    return compiled


def _of_bank(bank: Bank, entries: Iterable[Entry], told: Journal, settings: BankSettings) -> Iterator[Finding]:
    for said in told.findings:
        yield Finding("error", "bank", STATE, 0, "", said.removeprefix(f"{STATE}: "))
    for name, band in settings.domains.items():
        if band.reviewed and not _is_time(band.reviewed):
            message = f"domains.{name}.reviewed: {band.reviewed!r} is no time with a zone"
            yield Finding("error", "bank", SETTINGS, 0, "", message)
    for name in bank.strays():
        yield Finding("warning", "bank", name, 0, "", "is no part of a bank; a strategy lies in its domain's directory")
    for path in bank.doubles():
        name = path.relative_to(bank.root).as_posix()
        yield Finding("error", "bank", name, 0, path.stem, f"another file has the id {path.stem} too; rename one")
    for entry in entries:
        file = entry.file.relative_to(bank.root).as_posix()
        for fault in entry.faults:
            yield _fault(fault, "syntax")
        yield from _of_versions(bank, entry, file)
        if entry.authored is not None:
            yield from _of_strategy(entry, file, settings)


def _of_versions(bank: Bank, entry: Entry, file: str) -> Iterator[Finding]:
    for version in entry.versions:
        try:
            bank.text(entry.id, version.version)
        except (DamagedError, UsageError) as error:
            yield Finding("error", "bank", f".versions/{entry.id}/{version.version}.yaml", 0, entry.id, _said(error))
    authored = entry.authored
    if authored is None or entry.published:
        return
    known = [one.version for one in entry.versions]
    if authored.version in known:
        hint = f"set version: {max(known) + 1} and parent_version: {max(known)}"
        message = f"version {authored.version} is published with another text; {hint}"
        yield Finding("error", "bank", file, 0, entry.id, message)
    elif known and authored.version < max(known):
        yield Finding("error", "bank", file, 0, entry.id, f"version {authored.version} is lower than {max(known)}")


def _of_strategy(entry: Entry, file: str, settings: BankSettings) -> Iterator[Finding]:
    one = entry.authored
    assert one is not None
    try:
        period(one)
    except UsageError as error:
        yield Finding("error", "bank", file, 0, one.id, _said(error))
    band = settings.domains.get(one.domain)
    if band is None and settings.domains:
        yield Finding("warning", "bank", file, 0, one.id, f"nobody owns the domain {one.domain} in {SETTINGS} (S77)")
    priority = one.conflict_resolution.priority
    if band is not None and not band.lowest <= priority <= band.highest:
        message = f"priority {priority} is outside {band.lowest} to {band.highest}, the band of {one.domain} (S124)"
        yield Finding("error", "bank", file, 0, one.id, message)
    release = entry.release
    versions = {version.version for version in entry.versions} | {one.version}
    if release is not None and release.version not in versions:
        name = file.removesuffix(".yaml") + ".release.yaml"
        yield Finding("error", "bank", name, 0, one.id, f"version {release.version} is neither published nor written")
    if one.trigger is not None and not one.trigger.examples.fire:
        yield Finding("warning", "routing", file, 0, one.id, "no example on which it must fire (X5)")
    if one.trigger is not None and not one.trigger.examples.no_fire:
        yield Finding("warning", "routing", file, 0, one.id, "no example on which it must not fire (X5)")


def _of_walks(walked: Iterable[Walked], compiled: CompiledBank) -> Iterator[Finding]:
    for one in walked:
        file = compiled.strategies[one.strategy_id].file
        for said in one.faults:
            yield Finding("error", "simulation", file, 0, one.strategy_id, said)
        for said in one.warnings:
            yield Finding("warning", "simulation", file, 0, one.strategy_id, said)
        if one.not_reached:
            message = f"no simulated run reaches {', '.join(one.not_reached)}"
            yield Finding("warning", "simulation", file, 0, one.strategy_id, message)


def _of_routing(tests: Iterable[Routed], compiled: CompiledBank) -> Iterator[Finding]:
    for one in tests:
        file = compiled.strategies[one.strategy_id].file
        where = f"example {one.number} of {one.kind}"
        if not one.ok:
            yield Finding("error", "routing", file, 0, one.strategy_id, f"{where}: {one.text}")
        elif one.weak:
            message = f"{where}: it stays away only because something isn't known; set it in the example"
            yield Finding("warning", "routing", file, 0, one.strategy_id, message)


def _fault(fault: Fault, part: str, level: Level = "error") -> Finding:
    what = f"{fault.path}: {fault.reason}" if fault.path else fault.reason
    strategy = Path(fault.file).name.removesuffix(".yaml").removesuffix(".release")
    return Finding(level, part, fault.file, fault.line, strategy, what)


def _said(error: ExuviaError) -> str:
    return f"{error} {error.hint}".strip()


def _is_time(text: str) -> bool:
    try:
        moment(text)
    except ValueError:
        return False
    return True
