"""Who can be singled out in trees: each person is decided exactly, against all records.

What m means on these data: whom one more known value than the guarantee covers singles out.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Ints, Longs, unique_values
from treeanon.errors import UsageError
from treeanon.forest import Forest
from treeanon.forest.classes import STAR
from treeanon.kernels import risk as kernels
from treeanon.kernels.verify.knowledge import holders_of
from treeanon.privacy.guarantee import Guarantee, roles_of
from treeanon.progress import Progress
from treeanon.risks.model import MOST_COMBINATIONS, Combination, Risk, Share, share_of
from treeanon.verifier.tree import verify
from treeanon.verifier.tree_knowledge import Rows, rows_of, with_traces
from treeanon.verifier.verdict import in_parts

MOST_LABELS = kernels.MOST
MOST_RELATIONS = MOST_LABELS * (MOST_LABELS - 1) // 2
LEAST_SAMPLE = 100

_MOST_SETS = 4_000_000
_PILOT = 200
_PILOT_SHARE = 0.1
_STEP = 8
_LARGE = 4096
"""Rows of whom a part is looked at first."""

Sizes = npt.NDArray[np.float64]


def risk_of_trees(
    forest: Forest,
    *,
    k: int = 5,
    m: int = 4,
    n: int = 3,
    seconds: float | None = 30.0,
    sample: int | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Risk:
    """Return the share of persons that up to m labels and n relations single out from fewer than k.

    The attacker is the guarantee's own (independent); the labels are those of classes with role quasi, and traces of
    moved nodes count as relations. Where objects lie in objects, so many relations are possible that larger sets of
    labels are not looked at: the shares then say how many persons are undecided. All persons are decided if that fits
    into `seconds` (None: however long it takes), else a uniform sample whose size a pilot has found, at least a
    hundred, or `sample` if given. Everyone looked at is compared with *all* records. `seed` repeats a sample.

    >>> import treeanon as ta
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "trees"\\n[[class]]\\nname = "disease"')
    >>> flu, acne = ["disease", "flu", []], ["disease", "acne", []]
    >>> risk = risk_of_trees(ta.Forest.from_records(schema, [[flu], [flu], [flu, acne]]), k=2, m=2, n=0)
    >>> risk.at(1).share, risk.combinations
    (0.3333333333333333, (Combination(classes=('disease',), relations=(), persons=1, share=0.3333333333333333),))
    """
    _refuse(k, m, n, seconds, sample)
    begun = time.perf_counter()
    forest = with_traces(forest)
    decider = _Decider.of(forest, k, m, n)
    found = _look_at(decider, len(forest), seconds, sample, seed, jobs, progress)
    below_k, unique = found.cells(found.level, m), found.cells(found.single, m)
    return Risk(
        "trees",
        k,
        m,
        n,
        len(forest),
        found.persons,
        "sampled" if found.sampled else "exact",
        below_k,
        unique,
        _combinations(forest, found.tables, found.persons),
        largest_l=_largest_l(forest, min(m, 2), min(n, 1), jobs),
        seconds=time.perf_counter() - begun,
    )


def pointed_to(forest: Forest, guarantee: Guarantee, jobs: int | None = None) -> Share:
    """Return the share of persons of a release as published to whom traces of moved nodes point.

    For them fewer than k records are left to whoever knows up to m labels and n relations of the original.
    """
    m, n = min(guarantee.m, MOST_LABELS), min(guarantee.n, MOST_RELATIONS)
    return risk_of_trees(forest, k=max(guarantee.k, 2), m=m, n=n, jobs=jobs).at(m, n)


def _largest_l(forest: Forest, m: int, n: int, jobs: int | None) -> dict[str, int | None]:
    """Return the largest l of every sensitive class, over all groups that so much knowledge of a traced forest can
    form.
    """
    if not any(spec.role == "sensitive" for spec in forest.schema.classes if spec.name in forest.classes.names):
        return {}
    verdict = verify(forest, Guarantee(1, m, n, l=2, as_published=True), patterns=False, jobs=jobs)
    return {found.sensitive: found.largest_l for found in verdict.diversity}


def _refuse(k: int, m: int, n: int, seconds: float | None, sample: int | None) -> None:
    if k < 2:
        raise UsageError("k must be at least 2: nobody is behind what fewer than one person has")
    if not 1 <= m <= MOST_LABELS or not 0 <= n <= MOST_RELATIONS:
        raise UsageError(f"risks are counted for m from 1 to {MOST_LABELS} and n from 0 to {MOST_RELATIONS}")
    if (seconds is not None and seconds <= 0) or (sample is not None and sample < 1):
        raise UsageError("the time must be more than no seconds, and a sample at least one person")


@dataclass(frozen=True, eq=False)
class _Decider:
    """Rows of a forest with the indexes and limits that deciding any of them needs."""

    rows: Rows
    columns: kernels.Rows
    holders: kernels.Holders
    deepest: Ints
    told: Ints
    sets: Sizes
    n: int
    k: int
    enough: bool

    @classmethod
    def of(cls, forest: Forest, k: int, m: int, n: int, *, enough: bool = False) -> _Decider:
        """Return what decides the persons of a forest; with `enough` only whether m labels single each out."""
        asked = Guarantee(k, m, n)
        rows = rows_of(forest, asked, roles_of(forest, asked), apart=False)
        begin, holder, _, _ = holders_of(rows.start, rows.item, rows.items, 1)
        most = max(size for size in (2, *range(2, m + 1)) if size < 3 or _bits(rows.kinds, size) <= kernels.MOST_BITS)
        deepest, sets = _deepest(rows.known, min(m, most))
        # Nobody has larger sets of labels than of all that are held.
        told = np.where((rows.known <= deepest) & (deepest < m), m, deepest).astype(np.int32)
        columns = (rows.start, rows.item, rows.known, rows.rel_start, rows.rel, rows.weight)
        return cls(rows, columns, (begin, holder), deepest, told, sets, n, k, enough)

    def decide(self, rows: Longs, times: Longs) -> tuple[Ints, Ints, Longs]:
        """Return the kernel's decisions for these rows, each standing for some persons."""
        return kernels.decide(
            self.columns,
            self.holders,
            self.rows.group,
            rows.astype(np.int32),
            times.astype(np.int32),
            self.deepest[rows],
            self.n,
            self.k,
            self.rows.kinds,
            _LARGE,
            self.enough,
        )


