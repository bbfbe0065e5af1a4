"""`python -P -m trainer presets [NAME] [--json]`: the presets, every key with its value."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from core.foundation import strict_json
from core.foundation.errors import ExuviaError
from core.foundation.visible import visible_line
from trainer.presets import PRESETS, resolve, resolved_lines
from trainer.settings import table


def main(argv: list[str]) -> int:
    """Print them and return the exit code."""
    parser = argparse.ArgumentParser("python -P -m trainer presets")
    parser.add_argument("name", nargs="?", help="only this one, as the lines that a run begins with")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    arguments = parser.parse_args(argv)
    try:
        names = [arguments.name] if arguments.name else list(PRESETS)
        resolved = {name: resolve(name) for name in names}
    except ExuviaError as error:
        sys.stderr.write(f"{visible_line(str(error))} {visible_line(error.hint)}\n")
        return int(error.exit_code)
    if arguments.json:
        documents: list[dict[str, Any]] = [
            {
                "name": name,
                "says": PRESETS[name].summary,
                "needs": PRESETS[name].needs,
                "settings": table(training),
            }
            for name, training in resolved.items()
        ]
        sys.stdout.write(strict_json.dumps({"presets": documents}, indent=1) + "\n")
    elif arguments.name:
        sys.stdout.write("\n".join(resolved_lines(resolved[arguments.name])) + "\n")
    else:
        for name, preset in PRESETS.items():
            sys.stdout.write(f"{name}: {preset.summary}" + (f" Needs {preset.needs}." * bool(preset.needs)) + "\n")
    return 0
