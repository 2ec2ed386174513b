"""Who can be singled out in a collection, as data: class names and numbers, never a value.

Confidence bounds of shares of a sample.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from treeanon.shown import Grid, Shown, Summary, counted, percent

Exactness = Literal["exact", "sampled"]

MOST_COMBINATIONS = 100
"""Number of combinations reported, the most dangerous ones."""


@dataclass(frozen=True)
class Share:
    """Share of the persons: `persons` of the `of` examined, with bounds `low` and `high`.

    Where all persons were examined and decided, `low` and `high` are the share itself. Else they are the bounds that
    hold with 95 % confidence (Clopper and Pearson), a person who could not be decided counted once as not singled out
    and once as singled out.

    >>> Share(1, 4, 0.25, 0.25).share
    0.25
    """

    persons: int
    of: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """Return the share of the persons examined."""
        return self.persons / self.of if self.of else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain data."""
        return {"persons": self.persons, "of": self.of, "share": self.share, "low": self.low, "high": self.high}


@dataclass(frozen=True)
class Combination:
    """Classes that are dangerous when known together, with `relations` as (upper, lower) pairs of them.

    Where objects stay whole, a relation is of two classes and the type of the object that holds both.

    `persons`, of those looked at, are singled out by values of these classes, so related, and by no part of that.
    """

    classes: tuple[str, ...]
    relations: tuple[tuple[str, ...], ...]
    persons: int
    share: float

    @property
    def text(self) -> str:
        """Return the combination in words.

        >>> Combination(("hospital", "disease"), (("hospital", "disease"),), 3, 0.3).text
        'hospital + disease with hospital ⇝ disease'
        """
        related = ", ".join(
            f"{upper} and {lower} in one {home[0]}" if home else f"{upper} ⇝ {lower}"
            for upper, lower, *home in self.relations
        )
        return " + ".join(self.classes) + (f" with {related}" if related else "")


@dataclass(frozen=True)
class Uniqueness:
    """How many of a population of so many persons are estimated to be unique in it, of whom the rows are a sample.

    By each estimator, and by the rule of Dankar et al. which of them to take; None where it has no solution. See
    `treeanon.privacy.uniqueness`.
    """

    population: int
    dankar: float | None
    pitman: float | None
    zayatz: float | None
    snb: float | None


