"""Tool calls answered: in parallel, each exactly once, and every fault of a call told to the model, never raised."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace

from core.foundation.errors import ExuviaError
from core.foundation.visible import well_formed
from core.models.interface import ToolCall

from .approval import Ruling, decide, denial, forbidden_by
from .arguments import ArgumentsError, read_arguments
from .conversation import INTERRUPTED, Decision
from .outputs import bounded, redact
from .spec import SessionSpec
from .tool import Tool, ToolContext, ToolResult


class Execution:
    """Answers the calls of one Session. `notice` hears of faults in our own tools, `prompt` tells the turn's prompt."""

    def __init__(
        self,
        spec: SessionSpec,
        *,
        announce_child: Callable[[str], None],
        notice: Callable[[str], None],
        prompt: Callable[[], str] = str,
    ) -> None:
        self._spec = spec
        self._tools: Mapping[str, Tool] = {tool.spec.name: tool for tool in spec.tools}
        self._announce_child = announce_child
        self._notice = notice
        self._prompt = prompt

    async def decide(self, call: ToolCall) -> Ruling | None:
        """Decide a call; None where it can't run anyway (no such tool, unreadable arguments)."""
        tool = self._tools.get(call.name)
        if tool is None:
            return None
        try:
            arguments = read_arguments(call.arguments, tool.spec.parameters)
        except ArgumentsError:
            return None
        spec = self._spec
        ruling = await decide(
            call,
            arguments,
            permission=tool.permission,
            mode=spec.approval,
            policy=spec.command_policy,
            ask=spec.ask,
        )
        if ruling.decision == "forbidden":
            self._notice(forbidden_by(spec.command_policy, arguments))
        return ruling

    async def answer_all(
        self,
        calls: Sequence[ToolCall],
        decisions: Mapping[str, Decision],
        *,
        reasons: Mapping[str, str],
        restarted: Container[str],
        answered: Callable[[ToolCall, ToolResult], None],
    ) -> None:
        """Answer `calls` in parallel, started in call order; `answered` hears of each as it completes.

        `restarted` holds the ids of those that were under way when an engine was killed.
        """

        async def one(call: ToolCall) -> None:
            under_way = call.call_id in restarted
            decision = decisions.get(call.call_id)
            ruling = None if decision is None else Ruling(decision, reasons.get(call.call_id, ""))
            answered(call, await self._answer(call, ruling, restarted=under_way))

        tasks = [asyncio.ensure_future(one(call)) for call in calls]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def _answer(self, call: ToolCall, ruling: Ruling | None, *, restarted: bool) -> ToolResult:
        tool = self._tools.get(call.name)
        if tool is None:
            known = ", ".join(self._tools) or "none"
            return ToolResult(f'There is no tool "{call.name}". Tools: {known}.', "malformed")
        try:
            arguments = read_arguments(call.arguments, tool.spec.parameters)
        except ArgumentsError as error:
            return ToolResult(
                f"The call was not made: {error}. Call {call.name} again with arguments that fit.", "malformed"
            )
        if ruling is None or ruling.decision != "allow":
            return ToolResult(denial(ruling or Ruling("deny")), "aborted")
        known_result = self._spec.recall(call.call_id) if self._spec.recall is not None else None
        if known_result is not None:
            return known_result
        if restarted and not tool.repeatable:
            return ToolResult(INTERRUPTED, "aborted")
        result = self._presentable(await self._call(tool, call, arguments), tool, call)
        if self._spec.remember is not None:
            self._spec.remember(call.call_id, result)
        return result

    async def _call(self, tool: Tool, call: ToolCall, arguments: Mapping[str, object]) -> ToolResult:
        spec = self._spec
        context = ToolContext(spec.session_id, call.call_id, spec.workspace, self._announce_child, self._prompt())
        try:
            async with asyncio.timeout(tool.timeout_s):
                return await tool.call(arguments, context)
        except TimeoutError:
            return ToolResult(f"{call.name} did not finish within {tool.timeout_s:g} s and was stopped.", "timeout")
        except ExuviaError as error:
            return ToolResult(f"{error} {error.hint}".strip(), "failed")
        except Exception as error:
            # A defect of a tool ends the call, not the Session; the operator hears of it.
            self._notice(f"the tool {call.name} failed by a fault of its own: {type(error).__name__}: {error}")
            return ToolResult(f"{call.name} failed: {type(error).__name__}: {error}", "failed")

    def _presentable(self, result: ToolResult, tool: Tool, call: ToolCall) -> ToolResult:
        text = redact(well_formed(result.output), self._spec.secrets) or "[no output]"
        return bounded(
            replace(result, output=text), limit=tool.max_output, call_id=call.call_id, archive=self._spec.archive
        )
