"""Role, type, hierarchy and name of every class, and the head class of every repeated object."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count

from treeanon.errors import UsageError
from treeanon.infer.builders import Built, builder_for, nice_widths, type_of
from treeanon.infer.leaves import Holder, Leaf, Leaves
from treeanon.infer.model import Finding
from treeanon.infer.references import facet_names, find_facets
from treeanon.infer.sampling import Values
from treeanon.infer.secrets import ENOUGH, is_person_name, names_id, refers_to, withheld, words
from treeanon.schema.model import ValueType

_GENERIC = frozenset(
    {
        "name",
        "value",
        "text",
        "code",
        "display",
        "coding",
        "item",
        "items",
        "title",
        "label",
        "description",
        "desc",
        "entry",
        "resource",
        "data",
        "root",
        "string",
        "valuestring",
        "valuequantity",
        "valuecodeableconcept",
        "kind",
        "key",
        "#text",
        "list",
    }
)
_NOT_IN_NAMES = re.compile(r"[^\w.-]+")


def class_names(labels: Sequence[tuple[str, ...]], at_record: Sequence[bool]) -> list[str]:
    """Return a unique name for each class, given the names on the path to it.

    >>> class_names([("age",), ("visits", "name"), ("pets", "kind"), ("pets", "age")], [True, False, False, False])
    ['age', 'visits', 'pets', 'pets_age']
    """
    wanted = [_proposals(own, top) for own, top in zip(labels, at_record, strict=True)]
    length = [0] * len(wanted)
    while True:
        names = [proposals[min(at, len(proposals) - 1)] for proposals, at in zip(wanted, length, strict=True)]
        times = Counter(names)
        longer = [i for i, name in enumerate(names) if times[name] > 1 and length[i] + 1 < len(wanted[i])]
        if not longer:
            return _numbered(names)
        for at in longer:
            length[at] += 1


def _proposals(labels: tuple[str, ...], at_record: bool) -> list[str]:
    """Yield names from short to long; a generic last step is preceded by the step before it."""
    parts = [part for part in (_clean(label) for label in labels) if part] or ["field"]
    telling = [part for part in parts if part.lower() not in _GENERIC] or parts[-1:]
    if len(parts) == 1 or (at_record and len(labels) == 1):
        return parts[-1:]
    saying = telling if parts[-1] == telling[-1] else [*telling, parts[-1]]
    proposals = [telling[-1]]
    for some in (saying, parts):
        proposals += ["_".join(dict.fromkeys(some[-number:])) for number in range(2, len(some) + 1)]
    return list(dict.fromkeys(proposals))


def _clean(label: str) -> str:
    return _NOT_IN_NAMES.sub("_", label).strip("_.-")


def _numbered(names: list[str]) -> list[str]:
    """Return the names, numbered where one would occur twice."""
    taken: set[str] = set()
    out: list[str] = []
    reserved = set(names)
    for name in names:
        chosen = name
        if name in taken:
            chosen = next(n for n in (f"{name}_{i}" for i in count(2)) if n not in taken and n not in reserved)
        taken.add(chosen)
        out.append(chosen)
    return out


_SUBJECTS = frozenset({"name", "code", "text", "display", "title", "label", "description", "desc"})


def decide(
    leaves: list[Leaf],
    records: int,
    *,
    slashed: bool,
    rows: bool = False,
    publish: Sequence[str] = (),
    parents: Sequence[int] | None = None,
    around: bool = True,
    of_files: bool = False,
) -> tuple[Finding, ...]:
    """Return the classes in the order of the schema: holders in document order, their heads first.

    In `rows` numbers are not taken for references: persons are numbered from 1, so any small number is some id. The
    classes that `publish` names, by name or path, are published whatever they look like. With
    `parents`, the objects that hold each object of the sample, fields that say each other become facets of one class:
    of one object or, if wanted, of one `around`; `of_files`, of one
    file.
    """
    names = class_names([leaf.labels for leaf in leaves], [leaf.holder.parent is None for leaf in leaves])
    wanted = _wanted(publish, names, [leaf.path.text(slashed=slashed) for leaf in leaves])
    made = {
        leaf: _finding(leaf, name, records, slashed=slashed, wanted=number in wanted)
        for number, (leaf, name) in enumerate(zip(leaves, names, strict=True))
    }
    ids = frozenset(
        text
        for leaf, found in made.items()
        if found.role == "identifier" and leaf.values.distinct > 0.9 * leaf.values.occurrences
        for text in leaf.values.counts
        if not (rows and text.isdigit())
    )
    telling = frozenset(text for text in ids if len(text) > 4 or not text.isdigit())
    for leaf, found in made.items():
        if found.asked or not found.published or found.type not in ("text", "integer"):
            continue
        last = tuple(words(leaf.labels[-1])) if leaf.labels else ()
        # persons are numbered from 1, so any small number is the id of one: its name must say that it is meant
        able = ids if names_id(last) or is_person_name(last) else telling
        if refers_to(leaf.values, able):
            why = "its values are ids that another class withholds"
            made[leaf] = replace(found, type="text", role="identifier", under=None, hierarchy=None, why=why)
    return tuple(_in_order(_with_facets(made, parents, around=around, of_files=of_files)))


def _with_facets(
    made: dict[Leaf, Finding], parents: Sequence[int] | None, *, around: bool, of_files: bool
) -> dict[Leaf, Finding]:
    """Return the findings without those that are facets of others; without parents there are none."""
    if parents is None:
        return made
    able = [leaf for leaf, found in made.items() if found.published and found.type == "text" and not found.asked]
    facets = find_facets(able, parents, around=around, of_files=of_files)
    told = {other for same in facets.values() for other in same}
    rest = {leaf: found for leaf, found in made.items() if leaf not in told}
    for leaf, same in facets.items():
        paths = {name: other.path for name, other in facet_names(same).items()}
        rest[leaf] = replace(rest[leaf], facets=paths)
    return rest


def with_facets_of_rows(classes: Sequence[Finding], leaves: Leaves) -> tuple[Finding, ...]:
    """Return the classes of rows of persons without those that are facets of others, of rows or of persons alike."""
    leaf_of = {leaf.path: leaf for leaf in leaves.found}
    made = {leaf_of[found.path]: found for found in classes if found.path in leaf_of}
    rest: list[Finding] = []
    for under in dict.fromkeys(found.under for found in made.values()):
        own = {leaf: found for leaf, found in made.items() if found.under == under}
        rest += _with_facets(own, leaves.parents, around=False, of_files=False).values()
    return tuple(found for each in classes for found in rest if found.path == each.path)


def _wanted(publish: Sequence[str], names: Sequence[str], paths: Sequence[str]) -> set[int]:
    """Return the numbers of the classes that are named, by name or path; UsageError for a name that there is not."""
    wanted: set[int] = set()
    for each in publish:
        found = {number for number, known in enumerate(zip(names, paths, strict=True)) if each in known}
        if not found:
            near = difflib.get_close_matches(each, [*names, *paths], 3)
            hint = f"did you mean {', '.join(map(repr, near))}?" if near else "init --explain lists the fields"
            raise UsageError(f"--publish: there is no field {each!r}; {hint}")
        wanted |= found
    return wanted


def objects_of(leaves: Iterable[Leaf], *, slashed: bool) -> dict[str, int]:
    """Return how many objects of each kind there are, by the path to them."""
    holders = {leaf.holder: None for leaf in leaves if leaf.holder.parent is not None}
    return {holder.path.text(slashed=slashed): holder.instances for holder in holders}


def _in_order(made: dict[Leaf, Finding]) -> Iterator[Finding]:
    """Return the classes by holder, each holder's head first."""
    own: dict[Holder, list[tuple[Leaf, Finding]]] = {holder: [] for holder in _holders(made)}
    for leaf, found in made.items():
        own[leaf.holder].append((leaf, found))
    shown = {holder for holder, pairs in own.items() if any(found.published for _, found in pairs)}
    for holder, pairs in own.items():
        ordered = _with_head(pairs, holder)
        # a facet of an object around is told of the head alone
        ordered.sort(key=lambda found: found.published and not _tells_around(found, holder))
        around = holder.parent
        while around is not None and around not in shown:
            around = around.parent
        head = next((found for found in ordered if found.published), None)
        for found in ordered:
            # a class of the person as a whole is no head for the person's other classes
            yield replace(found, under="/") if found is head and around is not None and around.once else found


