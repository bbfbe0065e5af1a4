"""An agent's skills as things that can be called: by their script, or by a sub-session that follows their text (S2).

A skill is callable by the `skill.yaml` beside its SKILL.md. With a script (`scripts/call`, `call.py` or `call.sh`) the
script is run like any command of the Session: confined, in the Workspace. It reads one JSON object on its input,
{"inputs": {...}, "call": {"session_id", "idempotency_key", "dry_run"}}, and its last line of output is one, {"output":
{...}} or {"code": "...", "message": "..."}. Without a script a sub-agent is given the skill's text and the inputs, and
its answer's last line is such an object. Skills that exist need no change.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from core.agents.outputs import redact, redacted
from core.agents.session import Session
from core.agents.tools.commands import Shell
from core.agents.tools.subagents import ChildWish
from core.foundation import strict_json
from core.foundation.clock import short_id
from core.foundation.errors import ExuviaError
from core.foundation.visible import decode, visible, visible_line
from core.skillrepo.document import SkillDocument, installed
from core.strategy.documents.model import is_code
from core.strategy.documents.skill import SkillSchema
from core.strategy.execution.skills import RAISED, TIMEOUT, Call, Outcome, Skill
from core.strategy.schema.directory import skills_in

SCRIPTS = ("call", "call.py", "call.sh")
_SHOWN = 400  # characters of what a skill said that did not answer as it should
_LONGEST_S = 300.0
DEEPEST = 100
"""Objects in objects of an answer: what is deeper goes through no record, and is no answer."""
_LONGEST_MESSAGE = 2000

OpenChild = Callable[[ChildWish], Session]


@dataclass(frozen=True, slots=True)
class CallableSkill:
    """A skill of an agent that can be called: its text, its schema and its script, None where its text is followed."""

    document: SkillDocument
    schema: SkillSchema
    script: Path | None


def callables(skills: Path) -> tuple[tuple[CallableSkill, ...], tuple[str, ...]]:
    """Return the callable skills below `skills` by name, and a sentence for each schema that can't be taken."""
    told = skills_in(skills)
    found: list[CallableSkill] = []
    for document in installed(skills):
        schema = told.schemas.get(document.name)
        if schema is None:
            continue
        scripts = (skills / document.name / "scripts" / name for name in SCRIPTS)
        script = next((one for one in scripts if one.is_file() and not one.is_symlink()), None)
        found.append(CallableSkill(document, schema, script))
    return tuple(found), tuple(str(fault) for fault in told.faults)


def as_skills(
    found: tuple[CallableSkill, ...],
    shell: Shell,
    open_child: OpenChild | None,
    announce_child: Callable[[str], None] = lambda session_id: None,
) -> dict[str, Skill]:
    """Return what the executor calls. Skills that are followed by a sub-agent are left out where there are none.

    `announce_child` is told the id of each sub-session, for the trace of the one that called.
    """
    made: dict[str, Skill] = {}
    for one in found:
        if one.script is not None:
            made[one.schema.skill] = Skill(one.schema, _Script(one.script, shell).call)
        elif open_child is not None:
            made[one.schema.skill] = Skill(one.schema, _Followed(one, open_child, announce_child).call)
    return made


