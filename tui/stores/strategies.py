"""The bank of strategies of a Project, each file read once, with what was tracked of it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from time import monotonic

from core.foundation.errors import ExuviaError
from core.state.paths import ProjectPaths
from core.strategy.bank import executions as log
from core.strategy.bank import outcomes
from core.strategy.bank.alarms import Watched, watched
from core.strategy.bank.bank import SETTINGS, STATE, Entry, bank_of
from core.strategy.bank.changes import Stamp, changed, changed_strategies, stamp
from core.strategy.bank.inventory import inventory
from core.strategy.bank.journal import Journal, fold
from core.strategy.bank.states import moment
from core.strategy.bank.texts import text_of
from core.strategy.documents.reading import Fault
from core.strategy.documents.release import BankSettings
from core.strategy.documents.skill import FILE, SkillSchema
from core.strategy.documents.strategy import Strategy
from core.strategy.execution.compiler import CompiledBank, compile_bank
from core.strategy.execution.records import Execution
from core.strategy.governance.laws import Lint, lint
from core.strategy.schema.directory import skills_of
from tui.stores.strategies_lines import StrategyLine
from tui.stores.strategies_log import GrowingLog
from tui.stores.views import StrategiesView

PART_S = 0.25
"""So long a load reads on; what is left comes with the next, so that no other view waits for a large bank."""
_Sign = tuple[int, int, int]
_Faults = Mapping[str, Sequence[Fault]]


class StrategiesStore:
    """Invariant: a file that looks as it did is not read again; one thread at a time calls `load`."""

    def __init__(self, project: ProjectPaths) -> None:
        self.project = project
        self.bank = bank_of(project)
        self.view = StrategiesView()
        self._seen: Stamp | None = None
        self._skills: tuple[object, ...] | None = None
        self._schemas: Mapping[str, SkillSchema] = {}
        self._settings, self._fault = BankSettings(), ""
        self._journal: Journal = fold(())
        self._entries: dict[str, Entry] = {}
        self._texts: dict[str, str] = {}
        self._doubles: tuple[str, ...] = ()
        self._left: list[str] = []  # strategies that are still to be read
        self._hour: datetime | None = None  # alarms are of whole hours
        self._compiled: CompiledBank | None = None
        self._found: tuple[_Faults, _Faults] = ({}, {})  # faults and warnings by file
        self._lints: dict[str, tuple[Strategy, tuple[Lint, ...]]] = {}
        self._log = GrowingLog(self.bank.records)

    @property
    def unread(self) -> bool:
        """Whether another load would know more."""
        return bool(self._left) or self._log.is_behind

    def load(self) -> StrategiesView:
        """Read what is new, for about PART_S."""
        end = monotonic() + PART_S

        def is_enough() -> bool:
            return monotonic() >= end

        hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
        written = self._look() | self._read_on(is_enough)
        if written:
            self._check()
        if written | self._log.advance(is_enough) | (bool(self._entries) and hour != self._hour):
            self._hour = hour
            self.view = self._made()
        return self.view

    def signs(self) -> tuple[object, ...]:
        """Return what differs where a change that nobody told of may be: a few stats, however large the bank is."""
        root, records = os.fspath(self.bank.root), os.fspath(self.bank.records)
        try:
            with os.scandir(root) as found:
                domains = sorted(one.path for one in found if one.is_dir() and not one.name.startswith("."))
        except OSError:
            return ()
        days = os.path.join(records, log.DIRECTORY)  # noqa: PTH118  # asked once a second
        try:
            latest = max(os.listdir(days), default="")  # noqa: PTH208  # as above
        except OSError:
            latest = ""
        files = [root, *domains, *(os.path.join(root, name) for name in (STATE, SETTINGS)), days]  # noqa: PTH118
        return (datetime.now(UTC).hour, *map(_sign, [*files, os.path.join(days, latest)]))  # noqa: PTH118

    # Reading

    def _look(self) -> bool:
        """Find out what changed; read settings and states; tell whether anything is new."""
        now = stamp(self.bank)
        facets = changed(self._seen, now) if self._seen is not None or any(now.seen.values()) else frozenset()
        skills = self._skill_signs() if any(now.seen.values()) else ()
        if not facets and skills == self._skills:
            return False
        if skills != self._skills:
            self._skills, self._schemas = skills, skills_of(self.project).schemas
            self._lints.clear()
        if "settings" in facets:
            self._lints.clear()
            try:
                self._settings, self._fault = self.bank.settings(), ""
            except ExuviaError as error:
                self._settings, self._fault = BankSettings(), str(error)
        if facets & {"states", "versions"}:
            self._journal = self.bank.journal()
        self._mark(self._seen, now)
        self._seen = now
        return True

    def _mark(self, before: Stamp | None, now: Stamp) -> None:
        """Note which strategies are to be read; forget those that are gone; let the others stand where they stand."""
        files = self.bank.files()
        names = [path.relative_to(self.bank.root).as_posix() for path in self.bank.doubles()]
        self._doubles = tuple(f"{name}: another file has this id too" for name in names)
        held = {*files, *(strategy_id for strategy_id, _ in self._journal.standings)}
        fresh = held if before is None else (changed_strategies(before, now) & held) | (held - self._entries.keys())
        self._left = sorted({*self._left, *fresh} & held)
        for gone in self._entries.keys() - held:
            self._entries.pop(gone)
            self._texts.pop(gone, None)
        for name, entry in self._entries.items():
            versions = self._journal.of(name)
            if versions != entry.versions:
                self._entries[name] = replace(entry, versions=versions)

    def _read_on(self, is_enough: Callable[[], bool]) -> bool:
        if not self._left:
            return False
        files = self.bank.files()
        while self._left:
            name = self._left.pop(0)
            file = files.get(name)
            try:
                self._entries[name] = self.bank.look(name, file, self._journal)
                self._texts[name] = text_of(file) if file is not None else ""
            except (OSError, ExuviaError):
                self._texts[name] = ""  # gone between the two, which the next look tells, or no text at all
            if is_enough():
                break
        return True

    def _skill_signs(self) -> tuple[object, ...]:
        found = sorted(self.project.agents.glob(f"*/agent_state/skills/*/{FILE}"))
        return tuple((str(path), _sign(str(path))) for path in found)

    # The view

    def _made(self) -> StrategiesView:
        executions = self._log.executions
        served = [one for one in executions if one.strategy_id is not None and not one.dry_run]
        calls = Counter(one.strategy_id for one in served)
        failed = Counter(one.strategy_id for one in served if not one.ok)
        alarms = self._alarms(executions)
        lines = tuple(
            replace(self._line(entry, calls[name], failed[name]), alarm=alarms.get(name))
            for name, entry in sorted(self._entries.items())
        )
        return StrategiesView(
            serial=self.view.serial + 1,
            lines=lines,
            unread=len(self._left),
            settings=self._settings,
            journal=self._journal,
            inventory=inventory(self._entries.values(), self._journal, self._settings, datetime.now(UTC)),
            executions=executions,
            more=self._log.more,
            findings=(*self._doubles, *self._journal.findings, *self._log.findings),
            checked=bool(self._schemas),
            fault=self._fault,
        )

    def _alarms(self, executions: Sequence[Execution]) -> dict[str, Watched]:
        """Return the alarm of each strategy whose release names its business's outcome."""
        impacts = {
            name: entry.release.track.business_impact
            for name, entry in self._entries.items()
            if entry.release is not None and entry.release.track.business_impact is not None
        }
        if not impacts:
            return {}
        now = datetime.now(UTC)
        begin = now - timedelta(hours=2 + max(impact.alert.hours for impact in impacts.values()))
        late = list(takewhile(lambda one: moment(one.time) >= begin, reversed(executions)))
        told = outcomes.read(self.bank.records, since=begin) if late else ()
        known = outcomes.joined(late, told, {name: impact.metric for name, impact in impacts.items()})
        return {one.strategy_id: one for one in watched(known, impacts, now)}

    def _line(self, entry: Entry, calls: int, failed: int) -> StrategyLine:
        name = f"{entry.file.parent.name}/{entry.file.name}"
        faults, warnings = self._found
        found = {str(fault): fault for fault in (*entry.faults, *faults.get(name, ()))}
        lints = self._lint(entry.authored) if entry.authored else ()
        ordered = tuple(sorted(found.values(), key=lambda fault: (fault.file, fault.line, fault.column)))
        return StrategyLine(
            entry, self._texts.get(entry.id, ""), ordered, tuple(warnings.get(name, ())), lints, calls, failed
        )

    def _lint(self, strategy: Strategy) -> tuple[Lint, ...]:
        held = self._lints.get(strategy.id)
        if held is None or held[0] is not strategy:
            held = self._lints[strategy.id] = (strategy, lint(strategy, self._schemas, self._settings.governance))
        return held[1]

    def _check(self) -> None:
        """Compile what is written, once it is all read.

        Where no skill's schema is known nothing can be compiled: every name would be unknown.
        """
        if not self._schemas:
            self._compiled, self._found = None, ({}, {})
            return
        if not self._left:
            files = {
                f"{entry.file.parent.name}/{entry.file.name}": self._texts[name]
                for name, entry in self._entries.items()
                if self._texts.get(name)
            }
            self._compiled = compile_bank(files, self._settings, self._schemas, self._compiled)
        if self._compiled is not None:
            self._found = _by_file(self._compiled.faults), _by_file(self._compiled.warnings)


def _by_file(faults: tuple[Fault, ...]) -> dict[str, list[Fault]]:
    found: dict[str, list[Fault]] = {}
    for fault in faults:
        found.setdefault(fault.file, []).append(fault)
    return found


def _sign(path: str) -> _Sign:
    try:
        status = os.stat(path)  # noqa: PTH116  # asked once a second
    except OSError:
        return (0, 0, 0)
    return (status.st_ino, status.st_size, status.st_mtime_ns)
