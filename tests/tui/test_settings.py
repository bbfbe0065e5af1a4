"""Settings, keys, themes, ASCII, the palette: what an operator settles, and what bad settings come to."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.keys import _character_to_key

from core.state.paths import ProjectPaths
from tests.tui.driving import console, screen_text, until
from tui import settings
from tui.actions import ACTIONS
from tui.ascii import to_ascii
from tui.keys import key_name
from tui.palette import THEMES, TONES, use_theme
from tui.screens.base import ConsoleScreen
from tui.screens.settings import SettingsScreen
from tui.settings import SETTINGS


def written(path: Path, text: str) -> settings.Loaded:
    path.write_text(text, encoding="utf-8")
    return settings.load(path)


def test_no_file_means_defaults_and_no_fault(tmp_path: Path) -> None:
    loaded = settings.load(tmp_path / "none.toml")
    assert loaded.settings == settings.Settings()
    assert loaded.problems == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("theme = 'blue'", "theme"),
        ("thema = 'dark'", "meant is perhaps theme"),
        ("mouse = 1", "mouse"),
        ("mouse = 'yes'", "true or false"),
        ("= nonsense", "line 2, column 1: Invalid statement"),
        ("[keys]\nrolback = 'r'", "meant is perhaps rollback"),
        ("[keys]\nrollback = 7", "rollback"),
        ("[keys]\nrollback = 'ctrl+b'", "taken by terminals"),
        ("[keys]\nrollback = 'alt+x'", "no key that every terminal sends"),
        ("[keys]\nrollback = 'u'", "is the key of undo"),
        ("[keys]\n'page.older' = 'e'", "is the key of evaluator"),
        ("[keys]\nquit = false", "needs a key"),
        ("keys = 3", "should be a table"),
    ],
)
def test_a_fault_is_named_and_the_rest_counts(tmp_path: Path, text: str, said: str) -> None:
    loaded = written(tmp_path / "settings.toml", "bell = false\n" + text if not text.startswith("[") else text)
    assert len(loaded.problems) == 1
    assert said in loaded.problems[0]
    assert not loaded.keys
    if not text.startswith(("[", "=")):
        assert loaded.settings.bell is False


def test_keys_can_be_changed_exchanged_and_taken_away(tmp_path: Path) -> None:
    loaded = written(
        tmp_path / "s.toml",
        "[keys]\nrollback = 'u'\nundo = ['R', 'ctrl+r']\npage.older = false\nzoom = '/'\nfilter='z'",
    )
    assert loaded.problems == ()
    assert loaded.keys == {
        "rollback": ("u",), "undo": ("R", "ctrl+r"), "page.older": (), "zoom": ("slash",), "filter": ("z",),
    }  # fmt: skip


@given(st.characters(min_codepoint=33, max_codepoint=126))
def test_a_key_may_be_written_as_its_character(character: str) -> None:
    assert key_name(character) == _character_to_key(character)


def test_saving_keeps_comments_and_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    written(file, "# mine\nbell = false  # quiet\n\n[keys]\nzoom = 'Z'\n")
    settings.save("theme", "dark", file)
    loaded = settings.load(file)
    assert loaded.settings.theme == "dark"
    assert loaded.settings.bell is False
    assert loaded.keys == {"zoom": ("Z",)}
    assert "# mine" in file.read_text()
    assert "# quiet" in file.read_text()


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, True),
        ({"LANG": "de_DE.UTF-8"}, False),
        ({"LANG": "en_US.utf8"}, False),
        ({"LC_ALL": "POSIX", "LANG": "de_DE.UTF-8"}, True),
        ({"LANG": "de_DE.ISO-8859-1"}, True),
        ({"LC_CTYPE": "C.UTF-8"}, False),
        ({}, False),
    ],
)
def test_a_locale_without_utf8_gets_ascii(environ: dict[str, str], expected: bool) -> None:
    assert settings.wants_ascii(settings.Settings(), environ) is expected


@given(st.text())
def test_ascii_keeps_every_width(text: str) -> None:
    drawn = to_ascii(text)
    assert drawn.isascii()
    if text.isprintable():
        assert cell_len(drawn) == sum(cell_len(character) for character in text)


def test_every_theme_has_every_tone() -> None:
    for name, theme in THEMES.items():
        assert theme.keys() == TONES.keys(), name
    assert not any(style.color for style in THEMES["mono"].values())


async def test_a_remapped_key_works_and_is_shown(project: ProjectPaths, tmp_path: Path) -> None:
    loaded = written(tmp_path / "s.toml", "[keys]\nhelp = 'ctrl+t'\n'pane.scores' = '0'")
    async with console(project, loaded=loaded) as (app, pilot):
        await pilot.press("0")
        assert app.frame.active == "scores"
        assert "Ctrl-t help" in await until(app, pilot, lambda text: "4 Scores" in text)
        await pilot.press("4")
        await pilot.press("question_mark")
        assert app.screen.id == "frame"
        await pilot.press("ctrl+t")
        await until(app, pilot, lambda text: "Keys of the console" in text and "  0         Go to Scores" in text)


async def test_a_fault_in_the_settings_is_seen_at_once(project: ProjectPaths, tmp_path: Path) -> None:
    loaded = written(tmp_path / "s.toml", "theme = 'pink'")
    async with console(project, loaded=loaded) as (app, pilot):
        await until(app, pilot, lambda text: "Settings: theme = 'pink'" in text)
        await pilot.press("comma")
        await until(app, pilot, lambda text: "Not used: theme" in text)


async def test_the_settings_screen_changes_the_file_and_the_screen(project: ProjectPaths, tmp_path: Path) -> None:
    file = tmp_path / "config" / "settings.toml"
    async with console(project, loaded=settings.load(file)) as (app, pilot):
        await pilot.press("comma")
        assert isinstance(app.screen, SettingsScreen)
        await pilot.press("down", "enter", "enter")
        await until(app, pilot, lambda text: "characters is ascii now" in text)
        assert settings.load(file).settings.characters == "ascii"
        await pilot.press("escape")
        assert screen_text(app).replace("\n", "").isascii()


async def test_the_text_below_the_settings_follows_the_cursor(project: ProjectPaths, tmp_path: Path) -> None:
    async with console(project, loaded=settings.load(tmp_path / "settings.toml")) as (app, pilot):
        await pilot.press("comma")
        await until(app, pilot, lambda text: SETTINGS["theme"].says[:40] in text)
        for name in list(SETTINGS)[1:]:
            await pilot.press("down")
            await until(app, pilot, lambda text, name=name: SETTINGS[name].says[:40] in text)  # type: ignore[misc]


async def test_every_screen_knows_when_it_is_whole(project: ProjectPaths, tmp_path: Path) -> None:
    """A screen that never takes itself for whole does not follow its own cursor."""
    async with console(project, loaded=settings.load(tmp_path / "settings.toml")) as (app, pilot):
        for key in ("", "S", "comma", "colon"):
            if key:
                await pilot.press(key)
                await until(app, pilot, lambda _: app.screen is not app.frame)
            assert isinstance(app.screen, ConsoleScreen)
            assert app.screen.stands, key or "frame"
            if key:
                await pilot.press("escape")
                await until(app, pilot, lambda _: app.screen is app.frame)


async def test_the_palette_finds_actions_and_things(project: ProjectPaths) -> None:
    async with console(project) as (app, pilot):
        await pilot.press("colon", *"v2")
        await until(app, pilot, lambda text: "version  v2" in text)
        await pilot.press("enter")
        await until(app, pilot, lambda text: app.frame.active == "versions")
        await pilot.press("colon", *"setti", "enter")
        assert isinstance(app.screen, SettingsScreen)
        await pilot.press("escape", "colon", *"nothing like that")
        await until(app, pilot, lambda text: "Nothing holds" in text)
        await pilot.press("enter", "escape")
        assert app.screen.id == "frame"


async def test_read_only_offers_nothing_that_changes(project: ProjectPaths) -> None:
    dangerous = [action for action in ACTIONS if action.dangerous]
    assert dangerous
    async with console(project, read_only=True) as (app, pilot):
        await pilot.press("colon")
        text = await until(app, pilot, lambda text: "found" in text)
        for action in dangerous:
            assert action.text[:30] not in text


@pytest.fixture(autouse=True)
def default_theme() -> object:
    yield
    use_theme("terminal")
