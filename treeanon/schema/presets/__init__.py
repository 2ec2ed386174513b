"""Presets: schemas of known kinds of documents, one file of TOML each beside this module.

A schema takes in the classes of a preset by `use = ["fhir-r4"]`; `treeanon init --preset` writes those that occur in
an input. What a file may have: `about`, for people; the output `profile`; the `formats` it is for; `[[class]]` tables
as in schemas; and `[withheld]`, which says what is not published. Where documents have kinds of objects that may be
also files of their own, `[kinds]` has the field of each that says whose it is, `within` what stands before its name in
documents, `address` what references name there, and `[[key]]` what kinds refer to. `[systems]` are code systems by
which items of an array are told apart.
`instead_of` in a class names another of which it takes the place where that has no values.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from treeanon.errors import UsageError

Table = dict[str, Any]

_CODING = "coding[]"
_OWN_KEYS = ("systems", "sensitive", "instead_of")
"""The keys of a class that schemas do not know."""


@dataclass(frozen=True)
class System:
    """A code system: its name in presets, its address, and the hierarchy of its codes, if one follows from them."""

    name: str
    url: str
    hierarchy: Table | None = None


@dataclass(frozen=True)
class Preset:
    """What the file of a preset says."""

    name: str
    about: str
    profile: str
    formats: tuple[str, ...]
    classes: tuple[Table, ...]
    withheld: Mapping[str, str] = field(default_factory=dict)
    input: Table = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    keys: tuple[Table, ...] = ()
    within: str = ""
    address: str = ""
    systems: Mapping[str, System] = field(default_factory=dict)

    def kind_of(self, table: Table) -> str:
        """Return the kind of objects that holds a class; empty where there are no kinds."""
        return str(table["path"]).partition(".")[0] if self.kinds else ""

    def key_inside(self, key: Table) -> Table:
        """Return a key between kinds of objects as documents have it, where the address of an object is beside it."""
        own, _, field = str(key["from"]).partition(".")
        target = str(key["to"]).partition(".")[0]
        within = self.within.format(kind=own)
        return {"from": f"{within}.{field}", "to": self.address.format(kind=target)}

    def tables(self, files: Collection[str] | None = None) -> list[Table]:
        """Return the tables of all classes, as a schema has them; `files` are the kinds that are files, if any are."""
        return [made for table in self.classes for made in self.tables_of(table, files)]

    def tables_of(
        self, table: Table, files: Collection[str] | None = None, systems: Sequence[System] | None = None
    ) -> Iterator[Table]:
        """Yield the tables of a class: one, or one for each of its code systems (by default, those of the preset).

        A text beside the codes goes with the first of them.
        """
        kind = self.kind_of(table)
        if files is not None and kind not in files:
            return
        if "systems" not in table:
            yield self._placed(table, files)
            return
        known = [self.systems[name] for name in table["systems"]] if systems is None else systems
        for number, system in enumerate(known):
            made = {name: value for name, value in table.items() if name != "facets"}
            made["name"] = f"{table['name']} ({system.name})"
            made["path"] = table["path"].replace(_CODING, f"coding[system='{system.url}']")
            facets = {name: path.replace(_CODING, "coding") for name, path in table.get("facets", {}).items()}
            made["facets"] = {name: path for name, path in facets.items() if number == 0 or "coding" in path}
            if system.hierarchy is not None:
                made |= {"hierarchy": system.hierarchy, "on_unknown": "suppress"}
            yield self._placed(made, files)

    def _placed(self, table: Table, files: Collection[str] | None) -> Table:
        """Return a table with the path that it has in documents, or in files of kinds."""
        made = {name: value for name, value in table.items() if name not in _OWN_KEYS}
        if made.get("type") == "date":
            # Dates that are none are as unknown as codes that are none.
            made.setdefault("on_unknown", "suppress")
        if self.kinds and files is None:
            kind, _, rest = made["path"].partition(".")
            made["path"] = f"{self.within.format(kind=kind)}.{rest}"
        return made


def preset_names() -> tuple[str, ...]:
    """Return the names of all presets.

    >>> "fhir-r4" in preset_names()
    True
    """
    files = resources.files(__name__).iterdir()
    return tuple(sorted(each.name.removesuffix(".toml") for each in files if each.name.endswith(".toml")))


@cache
def preset_named(name: str) -> Preset:
    """Return the preset of that name; UsageError lists what there is.

    >>> preset_named("fhir-r4").kinds["Condition"]
    'subject.reference'
    """
    if name not in preset_names():
        raise UsageError(f"unknown preset {name!r}; choose from {', '.join(preset_names())}")
    found = tomllib.loads((resources.files(__name__) / f"{name}.toml").read_text("utf-8"))
    systems = {each: System(each, **declared) for each, declared in found.get("systems", {}).items()}
    return Preset(
        name,
        found["about"],
        found.get("profile", ""),
        tuple(found["formats"]),
        tuple(found["class"]),
        found.get("withheld", {}),
        found.get("input", {}),
        found.get("kinds", {}),
        tuple(found.get("key", [])),
        found.get("within", ""),
        found.get("address", ""),
        systems,
    )
