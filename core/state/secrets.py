"""Secrets in the text of a state, hidden before anyone sees it: MCP connections, keys by name, keys by shape.

Vaults are never read at all; this is for what stands in files that a comparison shows. A line stays a line, so that
numbers and hunks hold. What looks like a secret is hidden, now and then too much; a secret of a shape that nobody
knows, under a name that says nothing, is not found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import yaml

from core.state import yaml12
from core.state.agent_config import HIDDEN

_NAME = (
    r"(?:[\w.-]*?(?:api|access|secret|private|auth|signing|encryption)[_-]?keys?(?:[_-]?id)?|[\w.-]*?(?:token|secret"
    r"|password|passwd|passphrase|credentials?|authorization)|[\w.-]*?_(?:key|pw|pwd)|apikey|bearer|cookie|set-cookie)"
)
_SECRET_NAME = re.compile(rf"(?i)(?:--?)?{_NAME}\Z")
_CONFIG_LINE = re.compile(rf"(?i)(?P<head>(?:^|[\s\"'{{,(])(?:--?|export\s+)?{_NAME}[\"']?\s*[:=]\s*)(?P<value>\S.*)$")
_PROSE_PAIR = re.compile(
    rf"(?i)(?P<head>(?:^|[\s\"'`{{,(])(?:--?)?{_NAME}[\"']?\s*[:=]\s*)"
    r"(?P<value>[\"'`]?(?=[^\s\"'`]*\d)(?=[^\s\"'`]*[A-Za-z])[^\s\"'`,;)}]{12,}[\"'`]?)"
)
_SHAPES = re.compile(
    r"\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bAIza[\w-]{30,}|\bhf_[A-Za-z0-9]{20,}"
    r"|\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*|(?i:\bbearer\s+)[A-Za-z0-9._~+/=-]{12,}"
)
_URL_LOGIN = re.compile(r"(?P<head>\b[a-z][a-z0-9+.-]*://)[^\s/@\"']+@")
_PEM_BEGIN, _PEM_END = (
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
    re.compile(r"-----END [A-Z ]*PRIVATE KEY-----"),
)
_CONFIG_ENDS = (".yaml", ".yml", ".toml", ".json", ".jsonl", ".ini", ".cfg", ".conf", ".env", ".properties")
_BLOCK = re.compile(r"mcpServers|\b(?:env|environment|headers)[\"']?\s*[:=]")
_VALUES = frozenset({"env", "environment", "headers"})
_PUBLIC = frozenset({"name", "transport", "command", "args", "url"})


def hidden(name: str, lines: Sequence[str]) -> list[str]:
    """Return the lines of the file `name` as they may be shown: as many, each with its own end."""
    config = name.lower().endswith(_CONFIG_ENDS) or name.rpartition("/")[2].lower().startswith(".env")
    shown = _connections(lines) if config and any(_BLOCK.search(line) for line in lines) else list(lines)
    in_key = False
    for number, line in enumerate(shown):
        if in_key or _PEM_BEGIN.search(line):
            in_key = not _PEM_END.search(line)
            shown[number] = _whole(line)
        else:
            shown[number] = _named(line, _CONFIG_LINE if config else _PROSE_PAIR)
    return shown


def _named(line: str, rule: re.Pattern[str]) -> str:
    body, end = _split(line)
    match = rule.search(body)
    if match and HIDDEN not in match["value"] and _is_value(match["value"]):
        tail = "," if match["value"].rstrip().endswith(",") else ""
        body = f"{body[: match.start('value')]}{HIDDEN}{tail}{body[match.end('value') :]}"
    return _URL_LOGIN.sub(rf"\g<head>{HIDDEN}@", _SHAPES.sub(HIDDEN, body)) + end


def _is_value(text: str) -> bool:
    """Tell whether a text may be a secret: not a number, a switch, an empty text or the start of a block."""
    bare = text.strip().rstrip(",").strip("\"'")
    return not re.fullmatch(r"(?i)[-+]?[\d._]+|true|false|null|none|~|[|>][-+\d]*|\$\{?\w+\}?|\{\{\w+\}\}|[{\[]|", bare)


def _connections(lines: Sequence[str]) -> list[str]:
    """Hide what an MCP server is reached with; by the tree where the text is YAML, else line by line."""
    text = "".join(lines)
    try:
        root = yaml12.compose(text, exact=True)
    except yaml12.YamlError:
        return _torn(lines)
    spans = sorted(_secret_spans(root)) if root is not None else []
    shown = list(text)
    for start, end in spans:
        for at in range(start, end):
            if shown[at] not in ("\n", "\r"):
                shown[at] = "\0"
    # One stand-in for each part of a line that is hidden, whatever its length: a length tells something too.
    return [re.sub("\0+", HIDDEN, line) for line in _cut("".join(shown), lines)]


def _cut(text: str, like: Sequence[str]) -> Iterator[str]:
    at = 0
    for line in like:
        yield text[at : at + len(line)]
        at += len(line)


def _secret_spans(root: yaml.Node) -> Iterator[tuple[int, int]]:
    """Yield the places (characters) of what is secret in a document: every connection, every `env` and `headers`."""
    todo: list[tuple[yaml.Node, bool]] = [(root, False)]
    seen: set[int] = set()
    while todo:
        node, described = todo.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            todo += [(child, described) for child in node.value]
        elif isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                name = getattr(key, "value", "")
                if name == "mcpServers":
                    yield from _of_servers(value)
                elif name in _VALUES and not described:
                    yield from _scalars(value)
                else:
                    # What stands below `properties` describes a parameter of that name and is no value of it.
                    todo.append((value, name == "properties"))


def _of_servers(servers: yaml.Node) -> Iterator[tuple[int, int]]:
    # A list of servers with names as here, or a mapping of name to server as other tools write it.
    listed = [value for _, value in servers.value] if isinstance(servers, yaml.MappingNode) else servers.value
    for server in listed if isinstance(listed, list) else [servers]:
        if not isinstance(server, yaml.MappingNode):
            yield from _scalars(server)
            continue
        for key, value in server.value:
            name = getattr(key, "value", "")
            if name == "args" and isinstance(value, yaml.SequenceNode):
                yield from _of_arguments(value.value)
            elif name == "url" and isinstance(value, yaml.ScalarNode):
                yield from _of_address(value)
            elif name not in _PUBLIC:
                yield from _scalars(value)


def _of_arguments(values: Sequence[yaml.Node]) -> Iterator[tuple[int, int]]:
    before = ""
    for node in values:
        word = node.value if isinstance(node, yaml.ScalarNode) else ""
        name, equals, _ = word.partition("=")
        if not word or _SECRET_NAME.match(before) or (equals and _SECRET_NAME.match(name)):
            yield from _scalars(node)
        before = word


def _of_address(node: yaml.ScalarNode) -> Iterator[tuple[int, int]]:
    start, end = node.start_mark.index, node.end_mark.index
    host = re.match(r"[a-z]+://[A-Za-z0-9.-]+(?::\d+)?(?=/|\Z)", node.value)
    plain = host is not None and node.style is None  # a plain scalar stands in the file as it reads
    yield (start + (host.end() if plain and host else 0), end)


def _scalars(node: yaml.Node) -> Iterator[tuple[int, int]]:
    """Yield where the values of a node stand; the names in a mapping are left to be read."""
    if isinstance(node, yaml.ScalarNode):
        start, end = node.start_mark.index, node.end_mark.index
        if end > start:
            yield start, end
    elif isinstance(node, yaml.SequenceNode):
        for child in node.value:
            yield from _scalars(child)
    elif isinstance(node, yaml.MappingNode):
        for _, value in node.value:
            yield from _scalars(value)


def _torn(lines: Sequence[str]) -> list[str]:
    """Hide every value below `mcpServers`, `env` and `headers` in a text that can't be parsed."""
    shown: list[str] = []
    depth: int | None = None
    for line in lines:
        indent = len(line) - len(line.lstrip(" "))
        if depth is not None and line.strip() and indent <= depth and not line.lstrip().startswith(("-", "}", "]")):
            depth = None
        if depth is not None:
            body, end = _split(line)
            match = re.match(r"(\s*(?:-\s+)?[\"']?[\w.-]+[\"']?\s*:)\s*\S", body)
            public = re.match(r"\s*(?:-\s+)?[\"']?(?:name|transport|command)[\"']?\s*:", body)
            line = line if public or not body.strip() else f"{match[1]} {HIDDEN}{end}" if match else _whole(line)
        elif block := _BLOCK.search(line):
            depth = indent
            body, end = _split(line)
            head, rest = body[: block.end()], body[block.end() :]
            if rest.strip(" :=\"'"):
                line = f"{head}{'' if head.endswith((':', '=')) else ':'} {HIDDEN}{end}"
        shown.append(line)
    return shown


def _whole(line: str) -> str:
    body, end = _split(line)
    return f"{body[: len(body) - len(body.lstrip())]}{HIDDEN}{end}" if body.strip() else line


def _split(line: str) -> tuple[str, str]:
    body = line.rstrip("\r\n")
    return body, line[len(body) :]
