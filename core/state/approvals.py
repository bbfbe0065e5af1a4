"""What waits for the operator, and what was decided: two files each, the first decision wins.

A "freeze" asks whether a benchmark may be frozen, a "question" is what a Session wants to know, a "tool_call" is a
call of a Session whose every call is asked about (always-ask), a "promotion" asks whether a trained checkpoint
shall be the curator in use, and a "strategy" whether a version of one may leave review, or get all traffic.

`<project>/.exuvia/approvals/<id>.json` is the question, `<id>.decision.json` the answer. Both appear whole and are
never replaced, so a console and a command that answer at the same moment cannot both win.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.foundation import strict_json
from core.foundation.clock import IDENTIFIER, now_s
from core.foundation.errors import ConflictError, DamagedError, NotFoundError, UsageError
from core.foundation.visible import visible, visible_line, well_formed
from core.state import audit, readonly
from core.state.atomic import write_new
from core.state.paths import ProjectPaths

Kind = Literal["freeze", "question", "tool_call", "promotion", "strategy"]
Verdict = Literal["approve", "reject", "answer"]
ANSWER_BYTES = 16 * 1024
"""The longest answer to a question, in bytes of UTF-8: a model reads it whole."""
_Kind = TypeVar("_Kind", bound=BaseModel)
_DECISION = ".decision.json"
_SHOWN = 16_000  # characters of a call's arguments that a person is shown
_KIND_WORDS = {
    "freeze": "request for a freeze",
    "question": "question",
    "tool_call": "tool call",
    "promotion": "promotion of a curator",
    "strategy": "release of a strategy",
}


class Approval(BaseModel):
    """A question to the operator; `body` holds what its kind needs to be judged.

    freeze: Cases, hashes, pilots, findings, floors. question: `text`, `options`. tool_call: `tool`, `arguments` (the
    JSON text as the model wrote it), `permission`. promotion: run, step, path and hash of the checkpoint, what was
    measured (core.curation.promotion), and no agent. strategy: `text`, the version with its sha256, what it may be
    moved to and what it rests on (core.strategy.bank.releasing), and no agent.

    `agent_id` is the agent that it is about, `session_id` the Session that waits, which a run's role has with the
    built-in operator agent; `run_id` and `benchmark_id` are empty where it belongs to none.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    kind: Kind
    run_id: str = ""
    agent_id: str
    benchmark_id: str = ""
    session_id: str = ""
    role: str = ""
    title: str
    created: str = Field(default_factory=now_s)
    body: dict[str, Any] = Field(default_factory=dict)


