"""A real HTTP server on loopback that answers chat completions as a test tells it to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Answer:
    """What one request gets: `pieces` as they are, with a pause before each; `cut` breaks the connection off."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "text/event-stream"})
    pieces: list[bytes] = field(default_factory=list)
    pause_s: float = 0.0
    cut: bool = False


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **extra: Any) -> bytes:
    choices = [{"index": 0, "delta": delta or {}, "finish_reason": finish}] if delta is not None or finish else []
    return b"data: " + json.dumps({"choices": choices, **extra}, ensure_ascii=False).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"


@dataclass
class ChatServer:
    base_url: str
    seen: list[tuple[dict[str, str], dict[str, Any]]]


@asynccontextmanager
async def chat_server(
    *answers: Answer, of: Callable[[dict[str, Any]], Answer] | None = None
) -> AsyncIterator[ChatServer]:
    queue = list(answers)
    seen: list[tuple[dict[str, str], dict[str, Any]]] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.decode().split("\r\n")
                headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:] if line)}
                body = json.loads(await reader.readexactly(int(headers["content-length"])))
                seen.append((headers | {":path": lines[0].split()[1]}, body))
                answer = of(body) if of is not None else queue.pop(0)
                fields = "".join(f"{name}: {value}\r\n" for name, value in answer.headers.items())
                writer.write(f"HTTP/1.1 {answer.status} X\r\n{fields}Transfer-Encoding: chunked\r\n\r\n".encode())
                for piece in answer.pieces:
                    if answer.pause_s:
                        await writer.drain()
                        await asyncio.sleep(answer.pause_s)
                    writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                if answer.cut:
                    await writer.drain()
                    return
                writer.write(b"0\r\n\r\n")
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield ChatServer(f"http://127.0.0.1:{port}/v1", seen)
    finally:
        server.close()
