"""Which Session started which: sub-agents, Evaluators and their Targets as one tree (EVOLUTION 2.6 no. 65 to 68).

A pointer carries no call id, so children are bound to calls by what both say: the child's first text is the call's
prompt. Equal prompts are served first in, first out. Targets are separate processes: our own are named by the
tool that launched them, foreign ones by the Evaluator's answer, by the Workspace in its command, or by a scoreboard.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from core.foundation.errors import NotFoundError
from core.state.paths import ProjectPaths
from core.traces.digest import Call, Digest, ModelUsage, digest, protocol_fields
from core.traces.listing import SessionHead
from core.traces.parsing import TraceRecord
from core.traces.project_sessions import ProjectSessions, ScoredRun
from core.traces.reader import TraceFile
from core.traces.shards import Shard, check_session_id
from core.traces.tokens import Tokens

Role = Literal["builder", "optimizer", "evaluator", "target", "subagent", "session"]
LinkKind = Literal["subagent", "launch", "answer", "workspace", "scoreboard"]

_CELL = ("test_agent_id", "benchmark_id", "expected_version", "case_id", "run")
_CUT_PROMPT = 8_000  # a first text of at least so many characters may be a preview of a longer one


@dataclass(frozen=True, slots=True)
class Link:
    """How a parent points to a child; `call_id` is the call that started it, None where none could be told."""

    kind: LinkKind
    session_id: str
    call_id: str | None = None


@dataclass(frozen=True, slots=True)
class SessionNode:
    """A Session with everything it started. Its own `usage` excludes the children's (no. 68).

    `head` is None where the trace is missing: then nothing is known of it but that it was started.
    """

    session_id: str
    agent_id: str
    role: Role
    link: Link | None
    head: SessionHead | None
    digest: Digest
    scored: tuple[ScoredRun, ...] = ()
    children: tuple[SessionNode, ...] = field(default=())

    @property
    def usage(self) -> tuple[ModelUsage, ...]:
        return tuple(self.digest.usage)

    @property
    def is_missing(self) -> bool:
        return self.head is None

    @property
    def tokens(self) -> Tokens:
        """The Session's own tokens, as far as they are known."""
        return sum((part.tokens for part in self.digest.usage), Tokens())

    @property
    def tree_tokens(self) -> Tokens:
        """Known tokens of the Session and of everything it started."""
        return sum((node.tokens for node in self.walk()), Tokens())

    @property
    def unknown_requests(self) -> int:
        """Requests without a count, in the Session and in everything it started; a missing trace counts as one."""
        return sum(1 if node.is_missing else sum(part.unknown for part in node.digest.usage) for node in self.walk())

    def walk(self) -> Iterator[SessionNode]:
        """Yield this node and all below it, parents first."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))


def build_tree(project: ProjectPaths, session_id: str, sessions: ProjectSessions | None = None) -> SessionNode:
    """Return the tree below a Session of any agent of `project`. Raises NotFoundError.

    `sessions` saves a scan where several trees are built at once.
    """
    check_session_id(session_id)
    found = sessions or ProjectSessions(project)
    if found.agent_of(session_id) is None:
        raise NotFoundError(f"There is no session {session_id} in project {project.id}.", hint="List the sessions.")
    # Breadth first and without recursion: a tree may be deeper than the interpreter's stack, and a Session that two
    # others name belongs to the nearer one. Each has one place: none is shown, or paid for, twice.
    places = [_Place(Link("subagent", session_id), None, found)]
    seen = {session_id}
    for place in places:  # grows while it is walked
        for link in links_of(found, place.head, place.said) if place.head is not None else ():
            if link.session_id not in seen:
                seen.add(link.session_id)
                below = _Place(link, place, found)
                place.below.append(below)
                places.append(below)
    for place in reversed(places):
        place.node = _node(place, found)
    assert places[0].node is not None
    return places[0].node


class _Place:
    """A Session's place while the tree grows; `node` is made once those of all `below` are."""

    def __init__(self, link: Link, above: _Place | None, sessions: ProjectSessions) -> None:
        self.link = link
        self.above = above
        self.below: list[_Place] = []
        self.node: SessionNode | None = None
        self.head = sessions.head(link.session_id)
        self.said = Digest()
        if self.head is None:
            return
        try:
            self.said = digest(_stream(sessions.shards(link.session_id)))
        except NotFoundError:
            self.head = None  # gone since it was found


def _stream(shards: tuple[Shard, ...]) -> Iterator[TraceRecord]:
    for shard in shards:
        with TraceFile(shard.path) as file:
            yield from file.iter_records()


def _node(place: _Place, sessions: ProjectSessions) -> SessionNode:
    link = place.link if place.above else None
    session_id, head = place.link.session_id, place.head
    if head is None:
        agent_id = place.above.head.agent_id if place.above and place.above.head else ""
        return SessionNode(session_id, agent_id, "subagent", link, None, Digest())
    children = tuple(below.node for below in place.below if below.node is not None)
    scored = sessions.scored(session_id)
    role = role_of(head, link.kind if link else None, scored, [child.role for child in children])
    return SessionNode(session_id, head.agent_id, role, link, head, place.said, scored, children)


