"""What this machine can confine with, and what to do about what it lacks (`exuvia doctor` shows it)."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from core.agents.isolation import landlock, seccomp, syscalls, system_paths

Layer = Literal["landlock", "namespaces", "bubblewrap", "none"]

MINIMUM_ABI = 1
"""With namespaces, which guard by mounts what older Landlock does not know."""
MINIMUM_ABI_ALONE = 3
"""Without namespaces: below it truncate(2) would reach files outside the allow-list."""
MINIMUM_ABI_PORTS = 4
"""For a policy that lets a process connect to given TCP ports."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is missing: what it is, what it costs, and how to mend it."""

    what: str
    cost: str
    fix: str


@dataclass(frozen=True, slots=True)
class Support:
    """The means of this machine. `layer` is what a command is confined by; `findings` says what is missing."""

    landlock_abi: int | None
    seccomp: bool
    user_namespaces: bool
    bubblewrap: Path | None
    layer: Layer
    findings: tuple[Finding, ...] = ()

    @property
    def reasons(self) -> tuple[str, ...]:
        """One line for each finding."""
        return tuple(f"{f.what}: {f.cost}. {f.fix}" for f in self.findings)


def judge(
    landlock_abi: int | None, *, has_seccomp: bool, namespaces: bool, bubblewrap: Path | None, why: str = "", root: bool
) -> Support:
    """Choose the layer for given means, and name what they lack (pure)."""
    findings: list[Finding] = []
    enough = landlock_abi is not None and landlock_abi >= (MINIMUM_ABI if namespaces else MINIMUM_ABI_ALONE)
    if landlock_abi is None:
        findings.append(Finding("no Landlock", "a run needs bubblewrap, or --allow-unisolated",
                                "Use Linux 5.13 or newer with `landlock` in the kernel's lsm= list."))  # fmt: skip
    elif not enough:
        findings.append(Finding(f"Landlock ABI {landlock_abi} without user namespaces", "files could be truncated",
                                "Use Linux 6.2 or newer, or allow user namespaces."))  # fmt: skip
    elif landlock_abi < MINIMUM_ABI_PORTS:
        findings.append(Finding(f"Landlock ABI {landlock_abi}", "a Target that needs a model provider over the network "
                                "cannot be held to its port and is refused", "Use Linux 6.7 or newer."))  # fmt: skip
    if enough and landlock_abi is not None and landlock_abi < 6 and not namespaces:
        findings.append(Finding(f"Landlock ABI {landlock_abi} without user namespaces",
                                "a command could signal other processes of the same user",
                                "Use Linux 6.12 or newer, or allow user namespaces."))  # fmt: skip
    if not namespaces:
        findings.append(Finding("no user namespaces" + (f" ({why})" if why else ""),
                                "commands may not change modes, owners or times by path, but may do so on files "
                                "they can read and own; they can see (not read) what exists elsewhere, and are cleaned "
                                "up by search instead of all at once",
                                "Allow them: sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone=1, "
                                "kernel.apparmor_restrict_unprivileged_userns=0."))  # fmt: skip
    if not has_seccomp:
        findings.append(Finding("no seccomp filter", "sockets cannot be refused",
                                "Use a kernel with CONFIG_SECCOMP_FILTER on x86_64 or aarch64."))  # fmt: skip
    if root:
        findings.append(Finding("running as root", "the kernel exempts root from the limit on processes",
                                "Run as an ordinary user."))  # fmt: skip
    layer: Layer = "landlock" if enough and has_seccomp else "bubblewrap" if bubblewrap else "none"
    return Support(landlock_abi, has_seccomp, namespaces, bubblewrap, layer, tuple(findings))


@cache
def probe() -> Support:
    """Find out by trying (once a process; about 30 ms)."""
    import os

    if sys.platform != "linux" or not syscalls.supported():
        found = shutil.which("bwrap") if sys.platform == "linux" else None
        works = Path(found) if found and _works([found, "--unshare-all", "--ro-bind", "/", "/", "true"]) else None
        return judge(None, has_seccomp=False, namespaces=False, bubblewrap=works, root=os.geteuid() == 0)
    why = try_namespaces()
    found = shutil.which("bwrap")
    return judge(
        landlock.abi(),
        has_seccomp=seccomp.available(),
        namespaces=not why,
        bubblewrap=Path(found) if found else None,
        why=why,
        root=os.geteuid() == 0,
    )


def _works(argv: list[str]) -> bool:
    return subprocess.run(argv, check=False, capture_output=True, stdin=subprocess.DEVNULL).returncode == 0


def try_namespaces() -> str:
    """Build a root of its own in a throw-away process; return why that failed, or nothing."""
    program = (
        f"import sys; sys.path.insert(0, {str(system_paths.CODE_ROOT)!r}); "
        "from core.agents.isolation.keeper import probe; probe()"
    )
    done = subprocess.run(
        [system_paths.interpreter(), "-I", "-S", "-c", program],
        check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=20,
    )  # fmt: skip
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["it failed without a word"])[-1]
