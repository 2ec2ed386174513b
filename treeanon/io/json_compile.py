"""Compiles a schema's layout into one Python function that reads parsed JSON records into container tables.

The function is straight code with no look at the schema: it takes the usual case only. Whatever else it meets (an
object where a value is expected, one item without its array, …) raises, and `json_slow` reads that record instead.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from treeanon.forest.report import Dropped
from treeanon.schema import Container, Layout, Shape
from treeanon.schema.layout import MOVED
from treeanon.schema.paths import Predicate

Parser = Callable[..., int]


UNMET = ("[]",)
"""What is counted for an array item that meets none of the predicates asked of it."""


class Unusual(Exception):
    """A record that is not of the usual form."""


@dataclass(frozen=True)
class ShapePlace:
    """An object whose keys are counted: its path as a prefix, and the keys the schema names in it."""

    prefix: str
    named: frozenset[str]


def named_keys(shape: Shape, layout: Layout) -> frozenset[str]:
    """The keys that the schema (or the reserved name) gives a meaning in an object."""
    arrays = {layout.containers[index].name or "" for index in shape.containers}
    return frozenset({wrapper.name or "" for wrapper in shape.wrappers} | arrays | {MOVED})


def predicate_holds(item: Any, predicate: Predicate) -> bool:
    """Whether a JSON item has the constant that a step asks for."""
    for name in predicate.names:
        if type(item) is not dict:
            return False
        item = item.get(name)
    if type(item) is str:
        return bool(item == predicate.value)
    if type(item) is bool:
        return predicate.value == ("true" if item else "false")
    return type(item) is int and str(item) == predicate.value


@dataclass
class _Source:
    """The text of the function as it grows."""

    layout: Layout
    lines: list[str] = field(default_factory=list)
    places: list[ShapePlace] = field(default_factory=list)
    predicates: list[Predicate] = field(default_factory=list)
    names: int = 0

    def put(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def fresh(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    def absent(self, depth: int, shape: Shape) -> None:
        """No value for anything in a shape that is not there."""
        for inner in shape.walk():
            if inner.held >= 0:
                self.put(depth, f"c{inner.held}(-1)")

    def item(self, depth: int, var: str, container: int, prefix: str) -> None:
        """Reads the array item or object `var` as an instance of a container."""
        shape, row = self.layout.containers[container].shape, f"n{container}"
        if shape.held >= 0:
            self.put(depth, f"c{shape.held}(d{shape.held}[{var}])")
        elif any(self.layout.containers[i].name is None for i in shape.containers):
            self.put(depth, f"if type({var}) is not list: raise Unusual")
            self.array(depth, var, [self.layout.containers[i] for i in shape.containers], row, prefix)
        else:
            self.put(depth, f"if type({var}) is not dict: raise Unusual")
            self.put(depth, f"if {MOVED!r} in {var}: moved({var}[{MOVED!r}], {row}, {container})")
            self.object(depth, var, shape, row, prefix)

    def object(self, depth: int, var: str, shape: Shape, row: str, prefix: str) -> None:
        """Reads the fields of the object `var`."""
        place = len(self.places)
        self.places.append(ShapePlace(prefix, named_keys(shape, self.layout)))
        self.put(depth, f"s{place}[tuple({var})] += 1")
        get = self.fresh("g")
        self.put(depth, f"{get} = {var}.get")
        for wrapper in shape.wrappers:
            if wrapper.held >= 0:
                self.put(depth, f"c{wrapper.held}(d{wrapper.held}[{get}({wrapper.name!r})])")
            elif not wrapper.is_scalar:
                self.wrapper(depth, get, wrapper, row, prefix)
        for name, containers in self.by_name(shape).items():
            array = self.fresh("a")
            self.put(depth, f"{array} = {get}({name!r})")
            self.put(depth, f"if {array} is not None:")
            self.put(depth + 1, f"if type({array}) is not list: raise Unusual")
            self.array(depth + 1, array, containers, row, prefix)

    def by_name(self, shape: Shape) -> dict[str | None, list[Container]]:
        groups: dict[str | None, list[Container]] = {}
        for index in shape.containers:
            container = self.layout.containers[index]
            groups.setdefault(container.name, []).append(container)
        return groups

    def wrapper(self, depth: int, get: str, wrapper: Shape, row: str, prefix: str) -> None:
        var = self.fresh("w")
        self.put(depth, f"{var} = {get}({wrapper.name!r})")
        self.put(depth, f"if {var} is None:")
        self.absent(depth + 1, wrapper)
        self.put(depth + 1, "pass")
        self.put(depth, "else:")
        self.put(depth + 1, f"if type({var}) is not dict: raise Unusual")
        self.object(depth + 1, var, wrapper, row, f"{prefix}{wrapper.name}.")

    def array(self, depth: int, array: str, containers: list[Container], row: str, prefix: str) -> None:
        """Reads the items of an array, each as an instance of every container whose predicate it meets."""
        item, met = self.fresh("i"), self.fresh("m")
        choosy = all(container.predicate is not None for container in containers)
        self.put(depth, f"for {item} in {array}:")
        if choosy:
            self.put(depth + 1, f"{met} = False")
        for container in containers:
            inner, number = depth + 1, container.index
            if container.predicate is not None:
                self.put(inner, f"if holds({item}, p{len(self.predicates)}):")
                self.predicates.append(container.predicate)
                inner += 1
            if choosy:
                self.put(inner, f"{met} = True")
            self.put(inner, f"o{number}({row})")
            self.item(inner, item, number, container.path + ".")
            self.put(inner, f"n{number} += 1")
        if choosy:
            place = len(self.places)
            self.places.append(ShapePlace(f"{prefix}{containers[0].name or ''}", frozenset()))
            self.put(depth + 1, f"if not {met}: s{place}[UNMET] += 1")


@dataclass(frozen=True)
class CompiledReader:
    """The compiled function and the places whose shapes it counts."""

    parse: Parser
    places: tuple[ShapePlace, ...]

    def new_shapes(self) -> list[dict[tuple[str, ...], int]]:
        """Empty counters of the shapes of objects, one per place."""
        return [defaultdict(int) for _ in self.places]

    def count(self, shapes: list[dict[tuple[str, ...], int]], dropped: Dropped) -> None:
        """Adds what objects of the counted shapes held beyond the schema."""
        for place, counted in zip(self.places, shapes, strict=True):
            dropped.add_shapes(place.prefix, counted, place.named)


def compile_reader(layout: Layout) -> CompiledReader:
    """The function parse(records, owners, codes, dictionaries, shapes, moved) for a layout.

    It appends to the lists, calls moved(groups, row, container) for what stands under the reserved name, and returns
    the number of records read.
    """
    source = _Source(layout)
    body = _Source(layout, places=source.places, predicates=source.predicates)
    body.item(2, "record", 0, "")
    source.put(0, "def parse(records, owners, codes, dictionaries, shapes, moved):")
    for container in layout.containers:
        source.put(1, f"o{container.index} = owners[{container.index}].append")
        source.put(1, f"n{container.index} = len(owners[{container.index}])")
    for index in range(len(layout.classes)):
        source.put(1, f"c{index} = codes[{index}].append")
        source.put(1, f"d{index} = dictionaries[{index}]")
    for place in range(len(source.places)):
        source.put(1, f"s{place} = shapes[{place}]")
    source.put(1, "start = n0")
    source.put(1, "for record in records:")
    source.put(2, "o0(0)")
    source.lines.extend(body.lines)
    source.put(2, "n0 += 1")
    source.put(1, "return n0 - start")
    # The only foreign texts in this code are names out of the schema, as Python literals.
    scope: dict[str, Any] = {"Unusual": Unusual, "holds": predicate_holds, "UNMET": UNMET}
    scope.update({f"p{i}": predicate for i, predicate in enumerate(source.predicates)})
    exec(compile("\n".join(source.lines), "<compiled reader>", "exec"), scope)
    return CompiledReader(scope["parse"], tuple(source.places))