def _bits(kinds: int, size: int) -> int:
    """Return how many relations a set of labels of a size can have."""
    return kinds * (size * (size - 1) // 2)


def _deepest(known: Ints, m: int) -> tuple[Ints, Sizes]:
    """Return, for every row, the largest feasible label set, and the number of sets up to that size."""
    labels = known.astype(np.float64)
    deepest = np.ones(len(known), np.int32)
    sets, of_size = labels.copy(), labels.copy()
    for size in range(2, m + 1):
        of_size = np.maximum(of_size * (labels - size + 1) / size, 0)
        fits = (deepest == size - 1) & (sets + of_size <= _MOST_SETS)
        deepest[fits] = size
        sets[fits] += of_size[fits]
    return deepest, sets


def _chosen(
    decider: _Decider, persons: int, seconds: float | None, sample: int | None, seed: int | None, jobs: int
) -> Longs | None:
    """Return the row of every person drawn, in random order; None for all persons.

    Where the time decides, a pilot measures what a person takes. Its persons are no part of the sample, whose size so
    depends on nothing that it is to tell.
    """
    if not persons or (sample is None and seconds is None) or (sample is not None and sample >= persons):
        return None
    order = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(decider.rows)), decider.rows.weight))
    if sample is not None or seconds is None:
        return order[:sample]
    tried, fit = _pilot(decider, order, seconds, jobs)
    # Rows that are alike are decided once.
    if fit >= len(decider.rows) or tried + max(fit, LEAST_SAMPLE) >= persons:
        return None
    return order[tried : tried + max(fit, LEAST_SAMPLE)]


