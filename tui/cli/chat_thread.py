"""A chat in a thread with an event loop of its own, so that another thread may wait for a line or for Ctrl-C."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass

from core.agents import chat as talk
from core.agents.chat import Chat, ChatSpec
from core.agents.chat_events import ChatEvent, Decided, Ended, WordWaits


@dataclass(frozen=True)
class Failed:
    """The chat ended by an error."""

    error: BaseException


Event = ChatEvent | Failed | None


class Background:
    """The chat in a thread of its own. Invariant: its events come out of `events` in order, `None` after the last."""

    def __init__(self, spec: ChatSpec, wake: Callable[[], None]) -> None:
        self.events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._spec = spec
        self._wake = wake
        self._ready: queue.SimpleQueue[Chat | BaseException] = queue.SimpleQueue()
        self._loop = asyncio.new_event_loop()
        self._leave = asyncio.Event()
        self._thread = threading.Thread(target=self._work, name="chat", daemon=True)

    def start(self) -> Chat:
        """Start the chat; return it when it is ready. Raises what kept it from beginning."""
        self._thread.start()
        first = self._ready.get()
        if isinstance(first, BaseException):
            self._thread.join()
            raise first
        return first

    def do(self, act: Callable[[], None]) -> None:
        """Call something of the chat in its own thread; what it raises is raised here."""

        async def call() -> None:
            act()

        asyncio.run_coroutine_threadsafe(call(), self._loop).result()

    def stop(self) -> None:
        """End the chat's process and wait until nothing of it is left."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._leave.set)
            self._thread.join()

    def _work(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._chat())
        except BaseException as error:
            self._ready.put(error)
            self.events.put(Failed(error))
        finally:
            self.events.put(None)
            self._loop.close()

    async def _chat(self) -> None:
        async with talk.opened(self._spec, self._tell) as chat:
            self._ready.put(chat)
            await self._leave.wait()

    def _tell(self, event: ChatEvent) -> None:
        self.events.put(event)
        if isinstance(event, WordWaits | Decided | Ended):
            self._wake()
