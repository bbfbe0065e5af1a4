"""The tables of requirements in the documentation: what each asks, which tests show it, and whether they pass.

A test names the requirements that it shows: `@pytest.mark.meets("K7")`, or `pytestmark` for a whole module.

    python -P -m tests.requirements          bring the tables up to date; results of what did not change stay
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

from tests.requirements import curation, strategy

ROOT = Path(__file__).parents[2]
BEGIN, END = "<!-- requirements: python -P -m tests.requirements -->", "<!-- end of requirements -->"
NOT_RUN, FAILS = "not run", "FAILS"


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the documentation with a table, and what stands in it.

    `complete` is whether a requirement without a test is a fault; `not_tested` are those that none can show, and why.
    """

    path: Path
    heading: str
    requirements: Mapping[str, str]
    not_tested: Mapping[str, str]
    complete: bool


CURATION = Page(
    ROOT / "docs" / "training.md",
    "## Requirements\n\nWhich test shows what; the numbers are those of [curation](curation.md).\n\n",
    curation.REQUIREMENTS,
    {},
    True,
)
STRATEGY = Page(
    ROOT / "docs" / "strategies.md",
    "## Requirements\n\nThe numbers are cited in the source; which test shows what.\n\n",
    strategy.REQUIREMENTS,
    strategy.NOT_TESTED,
    True,
)
PAGES = (CURATION, STRATEGY)
REQUIREMENTS: Mapping[str, str] = {number: text for page in PAGES for number, text in page.requirements.items()}


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


def table(page: Page, found: Mapping[str, list[Shown]], results: Mapping[str, str]) -> str:
    """Return the table in Markdown."""
    lines = ["| | what is asked | shown by | result |", "|---|---|---|---|"]
    for number, what in page.requirements.items():
        shown = _shown_by(page, number, found[number])
        lines.append(f"| {number} | {what} | {shown} | {results.get(number, NOT_RUN)} |")
    return "\n".join(lines)


def _shown_by(page: Page, number: str, tests: Sequence[Shown]) -> str:
    """Name the files; how many tests in each is left out, so that a new one doesn't date the table."""
    if not tests:
        return page.not_tested.get(number, "no test yet")
    long = {shown.file: all(other.long for other in tests if other.file == shown.file) for shown in tests}
    return "<br>".join(f"`{file}`{' (long)' if long[file] else ''}" for file in sorted(long))


def written(text: str) -> dict[str, tuple[str, str]]:
    """Return requirement to (tests, result) as the page's text has it; empty where it has no table."""
    between = re.search(f"{re.escape(BEGIN)}(.*?){re.escape(END)}", text, re.DOTALL)
    rows = re.findall(r"^\| ([A-Z]\d+) \| .*? \| (.*?) \| (.*?) \|$", between.group(1) if between else "", re.MULTILINE)
    return {number: (tests, result) for number, tests, result in rows}


def updated(page: Page, text: str, found: Mapping[str, list[Shown]], results: Mapping[str, str] | None = None) -> str:
    """Return the text with the present table; without `results`, those of rows that did not change stay."""
    if results is None:
        before = written(text)
        results = {
            number: before[number][1]
            for number in page.requirements
            if number in before and before[number][0] == _shown_by(page, number, found[number])
        }
    block = f"{BEGIN}\n{table(page, found, results)}\n{END}"
    if BEGIN in text and END in text:
        return text[: text.index(BEGIN)] + block + text[text.index(END) + len(END) :]
    return f"{text.rstrip()}\n\n{page.heading}{block}\n"


def faults(page: Page, text: str, found: Mapping[str, list[Shown]]) -> list[str]:
    """Return what is wrong with a table: out of date, a requirement without a test, or one that failed when run."""
    before = written(text)
    wrong = []
    for number in page.requirements:
        tests = found[number]
        shown, result = before.get(number, ("", NOT_RUN))
        if page.complete and not tests and number not in page.not_tested:
            wrong.append(f"{number}: no test shows it")
        if shown != _shown_by(page, number, tests):
            wrong.append(f"{number}: the table is out of date; run: python -P -m tests.requirements")
        elif result == FAILS:
            wrong.append(f"{number}: a test of it failed")
    return wrong


def main(arguments: Sequence[str]) -> int:
    """Write the tables; return 1 where something is wrong with one."""
    found = collect()
    results = run(found) if "--run" in arguments else None
    wrong = []
    for page in PAGES:
        text = updated(page, page.path.read_text(encoding="utf-8"), found, results)
        page.path.write_text(text, encoding="utf-8")
        wrong += faults(page, text, found)
    sys.stdout.write("".join(f"{fault}\n" for fault in wrong))
    return bool(wrong)
