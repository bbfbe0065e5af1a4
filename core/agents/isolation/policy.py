"""What a confined process may touch. One object serves the kernel layer and the in-process file tools."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Network = Literal["none", "tcp-connect", "full"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Resource limits of one confined process tree."""

    memory_bytes: int = 2 << 30
    file_bytes: int = 1 << 30
    processes: int = 256
    open_files: int = 1024


@dataclass(frozen=True, slots=True)
class IsolationPolicy:
    """Allow-lists; what is not named is not there.

    Paths are absolute and resolved. `read` includes execution. `connect_ports` applies with tcp-connect.
    System directories (interpreter, /usr, /lib, a few files of /etc, /dev/null and friends) are added by the
    layer itself, never the home directory, /proc of others, /run, /var or /tmp.
    """

    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()
    network: Network = "none"
    connect_ports: tuple[int, ...] = ()
    limits: Limits = field(default_factory=Limits)

    def allows(self, path: Path, *, write: bool) -> bool:
        """Tell whether a file tool may touch `path`, judged by its real location (symlinks resolved)."""
        real = path.resolve()
        roots = self.write if write else (*self.read, *self.write)
        return any(real == root or real.is_relative_to(root) for root in roots)
