"""ALFWorld's own games by path: the folders that its download makes, `SPLIT/TASK/TRIAL/game.tw-pddl`."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

from core.curation.worlds import Split, Task
from core.foundation.errors import UsageError
from trainer.worlds.alfworld.problem import GOALS

FOLDERS: dict[Split, tuple[str, ...]] = {"train": ("train",), "test": ("valid_seen", "valid_unseen")}
_TASK = re.compile(r"Your task is to: (?P<text>[^\"\\]+?)\.?\"")
_FAMILY = {name: family for family, name in GOALS.items()}


def _text(path: Path) -> str:
    """Return the task's sentence. Raises UsageError where the file is no game of ALFWorld's."""
    try:
        game = json.loads(path.read_text("utf-8"))
        return _TASK.search(game["grammar"])["text"]  # type: ignore[index]  # no match is caught as TypeError
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{path} is not a game of ALFWorld's: {error}.", hint="Point to the folder json_2.1.1 of its download."
        ) from error


def find(root: Path, split: Split) -> dict[str, tuple[Path, ...]]:
    """Return family -> its games, sorted. Raises UsageError where the split has none, saying where it looked."""
    folders = [root / name for name in FOLDERS[split]]
    found: dict[str, list[Path]] = {}
    for folder in folders:
        for path in sorted(folder.glob("*/*/game.tw-pddl")):
            family = _FAMILY.get(path.parent.parent.name.partition("-")[0])
            if family is not None:
                found.setdefault(family, []).append(path)
    if not found:
        looked = ", ".join(f"{folder}/*/*/game.tw-pddl" for folder in folders)
        raise UsageError(
            f"There are no games of ALFWorld's for {split}: looked at {looked}.",
            hint="`alfworld-download` makes the folder json_2.1.1; give its path.",
        )
    return {family: tuple(paths) for family, paths in found.items()}


def _task(family: str, split: Split, path: Path, root: Path, seed: int) -> Task:
    name = path.parent.relative_to(root).as_posix()
    return Task(f"alfworld-{name}", family, _text(path), split, seed, None, {"path": str(path)})


def stream(root: Path, split: Split, seed: int, count: int | None) -> tuple[Task, ...]:
    """Return the split's games in a drawn order, all of them or the first `count`."""
    draw = random.Random(f"alfworld files {split} {seed}")
    entries = [(family, path) for family, paths in find(root, split).items() for path in paths]
    draw.shuffle(entries)
    if count is not None and count > len(entries):
        raise UsageError(f"{root} has {len(entries)} games for {split}, {count} were asked for.")
    return tuple(_task(family, split, path, root, draw.getrandbits(32)) for family, path in entries[:count])


def group(root: Path, split: Split, seed: int, count: int, family: str | None) -> tuple[Task, ...]:
    """Return games of one family, none twice as long as there are enough."""
    draw = random.Random(f"alfworld files group {split} {seed}")
    found = find(root, split)
    chosen = draw.choice(sorted(found)) if family is None else family
    if chosen not in found:
        raise UsageError(f"{root} has no games of the family {chosen!r} for {split}.")
    paths = list(found[chosen])
    drawn = draw.sample(paths, min(count, len(paths)))
    drawn += [draw.choice(paths) for _ in range(count - len(drawn))]
    return tuple(_task(chosen, split, path, root, draw.getrandbits(32)) for path in drawn)
