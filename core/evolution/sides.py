"""What can be compared: every kept state of an agent, and the files of its benchmarks, then and now."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.evolution.freeze import frozen_files
from core.evolution.side import OF_BENCHMARK as OF_BENCHMARK
from core.evolution.side import Kind as Kind
from core.evolution.side import Side as Side
from core.evolution.specs import RunPaths, read_spec, run_paths
from core.foundation import strict_json
from core.foundation.errors import ConflictError, DamagedError, NotFoundError, UsageError
from core.state import ledger, statediff
from core.state.archive import read_archive
from core.state.paths import AgentPaths, ProjectPaths
from core.state.snapshot_index import find, list_snapshots, opened
from core.state.statediff import FileDiff, Files
from core.state.transfer import look
from core.state.versions import current_version


@dataclass(frozen=True, slots=True)
class Listed:
    """A side that there is: `what` came of it in a word or two, `text` the hypothesis behind it, `time` UTC or ""."""

    side: Side
    what: str
    text: str = ""
    time: str = ""


def sides(project: ProjectPaths, agent_id: str, benchmark_id: str = "") -> tuple[Listed, ...]:
    """Return everything of an agent that can be compared, the present state first, then the newest version first.

    With `benchmark_id` its files then and now follow. A Candidate stands beside the snapshot that an accepted one
    became. Nothing is unpacked for it.
    """
    agent = project.agent(agent_id)
    records = {record.version: record for record in ledger.read(project, agent_id)}
    listed = [Listed(Side("current", agent_id), f"v{current_version(agent) or '?'}")]
    kept = [snapshot for snapshot in list_snapshots(agent) if not snapshot.damage]
    for snapshot in sorted(kept, key=lambda entry: (entry.version, not entry.beside), reverse=True):
        record = records.get(snapshot.version) if not snapshot.beside else None
        several = sum(other.version == snapshot.version for other in kept) > 1
        side = Side("snapshot", agent_id, snapshot.version, content=snapshot.content_hash if several else "")
        what = "kept beside" if snapshot.beside else record.decision if record else "kept"
        listed.append(Listed(side, what, record.hypothesis if record else "", snapshot.time))
    for run in _runs(project, agent_id):
        for version in sorted(_candidates(run), reverse=True):
            record = records.get(version)
            found = record if record is not None and record.run_id == run.id else None
            told = (found.decision, found.hypothesis, found.time) if found else ("not decided", "", "")
            listed.append(Listed(Side("candidate", agent_id, version, run.id), *told))
    if benchmark_id:
        listed.append(Listed(Side("benchmark", agent_id, benchmark_id=benchmark_id), "on disk"))
        for run in _runs(project, agent_id):
            frozen = _frozen(run)
            if frozen is not None and frozen.get("benchmark_id") == benchmark_id:
                side = Side("frozen", agent_id, run_id=run.id, benchmark_id=benchmark_id)
                listed.append(Listed(side, "frozen", f"by {run.id}", str(frozen.get("time", ""))))
            if run.lowest.is_dir() and read_spec(run).benchmark_id == benchmark_id:
                lowest = Side("lowest", agent_id, run_id=run.id, benchmark_id=benchmark_id)
                listed.append(Listed(lowest, "pilot", f"kept by {run.id}"))
    return tuple(listed)


def compare(project: ProjectPaths, left: Side, right: Side) -> tuple[FileDiff, ...]:
    """Compare two sides, file by file. An archive is compared with memory and schedule, which it would replace.

    Raises UsageError for a state against a benchmark, NotFoundError, DamagedError, ConflictError.
    """
    if (left.kind in OF_BENCHMARK) != (right.kind in OF_BENCHMARK):
        raise UsageError(
            f"{left.words} and {right.words} can't be compared.", hint="Compare two states, or two benchmarks."
        )
    whole = left.kind in OF_BENCHMARK or "archive" in (left.kind, right.kind)
    return statediff.compare(files_of(project, left), files_of(project, right), with_memory=whole)


def files_of(project: ProjectPaths, side: Side) -> Files:
    """Open a side. Raises NotFoundError, DamagedError, ConflictError where an archive changed since it was named."""
    agent = project.agent(side.agent_id)
    if side.kind == "current":
        return _directory(agent.state, f"agent {agent.id} has no state")
    if side.kind == "snapshot":
        archive = opened(find(agent, side.version, side.content or None))
        return Files(archive.file_hashes(), archive.read_many)
    if side.kind == "archive":
        archive = read_archive(Path(side.path))
        if side.content and archive.whole_hash != side.content:
            raise ConflictError(f"{Path(side.path).name} changed since it was looked at", hint="Name it again.")
        return Files(archive.file_hashes(), archive.read_many)
    if side.kind in ("candidate", "reference"):
        root = _candidate_root(project, side)
        return _directory(root / ("after" if side.kind == "candidate" else "before"), "a Candidate was not kept")
    benchmark = agent.benchmark(side.benchmark_id)
    if side.kind == "benchmark":
        present = _directory(benchmark.root, f"there is no benchmark {side.benchmark_id}")
        return Files(frozen_files(benchmark), present.read)
    run = run_paths(project, side.run_id) if side.run_id else _newest(project, side)
    if side.kind == "lowest":
        return _directory(run.lowest, f"run {run.id} keeps no lowest pilot any more")
    return _as_frozen(run, agent, side.benchmark_id)


def parse(project: ProjectPaths, agent: AgentPaths, name: str, benchmark_id: str = "") -> Side:
    """Return the side that a word of the command line names. Raises UsageError.

    `current`, `N` or `vN`, `vN@HASH`, `candidate:N`, `reference:N`, `archive:PATH`, and with a benchmark `benchmark`,
    `frozen`, `lowest`. Where no snapshot of `vN` is kept and a Candidate is, the Candidate is meant.
    """
    kind, _, rest = name.partition(":")
    if name == "current":
        return Side("current", agent.id)
    if kind == "archive" and rest:
        return Side("archive", agent.id, look(Path(rest)).version, path=rest)
    if name in OF_BENCHMARK and benchmark_id:
        wanted = [entry.side for entry in sides(project, agent.id, benchmark_id) if entry.side.kind == name]
        if not wanted:
            raise NotFoundError(f"benchmark {benchmark_id} has no {name} files", hint="Try 'benchmark' and 'frozen'.")
        return wanted[-1]
    number, _, content = (rest if kind in ("candidate", "reference") else name).removeprefix("v").partition("@")
    if not number.isdecimal() or not number.isascii() or len(number) > 9 or not int(number):
        hint = "Use 'current', a version such as 2 or v2, or candidate:2; with --benchmark: frozen, benchmark, lowest."
        raise UsageError(f"{name!r} is no version.", hint=hint)
    version = int(number)
    if kind == "candidate":
        return Side("candidate", agent.id, version)
    if kind == "reference":
        return Side("reference", agent.id, version)
    kept = [entry for entry in list_snapshots(agent) if entry.version == version]
    if not kept and any(version in _candidates(run) for run in _runs(project, agent.id)):
        return Side("candidate", agent.id, version)
    whole = next(
        (entry.content_hash for entry in kept if entry.content_hash.removeprefix("sha256:").startswith(content)), ""
    )
    if content and not whole:
        raise UsageError(
            f"No state of v{version} has a content that begins with {content!r}.", hint="See snapshot list."
        )
    return Side("snapshot", agent.id, version, content=whole if content else "")


def reasons(project: ProjectPaths, side: Side) -> Mapping[str, str]:
    """Return why a Candidate changes each file, in its proposer's words; what can't be read has no reason."""
    try:
        record = strict_json.parse((_candidate_root(project, side) / "candidate.json").read_bytes())
        return {str(edit["path"]): str(edit.get("why", "")) for edit in record["edits"]}
    except (NotFoundError, OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _directory(root: Path, missing: str) -> Files:
    try:
        return statediff.files_of(root) if root.is_dir() else _none(missing)
    except FileNotFoundError:
        return _none(missing)


def _none(missing: str) -> Files:
    raise NotFoundError(missing, hint="Choose another side.")


def _runs(project: ProjectPaths, agent_id: str) -> Iterator[RunPaths]:
    """Yield the runs about an agent, newest first; one whose spec can't be read is about nobody."""
    try:
        names = sorted(
            (entry.name for entry in project.runs.iterdir()), key=lambda name: name.partition("-")[2], reverse=True
        )
    except OSError:
        return
    for name in names:
        run = run_paths(project, name)
        try:
            if read_spec(run).agent_id == agent_id:
                yield run
        except DamagedError:
            continue


