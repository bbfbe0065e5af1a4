"""The system prompt: one pass, blocks that vanish when empty, and no secret in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.agents.prompt import Environment, assemble_system_prompt, environment_of, workspace_memory_name
from core.models.interface import ModelRef
from core.state.agent_config import parse_config
from core.state.paths import AgentPaths, ProjectPaths

TEMPLATE = """\
version: 1
system_prompt: |
  Start {{AGENT_ID}} {{UNKNOWN}} {{DATE}}.

  {{AGENTS_MD}}

  {{SKILLS}}

  {{VAULT}}

  {{MEMORY}}

  {{SCHEDULES}}

  End {{CWD}} {{PROJECT_DIR}} {{PROVIDER}}/{{MODEL_ID}} {{SESSION_ID}} {{PLATFORM}} {{SHELL}}
skills: {enabled: true, prompt: "SKILLS of {{AGENT_ID}}:\\n{{SKILL_METADATA}}"}
vault: {enabled: true, prompt: "VAULT:\\n{{VAULT_KEYS}}"}
memory: {enabled: true, prompt: "MEMORY:\\n{{USER_MEMORY_INDEX}}", workspace_prompt: "HERE {{WORKSPACE_MEMORY_INDEX}}"}
schedules: {enabled: true, prompt: "SCHEDULES:\\n{{SCHEDULE_LIST}}"}
"""


@pytest.fixture
def agent(tmp_path: Path) -> AgentPaths:
    made = ProjectPaths(tmp_path / "p").agent("a1")
    made.state.mkdir(parents=True)
    made.config.write_text(TEMPLATE)
    return made


def prompt(agent: AgentPaths, workspace: Path, template: str = TEMPLATE, message: str = "") -> str:
    environment = environment_of(
        agent.project, "a1", workspace=workspace, model=ModelRef("prov", "mod"), session_id="session-1"
    )
    return assemble_system_prompt(agent, parse_config(template, "a1", agent.config), environment, message=message)


def test_an_empty_agent_has_facts_and_no_empty_blocks(agent: AgentPaths, tmp_path: Path) -> None:
    text = prompt(agent, tmp_path)
    assert text.startswith("Start a1 {{UNKNOWN}} 20")
    assert f"End {tmp_path} {agent.project.root} prov/mod session-1 linux /bin/sh" in text
    assert "SKILLS" not in text
    assert "VAULT" not in text
    assert "SCHEDULES" not in text
    assert "\n\n\n" not in text


def test_what_files_hold_is_text_and_no_template(agent: AgentPaths, tmp_path: Path) -> None:
    agent.agents_md.write_text("\ufeffRules {{CWD}} {{SKILLS}} {{VAULT_KEYS}}\n")
    skill = agent.skills / "csv-work"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: csv-work\ndescription: For CSV {{CWD}}\n---\nBody.\n")
    text = prompt(agent, tmp_path)
    assert "Rules {{CWD}} {{SKILLS}} {{VAULT_KEYS}}" in text
    assert f"SKILLS of a1:\n- csv-work: For CSV {{{{CWD}}}}\n  {skill}/SKILL.md" in text


def test_skills_may_be_found_by_the_first_message(agent: AgentPaths, tmp_path: Path) -> None:
    for name, about in (("csv-work", "Clean CSV tables"), ("letters", "Write letters"), ("logs", "Read server logs")):
        (agent.skills / name).mkdir(parents=True)
        (agent.skills / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {about}\n---\nBody.\n")
    template = TEMPLATE.replace("skills: {enabled: true", "skills: {enabled: true, selection: bm25, top_k: 1")
    text = prompt(agent, tmp_path, template, "Which servers failed? Look at the logs, not at the letters of logs.")
    assert "- logs: Read server logs" in text
    assert "csv-work" not in text
    assert "(1 of 3 installed skills, found by the words of the first message.)" in text
    assert "csv-work" in prompt(agent, tmp_path, TEMPLATE, "logs")
    assert "(0 of 3 installed" in prompt(agent, tmp_path, template, "zzz")


@pytest.mark.meets("S90")
def test_skills_behind_strategies_leave_no_word_in_the_prompt(agent: AgentPaths, tmp_path: Path) -> None:
    (agent.skills / "csv-work").mkdir(parents=True)
    (agent.skills / "csv-work" / "SKILL.md").write_text("---\nname: csv-work\ndescription: D\n---\nBody.\n")
    template = TEMPLATE.replace("skills: {enabled: true", "skills: {enabled: true, selection: strategy")
    assert "csv-work" not in prompt(agent, tmp_path, template)
    assert parse_config(template, "a1", agent.config).diagnostics == ()
    odd = parse_config(
        TEMPLATE.replace("skills: {enabled: true", "skills: {enabled: true, selection: x"), "a1", agent.config
    )
    assert odd.skills.selection == "all"
    assert "selection = 'x' is none of all, bm25, strategy" in str(odd.diagnostics[0])


def test_of_the_vault_only_names(agent: AgentPaths, tmp_path: Path) -> None:
    agent.vault.write_text('TOKEN = "hidden-value"\n')
    text = prompt(agent, tmp_path)
    assert "VAULT:\n- TOKEN" in text
    assert "hidden-value" not in text
    off = TEMPLATE.replace("vault: {enabled: true", "vault: {enabled: false")
    assert "TOKEN" not in prompt(agent, tmp_path, off)


def test_memory_and_schedules(agent: AgentPaths, tmp_path: Path) -> None:
    for name, said in (("user", "of the user"), (workspace_memory_name(tmp_path), "of this place")):
        (agent.state / "memory" / name).mkdir(parents=True)
        (agent.state / "memory" / name / "MEMORY.md").write_text(said)
    (agent.state / "schedule").mkdir()
    (agent.state / "schedule" / "nightly.toml").write_text("")
    text = prompt(agent, tmp_path)
    assert "MEMORY:\nof the user\n\nHERE of this place" in text
    assert "SCHEDULES:\n- nightly" in text


def test_a_huge_file_is_cut_with_a_word(agent: AgentPaths, tmp_path: Path) -> None:
    agent.agents_md.write_text("x" * 1_000_000)
    text = prompt(agent, tmp_path)
    assert len(text) < 300_000
    assert "AGENTS.md is longer than this and was cut here" in text


def test_every_placeholder_of_the_environment_is_there() -> None:
    facts = Environment(Path("/p"), "a", Path("/w"), "prov", "mod", "s", "2026-01-01", "linux", "6").placeholders()
    named = "PLATFORM OS_VERSION SHELL DATE PROJECT_DIR AGENT_ID CWD PROVIDER MODEL_ID SESSION_ID"
    assert set(facts) == set(named.split())
