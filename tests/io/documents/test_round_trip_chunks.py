"""However a document is cut into blocks, batches and parts, whatever broken records stand in it: the same forest."""

from __future__ import annotations

import json
from random import Random

import pytest
from lxml import etree

import treeanon as ta
from tests.reference.documents import JsonDocuments, XmlDocuments, tag_of
from tests.support.paths import FOLDER
from tests.support.strategies import make_case, make_records, properties, released
from treeanon.errors import DataError
from treeanon.io import writing
from treeanon.io.documents import json_document, xml_document
from treeanon.io.documents import json_document as ndjson
from treeanon.io.documents import lines as line_formats


def tiny(rnd: Random, patch: pytest.MonkeyPatch, *, prune: bool = False) -> None:
    patch.setattr(ndjson, "_BLOCK", rnd.choice([1, 7, 100]))
    patch.setattr(json_document, "_AT_ONCE", rnd.choice([1, 2, 3]))
    patch.setattr(xml_document, "_BLOCK", rnd.choice([1, 7, 100]))
    if prune:
        patch.setattr(xml_document, "_PRUNE_AFTER", rnd.choice([0, 1, 50]))
    patch.setattr(writing, "_AT_ONCE", rnd.choice([1, 2, 3]))
    patch.setattr(writing, "_PART_RECORDS", rnd.choice([1, 2, 3]))
    for module in (xml_document, line_formats):
        patch.setattr(module, "BATCH_RECORDS", rnd.choice([1, 2]))


def small_blocks(rnd: Random) -> None:
    format = rnd.choice(["json", "ndjson", "xml", "trees"])
    case = make_case(rnd, "ndjson" if format == "trees" else format)
    forest = released(rnd, ta.Forest.from_records(case.schema, make_records(rnd, case)))
    ending = ".trees.jsonl" if format == "trees" else "." + format
    with pytest.MonkeyPatch.context() as patch:
        tiny(rnd, patch, prune=True)
        ta.write(forest, FOLDER / f"small{ending}", force=True)
        assert ta.read(FOLDER / f"small{ending}", case.schema) == forest


def small_blocks_of_foreign_xml(rnd: Random, *, prune: bool = False) -> None:
    """Documents with fields that the schema does not name, maybe thrown away early: counts stay as they are."""
    case = make_case(rnd, "xml")
    documents = XmlDocuments(case)
    names = (case.record or "").split("/")
    top: list[etree._Element] = [documents.record(rnd, names[-1]) for _ in range(rnd.randint(1, 5))]
    for name in reversed(names[:-1]):
        outer = etree.Element(tag_of(name))
        outer.extend(top)
        top = [outer]
    path = FOLDER / "foreign.xml"
    path.write_bytes(etree.tostring(top[0], encoding="utf-8"))
    whole = ta.read(path, case.schema)
    with pytest.MonkeyPatch.context() as patch:
        tiny(rnd, patch, prune=prune)
        pieces = ta.read(path, case.schema)
    assert list(pieces.records()) == list(whole.records())
    assert pieces.report is not None and whole.report is not None
    # what pruning counts is not the same yet: see test_round_trip_corners
    assert prune or pieces.report.dropped.total() == whole.report.dropped.total()


def pruning_of_foreign_xml(rnd: Random) -> None:
    small_blocks_of_foreign_xml(rnd, prune=True)


BROKEN = ("", "{", "[1,]", '{"a": NaN}', "nul", '{"a":1}}', "\ufeff{}", '{"a":"\\ud800"}', "{'a':1}", "\x00")


def broken_lines(rnd: Random) -> None:
    case = make_case(rnd, "ndjson")
    documents = JsonDocuments(case)
    records = [documents.record(rnd) for _ in range(rnd.randint(1, 5))]
    good = [json.dumps(record) for record in records]
    bad = [rnd.choice(BROKEN) for _ in range(rnd.randint(1, 3))]
    bad.append("[[1]]")
    lines = [(line, True) for line in good] + [(line, False) for line in bad]
    rnd.shuffle(lines)
    path = FOLDER / "broken.ndjson"
    if lines[0][0].startswith("\ufeff"):
        # a mark at the very beginning is about the file, not about a record
        lines.reverse()
    path.write_text("".join(line + "\n" for line, _ in lines))
    if lines[0][0].startswith("\ufeff"):
        return
    forest = ta.read(path, case.schema, on_error="skip")
    expected = [documents.tree(json.loads(line)) for line, is_good in lines if is_good]
    assert list(forest.records()) == expected
    assert forest.report is not None and forest.report.skipped == len(bad)
    assert forest.report.dropped.total() == documents.dropped.total()
    first = next(number for number, (_, is_good) in enumerate(lines, start=1) if not is_good)
    with pytest.raises(DataError, match=rf"line {first}\b"):
        ta.read(path, case.schema)


test_small_blocks, test_small_blocks_thorough = properties(small_blocks, 35)
test_small_blocks_of_foreign_xml, test_small_blocks_of_foreign_xml_thorough = properties(
    small_blocks_of_foreign_xml, 35
)
test_pruning_of_foreign_xml, test_pruning_of_foreign_xml_thorough = properties(pruning_of_foreign_xml, 35)
test_broken_lines, test_broken_lines_thorough = properties(broken_lines, 35)
