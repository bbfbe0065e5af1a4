"""The fixtures and a fingerprint of a tree, for tests of reading."""

from __future__ import annotations

import hashlib
from pathlib import Path

FIXTURES = Path(__file__).parent.parent / "fixtures"


def tree_hash(root: Path) -> str:
    """Return a digest over every name, mode, size, time and byte under `root`."""
    digest = hashlib.sha256()
    for path in sorted([root, *root.rglob("*")]):
        status = path.lstat()
        digest.update(
            f"{path.relative_to(root)}\0{status.st_mode:o}\0{status.st_size}\0{status.st_mtime_ns}\0".encode()
        )
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()
