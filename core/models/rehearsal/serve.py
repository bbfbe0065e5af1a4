"""The rehearsal model behind a real HTTP server on loopback, in the chat-completions format.

    python -P -m core.models.rehearsal.serve --port 8800

It exists to try the `openai` provider, and any other client, against a model whose replies are known.
"""

from __future__ import annotations

import argparse
import asyncio
import hmac
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from core.models.interface import Finished, Item, ProviderError, Request, Usage
from core.models.rehearsal.chat import ChatError, chunks, completion, request_of
from core.models.rehearsal.options import DEFAULT_SEED, RehearsalOptions
from core.models.rehearsal.provider import MODEL_IDS, RehearsalProvider
from core.models.rehearsal.transcript import Reply

_BODY_LIMIT = 64 << 20  # bytes of one request


class _Server(ThreadingHTTPServer):
    """Invariant: one provider for the server's life, so that its counters of faults go on from request to request."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], options: RehearsalOptions, api_key: str | None, usage: bool) -> None:
        super().__init__(address, _Handler)
        self.provider = RehearsalProvider(options)
        self.api_key = api_key
        self.tells_usage = usage

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is its own affair."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """Answers GET /v1/models and POST /v1/chat/completions."""

    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        if not self._admitted():
            return
        if urlsplit(self.path).path.rstrip("/") != "/v1/models":
            self._error(HTTPStatus.NOT_FOUND, "not_found", f"There is nothing at {self.path}.")
            return
        models = [{"id": name, "object": "model", "created": 0, "owned_by": "rehearsal"} for name in MODEL_IDS]
        self._json(HTTPStatus.OK, json.dumps({"object": "list", "data": models}))

    def do_POST(self) -> None:
        body = self._body()
        if body is None or not self._admitted():
            return
        if urlsplit(self.path).path.rstrip("/") != "/v1/chat/completions":
            self._error(HTTPStatus.NOT_FOUND, "not_found", f"There is nothing at {self.path}.")
            return
        try:
            document = json.loads(body)
            if not isinstance(document, dict):
                raise ChatError("the body is no object")
            request = request_of(document)
        except (ValueError, TypeError, AttributeError) as error:
            self._error(HTTPStatus.BAD_REQUEST, "invalid_request_error", str(error))
            return
        if request.model.model_id not in MODEL_IDS:
            message = f"The model {request.model.model_id!r} does not exist."
            self._error(HTTPStatus.NOT_FOUND, "model_not_found", message)
            return
        try:
            reply, usage = asyncio.run(_ask(self.server.provider, request))
        except ProviderError as error:
            self._fault(error)
            return
        self._reply(document, request, reply, usage if self.server.tells_usage else None)

    def _body(self) -> bytes | None:
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > _BODY_LIMIT:
            self.close_connection = True
            self._error(HTTPStatus.LENGTH_REQUIRED, "invalid_request_error", "Give a Content-Length of 64 MiB at most.")
            return None
        return self.rfile.read(int(length))

    def _admitted(self) -> bool:
        key = self.server.api_key
        given = self.headers.get("Authorization", "")
        if key is None or hmac.compare_digest(given.encode(), f"Bearer {key}".encode()):
            return True
        self._error(HTTPStatus.UNAUTHORIZED, "invalid_api_key", "The API key is missing or wrong.")
        return False

    def _fault(self, error: ProviderError) -> None:
        if error.retry_after_s is not None:
            after = f"{error.retry_after_s:g}"
            self._error(HTTPStatus.TOO_MANY_REQUESTS, "rate_limit_exceeded", str(error), {"Retry-After": after})
        elif error.permanent:
            self._error(HTTPStatus.BAD_REQUEST, "invalid_request_error", str(error))
        else:
            self._error(HTTPStatus.SERVICE_UNAVAILABLE, "server_error", str(error))

    def _error(self, status: HTTPStatus, code: str, message: str, headers: dict[str, str] | None = None) -> None:
        body = {"error": {"message": message, "type": code, "code": code, "param": None}}
        self._json(status, json.dumps(body), headers)

    def _json(self, status: HTTPStatus, text: str, headers: dict[str, str] | None = None) -> None:
        raw = text.encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def _reply(self, document: dict[str, Any], request: Request, reply: Reply, usage: Usage | None) -> None:
        identifier = f"chatcmpl-{len(request.messages):06d}"
        model = request.model.model_id
        if not document.get("stream"):
            self._json(HTTPStatus.OK, completion(identifier, model, reply, usage))
            return
        options = document.get("stream_options")
        with_usage = isinstance(options, dict) and bool(options.get("include_usage"))
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Cache-Control", "no-cache")
        # Its end is the connection's end: simpler than chunks, and what many servers do.
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        for chunk in chunks(identifier, model, reply, usage, with_usage=with_usage):
            self.wfile.write(f"data: {chunk}\n\n".encode())
            self.wfile.flush()
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- the base class names it so
        """Keep no log: requests hold conversations."""


async def _ask(provider: RehearsalProvider, request: Request) -> tuple[Reply, Usage | None]:
    events = [event async for event in provider.stream(request)]
    usage = next((event.usage for event in events if isinstance(event, Finished)), None)
    return tuple(event.message for event in events if isinstance(event, Item)), usage


@contextmanager
def served(
    options: RehearsalOptions | None = None, *, port: int = 0, api_key: str | None = None, usage: bool = True
) -> Iterator[str]:
    """Serve the model on 127.0.0.1 while the context lasts; gives the base URL (`http://127.0.0.1:PORT/v1`).

    With `api_key` every request must carry it. `usage=False` plays a server that doesn't tell tokens.
    """
    server = _Server(("127.0.0.1", port), options or RehearsalOptions(), api_key, usage)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="rehearsal-serve", daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def main(argv: list[str] | None = None) -> int:
    """Serve until interrupted; the first line on stdout is the base URL."""
    parser = argparse.ArgumentParser(prog="core.models.rehearsal.serve", description="Serve the rehearsal model.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED)
    parser.add_argument("--clumsy", action="store_true", help="break protocol in a quarter of the turns")
    parser.add_argument("--fault", action="append", default=[], metavar="NAME=RATE")
    chosen = parser.parse_args(argv)
    faults = {name: float(rate) for name, _, rate in (fault.partition("=") for fault in chosen.fault)}
    options = RehearsalOptions(seed=chosen.seed, clumsy=chosen.clumsy, faults=faults)
    with served(options, port=chosen.port) as url:
        sys.stdout.write(f"{url}\n")
        sys.stdout.flush()
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            return 130
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
