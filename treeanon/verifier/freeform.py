"""An independent check of freeform releases: how many published tuples every original can be behind, and the reverse.

A freeform release is not made of rows that look alike. An attacker who knows all originals asks which published tuples
have values that stand for those of one of them; and, as behind every tuple there is exactly one original, drops those
that no way to assign all originals to all tuples (a perfect matching) gives it. What is left must be k at least for
every original, and so must be the originals that are left for every tuple. (After FREE; whether some perfect matching
has a pair is told from any one of them: a pair that it lacks must lie on a cycle that changes it for another.)

This is a bound by counting. That each of k is as likely as the others is not to be seen in a release: it rests on how
the originals were drawn.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Ints, Longs, unique_values
from treeanon.errors import UsageError
from treeanon.io.beyond.findings import Finding, as_data, said_of
from treeanon.shown import Shown, Summary
from treeanon.table import Table
from treeanon.table.compared import in_terms_of
from treeanon.verifier.population import stands_for
from treeanon.verifier.table import Checked, check_controls


@dataclass(frozen=True, repr=False)
class FreeformVerdict(Shown):
    """Verdict on a freeform release: the least numbers of tuples for an original and of originals for a tuple.

    `tuples` is how many tuples it is for the original that has fewest, `originals` how many originals for the tuple
    that has fewest; both are None where there are no rows, and 0 if not every row of the one table has one of the other
    to itself. Freeform releases are for k-anonymity alone; what was asked of single columns is `checked`.
    """

    k: int
    rows: int
    tuples: int | None
    originals: int | None
    seconds: float = 0.0
    beyond: tuple[Finding, ...] = ()
    checked: tuple[Checked, ...] = ()

    def _summary(self) -> Summary:
        facts = [("rows", self.rows), ("rows for a person, at least", self.tuples)]
        return Summary("FreeformVerdict", self.sentence, [*facts, ("persons for a row, at least", self.originals)])

    @property
    def largest_k(self) -> int | None:
        """Return the largest k that holds."""
        return None if self.tuples is None or self.originals is None else min(self.tuples, self.originals)

    @property
    def holds(self) -> bool:
        """Return whether k holds, and what was asked of single columns."""
        return not self.beyond and self._hides and all(one.holds for one in self.checked)

    @property
    def _hides(self) -> bool:
        return self.largest_k is None or self.largest_k >= self.k

    def __bool__(self) -> bool:
        """Return whether k holds."""
        return self.holds

    @property
    def sentence(self) -> str:
        """Return the verdict as a sentence."""
        if self.largest_k is None:
            return said_of(self.beyond, f"{self.k}-anonymity holds. The table has no rows.")
        holds = "holds" if self._hides else "does not hold"
        words = f"{self.k}-anonymity by freeform generalization {holds}: "
        if self.largest_k == 0:
            words += "the published tuples are not those of the original made more general."
        else:
            words += f"every person can be behind {self.tuples:,} published tuples or more, and every tuple have "
            words += f"{self.originals:,} persons or more behind it."
        return said_of(self.beyond, " ".join([words, *(one.sentence for one in self.checked)]))

    def as_dict(self) -> dict[str, Any]:
        """Return the verdict as plain data."""
        return {
            "holds": self.holds,
            "k": self.k,
            "largest_k": self.largest_k,
            "tuples": self.tuples,
            "originals": self.originals,
            "models": [one.as_dict() for one in self.checked],
            "rows": self.rows,
            "seconds": round(self.seconds, 3),
        } | as_data(self.beyond)


def verify_freeform(original: Table, released: Table, k: int, *, behind: Longs | Ints | None = None) -> FreeformVerdict:
    """Check from the two tables alone, in any order of rows, that every original is hidden among k.

    Where its hierarchies are others than those of the original, its values are taken as they stand; UsageError if some
    stand for none that the original has.
    `behind`, the original behind every row of the release, saves looking for a perfect matching; it is checked, and
    makes no difference to what comes out.

    >>> from treeanon.hierarchy import Hierarchy
    >>> hierarchy = Hierarchy.from_paths([["1", "low", "*"], ["2", "low", "*"], ["3", "*"]])
    >>> original, released = (Table.of_texts({"x": (texts, hierarchy)}) for texts in ("123", ["low", "*", "*"]))
    >>> verify_freeform(original, released, 2).sentence
    '2-anonymity by freeform generalization holds: every person can be behind 2 published tuples or more, and every \
tuple have 2 persons or more behind it.'
    """
    begun = time.perf_counter()
    names = [[column.name for column in table.quasi] for table in (original, released)]
    if names[0] != names[1] or not names[0]:
        raise UsageError("a release must have the quasi columns of its original, in their order")
    if any(a.hierarchy != b.hierarchy for a, b in zip(original.quasi, released.quasi, strict=True)):
        # Read from a file, a release has hierarchies of its own values where the schema has builders.
        released, strange = in_terms_of(original, released)
        if strange:
            raise UsageError(f"values that stand for none that the original has are in columns: {', '.join(strange)}")
    if original.persons < len(original):
        raise UsageError("freeform releases are of one row a person")
    if len(original) != len(released):
        return FreeformVerdict(k, len(released), 0, 0, time.perf_counter() - begun)
    ours, our_class = _distinct(original)
    theirs, their_class = _distinct(released)
    pairs = _compatible(original, released, ours, theirs)
    known = None if behind is None else np.stack([their_class, our_class[np.asarray(behind)]])
    counts = np.bincount(their_class, minlength=len(theirs)), np.bincount(our_class, minlength=len(ours))
    tuples, originals = _through_matchings(pairs, counts, known)
    checked = tuple(check_controls(released, their_class))
    return FreeformVerdict(k, len(released), tuples, originals, time.perf_counter() - begun, checked=checked)


def verify_edges(edges: Ints, k: int, *, behind: Ints | None = None) -> FreeformVerdict:
    """Check that a graph hides every original among k: edges[j] are the originals that tuple j covers.

    >>> verify_edges(np.array([[0, 1], [1, 2], [2, 0]], np.int32), 2).holds
    True
    >>> verify_edges(np.array([[0, 1], [0, 1], [1, 2]], np.int32), 2).largest_k
    1
    """
    begun = time.perf_counter()
    rows = len(edges)
    tuples = np.repeat(np.arange(rows), edges.shape[1])
    pairs = np.unique(np.stack([tuples, edges.ravel().astype(np.int64)]), axis=1)
    known = None if behind is None else np.stack([np.arange(rows), behind.astype(np.int64)])
    ones = np.ones(rows, np.int64)
    found = _through_matchings(pairs, (ones, ones), known)
    return FreeformVerdict(k, rows, *found, time.perf_counter() - begun)


def _distinct(table: Table) -> tuple[Ints, Longs]:
    """Return the distinct tuples of a table, as codes, and the tuple of every row."""
    codes = np.stack([column.codes for column in table.quasi], axis=1)
    if not len(codes):
        return codes, np.zeros(0, np.int64)
    known, of = np.unique(codes, axis=0, return_inverse=True)
    return known, of.reshape(-1).astype(np.int64)


def _compatible(original: Table, released: Table, ours: Ints, theirs: Ints) -> Longs:
    """Return the pairs of a published tuple and an original that its values stand for."""
    matrices, numbers = [], []
    for c, (before, after) in enumerate(zip(original.quasi, released.quasi, strict=True)):
        own, of_own = np.unique(ours[:, c], return_inverse=True)
        published, of_published = np.unique(theirs[:, c], return_inverse=True)
        matrices.append(stands_for(before, after, own, published))
        numbers.append((of_own, of_published))
    found = [np.zeros((2, 0), np.int64)]
    for c, value, tuples in _by_rarest(matrices, numbers):
        inside = np.flatnonzero(matrices[c][value][numbers[c][0]])
        for t in tuples.tolist():
            held = inside
            for other, (matrix, (of_own, of_published)) in enumerate(zip(matrices, numbers, strict=True)):
                if other != c:
                    held = held[matrix[of_published[t]][of_own[held]]]
            found.append(np.stack([np.full(len(held), t), held]))
    return np.concatenate(found, axis=1)


def _by_rarest(
    matrices: list[npt.NDArray[np.bool_]], numbers: list[tuple[Longs, Longs]]
) -> Iterator[tuple[int, int, Longs]]:
    """Yield the published tuples by the column, and the value in it, that stands for the fewest originals.

    Only these originals can be behind the tuples, so no others need to be compared.
    """
    fewest = [
        (matrix @ np.bincount(of_own, minlength=matrix.shape[1]))[of_published]
        for matrix, (of_own, of_published) in zip(matrices, numbers, strict=True)
    ]
    rarest = np.stack(fewest).argmin(axis=0)
    for c, (_, of_published) in enumerate(numbers):
        tuples = np.flatnonzero(rarest == c)
        tuples = tuples[np.argsort(of_published[tuples], kind="stable")]
        values, starts = np.unique(of_published[tuples], return_index=True)
        bounds = [*starts.tolist(), len(tuples)]
        for value, (start, end) in zip(values.tolist(), pairwise(bounds), strict=True):
            yield c, value, tuples[start:end]


def _through_matchings(pairs: Longs, counts: tuple[Longs, Longs], known: Longs | None) -> tuple[int | None, int | None]:
    """Return the fewest tuples for an original and originals for a tuple, over the pairs in some perfect matching.

    Both are 0 if there is none. Each number of a pair stands for as many equal tuples or originals as `counts` says.
    `known` are the pairs of a matching, one for every tuple.
    """
    rows = int(counts[0].sum())
    if not rows:
        return None, None
    width = len(counts[1])
    keys = pairs[0] * width + pairs[1]
    found = _flow(pairs, counts) if known is None else known[0] * width + known[1]
    if found is None or not _is_perfect(found, counts):
        return 0, 0
    used = unique_values(found)
    # There are many more pairs than used ones: they are looked up among these, once.
    matched = used[np.minimum(np.searchsorted(used, keys), len(used) - 1)] == keys
    if int(matched.sum()) < len(used):
        return 0, 0
    part = _parts(pairs, np.stack([used // width, used % width]), counts)
    tuples, originals = len(counts[0]), width
    kept = (part[pairs[0]] == part[tuples + pairs[1]]) | matched
    of_originals = np.bincount(pairs[1][kept], counts[0][pairs[0][kept]], originals)
    of_tuples = np.bincount(pairs[0][kept], counts[1][pairs[1][kept]], tuples)
    return int(of_originals.min()), int(of_tuples.min())


def _is_perfect(used: Longs, counts: tuple[Longs, Longs]) -> bool:
    """Return whether the pairs give every tuple an original of its own."""
    width = len(counts[1])
    tuples, originals = np.bincount(used // width, minlength=len(counts[0])), np.bincount(used % width, minlength=width)
    return bool(np.array_equal(tuples, counts[0]) and np.array_equal(originals, counts[1]))


def _flow(pairs: Longs, counts: tuple[Longs, Longs]) -> Longs | None:
    """Return a perfect matching as pairs, tuple · originals + original, with repetition; None if there is none."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    tuples, originals = len(counts[0]), len(counts[1])
    source, sink = tuples + originals, tuples + originals + 1
    most = np.minimum(counts[0][pairs[0]], counts[1][pairs[1]])
    start = np.concatenate([np.full(tuples, source), pairs[0], tuples + np.arange(originals)])
    stop = np.concatenate([np.arange(tuples), tuples + pairs[1], np.full(originals, sink)])
    room = np.concatenate([counts[0], most, counts[1]]).astype(np.int32)
    found = maximum_flow(csr_array((room, (start, stop)), shape=(sink + 1, sink + 1)), source, sink)
    if found.flow_value < counts[0].sum():
        return None
    flow = found.flow.tocoo()
    inner = (flow.data > 0) & (flow.row < tuples)
    keys: Longs = flow.row[inner].astype(np.int64) * originals + (flow.col[inner] - tuples)
    return np.repeat(keys, flow.data[inner])


def _parts(pairs: Longs, used: Longs, counts: tuple[Longs, Longs]) -> Ints:
    """Return the strongly connected component of every tuple and, after these, of every original.

    Edges lead from a tuple to all originals that it fits, and from an original to the tuples that it is behind.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    tuples, size = len(counts[0]), len(counts[0]) + len(counts[1])
    start, stop = np.append(pairs[0], tuples + used[1]), np.append(tuples + pairs[1], used[0])
    edges = csr_array((np.ones(len(start), np.int8), (start, stop)), shape=(size, size))
    found: Ints = connected_components(edges, directed=True, connection="strong")[1]
    return found
