"""Paths through tables: the foreign key that each step follows, and whether its target repeats.

A resolved schema has the paths of a nested document: tables that refer to the one a path has come to repeat (they are
containers, as objects in an array are), tables that it refers to do not. Layouts, readers and writers build on that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from treeanon.errors import Problem, SchemaError
from treeanon.formats import NESTED
from treeanon.schema.facets import facet_schema, through_facets
from treeanon.schema.keys import ForeignKey, name_text
from treeanon.schema.model import ClassSpec, Link, Relations, Schema
from treeanon.schema.paths import FieldPath, Step

Columns = Mapping[str, Collection[str]]
"""The columns of every table of an input."""


def resolve(
    schema: Schema,
    declared: Sequence[ForeignKey] = (),
    columns: Columns | None = None,
    primary: Mapping[str, tuple[str, ...]] | None = None,
    files: str = "",
    *,
    header_is_sure: bool = True,
) -> Schema:
    """Return the schema with the key of every step; SchemaError lists the paths that have none or several.

    Keys that the schema gives come before those that the input has `declared`. With `columns`, what is in the input,
    names are checked against it. Where no `header_is_sure`, what looks like names of columns may be data.

    >>> schema = Schema.loads('''
    ... version = 1
    ... [input]
    ... format = "tables"
    ... record = "customer"
    ... key = ["orders.custkey -> customer.custkey"]
    ... [[class]]
    ... name = "price"
    ... path = "orders.price"
    ... ''')
    >>> resolve(schema).classes[0].path.text(slashed=False)
    'orders[].price'
    """

    def followed(schema: Schema) -> Schema:
        resolver = _Resolver(schema, declared, columns, header_is_sure)
        resolved = resolver.resolve()
        if resolver.problems or resolver.open:
            raise SchemaError([*resolver.problems, *resolver.open])
        tables = {resolver.root, *(link.table for link in resolver.links.values())}
        relations = Relations(resolver.links, {t: own for t, own in (primary or {}).items() if t in tables}, files)
        return replace(resolved, input=replace(schema.input, relations=relations))

    return through_facets(schema, followed)


def check_relational(schema: Schema) -> None:
    """Raise SchemaError for problems that no keys of the input can solve."""
    resolver = _Resolver(schema, (), None)
    resolver.resolve()
    if resolver.problems:
        raise SchemaError(resolver.problems)
    if not resolver.open:
        _ = facet_schema(resolve(schema)).layout


def is_settled(schema: Schema) -> bool:
    """Return whether the layout is known before the input: not if keys that the input declares decide it."""
    if not schema.input.is_relational or schema.input.relations is not None:
        return True
    resolver = _Resolver(schema, (), None)
    resolver.resolve()
    return not resolver.open


def nested(schema: Schema) -> Schema:
    """Return the resolved schema with the paths of nested documents, whose steps have no keys."""

    def plain(spec: ClassSpec) -> ClassSpec:
        if spec.path is None:
            return spec
        steps = (replace(step, name=step.label, key=()) for step in spec.path.steps)
        return replace(spec, path=FieldPath(tuple(steps)))

    resolved = schema if schema.input.relations is not None else resolve(schema)
    source = replace(schema.input, format=NESTED, record=None, keys=(), relations=None)
    return through_facets(
        resolved,
        lambda whole: replace(whole, input=source, classes=tuple(plain(spec) for spec in whole.classes)),
    )


class _Resolver:
    """The resolution of a schema's paths; `open` has the problems that keys of the input may solve."""

    def __init__(
        self, schema: Schema, declared: Sequence[ForeignKey], columns: Columns | None, header_is_sure: bool = True
    ) -> None:
        self.schema, self.columns, self.header_is_sure = schema, columns, header_is_sure
        self.own, self.declared = schema.input.keys, declared
        self.keys = (*self.own, *declared)
        self.root = schema.input.record.names[0] if schema.input.record and schema.input.record.names else ""
        self.mentioned = {name for key in self.own for name in (*key.columns, *key.target_columns)}
        self.mentioned |= {spec.path.steps[-1].name or "" for spec in schema.classes if spec.path is not None}
        self.links: dict[tuple[str, ...], Link] = {}
        self.problems: list[Problem] = []
        self.open: list[Problem] = []

    def resolve(self) -> Schema:
        if wrong := self.missing(self.root, ()):
            self.problems.append(Problem(f"{self.schema.source}, input: record", wrong))
            return self.schema
        classes = tuple(
            self.follow(spec) if spec.published else self.follow_unpublished(spec) for spec in self.schema.classes
        )
        self.check_keys()
        if not self.problems and not self.open:
            self.check_columns(classes)
        return replace(self.schema, classes=classes)

    def check_keys(self) -> None:
        """Note keys of the schema that name unknown tables or columns.

        A release lacks keys that no path follows: these are reported only if something else is wrong too.
        """
        followed = {link.key for link in self.links.values()}
        found: list[tuple[bool, Problem]] = []
        for number, key in enumerate(self.own, start=1):
            for table, names in ((key.table, key.columns), (key.target, key.target_columns)):
                if wrong := self.missing(table, names):
                    found.append((key in followed, Problem(f"{self.schema.source}, input: key {number}", wrong)))
        if self.problems or self.open or any(is_followed for is_followed, _ in found):
            self.problems += [problem for _, problem in found]

    def missing(self, table: str, names: Sequence[str]) -> str:
        """Return the message on a table, or columns of it, that the input lacks; "" where it lacks none."""
        if self.columns is None:
            return ""
        if table not in self.columns:
            return f"unknown table {table!r}; choose from {_listed(self.columns)}"
        lost = [name for name in names if name not in self.columns[table]]
        if not lost:
            return ""
        if not self.header_is_sure and self.mentioned.isdisjoint(self.columns[table]):
            # A file without a header begins with data, which must not be shown.
            return (
                f"table {table!r} has none of the columns that the schema names; does its file begin with their names?"
            )
        return f"table {table!r} has no column {', '.join(map(repr, lost))}; it has: {_listed(self.columns[table])}"

    def problem(self, spec: ClassSpec, message: str, *, is_open: bool = False) -> None:
        chosen = self.open if is_open else self.problems
        chosen.append(Problem(f"{self.schema.source}, class {spec.name!r}: path", message))

    def follow_unpublished(self, spec: ClassSpec) -> ClassSpec:
        """Return an unpublished class, resolved where possible: a release no longer has a column for it."""
        other = _Resolver(self.schema, self.declared, self.columns, self.header_is_sure)
        found = other.follow(spec)
        return spec if other.problems or other.open else found

    def follow(self, spec: ClassSpec) -> ClassSpec:
        """Return the class with its path resolved; unchanged where that fails."""
        if spec.path is None:
            return spec
        table, been, steps = self.root, [self.root], list[Step]()
        labels: tuple[str, ...] = ()
        last = spec.path.steps[-1]
        if last.repeated or last.key:
            self.problem(spec, f"must end in a column of a table; {last.label!r} is marked as a table")
            return spec
        for step in spec.path.steps[:-1]:
            found = self.choose(spec, table, step)
            if found is None:
                return spec
            link, is_only = found
            done = Step(step.name, link.down, step.predicate, () if is_only else link.key.columns)
            labels = (*labels, done.label or "")
            if link.table in been and not link.key.of_itself:
                self.problem(spec, f"goes in a circle: {' → '.join(map(name_text, [*been, link.table]))}")
                return spec
            if step.predicate is not None and len(step.predicate.names) != 1:
                self.problem(spec, "a predicate of a table names one of its columns: [kind=…]")
                return spec
            if self.links.setdefault(labels, link) != link:
                what = f"goes by {link.key} from one side, and another class from the other; only one of them can"
                self.problem(spec, f"step {done.label!r} {what}")
                return spec
            steps.append(done)
            table = link.table
            been.append(table)
        if wrong := self.missing(table, [last.name or ""]):
            self.problem(spec, wrong)
        return replace(spec, path=FieldPath((*steps, last)))

    def choose(self, spec: ClassSpec, table: str, step: Step) -> tuple[Link, bool] | None:
        """Return the link of a step from a table, and whether it is the only one to the table that the step names."""
        every = [link for link in _links(self.keys, table) if link.table == step.name]
        for keys in (self.own, self.keys):
            links = [link for link in _links(keys, table) if link.table == step.name]
            fitting = [link for link in links if _fits(link, step)]
            if len(fitting) == 2 and fitting[0].key == fitting[1].key and step.key and not step.repeated:
                # A key to its own table, without the mark of repetition: the row that this row refers to.
                fitting = [link for link in fitting if not link.down]
            if len(fitting) == 1:
                return fitting[0], len(every) == 1
            if fitting:
                choices = ", ".join(_step_text(link) for link in fitting)
                self.problem(spec, f"several keys lead from {table!r} to {step.name!r}; write one of: {choices}")
                return None
        if every:
            choices = ", ".join(_step_text(link) for link in every)
            self.problem(spec, f"{step.label!r} is no key from {table!r}; choose from {choices}", is_open=True)
            return None
        self.no_link(spec, table, step)
        return None

    def no_link(self, spec: ClassSpec, table: str, step: Step) -> None:
        if self.columns is not None and step.name not in self.columns:
            self.problem(spec, f"unknown table {step.name!r}; choose from {_listed(self.columns)}")
            return
        known = sorted({link.table for link in _links(self.keys, table)})
        what = f"no key leads from {table!r} to {step.name!r}; keys lead to: {_listed(known)}"
        example = f'key = ["{name_text(step.name or "")}.column -> {name_text(table)}.column"] in [input] gives one'
        self.problem(spec, f"{what}; {example}", is_open=True)

    def check_columns(self, classes: Sequence[ClassSpec]) -> None:
        """Note published classes, and predicates, on columns of keys that are followed: keys are made anew."""
        taken = {(link.key.table, name) for link in self.links.values() for name in link.key.columns}
        taken |= {(link.key.target, name) for link in self.links.values() for name in link.key.target_columns}
        for spec in classes:
            if spec.path is None or not spec.published:
                continue
            table = self.root
            labels: tuple[str, ...] = ()
            for step in spec.path.steps[:-1]:
                labels = (*labels, step.label or "")
                table = self.links[labels].table
                if step.predicate is not None:
                    self.refuse_key(spec, taken, table, step.predicate.names[0])
                    if wrong := self.missing(table, step.predicate.names):
                        self.problem(spec, wrong)
            self.refuse_key(spec, taken, table, spec.path.steps[-1].name or "")

    def refuse_key(self, spec: ClassSpec, taken: Collection[tuple[str, str]], table: str, column: str) -> None:
        if (table, column) in taken:
            what = f"column {column!r} of table {table!r} is a key that paths follow; keys are not published, but made"
            self.problem(spec, f'{what} anew: give the class the role "identifier" or leave it out')


def _links(keys: Sequence[ForeignKey], table: str) -> list[Link]:
    """Return the links from a table, each key once in each direction."""
    pairs = [(key.table, key.target, frozenset(zip(key.columns, key.target_columns, strict=True))) for key in keys]
    keys = list(dict(zip(reversed(pairs), reversed(keys), strict=True)).values())[::-1]
    down = [Link(key, True) for key in keys if key.target == table]
    return [*down, *(Link(key, False) for key in keys if key.table == table)]


def _fits(link: Link, step: Step) -> bool:
    if step.key and sorted(step.key) != sorted(link.key.columns):
        return False
    return link.down or not step.repeated


def _step_text(link: Link) -> str:
    """Return the text of a step that names its link."""
    mark = "[]" if link.down and link.key.of_itself else ""
    return f"{Step(link.table, key=link.key.columns).label}{mark}"


def _listed(names: Collection[str], most: int = 30) -> str:
    listed = [name_text(name) for name in names]
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return (", ".join(listed[:most]) + more) or "none"
