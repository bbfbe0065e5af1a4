"""ask_operator: a question of a Session to the person behind it; the answer is the tool's result.

The call waits as long as the person does, and no budget of time runs meanwhile. Asked again after a crash under the
same call id, it finds the same question, answered or not: so it is safe to repeat.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from core.agents.tool import ToolContext, ToolResult
from core.foundation.errors import RefusedError
from core.models.interface import ToolSpec

NAME = "ask_operator"
QUESTION_CHARACTERS = 4000
OPTIONS = 9
_OPTION_CHARACTERS = 300
_WEEK_S = 7 * 86_400.0

ASK_OPERATOR = ToolSpec(
    NAME,
    "Ask the operator, a person, one question and wait for the answer, however long that takes. Ask only what you "
    "can't find out yourself and what changes what you do next. Offer options where there are few; the operator may "
    "answer something else.",
    {
        "type": "object",
        "properties": {
            "question": {"type": "string", "description": "The question, understandable without this conversation."},
            "options": {
                "type": "array",
                "items": {"type": "string"},
                "description": f"Answers to choose from, at most {OPTIONS}.",
            },
        },
        "required": ["question"],
    },
)


@dataclass(frozen=True, slots=True)
class Reply:
    """What the operator said: an answer, or that there is none (`declined`), with the reason in `text`."""

    text: str
    declined: bool = False


AskQuestion = Callable[[str, str, tuple[str, ...]], Awaitable[Reply]]
"""Asks (call id, question, options) and returns what the operator says."""


@dataclass(frozen=True)
class AskOperator:
    """ask_operator."""

    ask: AskQuestion
    spec: ToolSpec = ASK_OPERATOR
    permission: Literal["r", "rw"] = "r"
    timeout_s: float = 52 * _WEEK_S
    max_output: int = 20_000
    repeatable: bool = True

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Ask and wait. Raises RefusedError for a question that nobody could answer."""
        question = str(arguments["question"]).strip()
        options = tuple(str(one).strip() for one in arguments.get("options") or () if str(one).strip())
        if not question or len(question) > QUESTION_CHARACTERS:
            raise RefusedError(f"Error: a question has 1 to {QUESTION_CHARACTERS} characters. Ask again.")
        if len(options) > OPTIONS or any(len(one) > _OPTION_CHARACTERS for one in options):
            raise RefusedError(f"Error: give at most {OPTIONS} options of {_OPTION_CHARACTERS} characters. Ask again.")
        reply = await self.ask(context.call_id, question, options)
        if reply.declined:
            why = f" Reason: {reply.text}" if reply.text else ""
            return ToolResult(f"The operator gives no answer; decide by yourself.{why}")
        return ToolResult(reply.text)
