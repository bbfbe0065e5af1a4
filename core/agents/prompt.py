"""The system prompt of a Session, from the agent's template and the files of its state (EVOLUTION 1.4 no. 12, 13).

A template is expanded in one pass: what stands in AGENTS.md, a skill or a memory is text, also where it looks like a
placeholder. The prompts of the blocks (skills, vault, memory, schedules) are templates of their own.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from core.foundation.clock import local_date
from core.foundation.visible import decode
from core.models.interface import ModelRef
from core.skillrepo.document import SkillDocument, installed
from core.skillrepo.retrieval import retrieve
from core.skillrepo.skill import Skill
from core.state.agents import AgentConfig
from core.state.paths import AgentPaths, ProjectPaths
from core.state.vault import vault_keys

_PLACEHOLDER = re.compile(r"\{\{([A-Z_]+)\}\}")
_LONGEST_FILE = 256 << 10  # bytes of one file that a prompt takes


@dataclass(frozen=True, slots=True)
class Environment:
    """The facts of a Session that its prompt may name."""

    project_dir: Path
    agent_id: str
    cwd: Path
    provider: str
    model_id: str
    session_id: str
    date: str
    platform: str
    os_version: str
    shell: str = "/bin/sh"

    def placeholders(self) -> dict[str, str]:
        """Return the environment's placeholders."""
        return {
            "PROJECT_DIR": str(self.project_dir),
            "AGENT_ID": self.agent_id,
            "CWD": str(self.cwd),
            "PROVIDER": self.provider,
            "MODEL_ID": self.model_id,
            "SESSION_ID": self.session_id,
            "DATE": self.date,
            "PLATFORM": self.platform,
            "OS_VERSION": self.os_version,
            "SHELL": self.shell,
        }


def environment_of(
    project: ProjectPaths, agent_id: str, *, workspace: Path, model: ModelRef, session_id: str
) -> Environment:
    """Return the facts of a Session that starts here and now."""
    system = os.uname()
    return Environment(
        project_dir=project.root,
        agent_id=agent_id,
        cwd=workspace,
        provider=model.provider,
        model_id=model.model_id,
        session_id=session_id,
        date=local_date(),
        platform=system.sysname.lower(),
        os_version=system.release,
    )


def assemble_system_prompt(
    agent: AgentPaths, config: AgentConfig, environment: Environment, *, message: str = ""
) -> str:
    """Return the system prompt. A block that is switched off, or has nothing to tell, leaves no trace of itself.

    `message` is what the Session begins with: where the configuration wants skills by search, it is searched for.
    """
    facts = environment.placeholders()
    blocks: Mapping[str, Callable[[], str]] = {
        "AGENTS_MD": lambda: _file(agent.agents_md),
        "SKILLS": lambda: _skills(agent, config, facts, message),
        "VAULT": lambda: _vault(agent, config, facts),
        "MEMORY": lambda: _memory(agent, config, facts, environment.cwd),
        "SCHEDULES": lambda: _schedules(agent, config, facts),
    }
    expanded = _expand(config.system_prompt, facts, blocks)
    return re.sub(r"\n{3,}", "\n\n", expanded).strip() + "\n"


def _expand(template: str, facts: Mapping[str, str], blocks: Mapping[str, Callable[[], str]] | None = None) -> str:
    """Replace the placeholders known here; others stay as they stand."""

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if blocks and name in blocks:
            return blocks[name]()
        return facts.get(name, match[0])

    return _PLACEHOLDER.sub(value, template)


def _skills(agent: AgentPaths, config: AgentConfig, facts: Mapping[str, str], message: str) -> str:
    """Return the block of skills. Chosen by strategies they are behind a tool, and none stands in the prompt (S90)."""
    if not config.skills.enabled or config.skills.selection == "strategy":
        return ""
    every = installed(agent.skills)
    chosen = _found(every, message, config.skills.top_k) if config.skills.selection == "bm25" and message else every
    entries = [
        f"- {skill.name}: {' '.join(skill.description.split())}\n  {agent.skills / skill.name / 'SKILL.md'}"
        for skill in chosen
    ]
    if not every:
        return ""
    if len(chosen) < len(every):
        entries.append(f"({len(chosen)} of {len(every)} installed skills, found by the words of the first message.)")
    return _expand(config.skills.prompt, {**facts, "SKILL_METADATA": "\n".join(entries)})


def _found(every: tuple[SkillDocument, ...], message: str, top_k: int) -> tuple[SkillDocument, ...]:
    """Return the skills that share most with the message, best first; none that shares no word."""
    by_name = {document.name: document for document in every}
    skills = [Skill(one.name, one.description, one.body, one.text) for one in every]
    return tuple(by_name[hit.skill.title] for hit in retrieve(skills, message, top_k=top_k))


def _vault(agent: AgentPaths, config: AgentConfig, facts: Mapping[str, str]) -> str:
    keys = vault_keys(agent) if config.vault.enabled else ()
    listed = "\n".join(f"- {key}" for key in keys)
    return _expand(config.vault.prompt, {**facts, "VAULT_KEYS": listed}) if keys else ""


def _memory(agent: AgentPaths, config: AgentConfig, facts: Mapping[str, str], workspace: Path) -> str:
    if not config.memory.enabled:
        return ""
    memory = agent.state / "memory"
    own = memory / workspace_memory_name(workspace)
    known = {
        **facts,
        "USER_MEMORY_INDEX": _file(memory / "user" / "MEMORY.md"),
        "WORKSPACE_MEMORY_INDEX": _file(own / "MEMORY.md"),
        "WORKSPACE_MEMORY_DIR": str(own),
    }
    parts = [config.memory.prompt]
    if own.is_dir():
        parts.append(config.memory.workspace_prompt)
    return "\n\n".join(_expand(part, known) for part in parts if part)


def workspace_memory_name(workspace: Path) -> str:
    """Return the directory under memory/ that belongs to a Workspace: its name and eight hex digits of its path."""
    real = workspace.resolve()
    return f"{real.name}-{hashlib.sha256(str(real).encode()).hexdigest()[:8]}"


def _schedules(agent: AgentPaths, config: AgentConfig, facts: Mapping[str, str]) -> str:
    if not config.schedules.enabled:
        return ""
    names = sorted(path.stem for path in (agent.state / "schedule").glob("*.toml"))
    listed = "\n".join(f"- {name}" for name in names)
    return _expand(config.schedules.prompt, {**facts, "SCHEDULE_LIST": listed}) if names else ""


def _file(path: Path) -> str:
    """Return a file's text, empty where there is none; of a huge one the head, with a word about it."""
    try:
        with path.open("rb") as file:
            raw = file.read(_LONGEST_FILE + 1)
    except OSError:
        return ""
    text = decode(raw[:_LONGEST_FILE]).removeprefix("\ufeff").strip()
    return text if len(raw) <= _LONGEST_FILE else f"{text}\n[{path.name} is longer than this and was cut here]"
