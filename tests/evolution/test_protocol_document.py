"""docs/protocol.md numbers every requirement and names only refusals and tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")


def test_every_number_of_section_three_has_its_row() -> None:
    numbers = [int(number) for number in re.findall(r"^\| (\d+) \|", TEXT, re.MULTILINE)]
    assert numbers == list(range(1, 76))


def test_every_refusal_named_is_one_of_the_engine() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "core" / "evolution").glob("*.py"))
    known = set(re.findall(r'Refusal\(\s*"([a-z_0-9]+)"', code)) | {"blocked"}
    named = {
        name
        for row in TEXT.splitlines()
        if row.startswith("| ")
        for group in re.findall(r"tools?(?: `[a-z_]+`,?)* \(((?:`[a-z_0-9]+`(?:, )?)+)\)", row)
        for name in re.findall(r"`([a-z_0-9]+)`", group)
    }
    assert len(named) > 30
    assert named <= known, named - known


def test_every_test_file_named_exists() -> None:
    for name in set(re.findall(r"`(tests/[a-z_/]+(?:\.py)?)`", TEXT)):
        assert (ROOT / name).exists(), name
    for name in set(re.findall(r"`(test_[a-z_]+\.py)`", TEXT)):
        assert list((ROOT / "tests").rglob(name)), name
