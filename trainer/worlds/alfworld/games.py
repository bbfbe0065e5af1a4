"""Games in the real engine, step by step: for models, and for the household's executors through their GameBody."""

from __future__ import annotations

from collections.abc import Sequence

from core.curation.worlds import Step
from trainer.worlds.alfworld.engine_process import EngineProcess


class EngineGame:
    """A task that is open in an engine. Invariant: the engine plays this game until another is opened in it."""

    def __init__(self, engine: EngineProcess, game: object, limit: int) -> None:
        key = "path" if isinstance(game, str) else "game"
        seen = engine.ask("open", **{key: game})
        self._engine = engine
        self._limit = limit
        self._intro: str = seen["text"]
        self._admissible: tuple[str, ...] = tuple(seen["admissible"])
        self._won = bool(seen["won"])
        self.steps: list[Step] = []

    @property
    def intro(self) -> str:
        return self._intro

    @property
    def admissible(self) -> Sequence[str]:
        return self._admissible

    @property
    def done(self) -> bool:
        return self._won or len(self.steps) >= self._limit

    @property
    def won(self) -> bool:
        return self._won

    @property
    def score(self) -> float | None:
        return None

    def step(self, action: str) -> str:
        """Act in the engine. Raises EngineLostError where its process is gone."""
        if self.done:
            return "Nothing happens."
        seen = self._engine.ask("step", action=" ".join(action.lower().split()))
        self._won, self._admissible = bool(seen["won"]), tuple(seen["admissible"])
        self.steps.append(Step(action, seen["text"]))
        text: str = seen["text"]
        return text
