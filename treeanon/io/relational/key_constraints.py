"""What keys require of the rows of a release: a target for each row, a row of its own, or no more than one.

A column of a key may itself be part of a key to another row. Then its value is not free: the other row must exist,
and if all columns of the key are of that kind, no two rows may agree in all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from treeanon.errors import UsageError
from treeanon.io.relational.plan import MOVED_TABLE, Plan, Stop
from treeanon.schema.keys import ForeignKey, columns_text
from treeanon.schema.model import Link

Column = tuple[str, str]
"""A table and a column of it."""


@dataclass(frozen=True)
class Needs:
    """The plan with the rows that are looked up only for their keys, and stops by their index.

    Every row above the `filled` ones looks a row up there, and one of its own where they are `apart`. Of the child
    tables that are `single` a row above has at most one. Columns that are `shared` by several keys of a row hold 1.
    """

    plan: Plan
    filled: frozenset[int]
    apart: frozenset[int]
    single: frozenset[int]
    shared: frozenset[Column]

    def keeps_apart(self, stop: Stop) -> bool:
        """Return whether equal rows of a looked-up table stay apart, as their keys, or those of what they look up,
        need it.
        """
        below = (other for other in self.plan.below(stop) if not other.is_container)
        return stop.index in self.apart or any(map(self.keeps_apart, below))


def find_needs(plan: Plan) -> Needs:
    """Return what a release of this plan needs; UsageError where its rows could not have keys, whatever the data.

    >>> from treeanon.io.relational.plan import make_plan
    >>> from treeanon.schema import Schema
    >>> from treeanon.schema.relational import resolve
    >>> schema = Schema.loads('''
    ... version = 1
    ... [input]
    ... format = "tables"
    ... record = "person"
    ... key = ["staff.person -> person.id", "pay.staff -> staff.person"]
    ... [[class]]
    ... name = "pay"
    ... path = "staff.pay.amount"
    ... ''')
    >>> needs = find_needs(make_plan(resolve(schema)))
    >>> [needs.plan.stops[index].table for index in needs.single]
    ['staff']
    """
    _check_names(plan)
    plan = _completed(plan)
    shared = _shared(plan)
    for stop in plan.stops:
        _check_read_once(plan, stop)
    apart: set[int] = set()
    single: set[int] = set()
    for table, columns in dict.fromkeys((key.target, key.target_columns) for key in plan.followed()):
        for stop in _set_apart(plan, table, columns, shared):
            (single if stop.link and stop.link.down else apart).add(stop.index)
    filled = {
        stop.index
        for stop in plan.stops
        if stop.link
        and not stop.link.down
        and not _needed(plan, plan.stops[stop.above]).isdisjoint(stop.link.key.columns)
    }
    return Needs(plan, frozenset(filled), frozenset(apart), frozenset(single), shared)


def _check_names(plan: Plan) -> None:
    """Check that no name has another meaning in a release."""
    tables = plan.tables()
    root = plan.stops[0].table
    if plan.record_column in tables[root]:
        raise _cannot(root, f"its column {plan.record_column!r} has a meaning of its own in a release")
    for table in tables:
        if MOVED_TABLE + table in tables:
            raise _cannot(table, f"there is a table {MOVED_TABLE + table!r}, which has a meaning of its own")


def followed_columns(plan: Plan) -> set[Column]:
    """Return the columns by which rows refer to others."""
    return {(key.table, column) for key in plan.followed() for column in key.columns}


def _refers(plan: Plan, stop: Stop) -> Iterator[tuple[ForeignKey, Stop]]:
    """Return the keys by which a row of a stop refers to others, and the stop whose link each is of."""
    if stop.link is not None and stop.link.down:
        yield stop.link.key, stop
    for below in plan.below(stop):
        if below.link is not None and not below.link.down:
            yield below.link.key, below


def _given(plan: Plan, stop: Stop) -> set[str]:
    """Return the columns of a stop's rows that come from rows that they refer to."""
    return {column for key, _ in _refers(plan, stop) for column in key.columns}


