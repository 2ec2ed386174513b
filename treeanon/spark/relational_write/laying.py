"""One part of a release laid out in rows of tables, and what it tells of itself before rows can be numbered."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from treeanon.forest import Forest
from treeanon.io.relational.arrow_tables import Agreed, agreement
from treeanon.io.relational.fresh_keys import all_keys, blocks_of, moved_from
from treeanon.io.relational.key_constraints import Needs
from treeanon.io.relational.layout import Rows, lay_out
from treeanon.io.relational.lookup_contents import contents
from treeanon.io.relational.plan import MOVED_TABLE
from treeanon.spark.reading import classes_of
from treeanon.spark.records import batch_of
from treeanon.spark.relational_write.parts import part_forest

LOOKED_UP = "part int, held int, row int, name binary"
"""A row of a part that is one with equal rows of other parts: its table, its place there, and a secret name for what it
holds; or (table -1) what the part tells of itself."""


@dataclass(frozen=True)
class PartSummary:
    """What a part tells of itself: how many rows of each table are its own, and what it can agree upon."""

    part: int
    own: Mapping[str, int]
    agreed: Agreed


@dataclass(frozen=True)
class Work:
    """All that the workers need to make tables of parts; `shared` is the schema of the records."""

    needs: Needs
    primary: Mapping[str, tuple[str, ...]]
    secret: bytes
    shared: Any

    @cached_property
    def tables(self) -> list[str]:
        """The tables that rows are laid out in."""
        return list(dict.fromkeys(stop.table for stop in self.needs.plan.stops))

    def laid_out(self, part: pa.Table) -> tuple[Forest, Rows]:
        """The records of a part, and their rows."""
        schema = self.shared.value
        forest = part_forest(part, schema, classes_of(schema))
        return forest, lay_out(forest, self.needs)

    def name(self, stop: int, held: bytes) -> bytes:
        """A name for what a looked-up row holds, of which nobody else can make anything, nor of the order of names."""
        key = hashlib.sha256(self.secret).digest()
        return hashlib.blake2b(b"%d " % stop + held, key=key, digest_size=16).digest()

    def survey(self, part: pa.Table) -> pa.Table:
        """The looked-up rows of a part, and what it tells of itself, as rows of LOOKED_UP."""
        number = part.column("part")[0].as_py()
        forest, rows = self.laid_out(part)
        plan = self.needs.plan
        blocks = blocks_of(plan, rows)
        own = {table: max(block.stop for block in blocks[table].values()) for table in self.tables}
        batches = []
        for stop, found in contents(self.needs, rows).items():
            table = plan.stops[stop].table
            own[table] -= len(found.rows)
            names = [self.name(stop, held.tobytes()) for held in found.held]
            places = (found.rows + blocks[table][stop].start).astype(np.int32)
            same = (np.full(len(names), value, np.int32) for value in (number, self.tables.index(table)))
            batches.append(batch_of(LOOKED_UP, *same, places, names))
        for table in self.tables:
            moved = [rows.moved[container] for container in moved_from(plan, rows, table)]
            own[MOVED_TABLE + table] = sum(len(nodes.row) for nodes in moved)
        keyed = all_keys(self.needs, rows, self.primary, lambda _, count: np.arange(1, count + 1))
        summaries = PartSummary(number, own, agreement(forest, plan, rows, keyed))
        batches.append(batch_of(LOOKED_UP, [number], [-1], [-1], [pickle.dumps(summaries)]))
        return pa.Table.from_batches(batches)
