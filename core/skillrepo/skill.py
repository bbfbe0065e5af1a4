"""A skill of a repository: title, retrieval text, body (CURATION 1.1, K1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from core.foundation.errors import UsageError
from core.foundation.visible import visible_line
from core.skillrepo.document import read_curated
from core.skillrepo.titles import title_problem
from core.state.yaml_text import scalar

_REASONS = 4  # of what is wrong with a document, in one message


@dataclass(frozen=True, slots=True)
class Skill:
    """A curated skill. `title` is its exact name in the repository, `description` the sentence it is retrieved by.

    `content` is the whole SKILL.md as it was written (but for a byte order mark and carriage returns), head and body;
    `body` what follows the head.
    """

    title: str
    description: str
    body: str
    content: str


def read(content: str | bytes) -> Skill:
    """Return the skill that a curated SKILL.md holds.

    Raises UsageError with line, column and reason of everything that a strict reader refuses: a third key, a missing
    or closed-off head, a name or description that is no text, a control character, an empty body.
    """
    found = _read(content)
    if isinstance(found, str):
        raise UsageError(
            f"This is no curated SKILL.md: {found}.",
            hint="It begins with a front matter of exactly name and description between '---' lines; a body follows.",
        )
    return found


def problem_of(content: str | bytes) -> str:
    """Return why `read` would refuse `content`, empty where it would not."""
    found = _read(content)
    return found if isinstance(found, str) else ""


# The same text is read again and again: by every position of a rollout that leaves the skill as it is.
@lru_cache(maxsize=8_192)
def _read(content: str | bytes) -> Skill | str:
    document = read_curated(content)
    if not document.valid:
        errors = [str(found) for found in document.diagnostics if found.severity == "error"]
        return "; ".join(errors[:_REASONS])
    return Skill(document.name, document.description, document.body.strip("\n"), document.text)


def write(title: str, description: str, body: str) -> Skill:
    """Return the skill as its curated SKILL.md, which reads back as the same title, description and body.

    Raises UsageError with the reason where a strict reader would refuse it.
    """
    if problem := title_problem(title):
        raise UsageError(f"{visible_line(title[:80])!r} can't be a skill's title: {problem}.")
    body = body.replace("\r\n", "\n").replace("\r", "\n")
    head = f"---\nname: {scalar(title)}\ndescription: {scalar(description.strip())}\n---\n\n"
    skill = read(head + body.strip("\n") + "\n")
    if (skill.title, skill.description, skill.body) != (title, description.strip(), body.strip("\n")):
        raise UsageError(
            f"The skill {visible_line(title)!r} does not survive writing.",
            hint="Leave out control characters, carriage returns and half characters.",
        )
    return skill
