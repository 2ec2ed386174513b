"""Small random tables for the engine of Spark, and a plain look at what is published of them."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa

import treeanon as ta

SCHEMA = """
version = 1
[input]
format = "csv"
[[class]]
name = "age"
path = "age"
hierarchy = { prefix = [1] }
[[class]]
name = "town"
path = "town"
hierarchy = { groups = 3 }
[[class]]
name = "ill"
path = "ill"
role = "sensitive"
[[class]]
name = "serial"
path = "serial"
role = "keep"
[[class]]
name = "name"
path = "name"
role = "identifier"
"""

QUASI = ("age", "town")


def world(seed: int, rows: int = 60) -> pa.Table:
    """Rows of which each has a serial number of its own; some values are missing, and one row is frequent."""
    draw = random.Random(seed)
    towns = [f"Town {c}" for c in "ABCDEFG"] + [None]
    found = []
    for i in range(rows):
        age = None if draw.random() < 0.05 else str(draw.randrange(10, 50))
        town = draw.choice(towns)
        if draw.random() < 0.2:
            age, town = "33", "Town A"
        found.append(
            {"age": age, "town": town, "ill": f"ill-{draw.randrange(5)}", "serial": f"s{i}", "name": "n", "x": "1"}
        )
    return pa.Table.from_pylist(found)


def schema(**roles: str) -> ta.Schema:
    """The schema of these rows; roles of columns may be others."""
    text = SCHEMA
    for name, role in roles.items():
        text = text.replace(f'path = "{name}"\nrole = "sensitive"', f'path = "{name}"\nrole = "{role}"')
    return ta.Schema.loads(text)


def multiset(rows: Any, *columns: str) -> Counter[tuple[Any, ...]]:
    """How often there is each combination of values, missing ones as None."""
    return Counter(tuple(row[c] or None for c in columns) for row in rows)


def check_plainly(before: pa.Table, after: list[dict[str, Any]], k: int, least: int = 1, gone: int = 0) -> None:
    """Groups have k persons and as many different values; each row is one of the input, made more general."""
    groups: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
    for row in after:
        groups[tuple(row[c] for c in QUASI)].append(row["ill"])
    assert groups and min(map(len, groups.values())) >= k
    assert min(len(set(ills)) for ills in groups.values()) >= least
    own = {row["serial"]: row for row in before.to_pylist()}
    assert len(after) == len({row["serial"] for row in after}) and len(before) - len(after) <= gone
    for row in after:
        was = own[row["serial"]]
        assert row["ill"] == was["ill"] and set(row) == {"age", "town", "ill", "serial"}
        for column in QUASI:
            assert _covers(row[column], was[column]), column


def _covers(shown: str | None, value: str | None) -> bool:
    if shown == value or shown == "*":
        return True
    if shown is None or value is None:
        return False
    if shown.startswith("["):
        return f'"{value}"' in shown
    if " … " in shown:
        low, high = shown.split(" … ")
        return low <= value <= high
    if "*" in shown:
        return value.startswith(shown.rstrip("*"))
    return "…" in shown


def write_csv(path: Path, table: pa.Table, ends: str = "\n") -> Path:
    """The rows as a plain file."""
    lines = [",".join(table.column_names)]
    lines += [",".join(row[c] or "" for c in table.column_names) for row in table.to_pylist()]
    path.write_bytes((ends.join(lines) + ends).encode())
    return path
