"""Finding skills among many: ours beside rank-bm25 and bm25s, in one run. `python -P -m tests.perf.retrieval`

Each cell is a process of its own: build over N made-up skills, then single queries for the best five, then inserts and
deletes one by one, each with a query after it, as a stream of tasks does. The others have no insert and no delete:
theirs is a rebuild. Times are medians of processor time in one thread; memory is what the process grew by (RssAnon).
The same made-up words go to all; only ours splits its texts into words within the time of a build.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from tests.perf.speed import anchors

SIZES = (100, 1_000, 3_000, 10_000)
QUERIES, CHANGES = 200, 20
_VOCABULARY = 8_000


class Engine(Protocol):
    """A way to find skills. Documents and queries are lists of words."""

    def build(self, documents: list[list[str]]) -> None: ...
    def query(self, words: list[str]) -> None: ...
    def insert(self, words: list[str]) -> None: ...
    def delete(self, number: int) -> None: ...


def made_up(count: int, seed: int = 7) -> tuple[list[list[str]], list[list[str]]]:
    """Return documents (a title of 3 words, 20 more) and queries of 12 words, by Zipf's law."""
    draw = random.Random(seed)
    words = [f"w{number}" for number in range(_VOCABULARY)]
    shares = [1 / (rank + 3) for rank in range(_VOCABULARY)]
    documents = [[f"skill{number}", *draw.choices(words, shares, k=22)] for number in range(count + CHANGES)]
    return documents, [draw.choices(words, shares, k=12) for _ in range(QUERIES)]


class Ours:
    """core.skillrepo's index."""

    def build(self, documents: list[list[str]]) -> None:
        from core.skillrepo.index import Index

        self.index = Index()
        self.titles: list[str] = []
        for words in documents:
            self.insert(words)

    def query(self, words: list[str]) -> None:
        self.index.retrieve(" ".join(words))

    def insert(self, words: list[str]) -> None:
        from core.skillrepo.skill import Skill

        title = " ".join(words[:3])
        self.index.insert(Skill(title, " ".join(words[3:]), "x", "x"))
        self.titles.append(title)

    def delete(self, number: int) -> None:
        self.index.delete(self.titles.pop(number))


class Scanned:
    """core.skillrepo's retrieve, which reads every skill at each query: made for small repositories."""

    def build(self, documents: list[list[str]]) -> None:
        self.skills: list[Any] = []
        for words in documents:
            self.insert(words)

    def query(self, words: list[str]) -> None:
        from core.skillrepo.retrieval import retrieve

        retrieve(self.skills, " ".join(words))

    def insert(self, words: list[str]) -> None:
        from core.skillrepo.skill import Skill

        self.skills.append(Skill(" ".join(words[:3]), " ".join(words[3:]), "x", "x"))

    def delete(self, number: int) -> None:
        del self.skills[number]


class RankBm25:
    """rank-bm25's BM25Okapi; every change is a rebuild."""

    def build(self, documents: list[list[str]]) -> None:
        from rank_bm25 import BM25Okapi

        self.documents = documents
        self.library = BM25Okapi(documents)

    def query(self, words: list[str]) -> None:
        self.library.get_top_n(words, self.documents, n=5)

    def insert(self, words: list[str]) -> None:
        self.build([*self.documents, words])

    def delete(self, number: int) -> None:
        self.build(self.documents[:number] + self.documents[number + 1 :])


class Bm25s:
    """bm25s with its defaults; every change is a rebuild."""

    def build(self, documents: list[list[str]]) -> None:
        import bm25s  # type: ignore[import-not-found]  # lives in an environment of its own

        self.documents = documents
        self.library = bm25s.BM25()
        self.library.index(documents, show_progress=False)

    def query(self, words: list[str]) -> None:
        self.library.retrieve([words], k=5, show_progress=False)

    def insert(self, words: list[str]) -> None:
        self.build([*self.documents, words])

    def delete(self, number: int) -> None:
        self.build(self.documents[:number] + self.documents[number + 1 :])


ENGINES: dict[str, Callable[[], Engine]] = {
    "exuvia index": Ours,
    "exuvia retrieve": Scanned,
    "rank-bm25": RankBm25,
    "bm25s": Bm25s,
}


def _anonymous_bytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) << 10
    return 0


