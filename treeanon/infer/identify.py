"""Classes that must not be published: identifying fields and free texts."""

from __future__ import annotations

import re
from itertools import pairwise

from treeanon.infer.leaves import Leaf
from treeanon.infer.stats import Values
from treeanon.schema.model import Role

ENOUGH = 20
"""Least number of records for conclusions from the number of distinct values."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+")
_TELLING = frozenset(
    {
        "ssn",
        "mrn",
        "email",
        "mail",
        "phone",
        "telephone",
        "telefon",
        "tel",
        "mobile",
        "cell",
        "cellphone",
        "fax",
        "telecom",
        "passport",
        "iban",
        "surname",
        "lastname",
        "firstname",
        "forename",
        "fullname",
        "maiden",
        "nickname",
        "username",
        "login",
        "password",
        "passwd",
        "license",
        "street",
        "birthname",
        "url",
        "uri",
        "ip",
        "mac",
        "pid",
        "nino",
        "nhs",
        "account",
        "fingerprint",
        "photo",
        "signature",
        "geburtsname",
        "vorname",
        "nachname",
        "address",
    }
)
_TELLING_PAIRS = frozenset(
    {"lastname", "firstname", "fullname", "middlename", "birthname", "familyname", "givenname", "username", "email"}
    | {"patientname", "personname", "customername", "creditcard", "nationalid", "taxid", "socialsecurity"}
)
_WHOLE_NAMES = frozenset({"name", "fullname", "patientname", "personname", "customername", "surname"})
_NUMBERING = frozenset(
    {
        "id",
        "ids",
        "identifier",
        "uuid",
        "guid",
        "key",
        "no",
        "nr",
        "number",
        "record",
        "recordid",
        "ref",
        "reference",
        "fullurl",
    }
)
_PARTS = frozenset({"first", "last", "given", "family", "middle", "full", "text", "prefix", "suffix", "birth"})
_INSIDE = frozenset(
    {
        "name",
        "names",
        "telecom",
        "telecoms",
        "contact",
        "contacts",
        "identifier",
        "identifiers",
        "phones",
        "emails",
    }
)
_TEXTS = frozenset({"note", "notes", "comment", "comments", "remark", "remarks", "memo", "narrative", "freetext"})
_FLAGS = frozenset({"true", "false", "yes", "no", "y", "n", "0", "1"})
_REFERRING = frozenset({"id", "by", "fk", "ref"})
_UUID = re.compile(r"(?:urn:uuid:)?[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_CODE_LIKE = re.compile(r"(?=.*[0-9])\S{8,}")


def words(name: str) -> list[str]:
    """Return the words of a name, in lower case.

    >>> words("birthDate"), words("SSN_number"), words("e-mail")
    (['birth', 'date'], ['ssn', 'number'], ['e', 'mail'])
    """
    return [word.lower() for word in _WORD.findall(name)]


def withheld(leaf: Leaf, value_type: str, records: int) -> tuple[Role, str] | None:
    """Return the role that withholds a class, and the reason; None for a class to publish."""
    values = leaf.values
    if _is_free_text(values):
        return "drop", "long free text: it may say anything about anyone"
    if leaf.labels and _TEXTS & set(words(leaf.labels[-1])) and values.distinct > 8:
        return "drop", "its name says free text, which may say anything about anyone"
    if values.counts.keys() <= _FLAGS:
        return None
    reason = _by_name(leaf, records) or _by_values(leaf, value_type, records)
    if reason:
        return "identifier", reason
    last = words(leaf.labels[-1]) if leaf.labels else []
    if value_type == "integer" and len(last) > 1 and last[-1] in _REFERRING and values.distinct > 8:
        return "drop", "by its name it refers to something elsewhere, whose numbers have no order to generalize by"
    return None


def _is_free_text(values: Values) -> bool:
    mean = sum(len(text) * times for text, times in values.counts.items()) / values.occurrences
    many_words = sum(len(text.split()) * times for text, times in values.counts.items()) / values.occurrences
    return mean > 60 or many_words > 10


def _by_name(leaf: Leaf, records: int) -> str:
    labels = [words(label) for label in leaf.labels]
    last = labels[-1] if labels else []
    values = leaf.values
    few = values.distinct <= 8 and values.occurrences >= ENOUGH
    if not few and (_TELLING & set(last) or _TELLING_PAIRS & set(map("".join, pairwise(last)))):
        return "its name says that it tells who or where somebody is"
    if not few and any(_INSIDE & set(label) for label in labels[:-1]) and 2 * values.distinct > values.records:
        return "it is part of a name, contact or identifier"
    if not few and _PARTS & set(last) and any({"name", "names"} & set(label) for label in labels[:-1]):
        return "it is part of a name"
    if not few and {"line", "lines", "reference"} & set(last):
        inside = {word for label in labels for word in label}
        if "reference" in last or {"address", "addresses", "addr"} & inside:
            return "its name says that it tells who or where somebody is"
    if not leaf.holder.in_record:
        return ""
    if not few and "".join(last) in _WHOLE_NAMES and not leaf.shared:
        return "its name says that it tells who somebody is"
    varied = records < ENOUGH or 2 * values.distinct > values.records
    if varied and last and last[-1] in _NUMBERING | {"name"}:
        return "its name says that it tells one record from another"
    return ""


def _by_values(leaf: Leaf, value_type: str, records: int) -> str:
    values = leaf.values
    if values.occurrences >= 2 and all(_UUID.fullmatch(text) for text in values.counts):
        return "its values are made to be unique (UUID)"
    if leaf.holder.in_record:
        if values.records >= ENOUGH and _near_unique(values) and _is_identifying_kind(values, value_type):
            return f"nearly every record has a value of its own ({values.distinct:,} of {values.records:,})"
        return ""
    last = words(leaf.labels[-1])[-1:] if leaf.labels else []
    many = values.occurrences >= ENOUGH and _near_unique(values) and value_type in ("text", "integer")
    if many and (set(last) & _NUMBERING or (value_type == "text" and all(map(_CODE_LIKE.fullmatch, values.counts)))):
        return f"nearly every occurrence has a value of its own ({values.distinct:,} of {values.occurrences:,})"
    return ""


def _near_unique(values: Values) -> bool:
    return values.distinct > 0.9 * values.occurrences


def _is_identifying_kind(values: Values, value_type: str) -> bool:
    """Return whether unique values are identifiers: texts, and long integers that never repeat."""
    if value_type == "integer":
        long = all(len(text.strip().lstrip("+-")) >= 5 for text in values.counts)
        return long and values.distinct == values.occurrences
    return value_type == "text"


def refers_to(values: Values, ids: frozenset[str]) -> bool:
    """Return whether most values are ids that other fields withhold, alone or at the end of a path.

    >>> values = Values()
    >>> for number in range(10): values.add(f"Patient/{number}", number, quoted=True)
    >>> refers_to(values, frozenset(str(number) for number in range(20)))
    True
    """
    if values.distinct <= 8:
        return False
    found = sum(text in ids or text.rpartition("/")[2] in ids for text in values.counts)
    return 2 * found > values.distinct
