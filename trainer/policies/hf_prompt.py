"""A curation as the tokens of a chat: instructions, tools and the four blocks, in the model's own template.

A model whose template takes tools gets them there, as it was trained to; any other is told them in the instructions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jinja2.exceptions import TemplateError

from core.curation.curators import CurationInput
from core.curation.prompt import TRAJECTORY_LIMIT, messages, trajectory_text
from core.skillrepo.operations import TOOLS

# A trajectory shorter than this many characters says nothing; what is still too long is cut among the tokens.
_LEAST_TRAJECTORY = 400
_STEP = 100


class ChatPrompt:
    """Turns curations into prompts for one tokenizer. `most` is the longest prompt in tokens."""

    def __init__(self, tokenizer: Any, most: int, *, thinking: bool = False) -> None:
        self._tokenizer = tokenizer
        self._most = most
        self._thinking = thinking
        template = tokenizer.chat_template or ""
        self._native = "tools" in template
        # Text of a task may spell a control token; broken up, it is text.
        self._control = tuple(sorted(set(tokenizer.all_special_tokens)))

    def tokens(self, given: CurationInput) -> list[int]:
        """Return the whole input of a curator, at most `most` tokens: the trajectory gives way, from its middle."""
        limit = TRAJECTORY_LIMIT
        text = self.text(given, limit)
        ids = self.encode(text)
        while (over := len(ids) - self._most) > 0 and limit > _LEAST_TRAJECTORY:
            # As many characters too many as the tokens too many stand for, and a step's worth more.
            limit = min(limit, len(trajectory_text(given.episode)))
            limit = max(_LEAST_TRAJECTORY, limit - int(over * len(text) / len(ids)) - _STEP)
            text = self.text(given, limit)
            ids = self.encode(text)
        if len(ids) <= self._most:
            return ids
        head = self._most // 2
        return ids[:head] + ids[head - self._most :]

    def text(self, given: CurationInput, limit: int = TRAJECTORY_LIMIT) -> str:
        """Return the prompt as text; `limit` is in characters of the trajectory."""
        system, user = (self._broken(part) for part in messages(given, native=self._native, trajectory_limit=limit))
        return self.chat(system, user, tools=TOOLS if self._native else ())

    def chat(self, system: str, user: str, *, tools: Sequence[Any] = ()) -> str:
        """Return one turn of each in the model's template, up to where its answer begins."""
        if not self._tokenizer.chat_template:
            return f"{system}\n\n{user}\n\nAnswer:\n"
        options: dict[str, Any] = {
            "tokenize": False,
            "add_generation_prompt": True,
            "enable_thinking": self._thinking,
            "tools": [{"type": "function", "function": tool} for tool in tools] or None,
        }
        turns = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        try:
            text: str = self._tokenizer.apply_chat_template(turns, **options)
        except TemplateError:  # a template without a system turn
            turns = [{"role": "user", "content": f"{system}\n\n{user}"}]
            text = self._tokenizer.apply_chat_template(turns, **options)
        return text

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text that already holds its control tokens."""
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def _broken(self, text: str) -> str:
        for token in self._control:
            if token in text:
                text = text.replace(token, f"{token[:1]} {token[1:]}")
        return text
