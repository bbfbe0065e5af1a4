"""The bank: strategies as files, published versions that never change, and where each of them stands (STRATEGY S58).

    bank.yaml                      settings
    <domain>/<id>.yaml             the newest text, as it is written
    <domain>/<id>.release.yaml     how it reaches users
    .versions/<id>/<N>.yaml        published: never changed, its sha256 in the journal
    state.jsonl                    every publishing and every move, with who and why

It is a directory like any other. Where the operator keeps it in git, everything of it may be committed (S63).
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from core.foundation.clock import now_s
from core.foundation.errors import ConflictError, DamagedError, NotFoundError, RefusedError, UsageError
from core.foundation.visible import visible_line
from core.state import audit, readonly
from core.state.atomic import write_bytes, write_new
from core.state.jsonlines import append_record, read_lines
from core.state.locks import held
from core.state.paths import ProjectPaths
from core.strategy.bank import journal
from core.strategy.bank.journal import Journal
from core.strategy.bank.states import Actor, Refusal, Standing, State, Step, newest
from core.strategy.bank.texts import changed_error, misplaced, parsed, plain_id, refuse_version, sha256_of, text_of
from core.strategy.documents.reading import Fault, FaultyFileError, read
from core.strategy.documents.release import BankSettings, Release
from core.strategy.documents.strategy import Strategy

SETTINGS, STATE, VERSIONS = "bank.yaml", "state.jsonl", ".versions"
_RELEASE = ".release.yaml"


@dataclass(frozen=True, slots=True)
class Entry:
    """A strategy of the bank. `authored` is its newest text, None where there is none or where it has faults."""

    id: str
    domain: str
    file: Path
    authored: Strategy | None
    sha256: str
    release: Release | None
    versions: tuple[Standing, ...]
    faults: tuple[Fault, ...]

    @property
    def published(self) -> bool:
        """Whether the newest text is published as it is."""
        return any(one.sha256 == self.sha256 for one in self.versions)

    @property
    def state(self) -> State:
        """The state nearest to users among its versions, "draft" where none is published."""
        for state in _NEAREST:
            if newest(self.versions, state) is not None:
                return state
        return "draft"


_NEAREST: tuple[State, ...] = ("active", "gray", "shadow", "review", "draft", "offline", "deprecated", "archived")


@dataclass(frozen=True)
class Bank:
    """A bank at `root`. With `project`, decisions are also lines of the Project's audit.

    Holds nothing in memory: each call looks at the files. Two writers wait for each other (a lock file); what is
    written appears whole. `records` is where tracking lies, outside of what one commits.
    """

    root: Path
    project: ProjectPaths | None = None

    @property
    def records(self) -> Path:
        """Where executions, outcomes and shadow comparisons are kept."""
        return self.root / ".records" if self.project is None else self.project.own / "strategies"

    @property
    def _lock(self) -> Path:
        return self.records / "bank.lock"

    def settings(self) -> BankSettings:
        """Return `bank.yaml`, the defaults where there is none. Raises FaultyFileError."""
        path = self.root / SETTINGS
        return read(text_of(path), BankSettings, SETTINGS)[0] if os.path.lexists(path) else BankSettings()

    def journal(self) -> Journal:
        """Return where every version stands, and what happened. Lines that can't be taken are its findings."""
        found = read_lines(self.root / STATE)
        folded = journal.fold(found.records)
        gaps = tuple(f"{STATE}: bytes {gap.start} to {gap.end}: {gap.reason}" for gap in found.gaps)
        return Journal(folded.standings, folded.reviewed, folded.events, (*folded.findings, *gaps))

    def files(self) -> dict[str, Path]:
        """Return id to file of every strategy that is written here, by id. A file's name is its id."""
        return {path.stem: path for path in self._written()}

    def strays(self) -> tuple[str, ...]:
        """Return the YAML files that stand where nothing is read: beside bank.yaml, or deeper than a domain."""
        found = (path for pattern in ("*.yaml", "*.yml", "*/*.yml", "*/*/*.yaml") for path in self.root.glob(pattern))
        names = (path.relative_to(self.root).as_posix() for path in found)
        return tuple(sorted(name for name in names if name != SETTINGS and not name.startswith(".")))

    def doubles(self) -> tuple[Path, ...]:
        """Return the files whose id another file has too, in another domain: `files` has only the last of them."""
        taken = self.files()
        return tuple(path for path in self._written() if taken[path.stem] != path)

    def _written(self) -> list[Path]:
        found = sorted(path for path in self.root.glob("*/*.yaml") if not path.name.endswith(_RELEASE))
        return [path for path in found if not path.parent.name.startswith(".")]

    def entries(self) -> tuple[Entry, ...]:
        """Return every strategy: those that are written and those of which only published versions are left."""
        told, files = self.journal(), self.files()
        ids = sorted({*files, *(strategy_id for strategy_id, _ in told.standings)})
        return tuple(self.look(one, files.get(one), told) for one in ids)

    def entry(self, strategy_id: str) -> Entry:
        """Return one strategy. Raises NotFoundError."""
        told, file = self.journal(), self.files().get(strategy_id)
        if file is None and not told.of(strategy_id):
            raise NotFoundError(
                f"there is no strategy {visible_line(strategy_id)!r} in {self.root.name}/",
                hint="List them: exuvia strategy list",
            )
        return self.look(strategy_id, file, told)

    def look(self, strategy_id: str, file: Path | None, told: Journal) -> Entry:
        """Return one strategy by its file (None: only versions are left) and the journal, which was read before.

        For whoever looks at many, or at few of many again; `entry` and `entries` read both themselves.
        """
        faults: list[Fault] = []
        authored: Strategy | None = None
        release: Release | None = None
        text = ""
        domain = strategy_id.partition(".")[0]
        if file is not None:
            name = file.relative_to(self.root).as_posix()
            try:
                text = text_of(file)
                authored = parsed(text, name)
                faults += misplaced(authored, file, name)
            except FaultyFileError as error:
                faults += error.faults
        try:
            release = self.release(strategy_id)
        except FaultyFileError as error:
            faults += error.faults
        path = file or self.root / domain / f"{strategy_id}.yaml"
        return Entry(strategy_id, domain, path, authored, sha256_of(text), release, told.of(strategy_id), tuple(faults))

    def release(self, strategy_id: str) -> Release | None:
        """Return the release file of a strategy, None where it has none. Raises FaultyFileError."""
        path = self.root / strategy_id.partition(".")[0] / f"{strategy_id}{_RELEASE}"
        if not os.path.lexists(path):
            return None
        name = path.relative_to(self.root).as_posix()
        found, source = read(text_of(path), Release, name)
        if found.id != strategy_id:
            raise FaultyFileError((source.fault(("id",), f"is not {strategy_id}, as the file's name says"),))
        return found

    def read(self, strategy_id: str, version: int | None = None) -> Strategy:
        """Return a version, the newest text where `version` is None. Raises as `text`, and FaultyFileError."""
        return parsed(*self._named(strategy_id, version))

    def text(self, strategy_id: str, version: int | None = None) -> str:
        """Return the text of a version, the newest one where `version` is None.

        Raises NotFoundError, or DamagedError where a published version isn't what was published.
        """
        return self._named(strategy_id, version)[0]

    def _named(self, strategy_id: str, version: int | None) -> tuple[str, str]:
        path = self.files().get(strategy_id) if version is None else self._version(strategy_id, version)
        if path is None or not os.path.lexists(path):
            what = f"version {version} of {strategy_id}" if version is not None else strategy_id
            raise NotFoundError(f"there is no {visible_line(what)}", hint="List them: exuvia strategy list")
        text = text_of(path)
        if version is not None:
            standing = self.journal().standings.get((strategy_id, version))
            if standing is not None and standing.sha256 != sha256_of(text):
                raise DamagedError(
                    f"version {version} of {strategy_id} is not what was published (sha256 {standing.sha256[:12]}…).",
                    hint=f"Put {path.relative_to(self.root)} back (git, a backup), or take the version off-line; "
                    "changes belong into a next version.",
                )
        return text, path.relative_to(self.root).as_posix()

    def _version(self, strategy_id: str, version: int) -> Path:
        return self.root / VERSIONS / plain_id(strategy_id) / f"{version}.yaml"

    def publish(self, strategy_id: str, actor: Actor, why: str = "") -> Standing:
        """Publish the newest text as its version, a draft; the same text again changes nothing.

        Raises ConflictError where that number was published with another text (S59: versions never change), UsageError
        where it lies below the newest one or its parent was never published, FaultyFileError, NotFoundError.
        """
        readonly.refuse(self.root)
        with self._writing():
            text, name = self._named(strategy_id, None)
            strategy = parsed(text, name)
            told = self.journal()
            before = told.standings.get((strategy_id, strategy.version))
            refuse_version(strategy, sha256_of(text), told.of(strategy_id))
            path = self._version(strategy_id, strategy.version)
            self._write_version(path, text, strategy)
            if before is not None:
                return before
            record = {
                "time": now_s(),
                "event": "published",
                "id": strategy_id,
                "version": strategy.version,
                "sha256": sha256_of(text),
                "origin": strategy.origin.kind,
                "actor": actor.name,
                "person": actor.person,
                "signature": audit.signature(),
                "why": why,
                "evidence": list(strategy.origin.evidence),
            }
            append_record(self.root / STATE, record)
        self._audit("strategy_publish", strategy_id, strategy.version, actor, {"sha256": record["sha256"], "why": why})
        return self.standing(strategy_id, strategy.version)

    def _write_version(self, path: Path, text: str, strategy: Strategy) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            write_new(path, text.encode("utf-8"), mode=0o444)
        except ConflictError:
            if text_of(path) != text:
                raise changed_error(strategy) from None

    def standing(self, strategy_id: str, version: int) -> Standing:
        """Return where a version stands. Raises NotFoundError."""
        found = self.journal().standings.get((strategy_id, version))
        if found is None:
            raise NotFoundError(
                f"version {version} of {visible_line(strategy_id)} was never published.",
                hint=f"Publish the newest text: exuvia strategy publish {visible_line(strategy_id)}",
            )
        return found

    def move(self, strategy_id: str, version: int, step: Step, *, expect: State | None = None) -> Standing:
        """Move a version and return where it stands then. A move to shadow or gray takes the release file as it is now.

        Raises RefusedError with the way out where the rule forbids it, ConflictError where the version isn't in the
        state `expect` any more (somebody else moved it), NotFoundError, DamagedError where its text was changed.
        """
        readonly.refuse(self.root)
        with self._writing():
            now = self.standing(strategy_id, version)
            if expect is not None and now.state != expect:
                raise ConflictError(
                    f"version {version} of {strategy_id} is {now.state} meanwhile, not {expect}.",
                    hint=f"Look who moved it: exuvia strategy history {strategy_id}",
                )
            if step.to in {"shadow", "gray", "active"}:
                self.text(strategy_id, version)  # never lets a changed text through
            step = self._with_release(now, step)
            self._append(now, step, {})
        told = {"to": step.to, "stage": step.stage, "why": step.why, "evidence": list(step.evidence)}
        self._audit("strategy_move", strategy_id, version, step.actor, told)
        return self.standing(strategy_id, version)

    def refusal(self, strategy_id: str, version: int, step: Step) -> Refusal | None:
        """Return why a move would be refused now, None where it wouldn't. Changes nothing. Raises as `move`."""
        now = self.standing(strategy_id, version)
        try:
            self._refuse(now, self._with_release(now, step))
        except journal.UntakenError as error:
            return error.refused
        return None

    def take_back(
        self, strategy_id: str, actor: Actor, why: str, evidence: tuple[str, ...] = (), *, version: int | None = None
    ) -> Standing:
        """Take what was released last off-line, in one line: the version before answers again (S73).

        That is the version in gray, else the active one, whose predecessor becomes active; with `version` only that
        one. Raises RefusedError where none answers users. Returns where the version that was taken back stands.
        """
        readonly.refuse(self.root)
        with self._writing():
            versions = self.journal().of(strategy_id)
            named = [one for one in versions if version in (None, one.version)]
            now = newest(named, "gray") or newest(named, "active")
            if now is None:
                what = visible_line(strategy_id) + ("" if version is None else f" version {version}")
                raise RefusedError(f"{what} has no version that answers users.", hint="Nothing is to be taken back.")
            old = next((one for one in versions if one.version == now.replaced and one.state == "deprecated"), None)
            back = old if now.state == "active" else None
            step = Step("offline", actor, now_s(), why=why, evidence=evidence)
            self._append(now, step, {} if back is None else {"restore": back.version})
        told = {"why": why, "restored": back.version if back else None, "evidence": list(evidence)}
        self._audit("strategy_rollback", strategy_id, now.version, actor, told)
        return self.standing(strategy_id, now.version)

    def review_domain(self, domain: str, actor: Actor, why: str = "") -> None:
        """Write down that a person has looked through a domain (S77). Raises UsageError for another actor."""
        readonly.refuse(self.root)
        if not actor.person:
            raise UsageError("Only a person reviews a domain.")
        with self._writing():
            record = {"time": now_s(), "event": "domain_reviewed", "id": domain, "actor": actor.name, "person": True}
            append_record(self.root / STATE, record | {"signature": audit.signature(), "why": why})
        if self.project is not None:
            audit.record(self.project, "strategy_domain_review", domain, {"why": why}, actor.name)

    def difference(self, strategy_id: str, old: int, new: int | None = None) -> str:
        """Return a unified diff of two versions, `new` None for the newest text; "" where they are equal."""
        before, after = (self.text(strategy_id, version).splitlines(keepends=True) for version in (old, new))
        name = f"{strategy_id} {'as written' if new is None else f'version {new}'}"
        return "".join(difflib.unified_diff(before, after, f"{strategy_id} version {old}", name))

    def _append(self, now: Standing, step: Step, more: Mapping[str, int]) -> None:
        try:
            record = self._refuse(now, step, more)
        except journal.UntakenError as error:
            raise RefusedError(error.refused.reason, hint=error.refused.hint) from error
        append_record(self.root / STATE, record)

    def _refuse(self, now: Standing, step: Step, more: Mapping[str, int] | None = None) -> Mapping[str, Any]:
        record = journal.step_record(now.id, now.version, step, audit.signature(), **(more or {}))
        journal.apply(dict(self.journal().standings), record)
        return record

    def _with_release(self, now: Standing, step: Step) -> Step:
        if step.to not in {"shadow", "gray"} or step.release is not None:
            return step
        return replace(step, release=self.release(now.id))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        if not self.root.is_dir():
            raise NotFoundError(f"there is no bank {visible_line(str(self.root))}", hint="Make the directory first.")
        if self.project is None and not (ignored := self.records / ".gitignore").is_file():
            self.records.mkdir(exist_ok=True)
            write_bytes(ignored, b"*\n")  # in a checkout, what was tracked is nobody's commit
        with held(self._lock):
            yield

    def _audit(self, action: str, strategy_id: str, version: int, actor: Actor, detail: Mapping[str, object]) -> None:
        if self.project is not None:
            audit.record(self.project, action, strategy_id, {"version": version, **detail}, actor.name)


def bank_of(project: ProjectPaths) -> Bank:
    """Return the bank of a Project: `<project>/strategies/`, there or not."""
    return Bank(project.root / "strategies", project)
