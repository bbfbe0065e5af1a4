"""`python -P -m trainer COMMAND ...`: the processes that the command line and the console start (DECISIONS 25).

Each command is a module of `trainer.commands` with `main(argv) -> int`; only the chosen one is imported, so that a
command without a network never pays for torch.
"""

from __future__ import annotations

import sys
from importlib import import_module

COMMANDS = {
    "run": "trainer.commands.run",  # a training run, by its directory
    "check": "trainer.commands.check",  # whether a request can begin, before anything is made for it
    "presets": "trainer.commands.presets",  # what can be trained, every key with its value
    "stream": "trainer.commands.stream",  # a task stream, by its directory
    "curate": "trainer.commands.curate",  # answer curations for another process, a line of JSON each
    "export": "trainer.commands.export",
    "export-verl": "trainer.commands.export_verl",
    "transfer": "trainer.commands.transfer",
    "ablate": "trainer.commands.ablate",
    "arms": "trainer.commands.arms",
    "annotate": "trainer.commands.annotate",
}


def main(argv: list[str]) -> int:
    """Run one command and return its exit code."""
    if not argv or argv[0] not in COMMANDS:
        sys.stderr.write(f"usage: python -P -m trainer {{{','.join(COMMANDS)}}} ...\n")
        return 2
    command = import_module(COMMANDS[argv[0]]).main
    code: int = command(argv[1:])
    return code


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
