"""`exuvia doctor`: what this machine offers and lacks, with a fix for each finding."""

from __future__ import annotations

import importlib.util
import locale
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import click

from core import __version__
from core.foundation.errors import ExitCode
from core.state.paths import HomePaths
from tui.cli.common import Place, demo_hint, json_option, place_options, print_json, say

Level = Literal["ok", "note", "fault"]


@dataclass(frozen=True)
class Finding:
    """One thing looked at; `fix` says what to do where it is not ok."""

    subject: str
    level: Level
    found: str
    fix: str = ""


def _program() -> Iterator[Finding]:
    version = ".".join(str(part) for part in sys.version_info[:3])
    yield Finding("exuvia", "ok", f"{__version__} on Python {version}")


def _isolation() -> Iterator[Finding]:
    from core.agents.isolation.support import probe

    support = probe()
    abi = "none" if support.landlock_abi is None else f"ABI {support.landlock_abi}"
    found = (
        f"layer {support.layer}; Landlock {abi}, seccomp {support.seccomp}, user namespaces {support.user_namespaces}"
    )
    level: Level = "fault" if support.layer == "none" else "ok"
    yield Finding(
        "isolation", level, found, "See the findings below, or --allow-unisolated." if level == "fault" else ""
    )
    for finding in support.findings:
        yield Finding("isolation", "note", f"{finding.what}: {finding.cost}", finding.fix)


def _terminal() -> Iterator[Finding]:
    term = os.environ.get("TERM", "")
    if not sys.stdout.isatty():
        yield Finding("terminal", "note", "standard output is no terminal", "Run the console from a terminal.")
    elif term in {"", "dumb"}:
        yield Finding("terminal", "fault", f"TERM={term or '(unset)'}", "Set TERM, for example TERM=xterm-256color")
    else:
        size = shutil.get_terminal_size()
        small = size.columns < 80 or size.lines < 24
        fix = "Make it at least 80 x 24." if small else ""
        yield Finding("terminal", "note" if small else "ok", f"{term}, {size.columns} x {size.lines}", fix)
    encoding = locale.getpreferredencoding(do_setlocale=False)
    utf8 = encoding.lower().replace("-", "") == "utf8"
    yield Finding("locale", "ok" if utf8 else "note", encoding, "" if utf8 else "Set LANG=C.UTF-8 for full marks.")
    if os.environ.get("TMUX"):
        yield Finding("tmux", "note", "inside tmux", "For copying: tmux set -s set-clipboard on")
    if os.environ.get("SSH_CONNECTION"):
        yield Finding("ssh", "ok", "over SSH: the lean driver is used, animations and mouse are off")


def _home(place: Place) -> Iterator[Finding]:
    from core.state.generations import unsupported

    home = HomePaths(place.home)
    if not place.home.is_dir():
        yield Finding(
            "home",
            "note",
            f"{place.home} does not exist yet",
            f"It is made on first use: exuvia agent create. {demo_hint()}",
        )
        return
    writable = os.access(place.home, os.W_OK)
    projects = ", ".join(home.project_ids()) or "no project"
    fix = "" if writable else "Use another with --home, or mend its owner and mode."
    yield Finding("home", "ok" if writable else "fault", f"{place.home}: {projects}", fix)
    for text in unsupported(home):
        yield Finding("home", "note", text, "Read it with the program that wrote it, for now.")
    free = shutil.disk_usage(place.home).free
    low = free < 1 << 30
    yield Finding("disk", "note" if low else "ok", f"{free >> 20} MiB free", "Free some space." if low else "")


def _models(place: Place) -> Iterator[Finding]:
    from core.state.project import credential, read_project

    project = HomePaths(place.home).project(place.project_id)
    if not project.config.is_file():
        return
    mode = project.config.stat().st_mode & 0o777
    if mode & 0o077:
        yield Finding(
            "keys", "fault", f"{project.config} can be read by others ({mode:o})", f"chmod 600 {project.config}"
        )
    config = read_project(project)
    for diagnostic in config.diagnostics:
        yield Finding("project", "note", str(diagnostic), "Mend the file.")
    for model in config.models:
        pair = f"{model.ref.provider} / {model.ref.model_id}"
        if model.ref.provider == "rehearsal":
            yield Finding("model", "ok", f"{pair}: built in, offline")
        elif credential(project, model.ref.provider, model.ref.model_id) is None:
            yield Finding(
                "model", "note", f"{pair}: no key", "Set it in the project file or the environment to use it."
            )
        else:
            yield Finding("model", "ok", f"{pair}: key set, {'priced' if model.price else 'no price'}")


def _trainer() -> Iterator[Finding]:
    there = importlib.util.find_spec("torch") is not None
    yield Finding("torch", "ok" if there else "note", "installed" if there else "not installed",
                  "" if there else "Only training needs it: pip install 'exuvia[trainer]'")  # fmt: skip


@click.command(epilog="Example:  exuvia doctor --json")
@json_option
@place_options
def doctor(as_json: bool, place: Place) -> int:
    """Check program, isolation, terminal, home, models and torch; exit 1 if something must be mended."""
    findings = [*_program(), *_isolation(), *_terminal(), *_home(place), *_models(place), *_trainer()]
    if as_json:
        print_json({"findings": [finding.__dict__ for finding in findings]})
    else:
        for finding in findings:
            say(f"{finding.level:<6} {finding.subject:<10} {finding.found}")
            if finding.fix:
                say(f"{'':<17} -> {finding.fix}")
    faults = any(finding.level == "fault" for finding in findings)
    return int(ExitCode.FAILED if faults else ExitCode.DONE)
