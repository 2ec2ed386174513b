"""Compiles a schema's layout into the tables that the JSON kernel reads by."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from treeanon.kernels.jsonread import ITEMS, OBJECT, SCALAR, SKIP, UNUSUAL, Ints, ReadTables
from treeanon.schema import Layout, Shape
from treeanon.schema.layout import MOVED


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
        """The number of the state for an object, whose keys are compiled with it."""
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
        """What an item (or the record itself) is, and its class, state or array."""
        if shape.held >= 0:
            return SCALAR, shape.held
        if any(self.layout.containers[i].name is None for i in shape.containers):
            return ITEMS, self.array(shape, None, place)
        return OBJECT, self.state(shape, place, is_container=True)


@dataclass(frozen=True)
class CompiledTables:
    """The kernel's tables, and the places that its counts of unnamed keys and unmet items belong to."""

    tables: ReadTables
    state_places: tuple[str, ...]
    array_places: tuple[str, ...]


def _first(groups: list[list[tuple[int, int, int, int]]]) -> Ints:
    return np.cumsum([0, *(len(group) for group in groups)]).astype(np.int32)


def _columns(groups: list[list[tuple[int, int, int, int]]]) -> list[Ints]:
    flat = [entry for group in groups for entry in group]
    return [np.array([entry[i] for entry in flat], np.int32) for i in range(4)]


def compile_tables(layout: Layout) -> CompiledTables:
    """The tables of a layout whose paths are dotted."""
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
