"""All strategies of a bank, compiled: what changed is compiled again, what holds between them is checked.

(STRATEGY S79, S80, S83.) A bank never changes; a reload makes another one, so a session under way keeps its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from core.strategy.conditions.containment import proved_within
from core.strategy.conditions.registry import Registry, registry_of
from core.strategy.documents.reading import Fault, FaultyFileError, read
from core.strategy.documents.release import BankSettings
from core.strategy.documents.skill import SkillSchema
from core.strategy.documents.strategy import Strategy
from core.strategy.execution import between
from core.strategy.execution.compiled import Compiled
from core.strategy.execution.compiling import compile_strategy

__all__ = ["CompiledBank", "Entry", "compile_bank", "compile_strategy"]
_Judged = dict[tuple[str, str], bool]


@dataclass(frozen=True, slots=True)
class Entry:
    """One file: its hash, and what came of it."""

    sha256: str
    compiled: Compiled | None
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True)
class CompiledBank:
    """The strategies that can be used, by id; a faulty one isn't among them and stands in `faults`.

    `warnings` are what may be meant: an override of a strategy that isn't there. `compiled_anew` counts the files that
    were not taken over from the bank before.
    """

    strategies: Mapping[str, Compiled]
    faults: tuple[Fault, ...]
    warnings: tuple[Fault, ...]
    settings: BankSettings
    schemas: Mapping[str, SkillSchema]
    registry: Registry
    files: Mapping[str, Entry]
    compiled_anew: int = 0
    judged: _Judged = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def sha256(self) -> str:
        """The hash of its strategies: equal for banks that decide alike."""
        told = "".join(f"{one.id} {one.sha256}\n" for _, one in sorted(self.strategies.items()))
        return hashlib.sha256(told.encode()).hexdigest()

    @cached_property
    def by_event(self) -> Mapping[str, tuple[Compiled, ...]]:
        """The strategies that wait for an event, by id."""
        found: dict[str, list[Compiled]] = {}
        for _, one in sorted(self.strategies.items()):
            if one.event:
                found.setdefault(one.event, []).append(one)
        return {event: tuple(some) for event, some in found.items()}

    @cached_property
    def undated(self) -> bool:
        """Whether no strategy has a date at which it begins or ends."""
        return all(one.starts is None and one.ends is None for one in self.strategies.values())

    @cached_property
    def checkers(self) -> tuple[Compiled, ...]:
        """The strategies that only check, by id; they hold wherever their skill runs."""
        return tuple(one for _, one in sorted(self.strategies.items()) if one.checks_only)

    @cached_property
    def paths_by_event(self) -> Mapping[str, frozenset[str]]:
        """All names that a view needs for the conditions of an event's strategies."""
        return {
            event: frozenset(path for one in some if one.when for path in one.when.reads)
            for event, some in self.by_event.items()
        }

    def wider(self, one: Compiled, other: Compiled) -> bool:
        """Tell whether `one`'s condition is proved to hold wherever `other`'s does, and not the other way round."""
        return self._within(other, one) and not self._within(one, other)

    def equal(self, one: Compiled, other: Compiled) -> bool:
        """Tell whether the two conditions are proved to hold in the same cases."""
        return self._within(one, other) and self._within(other, one)

    def _within(self, narrow: Compiled, wide: Compiled) -> bool:
        if narrow.when is None or wide.when is None:
            return False
        pair = (wide.when.text, narrow.when.text)
        if pair not in self.judged:
            self.judged[pair] = proved_within(narrow.when, wide.when)
        return self.judged[pair]


def compile_bank(
    files: Mapping[str, str],
    settings: BankSettings,
    schemas: Mapping[str, SkillSchema],
    before: CompiledBank | None = None,
) -> CompiledBank:
    """Return the bank of these files (name to text; releases and settings are left out by their names).

    A file whose text is as in `before` is not read again unless settings or skills changed too. Never raises for what
    is in a file: faults are told in the bank, with file and line.
    """
    same = before is not None and before.settings == settings and before.schemas == schemas
    registry = before.registry if before is not None and same else registry_of(settings, schemas.values())
    entries: dict[str, Entry] = {}
    anew = 0
    for name, text in sorted(files.items()):
        if name.endswith(".release.yaml") or name.rpartition("/")[2] in ("bank.yaml", "skill.yaml"):
            continue
        sha256 = hashlib.sha256(text.encode()).hexdigest()
        held = before.files.get(name) if before is not None and same else None
        if held is None or held.sha256 != sha256:
            held = _entry(name, text, sha256, registry, schemas, settings)
            anew += 1
        entries[name] = held
    return _joined(entries, settings, schemas, registry, anew, before.judged if before else {})


def _entry(
    name: str,
    text: str,
    sha256: str,
    registry: Registry,
    schemas: Mapping[str, SkillSchema],
    settings: BankSettings,
) -> Entry:
    try:
        strategy, source = read(text, Strategy, name)
        compiled = compile_strategy(
            strategy, source, registry, schemas, file=name, sha256=sha256, outside=settings.registry
        )
        return Entry(sha256, compiled)
    except FaultyFileError as error:
        return Entry(sha256, None, error.faults)


def _joined(
    entries: Mapping[str, Entry],
    settings: BankSettings,
    schemas: Mapping[str, SkillSchema],
    registry: Registry,
    anew: int,
    judged: _Judged,
) -> CompiledBank:
    faults = [fault for entry in entries.values() for fault in entry.faults]
    strategies: dict[str, Compiled] = {}
    for entry in entries.values():
        one = entry.compiled
        if one is None:
            continue
        if one.id in strategies:
            faults.append(Fault(one.file, one.line, 1, "id", f"{one.id} is in {strategies[one.id].file} too"))
        else:
            strategies[one.id] = one
    unknown, warnings = between.unknown(strategies)
    faults += [*unknown, *between.cycles(strategies)]
    bank = CompiledBank(strategies, (), tuple(warnings), settings, schemas, registry, entries, anew, judged)
    faults += between.ties(strategies, bank.equal)
    faulty = {fault.file for fault in faults}
    sound = {name: one for name, one in strategies.items() if one.file not in faulty}
    return replace(bank, strategies=sound, faults=tuple(sorted(faults, key=_place)))


def _place(fault: Fault) -> tuple[str, int, int]:
    return fault.file, fault.line, fault.column
