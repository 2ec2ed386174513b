"""What is written is read again: by the same schema, as any format, whatever was generalized and disassociated."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from lxml import etree

import treeanon as ta
from tests.reference.trees import multiset
from tests.support.paths import new_path
from tests.support.strategies import NOT_XML, Case, make_case, make_records, properties, released, shuffled
from treeanon.errors import DataError

FORMATS = ["json", "ndjson", "xml"]
ENDINGS = {"json": ".json", "ndjson": ".ndjson", "xml": ".xml", "trees": ".trees.jsonl"}


def fresh(ending: str) -> Path:
    return new_path("out", ending)


def round_trip(forest: ta.Forest, target: Path, format: str, schema: ta.Schema, given: str | None = None) -> None:
    try:
        ta.write(forest, target, format=given, force=True)
        again = ta.read(target, schema, format=given)
        assert again == forest, (list(forest.records()), list(again.records()))
        assert again.report is not None
        assert again.report.skipped == 0
    finally:
        shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)


def draw(rnd: Random, format: str, **options: bool) -> tuple[Case, ta.Forest]:
    case = make_case(rnd, format, **options)
    return case, released(rnd, ta.Forest.from_records(case.schema, make_records(rnd, case)))


def same_format(rnd: Random) -> None:
    format = rnd.choice(FORMATS)
    case, forest = draw(rnd, format)
    round_trip(forest, fresh(ENDINGS[format] + rnd.choice(["", "", "", ".gz", ".zst"])), format, case.schema)


def trees_files(rnd: Random) -> None:
    case, forest = draw(rnd, rnd.choice(FORMATS))
    round_trip(forest, fresh(ENDINGS["trees"]), "trees", case.schema)


def one_file_a_record(rnd: Random) -> None:
    format = rnd.choice(["json", "xml"])
    case, forest = draw(rnd, format, whole_file=True)
    round_trip(forest, fresh(rnd.choice(["", ".zip"])), format, case.schema)


def parts_of_a_folder(rnd: Random) -> None:
    format = rnd.choice(FORMATS)
    case, forest = draw(rnd, format)
    round_trip(forest, fresh(rnd.choice(["", ".zip"])), format, case.schema)


def other_format(rnd: Random) -> None:
    format = rnd.choice(FORMATS)
    case, forest = draw(rnd, format)
    other = rnd.choice([f for f in FORMATS if f != format])
    schema = case.schema.for_format(other)
    assert schema.input.format == other
    round_trip(forest, fresh(ENDINGS[other]), other, schema)


def from_trees(rnd: Random) -> None:
    """Classes without any path are laid out in any format."""
    case = make_case(rnd, rnd.choice(FORMATS))
    text = 'version = 1\n[input]\nformat = "trees"\n'
    for f in case.published:
        under = case.parents[f.name]
        text += f'[[class]]\nname = "{f.name}"\n' + (f'under = "{under}"\n' if under is not None else "")
    schema = ta.Schema.loads(text)
    forest = released(rnd, ta.Forest.from_records(schema, make_records(rnd, case)))
    format = rnd.choice([*FORMATS, "trees"])
    round_trip(forest, fresh(ENDINGS[format]), format, schema.for_format(format), given=format)


def record_texts(path: Path, format: str, case: Case) -> Counter[str]:
    text = path.read_text()
    if format == "xml":
        root = etree.fromstring(path.read_bytes())
        for _ in (case.record or "").split("/")[2:]:
            root = root[0]
        return Counter(etree.tostring(record, with_tail=False).decode() for record in root)
    if format == "json":
        return Counter(text[text.index("[\n") + 2 :].rpartition("\n]")[0].split(",\n"))
    return Counter(re.sub('"id":[0-9]+', "", line) for line in text.split("\n") if line)


def order_free(rnd: Random) -> None:
    """Equal forests give the same texts, however they came about."""
    format = rnd.choice([*FORMATS, "trees"])
    case = make_case(rnd, format if format != "trees" else "ndjson")
    records = make_records(rnd, case)
    other = [shuffled(rnd, record) for record in records]
    rnd.shuffle(other)
    assert multiset(records) == multiset(other)
    texts = []
    for each in (records, other):
        path = fresh(ENDINGS[format])
        ta.write(ta.Forest.from_records(case.schema, each), path)
        texts.append(record_texts(path, format, case))
        path.unlink()
    assert texts[0] == texts[1]
    assert texts[0].total() == len(records)


def not_for_xml(rnd: Random) -> None:
    """Characters that XML cannot hold are refused, without a word about the value; other formats hold them."""
    case = make_case(rnd, rnd.choice(FORMATS))
    records = make_records(rnd, case, nasty=NOT_XML)
    forest = ta.Forest.from_records(case.schema, records)
    path = fresh(".xml")
    bad = [value for record in records for value in NOT_XML if json.dumps(value)[1:-1] in json.dumps(record)]
    if bad:
        with pytest.raises(DataError, match="XML cannot hold") as caught:
            ta.write(forest, path)
        assert not any(value in str(caught.value) for value in NOT_XML)
        assert caught.value.__cause__ is None and not path.exists()
        round_trip(forest, fresh(".json"), "json", case.schema.for_format("json"))
        round_trip(forest, fresh(".trees.jsonl"), "trees", case.schema)
    else:
        round_trip(forest, path, "xml", case.schema.for_format("xml"))


test_same_format, test_same_format_thorough = properties(same_format, 40)
test_trees_files, test_trees_files_thorough = properties(trees_files, 40)
test_one_file_a_record, test_one_file_a_record_thorough = properties(one_file_a_record, 40)
test_parts_of_a_folder, test_parts_of_a_folder_thorough = properties(parts_of_a_folder, 50)
test_other_format, test_other_format_thorough = properties(other_format, 40)
test_from_trees, test_from_trees_thorough = properties(from_trees, 40)
test_order_free, test_order_free_thorough = properties(order_free, 40)
test_not_for_xml, test_not_for_xml_thorough = properties(not_for_xml, 40)
