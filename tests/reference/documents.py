"""Random documents of a schema, and readers of them that apply SPEC §3 in the most obvious way."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any

from lxml import etree

from tests.reference.trees import Tree, merged
from tests.support.strategies import Case, Choice, Field, Hop, path_text

Key = tuple[Hop, ...]


@dataclass
class Place:
    """One object or element: what the schema expects in it."""

    held: Field | None = None
    constant: str | None = None
    attributes: dict[str, Field | str] = field(default_factory=dict)
    wrappers: dict[str, Place] = field(default_factory=dict)
    arrays: dict[str | None, list[tuple[Hop, Place]]] = field(default_factory=dict)

    @property
    def is_plain(self) -> bool:
        return not (self.attributes or self.wrappers or self.arrays)


def place_of_record(fields: list[Field]) -> Place:
    top = Place()
    for f in fields:
        at = top
        for hop in f.hops:
            if not hop.repeated:
                at = at.wrappers.setdefault(hop.name or "", Place())
                continue
            found = [inner for other, inner in at.arrays.get(hop.name, []) if other == hop]
            if not found:
                found = [Place()]
                at.arrays.setdefault(hop.name, []).append((hop, found[0]))
                if hop.choice:
                    inner = found[0]
                    for name in hop.choice.names:
                        inner = inner.wrappers.setdefault(name, Place())
                    if hop.choice.attribute:
                        inner.attributes[hop.choice.attribute] = hop.choice.value
                    else:
                        inner.constant = hop.choice.value
            at = found[0]
        if f.attribute is not None:
            at.attributes[f.attribute] = f
        else:
            at.held = f
    return top


# --- trees out of values ---------------------------------------------------------------------------------------------


@dataclass
class Instance:
    """One record or repeated object: its values by class, within the instance that encloses it."""

    key: Key
    outer: Instance | None
    values: dict[str, str] = field(default_factory=dict)
    inner: list[Instance] = field(default_factory=list)


def tree_of(record: Instance, case: Case) -> Tree:
    """The tree of a record: every value hangs under the nearest class up the class tree that is there."""
    containers = {f.name: f.container for f in case.published}
    top: Tree = []
    nodes: dict[tuple[int, str], list[Any]] = {}
    instances = [record]
    for instance in instances:
        instances.extend(instance.inner)
        for name, value in instance.values.items():
            nodes[id(instance), name] = [name, value, []]
    for instance in instances:
        for name in instance.values:
            above = case.parents[name]
            children = top
            while above is not None:
                at: Instance | None = instance
                while at is not None and at.key != containers[above]:
                    at = at.outer
                assert at is not None
                if (id(at), above) in nodes:
                    children = nodes[id(at), above][2]
                    break
                above = case.parents[above]
            children.append(nodes[id(instance), name])
    return merged(top)


def _clean(f: Field, text: str) -> str:
    return text if f.type == "text" else text.strip()


# --- JSON ------------------------------------------------------------------------------------------------------------


def number_text(value: float) -> str:
    """Integers exactly, other numbers in shortest form."""
    if isinstance(value, int):
        return str(value)
    if value.is_integer() and abs(value) < 2**63:
        return str(int(value))
    mantissa, _, exponent = repr(value).partition("e")
    return mantissa.removesuffix(".0") + (f"e{int(exponent)}" if exponent else "")


def json_scalar_text(value: Any) -> str:
    """The text of a scalar; empty for no node."""
    if value is None or value == [] or value == {}:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else number_text(value)


class JsonDocuments:
    """Makes and reads records of JSON."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.all = place_of_record(list(case.fields))
        self.known = place_of_record(case.published)
        self.dropped: Counter[str] = Counter()

    # making

    def record(self, rnd: Random) -> Any:
        if None in self.all.arrays:
            return self.items(rnd, self.all.arrays[None])
        return self.object(rnd, self.all)

    def scalar(self, rnd: Random, f: Field) -> Any:
        roll = rnd.random()
        if roll < 0.1:
            return rnd.choice([None, "", [], {}])
        value = rnd.choice(f.values)
        if f.type != "text":
            if roll < 0.2:
                return rnd.choice([" ", "\t", "\u00a0"]) + value + " "
            if f.type != "date" and roll < 0.6:
                return json.loads(value)
            return value
        if f.free and roll < 0.35:
            return rnd.choice([True, False, 0, -0.0, 1, 1.0, 7, -12, 2.5, 1e5, 1e22, 0.1, 2**63, 2**70, -(2**64), 1e-9])
        return value

    def object(self, rnd: Random, place: Place) -> dict[str, Any]:
        out: list[tuple[str, Any]] = []
        for name, inner in place.wrappers.items():
            if self.has_constant(inner):
                out.append((name, self.object(rnd, inner) if inner.wrappers else self.constant(rnd, inner)))
            elif rnd.random() < 0.8:
                if inner.held is not None:
                    out.append((name, self.scalar(rnd, inner.held)))
                else:
                    out.append((name, self.object(rnd, inner) if rnd.random() < 0.85 else rnd.choice([None, "", []])))
        for name, containers in place.arrays.items():
            if rnd.random() < 0.85:
                items = self.items(rnd, containers)
                if len(items) == 1 and not isinstance(items[0], list) and rnd.random() < 0.2:
                    items = items[0]
                elif not items:
                    items = rnd.choice([[], None, ""])
                out.append((name or "", items))
        named = {*place.wrappers, *place.arrays, "treeanon:moved"}
        for name in ("extra", "a", "name", "note"):
            if name not in named and rnd.random() < 0.1:
                out.append((name, rnd.choice([None, 1, "x", {"a": [1, {"b": "}"}]}, [], [[], "]"], 'q"uo,te'])))
        rnd.shuffle(out)
        return dict(out)

    def has_constant(self, place: Place) -> bool:
        return place.constant is not None or any(self.has_constant(inner) for inner in place.wrappers.values())

    def constant(self, rnd: Random, place: Place) -> Any:
        assert place.constant is not None
        return int(place.constant) if place.constant.isdigit() and rnd.random() < 0.5 else place.constant

    def items(self, rnd: Random, containers: list[tuple[Hop, Place]]) -> list[Any]:
        out: list[Any] = []
        for _ in range(rnd.choice([0, 1, 2, 3, 4])):
            hop, place = rnd.choice(containers)
            roll = rnd.random()
            if place.held is not None:
                out.append(self.scalar(rnd, place.held))
            elif None in place.arrays:
                out.append(self.items(rnd, place.arrays[None]))
            elif roll < 0.08:
                out.append(rnd.choice([None, ""]))
            elif roll < 0.16 and all(h.choice for h, _ in containers):
                # an item that is of no kind the schema knows
                name = hop.choice.names[0] if hop.choice else "x"
                strange = [{}, 5, "x", {name: None}, {name: "other"}, {name: 8}, {name: ["A"]}, {"note": 1}]
                out.append(rnd.choice(strange))
            else:
                out.append(self.object(rnd, place))
        return out

    # reading

    def tree(self, record: Any) -> Tree:
        instance = Instance((), None)
        self.read(record, self.known, instance, "")
        return tree_of(instance, self.case)

    def read(self, value: Any, place: Place, instance: Instance, path: str) -> None:
        if place.held is not None:
            text = _clean(place.held, json_scalar_text(value))
            if text:
                instance.values[place.held.name] = text
        elif place.constant is not None:
            return
        elif None in place.arrays:
            self.read_items(value, place.arrays[None], instance, path)
        elif isinstance(value, dict):
            dot = path + "." if path else ""
            for name in value:
                if name not in place.wrappers and name not in place.arrays:
                    self.dropped[dot + name] += 1
            for name, inner in place.wrappers.items():
                self.read(value.get(name), inner, instance, dot + name)
            for array, containers in place.arrays.items():
                self.read_items(value.get(array), containers, instance, path if array is None else dot + array)
        else:
            assert not value

    def read_items(self, value: Any, containers: list[tuple[Hop, Place]], instance: Instance, path: str) -> None:
        items = value if isinstance(value, list) else [] if value is None or value == "" else [value]
        for item in items:
            met = [(hop, place) for hop, place in containers if hop.choice is None or self.meets(item, hop.choice)]
            for hop, place in met:
                inner = Instance((*self.key_above(hop, place), hop), instance)
                instance.inner.append(inner)
                self.read(item, place, inner, path_text(inner.key, None, slashed=False))
            if not met:
                self.dropped[path + "[]"] += 1

    def key_above(self, hop: Hop, place: Place) -> Key:
        """The path to the array that these items stand in: that of any class in them, cut there."""
        for f in self.case.published:
            for i in range(len(f.hops)):
                if self.at(f.hops[: i + 1]) is place:
                    return f.hops[:i]
        raise AssertionError("an array without classes")

    def at(self, hops: Key) -> Place:
        place = self.known
        for hop in hops:
            if hop.repeated:
                place = next(inner for other, inner in place.arrays[hop.name] if other == hop)
            else:
                place = place.wrappers[hop.name or ""]
        return place

    def meets(self, item: Any, choice: Choice) -> bool:
        for name in choice.names:
            item = item.get(name) if isinstance(item, dict) else None
        return not isinstance(item, dict | list) and item is not None and json_scalar_text(item) == choice.value