class Decision(BaseModel):
    """The answer: by whom, from which account and terminal, when and why. `text` is what was said to a question."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    verdict: Verdict
    reason: str = ""
    text: str = ""
    actor: str
    signature: str
    time: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """An open question of any kind as one shows it. Its texts come from a model: print them through the sanitizer.

    `text` is the question (a freeze's title); `options` are answers that the asker proposes, any other is as good;
    `tool_name`, `permission` and `arguments` (a line each, bounded, safe to print) are those of a tool call.
    """

    id: str
    kind: Kind
    session_id: str
    run_id: str
    agent_id: str
    benchmark_id: str
    role: str
    title: str
    text: str
    options: tuple[str, ...]
    tool_name: str
    arguments: str
    permission: str
    asked: str


def new_id() -> str:
    """Return an id for an Approval: `freeze-YYYYMMDD-HHMMSS-<4 hex>` in local time."""
    return datetime.now().astimezone().strftime("freeze-%Y%m%d-%H%M%S-") + secrets.token_hex(2)


def request(project: ProjectPaths, approval: Approval) -> str:
    """Ask; return the id. Asking the same again (after a crash) changes nothing; another question under a taken id
    is a ConflictError.
    """
    path = _question(project, approval.id)
    readonly.refuse(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        write_new(path, _encode(approval))
    except ConflictError:
        if _read(path, Approval) != approval:
            raise
    return approval.id


def ask(project: ProjectPaths, approval: Approval) -> Approval:
    """Ask, or find the same thing asked before under the same id, whenever that was; return it as it stands.

    So a Session that was killed while it waited finds its question again, answered meanwhile or not. Raises
    ConflictError where something else stands under the id.
    """
    try:
        request(project, approval)
    except ConflictError:
        asked, _ = get(project, approval.id)
        if asked.model_copy(update={"created": approval.created}) != approval:
            raise
        return asked
    return approval


def decide(
    project: ProjectPaths, approval_id: str, verdict: Verdict, reason: str = "", actor: str | None = None
) -> Decision:
    """Approve or reject, and audit it; a question is answered (`answer`) or rejected: then it goes without one.

    Raises NotFoundError, UsageError for a verdict that does not fit, or ConflictError naming who was first.
    """
    readonly.refuse(project.root)
    approval, _ = get(project, approval_id)
    if verdict == "answer" or (approval.kind == "question" and verdict == "approve"):
        wanted = "exuvia approvals answer" if approval.kind == "question" else "exuvia approvals approve, or reject"
        raise UsageError(f"{approval_id} is a {_KIND_WORDS[approval.kind]}.", hint=f"Use {wanted} {approval_id}")
    return _decide(project, approval, verdict, reason=reason, text="", actor=actor)


def answer(project: ProjectPaths, approval_id: str, text: str, actor: str | None = None) -> Decision:
    """Answer a question with a text, which the asker gets as it is, and audit it.

    Raises NotFoundError, UsageError (no question; an empty text, or one of more than ANSWER_BYTES), or ConflictError
    naming who was first.
    """
    readonly.refuse(project.root)
    approval, _ = get(project, approval_id)
    if approval.kind != "question":
        raise UsageError(
            f"{approval_id} is a {_KIND_WORDS[approval.kind]}, no question.",
            hint=f"Decide it: exuvia approvals approve {approval_id}, or reject",
        )
    said = well_formed(text).strip()
    size = len(said.encode("utf-8"))
    if not said:
        raise UsageError("The answer is empty.", hint="Say something, or reject the question with a reason.")
    if size > ANSWER_BYTES:
        raise UsageError(f"The answer has {size:,} bytes; at most {ANSWER_BYTES:,} are passed on.", hint="Shorten it.")
    return _decide(project, approval, "answer", reason="", text=said, actor=actor)


def _decide(
    project: ProjectPaths, approval: Approval, verdict: Verdict, *, reason: str, text: str, actor: str | None
) -> Decision:
    decision = Decision(
        id=approval.id,
        verdict=verdict,
        reason=reason,
        text=text,
        actor=actor or "operator",
        signature=audit.signature(),
        time=now_s(),
    )
    path = _answer(project, approval.id)
    try:
        write_new(path, _encode(decision))
    except ConflictError as error:
        first = _read(path, Decision)
        raise ConflictError(
            f"{approval.id} was decided before: {first.verdict} by {visible_line(first.signature)} at {first.time}",
            hint="a decision stands; look at the run to see what came of it",
        ) from error
    detail = {"kind": approval.kind, "run_id": approval.run_id, "benchmark_id": approval.benchmark_id}
    if approval.session_id:
        detail["session_id"] = approval.session_id
    said = {"text": text} if verdict == "answer" else {"reason": reason}
    audit.record(project, verdict, approval.id, {**detail, **said}, decision.actor)
    return decision


def waiting(project: ProjectPaths) -> tuple[Waiting, ...]:
    """Return every open question of any kind, oldest first."""
    return tuple(map(shown, pending(project)))


def shown(approval: Approval) -> Waiting:
    """Return an Approval as one shows it; of a body that another program wrote, what can be shown."""
    body = approval.body
    options = body.get("options")
    return Waiting(
        id=approval.id,
        kind=approval.kind,
        session_id=approval.session_id,
        run_id=approval.run_id,
        agent_id=approval.agent_id,
        benchmark_id=approval.benchmark_id,
        role=approval.role,
        title=approval.title,
        text=_text(body.get("text")) or approval.title,
        options=tuple(one for one in options if isinstance(one, str)) if isinstance(options, list) else (),
        tool_name=_text(body.get("tool")),
        arguments=safe_arguments(_text(body.get("arguments"))),
        permission=_text(body.get("permission")),
        asked=approval.created,
    )


def safe_arguments(arguments: str) -> str:
    """Return a call's arguments as a person reads them before allowing it: a line each, all of it visible, bounded.

    Lines of a text stand behind `| `, so no value can pass for another argument. What is no JSON object is shown as is.
    """
    try:
        parsed = strict_json.parse(arguments.encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        parsed = None
    if isinstance(parsed, dict):
        told = "\n".join(line for name, value in parsed.items() for line in _argument(name, value))
    else:
        told = visible(arguments)
    if len(told) > _SHOWN:
        told = f"{told[:_SHOWN]}\n[{len(told) - _SHOWN} more characters; the trace has the whole call]"
    return told


def _argument(name: str, value: object) -> list[str]:
    text = value if isinstance(value, str) else strict_json.dumps(value)
    shown = visible(text).replace("\t", "    ").split("\n")
    if len(shown) == 1:
        return [f"{visible_line(name)}: {shown[0]}"]
    return [f"{visible_line(name)}:", *(f"  | {line}" for line in shown)]


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def get(project: ProjectPaths, approval_id: str) -> tuple[Approval, Decision | None]:
    """Return the Approval and its Decision, if there is one. Raises NotFoundError or DamagedError."""
    path = _question(project, approval_id)
    if not path.exists():
        raise NotFoundError(
            f"there is no approval {approval_id!r} in project {project.id}", hint="list them: exuvia approvals list"
        )
    answer = _answer(project, approval_id)
    return _read(path, Approval), _read(answer, Decision) if answer.exists() else None


def pending(project: ProjectPaths, kind: Kind | None = None) -> tuple[Approval, ...]:
    """Return what is asked and not decided (of one kind, where one is named), oldest first; see `unreadable`."""
    return tuple(approval for approval in _list(project)[0] if kind in (None, approval.kind))


def unreadable(project: ProjectPaths) -> tuple[DamagedError, ...]:
    """Return an error for each question file that can't be read."""
    return _list(project)[1]


def _list(project: ProjectPaths) -> tuple[tuple[Approval, ...], tuple[DamagedError, ...]]:
    asked: list[Approval] = []
    damaged: list[DamagedError] = []
    for path in sorted(project.approvals.glob("*.json")):
        approval_id = path.name.removesuffix(".json")
        if path.name.endswith(_DECISION) or not IDENTIFIER.fullmatch(approval_id):
            continue
        if _answer(project, approval_id).exists():
            continue
        try:
            asked.append(_read(path, Approval))
        except DamagedError as error:
            damaged.append(error)
    return tuple(sorted(asked, key=lambda approval: (approval.created, approval.id))), tuple(damaged)


def _question(project: ProjectPaths, approval_id: str) -> Path:
    if not IDENTIFIER.fullmatch(approval_id):
        raise UsageError(f"{approval_id!r} is not an approval id", hint="use letters, digits, '_' and '-'")
    return project.approvals / f"{approval_id}.json"


def _answer(project: ProjectPaths, approval_id: str) -> Path:
    return _question(project, approval_id).with_name(approval_id + _DECISION)


def _encode(model: BaseModel) -> bytes:
    return strict_json.dumps(model.model_dump(mode="python"), indent=1).encode("utf-8") + b"\n"


def _read(path: Path, kind: type[_Kind]) -> _Kind:
    try:
        return kind.model_validate(strict_json.parse(path.read_bytes()))
    except (ValidationError, ValueError, IsADirectoryError) as error:
        raise DamagedError(
            f"{visible_line(str(path))} is not a readable {kind.__name__}: {visible_line(str(error))[:200]}",
            hint="move the file away; the run that asked can ask again",
        ) from error
