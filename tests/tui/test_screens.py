"""Fixed screens (DECISIONS 31): what each screen shows of a recorded run, word for word, at the sizes people have.

The goldens are plain text in tests/tui/screens. After a wanted change run this file with EXUVIA_SCREENS=write in the
environment, then read the difference as a stranger would.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from textual.pilot import Pilot

from core.curation.jobs import JobPaths
from core.state.fresh import ensure_home
from core.state.paths import ProjectPaths
from core.strategy.bank.bank import bank_of
from tests.tui.driving import console, screen_text
from tests.tui.home import give_trainer
from tests.tui.recorded import IN_TRAINING, unpack
from tests.tui.strategies_home import REPLAYED, break_lines, released_home
from tui.console import Console
from tui.palette import use_theme
from tui.settings import Loaded, Settings

GOLDENS = Path(__file__).parent / "screens"
SMALL, MIDDLE, LARGE = (80, 24), (120, 40), (200, 60)
_WRITE = os.environ.get("EXUVIA_SCREENS") == "write"
_STILL_S = 0.35


@dataclass(frozen=True)
class Scene:
    """A screen to fix: which home, which keys lead to it, and how the console was started."""

    name: str
    home: str
    keys: Sequence[str]
    sizes: Sequence[tuple[int, int]] = (SMALL, MIDDLE, LARGE)
    read_only: bool = False
    loaded: Loaded | None = None


SCENES = (
    Scene("sessions", "ended", ("1",)),
    Scene("matrix", "ended", ("2", "left_square_bracket")),
    Scene("cell", "ended", ("2", "left_square_bracket", "enter")),
    Scene("trace", "ended", ("2", "left_square_bracket", "t", "down", "down")),
    Scene("tree", "ended", ("3",)),
    Scene("scores", "ended", ("4", "up")),
    Scene("versions", "ended", ("5", "down")),
    Scene("diff", "ended", ("5", "down", "d")),
    Scene("inbox", "waiting", ("6",)),
    Scene("freeze", "waiting", ("6", "enter")),
    Scene("lanes", "ended", ("2", "left_square_bracket", "t", "w"), (SMALL, MIDDLE)),
    Scene("plot", "ended", ("4", "p"), (SMALL, MIDDLE)),
    Scene("help", "ended", ("question_mark",), (SMALL, MIDDLE)),
    Scene("palette", "ended", ("colon", "v"), (SMALL,)),
    Scene("settings", "ended", ("comma",), (SMALL,)),
    Scene("form", "ended", ("S",), (SMALL, MIDDLE)),
    Scene("empty", "empty", (), (SMALL, MIDDLE)),
    Scene("read-only", "waiting", ("6",), (SMALL,), read_only=True),
    Scene("ascii", "ended", ("1",), (SMALL,), loaded=Loaded(Settings(characters="ascii"))),
    Scene("mono", "ended", ("2", "left_square_bracket"), (SMALL,), loaded=Loaded(Settings(theme="mono"))),
    Scene("fault", "ended", (), (SMALL,), loaded=Loaded(problems=("theme = 'pink': should be 'dark'",))),
    Scene("zoom", "ended", ("2", "z"), (MIDDLE,)),
    Scene("training", "training", ("8",)),
    Scene("training-figures", "training", ("8", "enter"), (SMALL, MIDDLE)),
    Scene("training-curves", "training", ("8", "down", "p", "down"), (SMALL, MIDDLE)),
    Scene("training-live", "training", ("8", "p", "down"), (MIDDLE,)),
    Scene("training-samples", "training", ("8", "down", "e", "down"), (SMALL, MIDDLE)),
    Scene("training-compare", "training", ("8", "down", "m", "up", "d"), (SMALL, MIDDLE)),
    Scene("training-empty", "empty", ("8",), (SMALL,)),
    Scene("strategies", "strategies", ("9", "down")),
    Scene("strategies-text", "strategies", ("9", "down", "e", "f"), (SMALL, MIDDLE)),
    Scene("strategies-graph", "strategies", ("9", "down", "down", "w", "down"), (SMALL, MIDDLE)),
    Scene("strategies-models", "strategies", ("9", "M"), (SMALL,)),
    Scene("strategies-empty", "empty", ("9",), (SMALL, MIDDLE)),
    Scene("tiny", "ended", (), ((40, 10),)),
)
ALL = [pytest.param(scene, size, id=f"{scene.name}-{size[0]}x{size[1]}") for scene in SCENES for size in scene.sizes]


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, ProjectPaths]]:
    root = tmp_path_factory.mktemp("homes")
    found = {name: unpack(name, root / name) for name in ("waiting", "ended", "training")}
    trainer = give_trainer(JobPaths(found["training"].training / IN_TRAINING))
    strategies = released_home(root / "strategies")
    break_lines(bank_of(strategies), REPLAYED, [("order.status ==", "order.stats ==")])
    yield {**found, "empty": ensure_home(root / "empty"), "strategies": strategies}
    trainer.kill()
    trainer.wait()


@pytest.fixture(autouse=True)
def here_and_now(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """One time zone, one locale, no settings and no memory of the operator's own."""
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("LANG", "C.UTF-8")
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    time.tzset()
    yield
    monkeypatch.delenv("TZ")
    time.tzset()
    use_theme("terminal")


@pytest.mark.parametrize(("scene", "size"), ALL)
async def test_the_screen_is_as_it_was(homes: dict[str, ProjectPaths], scene: Scene, size: tuple[int, int]) -> None:
    project = homes[scene.home]
    async with console(project, size, read_only=scene.read_only, loaded=scene.loaded) as (app, pilot):
        await _still(app, pilot)
        for key in scene.keys:
            await pilot.press(key)
            await _still(app, pilot)
        text = _lasting(screen_text(app), project)
    golden = GOLDENS / f"{scene.name}-{size[0]}x{size[1]}.txt"
    if _WRITE:
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_every_golden_is_of_a_scene() -> None:
    assert {path.stem for path in GOLDENS.glob("*.txt")} == {str(param.id) for param in ALL}


async def _still(app: Console, pilot: Pilot[int]) -> None:
    """Wait until nothing has changed on screen for a while and no worker but the feed's is at work."""
    since, before = time.monotonic(), ""
    deadline = since + 20
    while time.monotonic() - since < _STILL_S and time.monotonic() < deadline:
        await pilot.pause()
        await asyncio.sleep(0.05)
        text = screen_text(app)
        working = [worker for worker in app.workers if worker.is_running and worker.group not in ("feed", "probe")]
        if text != before or working:
            since, before = time.monotonic(), text


def _lasting(text: str, project: ProjectPaths) -> str:
    """Return the screen without what differs between machines: where the home lies, and how commands are confined."""
    status, *lines = (re.sub(r"/\S*pytest-of-\S*", "<path>", line.rstrip()) for line in text.split("\n"))
    status = re.sub(r"(landlock|namespaces|bubblewrap|none|NOT ISOLATED)$", "<isolation>", status)
    return "\n".join((status, *lines)).rstrip("\n") + "\n"
