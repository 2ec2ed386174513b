"""What the check of a table asks of each group, model by model: code of its own, which no search uses.

All shares are compared in whole numbers, so that no rounding decides; of logarithms only what is not near is decided
by floats. A model that is not one of the package's checks each group by its own method `check`.

The models are cited where they are defined, in `treeanon.privacy.models`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from math import gcd, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Flags, Longs
from treeanon.errors import UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.privacy.models import (
    AlphaKAnonymity,
    BetaLikeness,
    DeltaDisclosure,
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    KAnonymity,
    Model,
    PSensitiveKAnonymity,
    RecursiveDiversity,
    TCloseness,
)
from treeanon.privacy.models.model import Group, exact
from treeanon.privacy.models.population import refuse_whole
from treeanon.verifier.groups import CountedGroups, ValueCounts
from treeanon.verifier.population import is_checked

Whole = npt.NDArray[Any]
"""Whole numbers: of 64 bits, or of Python where these would be too few."""

_SAFE = 2**62
_POWERS = 5_000
"""Entropies of up to so many persons are compared as powers, exactly; those of more in 60 digits."""


def failing(groups: CountedGroups, model: Model) -> Flags:
    """Return which groups do not satisfy a model.

    >>> from treeanon.privacy.models import KAnonymity
    >>> failing(CountedGroups(np.array([2, 3])), KAnonymity(3)).tolist()
    [True, False]
    """
    if not len(groups):
        return np.zeros(0, np.bool_)
    refuse_unchecked(model)
    refuse_whole([model], "this check")
    check: Callable[[Group], bool] | None = getattr(model, "check", None)
    if check is not None:
        return np.array([not check(group) for group in groups.each()], np.bool_)
    return ~np.asarray(_criterion_of(model)(groups, model), np.bool_)


def refuse_unchecked(model: Model) -> None:
    """Raise UsageError for a model of another package without a method `check`."""
    known = callable(getattr(model, "check", None)) or _criterion_of(model) is not _unknown
    if not known and not is_checked(model):
        raise UsageError(f"{model.name} has no method check(group), by which its releases can be checked")


def _criterion_of(model: Model) -> Callable[[CountedGroups, Any], Flags | list[bool]]:
    """Return what is asked of the groups for a model of the package, or of a class made from one."""
    return next((_CRITERIA[kind] for kind in type(model).__mro__ if kind in _CRITERIA), _unknown)


def _unknown(groups: CountedGroups, model: Model) -> list[bool]:
    return [False] * len(groups)


def _values_of(groups: CountedGroups) -> ValueCounts:
    assert groups.values is not None, "the model looks at a sensitive column"
    return groups.values


def _at_most(parts: Whole, wholes: Whole, limit: Fraction) -> list[bool]:
    """Return whether part ≤ limit · whole, for each pair, in Python's numbers, which are never too large."""
    over, under = limit.numerator, limit.denominator
    return [part * under <= whole * over for part, whole in zip(parts.tolist(), wholes.tolist(), strict=True)]


def _sums(values: ValueCounts, numbers: Whole) -> Whole:
    """Return the sum over each group of a number for each entry."""
    found: Whole = np.add.reduceat(numbers, values.first)
    return found


def largest_counts(values: ValueCounts) -> Longs:
    """Return how many persons of each group have its most frequent value."""
    found: Longs = np.maximum.reduceat(values.count, values.first)
    return found


def different(values: ValueCounts) -> Longs:
    """Return how many different values each group has."""
    return np.diff(np.append(values.first, len(values.group)))


def _k_anonymity(groups: CountedGroups, model: KAnonymity) -> Flags:
    return groups.persons >= model.k


def _distinct(groups: CountedGroups, model: DistinctDiversity) -> Flags:
    return different(_values_of(groups)) >= model.l


def _p_sensitive(groups: CountedGroups, model: PSensitiveKAnonymity) -> Flags:
    return (groups.persons >= model.k) & (different(_values_of(groups)) >= model.p)


def _frequency(groups: CountedGroups, model: FrequencyDiversity) -> list[bool]:
    return _at_most(largest_counts(_values_of(groups)), groups.persons, 1 / exact("l", model.l))


