"""Is a Candidate general, and free of private text? (EVOLUTION 3.5 no. 60, 61)

A proposer sees public statements, scores and traces. An edit that names a Case, or that holds a run of a rubric's
words that no statement holds, is not a lesson about the work.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from core.evolution.edits import Edit
from core.evolution.leaks import shared_run, texts_of
from core.evolution.refusal import Refusal
from core.state.paths import BenchmarkPaths, CasePaths

PROGRAMS = (".py", ".sh", ".awk")
_ROUNDS = 64  # public runs set aside before a text is taken as private


def inadmissible(edits: Sequence[Edit], benchmark: BenchmarkPaths, known: Iterable[str]) -> Refusal | None:
    """Return why edits may not be tried, or None. `known` are texts that the agent's state holds already."""
    public = [text for case_id in benchmark.case_ids() for text in texts_of(benchmark.case(case_id).statement).values()]
    public += list(known)
    private = [text for case_id in benchmark.case_ids() for text in private_texts(benchmark.case(case_id))]
    for edit in edits:
        text = edit.content or ""
        named = [case_id for case_id in benchmark.case_ids() if case_id.casefold() in text.casefold()]
        if named:
            return Refusal(
                "not_general",
                f"{edit.path} names {', '.join(named)}: a lesson must help with work that nobody has seen yet, so "
                "it names "
                "no Case.",
            )
        if b"exuvia-canary-" in text.encode("utf-8", "replace") or any(
            _private_run(text, secret, public) for secret in private
        ):
            return Refusal(
                "private_text",
                f"{edit.path} holds text of a private rubric. If you read it anywhere, stop with stop_run: the run is "
                "contaminated. If you did not, say it in other words.",
            )
    return None


def private_texts(case: CasePaths) -> list[str]:
    """Return what a rubric says and holds. Programs are left out: two scripts share idioms, and those say nothing."""
    return [text for name, text in texts_of(case.rubric).items() if not name.endswith(PROGRAMS)]


def _private_run(text: str, secret: str, public: Sequence[str]) -> bool:
    declared: list[str] = []
    for _ in range(_ROUNDS):
        run = shared_run(text, secret, declared)
        if run is None:
            return False
        if not any(shared_run(run, other) for other in public):
            return True
        if run in declared:  # it cannot be set aside (punctuation lies between its words): public, so let it be
            return False
        declared.append(run)
    return False
