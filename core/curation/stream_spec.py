"""What a stream run is asked to do: every setting, resolved, as it stands in `spec.json` (K6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from core.curation.arms import NAMES
from core.curation.fields import Fields
from core.curation.memories import Retrieval
from core.curation.react import HISTORY, MAX_TURNS
from core.curation.worlds import Split
from core.foundation import strict_json
from core.foundation.errors import DamagedError, NotFoundError, UsageError
from core.models.route import REHEARSAL
from core.state import atomic

Order = Literal["mixed", "grouped"]
GROUP = 10
"""Tasks of a grouped stream where nobody says another number: |G| of Table 4."""


@dataclass(frozen=True, slots=True)
class StreamSpec:
    """A stream run.

    `seeds` draw one stream each, whose memory begins empty; `tasks` is their length, None for the world's own. `order`
    is a mixed stream of all families or one group of one family a seed. `judge` is whose opinion of an attempt the
    curator sees: "self", "world" [amb], or PROVIDER/MODEL; `content_judge` is "rules", "off" or PROVIDER/MODEL.
    `model` prompts, distils and writes for the arms that need one. `curator` and `base` are paths of policies;
    `temperature` None is the policy's own. `seed` is what sampling curators and models draw by. `native` gives a
    prompted model its tools beside the prompt; `extra` offers merge, split and link. `parallel` bounds requests to
    one model at a time, `max_tokens` and `max_usd` what all models of the run may spend.
    """

    world: str
    arms: tuple[str, ...] = ("none",)
    seeds: tuple[int, ...] = (1, 2, 3)
    tasks: int | None = None
    split: Split = "test"
    order: Order = "mixed"
    family: str | None = None
    executor: str = ""
    top_k: int = 5
    min_overlap: float = 0.0
    max_turns: int = MAX_TURNS
    history: int = HISTORY
    judge: str = "self"
    content_judge: str = "rules"
    model: str | None = None
    curator: str | None = None
    base: str | None = None
    temperature: float | None = None
    seed: int = 0
    native: bool = True
    extra: bool = False
    parallel: int = 8
    max_tokens: int | None = None
    max_usd: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def retrieval(self) -> Retrieval:
        return Retrieval(self.top_k, self.min_overlap)

    @property
    def paid_models(self) -> tuple[str, ...]:
        """The models that the run asks, but for the rehearsal ones, which cost nothing."""
        named = (self.executor, self.judge, self.content_judge, self.model or "")
        asked = [name for name in named if "/" in name and name.partition("/")[0] != REHEARSAL]
        return tuple(dict.fromkeys(asked))

    def checked(self) -> StreamSpec:
        """Return it with `none` first and the arms in their order. Raises UsageError for what cannot be."""
        unknown = next((name for name in self.arms if name not in NAMES), None)
        if unknown is not None:
            raise UsageError(f"There is no arm {unknown!r}.", hint=f"Arms: {', '.join(NAMES)}.")
        if not self.seeds or len(set(self.seeds)) < len(self.seeds) or min(self.seeds) < 0:
            raise UsageError("A stream run needs one seed or more, each of them once, none below 0.")
        _least("tasks", self.tasks, 1)
        _least("top_k", self.top_k, 1)
        _least("max_turns", self.max_turns, 1)
        _least("history", self.history, 0)
        _least("parallel", self.parallel, 1)
        _least("max_tokens", self.max_tokens, 1)
        if self.paid_models and self.max_tokens is None and self.max_usd is None:
            raise UsageError(
                f"{self.paid_models[0]} is a real model and the run has no budget.",
                hint="Say --max-cost USD, or --max-tokens N where no price is configured.",
            )
        if not 0 <= self.min_overlap <= 1:
            raise UsageError("min_overlap is a share from 0 to 1.", hint="0.51 means: most of a title's words.")
        if self.temperature is not None and not 0 < self.temperature <= 10:
            raise UsageError("A temperature is above 0.")
        wanted = {"none", *self.arms}  # the control is measured again beside every arm (lesson 9)
        return replace(self, arms=tuple(name for name in NAMES if name in wanted))


def spec_json(spec: StreamSpec) -> dict[str, Any]:
    return {**asdict(spec), "arms": list(spec.arms), "seeds": list(spec.seeds), "options": dict(spec.options)}


def read_spec(document: Mapping[str, Any]) -> StreamSpec:
    """Return the spec in a JSON object. Raises ValueError naming the field."""
    at = Fields(document)
    order, split = at.text("order", "mixed"), at.text("split", "test")
    if order not in ("mixed", "grouped"):
        raise ValueError(f"order: {order[:40]!r} is neither mixed nor grouped")
    if split not in ("train", "test"):
        raise ValueError(f"split: {split[:40]!r} is neither train nor test")
    seeds = at.items("seeds")
    if not all(isinstance(seed, int) and not isinstance(seed, bool) for seed in seeds):
        raise ValueError("seeds: not all of them are whole numbers")
    none = StreamSpec("")
    return StreamSpec(
        world=at.text("world"),
        arms=at.texts("arms"),
        seeds=seeds,
        tasks=at.count("tasks"),
        split="train" if split == "train" else "test",
        order="grouped" if order == "grouped" else "mixed",
        family=_text_or_none(at, "family"),
        executor=at.text("executor", ""),
        top_k=_default(at.count("top_k"), none.top_k),
        min_overlap=_default(at.share("min_overlap"), none.min_overlap),
        max_turns=_default(at.count("max_turns"), none.max_turns),
        history=_default(at.count("history"), none.history),
        judge=at.text("judge", none.judge),
        content_judge=at.text("content_judge", none.content_judge),
        model=_text_or_none(at, "model"),
        curator=_text_or_none(at, "curator"),
        base=_text_or_none(at, "base"),
        temperature=at.number("temperature"),
        seed=_default(at.count("seed"), none.seed),
        native=_default(at.flag("native"), none.native),
        extra=_default(at.flag("extra"), none.extra),
        parallel=_default(at.count("parallel"), none.parallel),
        max_tokens=at.count("max_tokens"),
        max_usd=at.amount("max_usd"),
        options=at.mapping("options"),
    ).checked()


def write_spec(path: Path, spec: StreamSpec) -> None:
    atomic.write_text(path, strict_json.dumps(spec_json(spec), indent=1) + "\n")


def load_spec(path: Path) -> StreamSpec:
    """Return the spec in a file. Raises NotFoundError, or DamagedError where it can't be read."""
    try:
        document = strict_json.parse(path.read_bytes())
        if not isinstance(document, dict):
            raise ValueError("not a JSON object")
        return read_spec(document)
    except FileNotFoundError as error:
        raise NotFoundError(
            f"There is no stream run at {path.parent}.", hint="List them: exuvia stream list"
        ) from error
    except (OSError, ValueError, UsageError) as error:
        raise DamagedError(f"{path} cannot be read: {error}", hint="Start the run again.") from error


def _least(name: str, value: int | None, least: int) -> None:
    if value is not None and value < least:
        raise UsageError(f"{name} is {value}; at least {least}.")


def _text_or_none(at: Fields, name: str) -> str | None:
    return at.text(name) if at.has(name) else None


def _default(value: Any, default: Any) -> Any:
    return default if value is None else value
