"""Following a Project that another program works in: which Sessions make up a loop, read only as far as needed.

Reads and never writes. A listing of directory entries tells what grew; only that is read, and only its new part.
Sessions that lead or evaluate are walked whole, once; of all others the head is enough.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from core.evolution.gate import EvaluationRequest
from core.evolution.observed import QUIET_S, Benchmark, Evaluating, Loop, views_of
from core.evolution.observed_files import File, Scanned, goes_on, new_records, scan
from core.evolution.observed_session import DESIGN, OPTIMIZATION, OWN_TOOLS, Seen, SessionWalk, request_of
from core.evolution.run_view import RunView
from core.foundation.errors import ExuviaError
from core.state.evaluation import Evaluation
from core.state.paths import AgentPaths, ProjectPaths
from core.traces.cost import Prices
from core.traces.listing import SessionHead, read_head
from core.traces.shards import Shard, all_shards

_TARGETS = frozenset({"", "benchmark"})
"""What a Target's trace says it was started by: nothing, or what a newer layout adds (EVOLUTION 1.9)."""
_NAMES = (DESIGN.encode(), OPTIMIZATION.encode())
_STRIDE = 32  # records between two looks at the clock
Stamp = tuple[int, int, int]


@dataclass(slots=True)
class _Followed:
    """A Session that is walked. Invariant: `walk` has stepped over every whole record of `sizes`, in order, or
    `is_behind` says that more of them are to come.
    """

    walk: SessionWalk = field(default_factory=SessionWalk)
    files: dict[str, File] = field(default_factory=dict)
    sizes: tuple[tuple[str, int], ...] = ()
    seen: Seen | None = None
    is_behind: bool = False


def told_sessions(views: Iterable[RunView]) -> frozenset[str]:
    """Return the Sessions that runs with a journal tell of; what is left belongs to other programs."""
    told: set[str] = set()
    for view in views:
        told |= {session.session_id for session in view.sessions}
        for cell in view.cells:
            told |= {cell.session_id or "", cell.evaluator_session_id or ""}
    return frozenset(told)


