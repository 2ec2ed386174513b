"""Whatever JSON records look like: the schema that init writes loads, and reading by it meets no error."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import treeanon as ta
from tests.support.profiles import few
from treeanon.errors import DataError
from treeanon.infer import propose, render_schema

NAMES = st.sampled_from(
    ["a", "b", "type", "name", "id", "age", "zip", "date", "note", "resource", "resourceType", "value", "kind"]
)
ODD = st.sampled_from(["a.b", "c[]", "x=y", "it's", "@x", "[", "]", "é", "日本", "#", "/", "*", "\\", "1"])
ODDER = st.sampled_from(["", " ", "\n", 'say "so"', "both ' and \"", "\u0085", "\u202e", "2019-01-01"])
KEYS = NAMES | ODD | ODDER | st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.integers(0, 120)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", " ", "2019-03-07", "20190307", "2019", "54104", "007", "M", "*", "1e5", " 34 ", "-3.50"])
    | st.sampled_from(["²", "Condition", "Patient", "\0", "J45.9", "+5", "١٢", "2010s", "true", "a\nb", "x" * 100])
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)
RECORDS = st.dictionaries(KEYS, VALUES, max_size=5)


def check(path: Path, count: int, **options) -> None:
    try:
        findings = propose(path, **options)
    except DataError as error:
        assert "could become a class" in str(error)
        return
    schema = ta.Schema.loads(render_schema(findings))
    assert len(ta.read(path, schema)) == count


@pytest.mark.parametrize("form", ["ndjson", "json"])
@few(50, 100)
@given(st.lists(RECORDS, min_size=1, max_size=6))
def test_the_schema_loads_and_reads_its_input(form, records):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"people.{form}")
        if form == "json":
            path.write_text(json.dumps(records), encoding="utf-8")
            check(path, len(records), record="[]")
        else:
            path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
            check(path, len(records))


@st.composite
def uniform(draw):
    """Records of one shape, so that most of it can be expressed."""
    kinds = st.sampled_from(["text", "number", "object", "array", "items", "nested"])
    shape = draw(st.dictionaries(KEYS, kinds, min_size=1))
    values = {
        "text": st.sampled_from(["x", "y", "2019-01-02", "12345", "a long text " * 8]),
        "number": st.integers(-5, 99) | st.floats(-9, 9),
        "object": st.fixed_dictionaries({}, optional={"c": st.text(max_size=2), "type": st.sampled_from("AB")}),
        "array": st.lists(st.integers(0, 5), max_size=3),
        "items": st.lists(st.fixed_dictionaries({"type": st.sampled_from("AB")}, optional={"v": SCALARS}), max_size=3),
        "nested": st.lists(st.lists(st.integers(0, 5), max_size=2), max_size=3),
    }
    record = st.fixed_dictionaries({}, optional={key: values[kind] for key, kind in shape.items()})
    return draw(st.lists(record, min_size=1, max_size=30))


@few(50, 100)
@given(uniform())
def test_records_of_one_shape(records):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "people.ndjson")
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        check(path, len(records))
