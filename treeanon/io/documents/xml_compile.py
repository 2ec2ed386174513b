"""Compiles a schema's layout into Python functions that read lxml elements into container tables.

There is one function for each container; wrappers are read in line. The text of an element is its direct text; text of
white space alone is formatting, and no value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lxml import etree

from treeanon.errors import DataError
from treeanon.io.documents.kernel_columns import ValueCodes
from treeanon.schema import Container, Layout, Shape
from treeanon.schema.layout import MOVED_NAMESPACE
from treeanon.schema.paths import Predicate

MOVED_TAG = f"{{{MOVED_NAMESPACE}}}moved"
NODE_TAG = f"{{{MOVED_NAMESPACE}}}node"
_XML = "http://www.w3.org/XML/1998/namespace"

Names = Callable[..., str]


class XmlTexts(dict[Any, int]):
    """Codes of the texts of a document, added to a class's dictionary; absent, empty and blank ones are no node."""

    def __init__(self, codes: ValueCodes) -> None:
        super().__init__({None: -1, "": -1})
        self.texts = codes.texts

    def __missing__(self, text: str) -> int:
        if text.isspace():
            return -1
        self[text] = code = len(self.texts)
        self.texts.append(text)
        return code


@dataclass(frozen=True)
class Qualifier:
    """Converter of names of the schema to `{namespace}name` as lxml has them, and back for messages."""

    namespaces: Mapping[str, str]

    def element(self, name: str) -> str:
        """Return the qualified name of an element; without a prefix it is in the default namespace of the schema."""
        prefix, colon, local = name.partition(":")
        if not colon:
            prefix, local = "", name
        uri = self.uri(prefix)
        return f"{{{uri}}}{local}" if uri else local

    def attribute(self, name: str) -> str:
        """Return the qualified name of an attribute; without a prefix it is in no namespace."""
        return self.element(name) if ":" in name else name

    def uri(self, prefix: str) -> str:
        """Return the namespace of a prefix."""
        return _XML if prefix == "xml" else self.namespaces.get(prefix, "")

    def predicate(self, predicate: Predicate) -> tuple[tuple[str, ...], str | None, str]:
        """Return the names, the attribute and the constant of a predicate as `predicate_holds` takes them."""
        attribute = None if predicate.attribute is None else self.attribute(predicate.attribute)
        if predicate.is_of_element(slashed=True):
            return (*map(self.element, predicate.names[:-1]), "*"), None, self.element(predicate.value)
        return tuple(map(self.element, predicate.names)), attribute, predicate.value

    def short(self, tag: str) -> str:
        """Return a qualified name as the schema would write it, if the schema knows the namespace."""
        if not tag.startswith("{"):
            return tag
        uri, _, local = tag[1:].partition("}")
        for prefix, known in self.namespaces.items():
            if known == uri:
                return f"{prefix}:{local}" if prefix else local
        return local


def mixed_text(element: etree._Element) -> str | None:
    """Return the direct text of an element, the texts between its children joined."""
    parts = [element.text or "", *(child.tail or "" for child in element)]
    text = "".join(parts)
    return None if not text or text.isspace() else text


def predicate_holds(element: etree._Element, names: tuple[str, ...], attribute: str | None, value: str) -> bool:
    """Return whether an element has the constant that a step requires.

    >>> entry = etree.fromstring("<entry><resource><Patient/><Group/></resource></entry>")
    >>> [predicate_holds(entry, ("resource", "*"), None, name) for name in ("Patient", "Group")]
    [True, False]
    """
    here = [element]
    for name in names:
        if name == "*":
            return any(parent[0].tag == value for parent in here if len(parent))
        here = [child for parent in here for child in parent.iterchildren(name)]
    if attribute is not None:
        return any(child.get(attribute) == value for child in here)
    return any((mixed_text(child) or "") == value for child in here)


