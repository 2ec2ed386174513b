"""`python -m tests.support.first_kernels`: write the lists of the kernels that first commands compile."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.paths import ROOT
from treeanon.kernels import ahead
from treeanon.kernels.jit import FEW

SAMPLE, ROWS = ROOT / "samples" / "patients.xml", ROOT / "samples" / "census.csv"
DEFAULT = "-a maximal -k 5 -m 2 -n 1"
PUBLISHED = "-a gcs -k 5 -m 2 -n 1"
TABLES = (
    "-a freeform -k 5 --l 1 --param seconds=300",
    "-a freeform-optimal -k 5 --l 1 --param seconds=300",
    "-a onedim-dual -k 2 --l 1 --max-loss 0.5",
)
"""Searches of tables that need so many kernels of their own that a second process is worth its start."""

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
    main(["anonymize", *sys.argv[2:]], standalone_mode=False)
"""


def compiled_first() -> dict[str, list[str]]:
    """Return lines for the kernels that the README's command compiles when none is kept, and other searches after it.

    What `gcs` needs for few persons, and so in any case, comes last: with that the helper begins. So does what tables
    of few rows need, but for the first kernel, which tells whether a list has been compiled.
    """
    with TemporaryDirectory() as folder:
        kept, few, rows = Path(folder), Path(folder, "few.xml"), Path(folder, "rows.csv")
        few.write_text("</patient>".join(SAMPLE.read_text().split("</patient>")[:100]) + "</patient></patients>")
        default = _compiled(kept, SAMPLE, DEFAULT)
        shutil.copytree(kept, alone := kept / "alone")
        always = _compiled(kept, few, PUBLISHED)
        found = {"maximal": default, "acs gcs ocs miracle": [*_compiled(kept, SAMPLE, PUBLISHED), *always]}
        for options in TABLES:
            own, lists = shutil.copytree(alone, kept / options.split()[1]), []
            for count in (FEW, 2 * FEW):
                rows.write_text("".join(ROWS.read_text().splitlines(keepends=True)[: count + 1]))
                lists.append(_compiled(own, rows, options))
            (first, *always), many = lists
            found[own.name] = [first, *many, *always]
        return found


def _compiled(kept: Path, source: Path, options: str) -> list[str]:
    lines, schema = kept / "lines.txt", "hospital-xml.toml" if source.suffix == ".xml" else "census.toml"
    files = [str(lines), str(source), "-s", f"schemas/{schema}", "-o", str(kept / f"o{source.suffix}")]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(kept)}
    command = [sys.executable, "-c", _CODE, *files, "--force", *options.split()]
    subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)
    return lines.read_text().splitlines()


if __name__ == "__main__":
    parts = ("\n".join([searches, *lines]) for searches, lines in compiled_first().items())
    ahead.LIST.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
