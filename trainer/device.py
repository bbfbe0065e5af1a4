"""What the machine says while it trains: use and memory of the accelerator, else of this process."""

from __future__ import annotations

import contextlib
from typing import Any

import psutil
import torch

_PROCESS = psutil.Process()


def resolved(name: str) -> torch.device:
    """Return the device that `name` means: "auto" is cuda, else mps, else cpu."""
    if name != "auto":
        return torch.device(name)
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def reading(device: torch.device) -> dict[str, Any]:
    """Return kind, utilisation (share, None where nobody can tell), memory, CPU percent (100: one core) and RSS."""
    utilisation: float | None = None
    memory: int | None = None
    kind = device.type
    if device.type == "cuda":
        kind = torch.cuda.get_device_name(device)
        memory = torch.cuda.memory_allocated(device)
        # Needs NVML; a machine without it has no figure, and the run goes on.
        with contextlib.suppress(RuntimeError, ModuleNotFoundError, ImportError, AttributeError):
            utilisation = torch.cuda.utilization(device) / 100
    elif device.type == "mps":
        memory = torch.mps.current_allocated_memory()
    return {
        "kind": kind,
        "utilisation": utilisation,
        "memory_bytes": memory,
        "cpu_percent": _PROCESS.cpu_percent(),
        "rss_bytes": _PROCESS.memory_info().rss,
    }