def _candidates(run: RunPaths) -> tuple[int, ...]:
    """Return the versions whose Candidates a run keeps, whole ones."""
    return tuple(
        int(path.parent.name[1:])
        for path in (run.root / "candidates").glob("v*/candidate.json")
        if path.parent.name[1:].isdecimal()
    )


def _candidate_root(project: ProjectPaths, side: Side) -> Path:
    named = (run_paths(project, side.run_id),) if side.run_id else tuple(_runs(project, side.agent_id))
    for run in named:
        if side.version in _candidates(run):
            return run.root / "candidates" / f"v{side.version}"
    raise NotFoundError(f"no run keeps a Candidate v{side.version}", hint="Compare the snapshots of versions instead.")


def _frozen(run: RunPaths) -> dict[str, Any] | None:
    try:
        record = strict_json.parse(run.frozen.read_bytes())
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) and isinstance(record.get("files"), dict) else None


def _newest(project: ProjectPaths, side: Side) -> RunPaths:
    """Return the newest run that froze the side's benchmark, or keeps a lowest pilot of it."""
    for run in _runs(project, side.agent_id):
        frozen = _frozen(run)
        if side.kind == "frozen" and frozen is not None and frozen.get("benchmark_id") == side.benchmark_id:
            return run
        if side.kind == "lowest" and run.lowest.is_dir() and read_spec(run).benchmark_id == side.benchmark_id:
            return run
    raise NotFoundError(f"{side.words}: no run keeps it", hint="Choose another side.")


def _as_frozen(run: RunPaths, agent: AgentPaths, benchmark_id: str) -> Files:
    """Return the files of a freeze. It keeps hashes only, so content is what some place still holds of that hash."""
    record = _frozen(run)
    if record is None or record.get("benchmark_id") != benchmark_id:
        raise NotFoundError(f"run {run.id} froze no {benchmark_id} that can be read", hint="Choose another side.")
    hashes = {str(name): str(digest) for name, digest in record["files"].items()}
    places = [place for place in (run.lowest, agent.benchmark(benchmark_id).root) if place.is_dir()]

    def read(names: Collection[str]) -> Mapping[str, bytes]:
        found: dict[str, bytes] = {}
        for place in places:
            there = statediff.files_of(place)
            same = [name for name in names if name in hashes and there.hashes.get(name) == hashes[name]]
            found |= there.read(same)
        return found

    return Files(hashes, read)
