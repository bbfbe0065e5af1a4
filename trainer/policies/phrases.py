"""The phrase book of the tiny policy: tokens that render to literal text, and the world's texts as tokens.

A 0.6 M parameter model can't learn to spell in minutes, but it can learn what to say. Its tokens are a world's words
and sentences (trainer.worlds.lexicon) and a few of its own: INSERT, UPDATE, DELETE, `|` between title and body, END,
and `$1` to `$5`, which stand for the exact titles of the retrieved skills. An answer renders to `<tool_call>` blocks
with a whole SKILL.md each, or to broken text where the tokens make no call; `core.skillrepo` reads both like anybody
else's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core.curation.curators import CurationInput
from core.skillrepo import calls, operations
from core.skillrepo.skill import Skill
from core.state.yaml_text import scalar
from trainer.worlds.lexicon import Lexicon

PAD, BOS, EOS, ASK = "<pad>", "<bos>", "<eos>", "<ask>"
OK, FAIL, UNJUDGED, TRAJECTORY = "<ok>", "<fail>", "<unjudged>", "<trajectory>"
OPERATIONS = {"INSERT": operations.INSERT, "UPDATE": operations.UPDATE, "DELETE": operations.DELETE}
BODY, END = "|", "END"
POINTERS = ("$1", "$2", "$3", "$4", "$5")
SPECIAL = (PAD, BOS, EOS, ASK, OK, FAIL, UNJUDGED, TRAJECTORY, *OPERATIONS, BODY, END, *POINTERS)

_HEAD, _TAIL = 4, 20  # tokens of a long trajectory that are kept: how it began, and how it ended
_SKILL_EXTRA = 3  # tokens around a skill in a prompt: its pointer, the bar, its end


@dataclass
class Draft:
    """A call being written: its operation, the title's tokens, the body's (None before the bar), whether it ended."""

    operation: str
    title: list[str]
    body: list[str] | None = None
    ended: bool = False


class PhraseBook:
    """Tokens of one world, by name and by number. The numbers depend on the lexicon alone."""

    def __init__(self, world: str, lexicon: Lexicon) -> None:
        self.world = world
        self.lexicon = lexicon
        self.tokens = (*SPECIAL, *lexicon.tokens)
        self.ids = {token: number for number, token in enumerate(self.tokens)}
        if len(self.ids) != len(self.tokens):
            raise ValueError("a word of the lexicon is a special token")
        self.pad, self.eos = self.ids[PAD], self.ids[EOS]
        self._titled = frozenset((*lexicon.words, *lexicon.things))
        self._skills: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}

    def __len__(self) -> int:
        return len(self.tokens)

    def encode(self, tokens: Sequence[str]) -> list[int]:
        """Return the numbers of `tokens`. Raises KeyError naming one that isn't in the book."""
        return [self.ids[token] for token in tokens]

    def skill(self, skill: Skill) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return a skill's title words and the keys of its body, whoever wrote it."""
        found = self._skills.get(skill.content)
        if found is None:
            title, keys = self.lexicon.skill_tokens(skill)
            found = (tuple(w for w in title if w in self.ids), tuple(k for k in keys if k in self.ids))
            if len(self._skills) > 20_000:  # a run sees a few thousand; an endless stream must not grow without end
                self._skills.clear()
            self._skills[skill.content] = found
        return found

    def tokens_of(self, skill: Skill) -> int:
        """Return the tokens that a skill takes in a prompt."""
        title, keys = self.skill(skill)
        return len(title) + len(keys) + _SKILL_EXTRA

    def prompt(self, given: CurationInput, longest: int) -> list[int]:
        """Return the curator's input: task, outcome, retrieved skills, trajectory; at most `longest` tokens."""
        known = self.ids
        task = [word for word in self.lexicon.task_tokens(given.episode.task) if word in known]
        outcome = UNJUDGED if given.judged is None else OK if given.judged else FAIL
        tokens = [BOS, *task, outcome]
        for pointer, skill in zip(POINTERS, given.retrieved, strict=False):
            title, keys = self.skill(skill)
            tokens += [pointer, *title, BODY, *keys, END]
        walked = [token for token in self.lexicon.trajectory_tokens(given.episode) if token in known]
        if len(walked) > _HEAD + _TAIL:
            walked = walked[:_HEAD] + walked[-_TAIL:]
        tokens = [*tokens[: longest - len(walked) - 2], TRAJECTORY, *walked, ASK]
        return self.encode(tokens)

    def render(self, ids: Sequence[int], given: CurationInput) -> str:
        """Return the literal text of an answer; `given` is what the pointers point into."""
        return "\n".join(part if isinstance(part, str) else self._call(part, given) for part in self._drafts(ids))

    def _drafts(self, ids: Sequence[int]) -> Iterator[Draft | str]:
        """Split an answer into calls and what stands between them."""
        draft: Draft | None = None
        for number in ids:
            token = self.tokens[number]
            if token == EOS:
                break
            if token in OPERATIONS:
                if draft is not None:
                    yield draft
                draft = Draft(token, [])
            elif draft is None:
                yield token
            elif token == END:
                draft.ended = True
                yield draft
                draft = None
            elif token == BODY and draft.body is None:
                draft.body = []
            else:
                (draft.title if draft.body is None else draft.body).append(token)
        if draft is not None:
            yield draft

    def _call(self, draft: Draft, given: CurationInput) -> str:
        name = OPERATIONS[draft.operation]
        pointed = _pointed(draft.title, given) if len(draft.title) == 1 else None
        title = pointed.title if pointed else self._title(draft.title, given)
        arguments = {"skill_name": title}
        if draft.body is not None:
            description = pointed.description if pointed else f"Steps for tasks that say {title}."
            content = self._document(title, description, draft.body, given)
            arguments["new_content" if name == operations.UPDATE else "content"] = content
        text = calls.render(name, arguments)
        # A call that was never ended is a block that was never closed.
        return text if draft.ended else text[: text.rindex("}}")]

    def _title(self, tokens: Sequence[str], given: CurationInput) -> str:
        return " ".join(self._word(token, given) for token in tokens)

    def _word(self, token: str, given: CurationInput) -> str:
        if token in self._titled:
            return token
        pointed = _pointed([token], given)
        return pointed.title if pointed else self._sentence(token)

    def _sentence(self, token: str) -> str:
        try:
            return self.lexicon.sentence(token)
        except KeyError:
            return token  # a word, an action or a sign of the book's own says itself

    def _document(self, title: str, description: str, body: Sequence[str], given: CurationInput) -> str:
        """Return a whole SKILL.md: a workflow of numbered lines, then the fillers with their own headings."""
        lines = [token for token in body if token not in self.lexicon.fillers]
        fillers = [self.lexicon.fillers[token] for token in body if token in self.lexicon.fillers]
        steps = "\n".join(f"{number}. {self._line(token, given)}" for number, token in enumerate(lines, 1))
        blocks = ([f"# Workflow\n\n{steps}"] if lines else []) + fillers
        head = f"---\nname: {scalar(title)}\ndescription: {scalar(description)}\n---\n\n"
        return head + "\n\n".join(blocks) + "\n"

    def _line(self, token: str, given: CurationInput) -> str:
        pointed = _pointed([token], given)
        return f"See the skill {pointed.title}." if pointed else self._sentence(token)


def _pointed(tokens: Sequence[str], given: CurationInput) -> Skill | None:
    """Return the retrieved skill that a single pointer names."""
    if tokens[0] not in POINTERS:
        return None
    at = POINTERS.index(tokens[0])
    return given.retrieved[at] if at < len(given.retrieved) else None
