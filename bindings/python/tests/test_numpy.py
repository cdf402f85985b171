"""Tests of the package with numpy and pandas. `cargo xtask test` runs them."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy

from test_nowcast import pair


class Arrays(unittest.TestCase):
    def test_arrays_are_sent_and_received_without_a_copy(self) -> None:
        left, right = pair("numpy")
        pose = numpy.arange(20, dtype="f4")
        left.state(1, pose)
        message = right.receive(timeout=5)
        seen = message.array("f4")
        self.assertTrue(numpy.array_equal(seen, pose))
        self.assertTrue(numpy.shares_memory(seen, numpy.frombuffer(message.data, "u1")), "the array is a view")

        place = numpy.zeros(20, dtype="f4")
        left.state(1, pose * 2)
        right.receive_into(place, timeout=5)
        self.assertTrue(numpy.array_equal(place, pose * 2))
        with self.assertRaises(ValueError):
            left.state(1, pose)
            right.receive_into(numpy.zeros(19, dtype="f4"), timeout=5)
        with self.assertRaises((BufferError, TypeError, ValueError)):
            left.state(1, numpy.zeros((4, 4), dtype="f4")[:, 1])  # not contiguous

    def test_a_save_file_becomes_a_table(self) -> None:
        example = Path(__file__).resolve().parent.parent / "examples/save_to_pandas.py"
        with tempfile.TemporaryDirectory() as folder:
            source, save = Path(folder, "scores.json"), Path(folder, "scores.ncs")
            source.write_text(json.dumps([{"name": "Ada", "points": 3}, {"name": "Bo", "points": 5}]))
            pack = [os.environ["NOWCAST_BIN"], "save", "pack", str(source), str(save)]
            subprocess.run(pack, check=True, stdout=subprocess.DEVNULL)
            table = subprocess.run(
                [sys.executable, str(example), str(save)], check=True, stdout=subprocess.PIPE, text=True
            ).stdout
        self.assertRegex(table, r"mean +NaN +4\.0")


if __name__ == "__main__":
    unittest.main(verbosity=2)
