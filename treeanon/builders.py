"""The builders of hierarchies: what each is called in a schema, which values it is for, and the keys that it takes.

From this table follow the keys that the loader of schemas accepts, the JSON Schema, the options of
`treeanon hierarchy build`, and the fields of the explorer. What makes a hierarchy lies in `treeanon/hierarchy/`: this
table is read for `--help`, so it imports no builder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from treeanon.parameters import Parameter

NUMERIC = ("integer", "number")
_ANY = ("text", "integer", "number", "date")

LEAVES = "leaves"
"""The key that says whether values themselves may be published, or the levels of the builder alone."""

_LEAVES = Parameter(
    LEAVES,
    "flag",
    "Whether values may be published as they are, or (false) by the first level at the finest.",
    True,
    title="Values themselves",
)
_NAMES = Parameter(
    "names",
    "file",
    "A file of codes and names, as for terminology: names for the categories of ICD-10, and for the third and fourth"
    " level of ATC.",
    title="Names",
)


@dataclass(frozen=True)
class BuilderSpec:
    """One builder: the first of its parameters is its own key, which says that it is this one.

    A required choice with a default may be given as `true`, which stands for that. `types` are the types of classes
    that it is for.

    >>> [one.name for one in BUILDERS["ages"].parameters], BUILDERS["prefix"].files
    (['ages', 'on', 'top', 'leaves'], ('population',))
    """

    name: str
    title: str
    help: str
    parameters: tuple[Parameter, ...]
    types: tuple[str, ...] = _ANY

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that it takes, its own name first."""
        return tuple(one.name for one in self.parameters)

    @property
    def files(self) -> tuple[str, ...]:
        """The keys that name files."""
        return tuple(one.name for one in self.parameters if one.kind in ("file", "files"))


def _own(name: str, kind: str, title: str, text: str, **more: object) -> Parameter:
    return Parameter(name, kind, text, required=True, title=title, **more)  # type: ignore[arg-type]


_TABLE = (
    BuilderSpec(
        "intervals",
        "Intervals",
        "Nested intervals of numbers, for the types integer and number.",
        (
            _own("intervals", "numbers", "Widths", "One width per level, each a multiple of the one before.",
                 example=[5, 10, 20, 40]),
            Parameter("min", "number", "Minimum of the numbers.", title="Least value"),
            Parameter("max", "number", "Maximum of the numbers.", title="Greatest value"),
            Parameter("min_open", "number", "Numbers below this are one class.", title="One class below"),
            Parameter("max_open", "number", "Numbers from this on are one class.", title="One class from"),
        ),
        NUMERIC,
    ),
    BuilderSpec(
        "dates",
        "Dates",
        "Periods of the calendar, for the type date.",
        (
            _own("dates", "names", "Levels", "Periods of the calendar from the shortest to the longest.",
                 choices=("day", "week", "month", "quarter", "year", "decade", "century"),
                 example=["month", "quarter", "year", "decade"]),
            _LEAVES,
        ),
        ("date",),
    ),
    BuilderSpec(
        "prefix",
        "Prefix",
        "Values cut to their first characters, such as postal codes.",
        (
            _own("prefix", "ints", "Characters kept", "How many first characters each level keeps, from many to few.",
                 minimum=1, example=[3, 2, 1]),
            Parameter("population", "file", "A CSV file of codes and their population: first characters of areas of"
                      " 20,000 persons or fewer become zeros, as HIPAA wants it.", title="Population"),
            _LEAVES,
        ),
    ),
    BuilderSpec(
        "groups",
        "Groups",
        "Sorted values in groups, groups in groups.",
        (_own("groups", "int", "Fan-out", "How many neighbors make a group.", minimum=2, example=5),),
    ),
    BuilderSpec(
        "flat",
        "Flat",
        "Either the value or nothing.",
        (_own("flat", "flag", "Flat", "One level: the value or the root."),),
    ),
    BuilderSpec(
        "icd10",
        "ICD-10",
        "Codes of diagnoses: subcategories, the three-character category, its block and its chapter, which have names.",
        (
            _own("icd10", "choice", "Version",
                 '"who", or true: that of the WHO; "cm": the Clinical Modification of the United States.',
                 default="who", choices=("who", "cm")),
            _NAMES,
        ),
        ("text",),
    ),
    BuilderSpec(
        "atc",
        "ATC",
        "Codes of drugs by their five levels; the first two have names.",
        (_own("atc", "flag", "ATC", "Codes of drugs by the levels of ATC."), _NAMES),
        ("text",),
    ),
    BuilderSpec(
        "terminology",
        "Terminology",
        "Codes under the concepts above them, which are published with their names.",
        (
            _own("terminology", "files", "Files", "A CSV file with the columns code, parent and name; a CodeSystem or"
                 " ValueSet of FHIR (.json); the RF2 files of SNOMED CT, or their folder.",
                 example=["codes.csv", "valueset.json", "SnomedCT/"]),
            Parameter("system", "text", "The address of the one code system of a ValueSet that is used.",
                      title="Code system"),
        ),
        ("text",),
    ),
    BuilderSpec(
        "ages",
        "Ages",
        "Ages in years, and ranges of years, of dates of birth; for the type date.",
        (
            _own("ages", "ints", "Widths", "One width of a range in years per level, each a multiple of the one"
                 " before.", minimum=2, maximum=1000, example=[5, 10, 20]),
            Parameter("on", "day", "The day on which the ages are meant.", required=True,
                      title="Day of reference", example="2024-01-01"),
            Parameter("top", "int", "From this age on all are one, such as 90 for HIPAA.", minimum=1, maximum=999,
                      title="Oldest"),
            _LEAVES,
        ),
        ("date",),
    ),
)  # fmt: skip

BUILDERS: Mapping[str, BuilderSpec] = {one.name: one for one in _TABLE}
"""Every builder by its name."""


def keys_of_all() -> dict[str, Parameter]:
    """Return all keys of all builders by name; those of one name are the same.

    >>> list(keys_of_all())[:3]
    ['intervals', 'min', 'max']
    """
    return {one.name: one for builder in _TABLE for one in builder.parameters}