def measure(engine: Engine, documents: list[list[str]], queries: list[list[str]]) -> dict[str, float]:
    """Return medians in seconds, and bytes."""

    def timed(act: Callable[[], None]) -> float:
        began = time.process_time()
        act()
        return time.process_time() - began

    first, later = documents[:-CHANGES], documents[-CHANGES:]
    engine.build(first[:50])  # imports
    engine.query(queries[0])
    before = _anonymous_bytes()
    build = timed(lambda: engine.build(first))
    engine.query(queries[0])
    grown = _anonymous_bytes() - before
    query = [timed(lambda words=words: engine.query(words)) for words in queries]  # type: ignore[misc]  # bound at once
    inserts, deletes = [], []
    for number, words in enumerate(later):
        inserts.append(timed(lambda words=words: engine.insert(words)))  # type: ignore[misc]  # bound at once
        engine.query(queries[number])
    for number in range(CHANGES):
        deletes.append(timed(lambda number=number: engine.delete(number * 3)))  # type: ignore[misc]  # bound at once
        engine.query(queries[number])
    middle = statistics.median
    return {
        "build": build, "query": middle(query), "insert": middle(inserts), "delete": middle(deletes), "bytes": grown,
    }  # fmt: skip


def _worker(name: str, path: str) -> None:
    words = json.loads(Path(path).read_text())
    sys.stdout.write(json.dumps(measure(ENGINES[name](), words["documents"], words["queries"])))


def _cell(python: str | Path, name: str, path: Path) -> dict[str, float]:
    done = subprocess.run(
        [str(python), "-P", __file__, name, str(path)],
        env={"PYTHONPATH": str(Path(__file__).parents[2]), "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def small() -> None:
    """Print what a query costs in a repository that changes before each, as in training."""
    from rank_bm25 import BM25Okapi

    from core.skillrepo.retrieval import retrieve
    from core.skillrepo.skill import Skill
    from core.skillrepo.words import split_words

    documents, queries = made_up(40)
    skills = [Skill(" ".join(words[:3]), " ".join(words[3:]), "x", "x") for words in documents]
    print("| skills | exuvia retrieve, microseconds | rank-bm25, built for each query | ours = 1 |\n|---|---|---|---|")
    for size in (1, 5, 20):
        repositories = [skills[at : at + size] for at in range(QUERIES // 10)]

        def ours(repositories: list[list[Skill]] = repositories) -> None:
            for repository, words in zip(repositories, queries, strict=False):
                retrieve(repository, " ".join(words))

        def library(repositories: list[list[Skill]] = repositories) -> None:
            for repository, words in zip(repositories, queries, strict=False):
                texts = [split_words(f"{skill.title} {skill.description}") for skill in repository]
                BM25Okapi(texts).get_top_n(words, texts, n=5)

        spent = []
        for act in (ours, library):
            act()
            began = time.process_time()
            for _ in range(20):
                act()
            spent.append((time.process_time() - began) / 20 / len(repositories) * 1e6)
        print(f"| {size} | {spent[0]:.0f} | {spent[1]:.0f} | {spent[1] / spent[0]:.1f} |")


def main() -> None:
    """Measure every cell and print one table with ratios to ours, then one for small repositories."""
    bm25s = anchors.bm25s()
    print("| skills | | build ms | query ms | insert ms | delete ms | memory MB | query, ours = 1 | insert, ours = 1 |")
    print("|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as place:
        for size in SIZES:
            documents, queries = made_up(size)
            path = Path(place) / "words.json"
            path.write_text(json.dumps({"documents": documents, "queries": queries}))
            ours: dict[str, float] = {}
            for name in ENGINES:
                python = bm25s if name == "bm25s" else Path(sys.executable)
                if python is None:
                    print(f"| {size} | {name} | not run: it can't be installed here | | | | | | |")
                    continue
                cell = _cell(python, name, path)
                ours = ours or cell
                print(_row(size, name, cell, ours), flush=True)
    print()
    small()


def _row(size: int, name: str, cell: dict[str, float], ours: dict[str, float]) -> str:
    times: Sequence[str] = [f"{cell[key] * 1000:.3f}" for key in ("build", "query", "insert", "delete")]
    ratios = [f"{cell[key] / ours[key]:.1f}" for key in ("query", "insert")]
    return f"| {size:,} | {name} | {' | '.join(times)} | {cell['bytes'] / 1e6:.1f} | {' | '.join(ratios)} |"


if __name__ == "__main__":
    _worker(*sys.argv[1:3]) if len(sys.argv) > 2 else main()
