"""The schema as commented TOML, from findings; of the data it shows only constants of predicates.

Also findings in a few lines for the terminal: persons, objects, what is withheld and why, and what to look at first.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from treeanon.hierarchy.files import printable
from treeanon.infer.model import Finding, Findings, LeftOut, ProposedKeys
from treeanon.schema import ClassSpec, InputSpec, Schema
from treeanon.schema.dump import dump_schema

KEY = "a key; keys are made anew"
"""Why columns of keys are left out."""

KEY_LANGUAGE = """\
A path leads from the record table to others by foreign keys: down to the rows that refer to a row (they
repeat, as objects in an array do), or up to the row that it names. Its last step is a column. Where several
keys lead to a table, the step names the columns of the one that is meant: visit.doctor(attending_id).name."""


def key_comment(keys: ProposedKeys) -> str:
    """Return the comment on the declared keys that the paths follow."""
    if not keys.declared:
        return ""
    listed = "\n".join(f"  {key}" for key in keys.declared)
    return f"The input declares its keys itself. The paths below follow:\n{listed}\n"


def key_lines(keys: ProposedKeys) -> Iterator[tuple[str, str]]:
    """Yield the lines of `key = […]`, each with the comment before it."""
    for key, why in keys.found:
        yield f"FOUND, NOT DECLARED: {why}.", f"  {_quoted(str(key))},"


def warning_lines(findings: Findings) -> str:
    """Return the warnings, a line each, and what was not looked at."""
    return "".join(f"NOTE: {warning}.\n" for warning in (*findings.warnings, *findings.sample.unseen))


def without_keys(left_out: Sequence[LeftOut]) -> tuple[list[LeftOut], list[str]]:
    """Return what was left out for other reasons, and the columns that are keys."""
    return [left for left in left_out if left.why != KEY], [left.path for left in left_out if left.why == KEY]


def _quoted(text: str) -> str:
    """Return the text as a TOML string."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


_CLASS = "\n[[class]]\n"
_MOST_LEFT_OUT = 60
_LANGUAGE = """\
A schema names the parts of a person's record that may be published. What it does not name is not published.
role: without one, a class is a quasi-identifier: something a neighbor may know, published in a coarser form.
"identifier" and "drop" are never published; "sensitive" is published as it is, and protected by l-diversity;
"keep" is published as it is, and you declare that this is safe.
{trees}
hierarchy: how values become coarser: a builder as below, or a file of your own ("hierarchies/city.csv").
Read on and correct it: a proposal knows the form of the data, not what it means."""


_MERGED = """\
under: a record becomes a tree. The first class of a {repeats} is its head; its other classes lie
under the head. under = "other class" (or "/" for the record) says otherwise."""

_WHOLE = """\
objects = "auto": each {repeats} is published whole, with its values where they were.
With "merged" its first class is the head of the others, and equal ones become one."""

_FILES = """\
Each file is a kind of object of a person. The first has the persons; `person` says in every file whose a row is.
A [[key]] ties the rows of one file to those of another: check both."""


_REFERENCES = """\
FOUND: fields whose values are ids of other objects of the same record. An object lies in the one that it refers to;
with inside = false it stays, and its reference is written where it can mean one object only. Ids are made anew."""


def render_schema(findings: Findings) -> str:
    """Return the commented TOML text of a schema that declares the findings."""
    keys = tuple(key for key, _ in findings.sample.keys.found) if findings.sample.keys else ()
    whole = findings.keeps_objects
    schema = Schema(
        InputSpec(
            findings.sample.format,
            findings.sample.record,
            findings.namespaces,
            keys,
            person=findings.person.path if findings.person else None,
            objects_open=True,
        ),
        tuple(replace(_spec(found), under=None) if whole else _spec(found) for found in findings.classes),
        files=findings.files,
        file_keys=findings.file_keys,
        references=findings.references,
    )
    schema = replace(schema, input=replace(schema.input, objects=schema.auto_objects))
    head, *classes = dump_schema(schema).split(_CLASS)
    if not whole:
        head = head.replace('objects = "auto"\n', "")
    comment = f"Written by treeanon init, from {findings.extent}.\n{warning_lines(findings)}"
    opening = _comment(f"{comment}\n{_language(findings)}\n")
    parts = [opening, "\n", _head(head, findings).replace("\n[[file]]", "\n" + _comment(_FILES) + "[[file]]", 1)]
    if findings.references:
        parts[-1] = parts[-1].replace("\n[[key]]", "\n" + _comment(_REFERENCES) + "[[key]]", 1)
    place = ""
    for found, body in zip(findings.classes, classes, strict=True):
        if found.place != place:
            place = found.place
            parts.append("\n" + _section(found, findings))
        parts.append(f"{_CLASS}{_comment(_class_comment(found, findings))}{body.rstrip()}\n")
    parts.append(_left_out(findings))
    return "".join(parts)


