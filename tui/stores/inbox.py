"""What waits for a person, of whatever kind, with everything needed to judge it, and what was decided lately."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.evolution.run_paths import run_paths
from core.foundation import strict_json
from core.foundation.errors import ExuviaError
from core.state.paths import OPERATOR_AGENT, ProjectPaths
from tui.stores.views import InboxView

if TYPE_CHECKING:
    from core.curation.fields import Fields
    from core.state.approvals import Approval, Decision
    from tui.stores.freeze_page import FreezeView

_DECIDED = 40


@dataclass(frozen=True, slots=True)
class Question:
    """What a Session wants to know; `options` are answers that it proposes, any other is as good."""

    text: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that is asked about: its arguments laid out and safe to show, and where it would run ("" unknown)."""

    tool: str
    arguments: str
    permission: str
    workspace: str


@dataclass(frozen=True, slots=True)
class Arm:
    """What a way of curating came to on held-out tasks, and at which step; None where it was not measured."""

    name: str
    step: int
    success: float | None
    actions: float | None
    tasks: int | None


@dataclass(frozen=True, slots=True)
class Promotion:
    """A trained checkpoint that may become the curator in use: whose it is, what it came to, what it would replace."""

    training_id: str
    step: int
    world: str
    preset: str
    heldout: float | None
    sha256: str
    arms: tuple[Arm, ...]
    replaces: str


@dataclass(frozen=True, slots=True)
class Decided:
    """What came of an item: who decided when, and why; `text` is the answer to a question."""

    verdict: str
    by: str
    time: str
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class Item:
    """Something that waits for a person, or did; `page` is what its kind needs to be judged (None: unknown here)."""

    id: str
    kind: str
    agent_id: str
    benchmark_id: str
    run_id: str
    session_id: str
    role: str
    title: str
    since: str
    page: FreezeView | Question | Call | Promotion | None
    decided: Decided | None = None

    @property
    def what(self) -> str:
        """What is asked, in a line."""
        from tui.stores.freeze_page import FreezeView

        match self.page:
            case FreezeView(cases=cases):
                return f"freeze {self.benchmark_id} as it stands ({len(cases)} Cases)"
            case Question(text=text):
                return " ".join(text.split())
            case Call(tool=tool, arguments=arguments):
                return f"{tool} {' '.join(arguments.split())}"
            case Promotion(training_id=training_id, step=step):
                return f"use step {step} of {training_id} as the curator"
        return self.title


class InboxStore:
    """Invariant: what is decided stays as it was read (a decision is written once), so it is read once."""

    def __init__(self, project: ProjectPaths) -> None:
        self.project = project
        self._decided: dict[str, Item] = {}
        self._workspaces: dict[str, str] = {}
        self._agents: dict[str, str] = {}

    def load(self) -> InboxView:
        """Read the questions and the latest decisions."""
        from core.state import approvals  # what checks whole files is imported after the first paint

        if not self.project.approvals.is_dir():
            return InboxView()
        return InboxView(
            tuple(self._item(approval, None) for approval in approvals.pending(self.project)),
            self._latest(),
            tuple(str(error) for error in approvals.unreadable(self.project)),
        )

    def _latest(self) -> tuple[Item, ...]:
        from core.state import approvals

        found: list[tuple[int, str]] = []
        for path in self.project.approvals.glob("*.decision.json"):
            try:
                found.append((path.stat().st_mtime_ns, path.name.removesuffix(".decision.json")))
            except OSError:
                continue
        for _, item_id in sorted(found, reverse=True)[:_DECIDED]:
            if item_id not in self._decided:
                try:
                    approval, decision = approvals.get(self.project, item_id)
                except (ExuviaError, OSError):
                    continue
                if decision is not None:
                    self._decided[item_id] = self._item(approval, decision)
        wanted = {item_id for _, item_id in found}
        items = [item for item in self._decided.values() if item.id in wanted]
        return tuple(sorted(items, key=_decided_at, reverse=True)[:_DECIDED])

    def _item(self, approval: Approval, decision: Decision | None) -> Item:
        return Item(
            approval.id,
            approval.kind,
            self._agent(approval),
            approval.benchmark_id,
            approval.run_id,
            approval.session_id,
            approval.role,
            approval.title,
            approval.created,
            self._page(approval),
            None if decision is None else _came(decision),
        )

    def _page(self, approval: Approval) -> FreezeView | Question | Call | Promotion | None:
        from core.state import approvals

        if approval.kind == "freeze":
            from tui.stores.freeze_page import freeze_page

            return freeze_page(self.project, approval)
        if approval.kind == "promotion":
            return _promotion(approval)
        shown = approvals.shown(approval)
        if approval.kind in {"question", "strategy"}:
            return Question(shown.text, shown.options)
        if approval.kind == "tool_call":
            return Call(shown.tool_name, shown.arguments, shown.permission, self._workspace(approval))
        return None

    def _agent(self, approval: Approval) -> str:
        """Return the agent that it is about: the run's, where the Session belongs to the operator's own agent."""
        if approval.agent_id != OPERATOR_AGENT or not approval.run_id:
            return approval.agent_id
        if approval.run_id not in self._agents:
            try:
                spec = strict_json.parse(run_paths(self.project, approval.run_id).spec.read_bytes())
                self._agents[approval.run_id] = str(spec["agent_id"])
            except (ExuviaError, OSError, ValueError, KeyError, TypeError):
                return approval.agent_id
        return self._agents[approval.run_id]

    def _workspace(self, approval: Approval) -> str:
        """Return where the asking Session works, "" where its trace does not tell."""
        if approval.session_id not in self._workspaces:
            from core.traces.project_sessions import ProjectSessions

            try:
                head = ProjectSessions(self.project).head(approval.session_id)
            except (ExuviaError, OSError):
                return ""
            if head is None or not head.workspace:
                return ""
            self._workspaces[approval.session_id] = head.workspace
        return self._workspaces[approval.session_id]


def _promotion(approval: Approval) -> Promotion | None:
    """Return the page of a promotion, None where its body is not what the engine writes."""
    from core.curation.fields import Fields

    fields = Fields(approval.body)
    try:
        arms, now = fields.part("arms"), fields.part("now")
        return Promotion(
            training_id=fields.text("run_id"),
            step=fields.whole("step"),
            world=fields.text("world", ""),
            preset=fields.text("preset", ""),
            heldout=fields.share("heldout"),
            sha256=fields.text("sha256"),
            arms=tuple(_arm(name, arms.part(name)) for name in arms.names),
            replaces=f"step {now.whole('step')} of {now.text('run_id')}" if now.names else "",
        )
    except ValueError:
        return None


def _arm(name: str, fields: Fields) -> Arm:
    return Arm(name, fields.whole("step"), fields.share("success"), fields.amount("steps"), fields.count("tasks"))


def _came(decision: Decision) -> Decided:
    return Decided(decision.verdict, decision.signature, decision.time, decision.reason, decision.text)


def _decided_at(item: Item) -> tuple[str, str]:
    return (item.decided.time if item.decided else "", item.id)
