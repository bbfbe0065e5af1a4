"""The binding to Common Expression Language, loaded when the first condition is compiled.

`import cel` also imports the binding's own command line with the libraries for it (0.2 s). Only the extension module
is loaded here; where it isn't found beside the package, the package is imported after all.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import logging
import sys
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any


@lru_cache(maxsize=1)
def binding() -> ModuleType:
    """Return the module with `compile` and `Context`."""
    # A host function that can't say something raises, which is how "unknown" is told: nothing to warn about.
    logging.getLogger("cel").setLevel(logging.ERROR)
    if "cel" in sys.modules:
        return sys.modules["cel"]
    spec = importlib.util.find_spec("cel")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for ending in importlib.machinery.EXTENSION_SUFFIXES:
            path = Path(folder) / f"cel{ending}"
            if path.is_file():
                return _extension(path)
    return importlib.import_module("cel")


def _extension(path: Path) -> ModuleType:
    loader = importlib.machinery.ExtensionFileLoader("cel.cel", str(path))
    spec = importlib.util.spec_from_file_location("cel.cel", path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["cel.cel"] = module  # whoever imports the package after us gets this one: it can't be loaded twice
    loader.exec_module(module)
    return module


def compiled(expression: str) -> Any:
    """Return the binding's program for an expression. Raises ValueError where the binding refuses it."""
    return binding().compile(expression)
