"""A hierarchy of intervals over very many numbers, whose texts are made when first asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from treeanon.hierarchy.interval_tree import Grid, interval_nodes
from treeanon.hierarchy.layout import Codes, indexed
from treeanon.hierarchy.model import Hierarchy
from treeanon.hierarchy.nodes import Ids, Keys, Nodes
from treeanon.hierarchy.number_texts import NumberTexts


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


class NumberHierarchy(Hierarchy):
    """The hierarchy of nested intervals and of numbers in them; numbers are encoded without their texts."""

    nodes: Nodes
    order: Ids
    decimals: int
    numbers: Keys
    codes: Codes

    def __init__(self, grid: Grid, cells: Sequence[Keys], leaves: NumberTexts, numbers: Keys) -> None:
        nodes = interval_nodes(grid, cells, _Kept(leaves, len(numbers)), numbers)
        order, parents = nodes.shape()
        self._measure(parents)
        code = np.zeros(len(parents), np.int32)
        code[order] = np.arange(1, len(parents))
        given = {"nodes": nodes, "order": order, "decimals": grid.decimals, "numbers": numbers}
        for name, value in {**given, "codes": code[len(parents) - len(numbers) :]}.items():
            object.__setattr__(self, name, value)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The text of every node."""
        return self.nodes.texts(self.order)

    @cached_property
    def _index(self) -> dict[str, int]:
        return indexed(self.texts)

    def encode(self, texts: Iterable[str]) -> Codes:
        """The codes of the texts, -1 where there is no such node."""
        steps = texts.in_steps(self.decimals) if isinstance(texts, NumberTexts) else None
        if steps is None or not isinstance(texts, NumberTexts):
            return super().encode(texts)
        if not len(self.numbers):
            return np.full(len(steps), -1, np.int32)
        at = np.minimum(np.searchsorted(self.numbers, steps), len(self.numbers) - 1)
        met = self.numbers[at] == steps
        if texts.kept is not None:
            met &= texts.kept
        return np.where(met, self.codes[at], -1).astype(np.int32)
