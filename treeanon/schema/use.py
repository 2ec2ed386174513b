"""`use = ["fhir-r4"]` in a schema: the classes of presets, of which its own ones win by name."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from treeanon.errors import Problem, SchemaError
from treeanon.schema.presets import Preset, Table, preset_named, preset_names


def with_presets(document: dict[str, Any], source: str) -> dict[str, Any]:
    """Return a parsed schema with the classes of the presets that it uses, but for those that it withholds.

    A class of the schema's own takes the place of that of its name, and so of one for each code system. Without an
    `[output]` the profile is that of the preset.
    """
    used, withheld = (_names(document, key, source) for key in ("use", "withhold"))
    if not used:
        if withheld:
            _fail(source, "withhold", "only goes with use: what a schema does not name is not published")
        return document
    if unknown := [name for name in used if name not in preset_names()]:
        _fail(source, "use", f"unknown preset {unknown[0]!r}; choose from {', '.join(preset_names())}")
    presets = [preset_named(name) for name in used]
    given = document.get("input")
    form = given.get("format") if isinstance(given, dict) else None
    for preset in presets:
        if isinstance(form, str) and form not in preset.formats:
            _fail(source, "use", f"{preset.name!r} is for formats {', '.join(preset.formats)}, not for {form}")
    own = document.get("class", [])
    if not isinstance(own, list):
        return document
    taken = {table.get("name") for table in own if isinstance(table, dict)}
    known = {table["name"] for preset in presets for table in preset.tables()} | set(_bases(presets))
    if wrong := [name for name in withheld if name not in known]:
        near = get_close_matches(wrong[0], known, 1)
        guess = f"; did you mean {near[0]!r}?" if near else ""
        _fail(source, "withhold", f"no class {wrong[0]!r} in what is used{guess}")
    made = {**document, "class": [*own, *_classes(presets, _files(document), taken | set(withheld))]}
    profile = next((preset.profile for preset in presets if preset.profile), "")
    output = made.get("output", {})
    return {**made, "output": {"profile": profile, **output}} if profile and isinstance(output, dict) else made


def _names(document: dict[str, Any], key: str, source: str) -> list[str]:
    found = document.get(key, [])
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        _fail(source, key, f'must be a list of names: {key} = ["{"fhir-r4" if key == "use" else "language"}"]')
    return list(found)


def _fail(source: str, key: str, message: str) -> None:
    raise SchemaError([Problem(f"{source}: {key}", message)])


def _bases(presets: Sequence[Preset]) -> list[str]:
    return [str(table["name"]) for preset in presets for table in preset.classes]


def _files(document: dict[str, Any]) -> list[str] | None:
    """Return the names of the kinds that are files of their own; None where there are none."""
    files = document.get("file")
    if not isinstance(files, list) or not files:
        return None
    return [str(table.get("name")) for table in files if isinstance(table, dict)]


def _classes(presets: Sequence[Preset], files: list[str] | None, without: set[Any]) -> list[Table]:
    """Return the tables of the classes of presets but those of some names."""
    found = []
    for preset in presets:
        for table in preset.classes:
            # nothing is known of an input here: the class that is preferred is taken
            if table["name"] not in without and "instead_of" not in table:
                found += [made for made in preset.tables_of(table, files) if made["name"] not in without]
    return found
