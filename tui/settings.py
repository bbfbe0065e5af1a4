"""What an operator may settle about the console: one TOML file, checked strictly; a fault is shown, never fatal.

`$XDG_CONFIG_HOME/exuvia/settings.toml`. A setting that cannot be used keeps its default and is named where the operator
sees it (TERMINAL 2.1: strict key validation, start anyway).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

from core.foundation.errors import ExuviaError
from core.foundation.visible import visible_line

Theme = Literal["terminal", "dark", "light", "mono"]
Characters = Literal["auto", "unicode", "ascii"]
Switch = Literal["auto", "on", "off"]
Clipboard = Literal["auto", "osc52", "file"]
_MOST_BYTES = 256 << 10


@dataclass(frozen=True, slots=True)
class Settings:
    """Each field is a setting of the file. No pydantic model: every start of the console would wait for its import."""

    theme: Theme = field(
        default="terminal",
        metadata={
            "says": "Colours: the terminal's own sixteen (terminal), for a dark or light ground, or none (mono)."
        },
    )
    characters: Characters = field(
        default="auto", metadata={"says": "Lines and marks: unicode, plain ascii, or what LANG says (auto)."}
    )
    lean: Switch = field(
        default="auto", metadata={"says": "Send fewer bytes for the same screen. auto: always, as it costs nothing."}
    )
    mouse: bool = field(default=False, metadata={"says": "Take the mouse. Off, the terminal's own selection works."})
    bell: bool = field(default=True, metadata={"says": "Ring the bell when something waits for you."})
    clipboard: Clipboard = field(
        default="auto",
        metadata={"says": "Copy to the terminal (OSC 52) and a file (auto, osc52), or only to the file."},
    )
    confirm_rollback: bool = field(
        default=False, metadata={"says": "Ask before R rolls back. Off: it is done at once, u undoes it."}
    )


@dataclass(frozen=True, slots=True)
class Setting:
    """What may be settled under a name: its default, all that it may be, and what the settings screen says of it."""

    default: str | bool
    choices: tuple[str | bool, ...]
    says: str


def _known() -> dict[str, Setting]:
    hints, usual = get_type_hints(Settings), Settings()
    return {
        each.name: Setting(
            getattr(usual, each.name), get_args(hints[each.name]) or (False, True), each.metadata["says"]
        )
        for each in fields(Settings)
    }


SETTINGS: Mapping[str, Setting] = _known()
"""Every setting by name, in the order of the settings screen."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings in force, the keys that the file gives to actions (() takes an action's keys away), and faults."""

    settings: Settings = field(default_factory=Settings)
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    path: Path | None = None


def settings_path(environ: Mapping[str, str] | None = None) -> Path:
    """Return where the settings file is, there or not."""
    env = os.environ if environ is None else environ
    config = env.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(config) / "exuvia" / "settings.toml"


def load(path: Path | None = None) -> Loaded:
    """Read the settings. Whatever is wrong keeps its default and is one of `problems`."""
    file = path or settings_path()
    try:
        with file.open("rb") as stream:
            raw = stream.read(_MOST_BYTES + 1)
        if len(raw) > _MOST_BYTES:
            raise ValueError(f"longer than {_MOST_BYTES >> 10} KiB")
        import tomllib  # most have no such file

        document = tomllib.loads(raw.decode("utf-8"))
    except FileNotFoundError:
        return Loaded(path=file)
    except (OSError, ValueError, RecursionError) as error:
        return Loaded(problems=(_broken(str(error)),), path=file)
    problems: list[str] = []
    keys = _keys(document.pop("keys", {}), problems)
    return Loaded(_settings(document, problems), keys, tuple(problems), file)


def _broken(reason: str) -> str:
    """Say first where a file is broken, as the end of a long line may not be seen."""
    what, at, where = visible_line(reason).partition(" (at ")
    return f"{where.rstrip(')')}: {what}; nothing of the file counts" if at else f"not read: {what}"


