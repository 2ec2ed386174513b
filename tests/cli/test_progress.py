"""Long work as a user sees it: a bar on a terminal, and an end as soon as Ctrl-C is pressed."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import groupby
from pathlib import Path
from random import Random

import pytest

from tests.support.waiting import WAIT
from treeanon.cli.printing import LoggedBar, progress_bar
from treeanon.progress import Bar

SCHEMA = """
version = 1
[input]
format = "csv"
[[class]]
name = "age"
path = "age"
type = "integer"
hierarchy = { intervals = [5, 10, 20, 40], min = 0, max = 99 }
[[class]]
name = "zip"
path = "zip"
hierarchy = { prefix = [3, 2, 1] }
[[class]]
name = "job"
path = "job"
hierarchy = { groups = 3 }
"""
ROWS = 100_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables that a search takes many seconds for, some, and none; and their schema."""
    rnd, place = Random(1), tmp_path_factory.mktemp("long")
    (place / "s.toml").write_text(SCHEMA)
    lines = [f"{rnd.randrange(100)},{rnd.randrange(10000):04d},{rnd.choice('abcdefghijk')}" for _ in range(ROWS)]
    (place / "many.csv").write_text("\n".join(["age,zip,job", *lines, ""]))
    (place / "some.csv").write_text("\n".join(["age,zip,job", *lines[:50_000], ""]))
    (place / "few.csv").write_text("\n".join(["age,zip,job", *lines[:100], ""]))
    return place


class Terminal:
    """A command on a terminal of its own, and all that it has printed."""

    def __init__(self, *arguments: str | Path) -> None:
        self.handle, other = pty.openpty()
        # Whoever runs the tests in the background may have made the signal one to be ignored.
        self.process = subprocess.Popen(
            [sys.executable, "-m", "treeanon", *map(str, arguments)],
            stdin=other, stdout=other, stderr=other, start_new_session=True,
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        )  # fmt: skip
        os.close(other)
        self.said = ""

    def read(self, until: Callable[[str], bool]) -> bool:
        """Reads on; whether it came to what was waited for before the command ended."""
        for _ in range(10 * WAIT):
            if until(self.said):
                break
            if select.select([self.handle], [], [], 0.1)[0]:
                try:
                    self.said += os.read(self.handle, 4096).decode(errors="replace")
                except OSError:
                    break
        return until(self.said)


@contextlib.contextmanager
def terminal(*arguments: str | Path) -> Iterator[Terminal]:
    found = Terminal(*arguments)
    try:
        yield found
    finally:
        found.process.kill()
        found.process.wait()
        os.close(found.handle)


def anonymize(folder: Path, source: str, algorithm: str, output: Path) -> tuple[str | Path, ...]:
    return "anonymize", folder / source, "-s", folder / "s.toml", "-k", "5", "-a", algorithm, "-o", output


def lines_drawn(said: str) -> list[str]:
    return [part.split("\r")[0] for part in said.split("\r\x1b[K")[1:]]


@pytest.mark.parametrize(
    ("algorithm", "sent"),
    [("topdown", signal.SIGINT), ("topdown", signal.SIGTERM), ("suppress-cells", signal.SIGINT)],
)
def test_a_signal_ends_a_search_at_once_and_leaves_nothing(
    algorithm: str, sent: signal.Signals, folder: Path, tmp_path: Path
) -> None:
    with terminal(*anonymize(folder, "many.csv", algorithm, tmp_path / "out.csv")) as shown:
        assert shown.read(lambda said: "searching" in said), shown.said
        shown.process.send_signal(sent)
        assert shown.process.wait(WAIT) == 128 + sent
        shown.read(lambda said: False)
    assert not list(tmp_path.iterdir())
    assert "Traceback" not in shown.said and "Exception" not in shown.said


def test_what_is_done_is_told_and_taken_away(folder: Path, tmp_path: Path) -> None:
    with terminal(*anonymize(folder, "some.csv", "topdown", tmp_path / "out.csv")) as shown:
        assert shown.read(lambda said: "Written to" in said), shown.said
    drawn = lines_drawn(shown.said.partition("Guarantee:")[0])
    searching = [line for line in drawn if line.startswith("searching [")]
    stages = [name for name, _ in groupby(line.partition(":")[0].partition(" [")[0] for line in drawn if line)]
    assert stages[-4:] == ["searching", "verifying", "writing", "verifying"]
    shares = [int(found[1]) for line in searching if (found := re.search(r"(\d+)%", line))]
    assert len(shares) > 3 and shares == sorted(shares)
    assert any(re.search(r"%, \d+ s left$", line) for line in searching)
    # The last thing on the line, before the words on the result, is that it is made empty.
    assert shown.said.split("Guarantee:")[0].endswith("\r\x1b[K")


def test_nothing_is_drawn_of_short_work_nor_where_no_terminal_is(folder: Path, tmp_path: Path) -> None:
    given = anonymize(folder, "few.csv", "optimal", tmp_path / "out.csv")
    done = subprocess.run([sys.executable, "-m", "treeanon", *map(str, given)], capture_output=True, text=True)
    assert done.returncode == 0 and "\r" not in done.stderr and "\x1b" not in done.stderr
    quiet = (*anonymize(folder, "some.csv", "mondrian", tmp_path / "other.csv"), "--quiet")
    with terminal(*quiet) as shown:
        shown.process.wait(WAIT)
        shown.read(lambda said: False)
    assert shown.said == ""


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, to be set."""
    now = [0.0]
    monkeypatch.setattr("treeanon.progress.time.monotonic", lambda: now[0])
    return now


def test_the_estimate_is_by_the_pace_since_the_first_word(clock: list[float]) -> None:
    said: list[str] = []
    bar = Bar("searching", draw=said.append)
    for now, done in ((10.0, 0), (11.0, 100), (12.0, 200)):
        clock[0] = now
        bar(done, 1000)
    clock[0] = 12.01
    bar(300, 1000)
    assert [line.partition("] ")[2] for line in said] == ["  0%", " 10%, 9 s left", " 20%, 8 s left"]
    said.clear()
    bar.stage("checking")
    bar.tick()
    clock[0] = 14.5
    bar.tick()
    bar(3, None)
    clock[0] = 15.0
    bar(4, None)
    bar.close()
    bar(5, None)
    assert said == ["checking: 0 s", "checking: 2 s", "checking: 4 steps in 3 s", ""]


def test_a_bar_is_for_terminals_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with progress_bar("reading", quiet=False) as bar:
        assert isinstance(bar, LoggedBar)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with progress_bar("reading", quiet=True) as bar:
        assert bar is None
    with progress_bar("reading", quiet=False) as bar:
        assert isinstance(bar, Bar) and not isinstance(bar, LoggedBar)


def test_a_log_has_a_line_every_ten_seconds(
    clock: list[float], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("treeanon.cli.printing.PROGRESS.propagate", False)
    with progress_bar("searching", quiet=False) as bar:
        assert bar is not None
        for second in range(35):
            clock[0] = float(second)
            bar(second, 100)
        bar.stage("verifying")
        bar.tick()
    told = [line.partition("progress: ")[2] for line in capsys.readouterr().err.splitlines()]
    assert told == [f"searching: {now} s, {now}%, {100 - now} s left" for now in (10, 20, 30)]
