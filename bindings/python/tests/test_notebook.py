"""Runs the notebook of the examples in a kernel, as Jupyter does. `cargo xtask test` runs it."""

import base64
import os
import unittest
from pathlib import Path

import nbclient
import nbformat

NOTEBOOK = Path(__file__).resolve().parent.parent / "examples/ages.ipynb"


class Notebook(unittest.TestCase):
    def test_the_notebook_plots_the_ages_of_both_carriers(self) -> None:
        notebook = nbformat.read(NOTEBOOK, as_version=4)
        self.assertTrue(all(not cell.get("outputs") for cell in notebook.cells), "the file has no outputs")
        nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
        outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
        printed = "".join(output.text for output in outputs if output.output_type == "stream")
        self.assertRegex(printed, r"shared memory: \d+ messages, median age [\d.]+ ms")
        self.assertRegex(printed, r"WebTransport: \d+ messages, median age [\d.]+ ms")
        pictures = [output.data["image/png"] for output in outputs if "image/png" in output.get("data", {})]
        self.assertEqual(len(pictures), 1, "one picture, which was updated in place")
        picture = base64.b64decode(pictures[0])
        self.assertGreater(len(picture), 10_000)
        if folder := os.environ.get("NOWCAST_SCREENSHOTS"):
            Path(folder).mkdir(parents=True, exist_ok=True)
            Path(folder, "notebook-ages.png").write_bytes(picture)


if __name__ == "__main__":
    unittest.main(verbosity=2)
