"""Tests of the package with the standard library alone. `cargo xtask test` runs them."""

import asyncio
import dataclasses
import os
import signal
import struct
import subprocess
import sys
import threading
import unittest
from collections.abc import Callable
from typing import Any

import nowcast
from nowcast import aio


def name(purpose: str) -> str:
    return f"python-{purpose}-{os.getpid()}"


def pair(purpose: str) -> tuple[nowcast.Channel, nowcast.Channel]:
    """Returns both ends of a channel. A connection needs a service that accepts, so it is opened in a thread."""
    service, ends = nowcast.advertise(name(purpose)), []
    connecting = threading.Thread(target=lambda: ends.append(nowcast.connect(name(purpose), timeout=10)))
    connecting.start()
    accepted = service.accept(timeout=10)
    connecting.join()
    return accepted, ends[0]


class Channels(unittest.TestCase):
    def test_states_replace_and_events_keep_their_order(self) -> None:
        left, right = pair("states")
        for number in range(100):
            left.state(1, struct.pack("I", number))
        left.event(b"after the states")
        state, event = right.receive(timeout=5), right.receive(timeout=5)
        self.assertEqual((state.kind, state.key, state.data), ("state", 1, struct.pack("I", 99)))
        self.assertEqual((event.kind, event.data, event.key), ("event", b"after the states", None))
        self.assertLess(state.age, 60)
        self.assertIsNone(right.try_receive())

    def test_commands_are_answered(self) -> None:
        left, right = pair("commands")

        def answer() -> None:
            command = right.receive()
            right.reply(command, bytes(command) * 2)

        thread = threading.Thread(target=answer)
        thread.start()
        self.assertEqual(left.command(b"ha"), b"haha")
        thread.join()
        with self.assertRaises(TimeoutError):
            left.command(b"nobody answers", timeout=0.05)

    def test_a_message_is_received_into_a_buffer_of_its_size(self) -> None:
        left, right = pair("into")
        left.event(b"12345678")
        with self.assertRaises(ValueError):
            right.receive_into(bytearray(7), timeout=5)
        place = bytearray(8)
        message = right.receive_into(place, timeout=5)
        self.assertEqual((place, message.data is place), (b"12345678", True))
        with self.assertRaises(TypeError):
            right.receive_into("text", timeout=0)

    def test_bad_input_raises_and_never_ends_the_process(self) -> None:
        left, right = pair("bad")
        wrong: list[tuple[type[Exception], Any]] = [
            (nowcast.Refused, lambda: left.state(0, b"")),
            (nowcast.Refused, lambda: left.state(1, b"", lane=15)),
            (OverflowError, lambda: left.state(-1, b"")),
            (OverflowError, lambda: left.state(1, b"", lane=300)),
            (TypeError, lambda: left.state(1, "text")),
            (TypeError, lambda: left.state(1, None)),
            (nowcast.Refused, lambda: left.event(bytes(8 << 20))),
            (ValueError, lambda: left.receive(timeout=-1)),
            (ValueError, lambda: left.receive(timeout=float("nan"))),
            (TimeoutError, lambda: left.receive(timeout=0)),
            (ValueError, lambda: left.close(5)),
            (ConnectionError, lambda: nowcast.connect("no-such-name-anywhere")),
            (ValueError, lambda: nowcast.connect("no/name at all")),
            (ConnectionError, lambda: nowcast.advertise(".hidden")),
            (ValueError, lambda: nowcast.listen("nowhere")),
            (FileNotFoundError, lambda: nowcast.read_save("/no/such/file")),
            (ValueError, lambda: nowcast.Codec("struct { x }")),
            (ValueError, lambda: nowcast.World(left, "name", key=b"short")),
        ]
        for error, call in wrong:
            with self.assertRaises(error):
                call()
        left.close(64, "enough")
        with self.assertRaises(nowcast.Closed):
            right.receive(timeout=5)

    def test_subscribers_receive_the_newest_value(self) -> None:
        listener = nowcast.listen()
        publisher = listener.publish("tracker")
        publisher.state(1, b"left")
        publisher.state(1, b"up")
        channel = nowcast.connect(f"nowcast://127.0.0.1:{listener.port}/tracker", timeout=10)
        self.assertEqual(channel.receive(timeout=10).data, b"up")
        self.assertEqual(publisher.subscribers, 1)

    def test_a_fork_is_refused(self) -> None:
        left, _right = pair("fork")
        child = os.fork()
        if child == 0:
            try:
                left.state(1, b"")
            except nowcast.Error:
                os._exit(7)
            os._exit(1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 7)
        left.state(1, b"the parent continues")

    def test_the_interpreter_ends_with_open_channels_and_waiting_threads(self) -> None:
        program = (
            "import threading, nowcast, os\n"
            "service = nowcast.advertise(f'exit-{os.getpid()}')\n"
            "connect = lambda: nowcast.connect(f'exit-{os.getpid()}', timeout=10).receive()\n"
            "threading.Thread(target=connect, daemon=True).start()\n"
            "channel = service.accept(timeout=10)\n"
            "channel.fileno()\n"
            "channel.state(1, b'x')\n"
        )
        for _ in range(3):
            self.assertEqual(subprocess.run([sys.executable, "-c", program], timeout=60).returncode, 0)


    def test_the_end_of_a_fork_leaves_the_channels_and_names_of_its_parent(self) -> None:
        program = (
            "import nowcast, os, sys, threading\n"
            "service = nowcast.advertise(f'fork-{os.getpid()}')\n"
            "name, ends = f'fork-{os.getpid()}', []\n"
            "connecting = threading.Thread(target=lambda: ends.append(nowcast.connect(name, timeout=10)))\n"
            "connecting.start()\n"
            "channel = service.accept(timeout=10)\n"
            "connecting.join()\n"
            "if (child := os.fork()) == 0:\n"
            "    sys.exit(3)\n"
            "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3\n"
            "channel.event(b'the parent continues')\n"
            "assert ends[0].receive(timeout=10).data == b'the parent continues'\n"
            "connecting = threading.Thread(target=lambda: ends.append(nowcast.connect(name, timeout=10)))\n"
            "connecting.start()\n"
            "service.accept(timeout=10).event(b'the name is still there')\n"
            "connecting.join()\n"
            "assert ends[1].receive(timeout=10).data == b'the name is still there'\n"
        )
        self.assertEqual(subprocess.run([sys.executable, "-c", program], timeout=60).returncode, 0)


