"""The machine: the program and its parts, confinement by the kernel, and what training would need."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from importlib import metadata

from core import __version__
from tui.cli.doctor.findings import Finding, World

_OLDEST = (3, 11, 4)
_PARTS = ("textual", "rich", "click", "pydantic", "httpx", "watchfiles", "ruamel.yaml", "tomlkit")


def program() -> Iterator[Finding]:
    """Say which versions run."""
    python = ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info[:3] < _OLDEST:
        yield Finding("exuvia", "bad", f"{__version__} on Python {python}", "Use Python 3.11.4 or newer.")
    else:
        yield Finding("exuvia", "ok", f"{__version__} on Python {python}")
    there = {name: version for name in _PARTS if (version := _version(name)) is not None}
    yield Finding("packages", "ok", ", ".join(f"{name} {version}" for name, version in there.items()))
    if "textual" not in there:
        yield Finding("packages", "bad", "textual is missing: no console", "Install exuvia anew: pip install exuvia")


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def isolation() -> Iterator[Finding]:
    """Say what an agent is confined by."""
    from core.agents.isolation.support import probe

    support = probe()
    abi = "none" if support.landlock_abi is None else f"ABI {support.landlock_abi}"
    found = (
        f"layer {support.layer}; Landlock {abi}, seccomp {support.seccomp}, user namespaces {support.user_namespaces}"
    )
    if support.layer == "none":
        yield Finding("isolation", "bad", found, "See the findings below, or say --allow-unisolated.")
    else:
        yield Finding("isolation", "ok", found)
    for finding in support.findings:
        yield Finding("isolation", "warn", f"{finding.what}: {finding.cost}", finding.fix)


def settings() -> Iterator[Finding]:
    """Say what of the operator's own settings file cannot be used."""
    from tui.settings import check

    path, problems = check()
    for problem in problems:
        yield Finding("settings", "warn", f"{path}: {problem}", "Mend the line; the default is used until then.")
    if not problems:
        yield Finding("settings", "ok", f"{path}{'' if path.exists() else ' (not there: all defaults)'}")


def training(world: World) -> Iterator[Finding]:
    """Say whether a curator could be trained here; torch is looked for and not loaded."""
    if importlib.util.find_spec("torch") is None:
        yield Finding("torch", "ok", "not installed", "Only training needs it: pip install 'exuvia[trainer]'")
    else:
        yield Finding("torch", "ok", _version("torch") or "installed")
    told = world.answer(["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"])
    cards = [line.strip() for line in (told or "").splitlines() if line.strip()]
    for card in cards:
        yield Finding("gpu", "ok", card)
    if not cards:
        yield Finding("gpu", "ok", "none that nvidia-smi tells of: training would use the CPU")
