"""What doesn't compute with torch imports without it: worlds, grouping, rewards, settings (DECISIONS 25)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import trainer.grouping
import trainer.worlds

BLOCKED = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "transformers", "textual", "rich", "click", "plotext"):
            raise ImportError(f"{name} is not for this module")
sys.meta_path.insert(0, Refuse())
"""
NEEDS_TORCH = {"trainer.grouping.minilm"}
STANDS_ALONE = {"trainer.worlds.alfworld.engine"}  # run by its path, in another environment


def modules(package: str, folder: Path) -> list[str]:
    found = []
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        found.append(".".join([package, *(part for part in parts if part != "__init__")]))
    return found


def test_worlds_and_grouping_import_without_torch_or_a_terminal() -> None:
    wanted = ["trainer.presets", "trainer.rewards", "trainer.settings", "trainer.commands.annotate"]
    for package in (trainer.worlds, trainer.grouping):
        assert package.__file__ is not None
        wanted += modules(package.__name__, Path(package.__file__).parent)
    program = BLOCKED + "".join(f"import {name}\n" for name in wanted if name not in NEEDS_TORCH | STANDS_ALONE)
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(wanted) > 40


def test_the_engines_process_imports_nothing_of_ours() -> None:
    text = (Path(trainer.worlds.__file__ or "").parent / "alfworld" / "engine.py").read_text("utf-8")
    assert "from trainer" not in text
    assert "from core" not in text
