"""Classes that must not be published: direct identifiers, secrets, references, free texts, and what is unique."""

from __future__ import annotations

import re

from treeanon.infer.leaves import Leaf
from treeanon.infer.secrets import Words, names_id, names_person_id, secret_name, secret_shape, words
from treeanon.infer.stats import Values
from treeanon.schema.model import Role

ENOUGH = 20
"""Least number of records for conclusions from the number of distinct values."""

_FEW = 8
_FLAGS = frozenset({"true", "false", "yes", "no", "y", "n", "0", "1"})
_REFERRING = frozenset({"id", "by", "fk", "ref"})
_CODE_LIKE = re.compile(r"(?=.*[0-9])\S{8,}")
_FREE = "it may say anything about anyone"


def withheld(leaf: Leaf, value_type: str, records: int) -> tuple[Role, str] | None:
    """Return the role that withholds a class, and the reason; None for a class to publish."""
    values = leaf.values
    if is_free_text(values):
        return "drop", f"long free text: {_FREE}"
    if values.counts.keys() <= _FLAGS and (values.occurrences >= ENOUGH or not values.quoted):
        return None
    labels = [tuple(words(label)) for label in leaf.labels]
    reason = secret_name(labels, leaf.siblings, of_record=leaf.holder.in_record, shared=leaf.shared)
    if reason:
        return ("drop" if "text" in reason else "identifier"), reason
    reason = _as_id(leaf, labels, records) or _by_values(leaf, value_type, records)
    if reason:
        return "identifier", reason
    last = labels[-1] if labels else ()
    if value_type == "integer" and len(last) > 1 and last[-1] in _REFERRING and values.distinct > _FEW:
        return "drop", "by its name it refers to something elsewhere, whose numbers have no order to generalize by"
    return None


def is_free_text(values: Values) -> bool:
    """Return whether values are long or of many words, all of them or a part."""
    total = values.occurrences
    length = sum(len(text) * times for text, times in values.counts.items()) / total
    many_words = sum(len(text.split()) * times for text, times in values.counts.items()) / total
    long = sum(times for text, times in values.counts.items() if len(text) > 120 or len(text.split()) > 20)
    return length > 60 or many_words > 10 or long > 0.05 * total


def _as_id(leaf: Leaf, labels: list[Words], records: int) -> str:
    """Return why a field is an id by its name, if it is."""
    last, values = labels[-1] if labels else (), leaf.values
    few = values.distinct <= _FEW and values.occurrences >= ENOUGH
    if names_person_id(last):
        return "it is an id of a person"
    # An identifier's own value is one at any number of values; what says of which system it is, is not.
    few_systems = few and last[-1:] not in (("extension",), ("value",))
    if any(names_id(label) and len(label) == 1 for label in labels[:-1]) and not few_systems:
        return "it is part of an identifier"
    if not leaf.holder.in_record:
        return ""
    varied = records < ENOUGH or 2 * values.distinct > values.records
    if varied and (names_id(last) or last[-1:] == ("name",)) and not leaf.shared:
        return "its name says that it tells one record from another"
    if not few and "".join(last) == "name" and not leaf.shared:
        return "its name says that it tells who somebody is"
    return ""


def _by_values(leaf: Leaf, value_type: str, records: int) -> str:
    values = leaf.values
    if value_type == "text" and (reason := secret_shape(values.counts, values.occurrences)):
        return reason
    if values.occurrences < ENOUGH or not _near_unique(values):
        return ""
    own = f"({values.distinct:,} of {values.occurrences:,})"
    if leaf.holder.in_record:
        if _is_identifying_kind(values, value_type):
            return f"nearly every record has a value of its own {own}"
        return ""
    last = tuple(words(leaf.labels[-1])) if leaf.labels else ()
    is_code = value_type == "text" and all(map(_CODE_LIKE.fullmatch, values.counts))
    if value_type in ("text", "integer") and (names_id(last) or is_code):
        return f"nearly every occurrence has a value of its own {own}"
    if (value_type == "text" and values.occurrences >= 2 * ENOUGH) or _is_counter(values, value_type):
        return f"nearly every occurrence has a value of its own {own}"
    return ""


def _near_unique(values: Values) -> bool:
    return values.distinct > 0.9 * values.occurrences


def _is_identifying_kind(values: Values, value_type: str) -> bool:
    """Return whether unique values are identifiers: texts, counters, and long integers that never repeat."""
    if value_type == "integer":
        long = all(len(text.strip().lstrip("+-")) >= 5 for text in values.counts)
        return (long and values.distinct == values.occurrences) or _is_counter(values, value_type)
    return value_type == "text"


def _is_counter(values: Values, value_type: str) -> bool:
    """Return whether integers number what they stand at: none repeats, and few between them are missing."""
    if value_type != "integer" or values.distinct != values.occurrences or values.distinct < ENOUGH:
        return False
    numbers = [int(text) for text in values.counts]
    in_order = numbers == sorted(numbers)
    # ages or weights of few persons may fill their range, too, but do not come in order
    return max(numbers) - min(numbers) < 2 * len(numbers) and (in_order or len(numbers) > 200)


def refers_to(values: Values, ids: frozenset[str]) -> bool:
    """Return whether most values are ids that other fields withhold, alone or at the end of a path.

    >>> values = Values()
    >>> for number in range(10): values.add(f"Patient/{number}", number, quoted=True)
    >>> refers_to(values, frozenset(str(number) for number in range(20)))
    True
    """
    if values.distinct <= _FEW:
        return False
    found = sum(text in ids or text.rpartition("/")[2] in ids for text in values.counts)
    return 2 * found > values.distinct
