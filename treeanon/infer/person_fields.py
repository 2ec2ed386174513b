"""What looks like persons: fields that look like their ids, and the table of tables that looks like them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from treeanon.errors import UsageError
from treeanon.formats import FORMATS
from treeanon.infer.key_names import table_forms
from treeanon.infer.leaves import Leaf
from treeanon.infer.model import Findings, LeftOut, Repeat
from treeanon.infer.secrets import ENOUGH, words
from treeanon.io.relational.source import TableInfo, listed
from treeanon.schema import FieldPath
from treeanon.schema.keys import ForeignKey, name_text
from treeanon.schema.paths import PathError, parse_root

_SUBJECTS = frozenset(
    {"patient", "person", "people", "customer", "client", "member", "student", "citizen", "subject", "resident"}
    | {"participant", "respondent", "insured", "tenant", "passenger", "pupil", "borrower", "donor", "voter", "guest"}
    | {"individual", "inhabitant", "beneficiary", "policyholder", "cardholder", "applicant", "candidate", "inmate"}
)
_STAFF = frozenset({"employee", "user", "staff", "worker", "contact", "player", "author", "athlete", "personnel"})
PEOPLE = _SUBJECTS | _STAFF - {"staff", "contact", "player", "author", "personnel"}
"""Words for those whose data an input may hold."""

_OTHERS = frozenset({"doctor", "physician", "nurse", "teacher", "provider", "practitioner", "agent", "clinician"})
_TELLING: Mapping[str, float] = (
    dict.fromkeys(["birth", "birthdate", "birthday", "dob", "birthyear", "sex", "gender"], 3.0)
    | dict.fromkeys(["ssn", "nino", "mrn", "passport", "surname", "lastname", "firstname", "forename"], 3.0)
    | dict.fromkeys(["age", "marital", "race", "ethnicity", "nationality", "deceased", "maiden"], 1.5)
    | dict.fromkeys(["email", "phone", "telephone", "mobile", "fullname", "username"], 1.5)
    | dict.fromkeys(["address", "street", "zip", "postcode", "zipcode", "city", "name", "occupation"], 0.5)
)
_MOST_OF_COLUMNS = 8.0
_LOOKS_LIKE_PERSONS = 3.0


@dataclass(frozen=True)
class Root:
    """The record table, why it is that one, and which others could be it."""

    table: str
    why: str
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Rated:
    table: str
    score: float
    persons: float
    reasons: tuple[str, ...]


def choose_root(
    tables: Mapping[str, TableInfo], keys: Sequence[ForeignKey], requested: str | None, has_rows: Callable[[str], bool]
) -> Root:
    """Return the record table; a table without rows is never guessed.

    >>> tables = {"visit": TableInfo(("id", "day")), "patient": TableInfo(("id", "sex"))}
    >>> choose_root(tables, [ForeignKey("visit", ("patient",), "patient", ("id",))], None, bool).why
    'it looks like persons: its name, its column sex, and 1 table that refers to it'
    """
    rated = sorted((_rate(table, info, keys) for table, info in tables.items()), key=lambda each: -each.score)
    if requested is not None:
        others = [
            each
            for each in rated
            if each.table != _requested_table(tables, requested) and each.persons >= _LOOKS_LIKE_PERSONS
        ]
        return Root(_requested_table(tables, requested), "as given by --record", _described(others))
    best = next((each for each in rated if has_rows(each.table)), rated[0])
    likely = best.persons >= _LOOKS_LIKE_PERSONS
    others = [each for each in rated if each is not best and (each.persons >= _LOOKS_LIKE_PERSONS or not likely)]
    return Root(best.table, _why(best, likely), _described(others))


def looks_like_persons(table: str, info: TableInfo) -> bool:
    """Return whether the rows of a table are persons, by its name and its columns."""
    named = table_forms(table) & (_SUBJECTS | _STAFF | _OTHERS)
    return bool(named) or _columns(table, info)[0] >= 2 * _LOOKS_LIKE_PERSONS


def _requested_table(tables: Mapping[str, TableInfo], requested: str) -> str:
    """Return the table that --record names, in quotes or not."""
    if requested in tables:
        return requested
    try:
        name = parse_root(requested).names[0]
    except PathError:
        name = requested
    if name in tables:
        return name
    near = difflib.get_close_matches(requested.lower(), {table.lower(): table for table in tables}, 1)
    found = [table for table in tables if table.lower() in near]
    hint = f"; did you mean {found[0]!r}?" if found else ";"
    raise UsageError(f"--record: unknown table {requested!r}{hint} choose from {listed(tables)}")


def _rate(table: str, info: TableInfo, keys: Sequence[ForeignKey]) -> _Rated:
    score, reasons = _named(table)
    of_columns, telling = _columns(table, info)
    score += min(of_columns, _MOST_OF_COLUMNS)
    persons = score
    if telling:
        many = "columns" if len(telling) > 1 else "column"
        reasons.append(f"its {many} {', '.join(map(name_text, telling[:4]))}")
    children = {key.table for key in keys if key.target == table and not key.of_itself}
    score += min(len(children), 4) * 0.5 + min(_below(table, keys), 4) * 0.5 - (2.0 if not children else 0.0)
    if children:
        reasons.append(f"{len(children)} table{'s' if len(children) > 1 else ''} that refer{_s(children)} to it")
    return _Rated(table, score, persons, tuple(reasons))


def _s(found: set[str]) -> str:
    return "s" if len(found) == 1 else ""


def _named(table: str) -> tuple[float, list[str]]:
    forms = table_forms(table)
    for names, score in ((_SUBJECTS, 6.0), (_STAFF, 4.0), (_OTHERS, 2.0)):
        if forms & names:
            return score, ["its name"]
    last = words(table)[-1:]
    parts = {form for word in last for form in table_forms(word)}
    # "hospital_patients" may be persons, "customer_address" is not
    return (3.0, ["its name"]) if parts & _SUBJECTS else (0.0, [])


def _columns(table: str, info: TableInfo) -> tuple[float, list[str]]:
    """Return a score of how typical the columns are of persons, and the most typical ones."""
    found: dict[str, float] = {}
    seen: set[str] = set()
    for column in info.columns:
        parts = words(column)
        hits = [part for part in (*parts, *map("".join, pairwise(parts))) if part in _TELLING]
        if hits and not seen & set(hits):
            seen |= set(hits)
            found[column] = max(_TELLING[hit] for hit in hits)
    telling = sorted((column for column in found if found[column] >= 1), key=lambda column: -found[column])
    return sum(found.values()), telling


def _below(table: str, keys: Sequence[ForeignKey]) -> int:
    """Return how many tables refer to a table, directly or through others."""
    reached, waiting = {table}, [table]
    while waiting:
        at = waiting.pop()
        new = {key.table for key in keys if key.target == at} - reached
        reached |= new
        waiting += new
    return len(reached) - 1


def _why(best: _Rated, likely: bool) -> str:
    *most, last = best.reasons or ("it is the first",)
    words = f"{', '.join(most)}{',' if len(most) > 1 else ''} and {last}" if most else last
    return f"it looks like persons: {words}" if likely else f"a guess, for no table looks like persons: {words}"


def _described(others: Sequence[_Rated]) -> tuple[str, ...]:
    return tuple(name_text(each.table) for each in others[:8])


_IDS = frozenset(
    {"id", "ids", "identifier", "uuid", "guid", "key", "no", "nr", "number", "num", "code", "ref", "reference", "hash"}
    | {"pseudonym", "fk", "sk", "pk", "token"}
)
_JOINED = ("identifier", "number", "uuid", "guid", "key", "id", "no", "nr")
_OF_PERSONS = frozenset(
    {"ssn", "mrn", "empi", "nhs", "nino", "usubjid", "subjid", "pid", "patid", "personid", "custkey", "seqn", "enrolid"}
    | {"bene", "desynpuf"}
)
_PLAIN = frozenset({"id", "uuid", "guid", "identifier"})
_UUID = re.compile(r"(?:urn:uuid:)?[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_REFERENCE = re.compile(rf"(?:.*/)?(?i:{'|'.join(sorted(PEOPLE))})/[^/\s]+")
_ID_LIKE = re.compile(r"(?=.*[0-9])[^\s]{4,}")


NOT_PUBLISHED = "the key of the person, which is not published: a release has fresh numbers"
"""Why the field of `person` is no class."""


def person_fields(leaves: Iterable[Leaf], *, slashed: bool) -> list[Repeat]:
    """Return the fields of records that look like ids of persons, the likeliest first, as counted in a sample.

    Those that repeat come with `repeats`; a schema of their records needs `person`, unless `one_per_person` is true.
    """
    rated = []
    for leaf in leaves:
        if leaf.holder.parent is not None or any(step.repeated for step in leaf.path.steps):
            continue
        score, why = _score(leaf.labels, leaf.values.counts, leaf.values.occurrences)
        if score:
            text, values = leaf.path.text(slashed=slashed), leaf.values
            rated.append((score, Repeat(leaf.path, text, values.occurrences, values.distinct, why)))
    # One that a person's records share is likelier than one that each record has of its own.
    return [found for _, found in sorted(rated, key=lambda each: (-each[0], not each[1].repeats, each[1].text))]


def with_person(findings: Findings, leaves: Iterable[Leaf]) -> Findings:
    """Return the findings with the field that says whose a record is, if one that looks so repeats.

    A class of which each person has one value in all records of the sample lies under the person, after the others.
    """
    key = next((each for each in person_fields(leaves, slashed=findings.slashed) if each.repeats), None)
    if key is None or (findings.sample.format in FORMATS and FORMATS[findings.sample.format].names_classes):
        return findings
    classes = [found for found in findings.classes if found.path != key.path]
    if not any(found.published for found in classes):
        return findings
    paths = [found.path for found in classes if found.path is not None and found.published]
    # What is in another table lies under the row that leads there.
    own_paths = [path for path in paths if len(path.steps) == 1] if findings.is_relational else paths
    same = _same_for_each(findings.sample.records, key.path, own_paths)
    varied = [found for found in classes if found.path not in same]
    own = [replace(found, under="/") for found in classes if found.path in same]
    left = (*findings.left_out, LeftOut(key.text, NOT_PUBLISHED))
    return replace(findings, classes=(*varied, *own), left_out=left, person=key)


def _same_for_each(records: Sequence[Any], key: FieldPath, paths: Sequence[FieldPath]) -> set[FieldPath]:
    """Return the paths of fields of which every person has one value in all records that have any.

    >>> from treeanon.schema.paths import Step
    >>> records = [{"id": 1, "sex": "f", "ill": "Flu"}, {"id": 1, "sex": "f", "ill": "Cold"}]
    >>> by_name = {name: FieldPath((Step(name),)) for name in ("id", "sex", "ill")}
    >>> [path.text(slashed=False) for path in _same_for_each(records, by_name["id"], list(by_name.values())[1:])]
    ['sex']
    """
    found = {path for path in paths if not any(step.repeated for step in path.steps)}
    known: dict[tuple[FieldPath, Any], Any] = {}
    for record in records:
        if not isinstance(record, dict):
            return set()
        person = _value(record, key)
        for path in [path for path in found if person is not None]:
            value = _value(record, path)
            if value is not None and known.setdefault((path, person), value) != value:
                found.discard(path)
    return found


def _value(record: Any, path: FieldPath) -> Any:
    for step in path.steps:
        record = record.get(step.name) if isinstance(record, dict) else None
    return None if isinstance(record, dict | list) or record == "" else record


def _score(labels: Sequence[str], counts: Collection[str], occurrences: int) -> tuple[float, str]:
    """Return how much a field looks like the id of a person, 0 for not at all, and why.

    >>> _score(["patient_id"], ["1", "2"], 2)[0], _score(["doctor_id"], ["1", "2"], 2)[0], _score(["age"], ["34"], 1)[0]
    (3.0, 0, 0)
    """
    parts = [word for label in labels[-2:] for word in words(label)]
    last = words(labels[-1]) if labels else []
    joined = "".join(last)
    if _OF_PERSONS & {*last, joined}:
        return 3.0, "its name is that of an id of persons"
    person = PEOPLE & set(parts)
    if person and last and last[-1] in _IDS:
        return 3.0, "its name is that of an id of persons"
    if any(joined == name + ending for name in PEOPLE for ending in _JOINED):
        return 3.0, "its name is that of an id of persons"
    if counts and all(map(_REFERENCE.fullmatch, counts)):
        return 3.0, "its values are references to persons"
    if person and last and last[-1] in person and counts and all(map(_ID_LIKE.fullmatch, counts)):
        return 2.0, "it is named after persons, and its values are made to be unique"
    if occurrences < ENOUGH:
        return 0, ""
    if len(labels) == 1 and joined in _PLAIN:
        return 1.0, "its name is that of an id"
    if len(labels) == 1 and counts and all(map(_UUID.fullmatch, counts)) and 10 * len(counts) > occurrences:
        return 0.5, "its values are made to be unique (UUID)"
    return 0, ""


def question(found: Repeat, records: str = "records") -> str:
    """Return the question that a field which repeats asks, with both answers."""
    return (
        f"field {found.text!r} looks like the id of a person ({found.why}) and repeats: {found.records:,} {records}"
        f" have {found.distinct:,} different values, so that {records} would be counted for persons. Answer in [input]"
        f" of the schema: person = {_quoted(found.text)}, if all {records} with one value are one person's; or"
        f" one_per_person = true, if each is another person all the same"
    )


def _quoted(text: str) -> str:
    return f"'{text}'" if '"' in text or "\\" in text else f'"{text}"'
