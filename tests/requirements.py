"""The table of requirements K1 to K20 in docs/training.md: what each asks, which tests show it, and whether they pass.

A test names the requirements that it shows: `@pytest.mark.meets("K7")`, or `pytestmark` for a whole module.

    python -P -m tests.requirements          bring the table up to date; results of what did not change stay
    python -P -m tests.requirements --run    run those tests first and write down how they ended
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "training.md"
BEGIN, END = "<!-- requirements: python -P -m tests.requirements -->", "<!-- end of requirements -->"
NOT_RUN, FAILS = "not run", "FAILS"
REQUIREMENTS: Mapping[str, str] = {
    "K1": "Skills are SKILL.md documents with two keys: read strictly, written to read back, found by exact title, "
    "kept as a directory",
    "K2": "Insert, update and delete are tool calls with a JSON schema, read from three styles, each with a verdict",
    "K3": "Retrieval is BM25, the best five over name and description, ties in a fixed order",
    "K4": "Executors are frozen, have 30 turns and recall three actions; what they write is parsed, coercions counted",
    "K5": "An executor judges itself; that opinion and the world's verdict are kept apart",
    "K6": "A stream begins empty and is walked once, all arms on the same tasks, with paired statistics",
    "K7": "Tasks are grouped by type, or by the annotated attributes with every gate of the paper",
    "K8": "The reward has four terms with their weights; what was not measured is masked",
    "K9": "Content is judged by four criteria, by rules or by a model; an unreadable verdict is unmeasured",
    "K10": "GRPO: the group's mean, no deviation, a clipped ratio, one advantage for every token; KL only if asked",
    "K11": "A rollout is one prompt a task with one advantage; denominators are fixed; measured positions are told",
    "K12": "Presets hold the paper's tables, and one runs here in minutes",
    "K13": "The embedded run learns: reward and held-out success rise, steps fall, inserts give way to updates",
    "K14": "Each part of the method can be switched off, and the comparison is printed with its spread",
    "K15": "The same loop trains any causal language model, whole or by LoRA, on whatever device there is",
    "K16": "A run that is killed goes on as if it had not been: the same weights to the bit",
    "K17": "A run tells everything the panel shows in a stream of events",
    "K18": "Behaviour is analysed: shares of operations, headings, meta skills, coverage, skills an example",
    "K19": "What was learned goes out: skills as folders, policies in the common format",
    "K20": "Many machines: an adapter and configurations for the paper's own stack",
}


@dataclass(frozen=True, slots=True, order=True)
class Shown:
    """A test function that shows a requirement; `long` tests are left to `make soak` and `make perf`."""

    file: str
    function: str
    long: bool


def collect(tests: Path = ROOT / "tests") -> dict[str, list[Shown]]:
    """Return requirement to test functions, by reading the tests' source. Raises ValueError for an unknown number."""
    found: dict[str, list[Shown]] = {number: [] for number in REQUIREMENTS}
    for path in sorted(tests.rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if "meets(" not in text:
            continue
        file = path.relative_to(tests.parent).as_posix()
        tree = ast.parse(text)
        module = _module_marks(tree)
        for function, marks in _functions(tree.body, module):
            for number in _numbers(marks, file):
                found[number].append(Shown(file, function, bool({"soak", "perf"} & marks.keys())))
    return {number: sorted(set(shown)) for number, shown in found.items()}


Marks = dict[str, list[str]]
"""Names of marks with their text arguments."""


def _functions(body: Sequence[ast.stmt], outer: Marks) -> Iterator[tuple[str, Marks]]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _functions(node.body, _joined(outer, node.decorator_list))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node.name, _joined(outer, node.decorator_list)


def _module_marks(tree: ast.Module) -> Marks:
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "pytestmark" for t in node.targets):
            value = node.value
            return _joined({}, value.elts if isinstance(value, ast.List | ast.Tuple) else [value])
    return {}


def _joined(outer: Marks, decorators: Sequence[ast.expr]) -> Marks:
    marks = {name: list(arguments) for name, arguments in outer.items()}
    for decorator in decorators:
        call = decorator if isinstance(decorator, ast.Call) else None
        target = call.func if call else decorator
        if isinstance(target, ast.Attribute) and ast.unparse(target.value) == "pytest.mark":
            arguments = [a.value for a in (call.args if call else []) if isinstance(a, ast.Constant)]
            marks.setdefault(target.attr, []).extend(str(argument) for argument in arguments)
    return marks


def _numbers(marks: Marks, file: str) -> list[str]:
    numbers = marks.get("meets", [])
    unknown = [number for number in numbers if number not in REQUIREMENTS]
    if unknown:
        raise ValueError(f"{file}: no requirement {', '.join(unknown)}")
    return numbers