def _holders(leaves: Iterable[Leaf]) -> list[Holder]:
    """Return the holders, outer ones first."""
    found: dict[Holder, None] = {}
    for leaf in leaves:
        trail = [leaf.holder]
        while (above := trail[-1].parent) is not None:
            trail.append(above)
        found |= dict.fromkeys(reversed(trail))
    return sorted(found, key=lambda holder: holder.parent is not None)


def _finding(leaf: Leaf, name: str, records: int, *, slashed: bool, wanted: bool) -> Finding:
    values = leaf.values
    step = _telling(leaf.labels)
    value_type = type_of(values, step)
    found = Finding(
        name=name,
        path=leaf.path,
        type=value_type,
        facts=_facts(values, value_type),
        place=leaf.holder.path.text(slashed=slashed),
        records=values.records,
        occurrences=values.occurrences,
        distinct=values.distinct,
    )
    hidden = withheld(leaf, value_type, records)
    if hidden is not None and not wanted:
        # a class that is not published needs no type
        return replace(found, type="text", role=hidden[0], why=hidden[1])
    if hidden is not None:
        found = replace(found, asked=hidden[1])
    under = "/" if leaf.holder.once else None
    if values.distinct == 1 and values.occurrences >= ENOUGH:
        built = Built({"flat": True}, "always the same value so far: it tells nothing, and may be left out")
        return replace(found, type="text", under=under, hierarchy=built.spec, why=built.why)
    built = builder_for(values, step, value_type)
    return replace(found, under=under, hierarchy=built.spec, why=built.why)


