"""Chat completions over HTTP: OpenAI's, and every server that speaks the same.

The key travels in the Authorization header alone: no error, log or representation holds it, and should a server
send it back in an error's text, it is cut out there.
"""

from __future__ import annotations

import email.utils
import json
import math
import time
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

from core.foundation.visible import visible_line

from .interface import Finished, ProviderError, Request, StreamEvent, ToolCall
from .openai_format import Assembly, body_of
from .secret import SecretLike
from .sse import StreamTooLongError, events

if TYPE_CHECKING:
    import httpx

DEFAULT_BASE_URL = "https://api.openai.com/v1"
_ERROR_TEXT = 500  # characters of a server's own words in an error
_ERROR_BYTES = 64 << 10
_CONNECT_S = 15.0
_GONE_WORDS = ("decommissioned", "deprecated", "does not exist", "not found", "no longer available")


class OpenAIProvider:
    """One server. It keeps connections, nothing of a conversation; `extra` are fields put into every body."""

    def __init__(
        self,
        base_url: str | None = None,
        api_key: SecretLike | None = None,
        *,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self.base_url = (base_url or DEFAULT_BASE_URL).rstrip("/")
        self._key = api_key
        self._extra = dict(extra or {})
        self._client: httpx.AsyncClient | None = None

    def __repr__(self) -> str:
        return f"OpenAIProvider({self.base_url!r})"

    def prepare(self) -> None:
        """Load the client and its certificates now: a process that is about to confine itself cannot later."""
        if self._client is None:
            import httpx

            self._client = httpx.AsyncClient(
                follow_redirects=False,  # a redirect would carry the key to wherever it points
                timeout=httpx.Timeout(120.0, connect=_CONNECT_S),
            )

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """Send the request and yield its reply as it comes.

        Raises ProviderError: auth (401, 403) and a bad or outdated request (400, 404, 410, 422) are permanent; 408,
        429, server errors and broken connections are not. `timeout_s` bounds the silence between two pieces.
        """
        import httpx

        self.prepare()
        assert self._client is not None
        headers = {"Accept": "text/event-stream", "User-Agent": "exuvia"}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {_header_value(self._key)}"
        try:
            async with self._client.stream(
                "POST",
                f"{self.base_url}/chat/completions",
                json=body_of(request, self._extra),
                headers=headers,
                timeout=httpx.Timeout(request.timeout_s, connect=min(_CONNECT_S, request.timeout_s)),
            ) as response:
                if response.status_code != httpx.codes.OK:
                    raise self._refused(response, await _some(response))
                async for event in self._reply(response, request):
                    yield event
        except httpx.TimeoutException as error:
            raise ProviderError(
                f"{self._host()} was silent for too long ({type(error).__name__}).", status="timeout"
            ) from error
        except httpx.HTTPError as error:
            raise ProviderError(self._clean(f"{self._host()}: {type(error).__name__} {error}".strip())) from error
        except (httpx.InvalidURL, ValueError) as error:
            raise ProviderError(
                f"The request could not be made ({type(error).__name__}).",
                permanent=True,
                hint="Check the model's base_url in the project's configuration.",
            ) from error

    async def _reply(self, response: httpx.Response, request: Request) -> AsyncIterator[StreamEvent]:
        assembly = Assembly(message.call_id for message in request.messages if isinstance(message, ToolCall))
        try:
            if "json" in response.headers.get("content-type", ""):
                whole = (await response.aread()).decode("utf-8", errors="replace")
                for event in assembly.feed(self._chunk(whole)):
                    yield event
            else:
                async for data in events(response.aiter_bytes()):
                    if data.strip() == "[DONE]":
                        break
                    for event in assembly.feed(self._chunk(data)):
                        yield event
        except StreamTooLongError as error:
            raise ProviderError(f"{self._host()}: {error}", status="malformed") from error
        for event in assembly.finish():
            yield event
        yield Finished(assembly.usage)

    def _chunk(self, data: str) -> Mapping[str, Any]:
        try:
            chunk = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise ProviderError(f"{self._host()} sent a piece that is no JSON.", status="malformed") from error
        if not isinstance(chunk, Mapping):
            raise ProviderError(f"{self._host()} sent a piece that is no object.", status="malformed")
        if chunk.get("error"):
            raise ProviderError(self._clean(f"{self._host()}: {_message_of(chunk)}"))
        return chunk

    def _refused(self, response: httpx.Response, raw: bytes) -> ProviderError:
        status = response.status_code
        text = raw.decode("utf-8", errors="replace")
        try:
            said = _message_of(json.loads(text))
        except (ValueError, RecursionError):
            said = text
        message = self._clean(f"{status} {said}".strip())
        if status in {401, 403}:
            return ProviderError(message, status="auth", permanent=True, hint="Check the key of this model.")
        if status in {404, 410} or (status == 400 and any(word in said.lower() for word in _GONE_WORDS)):
            return ProviderError(
                message, permanent=True, hint="Check the model id and the base_url; it may be retired."
            )
        if status == 408 or status in {503, 504}:
            return ProviderError(message, status="timeout", retry_after_s=_retry_after(response.headers))
        if status == 429 or status >= 500:
            quota = "insufficient_quota" in text
            return ProviderError(message, permanent=quota, retry_after_s=_retry_after(response.headers))
        return ProviderError(message, permanent=True)

    def _host(self) -> str:
        # Without user info: a key may stand there.
        return self.base_url.split("://", 1)[-1].split("/", 1)[0].rsplit("@", 1)[-1]

    def _clean(self, text: str) -> str:
        if self._key is not None:
            text = text.replace(self._key.get_secret_value().strip() or "\0", "[redacted]")
        return visible_line(text)[:_ERROR_TEXT]


def _header_value(key: SecretLike) -> str:
    """Return the key as a header takes it; checked here, for a client's error would quote what it could not send."""
    value = key.get_secret_value().strip()
    if not value or not value.isascii() or not value.isprintable():
        raise ProviderError(
            "The model's key is empty or holds characters that no header takes.", status="auth", permanent=True
        )
    return value


async def _some(response: httpx.Response) -> bytes:
    """Return the head of an error's body; a server that sends endless ones is cut short."""
    raw = bytearray()
    async for piece in response.aiter_bytes():
        raw += piece
        if len(raw) >= _ERROR_BYTES:
            break
    return bytes(raw[:_ERROR_BYTES])


def _message_of(document: object) -> str:
    """Return what an error document says, in the spellings that are in use."""
    if not isinstance(document, Mapping):
        return str(document)
    error = document.get("error", document)
    if isinstance(error, Mapping):
        for name in ("message", "detail", "code", "type"):
            if isinstance(error.get(name), str) and error[name]:
                return str(error[name])
        return json.dumps(error, ensure_ascii=False)
    return str(error)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds a server asks to wait: `retry-after-ms`, `Retry-After` as seconds or as a date."""
    milliseconds = _seconds(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _seconds(value)
    if seconds is not None or value is None:
        return seconds
    try:
        moment = email.utils.parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(moment.timestamp() - time.time(), 0.0)


def _seconds(value: str | None) -> float | None:
    try:
        seconds = float(value) if value is not None else math.nan
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