def run(found: Mapping[str, list[Shown]]) -> dict[str, str]:
    """Run every test that shows a requirement and is not long; return how each requirement fared."""
    files = sorted({shown.file for tests in found.values() for shown in tests})
    with tempfile.TemporaryDirectory() as place:
        report = Path(place) / "report.xml"
        command = [sys.executable, "-P", "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal", "-m"]
        marks = "meets and not perf and not soak"
        subprocess.run([*command, marks, f"--junitxml={report}", *files], cwd=ROOT, check=False)
        outcomes = _outcomes(report)
    return {number: _result(tests, outcomes) for number, tests in found.items()}


def _outcomes(report: Path) -> dict[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], list[str]] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        names = [child.tag for child in case]
        outcome = "failed" if {"failure", "error"} & set(names) else "skipped" if "skipped" in names else "passed"
        function = case.get("name", "").partition("[")[0]
        parts = case.get("classname", "").split(".")
        last = next((at for at, part in enumerate(parts) if part.startswith("test_")), len(parts) - 1)
        found.setdefault(("/".join(parts[: last + 1]) + ".py", function), []).append(outcome)
    return found


def _result(tests: Sequence[Shown], outcomes: Mapping[tuple[str, str], list[str]]) -> str:
    seen = [outcome for shown in tests for outcome in outcomes.get((shown.file, shown.function), [])]
    if "failed" in seen:
        return FAILS
    if "passed" in seen:
        return "pass"
    return NOT_RUN


def table(found: Mapping[str, list[Shown]], results: Mapping[str, str]) -> str:
    """Return the table in Markdown."""
    lines = ["| | what is asked | shown by | result |", "|---|---|---|---|"]
    for number, what in REQUIREMENTS.items():
        lines.append(f"| {number} | {what} | {_shown_by(found[number])} | {results.get(number, NOT_RUN)} |")
    return "\n".join(lines)


def _shown_by(tests: Sequence[Shown]) -> str:
    """Name the files; how many tests in each is left out, so that a new one doesn't date the table."""
    long = {shown.file: all(other.long for other in tests if other.file == shown.file) for shown in tests}
    return "<br>".join(f"`{file}`{' (long)' if long[file] else ''}" for file in sorted(long))


def written(page: str) -> dict[str, tuple[str, str]]:
    """Return requirement to (tests, result) as the page has it; empty where it has no table."""
    between = re.search(f"{re.escape(BEGIN)}(.*?){re.escape(END)}", page, re.DOTALL)
    rows = re.findall(r"^\| (K\d+) \| .*? \| (.*?) \| (.*?) \|$", between.group(1) if between else "", re.MULTILINE)
    return {number: (tests, result) for number, tests, result in rows}


def updated(page: str, found: Mapping[str, list[Shown]], results: Mapping[str, str] | None = None) -> str:
    """Return the page with the present table; without `results`, those of rows that did not change stay."""
    if results is None:
        before = written(page)
        results = {
            number: before[number][1]
            for number, tests in found.items()
            if number in before and before[number][0] == _shown_by(tests)
        }
    block = f"{BEGIN}\n{table(found, results)}\n{END}"
    if BEGIN in page and END in page:
        return page[: page.index(BEGIN)] + block + page[page.index(END) + len(END) :]
    heading = "## Requirements\n\nWhich test shows what; the numbers are those of [curation](curation.md).\n\n"
    return f"{page.rstrip()}\n\n{heading}{block}\n"


def faults(page: str, found: Mapping[str, list[Shown]]) -> list[str]:
    """Return what is wrong with the table: out of date, a requirement without a test, or one that failed when run."""
    before = written(page)
    wrong = [f"{number}: no test shows it" for number, tests in found.items() if not tests]
    for number, tests in found.items():
        shown, result = before.get(number, ("", NOT_RUN))
        if shown != _shown_by(tests):
            wrong.append(f"{number}: the table is out of date; run: python -P -m tests.requirements")
        elif result == FAILS:
            wrong.append(f"{number}: a test of it failed")
    return wrong


def main(arguments: Sequence[str]) -> int:
    """Write the table; return 1 where something is wrong with it."""
    found = collect()
    page = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else "# Training a curator\n"
    page = updated(page, found, run(found) if "--run" in arguments else None)
    PAGE.write_text(page, encoding="utf-8")
    wrong = faults(page, found)
    sys.stdout.write("".join(f"{fault}\n" for fault in wrong))
    return bool(wrong)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
