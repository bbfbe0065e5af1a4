"""Behaviour analytics (K18): fixed classes, by hand."""

from __future__ import annotations

import pytest

from core.curation import behaviour
from core.skillrepo.calls import parse, render
from core.skillrepo.repository import Repository
from core.skillrepo.skill import Skill, write

pytestmark = pytest.mark.meets("K18")


def skill(title: str, description: str = "Use it.", body: str = "# Workflow\n1. Go.") -> Skill:
    return write(title, description, body)


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        ("Workflow", "workflow"),
        ("Step-by-step procedure", "workflow"),
        ("When NOT to use", "limits"),
        ("When to use", "needs"),
        ("Failure Handling", "failure"),
        ("Common pitfalls", "failure"),
        ("Conditional Branches", "branches"),
        ("If the container is closed", "branches"),
        ("Edge cases", "branches"),
        ("Tips", "tips"),
        ("Guidance", "tips"),
        ("Optimization", "tips"),
        ("Verification", "checks"),
        ("Example", "examples"),
        ("Appendix", "other"),
    ],
)
def test_headings_have_a_class(heading: str, expected: str) -> None:
    assert behaviour.heading_class(heading) == expected
    assert expected in behaviour.HEADING_CLASSES


def test_headings_are_counted_outside_of_code() -> None:
    body = "# Workflow\n1. x\n\n```sh\n# Tips of a script\n```\n\n## Failure handling ##\n\n#no heading\n"
    assert behaviour.headings(body) == ("Workflow", "Failure handling")
    counts = behaviour.heading_counts([skill("a", body=body), skill("b", body="# Tips\nx")])
    assert counts == dict.fromkeys(behaviour.HEADING_CLASSES, 0) | {"workflow": 1, "failure": 1, "tips": 1}


def test_a_meta_skill_is_about_a_way_of_working() -> None:
    meta = [skill("systematic-search"), skill("finding things", "How to explore rooms for any task.")]
    plain = [skill("heat-and-place", "Heat an object in the microwave, then place it."), skill("clean object")]
    assert [behaviour.is_meta(one) for one in (*meta, *plain)] == [True, True, False, False]
    assert behaviour.meta_share([*meta, *plain]) == 0.5
    assert behaviour.meta_share([]) is None


def test_operations_are_counted_by_what_was_asked_for() -> None:
    text = "\n".join(
        [
            render("new_skill_insert", {"skill_name": "a", "content": skill("a").content}),
            render("new_skill_insert", {"skill_name": "a", "content": skill("a").content}),  # exists: invalid
            render("skill_delete", {"skill_name": "a"}),
            "<tool_call>broken</tool_call>",
        ]
    )
    verdicts = Repository().apply(parse(text))
    counts = behaviour.operation_counts(verdicts)
    assert counts == {"insert": 2, "update": 0, "delete": 1, "other": 1}
    assert behaviour.shares(counts) == {"insert": 0.5, "update": 0.0, "delete": 0.25, "other": 0.25}
    assert behaviour.shares({"insert": 0}) == {"insert": None}


def test_use_of_skills_by_hand() -> None:
    # Four tasks: the first meets an empty repository; two skills of four were ever given to one.
    given = [(0, []), (1, ["a"]), (2, []), (3, ["a", "b"])]
    found = behaviour.usage(["a", "b", "c", "d"], given)
    assert found.coverage == 0.5
    assert found.examples_with_skill == pytest.approx(2 / 3)
    assert found.skills_per_example == pytest.approx(1.0)
    assert behaviour.usage([], [(0, [])]) == behaviour.Usage(None, None, None)