def _settings(document: dict[str, Any], problems: list[str]) -> Settings:
    usable: dict[str, Any] = {}
    for name, value in document.items():
        known = SETTINGS.get(name)
        if known is None:
            problems.append(f"{visible_line(name)} is no setting{_near(name, SETTINGS)}")
        elif type(value) is type(known.default) and value in known.choices:
            usable[name] = value
        else:
            choices = [choice if isinstance(choice, str) else str(choice).lower() for choice in known.choices]
            listed = (
                f"{', '.join(choices[:-1])} or {choices[-1]}" if isinstance(known.default, str) else "true or false"
            )
            problems.append(f"{name} = {visible_line(repr(value))[:60]}: should be {listed}")
    return replace(Settings(), **usable)


def _near(name: str, known: Mapping[str, Any]) -> str:
    near = get_close_matches(name, list(known), 1)
    return f"; meant is perhaps {near[0]}" if near else ""


def _keys(given: object, problems: list[str]) -> dict[str, tuple[str, ...]]:
    """Return keys by action, as far as they can be used; the default ones stay for the rest."""
    from tui.actions import ACTIONS
    from tui.keys import key_name, keys_fault

    if not isinstance(given, dict):
        problems.append("keys: should be a table, [keys]")
        return {}
    known = {action.id: action for action in ACTIONS}
    found: dict[str, tuple[str, ...]] = {}
    for name, value in _flat(given):
        keys = () if value is False else (value,) if isinstance(value, str) else value
        if name not in known:
            problems.append(f"keys: {visible_line(name)} is no action{_near(name, known)}")
        elif not isinstance(keys, list | tuple) or not all(isinstance(key, str) for key in keys):
            problems.append(f"keys: {name}: should be a key, a list of keys, or false for none")
        elif name == "quit" and not keys:
            problems.append("keys: quit: needs a key")
        else:
            found[name] = tuple(key_name(key) for key in keys)
    while fault := keys_fault(found):  # each turn takes one override away, so this ends
        name, why = fault
        problems.append(f"keys: {name}: {visible_line(why)}")
        del found[name]
    return found


def _flat(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield `page.older` for both `"page.older" = ...` and `page.older = ...`, which TOML reads as a table."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def save(name: str, value: str | bool, path: Path | None = None) -> Path:
    """Write one setting into the file; the rest of it, comments too, stays. Raises ExuviaError."""
    import tomlkit  # only a change writes

    from core.state import atomic

    file = path or settings_path()
    try:
        document = tomlkit.parse(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        document = tomlkit.document()
        document.add(tomlkit.comment("Settings of the console; see exuvia's docs/keys.md and the settings screen (,)."))
    except (OSError, ValueError) as error:
        raise ExuviaError(f"{file} can't be read: {error}", hint="Mend it by hand first.") from error
    document[name] = value
    file.parent.mkdir(parents=True, exist_ok=True)
    atomic.write_text(file, tomlkit.dumps(document))
    return file


def check() -> tuple[Path, tuple[str, ...]]:
    """Return the settings file and what is wrong with it, for `exuvia doctor`."""
    loaded = load()
    assert loaded.path is not None
    return loaded.path, loaded.problems


def wants_ascii(settings: Settings, environ: Mapping[str, str] | None = None) -> bool:
    """Tell whether only ASCII may be drawn: where it is asked for, or the locale is plainly not UTF-8.

    Python turns LANG=C into UTF-8 for itself and says so in LC_CTYPE; that is no word of the terminal's.
    """
    if settings.characters != "auto":
        return settings.characters == "ascii"
    env = os.environ if environ is None else environ
    ctype = env.get("LC_CTYPE", "")
    said = env.get("LC_ALL") or ("" if ctype == "C.UTF-8" else ctype) or env.get("LANG") or ctype
    return bool(said) and not said.upper().replace("-", "").endswith(("UTF8", "UTF8@EURO"))
