"""Mondrian and TopDown by obvious code, on lists of rows; losses are whole numbers, as in the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tests.reference.lattice import Row, World

UNIT = 1 << 20
Rows = Sequence[Row]


class Slow:
    """The columns of a world as they are published in a style, and cuts of its rows."""

    def __init__(self, world: World, style: str, k: int) -> None:
        self.world, self.style, self.k = world, style, k
        # Leaves in the order of the hierarchy, a missing value before all.
        self.order = [self.ordered(list(paths.values())) for paths in world.paths]

    @staticmethod
    def ordered(paths: list[list[str]]) -> list[str]:
        """Leaves in the order of a tree whose children come in the order of their first leaf."""
        if not paths or len(paths[0]) < 2:
            return [path[0] for path in paths]
        tops = list(dict.fromkeys(path[-2] for path in paths))
        return [leaf for top in tops for leaf in Slow.ordered([path[:-1] for path in paths if path[-2] == top])]

    def rank(self, c: int, row: Row) -> int:
        return -1 if row.quasi[c] is None else self.order[c].index(row.quasi[c])

    def loss(self, c: int, rows: Rows) -> int:
        ranks = sorted({self.rank(c, row) for row in rows})
        if len(ranks) == 1:
            return 0
        if ranks[0] < 0:
            return UNIT if self.style != "hierarchy" or len(self.order[c]) > 1 else 0
        steps = max(len(self.order[c]) - 1, 1)
        if self.style == "sets":
            return (len(ranks) - 1) * UNIT // steps
        if self.style == "ranges":
            return round(ranks[-1] / steps * UNIT) - round(ranks[0] / steps * UNIT)
        paths = self.world.paths[c]
        known = [paths[self.order[c][rank]] for rank in ranks]
        level = next(level for level in range(len(known[0])) if len({path[level] for path in known}) == 1)
        below = sum(path[level] == known[0][level] for path in paths.values())
        return round((below - 1) / steps * UNIT)

    def whole(self, rows: Rows) -> int:
        return sum(self.loss(c, rows) for c in range(len(self.order)))

    def halves(self, c: int, rows: Rows) -> list[tuple[list[Row], list[Row]]]:
        """All cuts between values."""
        ranks = sorted({self.rank(c, row) for row in rows})
        return [
            ([row for row in rows if self.rank(c, row) < rank], [row for row in rows if self.rank(c, row) >= rank])
            for rank in ranks[1:]
        ]

    def cuts(self, rows: Rows, mode: str, split: str, all_at_once: bool) -> list[tuple[list[Row], list[Row]]]:
        """The cuts that are tried, the best first; where `all_at_once`, those between values hold already."""
        found = []
        columns = [c for c in range(len(self.order)) if len({self.rank(c, row) for row in rows}) > 1]
        columns.sort(key=lambda c: -self.loss(c, rows))
        for at, c in enumerate(columns):
            allowed = [
                halves
                for halves in self.halves(c, rows)
                if all(len(half) >= self.k and (not all_at_once or self.world.holds(half)) for half in halves)
            ]
            by_value = sorted(rows, key=lambda row: self.rank(c, row))
            even = (by_value[: len(rows) // 2], by_value[len(rows) // 2 :])
            is_between = self.rank(c, even[0][-1]) < self.rank(c, even[1][0])
            if mode == "relaxed" and (not is_between or even[0] in [sorted_by(self, c, a) for a, _ in allowed]):
                found.append(((1, at, 0) if split == "ncp" else (0, 2 * at, 0), even))
            if allowed and split == "ncp":
                best = min(allowed, key=self.worth)
                found.append(((0, *self.worth(best)), best))
            elif allowed:
                found.append(((0, 2 * at + 1, 0), min(allowed, key=lambda halves: self.unevenness(c, rows, halves))))
        return [halves for _, halves in sorted(found, key=lambda one: one[0])]

    def worth(self, halves: tuple[list[Row], list[Row]]) -> tuple[int, int]:
        return sum(len(half) * self.whole(half) for half in halves), -min(map(len, halves))

    def unevenness(self, c: int, rows: Rows, halves: tuple[list[Row], list[Row]]) -> tuple[bool, int]:
        left, right = halves
        is_apart = False
        if self.style == "hierarchy":
            ends = max(left, key=lambda r: self.rank(c, r)), min(right, key=lambda r: self.rank(c, r))
            is_apart = self.loss(c, ends) == self.loss(c, rows)
        return not is_apart, abs(2 * len(left) - len(rows))

    def mondrian(self, rows: Rows, mode: str, split: str, all_at_once: bool) -> list[list[Row]]:
        """The groups that rows end up in."""
        if len(rows) >= 2 * self.k:
            for halves in self.cuts(rows, mode, split, all_at_once):
                if all(self.world.holds(half) for half in halves):
                    # Rows stay in the order that they had.
                    kept = [{id(row) for row in half} for half in halves]
                    return [
                        group
                        for own in kept
                        for group in self.mondrian([r for r in rows if id(r) in own], mode, split, all_at_once)
                    ]
        return [list(rows)]

    def topdown(self, rows: Rows) -> list[list[Row]]:
        """The groups of TopDown for k alone; rows are in the random order already."""
        if len(rows) < 2 * self.k:
            return [list(rows)]
        one = other = 0
        for _ in range(3):
            far = [i for i in range(len(rows)) if i != one]
            other = max(far, key=lambda i: self.whole([rows[one], rows[i]]))
            one, other = other, one
        sides = [[rows[one]], [rows[other]]]
        side_of = {one: 0, other: 1}
        for i, row in enumerate(rows):
            if i not in side_of:
                grown = [self.whole([*side, row]) - self.whole(side) for side in sides]
                side_of[i] = 1 if (grown[1], len(sides[1])) < (grown[0], len(sides[0])) else 0
                sides[side_of[i]].append(row)
        small = 0 if len(sides[0]) < len(sides[1]) else 1
        missing = max(self.k, len(rows) // 64) - len(sides[small])
        if missing > 0:
            others = [i for i in range(len(rows)) if side_of[i] != small]
            others.sort(key=lambda i: self.whole([*sides[small], rows[i]]))
            side_of.update(dict.fromkeys(others[:missing], small))
        parts = [[row for i, row in enumerate(rows) if side_of[i] == side] for side in (0, 1)]
        return [group for part in parts for group in self.topdown(part)]


def sorted_by(slow: Slow, c: int, rows: Rows) -> list[Row]:
    return sorted(rows, key=lambda row: slow.rank(c, row))


def as_sets(groups: Sequence[Rows]) -> set[frozenset[int]]:
    """Groups of rows that can be compared."""
    return {frozenset(map(id, group)) for group in groups if group}


def random_options(rnd: Random) -> dict[str, str]:
    return {
        "mode": rnd.choice(["strict", "relaxed"]),
        "split": rnd.choice(["median", "ncp"]),
        "style": rnd.choice(["hierarchy", "ranges", "sets"]),
    }
