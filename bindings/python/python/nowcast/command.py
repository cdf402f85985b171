"""The command `nowcast`: runs the program that the wheel carries, or else the one on the PATH."""

import os
import shutil
import sys
from pathlib import Path


def main() -> None:
    """Replaces this process by the program."""
    carried = Path(__file__).parent / "bin" / "nowcast"
    # The script of this package has the same name, so it must not find itself.
    own = Path(sys.argv[0]).resolve().parent
    folders = [folder for folder in os.get_exec_path() if Path(folder).resolve() != own]
    program = str(carried) if carried.is_file() else shutil.which("nowcast", path=os.pathsep.join(folders))
    if program is None:
        sys.exit("nowcast: this wheel has no program for this system: build it by `cargo xtask build`, and put it on the PATH")
    os.execv(program, [program, *sys.argv[1:]])
