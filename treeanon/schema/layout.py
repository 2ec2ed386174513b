"""The layout of a schema: containers, their shapes, and the class tree.

A *container* is the record itself or one repeated object in it (array item, repeated element, child row); its
*head* is the first class declared in it. Readers and writers of every format work on this one description.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from treeanon.errors import Problem, SchemaError
from treeanon.hierarchy import Hierarchy
from treeanon.schema.model import ClassSpec
from treeanon.schema.paths import FieldPath, Predicate, Step, bare, disagreement, may_read_one, pairs_to_compare

if TYPE_CHECKING:
    from treeanon.schema.model import Schema

ROOT = -1
"""The parent of what lies directly under a record."""

MOVED = "treeanon:moved"
"""The reserved name under which documents hold nodes that no longer lie under the class their schema names."""

MOVED_NAMESPACE = "urn:treeanon:1"
"""The XML namespace of the elements `moved` and `node`."""


@dataclass(frozen=True)
class PublishedClass:
    """One class of the trees: the class it lies under and the container that holds it (-1 without a path).

    Where objects stay whole, each container has a class of its own, of one value: its objects are nodes of it, and
    what they hold lies under them.
    """

    name: str
    parent: int
    container: int
    spec: ClassSpec
    is_object: bool = False


@dataclass(frozen=True)
class Attribute:
    """An XML attribute that holds a class, or the constant of a predicate."""

    name: str
    held: int = -1
    constant: str | None = None


@dataclass(frozen=True)
class Shape:
    """One object or element that does not repeat inside its container (or the container itself).

    `always` says that an element is there even where nothing is published in it, as its name is a constant.
    """

    name: str | None
    held: int = -1
    constant: str | None = None
    attributes: tuple[Attribute, ...] = ()
    wrappers: tuple[Shape, ...] = ()
    containers: tuple[int, ...] = ()
    always: bool = False

    @property
    def is_scalar(self) -> bool:
        """Whether nothing but a value can stand here."""
        return not (self.attributes or self.wrappers or self.containers)

    def walk(self) -> Iterator[Shape]:
        """Yield this shape and all wrappers in it."""
        yield self
        for wrapper in self.wrappers:
            yield from wrapper.walk()


@dataclass(frozen=True)
class Container:
    """The record (index 0) or one repeated object in it; `wrappers` are the wrappers between it and its parent."""

    index: int
    parent: int
    path: str
    wrappers: tuple[str, ...]
    predicate: Predicate | None
    shape: Shape
    held: tuple[int, ...]

    @property
    def name(self) -> str | None:
        """The key or element name of the step that repeats."""
        return self.shape.name


@dataclass(frozen=True)
class Layout:
    """The published classes (parents before children) and the containers (parents before children)."""

    classes: tuple[PublishedClass, ...]
    containers: tuple[Container, ...]
    if_merged: frozenset[tuple[int, int]] = frozenset()
    """Where the schema leaves open what objects are: which class lies under which other one in merged trees."""

    @property
    def types(self) -> int:
        """The number of types of objects, which are the first classes; 0 where trees are merged."""
        return sum(published.is_object for published in self.classes)

    def class_index(self, name: str) -> int:
        """Return the index of the class of that name, or raise KeyError."""
        for index, published in enumerate(self.classes):
            if published.name == name:
                return index
        raise KeyError(name)

    def is_below(self, descendant: int, ancestor: int) -> bool:
        """Return whether one class lies, at any distance, under the other (every class lies under ROOT)."""
        while descendant != ancestor and descendant != ROOT:
            descendant = self.classes[descendant].parent
        return descendant == ancestor

    def above(self, descendant: int) -> Iterator[int]:
        """Yield the classes above one, the nearest first."""
        while (descendant := self.classes[descendant].parent) != ROOT:
            yield descendant


@dataclass
class _Draft:
    """A shape under construction."""

    name: str | None = None
    held: int = -1
    constant: str | None = None
    always: bool = False
    attributes: dict[str, Attribute] = field(default_factory=dict)
    wrappers: dict[str, _Draft] = field(default_factory=dict)
    containers: dict[tuple[str | None, Predicate | None], _DraftContainer] = field(default_factory=dict)

    def wrapper(self, name: str) -> _Draft:
        return self.wrappers.setdefault(name, _Draft(name))


@dataclass
class _DraftContainer:
    path: str
    wrappers: tuple[str, ...]
    predicate: Predicate | None
    parent: _DraftContainer | None
    shape: _Draft
    type_name: str = ""
    held: list[int] = field(default_factory=list)

    def encloses(self, other: _DraftContainer | None) -> bool:
        while other is not None and other is not self:
            other = other.parent
        return other is self


class _Compiler:
    """The compilation of declared classes into containers and a class tree; it collects every problem."""

    def __init__(self, schema: Schema) -> None:
        self.slashed, self.whole = schema.input.slashed, schema.input.keeps_objects
        self.published = [spec for spec in schema.classes if spec.published]
        self.index = {spec.name: i for i, spec in enumerate(self.published)}
        self.hidden = {spec.name: spec for spec in schema.classes if not spec.published}
        self.source = schema.source
        self.problems: list[Problem] = []
        self.record = _DraftContainer("", (), None, None, _Draft())
        self.container_of: list[_DraftContainer] = []

    def problem(self, spec: ClassSpec, key: str, message: str) -> None:
        self.problems.append(Problem(f"{self.source}, class {spec.name!r}: {key}", message))

    def compile(self) -> Layout:
        for spec in self.published:
            self.container_of.append(self.place(spec) if spec.path is not None else self.record)
        self.check_shapes(self.record)
        self.check_overlaps()
        parents = [ROOT if self.whole else self.parent_of(i) for i in range(len(self.published))]
        self.check_cycles(parents)
        drafts: list[_DraftContainer] = []
        numbers: dict[int, int] = {}
        _number(self.record, drafts, numbers)
        types = self.types_of(drafts, numbers) if self.whole else ()
        if self.problems:
            raise SchemaError(self.problems)
        return self.freeze(parents, drafts, numbers, types)

    def types_of(self, drafts: list[_DraftContainer], numbers: dict[int, int]) -> tuple[PublishedClass, ...]:
        """Return a class for each container but the record, under that of the container around it."""
        types = []
        for index, draft in enumerate(drafts[1:], start=1):
            name = draft.type_name
            if name in self.index:
                self.problem(
                    self.published[self.index[name]], "name", "is the name of a type of objects; choose another"
                )
            spec = ClassSpec(name, hierarchy=Hierarchy.flat([]), role="keep")
            types.append(PublishedClass(name, numbers[id(draft.parent)] - 1, index, spec, is_object=True))
        return tuple(types)

    def place(self, spec: ClassSpec) -> _DraftContainer:
        assert spec.path is not None
        container, shape, index = self.record, self.record.shape, self.index[spec.name]
        wrappers: tuple[Step, ...] = ()
        for step in spec.path.steps:
            if step.repeated:
                container = self.enter(container, shape, wrappers, step)
                shape, wrappers = container.shape, ()
            else:
                shape, wrappers = shape.wrapper(step.label or ""), (*wrappers, step)
        if spec.path.attribute is not None:
            found = shape.attributes.setdefault(spec.path.attribute, Attribute(spec.path.attribute, index))
            taken = found.held not in (index, -1)
        else:
            taken = shape.held >= 0
            shape.held = index if shape.constant is None else -1
        if taken:
            self.problem(spec, "path", "is the path of another class too; every class needs its own")
        container.held.append(index)
        return container

    def enter(self, outer: _DraftContainer, shape: _Draft, wrappers: tuple[Step, ...], step: Step) -> _DraftContainer:
        key = (step.label, step.predicate)
        if key not in shape.containers:
            text = FieldPath((*wrappers, step)).text(slashed=self.slashed)
            joint = "" if not outer.path or step.name is None else "/" if self.slashed else "."
            names = tuple(passed.label or "" for passed in wrappers)
            own_type = _type_name(outer.type_name, FieldPath((*wrappers, step)))
            made = _DraftContainer(
                outer.path + joint + text, names, step.predicate, outer, _Draft(step.label), own_type
            )
            shape.containers[key] = made
            if step.predicate is not None:
                self.fix_constant(made.shape, step.predicate)
        return shape.containers[key]

    def fix_constant(self, shape: _Draft, predicate: Predicate) -> None:
        if predicate.is_of_element(slashed=self.slashed):
            for name in (*predicate.names[:-1], predicate.value):
                shape = shape.wrapper(name)
            shape.always = True
            return
        for name in predicate.names:
            shape = shape.wrapper(name)
        if predicate.attribute is not None:
            shape.attributes[predicate.attribute] = Attribute(predicate.attribute, -1, predicate.value)
        else:
            shape.constant = predicate.value

    def check_shapes(self, container: _DraftContainer) -> None:
        """Check that a name repeats in all paths or in none, and that JSON has no mixed content."""
        drafts = [container.shape]
        while drafts:
            shape = drafts.pop()
            drafts.extend(shape.wrappers.values())
            repeated = {name for name, _ in shape.containers}
            for name in sorted(repeated & set(shape.wrappers), key=str):
                self.shape_problem(container, f"{name!r} is marked [] in one path and not in another; mark it in both")
            filled = shape.attributes or shape.wrappers or shape.containers
            if not self.slashed and (shape.held >= 0 or shape.constant is not None) and filled:
                self.shape_problem(container, f"{shape.name!r} cannot be a value and hold further fields")
            if None in repeated and (shape.wrappers or repeated != {None}):
                self.shape_problem(container, "an array item cannot be an array and an object with fields")
            for inner in shape.containers.values():
                self.check_shapes(inner)

    def shape_problem(self, container: _DraftContainer, message: str) -> None:
        place = f"{self.source}, paths in {container.path}" if container.path else f"{self.source}, paths"
        self.problems.append(Problem(place, message))

    def check_overlaps(self) -> None:
        """Check that no two paths can read the same value, which would be published twice."""
        paths = [spec.path for spec in self.published]
        hidden, constants = defaultdict(list), defaultdict(list)
        for spec in self.hidden.values():
            if spec.path:
                hidden[bare(spec.path)].append(spec)
        for path in filter(None, paths):
            for constant in _constants_of(path):
                constants[bare(constant)].append(constant)
        pairs = pairs_to_compare(paths, slashed=self.slashed)
        for i, first in enumerate(self.published):
            if first.path is None:
                continue
            for second in (self.published[j] for j in pairs[i]):
                if second.path and first.path != second.path:
                    self.check_pair(first, second, first.path, second.path)
            for spec in hidden[bare(first.path)]:
                if spec.path and may_read_one(first.path, spec.path):
                    what = f"reads the values of class {spec.name!r}, which must not be published"
                    self.problem(first, "path", what)
        for spec in self.published:
            if spec.path and any(may_read_one(spec.path, constant) for constant in constants[bare(spec.path)]):
                self.problem(spec, "path", "reads the field that a predicate holds fixed; leave the class out")

    def check_pair(self, first: ClassSpec, second: ClassSpec, a: FieldPath, b: FieldPath) -> None:
        """Check that two paths which may go through one item, as they differ in predicates, agree on its shape."""
        if may_read_one(a, b):
            self.problem(first, "path", f"may read the same values as class {second.name!r}")
        elif any(p.predicate != q.predicate for p, q in zip(a.steps, b.steps, strict=False)):
            name = disagreement(a, b, slashed=self.slashed)
            if name is not None:
                what = f"takes {name!r} for something else than class {second.name!r} does"
                self.problem(first, "path", what + " (one value, an object, or marked [])")

    def parent_of(self, index: int) -> int:
        spec, container = self.published[index], self.container_of[index]
        if spec.under is None:
            return self.default_parent(index, container)
        if spec.under == "/":
            return ROOT
        parent = self.index.get(spec.under)
        if parent is None:
            what = "is not published" if spec.under in self.hidden else "is no class of this schema"
            known = ", ".join(s.name for s in self.published if s is not spec)
            self.problem(spec, "under", f'{spec.under!r} {what}; choose from {known or "none"} (or "/")')
            return ROOT
        if spec.path is not None and not self.container_of[parent].encloses(container):
            where = self.container_of[parent].path or "the record"
            self.problem(
                spec, "under", f"{spec.under!r} lies in {where}, which does not enclose the path of this class"
            )
        return parent

    def default_parent(self, index: int, container: _DraftContainer) -> int:
        at: _DraftContainer | None = container
        if at is self.record:
            return ROOT
        if container.held[0] == index:
            at = container.parent
        while at is not None and at is not self.record:
            if at.held:
                return at.held[0]
            at = at.parent
        return ROOT

    def check_cycles(self, parents: list[int]) -> None:
        reported: set[int] = set()
        for start in range(len(parents)):
            trail: list[int] = []
            at = start
            while at != ROOT and at not in trail:
                trail.append(at)
                at = parents[at]
            if at != ROOT and not reported & set(trail):
                cycle = trail[trail.index(at) :]
                reported.update(cycle)
                names = " under ".join(self.published[i].name for i in [*cycle, cycle[0]])
                self.problem(self.published[cycle[0]], "under", f"goes round in a circle: {names}")

    def freeze(
        self,
        parents: list[int],
        drafts: list[_DraftContainer],
        numbers: dict[int, int],
        types: tuple[PublishedClass, ...],
    ) -> Layout:
        order = sorted(range(len(parents)), key=lambda i: (_height(i, parents), i))
        new = {old: at for at, old in enumerate(order, start=len(types))} | {ROOT: ROOT}
        containers = tuple(
            Container(
                index,
                numbers[id(draft.parent)] if draft.parent is not None else -1,
                draft.path,
                draft.wrappers,
                draft.predicate,
                _freeze_shape(draft.shape, new, numbers),
                tuple(new[i] for i in draft.held if self.published[i].path is not None),
            )
            for index, draft in enumerate(drafts)
        )
        classes = tuple(
            PublishedClass(
                self.published[old].name,
                numbers[id(self.container_of[old])] - 1 if self.whole else new[parents[old]],
                numbers[id(self.container_of[old])] if self.published[old].path is not None else -1,
                self.published[old],
            )
            for old in order
        )
        return Layout((*types, *classes), containers)


def _type_name(outer: str, path: FieldPath) -> str:
    """Return the name of the type of the objects at a path within those of the type `outer`, whatever the format.

    >>> from treeanon.schema.paths import parse_path
    >>> _type_name("visit[]", FieldPath(parse_path("tests/test[]/@name", slashed=True).steps))
    'visit[].tests.test[]'
    """
    text = path.text(slashed=False)
    joint = "." if outer and not text.startswith("[") else ""
    return outer + joint + (text if text.endswith("]") else text + "[]")


def _height(index: int, parents: list[int]) -> int:
    steps = 0
    while parents[index] != ROOT:
        index, steps = parents[index], steps + 1
    return steps


def _constants_of(path: FieldPath) -> Iterator[FieldPath]:
    """Yield the paths of what the predicates of a path hold fixed, in any item that its step may reach."""
    for at, step in enumerate(path.steps):
        if step.predicate is not None:
            tail = (Step(name) for name in step.predicate.names)
            yield FieldPath((*path.steps[:at], replace(step, predicate=None), *tail), step.predicate.attribute)


def _number(container: _DraftContainer, drafts: list[_DraftContainer], numbers: dict[int, int]) -> None:
    numbers[id(container)] = len(drafts)
    drafts.append(container)
    shapes = [container.shape]
    for shape in shapes:
        shapes.extend(shape.wrappers.values())
        for inner in shape.containers.values():
            _number(inner, drafts, numbers)


def _freeze_shape(draft: _Draft, classes: dict[int, int], numbers: dict[int, int]) -> Shape:
    return Shape(
        draft.name,
        classes[draft.held],
        draft.constant,
        tuple(Attribute(a.name, classes[a.held], a.constant) for a in draft.attributes.values()),
        tuple(_freeze_shape(wrapper, classes, numbers) for wrapper in draft.wrappers.values()),
        tuple(numbers[id(inner)] for inner in draft.containers.values()),
        draft.always,
    )


def compile_layout(schema: Schema) -> Layout:
    """Return the layout of a schema's published classes; SchemaError lists every contradiction in it."""
    found = _Compiler(schema).compile()
    if not (schema.input.objects_open and found.types):
        return found
    other = _Compiler(schema.merged).compile()
    places = {held.name: number for number, held in enumerate(found.classes)}
    index = [places[held.name] for held in other.classes]
    below = {(index[a], index[b]) for a in range(len(index)) for b in other.above(a)}
    return replace(found, if_merged=frozenset(below))
