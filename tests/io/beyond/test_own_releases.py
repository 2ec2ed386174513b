"""What this program writes holds nothing beyond what is counted, in any format, in whatever way it is looked at."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random

import pytest

import treeanon as ta
from tests.support.paths import new_path
from tests.support.strategies import make_case, make_records, properties, released
from treeanon.io.beyond import documents
from treeanon.io.beyond.look import look_beyond
from treeanon.schema.derive import as_released

ENDINGS = {"json": ".json", "ndjson": ".ndjson", "xml": ".xml", "trees": ".trees.jsonl"}


def look(path: Path, schema: ta.Schema, format: str) -> dict[str, int]:
    try:
        released = as_released(schema).for_format(format)
        forest = ta.read(path, released, format=format)
        found = dict(look_beyond(path, released, forest, format=format).counts)
        with pytest.MonkeyPatch.context() as patch:
            # As if the file were another program's: record by record.
            patch.setattr(documents, "are_as_written", lambda sources, records: False)
            apart = dict(look_beyond(path, released, forest, format=format).counts)
        assert found == apart
        return found
    finally:
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def any_release(rnd: Random) -> None:
    format = rnd.choice(["json", "ndjson", "xml"])
    whole = format != "ndjson" and rnd.random() < 0.2
    case = make_case(rnd, format, whole_file=True) if whole else make_case(rnd, format)
    forest = released(rnd, ta.Forest.from_records(case.schema, make_records(rnd, case)))
    written = format if whole else rnd.choice([format, "trees"])
    target = new_path("out", rnd.choice(["", ".zip"]) if whole else ENDINGS[written] + rnd.choice(["", ".gz", ".zst"]))
    ta.write(forest, target, format=written, force=True)
    assert look(target, case.schema, written) == {}


test_any_release, test_any_release_thoroughly = properties(any_release, 40, 3000)


def test_kinds_of_one_name_with_another_between_them(tmp_path: Path) -> None:
    """Of elements told apart by what they hold: they stand apart, in the order in which they are written."""
    text = 'version = 1\n[input]\nformat = "xml"\nrecord = "patients/patient"\nobjects = "merged"\n'
    for name, path in (("a", "i[@k=A]/v"), ("b", "j[]/v"), ("c", "i[@k=C]/v")):
        text += f'[[class]]\nname = "{name}"\npath = "{path}"\n'
    schema = ta.Schema.loads(text)
    forest = ta.Forest.from_records(
        schema, [[["a", "1", []], ["b", "2", []], ["c", "3", []]], [["b", "2", []], ["c", "3", []]]]
    )
    ta.write(forest, tmp_path / "o.xml")
    turned = (tmp_path / "o.xml").read_text()
    assert look(tmp_path / "o.xml", schema, "xml") == {}
    a, j = '<i k="A"><v>1</v></i>', "<j><v>2</v></j>"
    assert a + j in turned
    (tmp_path / "p.xml").write_text(turned.replace(a + j, j + a))
    assert look(tmp_path / "p.xml", schema, "xml") == {"order": 1}
