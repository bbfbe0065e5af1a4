"""The table of requirements is made from the tests and says what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import requirements
from tests.requirements import CURATION, REQUIREMENTS, STRATEGY, Shown

SOURCE = """
import pytest
pytestmark = [pytest.mark.meets("K6")]

@pytest.mark.meets("K1", "K2")
@pytest.mark.parametrize("x", [1])
def test_one(x): ...

@pytest.mark.soak
def test_two(): ...

class TestThree:
    @pytest.mark.meets("K3")
    async def test_three(self): ...

def helper(): ...
"""


@pytest.fixture
def tests(tmp_path: Path) -> Path:
    root = tmp_path / "tests"
    root.mkdir()
    (root / "test_made.py").write_text(SOURCE)
    return root


def test_marks_are_read_from_functions_classes_and_modules(tests: Path) -> None:
    found = requirements.collect(tests)
    assert found["K1"] == found["K2"] == [Shown("tests/test_made.py", "test_one", False)]
    assert [shown.function for shown in found["K6"]] == ["test_one", "test_three", "test_two"]
    assert found["K3"] == [Shown("tests/test_made.py", "test_three", False)]
    assert [shown.long for shown in found["K6"]] == [False, False, True]
    (tests / "test_made.py").write_text(SOURCE.replace("K6", "K21"))
    with pytest.raises(ValueError, match="K21"):
        requirements.collect(tests)


def test_the_table_is_written_once_and_keeps_results_of_what_did_not_change(tests: Path) -> None:
    found = requirements.collect(tests)
    page = requirements.updated(CURATION, "# Page\n\nText.\n", found, dict.fromkeys(REQUIREMENTS, "pass"))
    assert page.startswith("# Page\n\nText.\n")
    assert page.count("| K1 |") == 1
    assert requirements.updated(CURATION, page, found) == page
    assert requirements.written(page)["K6"] == ("`tests/test_made.py`", "pass")
    (tests / "test_made.py").write_text(SOURCE.replace('"K1", ', ""))
    later = requirements.updated(CURATION, page, requirements.collect(tests))
    assert requirements.written(later)["K1"] == ("no test yet", "not run")
    assert requirements.written(later)["K2"][1] == "pass"


def test_every_fault_of_a_table_is_told(tests: Path) -> None:
    found = requirements.collect(tests)
    page = requirements.updated(CURATION, "# Page\n", found, {"K1": "pass", "K2": "FAILS"})
    wrong = requirements.faults(CURATION, page, found)
    assert "K1: no test shows it" not in wrong
    assert "K2: a test of it failed" in wrong
    assert not any(told.startswith("K3") for told in wrong)  # it has a test; when that ran last is another question
    assert "K4: no test shows it" in wrong
    assert any(
        told.startswith("K1: the table is out of date") for told in requirements.faults(CURATION, "# Page\n", found)
    )


def test_there_is_a_requirement_for_every_number() -> None:
    expected = [f"K{number}" for number in range(1, 21)]
    expected += [f"S{number}" for number in range(1, 132)] + [f"X{number}" for number in range(1, 7)]
    assert list(REQUIREMENTS) == expected


def test_what_no_test_can_show_says_why() -> None:
    text = requirements.updated(STRATEGY, "# Page\n", {number: [] for number in REQUIREMENTS})
    assert "not tested here" in requirements.written(text)["S131"][0]
    assert requirements.written(text)["S1"] == ("no test yet", "not run")


@pytest.mark.parametrize("page", requirements.PAGES, ids=lambda page: page.path.name)
def test_the_table_in_the_documentation_is_current(page: requirements.Page) -> None:
    """Cheap: it compares names. `python -P -m tests.requirements --run` runs the tests and writes how they ended."""
    assert requirements.faults(page, page.path.read_text(encoding="utf-8"), requirements.collect()) == []