def _alpha_k(groups: CountedGroups, model: AlphaKAnonymity) -> Flags:
    values = _values_of(groups)
    if model.value is None:
        having = largest_counts(values)
    else:
        node = values.hierarchy.find(model.value)
        if node is None:
            raise UsageError(f"{model.name}: the hierarchy of {values.name} does not know the value")
        is_below = np.array([_is_below(values.hierarchy, value, node) for value in range(len(values.whole))])
        having = _sums(values, np.where(is_below[values.value], values.count, 0))
    return (groups.persons >= model.k) & _at_most(having, groups.persons, exact("alpha", model.alpha))


def _is_below(hierarchy: Hierarchy, value: int, node: int) -> bool:
    """Return whether a value is a node or lies below it; a missing one does not."""
    if value == len(hierarchy):
        return False
    while value > node:
        value = int(hierarchy.parent[value])
    return value == node


def _recursive(groups: CountedGroups, model: RecursiveDiversity) -> list[bool]:
    values = _values_of(groups)
    many = different(values)
    rest = np.where(many >= model.l, rests(values)[values.first + np.minimum(model.l, many) - 1], 0)
    # The most frequent must be less than c times the rest: the rest is not at most 1/c of it.
    return [not few for few in _at_most(rest, largest_counts(values), 1 / exact("c", model.c))]


def rests(values: ValueCounts) -> Longs:
    """Return for each entry, the most frequent values of a group first, the count of its value and all rarer ones."""
    counts = values.count[np.lexsort((-values.count, values.group))]
    before = np.cumsum(counts) - counts
    many = different(values)
    found: Longs = np.repeat(before[values.first] + _sums(values, values.count), many) - before
    return found


