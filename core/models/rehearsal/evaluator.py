"""The rehearsal Evaluator: follows the skill agent-evaluation step by step, silently.

What checks decide it takes as it is; what is left of an item it judges by a plain rule (`judging`). It answers one YAML
document in the order of EVOLUTION 3.4 no. 53 and 54, and the same one again when asked to resend.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from core.models.interface import Request, Text
from core.models.rehearsal.judging import artefacts_named, judge, last_words
from core.models.rehearsal.transcript import Reply, Step, Transcript, call, fields

_ECHOED = ("protocol_version", "case_id", "run", "expected_version", "provider", "model_id")
_ASKED = (*_ECHOED[:4], "test_agent_id", "benchmark_id", *_ECHOED[4:])
_WHOLE = ("protocol_version", "run", "expected_version")
_FAILURE_CODES = ("invalid_request", "benchmark_invalid", "version_changed", "evaluation_failed")
_ATTEMPTS = 3  # of one tool, before the Evaluator gives the execution up
_PLAIN = re.compile(r"^[A-Za-z][A-Za-z0-9_./-]*$")
# Words that a YAML 1.1 or 1.2 reader takes for something else than a string.
_RETYPED = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})


def reply(request: Request, seed: int) -> Reply:
    """Return the Evaluator's next calls, or its YAML. There is nothing that it decides by `seed`."""
    talk = Transcript.of(request)
    asked, echo = _read_request(talk.first_user)
    if asked is None:
        return _failure(echo, None, "invalid_request")
    launch = _settled(talk, "launch_target")
    if isinstance(launch, str):
        return _failure(echo, None, launch)
    if launch is None:
        return (call(request, 0, "launch_target", {}),)
    level = launch.get("thinking_level")
    level = level if isinstance(level, str) else None
    checks = _settled(talk, "run_checks")
    if isinstance(checks, str):
        return _failure(echo, level, checks)
    if checks is None:
        return (call(request, 0, "run_checks", {}),)
    recorded = _settled(talk, "record_items")
    if isinstance(recorded, str):
        return _failure(echo, level, recorded)
    if recorded is not None:
        return _success(echo, launch, recorded.get("score"))
    wanted = _unread(talk, launch, checks)
    if wanted:
        return tuple(call(request, n, "read_file", {"file_path": path}) for n, path in enumerate(wanted))
    return (call(request, 0, "record_items", {"items": _judged(talk, launch, checks)}),)


def _read_request(text: str) -> tuple[dict[str, str] | None, dict[str, str | None]]:
    """Return the eight fields, or None where the request is off, and what of it can be echoed."""
    found = fields(text)
    values: dict[str, str | None] = {}
    for key in _ASKED:
        given = found.get(key, [])
        value = given[0] if len(given) == 1 and given[0] else None
        usable = value is not None and (key in ("provider", "model_id") or not re.search(r"[/\\]|\.\.", value))
        if usable and key in _WHOLE:
            usable = bool(re.fullmatch(r"[1-9][0-9]*", value or ""))
        values[key] = value if usable else None
    complete = {key: value for key, value in values.items() if value is not None}
    valid = len(complete) == len(_ASKED) and complete["protocol_version"] == "1"
    return (complete if valid else None), {key: values[key] for key in _ECHOED}


def _settled(talk: Transcript, name: str) -> Mapping[str, Any] | str | None:
    """Return the tool's answer, a failure code, or None where the tool is still to be called."""
    if (done := talk.done(name)) is not None and done.answer is not None:
        return done.answer
    tried = [step for step in talk.of_tool(name) if step.output is not None]
    if not tried:
        return None
    last = tried[-1]
    if last.refused in _FAILURE_CODES and not (last.answer or {}).get("retry"):
        return str(last.refused)
    return "evaluation_failed" if len(tried) >= _ATTEMPTS and not _out_of_order(tried) else None


def _out_of_order(tried: list[Step]) -> bool:
    return all(step.refused == "not_now" for step in tried)


def _path(launch: Mapping[str, Any], name: str) -> str:
    paths = launch.get("paths")
    value = paths.get(name) if isinstance(paths, dict) else None
    return value if isinstance(value, str) else str(launch.get(name, "") or "")


