"""No comparison shows a secret: not in MCP connections, not by name, not by shape, on no side, and vaults never."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.state.secrets import hidden
from core.state.statediff import diff, patch

SECRET = "s3cr3t-Value-9876"
CONFIG = f"""\
name: Helper
version: 3
max_turns: 8
model:
  max_tokens: 32000
tools:
  mcpServers:
    - name: files
      transport: stdio
      command: files-server
      args: [--root, data, --api-key, {SECRET}, "--token={SECRET}"]
      env:
        PLAIN: {SECRET}
        BLOCK: |
          {SECRET}
          {SECRET}
    - name: web
      transport: http
      url: https://tools.example/mcp?key={SECRET}
      headers: {{Authorization: "Bearer {SECRET}", X-Any: '{SECRET}'}}
"""


def shown(name: str, text: str) -> str:
    lines = text.splitlines(keepends=True)
    done = hidden(name, lines)
    assert len(done) == len(lines)
    assert [line[-1:] == "\n" for line in done] == [line[-1:] == "\n" for line in lines]
    return "".join(done)


def test_connections_of_mcp_servers_are_hidden_and_the_rest_is_not() -> None:
    text = shown("system_config.yaml", CONFIG)
    assert SECRET not in text
    seen = (
        "max_tokens: 32000",
        "max_turns: 8",
        "command: files-server",
        "--root, data",
        "--api-key",
        "transport: http",
    )
    kept = ("PLAIN: (hidden)", "url: https://tools.example(hidden)", "Authorization: (hidden)")
    for plain in (*seen, *kept):
        assert plain in text


@pytest.mark.parametrize(
    "torn",
    [
        CONFIG.replace("name: web", "name: [web"),
        CONFIG.replace("  mcpServers:", "\t mcpServers:"),
        "a: {\n" + CONFIG,
        f"tools: {{mcpServers: [{{name: x, env: {{A: {SECRET}}}, headers: [",
    ],
)
def test_a_config_that_cannot_be_parsed_shows_no_value_of_a_connection(torn: str) -> None:
    assert SECRET not in shown("system_config.yaml", torn)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("config.yaml", f"api_key: {SECRET}"),
        ("config.yaml", f"  openai-api-key : '{SECRET}'"),
        ("config.toml", f'password = "{SECRET}"'),
        ("a.json", f'{{"client_secret": "{SECRET}", "x": 1}}'),
        ("tools/.env.local", f"export DEPLOY_TOKEN={SECRET}"),
        ("x.json", f'{{"mcpServers": {{"a": {{"env": {{"PLAIN": "{SECRET}"}}}}}}}}'),
        ("AGENTS.md", f"Use api_key={SECRET} for it."),
        ("AGENTS.md", "Say sk-abcdefghijklmnop1234 to it"),
        ("notes.txt", "Authorization: Bearer abcdefghijklmnop1234"),
        ("a.sh", f"curl https://ada:{SECRET}@host/x"),
        ("a.md", "ghp_abcdefghijklmnopqrstuvwxyz0123"),
        ("k.pem", "-----BEGIN RSA PRIVATE KEY-----\nabcdefghijklmnop1234\n-----END RSA PRIVATE KEY-----"),
    ],
)
def test_keys_are_hidden_by_name_and_by_shape(name: str, text: str) -> None:
    done = shown(name, text)
    assert "(hidden)" in done
    assert SECRET not in done
    assert "abcdefghijklmnop" not in done


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("system_config.yaml", "  max_tokens: 32000\n  token_limit: 5\n  keyboard: us\n"),
        ("AGENTS.md", "The token: a word of the text. Password: ask for it. Keys: see below.\n"),
        ("skills/a/SKILL.md", "Sort by key=lambda row: row.name and write secret = none.\n"),
        ("config.yaml", "api_key: ${OPENAI_API_KEY}\nsecret: null\ntoken: ''\n"),
    ],
)
def test_what_is_no_secret_stays_to_be_read(name: str, text: str) -> None:
    assert shown(name, text) == text


def test_env_and_headers_are_hidden_wherever_they_stand_and_parameters_of_that_name_are_not() -> None:
    config = f"""\
tools:
  builtin:
    - name: fetch
      parameters:
        type: object
        properties:
          headers:
            type: object
            description: Sent with the request.
  hooks:
    environment: {{ANY: {SECRET}}}
    before:
      - env:
          PLAIN: &one "{SECRET}"
        again: *one
"""
    text = shown("system_config.yaml", config)
    assert SECRET not in text
    assert "description: Sent with the request." in text
    assert "ANY: (hidden)" in text
    assert SECRET not in shown("x.toml", f'[a]\nenv = {{ A = "{SECRET}" }}\n')


PIECES = st.sampled_from(
    ["mcpServers:", "env:", "headers: {", "}", "- name: a", "  ", "\n", "\n", "\r\n", "\t", "'", '"', "k: v",
     "api_key: x1", "&a", "*a", "|", "[", "]", "-----BEGIN PRIVATE KEY-----", "\ufeff",
     "\u2028", "\x00", "\ud800", ": ", "#"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=25).map("".join), st.sampled_from(["system_config.yaml", "a.json", "AGENTS.md"]))
def test_any_text_keeps_its_lines_and_their_ends(text: str, name: str) -> None:
    lines = text.split("\n")
    whole = [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    done = hidden(name, whole)
    assert [line[len(line.rstrip("\r\n")) :] for line in done] == [line[len(line.rstrip("\r\n")) :] for line in whole]


def test_a_changed_secret_is_seen_to_have_changed_and_not_shown(tmp_path: Path) -> None:
    for side, secret in (("a", SECRET), ("b", SECRET[::-1])):
        (tmp_path / side).mkdir()
        (tmp_path / side / "system_config.yaml").write_text(CONFIG.replace(SECRET, secret))
        (tmp_path / side / ".vault.toml").write_text(f"k = '{secret}'")
        (tmp_path / side / "skills").mkdir()
        (tmp_path / side / "skills" / ".Vault.toml").write_text(f"k = '{secret}'")
    (found,) = diff(tmp_path / "a", tmp_path / "b", with_memory=True)
    assert found.path == "system_config.yaml"
    assert found.hidden
    assert found.added == found.removed > 4
    told = patch([found]) + repr(found.hunks)
    assert SECRET not in told
    assert SECRET[::-1] not in told
    assert "-        PLAIN: (hidden)\n" in told
