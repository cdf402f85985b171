"""Tests of the examples and of docs/how-to/python.md, with NOWCAST_BIN as server. `cargo xtask test` runs them."""

import asyncio
import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Iterator
from pathlib import Path

import nowcast
from nowcast import aio

HERE = Path(__file__).resolve().parent.parent
ROOT = HERE.parent.parent
NOWCAST = os.environ["NOWCAST_BIN"]


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(program: subprocess.Popen[str]) -> str:
    output, errors = program.communicate(timeout=120)
    assert program.returncode == 0, errors
    return output


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


@contextlib.contextmanager
def football() -> Iterator[str]:
    """Serves the world football, and yields its address."""
    port = free_port()
    with tempfile.TemporaryDirectory() as home:
        line = [NOWCAST, "serve", str(ROOT / "worlds/football"), "--port", str(port)]
        environment = {**os.environ, "HOME": home, "XDG_DATA_HOME": home}
        server = subprocess.Popen(line, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield f"nowcast://127.0.0.1:{port}/football"
        finally:
            server.terminate()
            server.wait()


class Examples(unittest.TestCase):
    def test_a_world_is_joined_in_asyncio(self) -> None:
        async def run(address: str) -> None:
            world = aio.World(await aio.connect(address, timeout=10), "Ada")
            ticks = 0
            async with asyncio.timeout(60):
                async for kind, _, _ in world:
                    ticks += kind == "moved"
                    if ticks >= 3 and world.view.avatar is not None:
                        break
            self.assertIn(world.view.avatar, world.view.entities())
            self.assertEqual(list(world.view.players().values()), ["Ada"])

        with football() as address:
            asyncio.run(run(address))

    def test_the_tracker_and_the_viewer_are_two_processes(self) -> None:
        name = f"python-tracker-{os.getpid()}"
        tracker = start(str(HERE / "examples/tracker.py"), name)
        seen = finish(start(str(HERE / "examples/viewer.py"), name))
        finish(tracker)
        self.assertRegex(seen, r"^pose 7: .* ms old\n(.*\n)*done\n$")

    def test_subscribers_receive_typed_joints(self) -> None:
        port = free_port()
        robot = start(str(HERE / "examples/joints.py"), str(port))
        sys.path.insert(0, str(HERE / "examples"))
        from joints import JOINTS

        message = nowcast.connect(f"nowcast://127.0.0.1:{port}/joints", timeout=30).receive(timeout=30)
        joints = JOINTS.decode(message.data)
        self.assertEqual((joints.names, len(joints.angles)), (["base", "elbow", "wrist"], 3))
        robot.kill()
        robot.communicate()

    def test_the_bot_runs_to_the_ball(self) -> None:
        with football() as address:
            played = finish(start(str(HERE / "examples/football.py"), address, "5"))
        walked = re.search(r"walked ([\d.]+) m", played)
        self.assertIsNotNone(walked, played)
        self.assertGreater(float(walked.group(1)), 1.0)

    def test_save_files_become_dictionaries(self) -> None:
        rows = [{"name": "Ada", "points": 3}, {"name": "Bo", "points": 5}]
        with tempfile.TemporaryDirectory() as folder:
            source, save = Path(folder, "scores.json"), Path(folder, "scores.save")
            source.write_text(json.dumps(rows))  # one value: a list
            subprocess.run([NOWCAST, "save", "pack", str(source), str(save)], check=True, stdout=subprocess.DEVNULL)
            self.assertEqual(nowcast.read_save(str(save)), [rows])
            save.write_bytes(save.read_bytes()[:-9])
            with self.assertRaises(nowcast.Error):
                nowcast.read_save(str(save))


class Page(unittest.TestCase):
    def test_the_programs_of_the_page_print_their_results(self) -> None:
        page = (ROOT / "docs/how-to/python.md").read_text()
        blocks = [rest.split("```")[0] for rest in page.split("\n\n```python\n")[1:]]
        channel, asynchronous, typed = blocks
        self.assertLessEqual(len([line for line in channel.splitlines() if line]), 12)
        name = f'"python-page-{os.getpid()}"'
        channel = channel.replace('"tracker"', name)
        sender = start("-c", channel, "send")
        seen = finish(start("-c", channel, "receive"))
        finish(sender)
        self.assertRegex(seen, r"^\(0\.1000.*\) b'done'\n$")
        self.assertEqual(finish(start("-c", asynchronous.replace('"doubler"', name))), "[b'00', b'11', b'22']\n")
        shape, pose = finish(start("-c", typed)).splitlines()
        self.assertEqual(shape, "Pose { position: [f32; 3], label: text? }")
        self.assertEqual(pose, "Pose(position=(0.5, 1.5, -0.25), label='head')")


if __name__ == "__main__":
    unittest.main(verbosity=2)
