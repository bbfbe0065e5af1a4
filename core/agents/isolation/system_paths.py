"""Which parts of the system every confined process may read: programs, libraries, the interpreter, a little of /etc.

Never the home directory, /proc of others, /run, /var, /tmp, /sys, nor the built-in benchmarks, wherever an
installation put them: they hold rubrics.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

from core.agents.isolation import landlock

CODE_ROOT = Path(__file__).resolve().parents[3]
"""Where the package `core` lies: a checkout, or site-packages."""

_PROGRAMS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SETTINGS = (
    "alternatives", "debian_version", "fonts", "group", "host.conf", "ld.so.cache", "ld.so.conf", "ld.so.conf.d",
    "locale.alias", "localtime", "magic", "magic.mime", "mime.types", "nsswitch.conf", "os-release", "passwd", "perl",
    "protocols", "python3", f"python3.{sys.version_info.minor}", "services", "terminfo", "timezone",
)  # fmt: skip
_NETWORK_SETTINGS = (
    "hosts", "resolv.conf", "gai.conf", "ssl/certs", "ssl/openssl.cnf", "ssl/cert.pem", "pki/tls/certs",
    "pki/tls/cert.pem", "pki/tls/openssl.cnf", "pki/ca-trust/extracted", "crypto-policies", "ca-certificates",
)  # fmt: skip
DEVICES = ("/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero")


def interpreter_prefix() -> Path:
    """Return the installation that the running Python belongs to, under whatever virtual environment."""
    return Path(sys.base_prefix).resolve()


def interpreter() -> str:
    """Return the real interpreter, free of a virtual environment."""
    return str(Path(getattr(sys, "_base_executable", sys.executable)).resolve())


def hidden() -> tuple[Path, ...]:
    """Return what stays out of sight although it may lie inside a readable system folder."""
    return (CODE_ROOT / "benchmarks",)


@cache
def readable(*, engine: bool) -> tuple[Path, ...]:
    """Return the paths a confined process reads (as they are named, links included).

    engine: what our own process needs on top: its code and packages, and what TLS and name service read.
    """
    named = [Path(p) for p in _PROGRAMS] + [Path("/etc", name) for name in _SETTINGS]
    if not any(interpreter_prefix().is_relative_to(p) for p in ("/usr", "/lib")):
        named.append(interpreter_prefix())
    if engine:
        named += [Path("/etc", name) for name in _NETWORK_SETTINGS]
        named += [CODE_ROOT / name for name in ("core", "skills")]
        named += [Path(p) for p in sys.path if p and "packages" in Path(p).name]
        named += [Path(sys.prefix, "pyvenv.cfg"), Path(sys.prefix, "bin")]
    return tuple(dict.fromkeys(p for p in named if p.exists()))


def carve(root: Path, out: Path) -> list[tuple[Path, int]]:
    """Return Landlock rules that open `root` for reading save for the folder `out` inside it.

    Names along the way can be listed, contents of `out` cannot be read.
    """
    rules = [(root, landlock.LIST)]
    step = root
    for part in out.relative_to(root).parts:
        rules += [(entry, landlock.READ) for entry in sorted(step.iterdir()) if entry.name != part]
        step /= part
    return rules
