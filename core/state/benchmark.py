"""A benchmark as it lies on disk: its config, its Cases' titles, its score history (EVOLUTION 1.5, 2.1)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.foundation.errors import DamagedError, UsageError
from core.foundation.visible import decode
from core.state import atomic, locks
from core.state.diagnostics import Diagnostic
from core.state.paths import BenchmarkPaths, CasePaths, check_id
from core.state.scoreboard import ScoreboardReading, read_scoreboard

_TITLE_BYTES = 64 * 1024
# The format's titles are found by a JavaScript expression, whose line ends and white space are these.
_ENDS = "\n\r\u2028\u2029"
_SPACE = "\t\n\x0b\x0c\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_HEADING = re.compile(f"(?:\\A|(?<=[{_ENDS}]))#[{_SPACE}]+([^{_ENDS}]+)(?=[{_ENDS}]|\\Z)")
_CASE_LABEL = re.compile(f"(?i:case)[{_SPACE}]*[0-9]+[{_SPACE}]*[::]")
_SPACES = _SPACE.replace("\u2000-\u200a", "".join(map(chr, range(0x2000, 0x200B))))


@dataclass(frozen=True)
class CaseHead:
    """A Case as listed."""

    id: str
    title: str


@dataclass(frozen=True)
class Benchmark:
    """A benchmark read whole. `runs` is None where the config names none; `held_out` names Cases kept from the loop."""

    id: str
    title: str
    description: str | None
    runs: int | None
    held_out: tuple[str, ...]
    cases: tuple[CaseHead, ...]
    reading: ScoreboardReading
    diagnostics: tuple[Diagnostic, ...] = ()

    def as_golden(self) -> dict[str, Any]:
        """Return what the existing system answers for this benchmark."""
        optional = {"description": self.description, "runs": self.runs}
        return {
            "id": self.id,
            "title": self.title,
            **{key: value for key, value in optional.items() if value is not None},
            "caseCount": len(self.cases),
            "evaluations": [evaluation.as_golden() for evaluation in self.reading.evaluations],
        }


def read_benchmark(benchmark: BenchmarkPaths) -> Benchmark:
    """Return the benchmark. A missing or broken config leaves its directory name as title (no. 37), with a word.

    Raises UsageError where there is no such directory.
    """
    if not benchmark.root.is_dir():
        raise UsageError(f"There is no benchmark {benchmark.id!r} at {benchmark.root}.", hint="List the benchmarks.")
    config, told = _read_config(benchmark.config)
    title, description, runs = config.get("title"), config.get("description"), config.get("runs")
    whole = isinstance(runs, int | float) and not isinstance(runs, bool) and runs == runs // 1 and runs >= 1
    if runs is not None and not whole:
        told += (Diagnostic(benchmark.config, 0, f"runs = {runs!r} is no whole number from 1 on; it is ignored"),)
    return Benchmark(
        id=benchmark.id,
        title=title if isinstance(title, str) and title else benchmark.id,
        description=description if isinstance(description, str) else None,
        runs=int(runs) if whole and runs is not None else None,
        held_out=_held_out(config.get("held_out")),
        cases=tuple(CaseHead(case_id, case_title(benchmark.case(case_id))) for case_id in benchmark.case_ids()),
        reading=read_scoreboard(benchmark.scoreboard),
        diagnostics=told,
    )


def _read_config(path: Path) -> tuple[dict[str, Any], tuple[Diagnostic, ...]]:
    try:
        return tomllib.loads(decode(path.read_bytes()).removeprefix("\ufeff")), ()
    except FileNotFoundError:
        return {}, (Diagnostic(path, 0, "missing; the directory name serves as title"),)
    except (tomllib.TOMLDecodeError, OSError, RecursionError) as error:
        return {}, (Diagnostic(path, 0, f"cannot be read: {error}"),)


def _held_out(value: object) -> tuple[str, ...]:
    return tuple(name for name in value if isinstance(name, str)) if isinstance(value, list) else ()


def case_title(case: CasePaths) -> str:
    """Return the first `# ` heading of the statement without a leading `Case N:`, else the directory name (no. 17).

    A heading inside a code fence counts, one after a byte order mark doesn't. A README that is linked to from
    outside the Case's statement is not read.
    """
    if not within_material(case, case.statement_readme):
        return case.id
    try:
        with case.statement_readme.open("rb") as readme:
            text = decode(readme.read(_TITLE_BYTES))
    except OSError:
        return case.id
    heading = _HEADING.search(text)
    if heading is None:
        return case.id
    title = heading.group(1).strip(_SPACES)
    label = _CASE_LABEL.match(title)
    return (title[label.end() :] if label else title).strip(_SPACES) or case.id


def within_material(case: CasePaths, path: Path) -> bool:
    """Tell whether `path` truly lies in the Case's statement or rubric, and the Case in its benchmark (no. 18).

    Links are followed before the question is answered, so nothing outside can be shown as part of a Case.
    """
    try:
        root = case.root.resolve(strict=True)
        real = path.resolve(strict=True)
        inside = root.parent == case.root.parent.resolve(strict=True) and root.name == case.id
    except (OSError, RuntimeError):  # RuntimeError: a loop of links
        return False
    return inside and (real.is_relative_to(root / "statement") or real.is_relative_to(root / "rubric"))


def write_benchmark_config(
    benchmark: BenchmarkPaths,
    title: str,
    description: str,
    runs: int = 1,
    held_out: Sequence[str] = (),
) -> None:
    """Write the benchmark's config, making its directory; comments and keys of others in an existing file stay.

    `held_out` is a key of ours that other readers ignore; it is left out when empty. Raises UsageError for values
    outside the format's limits (no. 31, 37) and DamagedError where the existing file is no TOML.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    if not 1 <= len(title) <= 200 or len(description) > 2000 or not 1 <= runs <= 1000:
        raise UsageError(
            f"The config of benchmark {benchmark.id!r} is out of bounds.",
            hint="Title: 1 to 200 characters; description: up to 2000; runs: 1 to 1000.",
        )
    if benchmark.id.startswith("."):
        raise UsageError(f"{benchmark.id!r} is not a valid benchmark id.", hint="Use a name without a leading dot.")
    for case_id in held_out:
        check_id("case", case_id)

    with locks.held(benchmark.lock):
        try:
            document = tomlkit.parse(benchmark.config.read_text(encoding="utf-8"))
        except FileNotFoundError:
            document = tomlkit.document()
        except (TOMLKitError, UnicodeDecodeError) as error:
            raise DamagedError(f"{benchmark.config} is not TOML: {error}", hint="Repair or remove it.") from error
        document.update({"title": title, "description": description, "runs": runs})
        if held_out:
            document["held_out"] = list(held_out)
        else:
            document.pop("held_out", None)
        text = tomlkit.dumps(document)
        expected = {"title": title, "description": description, "runs": runs}
        if not expected.items() <= tomllib.loads(text).items():
            raise DamagedError(f"{benchmark.config} is written in a way that cannot be edited safely.")
        benchmark.root.mkdir(parents=True, exist_ok=True)
        atomic.write_text(benchmark.config, text)
