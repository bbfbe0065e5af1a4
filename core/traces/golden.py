"""The analysis in the words and the field order of the existing system's API, for comparison (EVOLUTION 2.9 no. 86)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.foundation.clock import parse_ms

if TYPE_CHECKING:
    from core.traces.analysis import Analysis, Connection, Request, Segment, Task, ToolUse


def analysis_golden(analysis: Analysis) -> dict[str, Any]:
    """Return what the existing system answers for the same trace; absent means "left out", never null."""
    return {
        "elapsedMs": analysis.elapsed_ms,
        "requests": [_request(request) for request in analysis.requests],
        "tasks": [_task(task) for task in analysis.tasks],
        "toolCalls": [_tool_call(use) for use in analysis.tools],
        "modelSegments": [_segment(segment) for segment in analysis.segments],
        "toolSpans": [_tool_span(use) for use in analysis.tools if use.lane],
        "otherSpans": [_connection(connection) for connection in analysis.connections],
        "reconnectCount": analysis.reconnects,
        "compactionCount": analysis.compactions,
        "usageTrend": [
            {"ts": point.moment, "requestTotal": point.request_total, "sessionTotal": point.session_total}
            for point in analysis.usage_trend
        ],
    }


def _known(**fields: object) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _request(request: Request) -> dict[str, Any]:
    return _known(
        beginTs=request.begin,
        taskIndex=request.task,
        approvalWaitMs=request.approval_wait_ms or None,
        compaction=request.compaction or None,
        endTs=request.end,
        durationMs=request.duration_ms,
        activeMs=request.active_ms,
        status=request.status,
    )


def _task(task: Task) -> dict[str, Any]:
    return _known(
        taskIndex=task.index,
        messageFrom=task.first,
        messageTo=task.last,
        startTs=task.start,
        endTs=task.end,
        tokens=task.tokens.as_golden(),
        llmMs=task.llm_ms,
        context=None if task.context is None else task.context.as_golden(),
        compaction=task.compaction or None,
        compactionMode=task.compaction_mode,
    )


def _tool_call(use: ToolUse) -> dict[str, Any]:
    answered = use.output is not None
    first, last = parse_ms(use.call), parse_ms(use.output or "")
    return _known(
        toolCallId=use.call_id,
        name=use.name,
        startTs=use.call,
        stopReason=use.stop_reason,
        endTs=use.output,
        durationMs=last - first if answered and first is not None and last is not None else None,
    )


def _segment(segment: Segment) -> dict[str, Any]:
    return _known(
        kind=segment.kind,
        startTs=segment.start,
        endTs=segment.end,
        taskIndex=segment.task,
        toolCallId=segment.call_id,
        name=segment.name,
    )


def _tool_span(use: ToolUse) -> dict[str, Any]:
    return _known(
        toolCallId=use.call_id,
        name=use.name,
        callTs=use.call,
        taskIndex=use.task,
        approvalTs=use.approval,
        decision=use.decision,
        outputTs=use.output,
        stopReason=use.stop_reason if use.output is not None else None,
    )


def _connection(connection: Connection) -> dict[str, Any]:
    return _known(
        key=f"mcp-connect-{connection.start}",
        name="mcp connect",
        startTs=connection.start,
        endTs=connection.end,
        taskIndex=connection.task,
        failed=connection.failed or None,
    )
