"""Workers that die: the work is done again, nothing is lost, nothing is published twice or by half."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from release_cases import folder_of, write_persons
from slow_trees import multiset

import treeanon as ta
from treeanon.engines.protocol import Job, engine_named
from treeanon.engines.spark.engine import kept, request_of
from treeanon.engines.spark.lines import LINES, lines_of_files
from treeanon.engines.spark.reading import read_dataset
from treeanon.engines.spark.solving import solve
from treeanon.io.options import ReadOptions


def workers_of(spark: Any) -> list[int]:
    """The Python workers: what the daemon below the Java process has started."""
    java = int(spark._jvm.java.lang.ProcessHandle.current().pid())
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(status.parent.name)] = int(fields[1])
    daemons = [pid for pid, parent in parents.items() if parent == java]
    return [pid for pid, parent in parents.items() if parent in daemons]


def test_a_worker_that_dies_while_reading_changes_nothing(spark: Any, tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "c")
    schema = ta.Schema.load(folder / "s.toml")
    source = write_persons(folder / "p.ndjson", 21, 60)
    marks = tmp_path / "marks"
    marks.mkdir()
    place = str(marks)

    def dying(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        mark = Path(place) / f"{context.stageId()}-{context.partitionId()}"
        yield from batches
        if not mark.exists() and len(list(Path(place).iterdir())) < 4:
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    found = []
    for deadly in (False, True):
        lines = lines_of_files(spark, str(source), "ndjson")
        frame = lines.frame.repartition(3)
        lines = replace(lines, frame=frame.mapInArrow(dying, LINES) if deadly else frame)
        with kept(read_dataset(lines, schema, ReadOptions())) as dataset:
            assert dataset.records == 60
            solved = solve(dataset, request_of(k=3, seed=1), lambda _: None, 20)
            found.append((solved.solution.as_dict(), solved.prints, solved.loss))
    assert len(list(marks.iterdir())) == 4
    assert found[0] == found[1]


def test_workers_killed_while_writing_publish_nothing_twice(spark: Any, tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "c")
    schema = ta.Schema.load(folder / "s.toml")
    source = write_persons(folder / "p.ndjson", 22, 60)
    killed = []

    def told(words: str) -> None:
        if words in ("writing", "checking what was written"):
            for pid in workers_of(spark):
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

    releases = []
    for tell in (None, told):
        job = Job(str(source), schema, str(folder / "out"), force=True)
        engine_named("spark").publish(job, request_of(k=3, seed=1), tell)
        releases.append(multiset(ta.read(folder / "out", schema).records()))
    assert killed
    assert releases[0] == releases[1]
    assert sorted(path.name for path in folder.iterdir() if path.name.startswith(".")) == []
