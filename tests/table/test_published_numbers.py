"""Ranges that end at intervals of the hierarchy: wider, never narrower, and groups merge, never split."""

from __future__ import annotations

import csv
import re
from itertools import pairwise
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treeanon as ta
from tests.support.as_installed import ran
from treeanon.errors import UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.table.covers import Covers, parsed, reads_back, value_ranks
from treeanon.table.published_numbers import with_round_ranges
from treeanon.table.table import Column, Table

SCHEMA = """version = 1
[input]
format = "csv"
[[class]]
name = "age"
path = "age"
type = "integer"
hierarchy = { intervals = [5, 10, 20], min = 0, max = 99 }
[[class]]
name = "pay"
path = "pay"
type = "number"
hierarchy = { intervals = [100, 1000] }
[[class]]
name = "ward"
path = "ward"
"""
INTERVAL = re.compile(r"(\d+)-(\d+)|\[([\d.]+), ([\d.]+)[)\]]")


def rows(seed: int, size: int = 400) -> list[dict[str, str]]:
    rnd = Random(seed)
    return [
        {"age": str(rnd.randrange(18, 80)), "pay": f"{rnd.randrange(900, 5000)}.5", "ward": rnd.choice("ABC")}
        for _ in range(size)
    ]


def put(path: Path, data: list[dict[str, str]]) -> Path:
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, ["age", "pay", "ward"])
        writer.writeheader()
        writer.writerows(data)
    return path


@pytest.mark.parametrize("algorithm", ["mondrian", "topdown", "koptimize", "onedim", "local", "freeform-sort"])
def test_ranges_end_at_intervals(algorithm: str, tmp_path: Path) -> None:
    path = put(tmp_path / "in.csv", rows(1))
    schema = SCHEMA.replace('[[class]]\nname = "ward"\npath = "ward"\n', "") if algorithm == "koptimize" else SCHEMA
    parameters = {"seconds": 1.0} if algorithm == "koptimize" else {"style": "ranges"}
    if algorithm == "freeform-sort":
        parameters["block"] = 200
    if algorithm != "koptimize":
        schema = schema.replace('path = "ward"', 'path = "ward"\nrole = "keep"')
    asked = {"schema": schema, "k": 5, "algorithm": algorithm, "parameters": parameters}
    sharp = ta.anonymize(path, **asked, seed=1)
    release = ta.anonymize(path, **asked, seed=1, round_ranges=True)
    assert release.verdict.holds and release.options["round_ranges"] is True
    out = tmp_path / "out.csv"
    release.write(out)
    ranges = 0
    with out.open(newline="") as stream:
        for row in csv.DictReader(stream):
            for name in ("age", "pay"):
                said = parsed(row[name])
                if said is not None and said[1]:
                    ranges += 1
                    assert all(INTERVAL.fullmatch(end) for end in said[0]), row
    assert ranges
    if algorithm != "freeform-sort":
        assert ta.verify(out, schema=schema, k=5).holds
        assert release.verdict.groups <= sharp.verdict.groups
        # By hand: rows that are alike in the file.
        with out.open(newline="") as stream:
            alike: dict[tuple[str, str], int] = {}
            for row in csv.DictReader(stream):
                alike[row["age"], row["pay"]] = alike.get((row["age"], row["pay"]), 0) + 1
        assert min(alike.values()) >= 5
    else:
        assert ta.verify(out, schema=schema, k=5, original=path).holds


