"""The strict reader of an Evaluator's answer (EVOLUTION 3.2 no. 25, 3.4 no. 52 to 55; DECISIONS 10).

The whole text that the worker wrote must be one plain YAML document with exactly the agreed keys. It is parsed
first and never repaired: a fence, a word of narration, an unknown status or a number that is no score makes the
answer malformed, and the same Evaluator is asked again. Invalid is never zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from core.foundation.clock import SESSION_ID
from core.foundation.strict_json import is_number
from core.models.interface import ModelRef, ThinkingLevel
from core.state.yaml12 import YamlError, load

PROTOCOL_VERSION = 1
FailureCode = Literal["invalid_request", "benchmark_invalid", "version_changed", "evaluation_failed"]
FAILURE_CODES: tuple[str, ...] = get_args(FailureCode)
THINKING_LEVELS: tuple[str, ...] = get_args(ThinkingLevel)
_ECHOED = ("protocol_version", "case_id", "run", "expected_version", "provider", "model_id")
SUCCESS_KEYS = (
    "protocol_version",
    "status",
    "case_id",
    "run",
    "expected_version",
    "provider",
    "model_id",
    "thinking_level",
    "score",
    "cost",
    "duration_ms",
    "session_id",
)
FAILURE_KEYS = (
    "protocol_version",
    "status",
    "case_id",
    "run",
    "expected_version",
    "provider",
    "model_id",
    "thinking_level",
    "failure_code",
)
RESEND = (
    "Your answer was not accepted: {reason}. Send your existing result again, as exactly one plain YAML document: no "
    "fence, no other word, the keys of the protocol. Do not run or score anything again."
)


@dataclass(frozen=True, slots=True)
class EvaluationRequest:
    """The eight fields that ask for one execution of one Case (no. 52)."""

    case_id: str
    run: int
    expected_version: int
    test_agent_id: str
    benchmark_id: str
    model: ModelRef
    protocol_version: int = PROTOCOL_VERSION

    def message(self) -> str:
        """Return the text that starts an Evaluator: a line that names the skill and the job, then the fields."""
        fields: dict[str, Any] = {
            "protocol_version": self.protocol_version,
            "case_id": self.case_id,
            "run": self.run,
            "expected_version": self.expected_version,
            "test_agent_id": self.test_agent_id,
            "benchmark_id": self.benchmark_id,
            "provider": self.model.provider,
            "model_id": self.model.model_id,
        }
        first = "Use the skill agent-evaluation to run and score one Case, once."
        return "\n".join([first, *(f"{key}: {value}" for key, value in fields.items())])


@dataclass(frozen=True, slots=True)
class Scored:
    """A valid result of one execution."""

    thinking_level: str
    score: float
    cost: float | None
    duration_ms: int
    session_id: str


@dataclass(frozen=True, slots=True)
class Failed:
    """A well-formed report that the execution gave no score."""

    code: FailureCode


@dataclass(frozen=True, slots=True)
class Malformed:
    """Not an answer of the protocol; `reason` names the first thing that is off."""

    reason: str


Answer = Scored | Failed | Malformed


def _success(document: Mapping[str, Any]) -> Answer:
    level, score, cost = document["thinking_level"], document["score"], document["cost"]
    duration, session = document["duration_ms"], document["session_id"]
    if level not in THINKING_LEVELS:
        return Malformed("thinking_level is none of " + ", ".join(THINKING_LEVELS))
    if not is_number(score) or not 0 <= score <= 100:
        return Malformed("score is not a finite number from 0 to 100")
    if cost is not None and (not is_number(cost) or cost < 0):
        return Malformed("cost is neither null nor a finite number from 0 up")
    if isinstance(duration, bool) or not isinstance(duration, int) or duration < 0:
        return Malformed("duration_ms is not a whole number from 0 up")
    if not isinstance(session, str) or not SESSION_ID.fullmatch(session):
        return Malformed("session_id is not a session id")
    # -0.0 is in range and equals zero; written back it must not look like another number.
    return Scored(level, float(score) + 0.0, None if cost is None else float(cost), duration, session)


def _failure(document: Mapping[str, Any]) -> Answer:
    code, level = document["failure_code"], document["thinking_level"]
    if code not in FAILURE_CODES:
        return Malformed("failure_code is none of " + ", ".join(FAILURE_CODES))
    if level is not None and level not in THINKING_LEVELS:
        return Malformed("thinking_level is neither null nor one of " + ", ".join(THINKING_LEVELS))
    return Failed(code)


def _identity_problem(document: Mapping[str, Any], request: EvaluationRequest, *, nullable: bool) -> str | None:
    expected: dict[str, Any] = {**asdict(request), "provider": request.model.provider}
    expected["model_id"] = request.model.model_id
    for key in _ECHOED:
        value = document[key]
        if nullable and value is None and key != "protocol_version":
            continue
        if type(value) is not type(expected[key]) or value != expected[key]:
            return f"{key} does not repeat the request's"
    return None


def read_answer(text: str, request: EvaluationRequest) -> Answer:
    """Read everything an Evaluator wrote in answer to `request`.

    `text` is the whole worker text, streamed and final; tool transport is not part of it.
    """
    try:
        document = load(text)
    except YamlError as error:
        return Malformed(f"it is not one YAML document ({error})")
    if not isinstance(document, dict):
        return Malformed("it is not a YAML mapping")
    status = document.get("status")
    if not isinstance(status, str) or status not in {"ok", "failed"}:
        return Malformed("status is neither ok nor failed")
    keys = SUCCESS_KEYS if status == "ok" else FAILURE_KEYS
    missing = [key for key in keys if key not in document]
    unknown = [str(key) for key in document if key not in keys]
    if missing or unknown:
        parts = [f"missing {', '.join(missing)}"] if missing else []
        parts += [f"unexpected {', '.join(unknown)[:200]}"] if unknown else []
        return Malformed("its keys are not the protocol's: " + "; ".join(parts))
    if problem := _identity_problem(document, request, nullable=status == "failed"):
        return Malformed(problem)
    return _success(document) if status == "ok" else _failure(document)
