"""Extensions: what other installed packages add to the formats, the privacy models and the searches.

A package adds something by an entry point of one of the groups `treeanon.formats`, `treeanon.models` and
`treeanon.algorithms`. Its name is the name that users write; its value is one object in one file:

    [project.entry-points."treeanon.formats"]
    kv = "my_package.kv:FORMAT"

Names are read from the metadata of installed packages; the object's module is imported when the object is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar

from treeanon.errors import UsageError

T = TypeVar("T")


class _Plugins(Mapping[str, object]):
    """The objects of one group of entry points by name; each is imported when it is first asked for."""

    def __init__(self, group: str) -> None:
        self._points: dict[str, EntryPoint] = {}
        self._loaded: dict[str, object] = {}
        for point in entry_points(group=group):
            other = self._points.setdefault(point.name, point)
            # One package that lies on the path twice gives the same entry point twice: no clash.
            if other.value != point.value:
                raise UsageError(f"{describe(point)} clashes with {describe(other)}: uninstall or rename one of them")

    def __getitem__(self, name: str) -> object:
        if name not in self._loaded:
            point = self._points[name]
            try:
                self._loaded[name] = point.load()
            except Exception as error:  # the code of others may fail in any way
                what = f"{type(error).__name__}: {error}"
                raise UsageError(f"{describe(point)} cannot be loaded from {point.value} ({what})") from error
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._points)

    def __len__(self) -> int:
        return len(self._points)

    def __contains__(self, name: object) -> bool:
        return name in self._points

    def described(self, name: str) -> str:
        """Return the words that name an entry point in an error."""
        return describe(self._points[name])


def describe(point: EntryPoint) -> str:
    """Return the words that name an entry point in an error: its name, its group and its package."""
    package = f" of package {point.dist.name!r}" if point.dist is not None else ""
    return f"entry point {point.name!r} in {point.group}{package}"


@cache
def plugins(group: str) -> _Plugins:
    """Return what installed packages add to a group, by name; nothing is imported before it is looked up.

    Two packages that give one name to different things, and an object that cannot be imported, are a UsageError that
    names the entry point. `plugins.cache_clear()` makes the next call look at the installed packages again.

    >>> list(plugins("treeanon.nothing"))
    []
    """
    return _Plugins(group)


class Registry(Mapping[str, T], Generic[T]):
    """What the package has of a kind, by name, and what plugins add to it.

    `group` is the group of entry points, `kind` the type that every object in it must have, `noun` the word for it in
    errors. An object with a `name` must be called as its entry point is.

    >>> numbers = Registry("treeanon.nothing", int, "number", {"one": 1, "two": 2})
    >>> numbers["one"], list(numbers)
    (1, ['one', 'two'])
    >>> numbers.named("three")
    Traceback (most recent call last):
    treeanon.errors.UsageError: unknown number 'three'; choose from one, two
    """

    def __init__(self, group: str, kind: type[T], noun: str, built_in: Mapping[str, T]) -> None:
        self.group, self.kind, self.noun, self.built_in = group, kind, noun, dict(built_in)

    def __getitem__(self, name: str) -> T:
        if name in self.built_in:
            return self.built_in[name]
        found = self._added()
        made, where = found[name], found.described(name)
        if not isinstance(made, self.kind):
            raise UsageError(f"{where} is no {self.kind.__name__}, which every {self.noun} must be")
        own = getattr(made, "name", name)
        # A class may describe its name by a property; only an object's own text is compared.
        if isinstance(own, str) and own != name:
            raise UsageError(f"{where} calls itself {own!r}; give both the same name")
        return made

    def __iter__(self) -> Iterator[str]:
        yield from self.built_in
        yield from self._added()

    def __len__(self) -> int:
        return len(self.built_in) + len(self._added())

    def __contains__(self, name: object) -> bool:
        return name in self.built_in or name in self._added()

    def named(self, name: str) -> T:
        """Return the object of that name; UsageError lists the names there are."""
        if name not in self:
            raise UsageError(f"unknown {self.noun} {name!r}; choose from {', '.join(self)}")
        return self[name]

    def _added(self) -> _Plugins:
        added = plugins(self.group)
        for name in added:
            if name in self.built_in:
                where = added.described(name)
                raise UsageError(f"{where} has the name of a {self.noun} of treeanon itself: rename it")
        return added
