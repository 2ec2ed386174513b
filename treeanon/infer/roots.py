"""The record table of relational inputs: the one that looks like persons by its name, its columns and its children."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from treeanon.errors import UsageError
from treeanon.infer.key_names import table_forms
from treeanon.infer.secrets import words
from treeanon.io.relational.source import TableInfo, listed
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
