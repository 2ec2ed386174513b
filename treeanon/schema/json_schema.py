"""The JSON Schema of schemas, for editors; its list of formats comes from the table of formats.

After a change of that table, `python -m treeanon.schema.json_schema schemas/treeanon.schema.json` writes the file anew;
with plugins installed it gives a JSON Schema that knows their formats too.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from treeanon.formats import FORMATS, Format
from treeanon.profiles import PROFILES

Rules = dict[str, Any]


def with_formats(rules: Rules) -> Rules:
    """Return the JSON Schema with the registered formats."""
    made: Rules = json.loads(json.dumps(rules))
    spec = made["$defs"]["input"]
    descriptions = (f"{form.name}: {form.about}." for form in FORMATS.values())
    spec["properties"]["format"] |= {"description": " ".join(descriptions), "enum": list(FORMATS)}
    tests: list[Callable[[Format], bool]] = [
        lambda form: form.has_record_path,
        lambda form: not form.has_record_path,
        lambda form: not form.slashed,
        lambda form: not form.is_relational,
    ]
    profile = made["$defs"]["output"]["properties"]["profile"]
    profile |= {
        "description": " ".join(f"{one.name}: {one.about}." for one in PROFILES.values()),
        "enum": list(PROFILES),
    }
    for rule, test in zip(spec["allOf"], tests, strict=True):
        rule["if"]["properties"]["format"]["enum"] = _names(test)
    _of_input(made)["enum"] = _names(lambda form: not form.is_relational and not form.names_classes)
    rows, _ = made["allOf"]
    _of_input(rows)["enum"] = _names(lambda form: form.is_rows)
    return made


def _of_input(rule: Rules) -> Rules:
    """Return what the condition of a rule of the whole schema requires of the format."""
    found: Rules = rule["if"]["properties"]["input"]["properties"]["format"]
    return found


def _names(test: Callable[[Format], bool]) -> list[str]:
    return [form.name for form in FORMATS.values() if test(form)]


if __name__ == "__main__":
    path = Path(sys.argv[1])
    text = json.dumps(with_formats(json.loads(path.read_text())), indent=2, ensure_ascii=False)
    path.write_text(text + "\n")
