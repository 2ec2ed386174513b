"""The losses of a release on plain nested lists, by obvious code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import prod

from tests.reference.trees import Label, Tree, paths, tree_of_paths

Parents = Mapping[str, Mapping[str, str]]
Path = tuple[Label, ...]
STAR = ("*", "*")


def upwards(parents: Parents, label: Label) -> list[Label]:
    """The label and those above it, up to its class root."""
    out = [label]
    while out[-1][1] in parents[label[0]]:
        out.append((label[0], parents[label[0]][out[-1][1]]))
    return out


def leaves(parents: Parents, label: Label) -> int:
    """The number of leaves under a label."""
    name, text = label
    below = [child for child, above in parents[name].items() if above == text]
    return sum(leaves(parents, (name, child)) for child in below) or 1


def general(parents: Parents, label: Label) -> float:
    most = leaves(parents, upwards(parents, label)[-1])
    return (leaves(parents, label) - 1) / (most - 1) if most > 1 else 0.0


def labels(record: Tree) -> set[Label]:
    return {path[-1] for path in paths(record)} - {STAR}


def relations(record: Tree) -> set[tuple[Label, Label]]:
    return {(upper, path[-1]) for path in paths(record) for upper in path[:-1]}


def published(parents: Parents, value: Label, shown: set[Label]) -> Label | None:
    """The nearest ancestor-or-self that is shown."""
    return next((label for label in upwards(parents, value) if label in shown), None)


def value_loss(
    pairs: Iterable[tuple[Tree, Tree | None]], parents: Parents, weights: Mapping[str, float]
) -> tuple[float, dict[str, float]]:
    """The mean in total and by class, for pairs of a record and what was released of it (None: it was suppressed)."""
    losses: list[tuple[str, float]] = []
    for before, after in pairs:
        had, has = labels(before), labels(after or [])
        stands_for = {value: published(parents, value, has) for value in had}
        losses += [(value[0], 1.0) for value, label in stands_for.items() if label is None]
        for label in has:
            meant = {value for value, shown in stands_for.items() if shown == label}
            losses.append((label[0], 0.0 if meant == {label} else general(parents, label)))
    weight = sum(weights.get(name, 1) for name, _ in losses)
    total = sum(weights.get(name, 1) * loss for name, loss in losses) / weight if weight else 0.0
    counts = Counter(name for name, _ in losses)
    return total, {name: sum(loss for other, loss in losses if other == name) / counts[name] for name in counts}


def relations_kept(pairs: Iterable[tuple[Tree, Tree | None]]) -> tuple[float, dict[str, float]]:
    had: Counter[str] = Counter()
    has: Counter[str] = Counter()
    for before, after in pairs:
        had.update(f"{upper[0]}>{lower[0]}" for upper, lower in relations(before))
        has.update(f"{upper[0]}>{lower[0]}" for upper, lower in relations(after or []))
    return has.total() / had.total() if had else 1.0, {pair: has[pair] / had[pair] for pair in had}


def level_size(parents: Parents, label: Label, everywhere: bool) -> int:
    if label == STAR:
        return 1
    depth = len(upwards(parents, label))
    names = parents if everywhere else [label[0]]
    root = {name: upwards(parents, next(((name, text) for text in parents[name]), label))[-1] for name in names}
    nodes = [(name, text) for name in names for text in {*parents[name], root[name][1]}]
    return sum(len(upwards(parents, node)) == depth for node in nodes)


def rpd(record: Tree, parents: Parents, everywhere: bool = False) -> float:
    found = list(paths(record))
    ends = [path for path in found if not any(len(other) > len(path) and other[: len(path)] == path for other in found)]
    sizes = [
        prod(depth * level_size(parents, label, everywhere) for depth, label in enumerate(path, start=1))
        for path in ends
    ]
    return sum(1 / size for size in sizes) / len(sizes) if sizes else 0.0


# --- ML² and dML² ----------------------------------------------------------------------------------------------------


def at_level(record: Tree, parents: Parents, level: int) -> Tree:
    """The record with every value that lies deeper read as its ancestor on the level."""
    out = set()
    for path in paths(record):
        out.add(tuple(label if label == STAR else upwards(parents, label)[::-1][: level + 1][-1] for label in path))
    return tree_of_paths(out)


def subtrees(records: Sequence[set[Path]], need: int, most: int) -> list[frozenset[Path]]:
    """All sets of up to `most` root paths with all their prefixes that `need` records have."""
    common = sorted({path for record in records for path in record})
    found = []
    for size in range(1, most + 1):
        for chosen in combinations(common, size):
            closed = all(len(path) == 1 or path[:-1] in chosen for path in chosen)
            if closed and sum(record.issuperset(chosen) for record in records) >= need:
                found.append(frozenset(chosen))
    return found


def distance(subtree: frozenset[Path], before: Tree, after: Tree, parents: Parents) -> float:
    """dtree of a subtree of one record, against what was released of that record."""
    shown, related = labels(after), relations(after)
    levels = broken = count = 0
    for path in subtree:
        found = [published(parents, label, shown) if label != STAR else None for label in path]
        if path[-1] != STAR:
            above = upwards(parents, path[-1])
            levels += above.index(found[-1]) if found[-1] else len(above)
        for label in found[:-1]:
            count += 1
            broken += (label, found[-1]) not in related
    return 0.5 * levels / len(subtree) + (0.5 * broken / count if count else 0)


def mining(
    pairs: Sequence[tuple[Tree, Tree | None]], parents: Parents, need: int, bounds: Sequence[int]
) -> list[tuple[int, int, float]]:
    """For every level the frequent subtrees, those that the release shows, and the sum of their dtree."""
    out = []
    for level, most in enumerate(bounds):
        before = [at_level(record, parents, level) for record, _ in pairs]
        after = [at_level(record or [], parents, level) for _, record in pairs]
        had, has = [set(paths(record)) for record in before], [set(paths(record)) for record in after]
        frequent = subtrees(had, need, most)
        shown = sum(sum(record.issuperset(subtree) for record in has) >= need for subtree in frequent)
        total = 0.0
        for subtree in frequent:
            holders = [r for r, record in enumerate(had) if record.issuperset(subtree)]
            total += sum(distance(subtree, before[r], after[r], parents) for r in holders) / len(holders)
        out.append((len(frequent), shown, total))
    return out
