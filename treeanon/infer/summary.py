"""Findings in a few lines for the terminal: persons, objects, what is withheld and why, and what to look at first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from treeanon.infer.model import Finding, Findings

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
