"""The three operations on a repository, case by case, and its invariants whatever is asked of it (CURATION K1, K2)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.foundation.errors import ConflictError, UsageError
from core.skillrepo import operations
from core.skillrepo.calls import from_native, parse, render
from core.skillrepo.operations import DELETE, INSERT, LINK, MERGE, SPLIT, TOOLS, UPDATE, Link, Verdict, tools
from core.skillrepo.repository import Repository
from core.skillrepo.skill import Skill, read, write
from core.skillrepo.titles import slug

HOT = write("put hot", "Use when a task wants it hot.", "# Workflow\n1. Heat it.")
COLD = write("put cold", "Use when a task wants it cold.", "# Workflow\n1. Cool it.")
THIRD = write("put clean", "Use when a task wants it clean.", "# Workflow\n1. Wash it.")


def one(repository: Repository, name: str, **arguments: Any) -> Verdict:
    (verdict,) = repository.apply([from_native(name, arguments)])
    return verdict


def extra(repository: Repository, name: str, **arguments: Any) -> Verdict:
    (verdict,) = repository.apply([from_native(name, arguments)], extra=True)
    return verdict


@pytest.mark.meets("K2")
@pytest.mark.parametrize(
    ("name", "arguments", "titles"),
    [
        (INSERT, {"skill_name": "put clean", "content": THIRD.content}, ["put hot", "put cold", "put clean"]),
        (UPDATE, {"skill_name": "put hot", "new_name": "put warm"}, ["put warm", "put cold"]),
        (UPDATE, {"skill_name": "put hot", "new_name": "Put HOT"}, ["Put HOT", "put cold"]),
        (UPDATE, {"skill_name": "put hot", "new_content": "# Workflow\n1. Other."}, ["put hot", "put cold"]),
        (UPDATE, {"skill_name": "put hot", "new_content": HOT.content}, ["put hot", "put cold"]),
        (
            UPDATE,
            {"skill_name": "put hot", "new_name": "put clean", "new_content": THIRD.content},
            ["put clean", "put cold"],
        ),
        (DELETE, {"skill_name": "put hot"}, ["put cold"]),
    ],
)
def test_a_valid_call_is_carried_out(name: str, arguments: dict[str, str], titles: list[str]) -> None:
    repository = Repository([HOT, COLD])
    verdict = one(repository, name, **arguments)
    assert (verdict.valid, verdict.reason) == (True, "")
    assert [skill.title for skill in repository.skills] == titles
    for skill in repository:
        assert read(skill.content) == skill  # what stands there is a whole SKILL.md that names itself


@pytest.mark.meets("K2")
@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        (INSERT, {"skill_name": "put hot", "content": HOT.content}, "exists already"),
        (INSERT, {"skill_name": "Put  Hot!", "content": HOT.content}, "another spelling"),
        (INSERT, {"skill_name": "put clean", "content": HOT.content}, "names 'put hot'"),
        (INSERT, {"skill_name": "put clean", "content": "# Workflow"}, "1:1"),
        (INSERT, {"skill_name": "put clean", "content": THIRD.content.replace("---\n\n", "tag: x\n---\n\n")}, "4:1"),
        (INSERT, {"skill_name": "x" * 65, "content": THIRD.content}, "65 characters"),
        (INSERT, {"skill_name": "a\nb", "content": THIRD.content}, "line end"),
        (INSERT, {"skill_name": "?!", "content": THIRD.content}, "no word"),
        (INSERT, {"skill_name": "put clean"}, "content is missing"),
        (INSERT, {"skill_name": "put clean", "content": 3}, "no string"),
        (INSERT, {"skill_name": "put clean", "content": " "}, "content is empty"),
        (INSERT, {"skill_name": "put clean", "content": THIRD.content, "why": "x"}, "unknown argument 'why'"),
        (UPDATE, {"skill_name": "put warm", "new_content": "x"}, "there is no skill"),
        (UPDATE, {"skill_name": "Put hot", "new_content": "x"}, "the exact title is 'put hot'"),
        (UPDATE, {"skill_name": "put hot"}, "nothing to change"),
        (UPDATE, {"skill_name": "put hot", "new_name": "put cold"}, "exists already"),
        (UPDATE, {"skill_name": "put hot", "new_name": "PUT-COLD"}, "another spelling"),
        (UPDATE, {"skill_name": "put hot", "new_content": THIRD.content}, "names 'put clean'"),
        (UPDATE, {"skill_name": "put hot", "new_content": "---\nname: put hot\n"}, "not closed"),
        (UPDATE, {"skill_name": "put hot", "new_name": None}, "no string"),
        (DELETE, {"skill_name": "put warm"}, "there is no skill"),
        (DELETE, {}, "skill_name is missing"),
        (DELETE, {"skill_name": ["put hot"]}, "no string"),
        ("insert_skill", {"skill_name": "a"}, "no tool 'insert_skill'"),
        ("", {}, "no tool ''"),
        (MERGE, {"skill_names": ["put hot", "put cold"], "new_name": "a", "content": "x"}, "no tool 'skill_merge'"),
    ],
)
def test_an_invalid_call_changes_nothing_and_says_why(name: str, arguments: dict[str, Any], reason: str) -> None:
    repository = Repository([HOT, COLD])
    verdict = one(repository, name, **arguments)
    assert not verdict.valid
    assert reason in verdict.reason
    assert repository.skills == (HOT, COLD)
    assert verdict.changes == ()


@pytest.mark.meets("K2")
def test_calls_of_one_answer_see_what_the_calls_before_them_did() -> None:
    repository = Repository([HOT])
    answer = "\n".join(
        [
            render(UPDATE, {"skill_name": "put hot", "new_name": "put warm"}),
            render(DELETE, {"skill_name": "put hot"}),
            render(INSERT, {"skill_name": "put hot", "content": HOT.content}),
            "<tool_call>{</tool_call>",
        ]
    )
    verdicts = repository.apply(parse(answer))
    assert [verdict.valid for verdict in verdicts] == [True, False, True, False]
    assert [skill.title for skill in repository] == ["put warm", "put hot"]


@pytest.mark.meets("K2")
def test_the_three_tools_are_those_of_the_paper() -> None:
    schemas = {tool["name"]: tool["parameters"] for tool in TOOLS}
    assert {name: (list(schema["properties"]), schema["required"]) for name, schema in schemas.items()} == {
        "new_skill_insert": (["skill_name", "content"], ["skill_name", "content"]),
        "skill_update": (["skill_name", "new_name", "new_content"], ["skill_name"]),
        "skill_delete": (["skill_name"], ["skill_name"]),
    }
    for schema in schemas.values():
        assert schema["type"] == "object"
        assert all(value["type"] == "string" for value in schema["properties"].values())
        assert schema["additionalProperties"] is False
    assert [tool["name"] for tool in tools(extra=True)][3:] == [MERGE, SPLIT, LINK]


def test_merge_split_and_link_keep_provenance() -> None:
    repository = Repository([HOT, COLD, THIRD])
    both = write("put heated or cooled", "Use when a task wants it hot or cold.", "# Workflow\n1. Heat or cool it.")
    merged = extra(repository, MERGE, skill_names=["put hot", "put cold"], new_name=both.title, content=both.content)
    assert merged.valid
    assert merged.changes == ((HOT, both), (COLD, None))
    assert tuple(repository) == (both, THIRD)
    parts = [{"skill_name": part.title, "content": part.content} for part in (HOT, COLD)]
    split = extra(repository, SPLIT, skill_name=both.title, new_skills=parts)
    assert split.valid
    assert tuple(repository) == (HOT, THIRD, COLD)
    linked = extra(repository, LINK, skill_name="put hot", linked_name="put clean", relation="contrasts_with")
    assert linked.valid
    assert repository.links == (
        Link("put heated or cooled", "put hot", "derived_from"),
        Link("put heated or cooled", "put cold", "derived_from"),
        Link("put hot", "put heated or cooled", "derived_from"),
        Link("put cold", "put heated or cooled", "derived_from"),
        Link("put hot", "put clean", "contrasts_with"),
    )


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        (MERGE, {"skill_names": ["put hot"], "new_name": "a", "content": "x"}, "two or more"),
        (MERGE, {"skill_names": ["put hot", "put hot"], "new_name": "a", "content": "x"}, "twice"),
        (MERGE, {"skill_names": ["put hot", "none"], "new_name": "a", "content": "x"}, "no skill 'none'"),
        (MERGE, {"skill_names": ["put hot", 3], "new_name": "a", "content": "x"}, "no string"),
        (
            MERGE,
            {"skill_names": ["put hot", "put cold"], "new_name": "put clean", "content": THIRD.content},
            "exists already",
        ),
        (SPLIT, {"skill_name": "put hot", "new_skills": [{"skill_name": "a", "content": "x"}]}, "two or more"),
        (SPLIT, {"skill_name": "put hot", "new_skills": [{"skill_name": "a"}, {"content": "x"}]}, "other than"),
        (
            SPLIT,
            {"skill_name": "put hot", "new_skills": [{"skill_name": HOT.title, "content": HOT.content}] * 2},
            "two of the new skills",
        ),
        (LINK, {"skill_name": "put hot", "linked_name": "put hot", "relation": "requires"}, "itself"),
        (LINK, {"skill_name": "put hot", "linked_name": "put cold", "relation": "likes"}, "none of"),
        (LINK, {"skill_name": "put hot", "linked_name": "none", "relation": "requires"}, "no skill 'none'"),
    ],
)
def test_extra_operations_are_judged_too(name: str, arguments: dict[str, Any], reason: str) -> None:
    repository = Repository([HOT, COLD, THIRD])
    verdict = extra(repository, name, **arguments)
    assert not verdict.valid
    assert reason in verdict.reason
    assert (repository.skills, repository.links) == ((HOT, COLD, THIRD), ())


def test_merging_into_one_of_the_merged_keeps_its_title_and_place() -> None:
    repository = Repository([HOT, COLD, THIRD])
    new = write("Put Cold", "Use when a task wants it hot or cold.", "# Workflow\n1. Do it.")
    verdict = extra(repository, MERGE, skill_names=["put hot", "put cold"], new_name=new.title, content=new.content)
    assert verdict.valid
    assert repository.skills == (new, THIRD)


@pytest.mark.meets("K1")
def test_titles_are_exact_and_two_of_one_slug_collide() -> None:
    with pytest.raises(ConflictError, match="another spelling"):
        Repository([HOT, write("PUT hot", "x", "y")])
    repository = Repository([HOT])
    assert repository.get("put hot") is HOT
    assert repository.get("Put hot") is None
    assert "put hot" in repository
    assert slug("Put  the HOT-thing!") == "put-the-hot-thing"


def test_a_copy_goes_its_own_way() -> None:
    repository = Repository([HOT])
    other = repository.copy()
    one(other, DELETE, skill_name="put hot")
    assert (len(repository), len(other)) == (1, 0)
    assert repository.tokens(len) == len(HOT.content)
    assert HOT.content in repository.text


TITLES = st.sampled_from(["put hot", "Put Hot", "put cold", "put-cold", "new one", "x" * 65, "?", ""])
CONTENTS = st.one_of(
    st.builds(
        lambda title, body: f"---\nname: {title}\ndescription: Use it.\n---\n\n{body}",
        TITLES,
        st.text("ab#\n", max_size=8),
    ),
    st.text(max_size=12),
)
CALLS = st.one_of(
    st.builds(lambda t, c: from_native(INSERT, {"skill_name": t, "content": c}), TITLES, CONTENTS),
    st.builds(lambda t, n: from_native(UPDATE, {"skill_name": t, "new_name": n}), TITLES, TITLES),
    st.builds(lambda t, c: from_native(UPDATE, {"skill_name": t, "new_content": c}), TITLES, CONTENTS),
    st.builds(
        lambda t, n, c: from_native(UPDATE, {"skill_name": t, "new_name": n, "new_content": c}),
        TITLES, TITLES, CONTENTS,
    ),
    st.builds(lambda t: from_native(DELETE, {"skill_name": t}), TITLES),
    st.builds(
        lambda a, b, n, c: from_native(MERGE, {"skill_names": [a, b], "new_name": n, "content": c}),
        TITLES, TITLES, TITLES, CONTENTS,
    ),
    st.builds(
        lambda t, a, b, c, d: from_native(
            SPLIT, {"skill_name": t, "new_skills": [{"skill_name": a, "content": c}, {"skill_name": b, "content": d}]}
        ),
        TITLES, TITLES, TITLES, CONTENTS, CONTENTS,
    ),
    st.builds(lambda name, text: from_native(name, text), st.text(max_size=5), st.text(max_size=10)),
)  # fmt: skip


@pytest.mark.meets("K1", "K2")
@given(st.lists(CALLS, max_size=15))
@settings(deadline=None)
def test_no_calls_break_a_repository(calls: list[operations.Call]) -> None:
    repository = Repository([HOT, COLD])
    for call in calls:
        before = repository.copy()
        (verdict,) = repository.apply([call], extra=True)
        if not verdict.valid:
            assert verdict.reason
            assert repository.skills == before.skills
        before.change(verdict.changes, verdict.links)  # what a log replays is what happened
        assert (before.skills, before.links) == (repository.skills, repository.links)
        slugs = [slug(skill.title) for skill in repository]
        assert len(set(slugs)) == len(slugs)
        assert all(read(skill.content) == skill for skill in repository)


def test_a_change_that_does_not_fit_is_refused() -> None:
    repository = Repository([HOT])
    with pytest.raises(UsageError, match="no skill 'put cold'"):
        repository.change([(COLD, None)])
    with pytest.raises(UsageError, match="exists already"):
        repository.change([(None, HOT)])


def test_a_body_of_an_update_keeps_the_head() -> None:
    repository = Repository([HOT])
    one(repository, UPDATE, skill_name="put hot", new_content="# Workflow\n1. Warm it.")
    assert repository.skills == (
        Skill(HOT.title, HOT.description, "# Workflow\n1. Warm it.", repository.skills[0].content),
    )


@pytest.mark.meets("K3")
def test_a_large_repository_finds_the_same_by_an_index_that_follows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(repository: Repository) -> list[tuple[str, float]]:
        return [(hit.skill.title, hit.score) for hit in repository.retrieve("put something hot or clean")]

    repository = Repository([HOT, COLD, THIRD])
    small = found(repository)
    monkeypatch.setattr("core.skillrepo.repository.LARGE", 1)
    assert found(repository) == small
    for name, arguments in (
        (UPDATE, {"skill_name": "put hot", "new_name": "warm, or hot"}),
        (DELETE, {"skill_name": "put cold"}),
        (INSERT, {"skill_name": "put cold", "content": COLD.content}),
        (UPDATE, {"skill_name": "put clean", "new_content": THIRD.content.replace("it clean", "it hot")}),
    ):
        assert one(repository, name, **arguments).valid
        assert found(repository) == found(Repository(repository))  # as a rebuild finds them
        assert found(repository.copy()) == found(repository)
