"""The command line, run as the installed command runs it: with its exit codes and its messages."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import pytest

from treeanon.cli import main as command_line


def ran(
    arguments: Sequence[object],
    monkeypatch: pytest.MonkeyPatch,
    capture: pytest.CaptureFixture[str],
    code: int | None = None,
) -> tuple[int, str, str]:
    """The exit code, standard output and standard error; fails if another `code` was expected."""
    monkeypatch.setattr(sys, "argv", ["treeanon", *map(str, arguments)])
    monkeypatch.setattr("signal.signal", lambda *given: None)
    with pytest.raises(SystemExit) as caught:
        command_line.run()
    out, err = capture.readouterr()
    found = caught.value.code
    assert isinstance(found, int) and "Traceback" not in err, err
    assert code in (None, found), (out, err)
    return found, out, err
