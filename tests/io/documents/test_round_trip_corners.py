"""Corners that random round trips found: what was lost, misread or accepted wrongly once."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

import treeanon as ta
from tests.io.documents.test_round_trip_readers import places_of_dropped_fields
from treeanon.errors import DataError, SchemaError
from treeanon.io.documents import xml_document


def schema(format: str, *classes: dict[str, str], record: str | None = None, folder: Path | None = None) -> ta.Schema:
    lines = ["version = 1", "[input]", f'format = "{format}"', 'objects = "merged"']
    if record is not None:
        lines.append(f'record = "{record}"')
    for each in classes:
        lines.append("[[class]]")
        lines.extend(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in each.items())
    return ta.Schema.loads("\n".join(lines), folder=folder or ".")


def written_and_read(forest: ta.Forest, folder: Path, format: str) -> ta.Forest:
    path = folder / f"out.{format}"
    ta.write(forest, path, format=format)
    return ta.read(path, forest.schema.for_format(format), format=format)


def test_a_record_is_no_array() -> None:
    with pytest.raises(SchemaError, match="a name is expected at character 1"):
        schema("ndjson", {"name": "h", "path": "[].h"}, {"name": "d", "path": "[].d[]"})


def test_an_array_with_and_without_a_predicate_keeps_moved_nodes(tmp_path: Path) -> None:
    known = schema(
        "ndjson",
        {"name": "h", "path": "e[].h"},
        {"name": "d", "path": "e[k=A].d"},
        {"name": "t", "path": "e[k=A].t[].x"},
        {"name": "u", "path": "e[k=A].t[].u[]", "under": "t"},
    )
    forest = ta.Forest.from_records(known, [[["d", "1", [["t", "2", [["u", "3", []]]]]]]])
    forest = forest.disassociate([(("t", "2"), ("u", "3"))])
    assert written_and_read(forest, tmp_path, "ndjson") == forest


def test_an_array_with_and_without_a_predicate_has_fields_of_one_form() -> None:
    with pytest.raises(SchemaError, match="takes 'h' for something else than class 'x' does"):
        schema("ndjson", {"name": "x", "path": "e[].h.x"}, {"name": "d", "path": "e[k=A].h[]"})


def test_pruning_keeps_the_text_after_an_unnamed_element(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_document, "_BLOCK", 7)
    monkeypatch.setattr(xml_document, "_PRUNE_AFTER", 0)
    known = schema("xml", {"name": "t", "path": "t"}, {"name": "u", "path": "u"}, record="p/r")
    path = tmp_path / "in.xml"
    path.write_text("<p><r><t>one<x>z</x>two<y/>three</t><u>1</u></r></p>")
    assert ta.read(path, known).record(0) == [["t", "onetwothree", []], ["u", "1", []]]


def test_pruning_keeps_the_constant_of_a_predicate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_document, "_BLOCK", 7)
    monkeypatch.setattr(xml_document, "_PRUNE_AFTER", 0)
    known = schema("xml", {"name": "a", "path": "v[k=A]/t"}, {"name": "u", "path": "u"}, record="p/r")
    path = tmp_path / "in.xml"
    path.write_text("<p><r><v><k><w/>A</k><t>2</t></v><u>1</u></r></p>")
    assert ta.read(path, known).record(0) == [["a", "2", []], ["u", "1", []]]


@pytest.mark.parametrize("key", ["µg", "x²", "ª"])
def test_names_for_xml_are_names(tmp_path: Path, key: str) -> None:
    forest = ta.Forest.from_records(schema("ndjson", {"name": "h", "path": key}), [[["h", "1", []]]])
    assert written_and_read(forest, tmp_path, "xml") == forest


def test_a_schema_of_xml_refuses_what_is_no_name() -> None:
    with pytest.raises(SchemaError):
        schema("xml", {"name": "h", "path": "µg"}, record="a/b")


def test_a_predicate_on_mixed_content_is_derived(tmp_path: Path) -> None:
    known = schema(
        "xml", {"name": "h", "path": "e[kind=A]/kind/@lang"}, {"name": "x", "path": "e[kind=A]/x"}, record="a/b"
    )
    forest = ta.Forest.from_records(known, [[["h", "1", [["x", "2", []]]]]])
    assert written_and_read(forest, tmp_path, "json") == forest


def test_a_lone_surrogate() -> None:
    known = schema("ndjson", {"name": "h", "path": "h"})
    with pytest.raises(DataError, match="lone surrogate"):
        ta.Forest.from_records(known, [[["h", "\ud800", []]]])


def test_blanks_around_nodes_of_a_typed_hierarchy(tmp_path: Path) -> None:
    (tmp_path / "h.json").write_text('{"1": " low ", " low ": "*", "9": "*"}')
    with pytest.raises(SchemaError, match="texts with blanks around them"):
        schema("ndjson", {"name": "h", "path": "h", "type": "integer", "hierarchy": "h.json"}, folder=tmp_path)


def test_a_trees_schema_with_paths_as_xml(tmp_path: Path) -> None:
    forest = ta.Forest.from_records(schema("trees", {"name": "h", "path": "a b"}), [[["h", "1", []]]])
    assert written_and_read(forest, tmp_path, "xml") == forest


@pytest.mark.parametrize("path", ["e[k=A].h", "'e.f'[].h", "e[][k=A].h"])
def test_places_of_dropped_fields_have_one_name(tmp_path: Path, path: str) -> None:
    known = schema("ndjson", {"name": "h", "path": path})
    name = "e.f" if "f" in path else "e"
    item: object = {"k": "A", "note": 1}
    items = [[item, {}]] if "[][" in path else [item]
    text = json.dumps({name: items})
    unusual = json.dumps({name: items, "z": {"a": 1}}).replace('"a"', '"\\u0061"')
    (tmp_path / "in.ndjson").write_text(f"{text}\n{unusual}\n")
    report = ta.read(tmp_path / "in.ndjson", known).report
    assert report is not None
    assert [times for place, times in report.dropped.paths().items() if place != "z"] in ([2], [2, 2])


def test_places_of_dropped_fields_have_wrappers_in_them(tmp_path: Path) -> None:
    known = schema("ndjson", {"name": "h", "path": "w.e[].h"})
    (tmp_path / "in.ndjson").write_text('{"w": {"e": [{"note": 1}]}}\n')
    report = ta.read(tmp_path / "in.ndjson", known).report
    assert report is not None and report.dropped.paths() == {"w.e[].note": 1}


def test_places_of_dropped_fields_in_random_documents() -> None:
    for seed in range(200):
        places_of_dropped_fields(Random(seed))


@pytest.mark.parametrize(
    ("path", "text"),
    [("u", "<p><r><x/>stray<y/><u>1</u></r></p>"), ("v[k=A]/t", "<p><r><v><w/><k>B</k></v><v><k>A</k></v></r></p>")],
)
def test_pruning_counts_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, text: str) -> None:
    known = schema("xml", {"name": "u", "path": path}, record="p/r")
    (tmp_path / "in.xml").write_text(text)
    whole = ta.read(tmp_path / "in.xml", known).report
    monkeypatch.setattr(xml_document, "_BLOCK", 7)
    monkeypatch.setattr(xml_document, "_PRUNE_AFTER", 0)
    pieces = ta.read(tmp_path / "in.xml", known).report
    assert whole is not None and pieces is not None
    assert pieces.dropped.total() == whole.dropped.total()


def test_the_reserved_name_in_a_wrapper(tmp_path: Path) -> None:
    known = schema("ndjson", {"name": "h", "path": "w.h"})
    moved = '"treeanon:moved": {"/": [["h", "1", []]]}'
    (tmp_path / "in.ndjson").write_text(f'{{"w": {{{moved}}}}}\n{{"w": {{"\\u0078": 2, {moved}}}}}\n')
    first, second = ta.read(tmp_path / "in.ndjson", known).records()
    assert first == second


def test_projecting_to_nothing_changes_nothing() -> None:
    known = schema("ndjson", {"name": "h", "path": "h"})
    forest = ta.Forest.from_records(known, [[["h", "1", []]]])
    assert forest.project({}) == forest
    with pytest.raises(DataError, match="directly under the record"):
        ta.Forest.from_records(known, [[["h", "1", [["*", "*", []]]]]])


def test_a_hidden_class_apart_by_its_predicate() -> None:
    known = schema("ndjson", {"name": "h", "path": "e[k=A].v"}, {"name": "d", "path": "e[k=B].v", "role": "drop"})
    assert [spec.name for spec in known.classes if spec.role == "drop"] == ["d"]