def _items(checks: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    items = checks.get("items")
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def _artefacts(talk: Transcript, launch: Mapping[str, Any], checks: Mapping[str, Any]) -> dict[int, list[str]]:
    """Return, for each item that leaves something to judge, the files of the workspace it is judged by."""
    everywhere = [name for item in _items(checks) for name in artefacts_named(str(item.get("text", "")))]
    if not everywhere:
        everywhere = artefacts_named(talk.file(f"{_path(launch, 'statement')}/README.md") or "")
    chosen: dict[int, list[str]] = {}
    for item in _items(checks):
        if _number(item.get("remainder")) > 0:
            own = artefacts_named(str(item.get("text", "")))
            chosen[int(_number(item.get("item")))] = own or list(dict.fromkeys(everywhere))
    return chosen


def _unread(talk: Transcript, launch: Mapping[str, Any], checks: Mapping[str, Any]) -> list[str]:
    """Return what must still be read before the items can be judged."""
    rubric = f"{_path(launch, 'rubric')}/README.md"
    if not talk.asked(rubric):
        return [rubric]
    if not any(_number(item.get("remainder")) > 0 for item in _items(checks)):
        return []
    statement = f"{_path(launch, 'statement')}/README.md"
    if not talk.asked(statement):
        return [statement]
    files = {
        f"{_path(launch, 'workspace')}/{name}" for names in _artefacts(talk, launch, checks).values() for name in names
    }
    if not files and _path(launch, "trace"):
        files = {_path(launch, "trace")}
    return sorted(path for path in files if not talk.asked(path))


def _judged(talk: Transcript, launch: Mapping[str, Any], checks: Mapping[str, Any]) -> list[dict[str, Any]]:
    workspace = _path(launch, "workspace")
    artefacts = _artefacts(talk, launch, checks)
    items: list[dict[str, Any]] = []
    for item in _items(checks):
        number, earned = int(_number(item.get("item"))), _number(item.get("earned"))
        remainder = _number(item.get("remainder"))
        if remainder > 0:
            names = artefacts[number]
            texts = {name: talk.file(f"{workspace}/{name}") for name in names}
            if not names:
                texts = {"the last words of the trace": last_words(talk.file(_path(launch, "trace")) or "")}
            share, reason = judge(str(item.get("text", "")), texts)
        else:
            share, reason = 0.0, "decided by checks"
        items.append({"item": number, "points": math.floor((earned + share * remainder) * 100) / 100, "reason": reason})
    return items


def _scalar(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, int | float):
        return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
    text = str(value)
    return text if _PLAIN.match(text) and text.lower() not in _RETYPED else json.dumps(text, ensure_ascii=False)


def _document(pairs: list[tuple[str, str]]) -> Reply:
    return (Text("assistant", "".join(f"{key}: {value}\n" for key, value in pairs)),)


def _echoed(echo: Mapping[str, str | None]) -> dict[str, str]:
    return {key: value if key in _WHOLE and value is not None else _scalar(value) for key, value in echo.items()}


def _success(echo: Mapping[str, str | None], launch: Mapping[str, Any], score: object) -> Reply:
    level, session, duration = launch.get("thinking_level"), launch.get("session_id"), launch.get("duration_ms")
    usable = isinstance(score, int | float) and not isinstance(score, bool) and 0 <= score <= 100
    if not usable or not isinstance(session, str) or not isinstance(duration, int) or isinstance(duration, bool):
        return _failure(echo, level if isinstance(level, str) else None, "evaluation_failed")
    cost = launch.get("cost")
    known = _echoed(echo)
    return _document(
        [
            ("protocol_version", "1"),
            ("status", "ok"),
            ("case_id", known["case_id"]),
            ("run", known["run"]),
            ("expected_version", known["expected_version"]),
            ("provider", _scalar(launch.get("provider") or echo["provider"])),
            ("model_id", _scalar(launch.get("model_id") or echo["model_id"])),
            ("thinking_level", _scalar(level)),
            ("score", _scalar(float(_number(score)))),
            ("cost", repr(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else "null"),
            ("duration_ms", str(duration)),
            ("session_id", _scalar(session)),
        ]
    )


def _failure(echo: Mapping[str, str | None], level: str | None, code: str) -> Reply:
    known = _echoed(echo)
    return _document(
        [
            ("protocol_version", "1"),
            ("status", "failed"),
            *((key, known[key]) for key in _ECHOED[1:]),
            ("thinking_level", _scalar(level)),
            ("failure_code", code),
        ]
    )
