"""Synthetic tables: a census, and the table of 1D §7.2 with a given correlation.

Values are drawn at random, for each row from the distribution of its kind.

The census has the columns of Table II of 1D, with their numbers of values and heights of taxonomies.

Age 79 and education 17 values, both numbers; gender 2, marital status 6 (in 2 groups), race 9, work class 10 (in two
levels of groups), country 83 (in 8 regions); occupation 50 and salary class 50, which are sensitive. The values are
synthetic, but depend on each other as real ones do: marital status and education by age, race by country, work
class by age and schooling, occupation by gender and schooling, salary by all of these. No occupation and no salary
class is frequent enough to rule out a diversity of 13.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Floats, Longs
from treeanon.errors import UsageError
from treeanon.hierarchy import Hierarchy, Intervals
from treeanon.schema.model import ClassSpec, Role
from treeanon.schema.paths import parse_column
from treeanon.table import Column, Table


def drawn(rng: np.random.Generator, kind: Longs, weights: Floats) -> Longs:
    """Return a value for every row: for kind i, the probability of value v is proportional to weights[i, v].

    >>> drawn(np.random.default_rng(1), np.array([0, 1, 1]), np.array([[0, 1, 0], [3.0, 0, 0]])).tolist()
    [1, 0, 0]
    """
    kinds, values = weights.shape
    until = np.cumsum(weights, axis=1)
    until /= until[:, -1:]
    # Shares of kind i lie between i and i + 1, so one search finds the values of all rows.
    line = (until + np.arange(kinds)[:, None]).ravel()
    line[values - 1 :: values] = np.arange(1, kinds + 1)
    found = np.searchsorted(line, kind + rng.random(len(kind)), side="right") - kind * values
    return np.asarray(np.clip(found, 0, values - 1), np.int64)


def bell(center: npt.ArrayLike, width: float, values: int, floor: float = 0.0) -> Floats:
    """Return for each center the weights of the values 0, 1, …: high near it, and nowhere below the floor.

    >>> bell([0, 2], 1.0, 3, 0.1).round(2).tolist()
    [[1.1, 0.71, 0.24], [0.24, 0.71, 1.1]]
    """
    away = (np.arange(values)[None, :] - np.asarray(center, np.float64)[:, None]) / width
    return np.asarray(np.exp(-(away**2) / 2) + floor)


def number_column(name: str, first: int, values: Longs, size: int, widths: Sequence[int]) -> Column:
    """Return a quasi-identifier with `size` integers from `first`; `values` counts from 0.

    >>> column = number_column("age", 17, np.array([0, 2]), 4, (2,))
    >>> column.texts(), column.hierarchy.leaf_count[0].item()
    (['17', '19'], 4)
    """
    built = Intervals(tuple(widths), min=first, max=first + size - 1)
    texts = [str(first + value) for value in range(size)]
    hierarchy = built.build(texts)
    source = {"intervals": list(widths), "min": first, "max": first + size - 1}
    spec = ClassSpec(name, parse_column(name), type="integer", hierarchy=built, hierarchy_source=source)
    return Column(spec, hierarchy, hierarchy.encode(texts)[values])


def word_column(name: str, paths: Mapping[str, Sequence[str]], values: Longs, role: Role = "quasi") -> Column:
    """Return a column of words, given by `paths` in the order of `values`, each with its ancestors up to the root.

    >>> column = word_column("sex", {"f": ["*"], "m": ["*"]}, np.array([1, 1]))
    >>> column.texts(), column.spec.hierarchy_source
    (['m', 'm'], 'hierarchies/sex.csv')
    """
    hierarchy = Hierarchy.from_paths([[word, *above] for word, above in paths.items()])
    spec = ClassSpec(
        name, parse_column(name), role=role, hierarchy=hierarchy, hierarchy_source=f"hierarchies/{name}.csv"
    )
    return Column(spec, hierarchy, hierarchy.encode(paths)[values])


SENSITIVE = ("occupation", "salary_class")
"""The sensitive columns."""

_AGES, _EDUCATIONS, _COUNTRIES, _REGIONS, _CLASSES = 79, 17, 83, 8, 50
_HOME = 4
_REGION = np.arange(_COUNTRIES) * _REGIONS // _COUNTRIES
_MARITAL = {
    "married, together": ["married", "*"],
    "married, apart": ["married", "*"],
    "never married": ["single", "*"],
    "divorced": ["single", "*"],
    "separated": ["single", "*"],
    "widowed": ["single", "*"],
}
_WORK = {
    "private company": ["private", "working", "*"],
    "private charity": ["private", "working", "*"],
    "federal government": ["government", "working", "*"],
    "state government": ["government", "working", "*"],
    "local government": ["government", "working", "*"],
    "own company": ["self-employed", "working", "*"],
    "own account": ["self-employed", "working", "*"],
    "unpaid": ["not paid", "*"],
    "unemployed": ["not paid", "*"],
    "never worked": ["not paid", "*"],
}


def census(rows: int, seed: int = 0, *, sensitive: str | None = SENSITIVE[0], quasi: int = 7) -> Table:
    """Return a synthetic census with a number of persons, the first `quasi` of seven quasi-identifiers, and a sensitive
    column.

    sensitive=None includes both sensitive columns. The same seed returns the same table.

    >>> table = census(1000, seed=1)
    >>> [column.name for column in table.columns]
    ['age', 'gender', 'education', 'marital', 'race', 'work_class', 'country', 'occupation']
    >>> [int(column.hierarchy.leaf_count[0]) for column in table.columns]
    [79, 2, 17, 6, 9, 10, 83, 50]
    """
    if sensitive is not None and sensitive not in SENSITIVE:
        raise UsageError(f"unknown sensitive column {sensitive!r}; choose from {', '.join(SENSITIVE)}")
    columns = _columns(_values(rows, np.random.default_rng(seed)))
    if not 1 <= quasi <= len(columns) - len(SENSITIVE):
        raise UsageError(f"the census has 1 to {len(columns) - len(SENSITIVE)} quasi-identifiers")
    secret = [column for column in columns[-len(SENSITIVE) :] if sensitive in (None, column.name)]
    return Table((*columns[:quasi], *secret))


def _values(rows: int, rng: np.random.Generator) -> dict[str, Longs]:
    """Return the values of every column, counted from 0, drawn in a fixed order."""
    nobody = np.zeros(rows, np.int64)
    ages = np.minimum(1.0, np.exp((45 - np.arange(_AGES)) / 14))[None, :]
    age = drawn(rng, nobody, ages)
    decade = age // 8
    gender = drawn(rng, nobody, np.array([[0.51, 0.49]]))
    education = drawn(rng, decade, _educations_by_decade())
    country = drawn(rng, nobody, _countries())
    race = drawn(rng, _REGION[country], _races())
    marital = drawn(rng, decade, _marital_by_decade())
    work = drawn(rng, decade * 3 + education // 6, _work_by_decade_and_school())
    schooling = np.repeat(np.arange(_EDUCATIONS), 2) * 2.6 + np.tile([0, 7], _EDUCATIONS)
    occupation = drawn(rng, education * 2 + gender, bell(schooling, 9.0, _CLASSES, 0.15))
    paid = np.clip(education * 0.7 + occupation * 0.6 + 6 * np.sin(decade / 3) - 4 * gender, 0, _CLASSES - 1)
    salary = drawn(rng, paid.astype(np.int64), bell(np.arange(_CLASSES), 8.0, _CLASSES, 0.15))
    return {
        "age": age, "gender": gender, "education": education, "marital": marital, "race": race, "work_class": work,
        "country": country, "occupation": occupation, "salary_class": salary,
    }  # fmt: skip


def _columns(values: Mapping[str, Longs]) -> list[Column]:
    countries = {f"country {i + 1:02}": [f"region {_REGION[i] + 1}", "*"] for i in range(_COUNTRIES)}
    words: dict[str, Mapping[str, Sequence[str]]] = {
        "gender": {"female": ["*"], "male": ["*"]},
        "marital": _MARITAL,
        "race": {f"race {i + 1}": ["*"] for i in range(9)},
        "work_class": _WORK,
        "country": countries,
        "occupation": {f"occupation {i + 1:02}": ["*"] for i in range(_CLASSES)},
        "salary_class": {f"salary class {i + 1:02}": ["*"] for i in range(_CLASSES)},
    }
    numbers = {"age": (17, _AGES, (5, 10, 20, 40)), "education": (1, _EDUCATIONS, (2, 4, 8))}
    made = []
    for name, own in values.items():
        if name in numbers:
            first, size, widths = numbers[name]
            made.append(number_column(name, first, own, size, widths))
        else:
            made.append(word_column(name, words[name], own, "sensitive" if name in SENSITIVE else "quasi"))
    return made


def _countries() -> Floats:
    """Return the weights of countries: one with nine of ten persons, the others increasingly rare."""
    shares = 1 / np.arange(1, _COUNTRIES + 1)
    shares[_HOME] = 9 * (shares.sum() - shares[_HOME])
    return shares[None, :]


def _races() -> Floats:
    """Return the weights of races by region: one is frequent, another one not rare."""
    shares = np.full((_REGIONS, 9), 0.01)
    shares[np.arange(_REGIONS), np.arange(_REGIONS)] = 1.0
    shares[np.arange(_REGIONS), (np.arange(_REGIONS) + 3) % 9] = 0.1
    return shares


def _educations_by_decade() -> Floats:
    """Return the weights of education by decade of age: less for older persons, peaks at 9, 10 and 13 of 17 years."""
    exits = np.full(_EDUCATIONS, 0.25)
    exits[[8, 9, 12]] = 2.0, 1.5, 2.0
    return np.asarray(bell(11.0 - 0.4 * np.arange(10), 2.5, _EDUCATIONS, 0.02) * exits)


def _marital_by_decade() -> Floats:
    """Return the weights of marital status by decade of age: from never married to widowed."""
    shares = [
        bell([4.0], 2.5, 10)[0] * 6,
        np.full(10, 0.3),
        8 * np.exp(-np.arange(10) / 1.5),
        1.5 * bell([5], 2, 10)[0],
    ]
    shares += [0.5 * bell([3], 2, 10)[0], 0.02 * np.exp(np.arange(10) / 1.4)]
    return np.stack(shares, axis=1) + 0.01


def _work_by_decade_and_school() -> Floats:
    """Return the weights of work classes by decade of age and third of education."""
    decade, school = np.repeat(np.arange(10), 3), np.tile([0, 1, 2], 10)
    works = np.exp(-(((decade - 3.5) / 3.0) ** 2))
    shares = [9 * works, 0.4 * works, 0.1 + 0.1 * school, 0.1 + 0.2 * school, 0.2 + 0.3 * school, 0.2 * works]
    shares += [0.4 * works * (1 + (school == 0)), 0.03 + 0 * decade, 0.3 * np.exp(-school), np.exp(-decade * 1.2)]
    return np.stack([np.broadcast_to(share, decade.shape) for share in shares], axis=1) + 0.003


FACTORS = (1, 3, 7, 9)
"""The β of 1D §7.2, which the paper does not give: ours are odd, so that every number of a row changes the sum."""

_DIGITS = 10


def synthetic(rows: int, seed: int = 0, *, correlation: float = 0.5, quasi: int = len(FACTORS)) -> Table:
    """Return the table of 1D §7.2: A1 to A4 are even in 0 to 9, of which the first `quasi` are kept; S is sensitive.

    With chance `correlation` (the paper's α) the S of a row is (Σ β_j A_j) mod 10, with the β of `FACTORS`; else it is
    even in 0 to 9. So the distribution of each column alone is the same for all correlations.

    >>> table = synthetic(500, correlation=1)
    >>> [column.name for column in table.columns]
    ['A1', 'A2', 'A3', 'A4', 'S']
    >>> all((int(a) + 3 * int(b) + 7 * int(c) + 9 * int(d)) % 10 == int(s) for a, b, c, d, s in table.rows())
    True
    """
    if not 0 <= correlation <= 1:
        raise UsageError("correlation must be from 0 to 1")
    if not 1 <= quasi <= len(FACTORS):
        raise UsageError(f"the synthetic table has 1 to {len(FACTORS)} quasi-identifiers")
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, _DIGITS, (rows, len(FACTORS)))
    own = numbers @ np.array(FACTORS) % _DIGITS
    secret = np.where(rng.random(rows) < correlation, own, rng.integers(0, _DIGITS, rows))
    columns = [number_column(f"A{j + 1}", 0, numbers[:, j], _DIGITS, (5,)) for j in range(quasi)]
    return Table((*columns, word_column("S", {str(digit): ["*"] for digit in range(_DIGITS)}, secret, "sensitive")))
