"""The models of a project: configured how, with a key, and whether their servers answer.

A key is sent to the address that the operator configured for it and to no other, and never printed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from core.foundation import strict_json
from core.foundation.errors import ExuviaError
from core.state.paths import ProjectPaths
from tui.cli.doctor.findings import Finding

if TYPE_CHECKING:
    from core.models.route import Route

ANSWER_S = 4.0
_MOST_BYTES = 4 << 20


def configured(project: ProjectPaths) -> Iterator[Finding]:
    """Look at the project's file; nothing is sent anywhere."""
    from core.state.project import credential, read_project

    if not project.config.is_file():
        return
    try:
        config = read_project(project)
    except ExuviaError as error:
        yield Finding("project", "bad", str(error), error.hint or "Mend the file.")
        return
    for diagnostic in config.diagnostics:
        yield Finding("project", "warn", str(diagnostic), f"Mend it in {project.config}.")
    keyless = []
    for model in config.models:
        pair = f"{model.ref.provider} / {model.ref.model_id}"
        if model.ref.provider == "rehearsal":
            yield Finding("model", "ok", f"{pair}: built in, offline")
        elif credential(project, model.ref.provider, model.ref.model_id) is None:
            keyless.append(pair)
        elif model.price is None:
            yield Finding("model", "warn", f"{pair}: key set, no price: costs will be unknown",
                          f"Add its price to {project.config} to see costs and budget money.")  # fmt: skip
        else:
            yield Finding("model", "ok", f"{pair}: key set, priced")
    if keyless:
        yield Finding("model", "ok", f"without a key: {', '.join(keyless)}",
                      f"To use one, set its key in {project.config} or the environment.")  # fmt: skip


def reachable(project: ProjectPaths, *, every: bool = False) -> tuple[Finding, ...]:
    """Ask providers for their lists of models, all at once; a few seconds at most.

    Asked are those that the operator has given a key, and that of the default model; with `every`, all that the file
    names. A fault of the default model's is "bad", of another's it is not.
    """
    servers = [server for server in _servers(project) if every or server.meant or server.default]
    if not servers:
        return ()
    with ThreadPoolExecutor(max_workers=8, thread_name_prefix="provider") as pool:
        return tuple(pool.map(_asked, servers))


@dataclass(frozen=True)
class Server:
    """One server of one provider: the models expected there, a way to one of them, whether the default model is one."""

    provider: str
    address: str
    models: tuple[str, ...]
    route: Route
    default: bool

    @property
    def meant(self) -> bool:
        """Whether somebody gave it a key."""
        return self.route.key is not None

    @property
    def where(self) -> str:
        """How it is named to a person; an account or query in its address may be secret and is left out."""
        parts = urlsplit(self.address)
        return f"{self.provider} at {parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    def unusable(self, found: str, fix: str) -> Finding:
        return Finding("provider", "bad" if self.default else "warn", found, fix)


def _servers(project: ProjectPaths) -> Sequence[Server]:
    from core.models.openai import DEFAULT_BASE_URL
    from core.models.registry import route_of
    from core.state.project import read_project

    servers: dict[tuple[str, str], Server] = {}
    if not project.config.is_file():
        return ()
    try:
        config = read_project(project)
    except ExuviaError:
        return ()  # `configured` has said it
    for model in config.models:
        if model.ref.provider == "rehearsal":
            continue
        try:
            route = route_of(project, model.ref.provider, model.ref.model_id)
        except ExuviaError:
            continue  # cannot be spoken to; the command that wants it says why
        address = (route.base_url or DEFAULT_BASE_URL).rstrip("/")
        known = servers.get((model.ref.provider, address))
        names = (*(known.models if known else ()), model.ref.model_id)
        default = model.ref == config.default_model or (known is not None and known.default)
        if known is not None and known.meant:
            route = known.route  # one of its models has a key; ask with that
        servers[model.ref.provider, address] = Server(model.ref.provider, address, names, route, default)
    return tuple(servers.values())


def _asked(server: Server) -> Finding:
    import httpx

    headers = {"Accept": "application/json", "User-Agent": "exuvia"}
    if server.route.key is not None and (value := server.route.key.get_secret_value().strip()):
        headers["Authorization"] = f"Bearer {value}"
    began = time.monotonic()
    try:
        # No redirect is followed: the key is for this address.
        with (
            httpx.Client(timeout=httpx.Timeout(ANSWER_S), follow_redirects=False) as client,
            client.stream("GET", f"{server.address}/models", headers=headers) as response,
        ):
            raw = bytearray()
            for piece in response.iter_bytes():
                raw += piece
                if len(raw) > _MOST_BYTES or time.monotonic() - began > ANSWER_S:
                    break
            return judged(server, response.status_code, bytes(raw), time.monotonic() - began)
    except httpx.TimeoutException:
        return server.unusable(f"{server.where} does not answer within {ANSWER_S:g} s",
                               "Check the network, a proxy (HTTPS_PROXY) and base_url.")  # fmt: skip
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        # The kind alone: the text of such an error may hold a header.
        return server.unusable(f"{server.where} cannot be reached ({type(error).__name__})",
                               "Is the server up, and base_url in the project's file right?")  # fmt: skip


def judged(server: Server, status: int, raw: bytes, elapsed_s: float) -> Finding:
    """Judge what a server said when it was asked for its models (pure)."""
    where, models = server.where, server.models
    if status in {401, 403}:
        key = "refuses the key" if server.meant else "wants a key"
        return server.unusable(f"{where} {key} ({status})", "Set a valid key in the project's file or the environment.")
    if status >= 500:
        return Finding("provider", "warn", f"{where} is in trouble itself ({status})", "Try again later.")
    if status in {301, 302, 307, 308}:
        return Finding(
            "provider", "warn", f"{where} points elsewhere ({status})", "Put the final address into base_url."
        )
    said = f"{where} answers in {elapsed_s * 1000:.0f} ms"
    listed = _listed(raw) if status == 200 else frozenset()
    missing = [name for name in models if listed and name not in listed and f"models/{name}" not in listed]
    if missing:
        return Finding("provider", "warn", f"{said} and does not list {', '.join(missing)}",
                       "Check the model's id: it may be misspelt, retired or not yours.")  # fmt: skip
    return Finding("provider", "ok", said if listed else f"{said} (without a list of models)")


def _listed(raw: bytes) -> frozenset[str]:
    try:
        document = strict_json.parse(raw)
    except ValueError:
        return frozenset()
    entries = document.get("data") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        return frozenset()
    return frozenset(entry["id"] for entry in entries if isinstance(entry, dict) and isinstance(entry.get("id"), str))