@dataclass
class _Source:
    layout: Layout
    qualifier: Qualifier
    lines: list[str] = field(default_factory=list)
    predicates: list[tuple[tuple[str, ...], str | None, str]] = field(default_factory=list)
    names: int = 0

    def put(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def fresh(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    def container(self, container: Container) -> None:
        """Write the function read{i}(element, owner) of one container."""
        number, path = container.index, container.path
        self.put(1, f"def read{number}(e, owner):")
        self.put(2, f"row = len(owners{number})")
        self.put(2, f"o{number}(owner)")
        for held in container.held:
            self.put(2, f"v{held} = None")
        self.element(2, "e", container.shape, path, number)
        for held in container.held:
            self.put(2, f"c{held}(d{held}[v{held}])")

    def element(self, depth: int, var: str, shape: Shape, path: str, container: int) -> None:
        """Write code that reads attributes, text and children of an element that occurs once."""
        self.attributes(depth, var, shape, path)
        if shape.held >= 0:
            self.put(depth, f"v{shape.held} = mixed({var}) if len({var}) else {var}.text")
        elif shape.constant is None:
            self.put(depth, f"if {var}.text and not {var}.text.isspace(): drop({self.below(path)!r}, 'text()')")
        for wrapper in shape.wrappers:
            if not (wrapper.is_scalar and wrapper.held >= 0):
                self.put(depth, f"{self.flag(wrapper, path)} = False")
        child, tag = self.fresh("x"), self.fresh("t")
        self.put(depth, f"for {child} in {var}:")
        self.put(depth + 1, f"{tag} = {child}.tag")
        word = "if"
        for wrapper in shape.wrappers:
            self.put(depth + 1, f"{word} {tag} == {self.qualifier.element(wrapper.name or '')!r}:")
            self.wrapper(depth + 2, child, wrapper, path, container)
            word = "elif"
        for name, inner in self.by_name(shape).items():
            self.put(depth + 1, f"{word} {tag} == {self.qualifier.element(name)!r}:")
            self.instances(depth + 2, child, inner, path, name)
            word = "elif"
        if shape is self.layout.containers[container].shape:
            self.put(depth + 1, f"{word} {tag} == {MOVED_TAG!r}:")
            self.put(depth + 2, f"moved({child}, row, {container})")
            word = "elif"
        self.put(depth + 1, "else:" if word == "elif" else "if True:")
        self.put(depth + 2, f"drop({self.below(path)!r}, {tag})")
        if shape.held < 0 and shape.constant is None:
            self.put(depth + 1, f"if {child}.tail and not {child}.tail.isspace():")
            self.put(depth + 2, f"drop({self.below(path)!r}, 'text()')")

    def flag(self, wrapper: Shape, path: str) -> str:
        return "f_" + (path + "/" + (wrapper.name or "")).encode().hex()

    def below(self, path: str) -> str:
        return path + "/" if path else ""

    def by_name(self, shape: Shape) -> dict[str, list[Container]]:
        groups: dict[str, list[Container]] = {}
        for index in shape.containers:
            container = self.layout.containers[index]
            groups.setdefault(container.name or "", []).append(container)
        return groups

    def attributes(self, depth: int, var: str, shape: Shape, path: str) -> None:
        # Only the names are listed: lxml would search the whole list again for every value.
        key = self.fresh("k")
        self.put(depth, f"for {key} in {var}.keys():")
        word = "if"
        for attribute in shape.attributes:
            name = self.qualifier.attribute(attribute.name)
            self.put(depth + 1, f"{word} {key} == {name!r}:")
            self.put(depth + 2, f"v{attribute.held} = {var}.get({name!r})" if attribute.held >= 0 else "pass")
            word = "elif"
        self.put(depth + 1, "else:" if word == "elif" else "if True:")
        self.put(depth + 2, f"drop({self.below(path) + '@'!r}, {key})")

    def wrapper(self, depth: int, child: str, wrapper: Shape, path: str, container: int) -> None:
        """Write code that reads a child element that may occur once."""
        inner = self.below(path) + (wrapper.name or "")
        if wrapper.is_scalar and wrapper.held >= 0:
            value = f"v{wrapper.held}"
            self.put(depth, f"if {value} is not None: raise repeats({inner!r})")
            self.put(depth, f"{value} = {child}.text or ''")
            self.put(depth, f"if len({child}) or {child}.keys():")
            self.put(depth + 1, f"{value} = mixed({child}) or ''")
            self.put(depth + 1, f"extras({child}, {self.below(inner)!r})")
            return
        flag = self.flag(wrapper, path)
        if wrapper.constant is None:
            self.put(depth, f"if {flag}: raise repeats({inner!r})")
        self.put(depth, f"{flag} = True")
        if wrapper.is_scalar:
            self.put(depth, f"extras({child}, {self.below(inner)!r})")
        else:
            self.element(depth, child, wrapper, inner, container)

    def instances(self, depth: int, child: str, containers: list[Container], path: str, name: str) -> None:
        """Write code that reads a child element as an instance of every container whose predicate it meets."""
        choosy = all(container.predicate is not None for container in containers)
        if choosy:
            self.put(depth, "met = False")
        for container in containers:
            inner = depth
            if container.predicate is not None:
                self.put(depth, f"if holds({child}, *p{len(self.predicates)}):")
                self.predicates.append(self.qualifier.predicate(container.predicate))
                inner += 1
            if choosy:
                self.put(inner, "met = True")
            self.put(inner, f"read{container.index}({child}, row)")
        if choosy:
            self.put(depth, f"if not met: drop({self.below(path)!r}, {name + '[]'!r})")


def _repeats(path: str) -> DataError:
    return DataError(f"repeats here; mark the step with [] in the schema: {path}[]", path=path)


def compile_elements(layout: Layout, qualifier: Qualifier) -> Callable[..., Callable[[etree._Element, int], None]]:
    """Return a function bind(owners, codes, dictionaries, drop, moved) that gives the reader of one record's element.

    drop(place, tag) is called for what the schema does not name, moved(element, row, container) for the reserved
    name; a step that repeats without a mark raises DataError with its path.
    """
    source = _Source(layout, qualifier)
    source.put(0, "def bind(owners, codes, dictionaries, drop, moved):")
    for container in layout.containers:
        source.put(1, f"owners{container.index} = owners[{container.index}]")
        source.put(1, f"o{container.index} = owners{container.index}.append")
    for index in range(len(layout.classes)):
        source.put(1, f"c{index} = codes[{index}].append")
        source.put(1, f"d{index} = dictionaries[{index}]")
    source.put(1, "def extras(e, place):")
    source.put(2, "for key in e.keys(): drop(place + '@', key)")
    source.put(2, "for child in e: drop(place, child.tag)")
    for container in layout.containers:
        source.container(container)
    source.put(1, "return read0")
    scope: dict[str, Any] = {"mixed": mixed_text, "holds": predicate_holds, "repeats": _repeats}
    scope.update({f"p{i}": predicate for i, predicate in enumerate(source.predicates)})
    # The only foreign texts in this code are names out of the schema, as Python literals.
    exec(compile("\n".join(source.lines), "<compiled reader>", "exec"), scope)
    # Taken out, as a function and what it sees would hold each other.
    bind: Callable[..., Callable[[etree._Element, int], None]] = scope.pop("bind")
    return bind
