"""Reading, editing and making agents."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.foundation.errors import ConflictError, DamagedError, NotFoundError, UsageError
from core.state import yaml12
from core.state.agents import create_agent, default_config_text, edit_config, list_agents, parse_config, read_agent
from core.state.config_edit import edited
from core.state.paths import AgentPaths, HomePaths, ProjectPaths
from core.state.skill_install import library_skill
from core.state.vault import vault_keys, vault_values
from tests.state.golden import FIXTURES, tree_hash

SAMPLE = HomePaths(FIXTURES / "penguin-state").project("default_project")
SAMPLE_TEXT = SAMPLE.agent("csv_helper").config.read_text(encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path) -> ProjectPaths:
    return HomePaths(tmp_path).project("p")


@pytest.fixture
def make(project: ProjectPaths) -> Callable[..., AgentPaths]:
    def make(text: str, agent_id: str = "a") -> AgentPaths:
        agent = project.agent(agent_id)
        agent.state.mkdir(parents=True)
        agent.config.write_bytes(text.encode())
        return agent

    return make


def test_the_sample_agents_are_read_and_left_alone() -> None:
    before = tree_hash(SAMPLE.root)
    config = read_agent(SAMPLE.agent("csv_helper"))
    assert (config.name, config.description, config.version) == ("CSV Helper", "Cleans small CSV files.", 2)
    assert config.kernel_version == "2026-08-21"
    assert (config.max_turns, config.model_max_tokens, config.thinking_level) == (-1, 32_000, "medium")
    assert config.timeout_ms == 120_000
    assert len(config.tools) == 11
    assert config.tools[0].permission == "r"
    assert config.tools[3].call_description
    assert [tool.for_model for tool in config.tools[-2:]] == ["vision", "text-only"]
    assert config.memory.enabled
    assert config.diagnostics == ()
    assert [(a.id, a.name, a.version) for a in list_agents(SAMPLE)] == [
        ("csv_helper", "CSV Helper", 2),
        ("default_agent", "default_agent", 1),
    ]
    assert tree_hash(SAMPLE.root) == before


def test_a_minimal_config_gets_the_defaults() -> None:
    agent = HomePaths(FIXTURES / "penguin-edge").project("default_project").agent("edge_agent")
    config = read_agent(agent)
    assert (config.name, config.version, config.system_prompt, config.max_turns) == ("Edge", 3, "x", -1)
    assert (config.model_max_tokens, config.thinking_level, config.tools) == (32_000, "medium", ())
    assert not config.memory.enabled


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("version: 0", "version", 1),
        ("version: two", "version", 1),
        ("version: true", "version", 1),
        ("max_turns: -2", "max_turns", -1),
        ("model: { thinking_level: huge }", "thinking_level", "medium"),
        ("model: text", "model_max_tokens", 32_000),
        ("name: 5", "name", "a"),
    ],
)
def test_an_unusable_value_becomes_the_default_and_is_told(line: str, field: str, value: object) -> None:
    config = parse_config(f"system_prompt: x\n{line}\n", "a", Path("c.yaml"))
    assert getattr(config, field) == value
    assert len(config.diagnostics) == 1


@pytest.mark.parametrize("text", ["version: 1\n", "", "- a\n", "system_prompt: 5\n", "a: 1\na: 2\n"])
def test_a_config_without_prompt_or_sense_is_damaged_but_listed(make: Callable[..., AgentPaths], text: str) -> None:
    agent = make(text)
    with pytest.raises(DamagedError):
        read_agent(agent)
    (summary,) = list_agents(agent.project)
    assert summary.problem
    assert summary.name == "a"


def test_an_absent_agent_is_not_found(project: ProjectPaths) -> None:
    with pytest.raises(NotFoundError):
        read_agent(project.agent("none"))
    assert not project.root.exists()


def test_connection_secrets_of_tool_servers_stay_out_of_the_model() -> None:
    text = "system_prompt: x\ntools:\n  mcpServers:\n    - { name: s, env: { KEY: sk-1 }, url: 'http://u:sk-2@h' }\n"
    config = parse_config(text, "a", Path("c.yaml"))
    assert config.mcp_servers == ("s",)
    assert "sk-" not in repr(config) + config.model_dump_json()


def test_an_edit_changes_one_line_and_nothing_else(make: Callable[..., AgentPaths]) -> None:
    agent = make(
        "# top\n" + SAMPLE_TEXT.replace("max_turns: -1", "max_turns: -1   # no limit") + "# end\nmine: [1, 2]\n"
    )
    before = agent.config.read_text()
    config = edit_config(agent, {"version": 3, "max_turns": 40, "model.thinking_level": "high"})
    assert (config.version, config.max_turns, config.thinking_level) == (3, 40, "high")
    expected = before.replace("version: 2\n", "version: 3\n", 1)
    expected = expected.replace("max_turns: -1   #", "max_turns: 40   #").replace("level: medium", "level: high", 1)
    assert agent.config.read_text() == expected
    assert "kernel_version: 2026-08-21\n" in expected


@pytest.mark.parametrize(
    ("before", "changes", "after"),
    [
        ("a: 1\n", {"b": "x"}, "a: 1\nb: x\n"),
        ("a: 1", {"b.c": 2}, "a: 1\nb:\n  c: 2\n"),
        ("m:\n  x: 1\n\n# about n\nn: 2\n", {"m.w": True}, "m:\n  x: 1\n  w: true\n\n# about n\nn: 2\n"),
        ("m:\nn: 1\n", {"m.x": 1}, "m: { x: 1 }\nn: 1\n"),
        ("m:\nn: 1\n", {"m": "t"}, "m: t\nn: 1\n"),
        ("m: { x: 1 } # c\n", {"m.w": "a, b"}, 'm: { x: 1 , w: "a, b"} # c\n'),
        ("m: {}\n", {"m.w": None}, "m: {w: null}\n"),
        ("t: >-\n  old\n  text\n\n# c\nz: 1\n", {"t": "new"}, "t: new\n\n# c\nz: 1\n"),
        ("t: old # c\nz: 1\n", {"t": "two\nlines"}, 't: "two\\nlines" # c\nz: 1\n'),
        ("t: old\nz: 1\n", {"t": "two\nlines"}, "t: |-\n  two\n  lines\nz: 1\n"),
        ("t: 'old'\r\nz: 1\r\n", {"t": "a\nb\n", "w": 1}, "t: |\r\n  a\r\n  b\r\nz: 1\r\nw: 1\r\n"),
        ("l:\n  - a\n  - b\nz: 1\n", {"l": ["c"]}, "l:\n  [c]\nz: 1\n"),
        (
            "# c\nversion: 1\n",
            {"name": "Nora", "description": "D: d"},
            '# c\nname: Nora\ndescription: "D: d"\nversion: 1\n',
        ),
        ("", {"a": 1}, "a: 1\n"),
        ("a: 1\n", {"a": 1}, "a: 1\n"),
        ("a: 1\n", {"a": "1"}, 'a: "1"\n'),
        ("a: 1\n", {"a": 1.5, "b": 2.0}, "a: 1.5\nb: 2\n"),
    ],
)
def test_edits_are_splices(before: str, changes: dict[str, Any], after: str) -> None:
    assert edited(before, changes) == after


@pytest.mark.parametrize(
    ("text", "changes", "error"),
    [
        ("a: &x 1\nb: *x\n", {"b": 2}, DamagedError),
        ("a: &x 1\nb: *x\n", {"a": 2}, DamagedError),
        ("a: text\n", {"a.b": 1}, UsageError),
        ("a: 1\na: 2\n", {"a": 1}, yaml12.YamlError),
        ("- a\n", {"a": 1}, DamagedError),
    ],
)
def test_what_cannot_be_spliced_is_refused(text: str, changes: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        edited(text, changes)


@pytest.mark.parametrize(
    "changes",
    [{"version": 0}, {"version": "two"}, {"model.thinking_level": "huge"}, {"system_prompt": None}, {"max_turns": -5}],
)
def test_an_edit_to_a_value_that_the_format_does_not_take_is_refused(
    make: Callable[..., AgentPaths], changes: dict[str, Any]
) -> None:
    agent = make(SAMPLE_TEXT)
    with pytest.raises(UsageError):
        edit_config(agent, changes)
    assert agent.config.read_text() == SAMPLE_TEXT


def test_the_built_in_config_is_complete_and_names_the_placeholders() -> None:
    config = parse_config(default_config_text(), "a", Path("c.yaml"))
    assert config.diagnostics == ()
    assert [tool.name for tool in config.tools] == [
        "read_file",
        "edit_file",
        "write_file",
        "exec_command",
        "kill_command",
        "run_subagent",
        "input_subagent",
        "kill_subagent",
    ]
    for name in ("AGENTS_MD", "VAULT", "SKILLS", "MEMORY", "SCHEDULES", "PROJECT_DIR", "CWD", "SESSION_ID", "MODEL_ID"):
        assert "{{" + name + "}}" in config.system_prompt
    assert "{{SKILL_METADATA}}" in config.skills.prompt
    assert all(tool.description and tool.parameters["type"] == "object" for tool in config.tools)


def _skill(root: Path, name: str, declared: str | None = None) -> Path:
    (root / name / "scripts").mkdir(parents=True)
    (root / name / "SKILL.md").write_text(f"---\nname: {declared or name}\ndescription: d\n---\nbody\n")
    (root / name / "scripts" / "run.sh").write_text("true\n")
    (root / name / "scripts" / "run.sh").chmod(0o755)
    return root / name


def _new(project: ProjectPaths, agent_id: str = "helper", **more: Any) -> AgentPaths:
    values = {"name": "Helper", "description": "Helps: a lot", "agents_md": "You help.", **more}
    return create_agent(project, agent_id, **values)


def test_a_new_agent_is_whole(project: ProjectPaths, tmp_path: Path) -> None:
    library = tmp_path / "library"
    _skill(library, "from-library")
    agent = _new(
        project,
        thinking_level="high",
        max_turns=8,
        skills=["from-library", _skill(tmp_path / "own", "from-path")],
        library=library,
    )
    config = read_agent(agent)
    assert (config.name, config.description, config.version) == ("Helper", "Helps: a lot", 1)
    assert (config.thinking_level, config.max_turns) == ("high", 8)
    assert "You help." not in config.system_prompt
    assert agent.agents_md.read_text() == "You help.\n"
    assert sorted(path.name for path in agent.skills.iterdir()) == ["from-library", "from-path"]
    assert (agent.skills / "from-path" / "scripts" / "run.sh").stat().st_mode & 0o111
    assert all((agent.state / name).is_dir() for name in ("skills", "memory", "tools"))
    assert agent.scratchpad.is_dir()
    assert sorted(path.name for path in project.agents.iterdir()) == ["helper"]


def test_its_base_is_the_default_agents_config(project: ProjectPaths, make: Callable[..., AgentPaths]) -> None:
    make("# base\nname: Default\nversion: 7\nsystem_prompt: of the base\nmine: kept # so\n", "default_agent")
    agent = _new(project)
    text = agent.config.read_text()
    assert text.startswith('# base\nname: Helper\ndescription: "Helps: a lot"\nversion: 1\n')
    assert "mine: kept # so\n" in text
    assert read_agent(agent).system_prompt == "of the base"


def test_an_agent_is_never_overwritten(project: ProjectPaths) -> None:
    agent = _new(project)
    before = tree_hash(agent.root)
    with pytest.raises(ConflictError):
        _new(project)
    (project.agents / "empty").mkdir()
    with pytest.raises(ConflictError):
        _new(project, "empty")
    assert tree_hash(agent.root) == before


def test_a_failed_creation_leaves_nothing(project: ProjectPaths, tmp_path: Path) -> None:
    linked = _skill(tmp_path, "linked")
    (linked / "out").symlink_to("/etc/passwd")
    for skills in ([linked], ["no-such-skill"], [tmp_path / "none"]):
        with pytest.raises(UsageError):
            _new(project, skills=skills, library=tmp_path / "library")
    assert list(project.agents.iterdir()) == []


@pytest.mark.parametrize(
    "values", [{"agents_md": " "}, {"name": ""}, {"thinking_level": "huge"}, {"agent_id": "a/b"}, {"max_turns": -2}]
)
def test_bad_values_are_refused(project: ProjectPaths, values: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        _new(project, **values)
    assert not project.root.exists()


@pytest.mark.parametrize("name", ["../x", "", "a/b", ".."])
def test_a_library_name_never_leads_out(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError), library_skill(name, tmp_path):
        pass


def test_a_vault_gives_names_and_hidden_values() -> None:
    agent = SAMPLE.agent("csv_helper")
    assert vault_keys(agent) == ("LAB_TOKEN",)
    values = vault_values(agent)
    assert "not-a-real-secret" not in repr(values)
    assert values["LAB_TOKEN"].get_secret_value() == "not-a-real-secret"
    assert vault_keys(SAMPLE.agent("default_agent")) == ()


def test_a_broken_vault_is_told_without_its_content(make: Callable[..., AgentPaths]) -> None:
    agent = make("system_prompt: x\n")
    agent.vault.write_text('KEY = sk-secret "\n')
    with pytest.raises(DamagedError) as refused:
        vault_values(agent)
    assert "sk-secret" not in str(refused.value) + refused.value.hint
