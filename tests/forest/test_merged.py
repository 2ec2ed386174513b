"""Trees of whole objects made merged trees: the same as reading them as such, in every format and after moves."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treeanon as ta
from tests.support.object_worlds import SCHEMA, document, random_record
from tests.support.paths import ROOT
from tests.support.profiles import few
from treeanon.errors import UsageError
from treeanon.forest.planting import has_moved_nodes, merged
from treeanon.io.memory import forest_of_records
from treeanon.schema.dump import dump_schema

MERGED = SCHEMA.with_objects("merged")
AUTO = ta.Schema.loads(dump_schema(SCHEMA).replace('"whole"', '"auto"'))


@few(30, 60)
@given(st.integers(0, 2**32))
def test_they_are_what_reading_merged_trees_gives(seed: int) -> None:
    draw = random.Random(seed)
    documents = [document(random_record(draw)) for _ in range(4)]
    whole, expected = forest_of_records(documents, SCHEMA), forest_of_records(documents, MERGED)
    assert merged(whole) == expected and not has_moved_nodes(whole)


@settings(max_examples=30)
@given(st.integers(0, 2**32))
def test_moved_nodes_tell_that_trees_are_merged(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    draw = random.Random(seed)
    forest = forest_of_records([document(random_record(draw)) for _ in range(4)], MERGED)
    labels = forest._used_texts()
    pairs = [(a, b) for a in labels for b in labels if a[0] == "H" and b[0] in "DE"]
    moved = forest.disassociate(draw.sample(pairs, min(2, len(pairs))))
    if moved == forest:
        return
    folder = tmp_path_factory.mktemp("moved")
    for form in ("ndjson", "xml", "trees"):
        ta.write(moved, folder / f"out.{form}", format=form)
        assert ta.read(folder / f"out.{form}", AUTO.for_format(form), format=form) == moved


def test_what_the_schema_leaves_open() -> None:
    assert AUTO.input.keeps_objects and AUTO.input.objects_open
    assert 'objects = "auto"' in dump_schema(AUTO) and 'objects = "whole"' in dump_schema(SCHEMA)
    under = ta.Schema.loads(dump_schema(AUTO).replace('path = "pills[]"', 'path = "pills[]"\nunder = "/"'))
    assert not under.input.keeps_objects and under.input.objects_open
    with pytest.raises(UsageError, match="only for merged trees"):
        under.with_objects("whole")


@pytest.mark.parametrize(
    ("name", "source"), [("hospital-xml.toml", "patients.xml"), ("clinic.toml", "clinic")], ids=["xml", "tables"]
)
def test_samples(name: str, source: str) -> None:
    schema = ta.Schema.load(Path(ROOT, "schemas", name))
    whole, expected = (ta.read(ROOT / "samples" / source, schema.with_objects(how)) for how in ("whole", "merged"))
    assert merged(whole) == expected
