"""Which node of a record as it was stands beside which of the record as it is published, line by line."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import get_args

from treeanon.previews.model import Change, Fate, Node, RecordChange, RowChange


@dataclass(frozen=True)
class Side:
    """One side of a line: a node with its depth."""

    text: str
    depth: int = 0


@dataclass(frozen=True)
class Remark:
    """What is said of a published node, or in its place; `short` says less, where there is no room for more."""

    text: str
    short: str = ""


@dataclass(frozen=True)
class Pair:
    """What stands on one line: a node of the record as it was, one of the record as published, or both."""

    before: Side | None
    after: Side | None
    changes: frozenset[Change] = frozenset()
    remarks: tuple[Remark, ...] = ()


_GONE = Remark("not published")


def pairs_of(change: RecordChange | RowChange) -> list[Pair]:
    """The pairs of a record, or of a row, from top to bottom."""
    return list(_of_row(change) if isinstance(change, RowChange) else _of_record(change))


def counts_of(change: RecordChange | RowChange) -> dict[Change | None, int]:
    """How many nodes (or values) of the record each change happened to; None for none of them."""
    happened = [pair.changes for pair in pairs_of(change)] if isinstance(change, RowChange) else []
    if isinstance(change, RecordChange):
        happened = [fate.changes for fate in change.fates]
    counts: dict[Change | None, int] = {kind: sum(kind in one for one in happened) for kind in get_args(Change)}
    counts[None] = sum(not one for one in happened)
    return counts


def _of_row(change: RowChange) -> Iterator[Pair]:
    after = change.after or (None,) * len(change.columns)
    for name, own, published in zip(change.columns, change.before, after, strict=True):
        if change.after is None:
            yield Pair(_value(name, own), None, frozenset({"dropped"}), (_GONE,))
        else:
            changes: frozenset[Change] = frozenset({"generalised"} if own != published else ())
            yield Pair(_value(name, own), _value(name, published), changes)


def _value(name: str, text: str | None) -> Side:
    return Side(f"{name}: (missing)" if text is None else f"{name}: {text}")


def _of_record(change: RecordChange) -> Iterator[Pair]:
    """The pairs of a record: both trees in their order, a node beside the one it became wherever the orders allow."""
    drawing = _Drawing(change)
    after = 0
    for fate in change.fates:
        if fate.before in drawing.beside:
            yield from drawing.arrived(range(after, drawing.beside[fate.before]))
            after = drawing.beside[fate.before] + 1
        yield drawing.pair(fate, after)
    yield from drawing.arrived(range(after, len(drawing.after)))


class _Drawing:
    """A change with its nodes by number, and which of both sides stand beside each other."""

    def __init__(self, change: RecordChange) -> None:
        self.fates = change.fates
        self.before, depths = _listed(change.before)
        self.depth_before = depths
        self.after, self.depth_after = _listed(change.after or ())
        self.parent_after = _parents(change.after or ())
        self.firsts: dict[int, Fate] = {}
        for fate in self.fates:
            if fate.after is not None:
                self.firsts.setdefault(fate.after, fate)
        self.beside = _in_both_orders([(fate.before, place) for place, fate in self._first_by_before()])

    def _first_by_before(self) -> list[tuple[int, Fate]]:
        return sorted(self.firsts.items(), key=lambda item: item[1].before)

    def pair(self, fate: Fate, told: int) -> Pair:
        """The pair of an original node, when the published nodes before number `told` have been told."""
        own = Side(_label(self.before[fate.before]), self.depth_before[fate.before])
        place = self.beside.get(fate.before)
        if place is None:
            return Pair(own, None, fate.changes, (self._elsewhere(fate, told),))
        return Pair(own, self._side(place), fate.changes, self._origin(fate))

    def arrived(self, places: Iterable[int]) -> Iterator[Pair]:
        """The published nodes that stand where no original one stood."""
        for place in places:
            fate = self.firsts.get(place)
            if fate is None:
                yield Pair(None, self._side(place))
                continue
            # The original value stands on another line, or on none that can be told from others.
            was = (_remark("was", self.before[fate.before]),) if "generalised" in fate.changes else ()
            yield Pair(None, self._side(place), fate.changes, was + self._origin(fate))

    def _side(self, place: int) -> Side:
        return Side(_label(self.after[place]), self.depth_after[place])

    def _origin(self, fate: Fate) -> tuple[Remark, ...]:
        """From where a node came, if it moved."""
        return () if fate.moved_from is None else (_remark("from under", self.before[fate.moved_from]),)

    def _elsewhere(self, fate: Fate, told: int) -> Remark:
        """Where to look for what became of a node."""
        if fate.after is None:
            return _GONE
        if self.firsts[fate.after] is not fate:
            return _remark("one with", self.after[fate.after])
        if fate.moved_from is None:
            return Remark("further up" if fate.after < told else "further down")
        above = self.parent_after.get(fate.after)
        return Remark("now under the record") if above is None else _remark("now under", self.after[above])


def _remark(words: str, node: Node) -> Remark:
    return Remark(f"{words} {_label(node)}", f"{words} {node.value}")


def _label(node: Node) -> str:
    return f"{node.cls}: {node.value}"


def _listed(nodes: tuple[Node, ...]) -> tuple[dict[int, Node], dict[int, int]]:
    """All nodes by number, and their depths."""
    found: dict[int, Node] = {}
    depths: dict[int, int] = {}
    stack = [(node, 0) for node in reversed(nodes)]
    while stack:
        node, depth = stack.pop()
        found[node.id], depths[node.id] = node, depth
        stack.extend((child, depth + 1) for child in reversed(node.children))
    return found, depths


def _parents(nodes: tuple[Node, ...]) -> dict[int, int]:
    return {child.id: node.id for top in nodes for node in top.walk() for child in node.children}


def _in_both_orders(pairs: list[tuple[int, int]]) -> dict[int, int]:
    """The most of these pairs, which ascend on the left, that ascend on the right too.

    >>> _in_both_orders([(0, 0), (1, 3), (2, 1), (3, 2)])
    {0: 0, 2: 1, 3: 2}
    """
    ends: list[int] = []
    last: list[int] = []
    back: list[int] = []
    for number, (_, right) in enumerate(pairs):
        at = bisect_left(ends, right)
        back.append(last[at - 1] if at else -1)
        ends[at : at + 1], last[at : at + 1] = [right], [number]
    chosen = []
    at = last[-1] if last else -1
    while at >= 0:
        chosen.append(pairs[at])
        at = back[at]
    return dict(reversed(chosen))