def _telling(labels: tuple[str, ...]) -> str:
    """Return the name that says what values are: in C-CDA that of the element whose attribute `value` has them."""
    generic = len(labels) > 1 and labels[-1].lower() in ("value", "#text")
    return labels[-2] if generic else labels[-1] if labels else ""


def _tells_around(found: Finding, holder: Holder) -> bool:
    """Return whether a class has a facet in an object around its own."""
    size = len(holder.path.steps)
    return any(path.steps[:size] != holder.path.steps for path in found.facets.values())


def _with_head(own: list[tuple[Leaf, Finding]], holder: Holder) -> list[Finding]:
    """Return the classes of one holder, the head first; in the record itself, identifiers come first."""
    published = [pair for pair in own if pair[1].published]
    if holder.in_record:
        return [f for _, f in own if not f.published] + [f for _, f in published]
    ranked = sorted(published, key=lambda pair: _as_head(*pair))
    head = ranked[:1]
    rest = [pair for pair in own if pair not in head]
    return [finding for _, finding in [*head, *rest]]


def _as_head(leaf: Leaf, finding: Finding) -> tuple[bool | int, ...]:
    """Return a sort key that puts the best head first: a repeating text that is nearly always present."""
    values = leaf.values
    instances = leaf.holder.instances
    unique = values.occurrences >= ENOUGH and 2 * values.distinct > values.occurrences
    constant, flag = (values.distinct <= few and values.occurrences >= ENOUGH for few in (1, 2))
    subject = leaf.labels[-1].lower() in _SUBJECTS if leaf.labels else False
    return (
        values.occurrences < 0.9 * instances,
        constant,
        finding.type != "text",
        unique,
        flag,
        not subject,
        values.distinct,
    )


def _facts(values: Values, value_type: ValueType) -> str:
    """Return counts and rounded ranges in words; never a value."""
    facts = f"{values.distinct:,} distinct value{'s' if values.distinct != 1 else ''}"
    if value_type in ("integer", "number"):
        numbers = sorted(float(text) for text in values.counts)
        if numbers[-1] > numbers[0]:
            width = nice_widths(int(numbers[-1] - numbers[0]) or 1, integer=True)[-1]
            low, high = numbers[0] // width * width, (numbers[-1] // width + 1) * width
            facts += f" between about {_rounded(low)} and {_rounded(high)}"
    return facts


def _rounded(number: float) -> str:
    """Return a whole number as text; without commas where it may be a year."""
    return f"{number:,.0f}" if abs(number) >= 10_000 else f"{number:.0f}"
