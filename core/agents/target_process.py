"""The inside of a Target process: hear the orders, open what must be open, put oneself in the cage, work, report.

Run as `python -P -m core.agents.target_process` by `run_agent`; orders come on stdin (one line), the report goes to
stdout (one JSON object). When stdin ends, whoever started it is gone, and so is this.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.agents.approval import ApprovalMode
from core.agents.governed import Governed
from core.agents.isolation.confine import confine_self
from core.agents.isolation.policy import IsolationPolicy
from core.agents.live import LiveText
from core.agents.orders import Orders
from core.agents.session import Session, SessionSpec
from core.agents.spec import TurnOutcome
from core.agents.tools.builtin import builtin_tools
from core.agents.tools.commands import Shell
from core.agents.tools.subagents import ChildWish
from core.foundation.clock import new_session_id
from core.foundation.errors import ExuviaError, IsolationError, RefusedError
from core.models.interface import Provider, ThinkingLevel
from core.traces.writer import TraceWriter, open_trace

if TYPE_CHECKING:
    from core.agents.tools.suggest import Suggest

_LONGEST_ORDERS = 64 << 20


def main() -> int:
    """Run one Target; return the exit code: 0 where its work stands, 1 where it does not."""
    orders = Orders.from_line(first_line(0))
    trace = TraceWriter.from_fd(open_trace(orders.trace_path))
    live = LiveText.open(orders.live_path)
    provider = orders.route.make_provider()
    load(provider, orders)
    notices = list(orders.notices)
    try:
        confine(orders, notices)
    except ExuviaError as error:
        _report({"status": "failed", "reason": f"{error} {error.hint}".strip(), "notices": notices})
        return 1
    return asyncio.run(_run(orders, provider, trace, live, tuple(notices)))


def first_line(descriptor: int) -> bytes:
    """Read the orders, and not a byte more: the pipe stays open as a sign of life."""
    line = bytearray()
    while not line.endswith(b"\n"):
        piece = os.read(descriptor, 1 << 16)
        if not piece or len(line) > _LONGEST_ORDERS:
            raise SystemExit("no whole orders came")
        line += piece
    return bytes(line)


def load(provider: Provider, orders: Orders) -> None:
    """Bring in what reads files beyond the cage: the HTTP client and its certificates, the strategies' libraries."""
    prepare = getattr(provider, "prepare", None)
    if prepare is not None:
        prepare()
    if orders.governed is not None:
        from core.agents.tools import suggest

        suggest.prepare()


def confine(orders: Orders, notices: list[str]) -> None:
    """Put this process in the cage that its orders ask for. Raises ExuviaError; it must end then."""
    address = orders.route.address()
    policy = IsolationPolicy(
        read=orders.readable,
        write=(orders.workspace, orders.scratchpad),
        network="none" if address is None else "tcp-connect",
        connect_ports=() if address is None else (address[1],),
    )
    try:
        confine_self(policy, resolve=() if address is None else (address[0],))
    except IsolationError as error:
        if not orders.allow_unisolated:
            raise
        notices.append(f"this Target runs without isolation, as allowed: {error}")


async def _run(orders: Orders, provider: Provider, trace: TraceWriter, live: LiveText, notices: tuple[str, ...]) -> int:
    asyncio.get_running_loop().add_reader(0, _on_stdin)
    session = Session(session_spec(orders, provider, trace, live, notices))
    try:
        outcome = await session.run(orders.message)
        report = _told(outcome)
    except ExuviaError as error:
        report = {"status": "failed", "reason": f"{error} {error.hint}".strip()}
    finally:
        await session.aclose()
        await provider.aclose()
        trace.close()
    _report({**report, "notices": session.notices})
    return 0 if report["status"] in {"completed", "stopped"} else 1


def _on_stdin() -> None:
    """End at once when our starter is gone: its pipe tells. The commands' keepers end with us."""
    if not os.read(0, 1 << 10):
        os.kill(os.getpid(), signal.SIGKILL)


def _told(outcome: TurnOutcome) -> dict[str, Any]:
    stopped = outcome.status in {"budget", "loop"}
    completed = outcome.status == "completed"
    return {
        "status": "completed" if completed else "stopped" if stopped else "failed",
        "reason": outcome.reason,
        "text": outcome.text,
        "failure": outcome.failure,
        "permanent": outcome.permanent,
    }