class Signals(unittest.TestCase):
    def test_a_handler_runs_while_a_call_waits_and_may_end_it(self) -> None:
        class Alarm(Exception):
            pass

        def handle(_number: int, _frame: Any) -> None:
            raise Alarm

        left, _right = pair("alarm")
        before = signal.signal(signal.SIGALRM, handle)
        try:
            waits: list[Callable[[], Any]] = [
                left.receive,
                lambda: nowcast.advertise(name("alarm-service")).accept(),
                lambda: nowcast.connect("no-such-name-anywhere", timeout=60),
            ]
            for call in waits:
                signal.setitimer(signal.ITIMER_REAL, 0.1)
                with self.assertRaises(Alarm):
                    call()
        finally:
            signal.signal(signal.SIGALRM, before)

    def test_an_interrupt_ends_a_program_that_waits(self) -> None:
        program = (
            "import nowcast, os\n"
            "service = nowcast.advertise(f'interrupt-{os.getpid()}')\n"
            "print('waits', flush=True)\n"
            "service.accept()\n"
        )
        line = [sys.executable, "-c", program]
        with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as waiting:
            assert waiting.stdout is not None
            self.assertEqual(waiting.stdout.readline(), "waits\n")
            waiting.send_signal(signal.SIGINT)
            _, errors = waiting.communicate(timeout=60)
        self.assertEqual(waiting.returncode, -signal.SIGINT)
        self.assertIn("KeyboardInterrupt", errors)


class Asyncio(unittest.TestCase):
    def test_a_channel_ends_after_its_messages_arrived(self) -> None:
        blocking_left, blocking_right = pair("aio-end")

        async def run() -> list[bytes]:
            async with aio.Channel(blocking_left) as left:
                for number in range(100):
                    await left.event(b"%d" % number)
                reading = asyncio.create_task(read())
                await left.drained()
            return await reading

        async def read() -> list[bytes]:
            return [message.data async for message in aio.Channel(blocking_right)]

        self.assertEqual(asyncio.run(run()), [b"%d" % number for number in range(100)])

    def test_messages_commands_and_cancellation_without_a_thread_per_call(self) -> None:
        blocking_left, blocking_right = pair("aio")
        left, right = aio.Channel(blocking_left), aio.Channel(blocking_right)

        async def serve() -> int:
            count = 0
            async for message in right:
                count += 1
                if message.kind == "command":
                    right.reply(message, message.data.upper())
            return count

        async def run() -> None:
            server = asyncio.create_task(serve())
            replies = await asyncio.gather(*(left.command(b"n%d" % number) for number in range(50)))
            self.assertEqual(replies, [b"N%d" % number for number in range(50)])
            threads = threading.active_count()
            self.assertLess(threads, 4, "no thread for each call")
            with self.assertRaises(TimeoutError):
                await asyncio.wait_for(left.receive(), 0.05)  # nobody sends
            await right.event(b"later")
            self.assertEqual((await left.receive()).data, b"later")
            left.close()
            self.assertEqual(await server, 50)

        asyncio.run(run())

    def test_a_put_waits_for_space_without_blocking_the_loop(self) -> None:
        blocking_left, blocking_right = pair("space")
        left, right = aio.Channel(blocking_left), aio.Channel(blocking_right)

        async def run() -> None:
            async def put() -> None:
                for number in range(6000):  # more than a lane holds
                    await left.event(struct.pack("I", number))

            putting = asyncio.create_task(put())
            received = [struct.unpack("I", (await right.receive()).data)[0] for _ in range(6000)]
            await putting
            self.assertEqual(received, list(range(6000)))

        asyncio.run(run())


@dataclasses.dataclass
class Part:
    label: str
    weight: nowcast.f32


@dataclasses.dataclass
class Pose:
    position: tuple[nowcast.f32, nowcast.f32, nowcast.f32]
    parts: list[Part]
    parent: nowcast.u32 | None
    names: dict[str, int]


class Typed(unittest.TestCase):
    def test_dataclasses_become_bytes_and_return(self) -> None:
        pose = nowcast.Type(Pose)
        self.assertEqual(
            pose.shape,
            "Pose { position: [f32; 3], parts: [Part], parent: u32?, names: {text: i64} }",
        )
        value = Pose((1.0, 2.0, 0.5), [Part("wheel", 0.25)], None, {"a": -1})
        self.assertEqual(pose.decode(pose.encode(value)), value)
        value.parent = -1
        with self.assertRaises(ValueError):
            pose.encode(value)
        with self.assertRaises(ValueError):
            pose.decode(b"\xff")


if __name__ == "__main__":
    unittest.main(verbosity=2)