@dataclass(frozen=True)
class RowRisk:
    """Risks of rows against an attacker who knows all quasi columns; `groups` are of rows that look alike.

    `smallest` is the k of the file. A person in a group of f persons, of whom the population has F, is found by a
    prosecutor (who knows that the person is in the file) with chance 1/f, by a journalist (who does not) with 1/F:
    `prosecutor` and `journalist` are the largest of these. `marketer` is the share of all persons that is found by
    guessing for all: the mean of 1/f, or of 1/F where the population is known. Without a population `journalist` is
    None: it is at most `prosecutor`. `absent` counts persons like whom the population has nobody, for whom F is f.
    `uniqueness` is estimated from the sizes of groups where the size of the population is known.
    """

    groups: int
    smallest: int
    below_k: Share
    unique: Share
    prosecutor: float
    journalist: float | None
    marketer: float
    population: int | None = None
    absent: int = 0
    uniqueness: Uniqueness | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain data."""
        return asdict(self) | {"below_k": self.below_k.as_dict(), "unique": self.unique.as_dict()}


@dataclass(frozen=True, repr=False)
class Risk(Shown):
    """Risk of being singled out by an attacker's knowledge, in trees or in a table.

    `below_k[i][j]` is the share of persons for whom there are 1 to i + 1 labels and up to j relations between them that
    they share with fewer than k persons, themselves counted; `unique` is the same for k = 2: nobody else. In a table
    labels are values of quasi columns and there are no relations: j is 0 alone. `combinations` come the most dangerous
    first. `decided` of the `persons` were looked at, against all records: all of them where `exactness` is "exact".
    `whole` is of tables: all quasi columns are known. `m` and `n` are the largest looked at: `m` may be less than was
    asked for where there was no time for more. `largest_l` has, for every sensitive class, the largest l for which no
    value is held by more than 1/l of the persons of any group that an attacker can form: in trees by up to 2 labels and
    1 relation, in tables by all quasi columns (None: nobody has a value).

    >>> cell = Share(1, 2, 0.5, 0.5)
    >>> risk = Risk("trees", 5, 1, 0, 2, 2, "exact", ((cell,),), ((cell,),), ())
    >>> risk.at(1, 0).share, risk.as_dict()["below_k"]
    (0.5, [{'m': 1, 'n': 0, 'persons': 1, 'of': 2, 'share': 0.5, 'low': 0.5, 'high': 0.5}])
    """

    kind: Literal["trees", "table"]
    k: int
    m: int
    n: int
    persons: int
    decided: int
    exactness: Exactness
    below_k: tuple[tuple[Share, ...], ...]
    unique: tuple[tuple[Share, ...], ...]
    combinations: tuple[Combination, ...]
    whole: RowRisk | None = None
    seconds: float = 0.0
    largest_l: Mapping[str, int | None] = field(default_factory=dict)

    def _summary(self) -> Summary:
        thing = "value" if self.kind == "trees" else "column"
        rows = [
            [counted(m, thing), *(percent(cell.share) for cell in row)] for m, row in enumerate(self.below_k, start=1)
        ]
        heads = ["Known", *(counted(n, "relation") if n else "no relation" for n in range(self.n + 1))]
        worst = percent(self.below_k[-1][-1].share)
        line = f"{self.kind}, {counted(self.persons, 'person')}; {worst} among fewer than {self.k} by what is known"
        facts: list[tuple[str, object]] = [("examined", f"{self.decided:,} ({self.exactness})")]
        if self.whole is not None:
            facts += [("smallest group", self.whole.smallest), ("prosecutor risk", percent(self.whole.prosecutor))]
            facts += [("marketer risk", percent(self.whole.marketer))]
        combinations = [[one.text, one.persons, percent(one.share)] for one in self.combinations[:10]]
        grids = [Grid(f"Singled out among fewer than {self.k}", heads, rows)]
        if combinations:
            grids.append(Grid("Minimal combinations that single out", ["Classes", "Persons", "Share"], combinations))
        return Summary("Risk", line, facts, grids)

    def at(self, m: int, n: int = 0) -> Share:
        """Return the share of persons that up to m labels and n relations single out."""
        return self.below_k[m - 1][n]

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain data, as `--json` has it."""
        plain: Mapping[str, Any] = {
            "kind": self.kind,
            "k": self.k,
            "m": self.m,
            "n": self.n,
            "persons": self.persons,
            "decided": self.decided,
            "exactness": self.exactness,
            "below_k": _cells(self.below_k),
            "unique": _cells(self.unique),
            "combinations": [asdict(combination) for combination in self.combinations],
            "largest_l": dict(self.largest_l),
            "seconds": self.seconds,
        }
        return {**plain, "all_columns": self.whole.as_dict()} if self.whole is not None else dict(plain)


def _cells(shares: tuple[tuple[Share, ...], ...]) -> list[dict[str, Any]]:
    return [{"m": m, "n": n, **share.as_dict()} for m, row in enumerate(shares, start=1) for n, share in enumerate(row)]


CONFIDENCE = 0.95


def share_of(persons: int, of: int, undecided: int = 0, *, sampled: bool) -> Share:
    """Return the share of persons with its bounds, when `undecided` others are left open.

    Of a uniform sample the bounds are those of Clopper and Pearson, which hold with at least 95 % confidence for any
    share and any size of the sample.

    >>> share_of(5, 10, 1, sampled=False)
    Share(persons=5, of=10, low=0.5, high=0.6)
    >>> nobody = share_of(0, 100, sampled=True)
    >>> nobody.low, round(nobody.high, 4)
    (0.0, 0.0362)
    """
    if not of:
        return Share(0, 0, 0.0, 0.0)
    most = persons + undecided
    if not sampled:
        return Share(persons, of, persons / of, most / of)
    # Not at the top: scipy is slow to load, and no other risk needs it.
    from scipy.special import betaincinv

    tail = (1 - CONFIDENCE) / 2
    low = float(betaincinv(persons, of - persons + 1, tail)) if persons else 0.0
    high = float(betaincinv(most + 1, of - most, 1 - tail)) if most < of else 1.0
    return Share(persons, of, low, high)