def _pilot(decider: _Decider, order: Longs, seconds: float, jobs: int) -> tuple[int, int]:
    """Return how many rows were tried, and how many more of the kind fit into the time."""
    once = np.ones(len(order), np.int64)
    decider.decide(order[:1], once[:1])  # the first call waits for the compiler
    begun, tried, spent = time.perf_counter(), 0, 0.0
    while tried < min(_PILOT * jobs, len(order)) and spent < _PILOT_SHARE * seconds:
        # Of large data a person may take as long as the pilot may.
        part = order[tried : tried + (_STEP if tried else 1) * jobs]
        _decided(decider, part, once[: len(part)], jobs, None)
        tried += len(part)
        spent = time.perf_counter() - begun
    return tried, int((seconds - spent) * tried / spent)


@dataclass(frozen=True, eq=False)
class _DecidedRows:
    """Decisions for rows: the kernel's levels, the persons of each row, and the patterns."""

    level: Ints
    single: Ints
    times: Longs
    deepest: Ints
    tables: list[Longs]
    sampled: bool = False

    @property
    def persons(self) -> int:
        """Return how many persons were decided."""
        return int(self.times.sum())

    def cells(self, levels: Ints, m: int) -> tuple[tuple[Share, ...], ...]:
        """Return the shares by m and n."""
        out = []
        for size in range(1, m + 1):
            row = []
            for level in levels.T:
                singled = int(self.times[level <= size].sum())
                open_still = int(self.times[(level > size) & (self.deepest < size)].sum())
                row.append(share_of(singled, self.persons, open_still, sampled=self.sampled))
            out.append(tuple(row))
        return tuple(out)


def _look_at(
    decider: _Decider,
    persons: int,
    seconds: float | None,
    sample: int | None,
    seed: int | None,
    jobs: int | None,
    progress: Progress | None,
) -> _DecidedRows:
    """Return the decisions for all persons, or for a sample of them."""
    jobs = jobs or os.cpu_count() or 1
    drawn = _chosen(decider, persons, seconds, sample, seed, jobs)
    rows = np.arange(len(decider.rows), dtype=np.int64) if drawn is None else unique_values(drawn)
    weight = decider.rows.weight.astype(np.int64)
    times = weight if drawn is None else np.bincount(drawn, minlength=len(decider.rows))[rows]
    return replace(_decided(decider, rows, times, jobs, progress), sampled=drawn is not None)


def _decided(decider: _Decider, rows: Longs, times: Longs, jobs: int, progress: Progress | None) -> _DecidedRows:
    parts = in_parts(
        lambda part: (part, *decider.decide(rows[part], times[part])), decider.sets[rows] + 1.0, jobs, progress
    )
    empty = np.zeros((0, decider.n + 1), np.int32)
    order = np.concatenate([np.zeros(0, np.int64), *(part[0] for part in parts)]).astype(np.int64)
    return _DecidedRows(
        np.concatenate([empty, *(part[1] for part in parts)]),
        np.concatenate([empty, *(part[2] for part in parts)]),
        times[order],
        decider.told[rows[order]],
        [part[3] for part in parts],
    )


def _combinations(forest: Forest, tables: list[Longs], decided: int) -> tuple[Combination, ...]:
    """Return the patterns that single out the most persons, the smallest ones first among equals."""
    names = (STAR, *forest.classes.names)
    types = forest.classes.types
    counts: Counter[tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]] = Counter()
    for table in tables:
        for a, b, persons, _ in table[table[:, 0] != 0].tolist():
            groups = list(_parts(a, 16))
            classes = tuple(names[group - 1] for group in groups)
            pairs = tuple(
                (
                    classes[(pair >> 2) & 3],
                    classes[pair & 3],
                    *((_type(forest, groups[(pair >> 2) & 3], pair >> 4),) if types else ()),
                )
                for pair in (digit - 1 for digit in _parts(b, 8))
            )
            counts[classes, pairs] += persons
    order = sorted(counts, key=lambda found: (-counts[found], len(found[0]), len(found[1]), found))
    return tuple(
        Combination(classes, pairs, counts[classes, pairs], counts[classes, pairs] / decided)
        for classes, pairs in order[:MOST_COMBINATIONS]
    )


