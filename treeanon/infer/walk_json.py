"""Walks parsed JSON records and counts what stands where."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from treeanon.errors import DataError
from treeanon.hierarchy.numbers import number_text
from treeanon.infer.kinds import Kinds, find_kinds
from treeanon.infer.stats import Place

CANDIDATES = (("resource", "resourceType"), ("resourceType",), ("type",), ("kind",))
_FIELD_DEPTH = 3


def walk_json(records: Iterable[Any], *, apart: bool = True) -> tuple[Place, Kinds]:
    """What stands where in the records, items of mixed arrays apart by kind, and how the kinds are told apart.

    Where all items have the same fields, as rows have, `apart=False` looks for no kinds.

    >>> root, _ = walk_json([{"age": 3, "visits": [{"ward": "x"}, {"ward": "y"}]}])
    >>> root.fields["visits"].repeated, root.fields["visits"].fields["ward"].values.distinct
    (True, 2)
    """
    records = list(records)
    if not apart:
        return _Walk({}).all(records), {}
    kinds = find_kinds(_Walk({}).all(records))
    return _Walk(kinds).all(records), kinds


class _Walk:
    def __init__(self, kinds: Kinds) -> None:
        self.kinds = kinds
        self.record = 0

    def all(self, records: list[Any]) -> Place:
        root = Place(None)
        try:
            for self.record, record in enumerate(records, start=1):
                self.instance(root, record)
        except RecursionError:
            raise DataError("is nested too deeply", place=f"record {self.record}") from None
        return root

    def value(self, place: Place, value: Any) -> None:
        """Counts the value of a key: all items of an array, or one."""
        if type(value) is not list:
            self.instance(place, value)
            return
        place.repeated = True
        for item in value:
            self.instance(place, item)

    def instance(self, place: Place, value: Any) -> None:
        """Counts one object, value, or array directly in an array."""
        place.enter(self.record)
        if value is None or value == "":
            place.absent += 1
        elif type(value) is dict:
            self.object(place, value)
        elif type(value) is list:
            self.array(place, value)
        else:
            self.scalar(place, value)

    def object(self, place: Place, value: dict[str, Any]) -> None:
        place.objects += 1
        kind = self.kinds.get(place.path)
        if kind is not None and (constant := _constant(value, kind.names)) is not None:
            place = place.kind(constant)
            place.enter(self.record)
            place.objects += 1
        elif not self.kinds:
            _note_kinds(place, value)
        for key, inner in value.items():
            at = place.field_named(key)
            if at is not None:
                self.value(at, inner)

    def array(self, place: Place, value: list[Any]) -> None:
        place.arrays += 1
        place.empty_arrays += not value
        items = place.inner_items()
        for item in value:
            self.instance(items, item)

    def scalar(self, place: Place, value: Any) -> None:
        text = value if type(value) is str else _text(value)
        place.unreadable |= "\0" in text
        place.values.add(text, self.record, quoted=type(value) is str)


def _text(value: Any) -> str:
    if type(value) is bool:
        return "true" if value else "false"
    return number_text(value)


def _constant(value: Any, names: tuple[str, ...]) -> str | None:
    for name in names:
        value = value.get(name) if type(value) is dict else None
    return value if type(value) is str and value else None


def _note_kinds(place: Place, value: dict[str, Any]) -> None:
    for candidate in CANDIDATES:
        constant = _constant(value, candidate)
        if constant is not None:
            fields = set(_fields(value, "", _FIELD_DEPTH)) - {".".join(("", *candidate))}
            place.saw(candidate, constant, fields)


def _fields(value: Any, lead: str, depth: int) -> Iterator[str]:
    """The paths of fields inside an object, so many levels deep, through first items of arrays."""
    if type(value) is list:
        value = value[0] if value else None
    if type(value) is dict and depth:
        for key, inner in value.items():
            yield f"{lead}.{key}"
            yield from _fields(inner, f"{lead}.{key}", depth - 1)
