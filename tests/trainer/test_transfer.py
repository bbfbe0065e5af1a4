"""`exuvia train transfer`: the table world x world, measured once, honest about what it is of (CURATION 1.7)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from core.curation.curators import CurationInput
from trainer.commands import transfer
from trainer.policies import loading
from trainer.policies.hf import HfPolicy, open_policy
from trainer.worlds import open_world

from .small import policy as tiny_policy
from .small_models import small_policy

WORLDS = ("household", "shop")


class Remembering(HfPolicy):
    """A policy that has learnt one thing: the skills, written by hand, of its world. It reads little, to be quick."""

    def prompt(self, given: CurationInput) -> list[int]:
        return self.chat.encode(given.episode.task.text)

    def render(self, ids: Sequence[int], given: CurationInput | None = None) -> str:
        del ids
        assert given is not None
        task = given.episode.task
        known = {world: open_world(world) for world in self.worlds}
        skills = [one for world in known.values() if task.family in world.families for one in world.oracle()]
        told = [
            {"name": "new_skill_insert", "arguments": {"skill_name": one.title, "content": one.content}}
            for one in skills
        ]
        return "\n".join(f"<tool_call>\n{json.dumps(call)}\n</tool_call>" for call in told)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return a saved policy of each world, as the command takes them."""
    found = {}
    for world in WORLDS:
        place = tmp_path_factory.mktemp(world)
        small_policy(max_answer=1, worlds=(world,)).save(place)
        found[world] = f"{world}={place}"
    return found


@pytest.fixture
def remembering(monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(folder: Path) -> HfPolicy:
        plain = open_policy(folder, device="cpu")
        return Remembering(plain.model, plain.tokenizer, plain.options)

    monkeypatch.setattr(loading, "open_policy", opened)


def counted(monkeypatch: pytest.MonkeyPatch, found: dict[str, Any]) -> list[str]:
    """Let every measurement find `found`; return the list that grows by the arm of each."""
    arms: list[str] = []

    def measure(arm: str, *_: object) -> dict[str, Any]:
        arms.append(arm)
        return found

    monkeypatch.setattr(transfer, "_measure", measure)
    return arms


def test_the_table_has_every_policy_on_every_world_and_measures_once(
    runs: dict[str, str],
    remembering: None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    del remembering
    asked = [*runs.values(), "--streams", "2", "--tasks", "6", "--into", str(tmp_path)]
    assert transfer.main([*asked, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    cells = {(cell["trained"], cell["on"]): cell for cell in document["cells"]}
    assert set(cells) == {(trained, on) for trained in WORLDS for on in WORLDS}
    assert document["tasks"] == {"household": 6, "shop": 6}
    for world in WORLDS:
        # At home it writes the oracle's skills after the first task; elsewhere it knows no family and writes nothing.
        assert cells[world, world]["compared"]["difference"] > 0.2
        (other,) = {*WORLDS} - {world}
        assert cells[other, world]["compared"]["difference"] == 0
        assert cells[other, world]["sr"] == document["none"][world]["sr"]
        assert cells[world, world]["tasks"] == 12

    monkeypatch.setattr(transfer, "_measure", lambda *_: pytest.fail("measured again"))
    assert transfer.main(asked) == 0
    table = capsys.readouterr().out
    (row,) = (line for line in table.splitlines() if line.startswith("| trained on shop"))
    at_home, away = f"{100 * cells['shop', 'shop']['sr']:.1f} (+", f"{100 * cells['shop', 'household']['sr']:.1f} (+0.0"
    assert row.index(away) < row.index(at_home)  # the columns are household, shop
    assert "no memory" in table
    assert "2 streams of 6 of household, 6 of shop" in table
    assert "+0.0 to +0.0 ~)" in row
    assert "nothing is claimed" in table
    assert "from random weights: household, shop" in table


def test_a_cell_is_measured_anew_where_weights_or_question_changed(
    runs: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [runs["shop"], "--streams", "1", "--tasks", "1", "--into", str(tmp_path)]
    measured = counted(monkeypatch, {"sr": 0.5, "tasks": 1, "outcomes": [[True]]})
    assert transfer.main(asked) == 0
    told = capsys.readouterr().out
    assert "One stream has no interval" in told
    assert "~" not in told
    assert measured == ["none", "shop"]
    (tmp_path / "shop-on-shop.json").write_text("{torn")
    assert transfer.main(asked) == 0
    assert measured == ["none", "shop", "shop"]
    assert transfer.main([*asked, "--min-overlap", "0.2"]) == 0
    assert measured[3:] == ["none", "shop"]
    monkeypatch.setattr("trainer.checkpoint.weights_hash", lambda folder: "sha256:others")
    assert transfer.main([*asked, "--min-overlap", "0.2"]) == 0
    assert measured[5:] == ["shop"]


def test_what_can_not_be_compared_is_refused_before_anything_is_measured(
    runs: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "_measure", lambda *_: pytest.fail("measured"))
    tiny, plain = tmp_path / "tiny", tmp_path / "plain"
    for place in (tiny, plain):
        place.mkdir()
    tiny_policy().save(tiny)
    household = runs["household"].partition("=")[2]
    for words, why in (
        (["household"], "'household' is not WORLD=RUN"),
        ([f"household={tiny}"], "is a tiny policy"),
        ([f"household={plain}"], "doesn't say which world"),
        ([f"shop={household}"], "was trained on household, not on shop"),
        ([runs["shop"], runs["shop"]], "named twice"),
        ([f"nowhere={household}"], "no world 'nowhere'"),
        ([f"household={tmp_path / 'gone'}"], "nothing at"),
        ([runs["shop"], "--executor", "mighty"], "no executor 'mighty'"),
        ([runs["shop"], "--streams", "0"], "--streams is 1 or more"),
    ):
        assert transfer.main([*words, "--into", str(tmp_path / "cells")]) == 2, words
        assert why in capsys.readouterr().err
    assert not (tmp_path / "cells").exists()


def test_a_run_is_named_by_its_id_too(
    runs: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EXUVIA_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "default_project" / ".exuvia" / "training"
    place.mkdir(parents=True)
    (place / "shop-run").symlink_to(runs["shop"].partition("=")[2])
    measured = counted(monkeypatch, {"sr": None, "tasks": 0, "outcomes": [[None], [None]]})
    assert transfer.main(["shop=shop-run", "--streams", "2"]) == 0
    assert "| not measured" in capsys.readouterr().out  # and never 0
    assert measured == ["none", "shop"]
    assert (place.parent / "studies" / "transfer" / "shop-on-shop.json").is_file()  # in the home, where nobody says


def test_its_help_says_what_it_needs(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        transfer.main(["--help"])
    assert ended.value.code == 0
    told = capsys.readouterr().out
    assert "a policy of kind hf that was trained on it" in told
    assert "exuvia train --preset smollm2-135m" in told
    assert "Nothing is trained here" in told