def _needed(plan: Plan, stop: Stop) -> set[str]:
    """Return the columns by which rows of a stop are referred to."""
    keys = [below.link.key for below in plan.below(stop) if below.link is not None and below.link.down]
    if stop.link is not None and not stop.link.down:
        keys.append(stop.link.key)
    return {column for key in keys for column in key.target_columns}


def _completed(plan: Plan) -> Plan:
    """Return the plan with a stop for every row that must be there only because a key is made of its key."""
    own = followed_columns(plan)
    at = 0
    while at < len(plan.stops):
        stop = plan.stops[at]
        missing = [c for c in sorted(_needed(plan, stop) - _given(plan, stop)) if (stop.table, c) in own]
        if missing:
            plan = replace(plan, stops=(*plan.stops, _added(plan, stop, missing[0])))
        else:
            at += 1
    return plan


def _added(plan: Plan, stop: Stop, column: str) -> Stop:
    """Return a stop for the rows that give a column to the rows of another."""
    ways = [key for key in plan.followed() if key.table == stop.table and column in key.columns]
    key = min(ways, key=lambda key: len(key.columns))
    if str(key) in stop.labels:
        raise _cannot(stop.table, f"its key is made of keys that lead in a circle, by {key}")
    link = Link(key, down=False)
    return Stop(len(plan.stops), (*stop.labels, str(key)), key.target, link, stop.index, stop.container)


def _shared(plan: Plan) -> frozenset[Column]:
    """Return the columns that are part of several keys of one row, and all columns that must be equal to these."""
    found: set[Column] = set()
    for stop in plan.stops:
        columns = [column for key, _ in _refers(plan, stop) for column in key.columns]
        found |= {(stop.table, column) for column in columns if columns.count(column) > 1}
    size = 0
    while size < len(found):
        size = len(found)
        for key in plan.followed():
            for own, target in zip(key.columns, key.target_columns, strict=True):
                pair = {(key.table, own), (key.target, target)}
                found |= pair if pair & found else set()
    return frozenset(found)


def _check_read_once(plan: Plan, stop: Stop) -> None:
    """Check that rows of a stop would not refer to rows that are not related to them."""
    given = _given(plan, stop)
    for key in plan.followed():
        if key.table != stop.table or not given.issuperset(key.columns):
            continue
        by = [below for followed, below in _refers(plan, stop) if followed == key]
        if not by:
            raise _cannot(stop.table, f"rows of {stop.place or stop.table!r} have all columns of {key} from other keys")
        for below in by:
            for other in plan.stops:
                if below is not stop and other.above == below.index and other.link == Link(key, down=True):
                    what = f"rows of {stop.place or stop.table!r} would be read as rows of {other.place!r} too"
                    raise _cannot(stop.table, what)


def _set_apart(plan: Plan, table: str, columns: tuple[str, ...], shared: frozenset[Column]) -> list[Stop]:
    """Return the stops at which one row for each that refers keeps a key unique that has no number of its own."""
    own = followed_columns(plan)
    if any((table, column) not in own | shared for column in columns):
        return []
    whole = {column for column in columns if (table, column) in own}
    stops = [stop for stop in plan.stops if stop.table == table and whole <= _given(plan, stop)]
    for key in plan.followed():
        if key.table != table or not whole.issuperset(key.columns):
            continue
        found = [below for stop in stops for followed, below in _refers(plan, stop) if followed == key]
        if len(found) == len(stops) and not any(_has_twin(plan, stop) for stop in found):
            return found
    what = (
        f"{columns_text(table, columns)} is made of keys to other rows, or shared by several, and could not be unique"
    )
    raise _cannot(table, what)


def _has_twin(plan: Plan, stop: Stop) -> bool:
    """Return whether rows of several stops refer by one key to rows of one stop, distinguished by predicates."""
    return any(
        other.index != stop.index and (other.above, other.link) == (stop.above, stop.link) for other in plan.stops
    )


def _cannot(table: str, what: str) -> UsageError:
    return UsageError(f"table {table!r} cannot be written again: {what}; write another format (--to ndjson)")
