"""`python -m tests.support.first_kernels`: write the lists of the kernels that first commands compile."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.paths import ROOT
from treeanon.kernels import ahead

SAMPLE = ROOT / "samples" / "patients.xml"

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


def compiled_first() -> list[list[str]]:
    """Return lines for the kernels that the README's command compiles when none is kept, and `gcs` after it.

    What `gcs` needs for few persons, and so in any case, comes last: with that the helper begins.
    """
    with TemporaryDirectory() as folder:
        few = Path(folder, "few.xml")
        few.write_text("</patient>".join(SAMPLE.read_text().split("</patient>")[:100]) + "</patient></patients>")
        default = _compiled(Path(folder), SAMPLE)
        always = _compiled(Path(folder), few, "-a", "gcs")
        return [default, [*_compiled(Path(folder), SAMPLE, "-a", "gcs"), *always]]


def _compiled(kept: Path, source: Path, *options: str) -> list[str]:
    lines = kept / "lines.txt"
    files = [str(lines), str(source), "-s", "schemas/hospital-xml.toml", "-o", str(kept / "o.xml")]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(kept)}
    command = [sys.executable, "-c", _CODE, *files, "--force", *options]
    subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)
    return lines.read_text().splitlines()


if __name__ == "__main__":
    ahead.LIST.write_text("\n\n".join(map("\n".join, compiled_first())) + "\n", encoding="utf-8")
