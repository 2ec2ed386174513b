"""Invented columns: values drawn at random, each row's from the shares that hold for its kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from treeanon.hierarchy import Hierarchy, Intervals
from treeanon.kernels.tree.forest import Longs
from treeanon.schema.model import ClassSpec, Role
from treeanon.schema.paths import parse_column
from treeanon.table import Column

Floats = npt.NDArray[np.float64]


def drawn(rng: np.random.Generator, kind: Longs, weights: Floats) -> Longs:
    """A value for every row: of kind i, value v comes with a chance that is proportional to weights[i, v].

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


def bell(centre: npt.ArrayLike, width: float, values: int, floor: float = 0.0) -> Floats:
    """For each centre the weights of the values 0, 1, …: high near it, and nowhere less than the floor.

    >>> bell([0, 2], 1.0, 3, 0.1).round(2).tolist()
    [[1.1, 0.71, 0.24], [0.24, 0.71, 1.1]]
    """
    away = (np.arange(values)[None, :] - np.asarray(centre, np.float64)[:, None]) / width
    return np.asarray(np.exp(-(away**2) / 2) + floor)


def number_column(name: str, first: int, values: Longs, size: int, widths: Sequence[int]) -> Column:
    """A quasi column of the whole numbers from `first` on, `size` of them; `values` counts from 0.

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
    """A column of words, which `paths` has in the order of `values`, each with what lies above it up to the top.

    >>> column = word_column("sex", {"f": ["*"], "m": ["*"]}, np.array([1, 1]))
    >>> column.texts(), column.spec.hierarchy_source
    (['m', 'm'], 'hierarchies/sex.csv')
    """
    hierarchy = Hierarchy.from_paths([[word, *above] for word, above in paths.items()])
    spec = ClassSpec(
        name, parse_column(name), role=role, hierarchy=hierarchy, hierarchy_source=f"hierarchies/{name}.csv"
    )
    return Column(spec, hierarchy, hierarchy.encode(paths)[values])
