"""A bulk export and bundles of the same invented persons give the same release, up to ids, order and form."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import treeanon as ta
from tests.support.health_data import People, bulk_export, bundles

CLASSES = """
[[class]]
name = "sex"
path = "{Patient}gender"
[[class]]
name = "born"
path = "{Patient}birthDate"
under = "/"
type = "date"
hierarchy = {{ dates = ["year", "decade"] }}
[[class]]
name = "kind"
path = "{Encounter}class.code"
[[class]]
name = "illness"
path = "{Condition}code.coding[].code"
facets = {{ display = "…coding[].display", text = "…code.text" }}
[[class]]
name = "drug"
path = "{MedicationRequest}medicationCodeableConcept.coding[].code"
"""
PERSON_OF = {"Patient": "id"} | dict.fromkeys(["Encounter", "Condition", "MedicationRequest"], "subject.reference")


def of_bundles() -> ta.Schema:
    classes = CLASSES.format(**{kind: f"entry[resource.resourceType={kind}].resource." for kind in PERSON_OF})
    return ta.Schema.loads(f'version = 1\ninput = {{ format = "json", record = "." }}\n{classes}')


def of_bulk() -> ta.Schema:
    files = "".join(f'[[file]]\nname = "{kind}"\nperson = "{field}"\n' for kind, field in PERSON_OF.items())
    classes = CLASSES.format(**{kind: f"{kind}." for kind in PERSON_OF})
    return ta.Schema.loads(f'version = 1\ninput = {{ format = "ndjson" }}\n{files}{classes}')


def shuffled(folder: Path, seed: int) -> Path:
    """Bring the lines of all files into an order of chance, in two files of each kind."""
    chance = random.Random(seed)
    for path in list(folder.iterdir()):
        lines = path.read_text().splitlines(keepends=True)
        chance.shuffle(lines)
        path.unlink()
        for number, some in enumerate((lines[::2], lines[1::2])):
            path.with_name(f"{path.stem}.{number:03}.ndjson").write_text("".join(some))
    return folder


def trees(forest: ta.Forest) -> list[str]:
    return sorted(map(json.dumps, forest.records()))


@pytest.mark.parametrize("asked", [{"m": 2, "n": 1}, {"m": 1, "n": 0}])
def test_both_forms_give_one_release(tmp_path: Path, asked: dict[str, int]) -> None:
    people = People(40)
    one = ta.read(bundles(tmp_path / "bundles", people), of_bundles())
    many = ta.read(shuffled(bulk_export(tmp_path / "bulk", people), 3), of_bulk())
    assert len(one) == 40 and trees(one) == trees(many)
    published = []
    for name, forest in (("one", one), ("many", many)):
        release = ta.anonymize(forest, k=5, seed=1, **asked)
        release.write(tmp_path / f"{name}/")
        again = ta.read(tmp_path / name, forest.schema)
        told = again.report
        assert told is not None
        published.append((trees(again), {key: facet.agreed() for key, facet in told.facets.items()}))
        assert ta.verify(tmp_path / name, schema=forest.schema, k=5, **asked).holds
        written = "".join(path.read_text() for path in (tmp_path / name).iterdir())
        assert not people.planted.found_in(written)
    assert published[0] == published[1]
    assert published[0][0] != trees(one)
