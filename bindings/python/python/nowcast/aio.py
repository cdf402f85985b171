"""Channels for asyncio. No call starts a thread, and none blocks the loop.

The loop polls the descriptor of a channel while a task receives. Replies to commands, and puts that wait for space, come from one
thread of the library by `call_soon_threadsafe`. Only `connect` and `Service.accept` use the executor of the loop.
"""

import asyncio
import contextlib
from collections import deque
from typing import Any, Self

from . import _nowcast
from ._nowcast import Message

__all__ = ["Channel", "Service", "World", "advertise", "connect"]


class Channel:
    """A channel whose calls are awaited. Use it in one event loop."""

    def __init__(self, channel: _nowcast.Channel) -> None:
        self._channel = channel
        self._waiting: deque[asyncio.Future[Message]] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def blocking(self) -> _nowcast.Channel:
        """The same channel for threads."""
        return self._channel

    async def state(self, key: int, data: Any, *, lane: int = 0) -> None:
        """Puts the newest value of `key`. Waits only if the key is new and the lane full."""
        try:
            self._channel.state(key, data, lane=lane, timeout=0.0)
        except TimeoutError:
            await self._completed(self._channel._put, key, data, lane)

    async def event(self, data: Any, *, lane: int = 0) -> None:
        """Puts an event. Waits while the lane is full."""
        try:
            self._channel.event(data, lane=lane, timeout=0.0)
        except TimeoutError:
            await self._completed(self._channel._put, None, data, lane)

    async def command(self, data: Any, *, timeout: float = 5.0, lane: int = 0) -> bytes:
        """Puts a command, and waits for its reply."""
        return await self._completed(self._channel._command, data, timeout, lane)

    def reply(self, command: Message, data: Any) -> None:
        """Answers a command."""
        self._channel.reply(command, data)

    async def receive(self) -> Message:
        """Waits for the next message, and receives it. Tasks receive in the order of their calls."""
        if not self._waiting and (message := self._channel.try_receive()) is not None:
            return message
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Message] = loop.create_future()
        if not self._waiting:
            self._loop = loop
            loop.add_reader(self._channel.fileno(), self._readable)
        self._waiting.append(future)
        return await future

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Message:
        try:
            return await self.receive()
        except _nowcast.Closed:
            raise StopAsyncIteration from None

    async def drained(self) -> None:
        """Waits until all messages put before have arrived at the peer."""
        await self._completed(self._channel._drained)

    def close(self, code: int = 0, reason: str = "") -> None:
        """Closes the channel at once. Tasks that receive get `nowcast.Closed`."""
        self._channel.close(code, reason)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Waits up to 5 s until all messages have arrived, and closes the channel."""
        with contextlib.suppress(TimeoutError, _nowcast.Error):
            await asyncio.wait_for(self.drained(), 5.0)
        self.close()

    def _readable(self) -> None:
        while self._waiting:
            future = self._waiting[0]
            if future.done():  # its task was cancelled
                self._waiting.popleft()
                continue
            try:
                message = self._channel.try_receive()
            except BaseException as error:
                self._waiting.popleft()
                future.set_exception(error)
                continue
            if message is None:
                return
            self._waiting.popleft()
            future.set_result(message)
        if self._loop is not None:
            self._loop.remove_reader(self._channel.fileno())

    async def _completed(self, begin: Any, *arguments: Any) -> bytes:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[bytes] = loop.create_future()

        def done(value: bytes, error: BaseException | None) -> None:
            if future.done():
                return
            if error is None:
                future.set_result(value)
            else:
                future.set_exception(error)

        begin(loop, done, *arguments)
        return await future


class World:
    """A client of a world. Use it in one event loop, and receive its updates in one task."""

    def __init__(
        self, channel: Channel, name: str, *, program: bool = False, predict: bool = False, key: bytes | None = None
    ) -> None:
        self._channel = channel.blocking
        self._world = _nowcast.World(self._channel, name, program=program, predict=predict, key=key)

    @property
    def view(self) -> _nowcast.World:
        """The world for all calls that never wait: entities, players, input, actions."""
        return self._world

    async def update(self) -> tuple[str, int, Any]:
        """Waits for the next message of the server, and handles it. Returns the change as `nowcast.World.update` does."""
        while (change := self._world.update()) is None:
            loop = asyncio.get_running_loop()
            readable: asyncio.Future[None] = loop.create_future()
            descriptor = self._channel.fileno()
            loop.add_reader(descriptor, lambda: readable.done() or readable.set_result(None))
            try:
                # A message that came before the descriptor existed made it readable.
                await readable
            finally:
                loop.remove_reader(descriptor)
        return change

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> tuple[str, int, Any]:
        try:
            return await self.update()
        except _nowcast.Closed:
            raise StopAsyncIteration from None


class Service:
    """An advertised name."""

    def __init__(self, service: _nowcast.Service) -> None:
        self._service = service

    async def accept(self) -> Channel:
        """Waits for the next program that connects. The wait is in the executor, in slices, so that it can be cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                return Channel(await loop.run_in_executor(None, self._service.accept, 0.2))
            except TimeoutError:
                continue


def advertise(name: str) -> Service:
    """Advertises a name to the programs of this user on this machine."""
    return Service(_nowcast.advertise(name))


async def connect(address: str, timeout: float = 0.0) -> Channel:
    """Connects to a name on this machine, or to `nowcast://HOST:PORT/NAME`."""
    loop = asyncio.get_running_loop()
    return Channel(await loop.run_in_executor(None, _nowcast.connect, address, timeout))
