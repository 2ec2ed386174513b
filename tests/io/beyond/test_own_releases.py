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


test_any_release, test_any_release_thoroughly = properties(any_release, 150, 3000)