def _type(forest: Forest, group: int, kind: int) -> str:
    """Return the type of the objects that a relation of a class, counted as in a line of the table, speaks of."""
    return forest.classes.names[forest.classes.type_of(group - 2, kind)]


def _parts(number: int, bits: int) -> Iterator[int]:
    """Yield the `bits`-bit digits of a number, the lowest first, up to the last that is not 0."""
    while number:
        yield number & ((1 << bits) - 1)
        number >>= bits


SECONDS = 2.0
"""Time after which a sample of the persons is examined."""


@dataclass(frozen=True)
class OneMore:
    """The share of persons of a release for whom m values, one more than its guarantee covers, fit fewer than k.

    >>> OneMore(5, 3, 1, 429, Share(84, 429, 84 / 429, 84 / 429)).sentence
    'One value more than the guarantee covers (3 values and up to 1 relation) fits fewer than 5 persons for 19.6 % of \
the 429 persons.'
    """

    k: int
    m: int
    n: int
    persons: int
    share: Share

    @property
    def sentence(self) -> str:
        """Return the share in words."""
        related = f" and up to {self.n} relation{'s' if self.n != 1 else ''}" if self.n else ""
        lead = f"One value more than the guarantee covers ({self.m} values{related}) fits fewer than {self.k} persons"
        if self.share.of == self.persons and self.share.low == self.share.high:
            if not self.share.persons:
                return f"{lead} for nobody."
            return f"{lead} for {percent_of(self.share.share)} of the {self.persons:,} persons."
        bounds = f"{percent_of(self.share.low)} to {percent_of(self.share.high)}"
        return (
            f"{lead} for {bounds} of the {self.persons:,} persons ({self.share.of:,} examined, with 95 % confidence)."
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain data."""
        return {"k": self.k, "m": self.m, "n": self.n, **self.share.as_dict()}


def percent_of(share: float) -> str:
    """Return a share in percent, never rounded to nothing or to all.

    >>> percent_of(0.5), percent_of(0.00001), percent_of(0.99999)
    ('50.0 %', '< 0.1 %', '> 99.9 %')
    """
    if 0 < share < 0.001:
        return "< 0.1 %"
    return "> 99.9 %" if 0.999 < share < 1 else f"{100 * share:.1f} %"


def one_more(forest: Forest, guarantee: Guarantee, *, jobs: int | None = None) -> OneMore | None:
    """Return whom one more known value singles out in a release; None where k or m leave nothing to be told.

    >>> import treeanon as ta
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "trees"\\n[[class]]\\nname = "illness"')
    >>> flu, acne = ["illness", "flu", []], ["illness", "acne", []]
    >>> forest = ta.Forest.from_records(schema, [[flu, acne], [flu], [flu], [acne], [acne]])
    >>> found = one_more(forest, Guarantee(2, m=1, n=0))
    >>> (found.m, found.share.persons, found.share.of) if found else None
    (2, 1, 5)
    """
    m, n = guarantee.m + 1, min(guarantee.n, MOST_RELATIONS)
    if guarantee.k < 2 or m > MOST_LABELS:
        return None
    decider = _Decider.of(with_traces(forest), guarantee.k, m, n, enough=True)
    found = _look_at(decider, len(forest), SECONDS, None, None, jobs, None)
    return OneMore(guarantee.k, m, n, len(forest), found.cells(found.level, m)[m - 1][n])
