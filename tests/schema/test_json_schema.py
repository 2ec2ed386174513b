from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.schema.test_load import BROKEN, SHIPPED
from treeanon.formats import FORMATS
from treeanon.hierarchy import BUILDERS
from treeanon.schema.input_tables import INPUT_KEYS
from treeanon.schema.json_schema import with_formats
from treeanon.schema.load import CLASS_KEYS, TOP_KEYS
from treeanon.schema.model import AUTO, OBJECTS, ON_UNKNOWN, ROLES, TYPES

FORM: dict[str, Any] = json.loads((SHIPPED / "treeanon.schema.json").read_text())
PARTS: dict[str, Any] = FORM["$defs"]
VALIDATOR = Draft202012Validator(FORM)

# What takes more than one place of the file to see, or the inside of a path.
UNSEEN = {
    "record broken",
    "record of tables is a path",
    "keys that are none",
    "prefixes not declared",
    "no names of XML",
    "a name given twice",
    "hierarchy of no name",
    "builder of another type",
    "layout alone",
    "a circle beside a default in doubt",
}

EXAMPLE = """
version = 1
[input]
format = "json"
record = "patients[]"
[[class]]
name = "age"
path = "age"
type = "integer"
hierarchy = { intervals = [5, 10, 20, 40], min = 0, max = 120 }
[[class]]
name = "hospital"
path = "visits[].hospital"
hierarchy = "hierarchies/hospital.csv"
[[class]]
name = "disease"
path = "visits[].diagnoses[].name"
under = "hospital"
hierarchy = { groups = 5 }
[[class]]
name = "ssn"
path = "ssn"
role = "identifier"
"""


def test_it_is_a_json_schema() -> None:
    Draft202012Validator.check_schema(FORM)


@pytest.mark.parametrize("file", sorted(SHIPPED.glob("*.toml")), ids=lambda path: path.name)
def test_shipped_schemas_are_valid(file: Path) -> None:
    VALIDATOR.validate(tomllib.loads(file.read_text()))


def test_the_example_of_the_specification_is_valid() -> None:
    VALIDATOR.validate(tomllib.loads(EXAMPLE))


@pytest.mark.parametrize("name", BROKEN)
def test_what_one_place_shows_to_be_wrong_is_invalid(name: str) -> None:
    assert VALIDATOR.is_valid(tomllib.loads(BROKEN[name].text)) == (name in UNSEEN)


def test_the_loader_and_the_form_know_the_same_keys() -> None:
    assert set(FORM["properties"]) == set(TOP_KEYS)
    assert set(PARTS["input"]["properties"]) == set(INPUT_KEYS)
    assert set(PARTS["class"]["properties"]) == set(CLASS_KEYS)
    for part in (FORM, PARTS["input"], PARTS["class"]):
        assert part["additionalProperties"] is False


def test_the_loader_and_the_form_know_the_same_names() -> None:
    of_class = PARTS["class"]["properties"]
    assert PARTS["input"]["properties"]["format"]["enum"] == list(FORMATS)
    assert of_class["role"]["enum"] == list(ROLES)
    assert of_class["type"]["enum"] == list(TYPES)
    assert of_class["on_unknown"]["enum"] == list(ON_UNKNOWN)
    assert PARTS["input"]["properties"]["objects"]["enum"] == [AUTO, *reversed(OBJECTS)]


def test_what_it_says_of_formats_and_builders_is_from_their_tables() -> None:
    assert with_formats(FORM) == FORM


def test_the_hierarchies_are_a_file_or_one_of_the_builders() -> None:
    references = [choice["$ref"].rpartition("/")[2] for choice in PARTS["class"]["properties"]["hierarchy"]["oneOf"]]
    assert references == ["hierarchy_file", *BUILDERS]
    for name, kind in BUILDERS.items():
        assert list(PARTS[name]["properties"]) == list(kind.keys) and kind.keys[0] == name
        assert PARTS[name]["required"] == [name] and PARTS[name]["additionalProperties"] is False


def test_everything_has_a_title() -> None:
    def untitled(part: dict[str, Any]) -> list[str]:
        return [key for key, inner in part["properties"].items() if "title" not in inner and "$ref" not in inner]

    assert not [key for part in (FORM, *PARTS.values()) if "properties" in part for key in untitled(part)]
