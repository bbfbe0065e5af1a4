"""The process that holds the real ALFWorld engine; run by its path, by an interpreter that has `alfworld`.

It knows nothing of this project, so that the engine's packages can live in an environment of their own. One line of
JSON in, one out: {"do": "facts"}, {"do": "open", "game": {...} or "path": "..."}, {"do": "step", "action": "..."},
{"do": "plan"}. What the engine itself prints goes to stderr. An error is answered as {"error": "..."}.

The engine parses the same few texts of its grammar again at every step and translates a problem twice for each game;
unless it is started with --plain, what was parsed is remembered. The answers are the same, byte for byte.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any


def _root() -> Path:
    spec = importlib.util.find_spec("alfworld")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("alfworld is not installed for " + sys.executable)
    return Path(next(iter(spec.submodule_search_locations)))


def _module(path: Path) -> Any:
    """Load a file of the wheel by its path: importing its package would pull in a simulator and torch."""
    spec = importlib.util.spec_from_file_location("alfworld_" + path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _plans(layouts: Path) -> dict[str, dict[str, list[str]]]:
    """Return floor plan -> what it holds: each receptacle's kind once an instance, and the kinds of objects."""
    plans = {}
    for path in sorted(layouts.glob("FloorPlan*-openable.json")):
        name = path.name.removesuffix("-openable.json").removeprefix("FloorPlan")
        objects = json.loads((layouts / f"FloorPlan{name}-objects.json").read_text("utf-8"))
        ids = [key.split("|") for key in json.loads(path.read_text("utf-8"))]
        places = [parts[-1] if parts[-1].endswith("Basin") else parts[0] for parts in ids]
        plans[name] = {"places": sorted(places), "objects": sorted(objects)}
    return plans


def facts() -> dict[str, Any]:
    """Return what the wheel carries: the domain, its grammar, goals, affordances and floor plans."""
    root = _root()
    constants, goals = _module(root / "gen" / "constants.py"), _module(root / "gen" / "goal_library.py").gdict
    return {
        "version": _module(root / "info.py").__version__ if (root / "info.py").is_file() else "",
        "domain": (root / "data" / "alfred.pddl").read_text("utf-8"),
        "grammar": (root / "data" / "alfred.twl2").read_text("utf-8"),
        "goals": {name: {"pddl": goal["pddl"], "templates": goal["templates"]} for name, goal in goals.items()},
        "holds": {place: sorted(objects) for place, objects in constants.VAL_RECEPTACLE_OBJECTS.items()},
        "can": {action: sorted(objects) for action, objects in constants.VAL_ACTION_OBJECTS.items()},
        "openable": list(constants.OPENABLE_CLASS_LIST),
        "kinds": sorted(constants.OBJECTS),
        "plans": _plans(root / "gen" / "layouts"),
    }


def remember_parses() -> None:
    """Keep what the engine's pure parsers gave for a text, and don't copy deeply what a derivation only reads."""
    import fast_downward
    from textworld.envs.pddl import textgen
    from textworld.logic import Rule

    def copied(context: dict[str, Any]) -> dict[str, Any]:
        return {**context, "variables": dict(context["variables"]), "mapping": dict(context["mapping"])}

    textgen.copy_context = copied
    textgen._PARSER.parse = lru_cache(maxsize=4_096)(textgen._PARSER.parse)
    Rule.parse_conjunctive_query = lru_cache(maxsize=4_096)(Rule.parse_conjunctive_query)
    fast_downward.pddl2sas = lru_cache(maxsize=4)(fast_downward.pddl2sas)


class Engine:
    """One game at a time. Invariant: `state` belongs to the game that was opened last."""

    def __init__(self, plain: bool = False) -> None:
        import textworld
        from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
        from textworld.envs.pddl import PddlEnv

        if not plain:
            remember_parses()
        wanted = textworld.EnvInfos(admissible_commands=True, won=True, feedback=True)
        self.env: Any = AlfredDemangler(PddlEnv(wanted))
        self.state: Any = None

    def open(self, game: dict[str, Any]) -> dict[str, Any]:
        self.env.load(game)
        self.state = self.env.reset()
        return self.seen()

    def step(self, action: str) -> dict[str, Any]:
        self.state, _, _ = self.env.step(action)
        return self.seen()

    def plan(self) -> dict[str, Any]:
        """Return the bundled planner's way to the goal from here; empty where it finds none."""
        engine = self.env.unwrapped
        return {"plan": [command.strip() for command in engine._pddl_state.replan(engine._entity_infos)]}

    def seen(self) -> dict[str, Any]:
        return {
            "text": self.state.feedback.strip(),
            "admissible": [" ".join(command.split()) for command in self.state.admissible_commands],
            "won": bool(self.state.won),
        }


def answer(engine: Engine | None, asked: dict[str, Any]) -> tuple[Engine | None, dict[str, Any]]:
    """Do what is asked; the engine is made at the first game."""
    if asked["do"] == "facts":
        return engine, facts()
    engine = engine or Engine(plain="--plain" in sys.argv)
    if asked["do"] == "open":
        game = asked.get("game") or json.loads(Path(asked["path"]).read_text("utf-8"))
        return engine, engine.open(game)
    return engine, engine.plan() if asked["do"] == "plan" else engine.step(asked["action"])


def main() -> None:
    """Answer until the pipe closes."""
    with tempfile.TemporaryDirectory(prefix="alfworld-") as scratch:
        os.environ["ALFWORLD_DATA"] = scratch  # importing alfworld makes this directory; it is never filled
        out = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        engine: Engine | None = None
        for line in sys.stdin:
            try:
                engine, said = answer(engine, json.loads(line))
            except Exception as error:
                said = {"error": f"{type(error).__name__}: {error}"}
            out.write(json.dumps(said) + "\n")
            out.flush()


if __name__ == "__main__":
    main()
