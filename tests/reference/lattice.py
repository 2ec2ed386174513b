"""Full-domain generalization by obvious code: every vector, every row, sets of persons."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

Vector = tuple[int, ...]
Holds = Callable[[Sequence["Row"]], bool]


@dataclass(frozen=True)
class Row:
    """A row: its person, its quasi values (None: missing), its sensitive values."""

    person: int
    quasi: tuple[str | None, ...]
    sensitive: tuple[str | None, ...] = ()


@dataclass(frozen=True)
class World:
    """Rows, and per quasi column the path of every value from itself to the root, all of one length."""

    rows: Sequence[Row]
    paths: Sequence[Mapping[str, Sequence[str]]]
    holds: Holds
    limit: int

    @property
    def heights(self) -> Vector:
        return tuple(len(next(iter(paths.values()))) - 1 for paths in self.paths)

    def vectors(self) -> Iterator[Vector]:
        return product(*(range(height + 1) for height in self.heights))

    def value(self, column: int, value: str | None, level: int) -> str | None:
        if value is None:
            root = next(iter(self.paths[column].values()))[-1]
            return root if level and level == self.heights[column] else None
        return self.paths[column][value][level]

    def groups(self, vector: Vector) -> dict[tuple[str | None, ...], list[Row]]:
        found = defaultdict(list)
        for row in self.rows:
            found[tuple(self.value(c, v, vector[c]) for c, v in enumerate(row.quasi))].append(row)
        return found

    def lost_rows(self, vector: Vector) -> list[Row]:
        return [row for rows in self.groups(vector).values() if not self.holds(rows) for row in rows]

    def suppressed(self, vector: Vector) -> int:
        return len({row.person for row in self.lost_rows(vector)})

    def published(self, vector: Vector) -> int:
        return sum(self.holds(rows) for rows in self.groups(vector).values())

    def satisfied(self) -> dict[Vector, int]:
        found = {vector: self.suppressed(vector) for vector in self.vectors()}
        return {vector: lost for vector, lost in found.items() if lost <= self.limit}

    def minimal(self) -> dict[Vector, int]:
        held = self.satisfied()
        return {
            v: lost
            for v, lost in held.items()
            if not any(w != v and all(a <= b for a, b in zip(w, v, strict=True)) for w in held)
        }

    def release(self, vector: Vector) -> list[tuple[str | None, ...]]:
        kept = [(key, row) for key, rows in self.groups(vector).items() if self.holds(rows) for row in rows]
        return sorted(((*key, *row.sensitive) for key, row in kept), key=repr)

    def gcp(self, vector: Vector) -> float:
        """Leaves covered / all leaves, nothing for a single one; a suppressed row has lost all."""
        total, lost = 0.0, {id(row) for row in self.lost_rows(vector)}
        for row in self.rows:
            for c, value in enumerate(row.quasi):
                shown = self.value(c, value, vector[c])
                leaves = [v for v, path in self.paths[c].items() if shown in path]
                share = len(leaves) / len(self.paths[c]) if shown is not None and len(leaves) > 1 else 0.0
                total += 1 if id(row) in lost else share
        return total / max(1, len(self.rows) * len(self.paths))


def at_least(k: int) -> Holds:
    return lambda rows: len({row.person for row in rows}) >= k


def diverse(least: int, k: int = 1) -> Holds:
    """Distinct diversity of each sensitive column, with the others joined to the quasi-identifier."""

    def holds(rows: Sequence[Row]) -> bool:
        for c in range(len(rows[0].sensitive)):
            parts = defaultdict(set)
            for row in rows:
                parts[row.sensitive[:c] + row.sensitive[c + 1 :]].add(row.sensitive[c])
            if any(len(values) < least for values in parts.values()):
                return False
        return at_least(k)(rows)

    return holds


def frequent(least: int, k: int = 1) -> Holds:
    """No sensitive value of the first column is that of more than one in `least` persons."""

    def holds(rows: Sequence[Row]) -> bool:
        persons = len({row.person for row in rows})
        for value in {row.sensitive[0] for row in rows}:
            if len({row.person for row in rows if row.sensitive[0] == value}) * least > persons:
                return False
        return at_least(k)(rows)

    return holds
