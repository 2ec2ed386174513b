"""A hierarchy of intervals over very many numbers, whose texts are made when they are asked for, each by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np

from treeanon.errors import HierarchyError
from treeanon.hierarchy.decimal_texts import steps_of_text, steps_of_texts
from treeanon.hierarchy.interval_tree import Grid, interval_nodes
from treeanon.hierarchy.layout import Codes
from treeanon.hierarchy.model import Hierarchy
from treeanon.hierarchy.nodes import Ids, Keys, Nodes
from treeanon.hierarchy.number_texts import NumberTexts
from treeanon.hierarchy.numbers import decimal_text


class _Kept(Sequence[str]):
    """The texts of those that are kept, counted before they are made."""

    def __init__(self, source: NumberTexts, size: int) -> None:
        self.source, self.size = source, size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, at: Any) -> Any:
        return self.source.texts()[at]

    def __iter__(self) -> Iterator[str]:
        return iter(self.source.texts())


class _NodeTexts(Sequence[str]):
    """The texts of all nodes as they are asked for: one is made by itself, all are made once."""

    def __init__(self, hierarchy: NumberHierarchy) -> None:
        self.hierarchy = hierarchy

    def __len__(self) -> int:
        return len(self.hierarchy)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice) or "all_texts" in vars(self.hierarchy):
            return self.hierarchy.all_texts[at]
        if not -len(self) <= at < len(self):
            raise IndexError("there is no such node")
        return self.hierarchy.text(at % len(self))

    def __iter__(self) -> Iterator[str]:
        return iter(self.hierarchy.all_texts)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, _NodeTexts):
            return other is self or self.hierarchy.is_like(other.hierarchy) or tuple(self) == tuple(other)
        return tuple(self) == other

    def __hash__(self) -> int:
        return hash(tuple(self))


class NumberHierarchy(Hierarchy):
    """The hierarchy of nested intervals and of numbers in them; numbers are known without their texts."""

    nodes: Nodes
    order: Ids
    grid: Grid
    cells: Sequence[Keys]
    leaf_texts: NumberTexts
    numbers: Keys
    codes: Codes

    def __init__(self, grid: Grid, cells: Sequence[Keys], leaves: NumberTexts, numbers: Keys) -> None:
        nodes = interval_nodes(grid, cells, _Kept(leaves, len(numbers)), numbers)
        order, parents = nodes.shape()
        self._measure(parents)
        code = np.zeros(len(parents), np.int32)
        code[order] = np.arange(1, len(parents))
        given = {"nodes": nodes, "order": order, "grid": grid, "cells": cells, "leaf_texts": leaves, "numbers": numbers}
        for name, value in {**given, "codes": code[len(parents) - len(numbers) :]}.items():
            object.__setattr__(self, name, value)

    def __reduce__(self) -> Any:
        return NumberHierarchy, (self.grid, self.cells, self.leaf_texts, self.numbers)

    @property
    def texts(self) -> tuple[str, ...]:
        """The text of every node."""
        return cast("tuple[str, ...]", _NodeTexts(self))

    @property
    def decimals(self) -> int:
        """How many decimals a step of the numbers has."""
        return self.grid.decimals

    @cached_property
    def all_texts(self) -> tuple[str, ...]:
        """The same, made at once."""
        return self.nodes.texts(self.order)

    def text(self, code: int) -> str:
        """The text of one node."""
        number = int(self.order[code - 1]) if code else 0
        if number < len(self._inner):
            return self._inner[number]
        return decimal_text(int(self.numbers[number - len(self._inner)]), self.decimals)

    @cached_property
    def _inner(self) -> list[str]:
        """The texts of the nodes that are no numbers, as they were added."""
        return self.nodes.inner_texts()

    @cached_property
    def _index(self) -> dict[str, int]:
        """The codes of the nodes that are no numbers."""
        place = np.flatnonzero(self.order < len(self._inner))
        found = {
            self._inner[number]: code
            for number, code in zip(self.order[place].tolist(), (place + 1).tolist(), strict=True)
        }
        return {self._inner[0]: 0, **found}

    def is_like(self, other: NumberHierarchy) -> bool:
        """Whether another was made of the same."""
        mine, others = (self.grid, len(self.cells)), (other.grid, len(other.cells))
        return (
            mine == others
            and all(map(np.array_equal, self.cells, other.cells))
            and np.array_equal(self.numbers, other.numbers)
        )

    def find(self, text: str) -> int | None:
        """The code of the node with this text, or None."""
        code = self._index.get(text)
        if code is not None:
            return code
        steps = steps_of_text(text, self.decimals)
        at = -1 if steps is None else int(np.searchsorted(self.numbers, steps))
        return int(self.codes[at]) if 0 <= at < len(self.numbers) and self.numbers[at] == steps else None

    def code(self, text: str) -> int:
        """The code of the node with this text; an error, which does not show the text, if there is none."""
        code = self.find(text)
        if code is None:
            raise HierarchyError(f"a text is not among the {len(self)} nodes of the hierarchy")
        return code

    def encode(self, texts: Iterable[str]) -> Codes:
        """The codes of the texts, -1 where there is no such node."""
        steps = texts.in_steps(self.decimals) if isinstance(texts, NumberTexts) else None
        if steps is not None and isinstance(texts, NumberTexts):
            return self._codes(steps, np.ones(len(steps), bool) if texts.kept is None else texts.kept)
        listed = list(texts)
        codes = self._codes(*steps_of_texts(listed, self.decimals))
        for at in np.flatnonzero(codes < 0).tolist():
            codes[at] = self._index.get(listed[at], -1)
        return codes

    def _codes(self, steps: Keys, known: np.ndarray) -> Codes:
        """The codes of numbers, -1 of those not known or not there."""
        if not len(self.numbers):
            return np.full(len(steps), -1, np.int32)
        at = np.minimum(np.searchsorted(self.numbers, steps), len(self.numbers) - 1)
        return np.where(known & (self.numbers[at] == steps), self.codes[at], -1).astype(np.int32)
