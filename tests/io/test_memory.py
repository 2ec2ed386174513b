"""Input that is meant to fill the memory: what a reading takes at most, measured in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import zstandard

from tests.support.paths import ROOT
from tests.support.waiting import WAIT

MB = 1 << 20
MEASURE = """
import resource, sys
sys.path[:0] = sys.argv[3:]
from tests.support import hostile as common
import treeanon as ta
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
try:
    ta.read(sys.argv[1] + ".warm", getattr(common, sys.argv[2]))
except ta.errors.TreeanonError:
    pass
before = peak()
try:
    forest = ta.read(sys.argv[1], getattr(common, sys.argv[2]))
    print(peak() - before, "read", list(forest.records()))
except ta.errors.DataError as problem:
    print(peak() - before, problem)
"""


@dataclass(frozen=True)
class Case:
    """A file of `size` MB of one unit repeated, and the most MB that reading it may take."""

    name: str
    head: bytes
    unit: bytes
    size: int
    tail: bytes
    most: int
    told: str


NOTE = b"<note>" + b"x" * 1000 + b"</note>"
PERSON = b"<patient><age>1</age></patient>"
END = b"</patient></patients>"
ONE = "read [[['age', '1', []]]]"
CASES = {
    "dropped in a record": Case("p.xml", b"<patients><patient><age>1</age>", NOTE, 300, END, 250, ONE),
    "dropped text in a record": Case(
        "p.xml", b"<patients><patient><age>1</age>", NOTE[6:-7] + b"<b/>", 300, END, 250, ONE
    ),
    "dropped in a child": Case("p.xml", b"<patients><patient><age>1</age><z>", NOTE, 300, b"</z>" + END, 250, ONE),
    "outside records": Case("p.xml", b"<patients>", NOTE, 300, PERSON + b"</patients>", 150, ONE),
    "outside records, deep": Case("p.xml", b"<patients><z>", NOTE, 300, b"</z>" + PERSON + b"</patients>", 150, ONE),
    "outside records, comments": Case(
        "p.xml", b"<patients>", b"<!--" + NOTE + b"-->", 300, PERSON + b"</patients>", 150, ONE
    ),
    "one text": Case(
        "p.xml", b"<patients><patient><age>", b"CANARY-7f3a", 300, b"</age>" + END, 250, "exceeds a limit"
    ),
    "no root": Case("p.xml", b"<others>", NOTE, 300, b"</others>", 250, "the root element is not patients"),
    "many small elements outside": Case("p.xml", b"<patients>", b"<n/>", 40, PERSON + b"</patients>", 150, ONE),
    "a zstd bomb": Case("p.ndjson.zst", b'{"age":"', b"CANARY-7f3a", 600, b'"}', 700, "longer than 64 MB"),
    "a line without end": Case("p.ndjson", b'{"age":"', b"CANARY-7f3a", 300, b'"}', 700, "longer than 64 MB"),
}


def check(case: Case, folder: Path) -> None:
    path = folder / case.name
    block = case.unit * (MB // len(case.unit) + 1)
    with path.open("wb") as raw:
        stream = zstandard.ZstdCompressor().stream_writer(raw) if case.name.endswith(".zst") else raw
        stream.write(case.head)
        for _ in range(case.size):
            stream.write(block)
        stream.write(case.tail)
        stream.close()
    (folder / f"{case.name}.warm").write_bytes(case.head)
    form = "XML" if ".xml" in case.name else "NDJSON"
    arguments = [sys.executable, "-c", MEASURE, str(path), form, str(ROOT)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=WAIT, check=True)
    peak, _, told = done.stdout.partition(" ")
    assert case.told in told and "CANARY" not in told
    assert int(peak) < case.most
    path.unlink()


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_memory_is_bounded(name: str, tmp_path: Path) -> None:
    check(CASES[name], tmp_path)
