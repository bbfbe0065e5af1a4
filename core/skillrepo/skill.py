"""A skill of a repository: title, retrieval text, body (CURATION 1.1, K1)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Skill:
    """A curated skill. `title` is its exact name in the repository, `description` the sentence it is retrieved by.

    `content` is the whole SKILL.md as it was written, head and body; `body` what follows the head.
    """

    title: str
    description: str
    body: str
    content: str
