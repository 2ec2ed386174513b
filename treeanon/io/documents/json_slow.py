"""Reads one parsed JSON record by looking at the layout: every legal form, and an exact error for the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treeanon.errors import DataError
from treeanon.forest.nested import Malformed, NestedReader
from treeanon.forest.report import Dropped
from treeanon.forest.tables import BatchWriter
from treeanon.hierarchy.numbers import number_text
from treeanon.io.documents.values import ExactCodes, NotAScalar, ValueCodes
from treeanon.schema import Container, Layout, Shape
from treeanon.schema.layout import MOVED
from treeanon.schema.paths import Predicate


def named_keys(shape: Shape, layout: Layout) -> frozenset[str]:
    """The keys that the schema gives a meaning in an object."""
    arrays = {layout.containers[index].name or "" for index in shape.containers}
    return frozenset({wrapper.name or "" for wrapper in shape.wrappers} | arrays)


def predicate_holds(item: Any, predicate: Predicate) -> bool:
    """Whether a JSON item has the constant that a step asks for."""
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
    """The interpreter of a layout for JSON; `read` appends one record."""

    def __init__(self, layout: Layout, out: BatchWriter, codes: Sequence[ValueCodes], *, exact: bool = False) -> None:
        self.layout, self.out = layout, out
        self.codes: Sequence[ValueCodes | ExactCodes] = [ExactCodes(c) for c in codes] if exact else codes
        self.nested = NestedReader(layout, out, codes)
        self.dropped = Dropped()

    def read(self, record: Any) -> Dropped:
        """Appends the record and returns what was dropped; DataError has the path of what cannot be."""
        self.dropped = Dropped()
        self.item(record, self.layout.containers[0], 0, "")
        return self.dropped

    def item(self, item: Any, container: Container, owner: int, path: str) -> None:
        """Appends one instance of a container."""
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
        """Reads what stands where items may repeat; one item needs no array around it."""
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
