"""`treeanon explore`: what it prints, how it ends, and what it refuses before anything listens."""

from __future__ import annotations

import contextlib
import http.client
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_anonymize import Told, run
from tests.support.explorers import hospital
from tests.support.hospital import WORD
from tests.support.waiting import WAIT, wait_until
from treeanon.explore.server import listening

START = [sys.executable, "-m", "treeanon", "explore"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return hospital(tmp_path / "place", 80)


@contextlib.contextmanager
def started(place: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """An explorer that runs, and the lines that it has printed up to its address."""
    command = [*START, "in.ndjson", "-s", "s.toml", "--no-browser", *options]
    with subprocess.Popen(command, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            lines: list[str] = []
            assert process.stderr is not None
            for line in process.stderr:
                lines.append(line)
                if line.startswith("open http"):
                    break
            yield process, lines
        finally:
            process.kill()


def children(process: int) -> list[int]:
    return [int(found) for found in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def ended(process: int) -> bool:
    """Whether it has ended; one that nobody has asked for its exit code (Z) has."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def asked(
    address: str, method: str = "GET", more: str = "", body: str = "", **headers: str
) -> http.client.HTTPConnection:
    """A request at an address that was printed, sent."""
    found = re.fullmatch(r"open http://([\d.]+):(\d+)(/\S+/)(\?\S+)\n", address)
    assert found and found[1] == "127.0.0.1"
    connection = http.client.HTTPConnection(found[1], int(found[2]), timeout=WAIT)
    connection.request(method, found[3] + (more or found[4]), body, headers)
    return connection


def answers(address: str) -> int:
    with contextlib.closing(asked(address)) as connection:
        return connection.getresponse().status


@pytest.mark.parametrize(("end", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_it_runs_until_it_is_ended_and_leaves_nothing(end: signal.Signals, code: int, place: Path) -> None:
    with started(place, "--sample", "50", "-k", "3", "-m", "4", "-n", "3") as (process, lines):
        assert any("The page shows original data" in line for line in lines)
        # What it does is said before it reads, which can take a while.
        assert lines[0].startswith("Reading in.ndjson, of which a sample of at most 50 persons")
        assert answers(lines[-1]) == 303
        workers = children(process.pid)
        process.send_signal(end)
        out, rest = process.communicate(timeout=WAIT)
        assert process.returncode == code and out == "" and "Traceback" not in rest
        assert WORD not in "".join(lines) + rest
        assert rest == ("stopped\n" if code == 0 else "")
    assert workers
    wait_until(lambda: all(ended(worker) for worker in workers))
    with pytest.raises(ConnectionRefusedError):
        answers(lines[-1])
    assert sorted(path.name for path in place.iterdir()) == ["diagnosis.csv", "hospital.csv", "in.ndjson", "s.toml"]


def test_a_search_that_is_waited_for_does_not_keep_it_from_ending(place: Path) -> None:
    with started(place) as (process, lines):
        with contextlib.closing(asked(lines[-1])) as connection:
            cookie = str(connection.getresponse().headers["set-cookie"]).partition(";")[0]
            origin = f"http://{connection.host}:{connection.port}"
        slow = "k=3&m=4&n=3&effort=4&algorithm=maximal"
        with contextlib.closing(asked(lines[-1], "POST", "look", slow, cookie=cookie, origin=origin)) as connection:
            assert connection.getresponse().status == 200
            process.send_signal(signal.SIGINT)
            _, rest = process.communicate(timeout=WAIT)
    assert process.returncode == 0 and rest == "stopped\n"


def test_quiet_prints_the_address_alone(place: Path) -> None:
    with listening() as free:
        port = free.getsockname()[1]
    with started(place, "--quiet", "--port", str(port), "-a", "samarati", "--reduce", "hospital=set", "--reduce",
                 "diagnosis=set") as (_, lines):  # fmt: skip
        assert len(lines) == 1 and f":{port}/" in lines[0]


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        ("missing.ndjson -s s.toml", 4, "missing.ndjson"),
        ("in.ndjson -s missing.toml", 4, "missing.toml"),
        ("in.ndjson -s s.toml -k 1", 2, "-k"),
        ("in.ndjson -s s.toml --sample 1", 2, "--sample"),
        ("in.ndjson -s s.toml --port 0", 2, "--port"),
        ("in.ndjson -s s.toml -a magic", 2, "maximal"),
        ("in.ndjson -s s.toml -a mondrian", 2, "reduction"),
        ("empty.ndjson -s s.toml", 3, "no record"),
        ("in.ndjson", 2, "--schema"),
        ("in.ndjson -s s.toml --port {taken}", 4, "port {taken}"),
    ],
)
def test_what_cannot_be_is_said_before_anything_listens(
    options: str, code: int, told: str, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: Told
) -> None:
    (place / "empty.ndjson").write_text("")
    monkeypatch.chdir(place)
    with listening() as taken:
        port = str(taken.getsockname()[1])
        assert run(options.replace("{taken}", port) + " --no-browser", monkeypatch, "explore") == code
    said = capsys.readouterr()
    assert told.replace("{taken}", port) in said.err and "http" not in said.err and said.out == ""
    assert WORD not in said.err and "Traceback" not in said.err


@pytest.mark.parametrize("missing", ["uvicorn", "starlette"])
def test_without_the_extra_it_says_what_to_install(missing: str, place: Path) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None\nfrom treeanon.cli.main import run\nrun()"
    command = [sys.executable, "-c", code, "explore", "in.ndjson", "-s", "s.toml"]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True)
    assert done.returncode == 2 and "pip install 'treeanon[explore]'" in done.stderr
    assert subprocess.run([*command[:3], "explore", "--help"], capture_output=True).returncode == 0
