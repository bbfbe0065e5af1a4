"""What a curator wrote, judged by four criteria (CURATION 1.3, K9): the reward term r_cnt, and a column of reports.

The rule backend is the world's own; the model backend asks for JSON {VALID, ISSUES, EXPLANATION} and takes nothing
else. An answer that can't be read, or none at all, is *unmeasured*: a mask, never a zero (lesson 7). Judgements are
kept by the hash of what was asked, so the same text on the same attempt is judged once.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from core.curation.asking import Asker, Model, together, without_thought
from core.curation.fields import Fields
from core.curation.prompt import trajectory_text
from core.curation.worlds import ContentVerdict, Episode, World
from core.foundation import strict_json
from core.foundation.visible import well_formed
from core.models.interface import ProviderError
from core.state.jsonlines import append_record, read_lines

CRITERIA = ("ABSTRACTION", "REUSABILITY", "ACTIONABILITY", "FAITHFULNESS")
Question = tuple[str, Episode]
"""The content of an inserted or updated skill, and the attempt that it was written after."""


class ContentJudge(Protocol):
    """Judges contents."""

    @property
    def name(self) -> str: ...

    def judge(self, questions: Sequence[Question]) -> list[ContentVerdict]:
        """Return a verdict on each, in order."""
        ...


@dataclass(frozen=True, slots=True)
class RuleJudge:
    """The world's own rules."""

    world: World
    name: str = "rules"

    def judge(self, questions: Sequence[Question]) -> list[ContentVerdict]:
        return [self.world.judge(content, episode) for content, episode in questions]


_SYSTEM = """\
You review one skill that a curator wrote for a repository, right after it saw one attempt at a task. The skill should
help with later tasks of the same kind. Judge the text by four criteria, each on its own:

- ABSTRACTION: it names no particular objects, places, numbers or identifiers of this one task.
- REUSABILITY: it is about one kind of task, or one trick that many kinds need; it is no collection of everything, and
  no copy of the attempt.
- ACTIONABILITY: each line says what to do, in which order, under which condition; no empty advice.
- FAITHFULNESS: what it claims is shown by the attempt, or is plainly needed for the task; nothing is invented.

VALID is true only if all four hold. Answer with one JSON object and nothing else:

{"VALID": true or false, "ISSUES": [the criteria that do not hold], "EXPLANATION": "one or two sentences"}
"""
_FENCED = re.compile(r"\A```(?:json)?\s*\n(.*)\n```\Z", re.DOTALL)


class Judgements:
    """Judgements by the hash of what was asked, in a file that only grows. Without a path they are kept in memory.

    Invariant: only what was measured is kept; a judge that failed is asked again.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._known: dict[str, ContentVerdict] = {}
        if path is not None:
            for record in read_lines(path).records:
                try:
                    key, verdict = _kept(Fields(record))
                except ValueError:
                    continue  # asked again
                self._known[key] = verdict

    def __len__(self) -> int:
        return len(self._known)

    def get(self, key: str) -> ContentVerdict | None:
        return self._known.get(key)

    def keep(self, key: str, verdict: ContentVerdict) -> None:
        if verdict.valid is None or key in self._known:
            return
        self._known[key] = verdict
        if self._path is not None:
            record = {
                "key": key,
                "valid": verdict.valid,
                "issues": list(verdict.issues),
                "explanation": verdict.explanation,
            }
            append_record(self._path, record, fsync=False)


@dataclass(frozen=True, slots=True)
class ModelJudge:
    """A model that judges, with its memory."""

    model: Model
    judgements: Judgements

    @property
    def name(self) -> str:
        return self.model.name

    def judge(self, questions: Sequence[Question]) -> list[ContentVerdict]:
        keys = [key_of(self.name, content, episode) for content, episode in questions]
        asked = {
            key: question for key, question in zip(keys, questions, strict=True) if self.judgements.get(key) is None
        }
        verdicts = together(
            self.model, [partial(_verdict, content=content, episode=episode) for content, episode in asked.values()]
        )
        found = dict(zip(asked, verdicts, strict=True))
        for key, verdict in found.items():
            self.judgements.keep(key, verdict)
        return [self.judgements.get(key) or found[key] for key in keys]


def question_text(content: str, episode: Episode) -> str:
    """Return the message that asks for a judgement; the system prompt is the same for all."""
    return (
        f"# The task\n{episode.task.text.strip()}\n\n# The attempt\n{trajectory_text(episode)}\n\n"
        f"# The skill\n{content.strip()}\n"
    )


def read_verdict(text: str) -> ContentVerdict:
    """Return the judgement in an answer: one JSON object with exactly three keys, else unmeasured with the reason."""
    plain = without_thought(text)
    fenced = _FENCED.match(plain)
    try:
        value = strict_json.parse(fenced.group(1) if fenced else plain, unique=True)
    except ValueError as error:
        return ContentVerdict(None, explanation=f"the judge's answer is no JSON: {error}")
    if not isinstance(value, dict) or set(value) != {"VALID", "ISSUES", "EXPLANATION"}:
        return ContentVerdict(None, explanation="the judge's answer is no object of VALID, ISSUES, EXPLANATION")
    valid, issues, explanation = value["VALID"], value["ISSUES"], value["EXPLANATION"]
    if not isinstance(valid, bool):
        return ContentVerdict(None, explanation="the judge's VALID is neither true nor false")
    if not isinstance(issues, list) or not all(isinstance(issue, str) for issue in issues):
        return ContentVerdict(None, explanation="the judge's ISSUES is no list of texts")
    if not isinstance(explanation, str):
        return ContentVerdict(None, explanation="the judge's EXPLANATION is no text")
    return ContentVerdict(valid, tuple(issues), explanation)


def key_of(judge: str, content: str, episode: Episode) -> str:
    """Return the hash of what is asked of whom."""
    asked = strict_json.dumps([judge, _SYSTEM, well_formed(question_text(content, episode))])
    return hashlib.sha256(asked.encode("utf-8")).hexdigest()


def _kept(at: Fields) -> tuple[str, ContentVerdict]:
    valid = at.flag("valid")
    if valid is None:
        raise ValueError("valid: not measured")
    return at.text("key"), ContentVerdict(valid, at.texts("issues"), at.text("explanation", ""))


async def _verdict(asker: Asker, content: str, episode: Episode) -> ContentVerdict:
    try:
        answer = await asker.ask(_SYSTEM, question_text(content, episode))
    except ProviderError as error:
        if error.permanent:
            raise
        return ContentVerdict(None, explanation=f"the judge did not answer: {error}")
    return read_verdict(answer.text)
