"""How references inside documents are written: what stands before the number of an object, and its kind."""

from __future__ import annotations

from treeanon.schema.model import Reference
from treeanon.schema.paths import FieldPath, Step

Steps = tuple[Step, ...]


def object_steps(path: FieldPath) -> Steps:
    """Return the steps to the repeated object that holds a field; none for the record."""
    return until_repeated(path.steps)


def until_repeated(steps: Steps) -> Steps:
    """Return the steps up to the last that repeats."""
    return steps[: max((at for at, step in enumerate(steps, start=1) if step.repeated), default=0)]


_URN = "urn:uuid:00000000-0000-4000-8000-"


def _leaf(path: FieldPath) -> str:
    """Return the name of a field; FHIR's XML has its values in attributes `value`."""
    if path.attribute is not None and (path.attribute != "value" or not path.steps):
        return path.attribute
    return path.steps[-1].name or "" if path.steps else ""


def kind_of(steps: Steps, *, slashed: bool) -> str:
    """Return the kind of objects that steps lead to, where a predicate says it as in FHIR; else an empty text."""
    predicate = next((step.predicate for step in reversed(steps) if step.predicate is not None), None)
    if predicate is None:
        return ""
    is_kind = predicate.names[-1:] == ("resourceType",) or predicate.is_of_element(slashed=slashed)
    return predicate.value if is_kind else ""


def forms(key: Reference, *, slashed: bool) -> tuple[str, str]:
    """Return what stands before the number of an object where it is referred to, and where it is named."""
    if _leaf(key.target) == "fullUrl":
        return _URN, _URN
    # The id of an XML element begins with a letter.
    called = "n" if slashed and key.target.attribute not in (None, "value") else ""
    last = object_steps(key.target)[-1]
    if any(step.name == "contained" for step in key.target.steps) or (slashed and _leaf(key.path) in ("href", "URI")):
        return "#" + called, called
    if slashed and called and key.path.attribute == "value":
        return "#" + called, called
    if _leaf(key.path) == "reference" and last.predicate is not None and (kind := kind_of((last,), slashed=slashed)):
        return f"{kind}/{called}", called
    return called, called


def number_text(before: str, number: int) -> str:
    """Return how an object with a number is named, after what stands before it.

    >>> number_text("Encounter/", 26), number_text(_URN, 26)
    ('Encounter/26', 'urn:uuid:00000000-0000-4000-8000-00000000001a')
    """
    return f"{before}{number:012x}" if before == _URN else f"{before}{number}"


def number_of(before: str, text: str) -> int | None:
    """Return the number of an object that is named by a text; None for a text that `number_text` does not make.

    >>> number_of("Encounter/", "Encounter/26"), number_of("Encounter/", "Encounter/026"), number_of("", "x")
    (26, None, None)
    """
    digits = text.removeprefix(before)
    try:
        found = int(digits, 16 if before == _URN else 10)
    except ValueError:
        return None
    return found if found > 0 and number_text(before, found) == text else None
