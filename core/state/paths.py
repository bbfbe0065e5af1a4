"""Where everything of a home lies (EVOLUTION 1.1 to 1.5, layout G1).

Values only: no path object here creates, changes or follows anything. Listings skip what cannot be a name of
the format, so a stray file beside the Projects never becomes one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from core.foundation.clock import IDENTIFIER
from core.foundation.errors import UsageError

DEFAULT_PROJECT = "default_project"
DEFAULT_AGENT = "default_agent"
OPERATOR_AGENT = "exuvia_operator"


def resolve_home(flag: str | Path | None = None, environ: Mapping[str, str] | None = None) -> Path:
    """Return the absolute home: `flag`, else `EXUVIA_HOME`, else `PENGUIN_HOME`, else `~/.exuvia/data`.

    An empty variable counts as unset; a relative value is taken from the current directory (EVOLUTION 1.1 no. 1).
    """
    variables = os.environ if environ is None else environ
    chosen = flag or variables.get("EXUVIA_HOME") or variables.get("PENGUIN_HOME")
    home = Path(chosen).expanduser() if chosen else Path(variables.get("HOME") or Path.home()) / ".exuvia" / "data"
    return Path(os.path.abspath(home))  # noqa: PTH100  (not resolved: a linked home keeps the name it was given)


def check_id(kind: str, value: str) -> str:
    """Return `value` where it may name a `kind` ("project", "agent", "benchmark", "case"), else raise UsageError.

    Projects and agents: letters, digits, `_` and `-` (EVOLUTION 1.1 no. 2). Benchmarks and Cases are directory
    names of the shared format and may hold other characters, but never lead out of their directory.
    """
    if kind in {"project", "agent"}:
        if not IDENTIFIER.fullmatch(value):
            raise UsageError(
                f"{value!r} is not a valid {kind} id.", hint="Use letters, digits, '_' and '-', at least one of them."
            )
        return value
    if value in {"", ".", ".."} or "/" in value or "\\" in value or "\0" in value:
        raise UsageError(f"{value!r} is not a valid {kind} id.", hint="Use one directory name: not empty, no slash.")
    if kind == "case" and not value.startswith("CASE-"):
        raise UsageError(f"{value!r} is not a valid case id.", hint="A Case's directory name starts with 'CASE-'.")
    return value


@dataclass(frozen=True, slots=True)
class WorkPaths:
    """The files of a directory that is the work of one process: a run of an agent, a training run, a task stream."""

    root: Path

    @property
    def id(self) -> str:
        return self.root.name

    @property
    def spec(self) -> Path:
        """What it works by, resolved: every setting."""
        return self.root / "spec.json"

    @property
    def lock(self) -> Path:
        return self.root / "lock"

    @property
    def engine(self) -> Path:
        """Which process works on it (core.agents.isolation.processes)."""
        return self.root / "engine.pid"

    @property
    def heartbeat(self) -> Path:
        """Touched each second by a living process."""
        return self.root / "heartbeat"

    @property
    def log(self) -> Path:
        """What the process wrote to its terminal, had it one."""
        return self.root / "engine.log"


def _directories(root: Path) -> Iterator[str]:
    """Yield the names of the directories in `root`, sorted; links are none; nothing where `root` is no directory."""
    try:
        with os.scandir(root) as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except (FileNotFoundError, NotADirectoryError):
        return
    yield from names


@dataclass(frozen=True)
class CasePaths:
    """A Case: `<benchmark>/CASE-<nnn>-<name>/` with its public statement and private rubric."""

    root: Path

    @property
    def id(self) -> str:
        """Directory name, starting with `CASE-`."""
        return self.root.name

    @property
    def statement(self) -> Path:
        """Directory of what the Target sees."""
        return self.root / "statement"

    @property
    def rubric(self) -> Path:
        """Directory of what only the Evaluator sees."""
        return self.root / "rubric"

    @property
    def statement_readme(self) -> Path:
        """The task text."""
        return self.statement / "README.md"

    @property
    def rubric_readme(self) -> Path:
        """The scored items."""
        return self.rubric / "README.md"

    @property
    def checks(self) -> Path:
        """Executable checks of rubric items; optional."""
        return self.rubric / "checks.yaml"

    @property
    def standard(self) -> Path:
        """The private standard; optional."""
        return self.rubric / "STANDARD.md"


@dataclass(frozen=True)
class BenchmarkPaths:
    """A benchmark: `<agent>/benchmarks/<id>/`."""

    root: Path

    @property
    def id(self) -> str:
        """Directory name."""
        return self.root.name

    @property
    def config(self) -> Path:
        """Title, description and number of runs."""
        return self.root / "benchmark_config.toml"

    @property
    def scoreboard(self) -> Path:
        """The score history."""
        return self.root / "scoreboard.yaml"

    @property
    def lock(self) -> Path:
        """The lock of writers, among what is ours and never beside the benchmarks (EVOLUTION Appendix C no. 6)."""
        agent = self.root.parent.parent
        return agent.parent.parent / ".exuvia" / "locks" / f"benchmark-{agent.name}-{self.id}.lock"

    def case(self, case_id: str) -> CasePaths:
        """Return the paths of a Case, there or not."""
        return CasePaths(self.root / check_id("case", case_id))

    def case_ids(self) -> tuple[str, ...]:
        """Return the directories whose name starts with `CASE-`, sorted (EVOLUTION 1.5 no. 16)."""
        return tuple(name for name in _directories(self.root) if name.startswith("CASE-"))


@dataclass(frozen=True)
class AgentPaths:
    """An agent: `<project>/agents/<id>/`."""

    root: Path

    @property
    def id(self) -> str:
        """Directory name."""
        return self.root.name

    @property
    def project(self) -> ProjectPaths:
        """The Project this agent belongs to."""
        return ProjectPaths(self.root.parent.parent)

    @property
    def state(self) -> Path:
        """`agent_state/`: what a Candidate changes and a snapshot holds."""
        return self.root / "agent_state"

    @property
    def config(self) -> Path:
        """`system_config.yaml`, written last: where it exists, the agent is initialised."""
        return self.state / "system_config.yaml"

    @property
    def agents_md(self) -> Path:
        """`AGENTS.md`, put into the system prompt."""
        return self.state / "AGENTS.md"

    @property
    def vault(self) -> Path:
        """`.vault.toml`: secrets, mode 0600, in no snapshot."""
        return self.state / ".vault.toml"

    @property
    def skills(self) -> Path:
        """Installed skills, a directory each."""
        return self.state / "skills"

    @property
    def traces(self) -> Path:
        """`traces/<local date>/<session>_<NNN>.jsonl`."""
        return self.root / "traces"

    @property
    def scratchpad(self) -> Path:
        """`scratchpad/<session>/`."""
        return self.root / "scratchpad"

    @property
    def workspaces(self) -> Path:
        """Workspaces of this agent's sessions."""
        return self.root / "workspaces"

    @property
    def benchmarks(self) -> Path:
        """Its benchmarks (layout G1)."""
        return self.root / "benchmarks"

    @property
    def snapshots(self) -> Path:
        """`snapshots/v<version>.tar.gz`."""
        return self.root / "snapshots"

    @property
    def lock(self) -> Path:
        """The lock of those who change the agent's state."""
        return self.project.own / "locks" / f"agent-{self.id}.lock"

    def benchmark(self, benchmark_id: str) -> BenchmarkPaths:
        """Return the paths of a benchmark, there or not."""
        return BenchmarkPaths(self.benchmarks / check_id("benchmark", benchmark_id))

    def benchmark_ids(self) -> tuple[str, ...]:
        """Return every directory under `benchmarks/`, sorted; a config is not required (EVOLUTION 1.5 no. 19).

        That includes names with a leading dot, as the existing system lists them too.
        """
        return tuple(_directories(self.benchmarks))


