"""Groups of three to five rows along the cycles of a 2-factor of least weight, for k = 3.

After G. Aggarwal and others, "Approximation algorithms for k-anonymity" (2005), as V. Ciriani and others tell it in the
chapter "k-Anonymity" (2007), Section 3.2.3: every row gets two edges, so that all lie on cycles, which are cut into
groups. With two values in each column at most twice what the best groups cost, as the paper has it; three times
otherwise:

- A column in which a cycle is not constant changes along two of its edges at least. So a whole cycle of 3, 4 or 5 rows
  as a group costs at most 3/2, 2 or 5/2 of its weight. A longer one is cut into paths of 3 and 4 rows, of all places to
  begin where that costs least: at most 3 times its weight, which 8 rows come nearest to.
- The best groups have 3 to 5 rows; of a cycle through one, taken at random, a column of two values changes along 2/3 of
  the rows in the mean, or fewer, and one of more values along all of them.

Where we differ: the 2-factor is found as an integer program, not by the matching that it can be reduced to.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treeanon.arrays import Ints, Longs


def two_factor_groups(values: Ints, weights: Longs) -> Longs:
    """Return for every row its group of three to five, in which rows share what they have in common.

    >>> two_factor_groups(np.array([[1], [1], [1], [2], [2], [2]], np.int32), np.ones(1, np.int64)).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    group = np.zeros(len(values), np.int64)
    parts = [part for cycle in cycles(two_factor(values, weights)) for part in cut(cycle, values, weights)]
    for number, part in enumerate(sorted(parts, key=min)):
        group[part] = number
    return group


def two_factor(values: Ints, weights: Longs) -> list[tuple[int, int]]:
    """Return the edges of a 2-factor of least weight; there must be three rows.

    >>> sorted(two_factor(np.array([[1], [1], [2]], np.int32), np.ones(1, np.int64)))
    [(0, 1), (0, 2), (1, 2)]
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    rows = len(values)
    one, other = np.triu_indices(rows, 1)
    costs = ((values[one] != values[other]) * weights).sum(axis=1).astype(np.float64)
    edges = np.arange(len(one))
    ends = (np.concatenate([one, other]), np.concatenate([edges, edges]))
    degrees = csr_array((np.ones(2 * len(one)), ends), shape=(rows, len(one)))
    found = milp(
        costs,
        integrality=np.ones(len(one)),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(degrees, 2, 2),
        options={"mip_rel_gap": 0.0},
    )
    chosen = np.flatnonzero(found.x > 0.5)
    return list(zip(one[chosen].tolist(), other[chosen].tolist(), strict=True))


def cycles(edges: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Return the cycles that edges form, two at each vertex, in the order of their vertices.

    >>> cycles([(0, 1), (1, 2), (0, 2)])
    [[0, 1, 2]]
    """
    beside: dict[int, list[int]] = {}
    for u, v in edges:
        beside.setdefault(u, []).append(v)
        beside.setdefault(v, []).append(u)
    found, seen = [], set[int]()
    for start in sorted(beside):
        cycle: list[int] = []
        at: int | None = start
        while at is not None and at not in seen:
            seen.add(at)
            cycle.append(at)
            at = next((v for v in beside[at] if v not in seen), None)
        if cycle:
            found.append(cycle)
    return found


def cut(cycle: Sequence[int], values: Ints, weights: Longs) -> list[list[int]]:
    """Return a cycle in groups: itself if it has five rows or fewer, else paths of three and four.

    >>> cut([0, 1, 2, 3, 4, 5], np.array([[1], [2], [2], [2], [1], [1]], np.int32), np.ones(1, np.int64))
    [[1, 2, 3], [4, 5, 0]]
    """
    rows = len(cycle)
    if rows <= 5:
        return [list(cycle)]
    sizes = [4] * (rows % 3) + [3] * (rows // 3 - rows % 3)
    ways = []
    for first in range(rows):
        turned = [*cycle[first:], *cycle[:first]]
        ends = np.cumsum(sizes).tolist()
        ways.append([turned[end - size : end] for end, size in zip(ends, sizes, strict=True)])
    return min(ways, key=lambda way: sum(_cost(part, values, weights) for part in way))


def _cost(part: Sequence[int], values: Ints, weights: Longs) -> int:
    own = values[list(part)]
    return len(part) * int(((own != own[0]).any(axis=0) * weights).sum())