def _language(findings: Findings) -> str:
    repeats = "row of a child table" if findings.is_relational else "repeated object ([])"
    if findings.person is not None and not findings.is_relational:
        repeats = "record, or repeated object ([]) in it,"
    if findings.is_flat and findings.person is None:
        return _LANGUAGE.replace("{trees}\n", "").replace("the parts of a person's record", "the columns")
    form = _WHOLE if findings.keeps_objects else _MERGED
    language = _LANGUAGE.format(trees=form.format(repeats=repeats))
    if not findings.is_relational:
        return language
    lead, mark, rest = language.partition("role:")
    return f"{lead}{KEY_LANGUAGE}\n{mark}{rest}"


def _spec(found: Finding) -> ClassSpec:
    return ClassSpec(
        found.name,
        found.path,
        found.type,
        found.under,
        found.role,
        hierarchy_source=dict(found.hierarchy) if isinstance(found.hierarchy, Mapping) else found.hierarchy,
        facets=found.facets,
    )


def _head(head: str, findings: Findings) -> str:
    """Return the version and the input, with other possible record paths."""
    comment = ""
    sample = findings.sample
    if sample.record is not None:
        comment = f"record: where one person is; {sample.record_why}.\n"
        if sample.others:
            path = "TABLE" if findings.is_relational else "PATH"
            comment += f"It could also be: {', '.join(sample.others)}; init --record {path} takes another.\n"
    if findings.person is not None:
        own = findings.person
        comment += (
            "person: says whose a record is, so that all with one value are one person's;"
            f" {own.why}, and {own.records:,} records of the sample have {own.distinct:,} values. If each is another"
            " person all the same, write one_per_person = true instead.\n"
        )
    if sample.keys is not None:
        return _relational_head(head, comment, sample.keys)
    return head.replace("[input]\n", "[input]\n" + _comment(comment), 1).rstrip() + "\n"


def _relational_head(head: str, comment: str, keys: ProposedKeys) -> str:
    """Return the same for tables: each key of the schema on its own line, with the reason for it."""
    before, _, after = head.partition("\nkey = ")
    # The keys are one line, behind which there is more.
    rest = after.partition("\n")[2].rstrip()
    plain = "\n".join(part for part in (before.rstrip(), rest) if part) + "\n"
    plain = plain.replace("\nrecord = ", "\n" + _comment(comment) + "record = ", 1) + _comment(key_comment(keys))
    if not keys.found:
        return plain
    lines = "".join(f"{_comment(comment, indent='  ')}{line}\n" for comment, line in key_lines(keys))
    return f"{plain}key = [\n{lines}]\n"


def _section(found: Finding, findings: Findings) -> str:
    """Return the comment before the classes of a repeated object."""
    published = [f for f in findings.classes if f.place == found.place and f.published]
    if not published:
        return _comment(f"--- In {found.place}: nothing that would be published.")
    if len(published) > 1 and all(f.under == "/" for f in published) and not findings.keeps_objects:
        return _comment(f"--- In {found.place}: at most one in a record, so its classes describe the person (under /).")
    place = found.place
    if findings.sample.keys is not None:
        place = f"{place} ({findings.sample.keys.places.get(place, 'rows')})"
    if findings.keeps_objects:
        return _comment(f"--- In {place}, which repeats: each is an object.")
    head, rest = published[0], published[1:]
    above = findings.parents.get(head.name)
    lies = f"It lies under {above!r}." if above else "It lies directly under the record."
    others = "The other classes in it lie under its head." if rest else "It is the only class in it."
    return _comment(f"--- In {place}, which repeats: {head.name!r} is the head. {lies} {others}")


def _class_comment(found: Finding, findings: Findings) -> str:
    """Return the comment on one class: its counts, and the reason for the decision."""
    total = len(findings.sample.records)
    here = f"In {found.records:,} of {findings.extent}" if found.records != total else f"In {findings.extent}"
    times = f", {found.occurrences:,} times" if found.occurrences != found.records else ""
    comment = f"{here}{times}; {found.facts}."
    if found.asked:
        comment += f"\nPUBLISHED BECAUSE --publish NAMES IT: {found.asked}."
    if found.facets:
        named = ", ".join(found.facets)
        comment += f"\nFACETS: in the sample, {named} and this say each other: one fact, which counts once."
    if found.role == "quasi":
        return f"{comment}\n{_sentence(found.why)}"
    return f"{comment}\nNot published: {found.why}."


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


def _left_out(findings: Findings) -> str:
    if not findings.left_out:
        return ""
    left_out, of_keys = without_keys(findings.left_out)
    lines = [f"{left.path}: {left.why}" for left in left_out[:_MOST_LEFT_OUT]]
    if len(left_out) > _MOST_LEFT_OUT:
        lines.append(f"and {len(left_out) - _MOST_LEFT_OUT:,} more (--json lists all)")
    if of_keys:
        lines.append(f"Keys, which are made anew: {', '.join(of_keys)}")
    return "\n" + _comment("\n".join(["--- Left out, and so not published:", *lines]))


