"""What the Cases of a benchmark are on disk: their hashes, and what makes one unusable or leaky."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.evolution.builder_state import CaseHashes
from core.evolution.leaks import scan, texts_of
from core.evolution.rubric import RubricError, read_rubric
from core.foundation.errors import DamagedError
from core.state.fingerprint import file_hashes, hash_of, irregular
from core.state.paths import BenchmarkPaths, CasePaths


@dataclass(frozen=True, slots=True)
class Finding:
    """A leak that the scan sees: `finding` is its id, the same as long as the text and the files are."""

    finding: str
    case_id: str
    kind: str
    text: str

    def fields(self) -> dict[str, str]:
        """Return it as journals, answers and approvals carry it."""
        return {"finding": self.finding, "case_id": self.case_id, "kind": self.kind, "text": self.text}


def case_hashes(case: CasePaths) -> CaseHashes | None:
    """Return the hashes of a Case, or None where one of its READMEs is missing.

    The private standard has a hash of its own and is no part of the rubric's.
    """
    if not case.statement_readme.is_file() or not case.rubric_readme.is_file():
        return None
    rubric = file_hashes(case.rubric)
    standard = rubric.pop(case.standard.name, None)
    return CaseHashes(
        hash_of(file_hashes(case.statement)), hash_of(rubric), None if standard is None else f"sha256:{standard}"
    )


def benchmark_hashes(benchmark: BenchmarkPaths, case_ids: Sequence[str]) -> dict[str, CaseHashes]:
    """Return the hashes of those Cases that are complete on disk."""
    found = {case_id: case_hashes(benchmark.case(case_id)) for case_id in case_ids}
    return {case_id: hashes for case_id, hashes in found.items() if hashes is not None}


def oddities(case: CasePaths) -> str | None:
    """Return what in a Case is neither file nor directory, or None.

    No hash sees what a link leads to, and it may lead to what a Target or a Builder must not read.
    """
    odd = irregular(case.root)
    return f"holds what is no regular file: {', '.join(odd[:3])}" if odd else None


def problems(case: CasePaths) -> tuple[str, ...]:
    """Return what makes a Case unusable: links, an empty statement, a rubric that does not total 100."""
    if odd := oddities(case):
        return (odd,)
    found: list[str] = []
    try:
        if not case.statement_readme.read_text(encoding="utf-8").strip():
            found.append("statement/README.md is empty")
    except UnicodeDecodeError:
        found.append("statement/README.md is not UTF-8")
    try:
        read_rubric(case)
    except RubricError as error:
        found += error.problems
    except DamagedError as error:
        found.append(str(error))
    return tuple(found)


def leak_findings(case: CasePaths, shared: Sequence[Mapping[str, str]]) -> tuple[Finding, ...]:
    """Return text of the rubric that stands in the statement and was not declared as shared (DECISIONS 17)."""
    leaks = scan(
        {f"statement/{name}": text for name, text in texts_of(case.statement).items()},
        {f"rubric/{name}": text for name, text in texts_of(case.rubric).items()},
        [item["text"] for item in shared],
    )
    return tuple(
        Finding(
            "L" + hashlib.sha256(f"{case.id}\0{leak.public}\0{leak.private}\0{leak.text}".encode()).hexdigest()[:8],
            case.id,
            "leak",
            f"{leak.public} shares with {leak.private}: {leak.text}",
        )
        for leak in leaks
    )