def _report(report: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(report) + "\n")
    sys.stdout.flush()


def _as_it_is(spec: SessionSpec) -> SessionSpec:
    return spec


def session_spec(
    orders: Orders,
    provider: Provider,
    trace: TraceWriter,
    live: LiveText | None,
    notices: tuple[str, ...],
    *,
    adapt: Callable[[SessionSpec], SessionSpec] = _as_it_is,
) -> SessionSpec:
    """Return what the Session that the orders tell of is made of; it may have sub-agents.

    `adapt` changes what it is made of, and what each of its sub-agents is made of.
    """

    def open_child(wish: ChildWish) -> Session:
        _refuse_other(wish, orders)
        session_id = new_session_id()
        child_trace = TraceWriter(orders.scratchpad / "traces" / f"{session_id}_001.jsonl")
        level = wish.thinking_level or orders.thinking_level
        return Session(adapt(_make(orders, provider, child_trace, session_id, level=level, source="subagent")))

    return adapt(
        _make(
            orders,
            provider,
            trace,
            orders.session_id,
            level=orders.thinking_level,
            live=live,
            notices=notices,
            open_child=open_child,
        )
    )


def _refuse_other(wish: ChildWish, orders: Orders) -> None:
    ref = orders.route.entry.ref
    if wish.agent_id not in {None, orders.agent_id}:
        raise RefusedError(f"Error: only agent {orders.agent_id} can be a sub-agent here.")
    if wish.model not in {None, ref}:
        raise RefusedError(f"Error: only model {ref.model_id} of {ref.provider} can be reached here.")


def _make(
    orders: Orders,
    provider: Provider,
    trace: TraceWriter,
    session_id: str,
    *,
    level: ThinkingLevel,
    live: LiveText | None = None,
    source: str | None = None,
    notices: tuple[str, ...] = (),
    open_child: Any = None,
) -> SessionSpec:
    archive = orders.scratchpad / "truncated-tool-output"
    approval: ApprovalMode = orders.approval
    toolbox = builtin_tools(
        orders.tools,
        policy=IsolationPolicy(read=(*orders.readable, archive), write=(orders.workspace,)),
        workspace=orders.workspace,
        home=_home(orders.scratchpad),
        extra_env=orders.vault,
        allow_unisolated=orders.allow_unisolated,
        open_child=open_child,
    )
    missing = tuple(f"the tool {name} of the configuration does not exist here" for name in toolbox.missing)
    tools, background = toolbox.tools, toolbox.background
    if orders.governed is not None and source is None:
        suggest, told = _suggest(orders, orders.governed, toolbox.shell, open_child)
        missing = (*missing, *told)
        if suggest is not None:
            tools, background = (*tools, suggest), (suggest.door, *background)
    return SessionSpec(
        project=orders.project,
        agent_id=orders.agent_id,
        session_id=session_id,
        workspace=orders.workspace,
        agent_state=orders.agent_state,
        provider=provider,
        model=orders.route.entry.ref,
        entry=orders.route.entry,
        system_prompt=orders.system_prompt,
        trace=trace,
        tools=tools,
        background=background,
        thinking_level=level,
        approval=approval,
        command_policy=orders.command_policy,
        budgets=orders.budgets,
        seed=orders.seed,
        source=source,
        live=live,
        archive=archive,
        max_tokens=orders.max_tokens,
        request_timeout_s=orders.request_timeout_s,
        context_limit=orders.context_limit,
        secrets=tuple(orders.vault.values()),
        notices=(*notices, *(missing if source is None else ())),
    )


def _suggest(
    orders: Orders, governed: Governed, shell: Shell, open_child: Any
) -> tuple[Suggest | None, tuple[str, ...]]:
    """Return the tool `suggest`, and what the operator should know of skills and strategies that are left out."""
    from core.agents.callable_skills import callables
    from core.agents.tools.suggest import suggest_tool

    found, faults = callables(orders.agent_state / "skills")
    if not found:
        return None, (*faults, "strategies choose the skills, but no skill can be called: none has a skill.yaml")
    tool, told = suggest_tool(
        governed,
        found,
        shell,
        open_child,
        directory=orders.scratchpad,
        agent_id=orders.agent_id,
        session_id=orders.session_id,
    )
    return tool, (*faults, *told)


def _home(scratchpad: Path) -> Path:
    return scratchpad / "home"


if __name__ == "__main__":
    sys.exit(main())