def test_the_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    path = put(tmp_path / "in.csv", rows(2))
    (tmp_path / "s.toml").write_text(SCHEMA)
    asked = ["anonymize", path, "-s", tmp_path / "s.toml", "-k", 5, "-a", "mondrian", "--round-ranges"]
    ran([*asked, "-o", tmp_path / "out.csv"], monkeypatch, capsys, 0)
    with (tmp_path / "out.csv").open(newline="") as stream:
        ends = {end for row in csv.DictReader(stream) if (said := parsed(row["age"])) and said[1] for end in said[0]}
    assert ends and all(INTERVAL.fullmatch(end) for end in ends)
    ran(["verify", tmp_path / "out.csv", "-s", tmp_path / "s.toml", "-k", 5], monkeypatch, capsys, 0)
    assert "--round-ranges" in ran([*asked, "-o", "x.csv", "-m", 2, "-a", "maximal"], monkeypatch, capsys, 2)[2]
    (tmp_path / "s.toml").write_text(SCHEMA.replace("hierarchy = { intervals = [100, 1000] }\n", ""))
    _, _, err = ran([*asked, "-o", tmp_path / "x.csv"], monkeypatch, capsys, 2)
    assert "class 'pay' has ranges, but its hierarchy has no intervals" in err
    with pytest.raises(UsageError, match="no ranges to round"):
        ta.anonymize(path, schema=SCHEMA, k=2, round_ranges=True, publish="permuted")


@st.composite
def columns(draw: st.DrawFn) -> Column:
    """A column of ranges over a hierarchy of numbers or of words, of even or uneven depth."""
    names = draw(st.lists(st.integers(0, 60), min_size=3, max_size=12, unique=True))
    words = draw(st.booleans())
    paths = []
    for number in names:
        leaf = f"w{number:02}" if words else str(number)
        upper = [f"g{number // 5}", f"h{number // 20}"][: draw(st.integers(0, 2))]
        paths.append([leaf, *upper, "*"])
    parents = {leaf: above for path in paths for leaf, above in pairwise(path) if above != "*"}
    known = {text: parents.get(text, "*") for path in paths for text in path[:-1]}
    hierarchy = Hierarchy.from_parents(known, root="*")
    most = len(hierarchy.leaf_nodes)
    ends = draw(st.lists(st.tuples(st.integers(0, most - 1), st.integers(0, most - 1)), min_size=1, max_size=8))
    held = sorted({(min(pair), max(pair)) for pair in ends})
    kept = [(a,) if a == b else (a, b) for a, b in held]
    missing = [draw(st.booleans()) for _ in kept]
    covers = Covers.of(hierarchy, kept, missing, is_range=True)
    codes = np.array(draw(st.lists(st.integers(-1, len(kept) - 1), min_size=1, max_size=10)), np.int32)
    plain = Table.of_texts({"x": ([None] * len(codes), hierarchy)}).columns[0]
    return Column(plain.spec, hierarchy, codes, covers)


def members(column: Column, code: int) -> tuple[set[int], bool]:
    covers = column.covers
    assert covers is not None
    listed = covers.members[covers.starts[code] : covers.starts[code + 1]].tolist()
    own = set(listed) or set(range(covers.low[code], covers.high[code] + 1))
    return own, bool(covers.missing[code])


@given(columns())
def test_a_slow_twin(column: Column) -> None:
    hierarchy = column.hierarchy
    if hierarchy.height < 2:
        return
    rounded = with_round_ranges(Table((column,))).columns[0]
    covers = rounded.covers
    assert covers is not None and column.covers is not None
    assert reads_back(hierarchy, covers) and len(set(covers.texts)) == len(covers.texts)
    ranks = value_ranks(hierarchy)
    lowest = {}
    for leaf in hierarchy.leaf_nodes.tolist():
        above = int(hierarchy.parent[leaf])
        below = [leaf] if above == 0 else hierarchy.leaves(above).tolist()
        lowest[int(ranks[leaf])] = {int(ranks[one]) for one in below}
    for before, after in zip(column.codes.tolist(), rounded.codes.tolist(), strict=True):
        assert (before < 0) == (after < 0)
        if before < 0:
            continue
        own, missing = members(column, before)
        wide, also = members(rounded, after)
        assert own <= wide and missing <= also
        if len(own) > 1:
            ends = lowest[min(own)] | lowest[max(own)]
            assert ends <= wide
            if all(lowest[a] == {a} or lowest[a] == set(range(min(lowest[a]), max(lowest[a]) + 1)) for a in lowest):
                assert wide == set(range(min(ends), max(ends) + 1))
        else:
            assert wide == own
    # What was alike is alike.
    alike: dict[int, int] = {}
    for before, after in zip(column.codes.tolist(), rounded.codes.tolist(), strict=True):
        assert alike.setdefault(before, after) == after
