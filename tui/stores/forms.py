"""Fields of a form, and what was typed into them last: `forms.json` under XDG_STATE_HOME, a table per kind of form."""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path

from core.foundation import strict_json
from core.foundation.errors import ExuviaError
from core.state import atomic

_LARGEST = 256 << 10
_LONGEST = 4000  # characters of one value


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its name in the values, what it is called, and a line that explains it.

    `choices` are all there are where nothing is typed, else what Right completes to; `unset` is what an empty field
    stands for, in words.
    """

    name: str
    label: str
    says: str
    choices: tuple[str, ...] = ()
    typed: bool = True
    unset: str = ""


def forms_file(environ: Mapping[str, str] | None = None) -> Path:
    """Return the file that remembers what was typed."""
    env = os.environ if environ is None else environ
    state = env.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "exuvia" / "forms.json"


def remembered(kind: str, environ: MutableMapping[str, str] | None = None) -> dict[str, str]:
    """Return what was typed into a form of `kind` last; {} where nothing was, or the file can't be read."""
    return dict(_tables(forms_file(environ)).get(kind, {}))


def remember(kind: str, values: Mapping[str, str], environ: MutableMapping[str, str] | None = None) -> None:
    """Keep what was typed. A disk that refuses it keeps nothing: the form is no less usable for that."""
    file = forms_file(environ)
    tables = _tables(file)
    tables[kind] = {name: value[:_LONGEST] for name, value in values.items() if value}
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        atomic.write_bytes(file, strict_json.dumps(tables, indent=1).encode() + b"\n", mode=0o600)
    except (ExuviaError, OSError):
        return


def _tables(file: Path) -> dict[str, dict[str, str]]:
    try:
        if file.stat().st_size > _LARGEST:
            return {}
        found = strict_json.parse(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {
        kind: {name: value for name, value in table.items() if isinstance(value, str)}
        for kind, table in found.items()
        if isinstance(table, dict)
    }