def links_of(sessions: ProjectSessions, head: SessionHead, said: Digest) -> list[Link]:
    """Return the Sessions that one Session started, each once, in the order they were started."""
    links: dict[str, Link] = {}
    launches = {call.launched: call.call_id for call in said.calls if call.launched}
    bound = bind_pointers(sessions, [p for p in said.pointers if p not in launches], said.calls)
    for pointer in said.pointers:
        kind: LinkKind = "launch" if pointer in launches else "subagent"
        links.setdefault(pointer, Link(kind, pointer, launches.get(pointer) or bound.get(pointer)))
    for launched, call_id in launches.items():
        links.setdefault(launched, Link("launch", launched, call_id))
    for link in () if launches else _foreign_targets(sessions, head, said):
        links.setdefault(link.session_id, link)
    links.pop(head.session_id, None)
    return list(links.values())


def bind_pointers(sessions: ProjectSessions, pointers: list[str], calls: list[Call]) -> dict[str, str]:
    """Return the call id of each pointer that can be bound (no. 65).

    First the sure ones, whose call's output names the child's own short id; then by prompt, first in, first out.
    """
    free = [call for call in calls if call.name == "run_subagent"]
    bound: dict[str, str] = {}

    def bind(pointer: str, call: Call) -> None:
        bound[pointer] = call.call_id
        free.remove(call)

    prompts = {pointer: head.prompt if (head := sessions.head(pointer)) else None for pointer in pointers}
    for pointer in dict.fromkeys(pointers):
        named = [call for call in free if pointer[-8:] in call.output_ids]
        if named and (prompts[pointer] is None or _is_prompt(prompts[pointer], named[0].prompt)):
            bind(pointer, named[0])
    for pointer in dict.fromkeys(pointers):
        if pointer not in bound:
            same = next((call for call in free if _is_prompt(prompts[pointer], call.prompt)), None)
            if same is not None:
                bind(pointer, same)
    return bound


def role_of(
    head: SessionHead, link: LinkKind | None, scored: tuple[ScoredRun, ...], below: list[Role] | None = None
) -> Role:
    """Guess what a Session is for: by its engine tools, by its request, by who started it."""
    for tool, role in _ROLE_TOOLS.items():
        if tool in head.tools:
            return role
    if scored or link in {"launch", "answer", "workspace", "scoreboard"}:
        return "target"
    if protocol_fields(head.prompt) and head.source == "subagent":
        return "evaluator"
    if "evaluator" in (below or ()) or not head.source:
        asked = head.prompt[:2_000].lower()
        if "benchmark-design" in asked:
            return "builder"
        if "agent-optimization" in asked or ("evaluator" in (below or ()) and "optimi" in asked):
            return "optimizer"
    return "subagent" if head.source == "subagent" else "session"


_ROLE_TOOLS: dict[str, Role] = {
    "request_freeze": "builder",
    "propose_candidate": "optimizer",
    "launch_target": "evaluator",
}


def _is_prompt(first_text: str | None, prompt: str | None) -> bool:
    if not first_text or prompt is None:
        return False
    return first_text == prompt or (len(first_text) >= _CUT_PROMPT and prompt.startswith(first_text))


def _foreign_targets(sessions: ProjectSessions, head: SessionHead, said: Digest) -> Iterator[Link]:
    """Yield Targets that no pointer names (no. 66): by answer, by Workspace of a command, by scoreboard."""
    named = said.answer.get("session_id", "")
    found = sessions.agent_of(named) is not None
    if found:
        yield Link("answer", named, _call_at_workspace(sessions.head(named), said.calls))
    for call in said.calls:
        for workspace in call.workspaces:
            for target in sessions.at_workspace(workspace):
                if not target.source and target.first_ts >= call.moment and target.first_ts <= said.last_ts:
                    found = True
                    yield Link("workspace", target.session_id, call.call_id)
    if not found:
        yield from _scored_for(sessions, head, said)


def _call_at_workspace(target: SessionHead | None, calls: list[Call]) -> str | None:
    if target is None:
        return None
    return next((call.call_id for call in calls if target.workspace.rstrip("/") in call.workspaces), None)


def _scored_for(sessions: ProjectSessions, head: SessionHead, said: Digest) -> Iterator[Link]:
    """Yield the Target that the scoreboard has for the Evaluator's own request, started while it was at work."""
    asked = protocol_fields(head.prompt)
    if not asked or head.source != "subagent":
        return
    agent_id, benchmark_id, version, case_id, number = (asked.get(name, "") for name in _CELL)
    for run in sessions.scored_at((agent_id, benchmark_id, version, case_id, number)):
        target = sessions.head(run.session_id)
        if target is not None and said.first_ts <= target.first_ts <= said.last_ts:
            yield Link("scoreboard", run.session_id)