def _entropy(groups: CountedGroups, model: EntropyDiversity) -> Flags:
    values, least = _values_of(groups), exact("l", model.l)
    total, counts = _sums(values, values.count), values.count.astype(np.float64)
    over = np.log(total) - _sums(values, counts * np.log(counts)) / total - np.log(float(least))
    flags: Flags = over > 0
    first, last = values.first, np.append(values.first[1:], len(counts))
    decided: dict[tuple[int, ...], bool] = {}
    for group in np.flatnonzero(np.abs(over) < 1e-9).tolist():
        own = values.count[first[group] : last[group]].tolist()
        # Groups of the same shares have the same entropy.
        common = gcd(*own)
        shares = tuple(sorted(count // common for count in own))
        if shares not in decided:
            decided[shares] = entropy_is_at_least(shares, least)
        flags[group] = decided[shares]
    return flags


def entropy_is_at_least(counts: Sequence[int], least: Fraction) -> bool:
    """Return whether the entropy of counts is at least log(least): n^n ≥ least^n · Π count^count."""
    persons = sum(counts)
    if persons <= _POWERS:
        powers = prod(count**count for count in counts)
        return bool(persons**persons * least.denominator**persons >= least.numerator**persons * powers)
    with localcontext() as context:
        context.prec = 60
        n = Decimal(persons)
        entropy = n.ln() - sum(Decimal(count) * Decimal(count).ln() for count in counts) / n
        # What differs by less than all but the last digits is a tie.
        return entropy - (Decimal(least.numerator) / Decimal(least.denominator)).ln() >= Decimal("-1e-45")


def _closeness(groups: CountedGroups, model: TCloseness) -> list[bool]:
    far, whole = distances(_values_of(groups), model.distance, model.order)
    return _at_most(far, whole, exact("t", model.t))


def distances(values: ValueCounts, distance: str, order: str) -> tuple[Whole, Whole]:
    """Return the distance of the values of each group from those of the whole, as a numerator and a denominator."""
    longest = len(values.whole) if distance == "ordered" else max(values.hierarchy.height, 1)
    many = different(values)
    group = np.repeat(np.arange(len(many)), many)
    total, everybody = _sums(values, values.count), int(values.whole.sum())
    kind: Any = np.int64 if int(total.max()) * max(everybody, 1) * (longest + 1) < _SAFE else object
    total = total.astype(kind)
    if distance == "ordered":
        far, steps = _far_in_order(values, group, total, places_of(values, order), everybody, kind)
    elif distance == "equal":
        far, steps = _surplus(values.count, total[group], values.whole[values.value], everybody, kind), 1
        far = _sums(values, far)
    else:
        far, steps = _far_in_tree(values, group, total, everybody, kind), longest
    return far, total * everybody * steps


def _surplus(own: Longs, total: Whole, whole: Longs, everybody: int, kind: Any) -> Whole:
    """Return by how much each share own/total is more than whole/everybody, in units of 1/(total · everybody)."""
    found: Whole = np.maximum(own.astype(kind) * everybody - whole.astype(kind) * total, 0)
    return found


def _far_in_tree(values: ValueCounts, group: Longs, total: Whole, everybody: int, kind: Any) -> Whole:
    """Return the distance of each group from the whole where mass moves up to a common ancestor, at its level.

    Below every node all mass that is too much there goes up by one level. A value that is an inner node is a leaf of
    its own below it; a missing value, and the only one of all, is one below the root. A leaf's level is 0, that of a
    node what is left to the height.
    """
    hierarchy = values.hierarchy
    size, height = len(hierarchy), max(hierarchy.height, 1)
    itself = np.arange(size)
    is_leaf = (hierarchy.end == itself + 1) & (itself > 0)
    above = np.append(np.where(is_leaf, hierarchy.parent, itself), 0)
    depth = hierarchy.depth.astype(np.int64)
    level = height - depth[above]
    surplus = _surplus(values.count, total[group], values.whole[values.value], everybody, kind)
    far = _sums(values, surplus * level[values.value])
    node = above
    for at in range(int(depth.max(initial=0)), 0, -1):
        node = np.where(depth[node] > at, hierarchy.parent[node], node)
        whole = np.zeros(size, np.int64)
        np.add.at(whole, node, values.whole)
        entries = np.flatnonzero(depth[node[values.value]] == at)
        if not len(entries):
            continue
        own, below = group[entries], node[values.value[entries]]
        # Nodes are numbered in preorder: what lies below one node lies side by side.
        first = np.flatnonzero(np.append(True, (own[1:] != own[:-1]) | (below[1:] != below[:-1])))
        counts = np.add.reduceat(values.count[entries], first)
        surplus = _surplus(counts, total[own[first]], whole[below[first]], everybody, kind)
        np.add.at(far, own[first], surplus)
    return far


def _far_in_order(
    values: ValueCounts, group: Longs, total: Whole, places: Longs, everybody: int, kind: Any
) -> tuple[Whole, int]:
    """Return the distance of each group from the whole where values stand in a row, and the number of steps in it.

    It is the sum, over the places but the last, of the difference between the shares of both up to there. Between two
    values of a group its own share stays as it is, while that of the whole grows: to a place that is searched for it is
    the smaller one.
    """
    last = max(int(places.max()), 0)
    mass = np.zeros(last + 1, kind)
    is_there = places >= 0
    np.add.at(mass, places[is_there], values.whole[is_there].astype(kind))
    seen = np.cumsum(mass)[:-1]
    sums = np.append(np.zeros(1, kind), np.cumsum(seen))
    order = np.lexsort((places[values.value], group))
    place, first = places[values.value][order], values.first
    counts = values.count[order].astype(kind)
    running = np.cumsum(counts)
    own = running - np.repeat(running[first] - counts[first], different(values))
    until = np.append(place[1:], last)
    until[np.append(first[1:], len(place)) - 1] = last
    n = total[group]
    turn = np.searchsorted(seen, own * everybody // n, side="right")
    turn = np.minimum(np.maximum(turn, place), until)
    difference = (turn - place) * own * everybody - (sums[turn] - sums[place]) * n
    difference += (sums[until] - sums[turn]) * n - (until - turn) * own * everybody
    # Before its first value a group has nothing.
    return _sums(values, difference) + sums[place[first]] * total, max(last, 1)


def places_of(values: ValueCounts, order: str) -> Longs:
    """Return the place in a row of each value that occurs; -1 for the others. A missing value is the last.

    Values are in the order of numbers, or of the rows of the hierarchy's file; texts of one number have one place.
    """
    occurs = values.whole > 0
    occurs[values.value] = True
    known = np.flatnonzero(occurs[:-1]).tolist()
    keys: dict[int, Any] = {value: int(values.hierarchy.row_order[value]) for value in known}
    if order != "leaves":
        numbers = {value: _number(values.hierarchy.texts[value]) for value in known}
        if None not in numbers.values():
            keys = numbers
        elif order == "numbers":
            raise UsageError(f"column {values.name!r}: not all of its values are numbers, so they have no such order")
    place = {key: at for at, key in enumerate(sorted(set(keys.values())))}
    places = np.full(len(occurs), -1, np.int64)
    for value, key in keys.items():
        places[value] = place[key]
    if occurs[-1]:
        places[-1] = len(place)
    return places


def are_numbers(values: ValueCounts) -> bool:
    """Return whether all values that occur are numbers, a missing one aside: then they are ordered as such."""
    known = np.union1d(np.flatnonzero(values.whole[:-1]), values.value[values.value < len(values.hierarchy)])
    return all(_number(values.hierarchy.texts[value]) is not None for value in known.tolist())


def _number(text: str) -> Fraction | None:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None


def _likeness(groups: CountedGroups, model: BetaLikeness) -> list[bool]:
    """Each share must be at most 1 + β times that of the table; enhanced, at most 1 - ln of it times, too."""
    most = 1 + exact("beta", model.beta)
    return _each_value(groups, lambda gain, share: gain <= most and (model.form == "basic" or _is_told(gain, share)))


def _is_told(gain: Fraction, share: Fraction) -> bool:
    with localcontext() as context:
        context.prec = 40
        bits = -(Decimal(share.numerator) / Decimal(share.denominator)).ln()
        return Decimal(gain.numerator) / Decimal(gain.denominator) <= 1 + bits


def _disclosure(groups: CountedGroups, model: DeltaDisclosure) -> list[bool]:
    """Every value of the table must occur, and its share be more than 2^-δ and less than 2^δ of that of the table."""
    delta, values = exact("delta", model.delta), _values_of(groups)
    near = _each_value(groups, lambda gain, _: _is_below_power(max(gain, 1 / gain), delta))
    every = different(values) == np.count_nonzero(values.whole)
    return [one and other for one, other in zip(near, every.tolist(), strict=True)]


def _is_below_power(gain: Fraction, delta: Fraction) -> bool:
    """Return whether a ratio is less than 2^δ: in whole numbers, where these are not too long."""
    over, under = delta.numerator, delta.denominator
    if over + under <= _POWERS:
        return bool(gain.numerator**under < 2**over * gain.denominator**under)
    with localcontext() as context:
        context.prec = 60
        logarithm = (Decimal(gain.numerator) / Decimal(gain.denominator)).ln() * under
        return logarithm < Decimal(2).ln() * over


def _each_value(groups: CountedGroups, holds: Callable[[Fraction, Fraction], bool]) -> list[bool]:
    """Return for each group whether all of its values hold: by how their share exceeds that of the table, and that."""
    values = _values_of(groups)
    everybody, total = int(values.whole.sum()), np.repeat(_sums(values, values.count), different(values))
    decided: dict[tuple[int, int, int], bool] = {}
    fine = np.ones(len(values.count), np.bool_)
    entries = zip(values.count.tolist(), total.tolist(), values.whole[values.value].tolist(), strict=True)
    for at, (count, persons, whole) in enumerate(entries):
        if (count, persons, whole) not in decided:
            share = Fraction(whole, everybody)
            decided[count, persons, whole] = bool(whole) and holds(Fraction(count, persons) / share, share)
        fine[at] = decided[count, persons, whole]
    found: list[bool] = np.logical_and.reduceat(fine, values.first).tolist()
    return found


_CRITERIA: dict[type, Callable[[CountedGroups, Any], Flags | list[bool]]] = {
    KAnonymity: _k_anonymity,
    DistinctDiversity: _distinct,
    FrequencyDiversity: _frequency,
    EntropyDiversity: _entropy,
    RecursiveDiversity: _recursive,
    AlphaKAnonymity: _alpha_k,
    PSensitiveKAnonymity: _p_sensitive,
    TCloseness: _closeness,
    BetaLikeness: _likeness,
    DeltaDisclosure: _disclosure,
}