@dataclass(frozen=True)
class ProjectPaths:
    """A Project: `<home>/<id>/`."""

    root: Path

    @property
    def id(self) -> str:
        """Directory name."""
        return self.root.name

    @property
    def config(self) -> Path:
        """`.project_config.toml`: models, keys, command policy; mode 0600."""
        return self.root / ".project_config.toml"

    @property
    def agents(self) -> Path:
        """Directory of the agents."""
        return self.root / "agents"

    def agent(self, agent_id: str) -> AgentPaths:
        """Return the paths of an agent, there or not."""
        return AgentPaths(self.agents / check_id("agent", agent_id))

    def agent_ids(self) -> tuple[str, ...]:
        """Return the agents that are initialised, sorted (EVOLUTION 1.3 no. 6)."""
        return tuple(
            name
            for name in _directories(self.agents)
            if IDENTIFIER.fullmatch(name) and AgentPaths(self.agents / name).config.is_file()
        )

    @property
    def own(self) -> Path:
        """What only this program writes; made by the first run or decision (DECISIONS 21)."""
        return self.root / ".exuvia"

    @property
    def runs(self) -> Path:
        """A directory each run."""
        return self.own / "runs"

    @property
    def training(self) -> Path:
        """A directory each training run."""
        return self.own / "training"

    @property
    def streams(self) -> Path:
        """A directory each run of a task stream."""
        return self.own / "streams"

    @property
    def curator(self) -> Path:
        """Which trained curator is in use, who said so and when."""
        return self.own / "curator.json"

    @property
    def approvals(self) -> Path:
        """What waits for the operator, and the decisions."""
        return self.own / "approvals"

    @property
    def audit(self) -> Path:
        """Who decided what, when."""
        return self.own / "audit.jsonl"

    @property
    def ledger(self) -> Path:
        """Every Candidate with its prediction and outcome."""
        return self.own / "ledger.jsonl"

    @property
    def live(self) -> Path:
        """What running sessions say of themselves."""
        return self.own / "live"

    @property
    def mail(self) -> Path:
        """A box each Session that listens: the operator's words to it (see `mailbox`)."""
        return self.own / "mail"


@dataclass(frozen=True)
class HomePaths:
    """A home: the directory of the Projects."""

    root: Path

    def project(self, project_id: str) -> ProjectPaths:
        """Return the paths of a Project, there or not."""
        return ProjectPaths(self.root / check_id("project", project_id))

    def project_ids(self) -> tuple[str, ...]:
        """Return the Projects, sorted: directories with a valid id; files and dot-directories are none (no. 3)."""
        return tuple(name for name in _directories(self.root) if IDENTIFIER.fullmatch(name))
