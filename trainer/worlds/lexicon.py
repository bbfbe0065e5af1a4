"""What a world lends to the tiny phrase policy: words, whole sentences and ways to see its texts as tokens.

The tiny policy writes tokens that render to literal text; what it writes is a SKILL.md like anybody else's, and the
world's executor reads its words. Nothing here gives a policy a way round the text (CURATION 2c).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module

from core.curation.worlds import Episode, Task
from core.foundation.errors import UsageError
from core.skillrepo.skill import Skill
from trainer.worlds import WORLDS


@dataclass(frozen=True)
class Lexicon:
    """A world's phrases. Every token has one meaning: no two of the groups share a name.

    `words` may stand in titles; `lines` are instructions, `fillers` useless text (a heading and a sentence), both by
    key and literal; `things` are instance names (objects, places), which may stand in titles and render to `thing_line`
    with their name in a body; `actions` occur in trajectories only. The three functions see the world's texts as tokens
    of this lexicon and leave out what has none; `skill_tokens` gives (title words, keys of the body in order) and
    understands any wording that the executor understands.
    """

    words: tuple[str, ...]
    lines: Mapping[str, str]
    fillers: Mapping[str, str]
    things: tuple[str, ...]
    actions: tuple[str, ...]
    thing_line: str
    task_tokens: Callable[[Task], tuple[str, ...]]
    trajectory_tokens: Callable[[Episode], tuple[str, ...]]
    skill_tokens: Callable[[Skill], tuple[tuple[str, ...], tuple[str, ...]]]

    def __post_init__(self) -> None:
        if len(set(self.tokens)) != len(self.tokens):
            twice = sorted({token for token in self.tokens if self.tokens.count(token) > 1})
            raise ValueError(f"tokens of two meanings: {', '.join(twice)}")

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """All tokens, in a fixed order: a vocabulary may be built of them."""
        return (*self.words, *self.lines, *self.fillers, *self.things, *self.actions)

    def sentence(self, token: str) -> str:
        """Return the literal text that a token stands for in a body. Raises KeyError where it has none there."""
        if token in self.lines:
            return self.lines[token]
        if token in self.fillers:
            return self.fillers[token]
        if token in self.things:
            return self.thing_line.format(thing=token)
        raise KeyError(token)


def lexicon_of(world: str) -> Lexicon:
    """Return the lexicon of a world by its name. Raises UsageError where it has none: only `hf` policies fit then."""
    module = import_module(WORLDS[world]) if world in WORLDS else None
    make = getattr(module, "lexicon", None)
    if make is None:
        raise UsageError(
            f"The world {world!r} lends no phrases, so a tiny policy cannot write for it.",
            hint="Train an hf policy there, or a tiny one on household or shop.",
        )
    lexicon: Lexicon = make()
    return lexicon
