"""docs/strategies.md can be followed to the letter: its files and commands make a strategy that reaches all users."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.agents.isolation.support import probe
from core.state.agents import edit_config
from core.state.paths import ProjectPaths
from core.strategy.bank.bank import bank_of
from core.strategy.documents.reading import read
from core.strategy.documents.release import Release
from core.strategy.documents.strategy import Strategy
from core.strategy.feedback.text_form import read_text
from tests.cli.program import call

PAGE = (Path(__file__).parents[2] / "docs" / "strategies.md").read_text(encoding="utf-8")
ID = "shop.unknown_parcel"
_PART = re.compile(r"^`(?P<file>\S+)`\n\n```\w+\n(?P<text>.*?)^```\n|^```sh\n(?P<commands>.*?)^```\n", re.M | re.S)


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def parts(title: str) -> Iterator[tuple[str, str]]:
    """Yield ("file name", text) for each file and ("", command) for each command of a section, in order."""
    for found in _PART.finditer(section(title)):
        if found["file"]:
            yield found["file"], found["text"]
        else:
            yield from (("", line.partition("  #")[0].strip()) for line in found["commands"].splitlines())


@pytest.mark.meets("S1", "S2", "S63", "S96", "S106")
def test_the_first_strategy_of_the_page_goes_all_the_way(tmp_path: Path) -> None:
    home = tmp_path / "home"
    said: dict[str, list[str]] = {}
    project = ProjectPaths(home / "default_project")
    for file, text in parts("A first strategy"):
        if file:
            path = project.root / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            continue
        words = shlex.split(text)[1:]
        if words[0] == "run" and probe().layer == "none":
            continue
        ended = call(*words, "--home", home)
        assert ended.code == 0, (text, ended)
        said.setdefault(text, []).append(ended.out)
        if words[:2] == ["agent", "create"]:
            edit_config(project.agent("helper"), {"skills.selection": "strategy"})
    assert "1 strategies: 0 errors, 0 warnings" in said["exuvia strategy check"][0]
    assert "routing tests: 2 of 2 pass" in said["exuvia strategy check"][0]
    assert [one.splitlines()[0] for one in said[f"exuvia strategy gray {ID}"]] == [
        f"{ID} version 1: gray, stage 1 of 2 (50 %)",
        f"{ID} version 1: gray, stage 2 of 2 (100 %)",
        f"{ID} version 1: active",
    ]
    assert f"helper is version 2 now, with {ID} version 1." in said[f"exuvia strategy gray {ID}"][2]
    (back,) = (out for text, (out, *_) in said.items() if text.startswith("exuvia strategy rollback"))
    assert f"helper is version 3 now, without {ID}." in back
    assert bank_of(project).standing(ID, 1).state == "offline"
    if probe().layer == "none":
        pytest.skip("this kernel confines nothing: the runs of the page were passed over")
    shadowed, answered = said["exuvia run helper -m 'Where is my parcel A-7?' --user ada --attr device=ios"]
    assert "Somebody calls you" not in shadowed
    assert "Somebody calls you within 30 minutes." in answered
    assert "1 turns, 1 with a write that was withheld" in said[f"exuvia strategy report {ID}"][0]
    row = next(line for line in said["exuvia strategy board"][0].splitlines() if line.startswith(ID)).split()
    assert row[1:4] == ["1", "100.0%", "100.0%"]
    assert "NO_TRACE" in said["exuvia strategy cases"][0]


def test_the_pages_other_examples_are_read() -> None:
    head = f"schema: strategy/v1\nid: {ID}\nversion: 1\npurpose: One.\ndomain: shop\nowner: team\n"
    for title, least in (("Plans", 1), ("Validation", 1)):
        blocks = re.findall(r"^```yaml\n(.*?)^```\n", section(title), re.M | re.S)
        assert len(blocks) >= least
        for block in blocks:
            read(head + block, Strategy, title)
    (release,) = re.findall(r"^```yaml\n(.*?)^```\n", section("Release"), re.M | re.S)
    assert read(release, Release, "release")[0].rollout.ab is not None
    (draft,) = re.findall(r"^```text\n(.*?)^```\n", section("How a strategy is written"), re.M | re.S)
    assert read_text(draft).skills == ("contact_carrier", "estimate_delivery")
