"""What the machine says while it trains: use and memory of the accelerator, else of this process."""

from __future__ import annotations

import contextlib
from typing import Any

import psutil
import torch

_PROCESS = psutil.Process()


def reading(device: torch.device) -> dict[str, Any]:
    """Return kind, utilisation (share, None where nobody can tell), memory, CPU percent (100: one core) and RSS."""
    utilisation: float | None = None
    memory: int | None = None
    kind = device.type
    if device.type == "cuda":
        kind = torch.cuda.get_device_name(device)
        memory = torch.cuda.memory_allocated(device)
        # Needs NVML, whose own error is a plain Exception (a part of a GPU has no utilisation, a container may forbid
        # asking); where nobody can tell there is no figure, and the run goes on.
        with contextlib.suppress(Exception):
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
