"""The plan of a schema: stops, each a table reached by a key, with the columns needed there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from treeanon.schema import FieldPath, Layout, Schema, Step
from treeanon.schema.keys import ForeignKey
from treeanon.schema.model import Link

MOVED_TABLE = "treeanon_moved_"
"""Begins the names of the tables that hold, in a release, what was disassociated from rows of another table."""

RECORD_COLUMN = "treeanon_record"
"""The column of a released record table that says which of its rows are persons, where not all of them are."""


@dataclass
class Stop:
    """One table on a path: reached by a link from the stop `above`, as rows of `container` or looked up for them.

    `columns` has the column of each class that is read here; `fixed` the column that a predicate holds to a constant.
    """

    index: int
    labels: tuple[str, ...]
    table: str
    link: Link | None
    above: int
    container: int
    fixed: tuple[str, str] | None = None
    columns: dict[int, str] = field(default_factory=dict)

    @property
    def is_container(self) -> bool:
        """Whether every row here is a container: the record, or a row of a child table."""
        return self.link is None or self.link.down

    @property
    def place(self) -> str:
        """What paths to columns here begin with."""
        return "".join(f"{label}." for label in self.labels)


@dataclass(frozen=True)
class Plan:
    """The stops of a schema, each after the one above it.

    `record_column` is the column that says which rows are persons, where there is one; "" where every row is.
    """

    layout: Layout
    stops: tuple[Stop, ...]
    record_column: str = RECORD_COLUMN

    def below(self, stop: Stop) -> list[Stop]:
        """Return the stops reached by links of this one."""
        return [other for other in self.stops if other.above == stop.index]

    def tables(self) -> dict[str, dict[str, None]]:
        """Return every table with its needed columns, in the order of their first use."""
        wanted: dict[str, dict[str, None]] = {}
        for stop in self.stops:
            names = wanted.setdefault(stop.table, {})
            names.update(dict.fromkeys(stop.columns.values()))
            if stop.fixed is not None:
                names[stop.fixed[0]] = None
            if stop.link is not None:
                key = stop.link.key
                wanted.setdefault(key.table, {}).update(dict.fromkeys(key.columns))
                wanted.setdefault(key.target, {}).update(dict.fromkeys(key.target_columns))
        return wanted

    def valued(self, table: str) -> dict[str, None]:
        """Return the columns of a table whose values are read: those of classes and of predicates."""
        stops = [stop for stop in self.stops if stop.table == table]
        names = [name for stop in stops for name in (*stop.columns.values(), *(stop.fixed or ())[:1])]
        return dict.fromkeys(names)

    def followed(self) -> list[ForeignKey]:
        """Return the keys that are followed, each once."""
        return list(dict.fromkeys(stop.link.key for stop in self.stops if stop.link is not None))


def make_plan(schema: Schema, record_column: str = RECORD_COLUMN) -> Plan:
    """Return the plan of a resolved schema; see `Plan` for `record_column`.

    >>> from treeanon.schema.relational import resolve
    >>> schema = Schema.loads('''
    ... version = 1
    ... [input]
    ... format = "tables"
    ... record = "customer"
    ... key = ["orders.custkey -> customer.custkey", "customer.nationkey -> nation.key"]
    ... [[class]]
    ... name = "price"
    ... path = "orders.price"
    ... [[class]]
    ... name = "nation"
    ... path = "nation.name"
    ... ''')
    >>> [(stop.table, stop.container, list(stop.columns.values())) for stop in make_plan(resolve(schema)).stops]
    [('customer', 0, []), ('orders', 1, ['price']), ('nation', 0, ['name'])]
    """
    assert schema.input.relations is not None and schema.input.record is not None
    layout, links = schema.layout, schema.input.relations.links
    stops = [Stop(0, (), schema.input.record.names[0], None, -1, 0)]
    known: dict[tuple[Step, ...], int] = {(): 0}
    for index, published in enumerate(layout.classes):
        path = published.spec.path
        if path is None:
            continue
        for length in range(1, len(path.steps)):
            way = path.steps[:length]
            if way in known:
                continue
            above = stops[known[way[:-1]]]
            step = way[-1]
            labels = (*above.labels, step.label or "")
            link = links[labels]
            container = _container(layout, stops, above, step) if link.down else above.container
            fixed = (step.predicate.names[0], step.predicate.value) if step.predicate is not None else None
            known[way] = len(stops)
            stops.append(Stop(len(stops), labels, link.table, link, above.index, container, fixed))
        stops[known[path.steps[:-1]]].columns[index] = path.steps[-1].name or ""
    return Plan(layout, tuple(stops), record_column)


def _container(layout: Layout, stops: list[Stop], above: Stop, step: Step) -> int:
    way = tuple(reversed(list(_looked_up(stops, above))))
    for container in layout.containers:
        if (container.parent, container.wrappers, container.name) == (above.container, way, step.label) and (
            container.predicate == step.predicate
        ):
            return container.index
    raise KeyError(FieldPath((step,)).text(slashed=False))


def _looked_up(stops: list[Stop], stop: Stop) -> Iterator[str]:
    """Return the labels from a stop up to the rows of its container."""
    while not stop.is_container:
        yield stop.labels[-1]
        stop = stops[stop.above]
