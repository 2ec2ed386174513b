"""Fields of the editor for declared parameters: of builders of hierarchies, and of classes.

What is typed is read by the declaration, so that neither the page nor its script knows a key by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from treeanon.builders import BUILDERS, NUMERIC, BuilderSpec
from treeanon.errors import UsageError
from treeanon.parameters import Parameter
from treeanon.reports.page.elements import Content, Element, el
from treeanon.schema.controls import AGGREGATES, VALUE_STYLES
from treeanon.schema.model import ON_UNKNOWN, TYPES

FILE = BuilderSpec(
    "file",
    "File",
    "A hierarchy file, CSV or JSON, found from the folder of the schema.",
    (Parameter("file", "file", "Path of the file.", required=True, title="File", example="hierarchies/hospital.csv"),),
)
"""The hierarchy of a class may be a file, which is no table of a builder."""

RULE, KEY = "rule-", "key-"
"""What names of fields begin with: those of the hierarchy's rule, and those of other keys of the class."""


class WrongFields(UsageError):
    """What is wrong with single fields, by their names."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__("; ".join(problems.values()))
        self.problems = dict(problems)


def rules_for(value_type: str) -> dict[str, BuilderSpec]:
    """Return the rules that a class of a type may have its hierarchy by.

    >>> list(rules_for("date"))
    ['dates', 'prefix', 'groups', 'flat', 'ages', 'file']
    """
    return {name: one for name, one in {**BUILDERS, FILE.name: FILE}.items() if value_type in one.types}


def _key(name: str, kind: str, title: str, text: str, **more: object) -> Parameter:
    return Parameter(name, kind, text, title=title, **more)  # type: ignore[arg-type]


_CLASS = (
    _key("type", "choice", "Type", "What its values are taken for; dates and numbers have builders of their own.",
         default="text", choices=TYPES),
    _key("on_unknown", "choice", "Unknown values", "error: a value that the hierarchy does not know stops the reading;"
         " suppress: it is left out.", default="error", choices=ON_UNKNOWN),
    _key("shift", "choice", "Move dates", "person: all dates of a person move by one secret span.",
         choices=("person",)),
    _key("pseudonym", "text", "Pseudonym", "true: a keyed hash of the value is published; a name: one hash for all"
         " classes of that name."),
    _key("facets", "pairs", "Facets", "Fields that say the same as the value, by name, such as display=code.display."),
    _key("weight", "number", "Weight", "How much more than in other classes a loss counts.", default=1),
    _key("min_level", "int", "Least level", "Tables: values are published on this level or above; 0 is the values.",
         default=0, minimum=0),
    _key("max_level", "int", "Highest level", "Tables: no value is published above this level.", minimum=0),
    _key("max_span", "number", "Greatest span", "Tables: no published value stands for more than this."),
    _key("style", "choice", "Style", "Tables: how the values of a group are published.", choices=VALUE_STYLES),
    _key("microaggregate", "choice", "Microaggregation", "Tables: a group is published as the mean or median of its"
         " numbers.", choices=AGGREGATES),
)  # fmt: skip

_CONTROLS = ("weight", "min_level", "max_level", "max_span", "style", "microaggregate")


def class_keys(table: Mapping[str, object]) -> list[Parameter]:
    """Return the keys that mean something for a class with this type and role, and those that it has."""
    value_type, role = table.get("type", "text"), table.get("role", "quasi")
    without = set() if value_type == "date" else {"shift"}
    without |= set() if value_type in NUMERIC else {"microaggregate"}
    without |= set() if role == "identifier" else {"pseudonym"}
    without |= set() if role == "quasi" else set(_CONTROLS)
    return [one for one in _CLASS if one.name not in without or one.name in table]


def read_fields(
    prefix: str, parameters: Sequence[Parameter], typed: Mapping[str, str], before: Mapping[str, object]
) -> dict[str, object]:
    """Return the values of the fields that say something; WrongFields for what they do not take.

    What is left as it is shown keeps its value, which may have another form than the field would read.

    >>> keys = BUILDERS["intervals"].parameters
    >>> read_fields("", keys, {"intervals": "5, 10", "min": " 0", "max": ""}, {"max": 9})
    {'intervals': [5, 10], 'min': 0}
    """
    found: dict[str, object] = {}
    problems: dict[str, str] = {}
    for one in parameters:
        text = typed.get(prefix + one.name, "").strip()
        if one.kind == "flag" and one.required:
            found[one.name] = True
        elif one.name in before and text == one.text_of(before[one.name]):
            found[one.name] = before[one.name]
        elif not text and one.required:
            problems[prefix + one.name] = f"is missing: {one.expected}"
        elif text and (one.required or text != one.text_of(one.default)):
            try:
                found[one.name] = one.parse(text)
            except ValueError:
                problems[prefix + one.name] = f"must be {one.expected}"
    if problems:
        raise WrongFields(problems)
    return found


def fields_of(
    prefix: str,
    parameters: Sequence[Parameter],
    values: Mapping[str, object],
    typed: Mapping[str, str],
    problems: Mapping[str, str],
) -> list[Element]:
    """Return the fields of parameters, with what was typed, else their values, and what is wrong with them."""
    out = []
    for one in parameters:
        if one.kind == "flag" and one.required:
            continue
        name = prefix + one.name
        text = typed.get(name, one.text_of(values.get(one.name, one.default)))
        out.append(field(name, one.title, text, one.help, problems.get(name, ""), _choices(one), one.example))
    return out


def _choices(one: Parameter) -> dict[str, str] | None:
    """Return the options of a field that is no text: what is sent, and what it is called."""
    if one.kind == "flag":
        return {"true": "may be published", "false": "are never published"}
    if one.kind != "choice":
        return None
    named = {choice: choice for choice in one.choices}
    return named if one.default is not None else {"": "–", **named}


def field(
    name: str,
    title: str,
    value: str,
    help: str = "",
    problem: str = "",
    choices: Mapping[str, str] | None = None,
    example: object = None,
    *,
    does: str | None = None,
) -> Element:
    """Return a field with its label; what is wrong with it stands right below, and is read out with it."""
    own = f"edit-{name}"
    described = " ".join([*([f"{own}-wrong"] if problem else []), *([f"{own}-help"] if help else [])])
    common = {
        "id": own,
        "name": name,
        "aria_invalid": "true" if problem else None,
        "aria_describedby": described or None,
        "data_do": does,
    }
    if choices is not None:
        known = choices if value in choices else {value: value, **choices}
        options = [
            el("option", text, value=key, selected="selected" if key == value else None) for key, text in known.items()
        ]
        control = el("select", options, **common)
    else:
        hint = None if example is None else Parameter(name, "text", "").text_of(example)
        control = el("input", type="text", value=value, autocomplete="off", spellcheck="false", placeholder=hint,
                     **common)  # fmt: skip
    parts: list[Content] = [el("label", title, for_=own), control]
    if problem:
        parts.append(el("span", problem, class_="problem", id=f"{own}-wrong"))
    if help:
        parts.append(el("span", help, class_="hint", id=f"{own}-help"))
    return el("p", parts, class_="edit-field")
