"""Compiles a schema's layout into the tables that the JSON kernel reads by.

Reads one parsed JSON record by looking at the layout: every legal form, and an exact error for the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from treeanon.arrays import Ints
from treeanon.errors import DataError
from treeanon.forest.report import Dropped
from treeanon.forest.tables import BatchWriter, Malformed, NestedReader
from treeanon.hierarchy.numbers import number_text
from treeanon.io.documents.kernel_columns import ExactCodes, NotAScalar, ValueCodes
from treeanon.kernels.jsonread import ITEMS, OBJECT, SCALAR, SKIP, UNUSUAL, ReadTables
from treeanon.schema import Container, Layout, Shape
from treeanon.schema.layout import MOVED
from treeanon.schema.paths import Predicate


def named_keys(shape: Shape, layout: Layout) -> frozenset[str]:
    """Return the keys of an object that the schema gives a meaning."""
    arrays = {layout.containers[index].name or "" for index in shape.containers}
    return frozenset({wrapper.name or "" for wrapper in shape.wrappers} | arrays)


def predicate_holds(item: Any, predicate: Predicate) -> bool:
    """Return whether a JSON item has the constant that a step requires."""
    for name in predicate.names:
        if type(item) is not dict:
            return False
        item = item.get(name)
    if type(item) is bool:
        return predicate.value == ("true" if item else "false")
    if type(item) in (int, float):
        return predicate.value == number_text(item)
    return type(item) is str and item == predicate.value


class SlowReader:
    """Interpreter of a layout for JSON; `read` appends one record."""

    def __init__(self, layout: Layout, out: BatchWriter, codes: Sequence[ValueCodes], *, exact: bool = False) -> None:
        self.layout, self.out = layout, out
        self.codes: Sequence[ValueCodes | ExactCodes] = [ExactCodes(c) for c in codes] if exact else codes
        self.nested = NestedReader(layout, out, codes)
        self.dropped = Dropped()

    def read(self, record: Any) -> Dropped:
        """Append the record and return what was dropped; DataError has the path of what cannot be read."""
        self.dropped = Dropped()
        self.item(record, self.layout.containers[0], 0, "")
        return self.dropped

    def item(self, item: Any, container: Container, owner: int, path: str) -> None:
        """Append one instance of a container."""
        rows = self.out.owners[container.index]
        row = len(rows)
        rows.append(owner)
        shape = container.shape
        if any(self.layout.containers[i].name is None for i in shape.containers):
            if type(item) is not list and item is not None and item != "":
                raise DataError("an array is expected inside the array", path=path)
            self.arrays(item, shape, None, row, path)
        elif shape.held >= 0 or type(item) is dict:
            self._shape(item, shape, container, row, path)
        elif item is None or item in ("", []):
            self._absent(shape)
        else:
            raise DataError("an object is expected", path=path)

    def _shape(self, value: Any, shape: Shape, container: Container, row: int, path: str) -> None:
        if shape.held >= 0:
            self.out.codes[shape.held].append(self._code(value, shape.held, path))
            return
        prefix = path + "." if path else ""
        is_container = shape is container.shape
        named = named_keys(shape, self.layout)
        self.dropped.add_keys(prefix, value, named | {MOVED} if is_container else named)
        for wrapper in shape.wrappers:
            self._wrapper(value.get(wrapper.name), wrapper, container, row, prefix + (wrapper.name or ""))
        for name in dict.fromkeys(self.layout.containers[i].name for i in shape.containers):
            self.arrays(value.get(name), shape, name, row, prefix + (name or ""))
        if MOVED in value and is_container:
            self._moved(value[MOVED], container, row, prefix + MOVED)

    def _wrapper(self, value: Any, wrapper: Shape, container: Container, row: int, path: str) -> None:
        if wrapper.held >= 0:
            self._shape(value, wrapper, container, row, path)
        elif wrapper.is_scalar:
            return
        elif type(value) is dict:
            self._shape(value, wrapper, container, row, path)
        elif value is None or value == "" or value == []:
            self._absent(wrapper)
        elif type(value) is list:
            raise DataError(f"repeats here; mark the step with [] in the schema: {path}[]", path=path)
        else:
            raise DataError("an object is expected", path=path)

    def arrays(self, value: Any, shape: Shape, name: str | None, row: int, path: str) -> None:
        """Read a place where items may repeat; one item needs no array around it."""
        items = value if type(value) is list else [] if value is None or value == "" else [value]
        containers = [c for c in (self.layout.containers[i] for i in shape.containers) if c.name == name]
        for item in items:
            met = [c for c in containers if c.predicate is None or predicate_holds(item, c.predicate)]
            for container in met:
                self.item(item, container, row, container.path)
            if not met:
                self.dropped.add(path, "[]", 1)

    def _absent(self, shape: Shape) -> None:
        for inner in shape.walk():
            if inner.held >= 0:
                self.out.codes[inner.held].append(-1)

    def _code(self, value: Any, held: int, path: str) -> int:
        try:
            return self.codes[held][value]
        except TypeError:
            if not value:
                return -1
            if type(value) is list and not any(isinstance(item, list | dict) for item in value):
                raise DataError(f"repeats here; mark the step with [] in the schema: {path}[]", path=path) from None
            kind = "an array" if type(value) is list else "an object"
            raise DataError(f"{kind} where the schema expects a value", path=path) from None
        except NotAScalar:
            raise DataError("a value must not hold a NUL character", path=path) from None

    def _moved(self, groups: Any, container: Container, row: int, path: str) -> None:
        try:
            self.nested.add_moved(groups, row, container.index)
        except Malformed as problem:
            raise DataError(str(problem), path=path) from None


@dataclass
class _Compiler:
    layout: Layout
    names: bytearray = field(default_factory=bytearray)
    states: list[list[tuple[int, int, int, int]]] = field(default_factory=list)
    arrays: list[list[tuple[int, int, int, int]]] = field(default_factory=list)
    predicates: list[tuple[list[tuple[int, int]], tuple[int, int]]] = field(default_factory=list)
    state_places: list[str] = field(default_factory=list)
    array_places: list[str] = field(default_factory=list)

    def name(self, text: str) -> tuple[int, int]:
        start = len(self.names)
        self.names += text.encode()
        return start, len(self.names)

    def state(self, shape: Shape, place: str, *, is_container: bool) -> int:
        """Return the number of the state for an object, whose keys are compiled with it."""
        number = len(self.states)
        self.states.append([])
        self.state_places.append(place)
        keys: list[tuple[int, int, int, int]] = []
        for wrapper in shape.wrappers:
            keys.append((*self.name(wrapper.name or ""), *self.wrapper(wrapper, place)))
        for name in dict.fromkeys(self.layout.containers[i].name for i in shape.containers):
            keys.append((*self.name(name or ""), ITEMS, self.array(shape, name, place)))
        if is_container:
            keys.append((*self.name(MOVED), UNUSUAL, -1))
        self.states[number] = keys
        return number

    def wrapper(self, wrapper: Shape, place: str) -> tuple[int, int]:
        if wrapper.held >= 0:
            return SCALAR, wrapper.held
        if wrapper.is_scalar:
            return SKIP, -1
        return OBJECT, self.state(wrapper, f"{place}{wrapper.name}.", is_container=False)

    def array(self, shape: Shape, name: str | None, place: str) -> int:
        number = len(self.arrays)
        self.arrays.append([])
        self.array_places.append(place.removesuffix(".") if name is None else place + name)
        items: list[tuple[int, int, int, int]] = []
        for index in shape.containers:
            container = self.layout.containers[index]
            if container.name == name:
                predicate = -1
                if container.predicate is not None:
                    predicate = len(self.predicates)
                    steps = [self.name(step) for step in container.predicate.names]
                    self.predicates.append((steps, self.name(container.predicate.value)))
                items.append((index, *self.item(container.shape, container.path + "."), predicate))
        self.arrays[number] = items
        return number

    def item(self, shape: Shape, place: str) -> tuple[int, int]:
        """Return the kind of an item (or the record itself) and its class, state or array."""
        if shape.held >= 0:
            return SCALAR, shape.held
        if any(self.layout.containers[i].name is None for i in shape.containers):
            return ITEMS, self.array(shape, None, place)
        return OBJECT, self.state(shape, place, is_container=True)


@dataclass(frozen=True)
class CompiledTables:
    """The kernel's tables, and the paths that its counts of unnamed keys and unmatched items belong to."""

    tables: ReadTables
    state_places: tuple[str, ...]
    array_places: tuple[str, ...]


