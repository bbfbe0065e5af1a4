"""What a reader noticed and went on without: shown to the operator, never swallowed (EVOLUTION Appendix C no. 2)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Diagnostic:
    """Something off in a file. `line` counts from 1; 0 where no line is to blame."""

    path: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}" if self.line else f"{self.path}: {self.text}"