class Observer:
    """The loops that other programs run in a Project.

    Invariant: what `read` returns follows from the files alone; a second Observer would say the same, unless it
    `is_behind`: then the time for a read was over, and the next one goes on. `unreadable` names what the latest read
    could not look into.
    """

    def __init__(
        self, project: ProjectPaths, *, clock: Callable[[], float] = time.time, read_s: float | None = None
    ) -> None:
        """`clock` gives seconds since the epoch, as the files' times do; a read may take `read_s` seconds."""
        self.project = project
        self.is_behind = False
        self.unreadable: tuple[str, ...] = ()
        self._read_s, self._until = read_s, float("inf")
        self._named: dict[str, dict[str, Scanned]] = {}
        self._clock = clock
        self._heads: dict[str, SessionHead] = {}
        self._leading: dict[str, list[SessionHead]] = {}  # by Workspace, newest first; made where it is asked for
        self._requests: dict[str, tuple[str, EvaluationRequest | None]] = {}
        self._followed: dict[str, _Followed] = {}
        self._parents: dict[str, str] = {}
        self._boards: dict[Benchmark, tuple[Stamp, tuple[Evaluation, ...]]] = {}
        self._prices: tuple[Stamp, Prices] = ((0, 0, 0), {})
        self._loops: dict[str, tuple[object, list[RunView]]] = {}

    def read(self, covered: frozenset[str] = frozenset()) -> tuple[RunView, ...]:
        """Return the inferred runs, oldest first. `covered` are the Sessions that a journal of ours tells of."""
        now, self.is_behind = self._clock(), False
        self._until = float("inf") if self._read_s is None else time.monotonic() + self._read_s
        self._list(covered)
        loops = self._find(now)
        if not loops:
            return ()
        agents = frozenset(self.project.agent_ids())
        boards, prices = self._read_boards(agents), self._read_prices()
        stamps = tuple((pair, stamp) for pair, (stamp, _) in self._boards.items())
        views: list[RunView] = []
        known, self._loops = self._loops, {}
        for loop in loops:
            quiet = loop.is_quiet(now)
            key = (loop, quiet, stamps, agents, self._prices[0])
            earlier = known.get(loop.id)
            same = earlier is not None and earlier[0] == key
            found = earlier[1] if earlier and same else views_of(loop, boards, agents, prices, quiet=quiet)
            self._loops[loop.id] = (key, found)
            views += found
        return tuple(sorted(views, key=lambda view: view.started))

    def signs(self) -> tuple[Stamp, ...]:
        """Return what differs where a read may differ, by a few stats: directories of traces, and unfinished files.

        An unfinished Session that has become quiet differs too, though nothing is written. May be called while
        another thread reads.
        """
        now, quiet = self._clock(), 0
        places = [self.project.agents]
        for agent_id in self.project.agent_ids():
            traces = self.project.agent(agent_id).traces
            places += [traces, *(traces / date for date in _newest(os.fspath(traces)))]
        for followed in list(self._followed.values()):  # another thread may read meanwhile
            if followed.seen is not None and followed.seen.turn in ("open", "silent"):
                places.append(followed.seen.head.files[-1].path)
                quiet += now - followed.seen.written > QUIET_S
        return ((quiet, 0, 0), *(_stamp(os.fspath(place)) for place in places))

    # What there is

    def _list(self, covered: frozenset[str]) -> None:
        heads: dict[str, SessionHead] = {}
        self.unreadable = ()
        for agent_id in self.project.agent_ids():
            agent = self.project.agent(agent_id)
            try:
                listed = all_shards(agent)
            except OSError as error:
                self.unreadable += (f"traces of {agent_id}: {error.strerror or error}",)
                continue
            for session_id, shards in listed.items():
                if session_id not in covered and session_id not in heads:
                    head = self._head(agent, session_id, shards)
                    if head is not None and not head.tools & OWN_TOOLS:
                        heads[session_id] = head
        self._heads = heads
        self._leading = {}
        for gone in self._followed.keys() - heads.keys():
            del self._followed[gone]
        for gone in self._named.keys() - heads.keys():
            del self._named[gone]

    def _head(self, agent: AgentPaths, session_id: str, shards: tuple[Shard, ...]) -> SessionHead | None:
        known = self._heads.get(session_id)
        if known is not None and known.files == shards:
            return known
        if known is not None and known.is_complete:
            before, first = known.files[0], shards[0]
            if before.path == first.path and before.size <= first.size:
                return replace(known, files=shards)
        return read_head(agent, shards)

    def _request(self, head: SessionHead) -> EvaluationRequest | None:
        known = self._requests.get(head.session_id)
        if known is None or known[0] != head.prompt:
            known = (head.prompt, request_of(head.prompt) if head.source == "subagent" else None)
            self._requests[head.session_id] = known
        return known[1]

    # Which of it belongs together

    def _find(self, now: float) -> list[Loop]:
        evaluators: list[tuple[Seen, EvaluationRequest]] = []
        for head in self._heads.values():
            if head.source == "subagent" and (request := self._request(head)) is not None:
                seen = self._follow(head)
                if head.tools or seen.requests:  # before that, it may be one of our own engine's
                    evaluators.append((seen, request))
        evaluators.sort(key=lambda pair: (pair[0].first_ts, pair[0].session_id))
        started: dict[str, list[Evaluating]] = {}
        for seen, request in evaluators:
            parent = self._parent(seen)
            target_id = self._target(seen, request)
            target = self._heads.get(target_id)
            evaluating = Evaluating(seen, request, target_id, self._follow(target) if target else None)
            started.setdefault(parent or f"?{seen.session_id}", []).append(evaluating)
        loops = [
            Loop(self._follow(self._heads[root_id]) if root_id in self._heads else None, tuple(found))
            for root_id, found in started.items()
        ]
        targets = {evaluating.target_id for found in started.values() for evaluating in found}
        for head in self._heads.values():
            if head.session_id not in started and head.session_id not in targets and self._may_lead(head, now):
                seen = self._follow(head)
                if seen.skills and (head.tools or seen.requests):
                    loops.append(Loop(seen, ()))
        return loops

    def _may_lead(self, head: SessionHead, now: float) -> bool:
        """Say whether a Session without an Evaluator is worth reading: it names a skill of the loop, or is at work."""
        if head.source == "subagent":
            return False
        if head.session_id in self._followed or DESIGN in head.prompt or OPTIMIZATION in head.prompt:
            return True
        return now - _written(head.files) <= QUIET_S and self._names_skill(head)

    def _names_skill(self, head: SessionHead) -> bool:
        """Say whether a skill of the loop is named anywhere in a Session's files: a scan of bytes, where parsing takes
        a hundred times as long, and each byte is scanned once.
        """
        scanned = self._named.setdefault(head.session_id, {})
        for shard in head.files:
            path = os.fspath(shard.path)
            known = scanned.get(path)
            if known is None or known.inode != _stamp(path)[0] or known.offset > shard.size:
                known = scanned[path] = Scanned(_stamp(path)[0])
            if not known.found and known.offset < shard.size:
                scan(path, known, _NAMES)
        return any(known.found for known in scanned.values())

    def _parent(self, seen: Seen) -> str | None:
        """Return who started an Evaluator: who points to it, else who asked just this (no. 65)."""
        session_id = seen.session_id
        known = self._heads.get(self._parents.get(session_id, ""))
        if known is not None and session_id in self._follow(known).digest.pointers:
            return known.session_id
        asked: str | None = None
        for root in self._candidates(seen):
            if session_id in root.digest.pointers:
                self._parents[session_id] = root.session_id
                return root.session_id
            if asked is None and any(call.prompt == seen.head.prompt for call in root.digest.calls):
                asked = root.session_id
        return asked

    def _candidates(self, seen: Seen) -> Iterable[Seen]:
        """Yield the Sessions that may have started an Evaluator, likeliest first: one Workspace, and begun before."""
        head = seen.head
        if not self._leading:
            for other in self._heads.values():
                if other.source != "subagent":
                    self._leading.setdefault(other.workspace, []).append(other)
            for heads in self._leading.values():
                heads.sort(key=lambda other: other.first_ts, reverse=True)
        here = [other for other in self._leading.get(head.workspace, ()) if other.first_ts <= seen.first_ts]
        here.sort(key=lambda other: other.agent_id != head.agent_id)
        return (self._follow(other) for other in here)

    def _target(self, seen: Seen, request: EvaluationRequest) -> str:
        """Return the Session of the Target that an Evaluator ran, "" where none is known yet (no. 66)."""
        named = seen.digest.answer.get("session_id", "")
        if named in self._heads:
            return named
        over = seen.digest.last_ts if seen.turn in ("ended", "aborted") else ""
        found = [
            head
            for moment, command in seen.commands
            for head in self._heads.values()
            if head.agent_id == request.test_agent_id
            and head.source in _TARGETS
            and head.workspace
            and head.workspace in command
            and head.first_ts >= moment
            and (not over or head.first_ts <= over)
        ]
        return max(found, key=lambda head: head.first_ts).session_id if found else ""

    # Reading

    def _follow(self, head: SessionHead) -> Seen:
        """Walk what was appended to a Session and return what is known of it."""
        followed = self._followed.get(head.session_id)
        if followed is None:
            followed = self._followed[head.session_id] = _Followed()
        if followed.seen is not None and followed.seen.head is head and not followed.is_behind:
            return followed.seen  # a head is made anew wherever its files changed
        sizes = tuple((os.fspath(shard.path), shard.size) for shard in head.files)
        known = [path for path, _ in followed.sizes]
        if [path for path, _ in sizes][: len(known)] != known or not all(
            goes_on(path, followed.files.get(path)) for path in known
        ):
            followed = self._followed[head.session_id] = _Followed()
        followed.is_behind = not self._step(followed, [path for path, _ in sizes])
        self.is_behind |= followed.is_behind
        followed.sizes = sizes
        followed.seen = followed.walk.seen(head, _written(head.files))
        return followed.seen

    def _step(self, followed: _Followed, paths: Iterable[str]) -> bool:
        """Walk what is new in files; return False where the time for this read was over before their end."""
        for path in paths:
            with closing(new_records(path, followed.files)) as records:
                for number, record in enumerate(records):
                    followed.walk.step(record)
                    if number % _STRIDE == 0 and time.monotonic() > self._until:
                        return False
        return True

    def _read_boards(self, agents: Iterable[str]) -> dict[Benchmark, Sequence[Evaluation]]:
        from core.state.scoreboard import read_scoreboard  # YAML, where there is a loop to look at

        boards: dict[Benchmark, tuple[Stamp, tuple[Evaluation, ...]]] = {}
        for agent_id in sorted(agents):
            agent = self.project.agent(agent_id)
            for benchmark_id in agent.benchmark_ids():
                path = agent.benchmark(benchmark_id).scoreboard
                stamp, known = _stamp(os.fspath(path)), self._boards.get((agent_id, benchmark_id))
                if known is None or known[0] != stamp:
                    known = (stamp, tuple(read_scoreboard(path).evaluations))
                boards[agent_id, benchmark_id] = known
        self._boards = boards
        return {pair: evaluations for pair, (_, evaluations) in boards.items()}

    def _read_prices(self) -> Prices:
        from core.state.project import read_project

        stamp = _stamp(os.fspath(self.project.config))
        if stamp != self._prices[0]:
            try:
                models = read_project(self.project).models
            except (ExuviaError, OSError):
                models = ()
            self._prices = (stamp, {(m.ref.provider, m.ref.model_id): m.price for m in models})
        return self._prices[1]


def _stamp(path: str) -> Stamp:
    try:
        status = Path(path).stat()
    except OSError:
        return (0, 0, 0)
    return (status.st_ino, status.st_size, status.st_mtime_ns)


def _written(shards: Iterable[Shard]) -> float:
    """Return when the newest of the files was written, in seconds since the epoch; 0 where none is left."""
    return max((_stamp(os.fspath(shard.path))[2] / 1e9 for shard in shards), default=0.0)


def _newest(traces: str, count: int = 2) -> list[str]:
    """Return the names of the newest date directories."""
    try:
        with os.scandir(traces) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir())[-count:]
    except OSError:
        return []
