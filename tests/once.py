"""What several workers need and is dear to make: made by the first that asks, in a place that all of them see."""

from __future__ import annotations

import fcntl
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

Made = TypeVar("Made")


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], Made]) -> Made:
    """Return what `make` returned for a directory of its own, in whichever worker of this run it was called first.

    The other workers wait for it and get a copy (it is pickled), so nobody may change what lies in the directory.
    Where `make` raises, whoever asks next tries again.
    """
    base = factory.getbasetemp()
    place = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / f"once-{name}"
    place.mkdir(exist_ok=True)
    kept = place / "made.pickle"
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if kept.exists():
            found: Made = pickle.loads(kept.read_bytes())  # written below, by this very run
            return found
        tries = len(list(place.iterdir()))
        directory = place / f"try-{tries}"
        directory.mkdir()
        made = make(directory)
        kept.write_bytes(pickle.dumps(made))
        return made
