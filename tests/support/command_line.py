"""The installed command, run in this process: what a process of its own would say, without the second that it takes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

from click.testing import CliRunner

from treeanon.cli import main as command_line


def treeanon(*arguments: str | Path, input: bytes | str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command line from its arguments to its exit code."""
    argv = ["treeanon", *map(str, arguments)]
    with (
        CliRunner().isolation(input=input) as (out, err, _),
        patch.object(sys, "argv", argv),
        # Handlers of signals are of the process, and are those of the test runner.
        patch("signal.signal"),
        patch.dict(os.environ),
    ):
        try:
            command_line.run()
        except SystemExit as end:
            code = end.code
        sys.stdout.flush()
        sys.stderr.flush()
        said, told = out.getvalue().decode(), err.getvalue().decode()
    assert isinstance(code, int)
    return subprocess.CompletedProcess(argv, code, said, told)
