"""The skill repository: skills by exact title, changed only by operations, each judged (CURATION 1.2, K1, K2).

Invariant: titles are unique, and so are their slugs; every skill's content is a curated SKILL.md that names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from core.foundation.errors import ConflictError, UsageError
from core.foundation.visible import visible_line
from core.skillrepo import operations
from core.skillrepo.bm25 import Variant
from core.skillrepo.index import Index
from core.skillrepo.operations import Call, Change, Link, Verdict
from core.skillrepo.retrieval import Hit, retrieve
from core.skillrepo.skill import Skill, problem_of, read, write
from core.skillrepo.titles import slug, title_problem

LARGE = 1_000
"""Skills above which an index pays."""


class Repository:
    """Skills in the order in which they came; a copy is cheap, since skills never change."""

    def __init__(self, skills: Iterable[Skill] = (), links: Iterable[Link] = ()) -> None:
        """Start with `skills`. Raises ConflictError where two titles collide."""
        self._skills: dict[str, Skill] = {}
        self._slugs: dict[str, str] = {}
        self._links: dict[Link, None] = dict.fromkeys(links)
        self._index: Index | None = None  # made by the first question to a large repository, kept up by `_put`
        for skill in skills:
            if problem := self._taken(skill.title):
                raise ConflictError(f"Two skills can't stand in one repository: {problem}.")
            self._put(None, skill)

    def __len__(self) -> int:
        return len(self._skills)

    def __iter__(self) -> Iterator[Skill]:
        return iter(self._skills.values())

    def __contains__(self, title: object) -> bool:
        return title in self._skills

    @property
    def skills(self) -> tuple[Skill, ...]:
        """The skills, oldest first; an updated one keeps its place."""
        return tuple(self._skills.values())

    @property
    def links(self) -> tuple[Link, ...]:
        """Provenance, oldest first; only the extra operations write it."""
        return tuple(self._links)

    @property
    def text(self) -> str:
        """Every SKILL.md, one after another: what the whole repository would cost in a prompt."""
        return "\n".join(skill.content for skill in self._skills.values())

    def get(self, title: str) -> Skill | None:
        """Return the skill of exactly that title."""
        return self._skills.get(title)

    def tokens(self, count: Callable[[str], int]) -> int:
        """Return the tokens of all skills, each SKILL.md counted by `count`: |S| of the compression term."""
        return sum(count(skill.content) for skill in self._skills.values())

    def copy(self) -> Repository:
        """Return a repository of its own with the same skills."""
        other = Repository()
        other._skills = dict(self._skills)
        other._slugs = dict(self._slugs)
        other._links = dict(self._links)
        return other

    def retrieve(
        self, query: str, *, top_k: int = 5, min_overlap: float = 0.0, variant: Variant = "okapi"
    ) -> tuple[Hit, ...]:
        """Return what `core.skillrepo.retrieval.retrieve` returns, of a large repository by an index that is kept."""
        if len(self._skills) <= LARGE:
            return retrieve(self.skills, query, top_k=top_k, min_overlap=min_overlap, variant=variant)
        if self._index is None:
            self._index = Index(self)
        return self._index.retrieve(query, top_k=top_k, min_overlap=min_overlap, variant=variant)

    def apply(self, calls: Iterable[Call], extra: bool = False) -> tuple[Verdict, ...]:
        """Carry out the calls in order and return a verdict on each; an invalid one changes nothing.

        `extra` allows merge, split and link too.
        """
        return tuple(self._apply(call, extra) for call in calls)

    def change(self, changes: Iterable[Change], links: Iterable[Link] = ()) -> None:
        """Replay recorded changes, as they were, without judging them again. Raises UsageError where one can't fit."""
        for before, after in changes:
            if before is not None and before.title not in self._skills:
                raise UsageError(f"There is no skill {visible_line(before.title)!r} to change.")
            if after is not None and (problem := self._taken(after.title, but=before.title if before else None)):
                raise UsageError(f"The change does not fit: {problem}.")
            self._put(before.title if before else None, after)
        self._links.update(dict.fromkeys(links))

    def _apply(self, call: Call, extra: bool) -> Verdict:
        reason = operations.argument_problem(call, extra=extra)
        if reason or call.arguments is None:
            return Verdict(call, False, reason)
        verdict = _ACTS[call.name](self, call, call.arguments)
        for before, after in verdict.changes:
            self._put(before.title if before else None, after)
        self._links.update(dict.fromkeys(verdict.links))
        return verdict

    def _insert(self, call: Call, arguments: Mapping[str, Any]) -> Verdict:
        title = arguments["skill_name"]
        if problem := self._taken(title) or _content_problem(title, arguments["content"]):
            return Verdict(call, False, problem)
        return Verdict(call, True, after=read(arguments["content"]))

    def _update(self, call: Call, arguments: Mapping[str, Any]) -> Verdict:
        before = self._skills.get(arguments["skill_name"])
        if before is None:
            return Verdict(call, False, self._unknown(arguments["skill_name"]))
        title, content = arguments.get("new_name", before.title), arguments.get("new_content")
        if "new_name" not in arguments and content is None:
            return Verdict(call, False, "neither new_name nor new_content: nothing to change")
        if problem := self._taken(title, but=before.title):
            return Verdict(call, False, problem)
        if content is not None and content.lstrip("\ufeff").startswith("---"):
            problem = _content_problem(title, content)
            return Verdict(call, False, problem) if problem else Verdict(call, True, "", before, read(content))
        # A text without a head of its own replaces the body; the head stays.
        try:
            after = write(title, before.description, before.body if content is None else content)
        except UsageError as error:
            return Verdict(call, False, str(error))
        return Verdict(call, True, "", before, after)

    def _delete(self, call: Call, arguments: Mapping[str, Any]) -> Verdict:
        before = self._skills.get(arguments["skill_name"])
        if before is None:
            return Verdict(call, False, self._unknown(arguments["skill_name"]))
        return Verdict(call, True, "", before)

    def _merge(self, call: Call, arguments: Mapping[str, Any]) -> Verdict:
        titles, title = arguments["skill_names"], arguments["new_name"]
        missing = next((one for one in titles if one not in self._skills), None)
        if missing is not None:
            return Verdict(call, False, self._unknown(missing))
        holder = self._slugs.get(slug(title))
        if holder not in titles and (problem := self._taken(title)):
            return Verdict(call, False, problem)
        if problem := _content_problem(title, arguments["content"]):
            return Verdict(call, False, problem)
        after = read(arguments["content"])
        kept = holder if holder is not None else titles[0]  # the merged skill takes this one's place
        also = tuple((self._skills[one], None) for one in titles if one != kept)
        links = tuple(Link(title, one, "derived_from") for one in titles if one != title)
        return Verdict(call, True, "", self._skills[kept], after, also, links)

    def _split(self, call: Call, arguments: Mapping[str, Any]) -> Verdict:
        before = self._skills.get(arguments["skill_name"])
        if before is None:
            return Verdict(call, False, self._unknown(arguments["skill_name"]))
        parts: list[Skill] = []
        for part in arguments["new_skills"]:
            title = part["skill_name"]
            problem = self._taken(title, but=before.title) or _content_problem(title, part["content"])
            if not problem and any(slug(title) == slug(other.title) for other in parts):
                problem = f"two of the new skills are called {visible_line(title)!r}"
            if problem:
                return Verdict(call, False, problem)
            parts.append(read(part["content"]))
        links = tuple(Link(part.title, before.title, "derived_from") for part in parts if part.title != before.title)
        # A part that keeps the old title takes its place, so that no title is there twice on the way.
        first = next((part for part in parts if slug(part.title) == slug(before.title)), parts[0])
        also = tuple((None, part) for part in parts if part is not first)
        return Verdict(call, True, "", before, first, also, links)

    def _link(self, call: Call, arguments: Mapping[str, Any]) -> Verdict:
        for name in ("skill_name", "linked_name"):
            if arguments[name] not in self._skills:
                return Verdict(call, False, self._unknown(arguments[name]))
        if arguments["skill_name"] == arguments["linked_name"]:
            return Verdict(call, False, "a skill can't be linked to itself")
        link = Link(arguments["skill_name"], arguments["linked_name"], arguments["relation"])
        if link in self._links:
            return Verdict(call, False, "that link is there already")
        return Verdict(call, True, links=(link,))

    def _taken(self, title: str, *, but: str | None = None) -> str:
        """Return why a skill of that title can't be added (`but`: the title it takes the place of); empty if it can."""
        if problem := title_problem(title):
            return problem
        holder = self._slugs.get(slug(title))
        if holder is None or holder == but:
            return ""
        if holder == title:
            return f"a skill {visible_line(title)!r} exists already"
        return f"{visible_line(title)!r} is the existing skill {visible_line(holder)!r} in another spelling"

    def _unknown(self, title: str) -> str:
        holder = self._slugs.get(slug(title))
        exact = f"; the exact title is {visible_line(holder)!r}" if holder is not None else ""
        return f"there is no skill {visible_line(title[:80])!r}{exact}"

    def _put(self, old: str | None, new: Skill | None) -> None:
        """Put `new` in the place of the skill titled `old`, add it (`old` None), or remove `old` (`new` None)."""
        if self._index is not None:
            if old is not None:
                self._index.delete(old)
            if new is not None:
                self._index.insert(new)
        if old is not None:
            self._slugs.pop(slug(old), None)
        if new is not None:
            self._slugs[slug(new.title)] = new.title
        if old is None or (new is not None and new.title == old):
            if new is not None:
                self._skills[new.title] = new
        elif new is None:
            del self._skills[old]
        else:  # a rename keeps its place
            self._skills = {
                (new.title if title == old else title): (new if title == old else skill)
                for title, skill in self._skills.items()
            }


_ACTS: Mapping[str, Callable[[Repository, Call, Mapping[str, Any]], Verdict]] = {
    operations.INSERT: Repository._insert,
    operations.UPDATE: Repository._update,
    operations.DELETE: Repository._delete,
    operations.MERGE: Repository._merge,
    operations.SPLIT: Repository._split,
    operations.LINK: Repository._link,
}


def _content_problem(title: str, content: str) -> str:
    """Return why `content` can't be the SKILL.md of the skill `title`; empty where it can."""
    if problem := problem_of(content):
        return f"the content is no curated SKILL.md: {problem}"
    named = read(content).title
    return "" if named == title else f"the content names {visible_line(named)!r}, the call {visible_line(title)!r}"
