"""Random schemas as TOML, together with values, forests and cuts that fit them; and how properties are run.

Everything is drawn from a `random.Random`, which hypothesis controls: `properties` makes a quick test and a slow one.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import treeanon as ta
from tests.reference.trees import Tree
from tests.support import profiles as profiles
from tests.support.paths import FOLDER, new_path
from treeanon.errors import SchemaError

Check = Callable[[Random], None]


def examples(number: int, profile: str = "default") -> settings:
    """Settings for so many examples of whole documents; these shrink too slowly: a failing one is reported as found."""
    phases = [Phase.explicit, Phase.reuse, Phase.generate]
    return settings(
        settings.get_profile(profile), max_examples=number, phases=phases, suppress_health_check=list(HealthCheck)
    )


def properties(check: Check, few: int = 50, many: int = 3000) -> tuple[Callable[[], None], Callable[[], None]]:
    """A test of the check with few examples, the same ones always, and a slow one with many random ones."""

    @examples(few)
    @given(st.randoms(use_true_random=False))
    def quick(rnd: Random) -> None:
        check(rnd)

    @pytest.mark.slow
    @examples(many, "thorough")
    @given(st.randoms(use_true_random=False))
    def thorough(rnd: Random) -> None:
        check(rnd)

    return quick, thorough


# --- the schema ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Choice:
    """A predicate: the names to go through, the attribute (XML), and the constant."""

    names: tuple[str, ...]
    attribute: str | None
    value: str


@dataclass(frozen=True)
class Hop:
    """One step of a path; the name is None for an array directly in an array."""

    name: str | None
    repeated: bool = False
    choice: Choice | None = None


@dataclass(frozen=True)
class Field:
    """One class of a schema, with values that fit its type and hierarchy."""

    name: str
    hops: tuple[Hop, ...]
    attribute: str | None = None
    role: str = "quasi"
    type: str = "text"
    under: str | None = None
    hierarchy: str | None = None
    values: tuple[str, ...] = ()
    free: bool = True

    @property
    def published(self) -> bool:
        return self.role not in ("identifier", "drop")

    @property
    def container(self) -> tuple[Hop, ...]:
        """The path of the nearest repeated object."""
        last = max((i for i, hop in enumerate(self.hops) if hop.repeated), default=-1)
        return self.hops[: last + 1]


@dataclass(frozen=True)
class Case:
    """A schema with what is known about it."""

    format: str
    fields: tuple[Field, ...]
    record: str | None
    toml: str
    schema: ta.Schema
    parents: dict[str, str | None] = field(default_factory=dict)

    @property
    def published(self) -> list[Field]:
        return [f for f in self.fields if f.published]


def class_parents(fields: list[Field]) -> dict[str, str | None]:
    """The class that every published class lies under (None: the record), by the rules of SPEC §3."""
    published = [f for f in fields if f.published]
    heads: dict[tuple[Hop, ...], str] = {}
    for f in published:
        heads.setdefault(f.container, f.name)
    out: dict[str, str | None] = {}
    for f in published:
        if f.under is not None:
            out[f.name] = None if f.under == "/" else f.under
        elif not f.container:
            out[f.name] = None
        elif heads[f.container] != f.name:
            out[f.name] = heads[f.container]
        else:
            outer = [c for c in heads if c and len(c) < len(f.container) and f.container[: len(c)] == c]
            out[f.name] = heads[max(outer, key=len)] if outer else None
    return out


def _goes_round(fields: list[Field]) -> bool:
    parents = class_parents(fields)
    for start in parents:
        at, steps = parents[start], 0
        while at is not None:
            at, steps = parents[at], steps + 1
            if steps > len(parents):
                return True
    return False


# --- values ----------------------------------------------------------------------------------------------------------

NASTY = (
    *('say "hi"', "<a>", "&amp;", "&", "]]>", "'", "\\", "\\u0041", "a/b", "a.b", "[]", "{}", "*", "/", "a…b"),
    *("a\nb", "\n", "\t", "a\tb", "\r", "a\r\nb", " x", "x ", " ", "   ", "\u00a0", "\u2028", "\x85", "\u200f"),
    *("é", "日本", "😀", "שלום", "null", "true", "12", "-7", "1.50", "1e5", "007", "a" * 300),
    *("Flu", "flu", "A", "B", "treeanon:moved", "text()", "value"),
)
NOT_XML = ("\x01", "a\x0bb", "\x1f", "\ufffe", "a\uffff", "\x1c")
KEYS = (
    *("a", "b", "c", "d", "name", "value", "id", "Größe", "日付", "x y"),
    *("a.b", "q'q", 'd"q', "x[]", "@at", "#text", "1st", ""),
)
TAGS = (
    *("a", "b", "c", "d", "name", "value", "id", "Größe", "日付"),
    *("x-y", "a.b", "_q", "Visit", "visit", "h:a", "h:name"),
)
NUMBERS = ("1", "0", "-3", "2.5", "1e-7", "1e300", "123456789012345678901234567890")
WITHOUT_FILE = {"none": None, "flat": "{ flat = true }", "groups": "{ groups = 2 }", "prefix": "{ prefix = [2, 1] }"}


def type_and_hierarchy(rnd: Random) -> tuple[str, str | None, tuple[str, ...], bool]:
    kind = rnd.choice(["none", "none", "flat", "groups", "prefix", "intervals", "number", "dates", "tree", "csv"])
    if kind == "intervals":
        ages = tuple(str(rnd.randint(0, 99)) for _ in range(5))
        return "integer", "{ intervals = [5, 10, 20], min = 0, max = 99 }", ages, False
    if kind == "number":
        made = rnd.choice(["{ groups = 2 }", "{ flat = true }"])
        return rnd.choice(["number", "integer"]), made, NUMBERS, False
    if kind == "dates":
        days = tuple(f"{rnd.randint(2010, 2029)}-{rnd.randint(1, 12):02}-{rnd.randint(1, 28):02}" for _ in range(5))
        return "date", '{ dates = ["month", "year"] }', days, False
    size = rnd.randint(2, 5)
    values = tuple(rnd.choice(NASTY) for _ in range(size))
    if kind == "tree":
        nodes = list(dict.fromkeys(v for v in values if v != "*")) or ["x"]
        parents = {v: (nodes[rnd.randrange(i)] if i and rnd.random() < 0.6 else "*") for i, v in enumerate(nodes)}
        file = new_path("hierarchy", ".json")
        file.write_text(json.dumps({**parents, "another leaf": "*"}))
        return "text", json.dumps(file.name), tuple(nodes), False
    if kind == "csv":
        leaves = [f"leaf{i}" for i in range(4)]
        file = new_path("hierarchy", ".csv")
        file.write_text("".join(f"{leaf};group {i // 2};any\n" for i, leaf in enumerate(leaves)))
        return "text", json.dumps(file.name), (*leaves, "group 0", "any"), False
    return "text", WITHOUT_FILE[kind], values, True


# --- structure -------------------------------------------------------------------------------------------------------


class _Maker:
    """Makes the paths of a schema, container by container."""

    def __init__(self, rnd: Random, xml: bool, depth: int) -> None:
        self.rnd, self.xml, self.depth = rnd, xml, depth
        self.places: list[tuple[tuple[Hop, ...], str | None]] = []

    def names(self) -> list[str]:
        pool = list(TAGS if self.xml else KEYS)
        self.rnd.shuffle(pool)
        return pool

    def container(self, prefix: tuple[Hop, ...], depth: int, reserved: set[str]) -> None:
        """The fields and inner containers of an object or element; names are used once in it."""
        rnd = self.rnd
        names = [n for n in self.names() if n not in reserved]
        wrappers: list[tuple[Hop, ...]] = [()]
        for _ in range(rnd.choice([0, 0, 1, 2])):
            wrappers.append((*rnd.choice(wrappers), Hop(names.pop())))
        for _ in range(rnd.choice([0, 1, 1, 2, 3])):
            where = prefix + rnd.choice(wrappers)
            if self.xml and rnd.random() < 0.4:
                self.places.append((where, names.pop()))
            else:
                self.places.append(((*where, Hop(names.pop())), None))
        if self.xml:
            for wrapper in wrappers:
                # the text of the element itself
                if (wrapper or prefix) and rnd.random() < 0.2:
                    self.places.append((prefix + wrapper, None))
        if depth < self.depth:
            for _ in range(rnd.choice([1, 1, 2, 2] if depth < 2 else [0, 0, 1, 2])):
                self.inner(prefix + rnd.choice(wrappers), names, depth + 1)

    def inner(self, prefix: tuple[Hop, ...], names: list[str], depth: int) -> None:
        rnd = self.rnd
        name = names.pop()
        kind = rnd.choice(["object", "object", "object", "scalar", "choice", "nested"])
        if kind == "scalar":
            self.places.append(((*prefix, Hop(name, True)), None))
        elif kind == "nested" and not self.xml:
            outer = (*prefix, Hop(name, True), Hop(None, True))
            if rnd.random() < 0.5:
                self.places.append((outer, None))
            else:
                self.container(outer, depth, set())
        elif kind == "choice":
            spare = names.pop()
            trail = (spare,) if rnd.random() < 0.6 else (names.pop(), spare)
            attribute = None
            if self.xml and rnd.random() < 0.5:
                *front, attribute = trail
                trail = tuple(front)
            for value in rnd.sample(["A", "B", "7", "a b"], rnd.randint(1, 2)):
                hop = Hop(name, True, Choice(trail, attribute, value))
                self.container((*prefix, hop), depth, {*trail, attribute or spare})
        else:
            self.container((*prefix, Hop(name, True)), depth, set())


def _quoted(name: str, slashed: bool) -> str:
    special = "/@[]='\"" if slashed else ".[]='\""
    if name and not any(c in special or (slashed and c.isspace()) for c in name):
        return name
    return f'"{name}"' if "'" in name else f"'{name}'"


def path_text(hops: tuple[Hop, ...], attribute: str | None, slashed: bool) -> str:
    parts: list[str] = []
    for hop in hops:
        mark = "[]" if hop.repeated else ""
        if hop.choice:
            inner = [_quoted(n, slashed) for n in hop.choice.names]
            if hop.choice.attribute:
                inner.append("@" + _quoted(hop.choice.attribute, slashed))
            mark = f"[{('/' if slashed else '.').join(inner)}={hop.choice.value}]"
        if hop.name is None and parts:
            parts[-1] += mark
        else:
            parts.append(("" if hop.name is None else _quoted(hop.name, slashed)) + mark)
    if attribute is not None:
        parts.append("@" + _quoted(attribute, slashed))
    return ("/" if slashed else ".").join(parts)


def toml_text(format: str, record: str | None, fields: list[Field], *, paths: bool = True) -> str:
    lines = ["version = 1", "[input]", f'format = "{format}"', 'objects = "merged"']
    if record is not None:
        lines.append(f"record = {json.dumps(record)}")
    if format == "xml":
        lines.append('namespaces = { h = "urn:h" }')
    for f in fields:
        lines += ["", "[[class]]", f"name = {json.dumps(f.name)}", f"role = {json.dumps(f.role)}", f'type = "{f.type}"']
        if paths:
            lines.append(f"path = {json.dumps(path_text(f.hops, f.attribute, format == 'xml'), ensure_ascii=False)}")
        if f.under is not None:
            lines.append(f"under = {json.dumps(f.under)}")
        if f.hierarchy is not None:
            lines.append(f"hierarchy = {f.hierarchy}")
    return "\n".join(lines) + "\n"


RECORDS = {"json": ("patients[]", "data.'a b'.patients[]", "[]"), "xml": ("patients/patient", "a/h:b/record")}


def make_case(rnd: Random, format: str, *, depth: int = 3, whole_file: bool = False) -> Case:
    """A random schema of a format."""
    xml = format == "xml"
    record = "." if whole_file else rnd.choice(RECORDS[format]) if format in RECORDS else None
    if whole_file and xml:
        record = rnd.choice([".", "patient"])
        if record == ".":
            record = "person"
    fields: list[Field] = []
    while not any(f.published for f in fields):
        maker = _Maker(rnd, xml, depth)
        maker.container((), 0, set())
        rnd.shuffle(maker.places)
        fields = []
        for number, (hops, attribute) in enumerate(maker.places[: rnd.randint(2, 12)]):
            kind, hierarchy, values, free = type_and_hierarchy(rnd)
            role = rnd.choice(["quasi", "quasi", "quasi", "quasi", "sensitive", "keep", "identifier", "drop"])
            name = rnd.choice([f"class{number}", f"klass <{number}>", f"Größe {number}"])
            fields.append(Field(name, hops, attribute, role, kind, None, hierarchy, values, free))
    for i, f in enumerate(fields):
        if f.published and rnd.random() < 0.25:
            around = [
                g.name for g in fields if g.published and g is not f and f.container[: len(g.container)] == g.container
            ]
            chosen = replace(f, under=rnd.choice(["/", *around]))
            if not _goes_round([*fields[:i], chosen, *fields[i + 1 :]]):
                fields[i] = chosen
    text = toml_text(format, record, fields)
    try:
        schema = ta.Schema.loads(text, folder=FOLDER)
    except SchemaError as error:
        # one array by several predicates, and the same field in them: the only way to clash here
        clashes = ("the same values", "must not be published", "a predicate holds fixed")
        if not all(any(clash in problem.message for clash in clashes) for problem in error.problems):
            raise
        return make_case(rnd, format, depth=depth, whole_file=whole_file)
    return Case(format, tuple(fields), record, text, schema, class_parents(fields))


# --- forests ---------------------------------------------------------------------------------------------------------


def make_records(rnd: Random, case: Case, *, count: int = 6, nasty: tuple[str, ...] = ()) -> list[Tree]:
    """Random records over the class tree; nodes may skip levels of it, and equal siblings occur."""
    fields = {f.name: f for f in case.published}

    def is_below(name: str, above: str | None) -> bool:
        at = case.parents[name]
        while at is not None and at != above:
            at = case.parents[at]
        return at == above

    def value(f: Field) -> str:
        if f.free and nasty and rnd.random() < 0.2:
            return rnd.choice(nasty)
        return rnd.choice(f.values)

    def level(above: str | None, depth: int) -> Tree:
        below = [f for f in fields.values() if is_below(f.name, above)]
        direct = [f for f in below if case.parents[f.name] == above]
        out: Tree = []
        for _ in range(rnd.choice([0, 1, 2, 3, 4] if depth == 0 else [0, 1, 1, 2, 3])):
            if below:
                f = rnd.choice(direct if direct and rnd.random() < 0.7 else below)
                out.append([f.name, value(f), level(f.name, depth + 1)])
        return out

    found = [level(None, 0) for _ in range(rnd.randint(1, count))]
    if rnd.random() < 0.1:
        found.append([["*", "*", []]])
    return found


def shuffled(rnd: Random, nodes: Tree) -> Tree:
    """The same tree with siblings in another order, and some of them twice."""
    out = [[name, value, shuffled(rnd, below)] for name, value, below in nodes]
    if out and rnd.random() < 0.3:
        out.append(rnd.choice(out))
    rnd.shuffle(out)
    return out


def parents_of(forest: ta.Forest) -> dict[str, dict[str, str]]:
    """Child to parent in the hierarchy of every class."""
    out: dict[str, dict[str, str]] = {}
    for name, hierarchy in zip(forest.classes.names, forest.classes.hierarchies, strict=True):
        ups = hierarchy.parent.tolist()
        out[name] = {text: hierarchy.texts[up] for text, up in zip(hierarchy.texts, ups, strict=True) if up >= 0}
    return out


def parents_of_classes(forest: ta.Forest) -> dict[str, str | None]:
    """The class that each class lies under, None for those at the top."""
    names = forest.classes.names
    return {name: names[up] if up >= 0 else None for name, up in zip(names, forest.classes.parents, strict=True)}


def make_cut(rnd: Random, forest: ta.Forest) -> dict[str, list[str]]:
    """A random cut; now and then some nodes below it are published too (sibling recoding)."""
    cut = {}
    for name, hierarchy in zip(forest.classes.names, forest.classes.hierarchies, strict=True):
        if rnd.random() < 0.3:
            continue
        chosen, stack = [], [0]
        while stack:
            node = stack.pop()
            inner = hierarchy.children(node)
            if inner and rnd.random() < 0.6:
                stack.extend(inner)
            else:
                chosen.append(node)
        if rnd.random() < 0.4:
            chosen.extend(node for node in range(len(hierarchy)) if rnd.random() < 0.3)
        cut[name] = [hierarchy.texts[node] for node in dict.fromkeys(chosen)]
    return cut


def make_pairs(rnd: Random, records: list[Tree], *, most: int = 4) -> list[tuple[tuple[str, str], tuple[str, str]]]:
    """Random pairs of labels, most of which are relations of some record."""
    labels: set[tuple[str, str]] = set()
    related: set[Any] = set()

    def walk(nodes: Tree, above: tuple[Any, ...]) -> None:
        for name, value, below in nodes:
            if name != "*":
                labels.add((name, value))
                related.update((a, (name, value)) for a in above)
                walk(below, (*above, (name, value)))

    for record in records:
        walk(record, ())
    found = []
    for _ in range(rnd.randint(0, most)):
        if related and rnd.random() < 0.9:
            found.append(rnd.choice(sorted(related)))
        elif len(labels) > 1:
            found.append((rnd.choice(sorted(labels)), rnd.choice(sorted(labels))))
    return found


def released(rnd: Random, forest: ta.Forest) -> ta.Forest:
    """The forest as a release might be: projected and disassociated at random."""
    if rnd.random() < 0.03:
        return forest.project("*")
    if rnd.random() < 0.6:
        forest = forest.project(make_cut(rnd, forest))
    return forest.disassociate(make_pairs(rnd, list(forest.records())))