@dataclass(frozen=True, slots=True)
class _Script:
    path: Path
    shell: Shell

    async def call(self, inputs: Mapping[str, Any], call: Call) -> Outcome:
        """Run it confined. What takes longer than the caller waits is ended, not left behind."""
        given = self.shell.home / f"skill-{short_id()}.json"
        given.write_text(strict_json.dumps({"inputs": dict(inputs), "call": _told(call)}) + "\n", encoding="utf-8")
        runner = {"call.py": "python3 ", "call.sh": "sh "}.get(self.path.name, "")
        command = f"exec {runner}{shlex.quote(str(self.path))} < {shlex.quote(str(given))}"
        process = await self.shell.start(command, None)
        limit = _LONGEST_S if call.timeout_ms is None else call.timeout_ms / 1000
        try:
            code = await asyncio.wait_for(process.wait(), limit)
        except TimeoutError:
            await process.kill(grace_s=0.2)
            return Outcome(None, TIMEOUT, f"it did not answer within {limit:g} s")
        except asyncio.CancelledError:
            process.kill_now()
            await asyncio.shield(process.kill(grace_s=0))
            raise
        finally:
            given.unlink(missing_ok=True)
        secrets = self.shell.secrets
        text = redact(decode(process.read()), secrets)  # before anything is cut: half a secret is one too
        if code:
            return Outcome(None, RAISED, f"exit code {code}: {visible_line(text.strip()[-_SHOWN:])}")
        outcome = answer_in(text)  # in JSON a secret may be spelled otherwise
        return replace(outcome, output=redacted(outcome.output, secrets), message=redact(outcome.message, secrets))


@dataclass(frozen=True, slots=True)
class _Followed:
    skill: CallableSkill
    open_child: OpenChild
    announce_child: Callable[[str], None]

    async def call(self, inputs: Mapping[str, Any], call: Call) -> Outcome:
        """Let a sub-agent do what the skill's text says. In a dry run it is told so, if it is called at all (X1)."""
        try:
            session = self.open_child(ChildWish())
        except ExuviaError as error:
            return Outcome(None, RAISED, str(error))
        self.announce_child(session.spec.session_id)
        limit = _LONGEST_S if call.timeout_ms is None else call.timeout_ms / 1000
        try:
            outcome = await asyncio.wait_for(
                session.run(_order(self.skill, inputs, call), sender="parent_agent"), limit
            )
        except TimeoutError:
            return Outcome(None, TIMEOUT, f"it did not answer within {limit:g} s")
        finally:
            await session.aclose()
        if outcome.status != "completed":
            return Outcome(None, RAISED, outcome.reason or outcome.status)
        return answer_in(outcome.final_text)


def _told(call: Call) -> dict[str, Any]:
    return {"session_id": call.session_id, "idempotency_key": call.idempotency_key, "dry_run": call.dry_run}


def _order(skill: CallableSkill, inputs: Mapping[str, Any], call: Call) -> str:
    codes = ", ".join(row.code for row in skill.schema.failure_modes) or "none are declared"
    dry = "This is a rehearsal: change nothing.\n" if call.dry_run else ""
    return (
        f"Do what the skill {skill.schema.skill} says, with these inputs and no others.\n{dry}\n"
        f"Inputs: {strict_json.dumps(dict(inputs))}\n\n{skill.document.body.strip()}\n\n"
        'End your answer with one line of JSON: {"output": {...}} that fits this schema: '
        f"{strict_json.dumps(dict(skill.schema.signature.outputs))}\n"
        f'or, where it failed, {{"code": "...", "message": "..."}}. Codes: {codes}.'
    )


def answer_in(text: str) -> Outcome:
    """Return what the last line of `text` says. Anything but one object of the two forms is a failure, never a success.

    Strict: text around the object, other keys, a code beside an output, a code that no failure profile could hold
    (lower case, blanks) are not repaired.
    """
    lines = [line for line in text.split("\n") if line.strip()]  # no other sign ends a line of JSON
    last = lines[-1].strip() if lines else ""
    try:
        found = strict_json.parse(last, unique=True)
    except ValueError:
        found = None
    if isinstance(found, dict) and not strict_json.is_deeper(found, DEEPEST):
        if set(found) == {"output"} and isinstance(found["output"], dict):
            return Outcome(found["output"])
        code, message = found.get("code"), found.get("message", "")
        if set(found) <= {"code", "message"} and isinstance(code, str) and is_code(code) and isinstance(message, str):
            return Outcome(None, code, visible(message[:_LONGEST_MESSAGE]))
    shown = visible_line(last[-_SHOWN:]) or "nothing"
    return Outcome(None, RAISED, f"its last line is no answer: {shown}")
