"""A token in every rubric that stands nowhere else: if it turns up in a Target's trace, the Target saw the rubric.

Isolation keeps rubrics out of reach; this is how we would know that it did not (DECISIONS 17; FAULTS: rubric
reachable). Tokens are written into rubrics as they are first submitted; frozen and imported ones stay as they are.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping

from core.state import atomic
from core.state.fingerprint import irregular
from core.state.paths import AgentPaths, BenchmarkPaths, CasePaths
from core.traces.shards import session_shards

_TOKEN = re.compile(rb"exuvia-canary-[0-9a-f]{32}")


def ensure(case: CasePaths) -> None:
    """Put a token at the end of the Case's rubric unless it has one.

    A Case without a rubric stays as it is, and so does one with a link: what that leads to is not copied into a file.
    """
    try:
        if irregular(case.root):
            return
        raw = case.rubric_readme.read_bytes()
    except OSError:
        return
    if _TOKEN.search(raw) is None:
        line = f"<!-- exuvia-canary-{secrets.token_hex(16)}: private, in no statement, trace or report -->\n"
        ended = raw if not raw or raw.endswith(b"\n") else raw + b"\n"
        atomic.write_bytes(case.rubric_readme, ended + b"\n" + line.encode("ascii"))


def tokens(benchmark: BenchmarkPaths) -> Mapping[bytes, str]:
    """Return each token of the benchmark with the Case it belongs to."""
    found: dict[bytes, str] = {}
    for case_id in benchmark.case_ids():
        try:
            raw = benchmark.case(case_id).rubric_readme.read_bytes()
        except OSError:
            continue
        found |= dict.fromkeys(_TOKEN.findall(raw), case_id)
    return found


def seen(agent: AgentPaths, sessions: Iterable[str], known: Mapping[bytes, str]) -> tuple[tuple[str, str], ...]:
    """Return (session, Case) for every Target Session whose trace holds a token."""
    found: list[tuple[str, str]] = []
    for session_id in sessions if known else ():
        for shard in session_shards(agent, session_id):
            here = {known[token] for token in _TOKEN.findall(shard.path.read_bytes()) if token in known}
            found += [(session_id, case_id) for case_id in sorted(here)]
    return tuple(found)