def json_text(rnd: Random, value: Any, *, one_line: bool) -> str:
    """JSON in one of its many looks."""
    indent = None if one_line or rnd.random() < 0.5 else rnd.choice([1, "\t"])
    separators = rnd.choice([(",", ":"), (", ", ": "), (" , ", " :\t")]) if indent is None else None
    return json.dumps(value, ensure_ascii=rnd.random() < 0.4, indent=indent, separators=separators)


# --- XML -------------------------------------------------------------------------------------------------------------

NAMESPACES = {"h": "urn:h"}


def tag_of(name: str) -> str:
    prefix, colon, local = name.partition(":")
    return f"{{{NAMESPACES[prefix]}}}{local}" if colon else name


class XmlDocuments:
    """Makes and reads records of XML."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.all = place_of_record(list(case.fields))
        self.known = place_of_record(case.published)
        self.dropped = 0
        self.json = JsonDocuments(case)

    # making

    def record(self, rnd: Random, tag: str) -> etree._Element:
        return self.element(rnd, tag, self.all)

    def text(self, rnd: Random, f: Field) -> str:
        value = rnd.choice(f.values)
        if f.type != "text" and rnd.random() < 0.2:
            value = f" {value}\n"
        return rnd.choice(["", " ", "\n  "]) if rnd.random() < 0.1 else value

    def element(self, rnd: Random, tag: str, place: Place) -> etree._Element:
        out = etree.Element(tag_of(tag), nsmap={"h": "urn:h"} if rnd.random() < 0.5 else None)
        for name, held in place.attributes.items():
            if isinstance(held, str):
                out.set(tag_of(name), held)
            elif rnd.random() < 0.8:
                out.set(tag_of(name), self.text(rnd, held))
        for name in ("extra", "id"):
            if name not in place.attributes and rnd.random() < 0.07:
                out.set(name, "x")
        children: list[etree._Element] = []
        for name, inner in place.wrappers.items():
            if self.json.has_constant(inner) or self.has_fixed(inner) or rnd.random() < 0.8:
                children.append(self.element(rnd, name, inner))
        for array, containers in place.arrays.items():
            for _ in range(rnd.choice([0, 1, 2, 3, 4])):
                inner = rnd.choice(containers)[1]
                if rnd.random() < 0.1 and all(h.choice for h, _ in containers):
                    children.append(etree.Element(tag_of(array or "")))
                else:
                    children.append(self.element(rnd, array or "", inner))
        named = {tag_of(n or "") for n in (*place.wrappers, *place.arrays)}
        for name in ("extra", "a", "h:name"):
            if tag_of(name) not in named and rnd.random() < 0.07:
                extra = etree.Element(tag_of(name), {"x": "1"})
                extra.text = "text"
                etree.SubElement(extra, "a").tail = "tail"
                children.append(extra)
        rnd.shuffle(children)
        out.extend(children)
        text = place.constant if place.constant is not None else self.text(rnd, place.held) if place.held else ""
        self.put_text(rnd, out, text, whole=place.constant is not None or place.held is not None)
        return out

    def has_fixed(self, place: Place) -> bool:
        fixed = any(isinstance(held, str) for held in place.attributes.values())
        return fixed or any(self.has_fixed(inner) for inner in place.wrappers.values())

    def put_text(self, rnd: Random, element: etree._Element, text: str, *, whole: bool) -> None:
        """Texts before, between and after the children; an element's own text may be split by them."""
        cuts = sorted(rnd.randint(0, len(text)) for _ in element)
        pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        if not whole:
            pieces = [rnd.choice(["", "\n\t", " ", "stray" if rnd.random() < 0.1 else ""]) for _ in pieces]
        element.text = pieces[0]
        for child, piece in zip(element, pieces[1:], strict=True):
            child.tail = piece

    # reading

    def tree(self, record: etree._Element) -> Tree:
        instance = Instance((), None)
        self.read(record, self.known, instance)
        return tree_of(instance, self.case)

    def own_text(self, element: etree._Element) -> str:
        return "".join(element.xpath("text()"))

    def keep(self, instance: Instance, f: Field, text: str) -> None:
        if text.strip():
            instance.values[f.name] = _clean(f, text)

    def read(self, element: etree._Element, place: Place, instance: Instance) -> None:
        attributes = {tag_of(name): held for name, held in place.attributes.items()}
        for key, value in element.items():
            if key not in attributes:
                self.dropped += 1
            elif isinstance(attributes[key], Field):
                self.keep(instance, attributes[key], value)
        if place.held is not None:
            self.keep(instance, place.held, self.own_text(element))
        elif place.constant is None:
            self.dropped += bool((element.text or "").strip())
            self.dropped += sum(bool((child.tail or "").strip()) for child in element)
        wrappers = {tag_of(name): inner for name, inner in place.wrappers.items()}
        arrays = {tag_of(name or ""): containers for name, containers in place.arrays.items()}
        for child in element:
            if child.tag in wrappers:
                self.read(child, wrappers[child.tag], instance)
            elif child.tag in arrays:
                met = False
                for hop, inner in arrays[child.tag]:
                    if hop.choice is None or self.meets(child, hop.choice):
                        met = True
                        found = Instance((*self.json.key_above(hop, self.twin(inner)), hop), instance)
                        instance.inner.append(found)
                        self.read(child, inner, found)
                self.dropped += not met
            else:
                self.dropped += 1

    def twin(self, place: Place) -> Place:
        """The same place in the JSON reader's own places."""
        if not hasattr(self, "twins"):
            self.twins: dict[int, Place] = {}
            stack = [(self.known, self.json.known)]
            while stack:
                ours, theirs = stack.pop()
                self.twins[id(ours)] = theirs
                stack.extend((inner, theirs.wrappers[name]) for name, inner in ours.wrappers.items())
                for name, containers in ours.arrays.items():
                    stack.extend((a, b) for (_, a), (_, b) in zip(containers, theirs.arrays[name], strict=True))
        return self.twins[id(place)]

    def meets(self, element: etree._Element, choice: Choice) -> bool:
        here = [element]
        for name in choice.names:
            here = [child for parent in here for child in parent if child.tag == tag_of(name)]
        if choice.attribute is not None:
            return any(child.get(tag_of(choice.attribute)) == choice.value for child in here)
        return any(self.own_text(child) == choice.value for child in here)
