"""The JSON Schema of schemas, for editors; formats, profiles and builders come from their tables.

After a change of such a table, `python -m treeanon.schema.json_schema schemas/treeanon.schema.json` writes the file
anew; with plugins installed it gives a JSON Schema that knows their formats too.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from treeanon.builders import BUILDERS, BuilderSpec
from treeanon.formats import FORMATS, PROFILES, Format
from treeanon.parameters import Parameter

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
    made["$defs"] |= {name: _builder_rules(builder) for name, builder in BUILDERS.items()}
    kinds = [{"$ref": f"#/$defs/{name}"} for name in ("hierarchy_file", *BUILDERS)]
    made["$defs"]["class"]["properties"]["hierarchy"]["oneOf"] = kinds
    return made


def _builder_rules(builder: BuilderSpec) -> Rules:
    """Return the rules for the inline table of a builder."""
    # Editors complete the own key first; what else is required is said when that is there.
    more = [one.name for one in builder.parameters[1:] if one.required]
    return {
        "title": builder.title,
        "description": builder.help,
        "type": "object",
        "properties": {one.name: _parameter_rules(one) for one in builder.parameters},
        "required": [builder.name],
        **({"dependentRequired": {builder.name: more}} if more else {}),
        "additionalProperties": False,
    }


def _parameter_rules(one: Parameter) -> Rules:
    """Return the rules for the value of a parameter."""
    rules: Rules = {"title": one.title, "description": one.help}
    bounds = {"minimum": one.minimum, "maximum": one.maximum}
    within = {name: int(bound) for name, bound in bounds.items() if bound is not None}
    text: Rules = {"type": "string", "minLength": 1}
    kinds: dict[str, Callable[[], Rules]] = {
        "number": lambda: {"type": "number"},
        "int": lambda: {"type": "integer", **within},
        "numbers": lambda: _list({"type": "number", "exclusiveMinimum": 0}),
        "ints": lambda: _list({"type": "integer", **within}) | {"uniqueItems": True},
        "names": lambda: _list({"enum": list(one.choices)}) | {"uniqueItems": True},
        "choice": lambda: {"enum": [True, *one.choices] if one.required else list(one.choices)},
        "flag": lambda: {"const": True} if one.required else {"type": "boolean", "default": one.default},
        "files": lambda: _list(text) | {"type": ["string", "array"], "minLength": 1},
        "day": lambda: {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},
    }
    examples = {} if one.example is None else {"examples": _examples(one)}
    return {**rules, **kinds.get(one.kind, lambda: text)(), **examples}


def _list(items: Rules) -> Rules:
    return {"type": "array", "items": items, "minItems": 1}


def _examples(one: Parameter) -> list[Any]:
    """Return the values that are examples: of files each for itself."""
    return list(one.example) if one.kind == "files" and isinstance(one.example, list) else [one.example]


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
