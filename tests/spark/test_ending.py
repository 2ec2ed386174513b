"""What is left when work by Spark ends, however it does: no jobs, no files beside the target, nothing kept on disk."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import treeanon as ta
from tests.support.hospital import folder_of, write_persons
from tests.support.waiting import WAIT
from treeanon.errors import FileError
from treeanon.spark.engine import request_of
from treeanon.spark.interface import Job, engine_named
from treeanon.spark.session import spark_failures
from treeanon.spark.writing import _Cleanup


def job_in(folder: Path, **more: Any) -> Job:
    folder_of(folder)
    source = write_persons(folder / "p.ndjson", 31)
    return Job(str(source), ta.Schema.load(folder / "s.toml"), str(folder / "out"), **more)


@pytest.mark.parametrize("phase", ["reading", "searching", "writing", "verifying"])
def test_a_signal_ends_the_work_and_leaves_nothing(
    spark: Any, tmp_path: Path, phase: str, caplog: pytest.LogCaptureFixture
) -> None:
    job = job_in(tmp_path / "c")
    before = sorted(path.name for path in (tmp_path / "c").iterdir())

    def notify(words: str) -> None:
        if words.startswith(phase):
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        engine_named("spark").publish(job, request_of(k=3, seed=1), notify)
    assert sorted(path.name for path in (tmp_path / "c").iterdir()) == before
    assert not spark.sparkContext.statusTracker().getActiveJobsIds()
    assert not caplog.records
    # The connection to Java still works.
    assert spark.range(3).count() == 3


def test_only_folders_of_ours_are_replaced(spark: Any, tmp_path: Path) -> None:
    job = job_in(tmp_path / "c", force=True)
    out = Path(job.target)
    out.mkdir()
    (out / "thesis.txt").write_text("years of work")
    with pytest.raises(FileError, match="not from treeanon"):
        engine_named("spark").publish(job, request_of(k=3, seed=1))
    assert (out / "thesis.txt").read_text() == "years of work"
    (out / "thesis.txt").unlink()
    (out / "part-00009.ndjson").write_text("an old release")
    engine_named("spark").publish(job, request_of(k=3, seed=1))
    assert [path.name for path in out.iterdir()] == ["part-00001.ndjson"]
    with pytest.raises(FileError, match="is not a folder"):
        engine_named("spark").publish(
            Job(job.source, job.schema, str(out / "part-00001.ndjson"), force=True), request_of(k=3, seed=1)
        )


def test_what_was_written_aside_is_gone_though_java_is_too(spark: Any, tmp_path: Path) -> None:
    class Gone:
        """A file system of a Java process that has ended."""

        def getUri(self) -> Any:
            return spark._jvm.java.net.URI("file:///")

        def delete(self, *_: object) -> None:
            raise ConnectionRefusedError

    aside = tmp_path / "a b%20.part"
    (aside / "_temporary").mkdir(parents=True)
    with _Cleanup(spark, Gone(), spark._jvm.org.apache.hadoop.fs.Path(str(aside))):
        pass
    assert not aside.exists()


def test_a_session_of_our_own_is_private(spark: Any) -> None:
    conf = spark.sparkContext.getConf()
    assert conf.get("spark.authenticate") == "true"
    assert stat.S_IMODE(Path(conf.get("spark.local.dir")).stat().st_mode) == 0o700


def test_the_command_ends_java_and_removes_what_it_kept(spark: Any, tmp_path: Path) -> None:
    job, place = job_in(tmp_path / "c"), tmp_path / "t"
    place.mkdir()
    given = {**os.environ, "TMPDIR": str(place)}
    arguments = ["anonymize", job.source, "-s", str(tmp_path / "c" / "s.toml"), "-k", "3", "-o", job.target]
    command = [sys.executable, "-m", "treeanon", *arguments, "--engine", "spark", "--effort", "0.1"]
    done = subprocess.run(command, env=given, capture_output=True, text=True, timeout=WAIT, start_new_session=True)
    assert done.returncode == 0
    assert "reading" not in done.stderr and "counted all records in 1 round" in done.stderr
    assert not list(place.iterdir())
    assert not _commands_with(str(place))


@pytest.mark.parametrize("problem", [ConnectionRefusedError(), "network"])
def test_the_end_of_java_is_told_of(spark: Any, problem: Any) -> None:
    from py4j.protocol import Py4JNetworkError

    with pytest.raises(FileError, match="Java process ended"), spark_failures("the engine"):
        raise Py4JNetworkError("SECRET") if problem == "network" else problem


def _commands_with(place: str) -> list[str]:
    found = []
    for one in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = one.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if place in words:
            found.append(words)
    return found
