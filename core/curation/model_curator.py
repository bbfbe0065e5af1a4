"""Any model as a curator: the built-in instructions, the four blocks, the operations as tools (CURATION 1.1, 1.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from core.curation.asking import Answered, Asker, Model, together
from core.curation.curators import Curation, CurationInput
from core.curation.prompt import messages
from core.models.interface import ProviderError, ToolSpec
from core.skillrepo.calls import from_native, parse
from core.skillrepo.operations import tools


@dataclass(frozen=True, slots=True)
class ModelCurator:
    """A prompted model. `native`: the tools go beside the prompt, as a provider takes them; otherwise they stand in it
    and the calls are read from the text. Calls in the text are read in both ways, since models mix them up.

    `extra` offers merge, split and link too.
    """

    model: Model
    native: bool = True
    extra: bool = False

    @property
    def name(self) -> str:
        return self.model.name

    def refuses(self, world: str) -> str:
        del world
        return ""  # its instructions fit any world

    def curate(self, inputs: Sequence[CurationInput]) -> Sequence[Curation]:
        return together(self.model, [partial(self._curate, given=given) for given in inputs])

    async def _curate(self, asker: Asker, given: CurationInput) -> Curation:
        system, user = messages(given, native=self.native, extra=self.extra)
        offered = tuple(ToolSpec(**tool) for tool in tools(extra=self.extra)) if self.native else ()
        try:
            answer = await asker.ask(system, user, tools=offered, seed=given.seed)
        except ProviderError as error:
            if error.permanent:
                raise
            return Curation("", (), failure=str(error))
        return curation_of(answer)


def curation_of(answer: Answered) -> Curation:
    """Return an answer as a curation: native calls first, then those in the text."""
    native = tuple(from_native(call.name, call.arguments) for call in answer.calls)
    usage = answer.usage
    return Curation(
        answer.text,
        native + parse(answer.text),
        prompt_tokens=None if usage is None else usage.cache_read + usage.cache_write,
        answer_tokens=None if usage is None else usage.output,
    )
