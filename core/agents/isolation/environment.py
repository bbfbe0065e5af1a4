"""The environment of a command: an allow-list, so that nothing inherited can carry a key."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from core.agents.isolation import system_paths


def search_path() -> str:
    """Return PATH for a command: the interpreter's programs, then the system's."""
    own = system_paths.interpreter_prefix() / "bin"
    return ":".join(dict.fromkeys([str(own), "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"]))


def clean_environment(extra: Mapping[str, str], home: Path, tmp: Path) -> dict[str, str]:
    """Return the whole environment of a command: a few plain values, `home` and `tmp` as private places, then `extra`.

    Nothing comes from our own environment. Git finds a name to sign with and no settings of the machine or the user.
    """
    return {
        "PATH": search_path(),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "TERM": "dumb",
        "HOME": str(home),
        "TMPDIR": str(tmp),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local/share"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONNOUSERSITE": "1",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_AUTHOR_NAME": "agent",
        "GIT_AUTHOR_EMAIL": "agent@localhost",
        "GIT_COMMITTER_NAME": "agent",
        "GIT_COMMITTER_EMAIL": "agent@localhost",
        **extra,
    }