def _first(groups: list[list[tuple[int, int, int, int]]]) -> Ints:
    return np.cumsum([0, *(len(group) for group in groups)]).astype(np.int32)


def _columns(groups: list[list[tuple[int, int, int, int]]]) -> list[Ints]:
    flat = [entry for group in groups for entry in group]
    return [np.array([entry[i] for entry in flat], np.int32) for i in range(4)]


def compile_tables(layout: Layout) -> CompiledTables:
    """Return the tables of a layout whose paths are dotted."""
    compiler = _Compiler(layout)
    root_kind, root_target = compiler.item(layout.containers[0].shape, "")
    steps = [step for found, _ in compiler.predicates for step in found]
    constants = [constant for _, constant in compiler.predicates]
    key_start, key_stop, key_kind, key_target = _columns(compiler.states)
    item_container, item_kind, item_target, item_predicate = _columns(compiler.arrays)
    tables = ReadTables(
        names=np.frombuffer(bytes(compiler.names) or b"\0", np.uint8),
        key_first=_first(compiler.states),
        key_start=key_start,
        key_stop=key_stop,
        key_kind=key_kind,
        key_target=key_target,
        item_first=_first(compiler.arrays),
        item_container=item_container,
        item_kind=item_kind,
        item_target=item_target,
        item_predicate=item_predicate,
        step_first=np.cumsum([0, *(len(found) for found, _ in compiler.predicates)]).astype(np.int32),
        step_start=np.array([start for start, _ in steps], np.int32),
        step_stop=np.array([stop for _, stop in steps], np.int32),
        constant_start=np.array([start for start, _ in constants], np.int32),
        constant_stop=np.array([stop for _, stop in constants], np.int32),
        classes=len(layout.classes),
        root_kind=root_kind,
        root_target=root_target,
    )
    return CompiledTables(tables, tuple(compiler.state_places), tuple(compiler.array_places))