def _comment(text: str, indent: str = "") -> str:
    return "".join(f"{indent}# {line}".rstrip() + "\n" for line in _wrapped(text))


def _wrapped(text: str) -> Iterator[str]:
    for line in text.removesuffix("\n").split("\n") if text else ():
        # a key may hold characters that are invalid in a comment, or would end it
        yield from textwrap.wrap(printable(line), 110, break_long_words=False) or [""]


_MOST_KINDS = 12
_MOST_NAMES = 8
_MANY_VALUES = 20


def summary_lines(findings: Findings) -> list[str]:
    """Return the summary, a line each; of the data it shows only counts and names of fields."""
    return [
        *_persons(findings),
        *_withheld(findings),
        *_look_first(findings),
    ]


def _persons(findings: Findings) -> Iterator[str]:
    sample = findings.sample
    count = sample.total if sample.total is not None else len(sample.records)
    unit = "row" if findings.is_flat else "record"
    if findings.person is not None:
        key = findings.person
        yield f"Persons: {key.distinct:,} in {key.records:,} {unit}s of the sample, by {key.text} ({key.why})."
        yield f"Of {count:,} {unit}s, all with one value of it are taken for one person's."
        return
    read = "" if sample.whole else f"; read: {findings.extent}"
    if findings.files:
        first, *others = [one.name for one in findings.files]
        yield f"Persons: {count:,}, the rows of {first}, to which belong rows of {_listed(others, _MOST_KINDS)}{read}."
    else:
        where = "" if sample.record is None else f" at {findings.record_text!r}"
        yield f"Persons: {count:,}, if each {unit}{where} is one{read}."
    if findings.objects:
        kinds = [f"{_kind(path)} {number:,}" for path, number in findings.objects.items()]
        lead = "Objects" if sample.whole else "Objects in the sample"
        yield f"{lead}: {_listed(kinds, _MOST_KINDS)}."
    for unseen in sample.unseen:
        yield f"{unseen}."


def _kind(path: str) -> str:
    """Return the last step of a path to objects; where it says a kind, that kind.

    >>> _kind("entry[resource.resourceType=Condition].resource.note[]"), _kind("entry[resource.resourceType=Claim]")
    ('note[]', 'Claim')
    """
    constant = re.fullmatch(r".*=([^\[\]=]+)\]", path)
    return constant[1].strip("'\"") if constant else re.split(r"[./](?![^\[]*=)", path)[-1]


def _withheld(findings: Findings) -> Iterator[str]:
    hidden = [found for found in findings.classes if not found.published]
    if not hidden:
        yield "Withheld: nothing."
    else:
        yield f"Withheld: {len(hidden)} of {len(findings.classes)} fields; --publish FIELD takes one back."
    for why, names in _by_reason(hidden).items():
        yield f"  {_listed(names, _MOST_NAMES)}: {why}"
    asked = [found.name for found in findings.classes if found.asked]
    if asked:
        yield f"  Published because you ask for it: {_listed(asked, _MOST_NAMES)}"


def _by_reason(hidden: Sequence[Finding]) -> dict[str, list[str]]:
    """Return the names of fields for each reason, which is taken without its counts."""
    reasons: dict[str, list[str]] = {}
    for found in hidden:
        reasons.setdefault(found.why.partition(" (")[0], []).append(found.name)
    return reasons


def _look_first(findings: Findings) -> Iterator[str]:
    """Yield what its owner should look at first, the weightiest before others."""
    questions = [*_questions(findings)]
    if questions:
        yield "Look first at:"
        yield from (f"  {number}. {question}" for number, question in enumerate(questions, start=1))


def _questions(findings: Findings) -> Iterator[str]:
    sample = findings.sample
    if findings.person is not None:
        yield f"does {findings.person.text} say whose a record is? If each is another person: one_per_person = true"
    elif sample.others:
        yield f"is a person what lies at {findings.record_text!r}? It could be {sample.others[0]} (--record)"
    elif findings.is_flat:
        yield "is each row one person, and another row never the same one?"
    guessed = [str(key) for key, _ in sample.keys.found] if sample.keys is not None else []
    if guessed:
        yield f"keys that were found, not declared: {_listed(guessed, 4)}"
    public = [found for found in findings.classes if found.published]
    texts = [found for found in public if found.type == "text" and found.distinct > _MANY_VALUES]
    if texts:
        names = _listed([found.name for found in texts], _MOST_NAMES)
        yield f"texts of many values to be published, which may say who somebody is: {names}"
    grouped = [found.name for found in public if found.decision == "groups"]
    if grouped:
        yield (
            "classes that are grouped by the alphabet, with labels that mean nothing, for want of a hierarchy file or a"
            f" terminology: {_listed(grouped, _MOST_NAMES)}"
        )
    dates = [found.name for found in public if found.type == "date"]
    if dates:
        yield f"days, which neighbors know well: {_listed(dates, _MOST_NAMES)}"


def _listed(names: Sequence[str], most: int) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
