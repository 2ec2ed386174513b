"""`python -m tests.support.first_kernels`: write the list of the kernels that the README's first command compiles."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.paths import ROOT
from treeanon.kernels import ahead

_CODE = """
import sys
from numba.core import event
from treeanon.cli.main import main
from treeanon.kernels import ahead


class Write(event.Listener):
    depth = 0

    def on_start(self, event):
        if not self.depth:
            print(ahead.spelled(event.data["dispatcher"], event.data["args"]), file=lines)
        self.depth += 1

    def on_end(self, event):
        self.depth -= 1


event.register("numba:compile", Write())
with open(sys.argv[1], "w") as lines:
    main(["anonymize", *sys.argv[2:], "-k", "5", "-m", "2", "-n", "1"], standalone_mode=False)
"""


def compiled_first() -> list[str]:
    """Return a line for each kernel that the command compiles when none is kept."""
    with TemporaryDirectory() as folder:
        lines = Path(folder, "lines.txt")
        files = [
            str(lines),
            "samples/patients.xml",
            "-s",
            "schemas/hospital-xml.toml",
            "-o",
            str(Path(folder, "o.xml")),
        ]
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        subprocess.run(
            [sys.executable, "-c", _CODE, *files], cwd=ROOT, env=environment, capture_output=True, check=True
        )
        return lines.read_text().splitlines()


if __name__ == "__main__":
    ahead.LIST.write_text("\n".join(compiled_first()) + "\n", encoding="utf-8")
