"""The synthetic table of 1D §7.2: even numbers, and a sensitive value that follows them as closely as asked."""

from __future__ import annotations

import numpy as np

from treeanon.bench.drawing import number_column, word_column
from treeanon.errors import UsageError
from treeanon.table import Table

_NUMBERS = 100


def synthetic(rows: int, seed: int = 0, *, correlation: float = 0.5, quasi: int = 3, values: int = 20) -> Table:
    """A table of `quasi` columns of even random numbers from 0 to 99, and a sensitive column of as frequent values.

    With a chance of `correlation` a row's sensitive value is the one that its first number stands for, of neighbouring
    numbers the same or the next; otherwise it is any. So 0 is independence, and 1 leaves no diversity among neighbours.
    The distribution of every column is the same for all correlations.

    >>> table = synthetic(500, correlation=1)
    >>> [column.name for column in table.columns]
    ['number_1', 'number_2', 'number_3', 'secret']
    >>> all(int(row[0]) // 5 + 1 == int(row[3].split()[1]) for row in table.rows())
    True
    """
    if not 0 <= correlation <= 1:
        raise UsageError("a correlation must be from 0 to 1")
    if not 2 <= values <= _NUMBERS:
        raise UsageError(f"there must be 2 to {_NUMBERS} sensitive values")
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, _NUMBERS, (rows, quasi))
    own = numbers[:, 0] * values // _NUMBERS
    secret = np.where(rng.random(rows) < correlation, own, rng.integers(0, values, rows))
    columns = [number_column(f"number_{j + 1}", 0, numbers[:, j], _NUMBERS, (5, 10, 50)) for j in range(quasi)]
    paths = {f"secret {i + 1}": ["*"] for i in range(values)}
    return Table((*columns, word_column("secret", paths, secret, "sensitive")))
