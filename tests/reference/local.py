"""Local recoding by obvious code: every way to put rows into groups, what it loses, and what a release may say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.reference.lattice import Row, World

Values = tuple[str | None, ...]


def partitions(rows: Sequence[Row]) -> Iterator[list[list[Row]]]:
    """Every way to divide rows into groups."""
    if not rows:
        yield []
        return
    for rest in partitions(rows[1:]):
        yield [[rows[0]], *rest]
        for i, group in enumerate(rest):
            yield [*rest[:i], [rows[0], *group], *rest[i + 1 :]]


def common(world: World, column: int, values: Sequence[str | None]) -> str | None:
    """What a group publishes in a column: the lowest value above all of its own."""
    if all(value is None for value in values):
        return None
    paths = world.paths[column]
    if None in values:
        return next(iter(paths.values()))[-1]
    return next(up for up in paths[values[0] or ""] if all(up in paths[value or ""] for value in values))


def cost(world: World, column: int, published: str | None) -> float:
    """The share of a column's values that a published one covers; 0 for one value alone."""
    paths = world.paths[column]
    covered = sum(published in path for path in paths.values())
    return covered / len(paths) if covered > 1 else 0.0


def cost_of(world: World, groups: Sequence[Sequence[Row]]) -> float:
    """What groups lose in all."""
    return sum(
        len(group) * cost(world, c, common(world, c, [row.quasi[c] for row in group]))
        for group in groups
        for c in range(len(world.paths))
    )


def least_cost(world: World) -> float | None:
    """The least that can be lost by groups that hold, where up to the limit of rows may lose everything; or None."""
    costs = []
    for groups in partitions(world.rows):
        fails = [group for group in groups if not world.holds(group)]
        out = sum(map(len, fails))
        if out <= world.limit:
            kept = [group for group in groups if world.holds(group)]
            costs.append(cost_of(world, kept) + out * len(world.paths))
    return min(costs, default=None)
