"""Forests built from container tables: dictionaries, pseudonyms, the class tree, merging and canonical order.

Equal siblings are merged as in Section II-A of O. Gkountouna and M. Terrovitis, "Anonymizing collections of
tree-structured data" (IEEE TKDE 2015); where objects stay whole they are not.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from treeanon.arrays import Ints
from treeanon.errors import HierarchyError, UsageError
from treeanon.forest.classes import Classes
from treeanon.forest.forest import Forest
from treeanon.forest.planting import Planter, has_moved_nodes, merged
from treeanon.forest.report import ReadReport
from treeanon.forest.tables import Batch
from treeanon.hierarchy import Flat, Hierarchy
from treeanon.hierarchy.intervals import Intervals
from treeanon.hierarchy.links import ROOT
from treeanon.hierarchy.numbers import NumberTexts
from treeanon.schema import ClassSpec, Layout, Schema

KEY_VARIABLE = "TREEANON_KEY"
"""The environment variable that holds the key."""

_PSEUDONYM = re.compile(r"p-[0-9a-f]{32}")
_TAG = b"treeanon pseudonym "


def pseudonym(text: str, key: bytes, kind: str) -> str:
    """Return the keyed pseudonym of a text among ids of a kind; a pseudonym (of a release read again) stays as it is.

    Equal texts of two kinds have different pseudonyms. The last 8 digits check the others, so that an id that merely
    looks like a pseudonym is not taken for one.

    >>> first = pseudonym("17", b"secret key of 16+", "patient")
    >>> len(first), pseudonym(first, b"another key of 16", "patient") == first
    (34, True)
    >>> pseudonym("17", b"secret key of 16+", "doctor") == first
    False
    >>> odd = "p-d41d8cd98f00b204e9800998ecf8427e"
    >>> pseudonym(odd, b"another key of 16", "patient") == odd
    False
    """
    if _PSEUDONYM.fullmatch(text) and _check(text[2:26]) == text[26:]:
        return text
    # With its length before it, no kind and text run together into those of another kind.
    content = f"{len(kind)} {kind} {text}".encode("utf-8", "surrogatepass")
    digits = hmac.new(key, content, hashlib.sha256).hexdigest()[:24]
    return f"p-{digits}{_check(digits)}"


def _check(digits: str) -> str:
    return hashlib.sha256(_TAG + digits.encode()).hexdigest()[:8]


def pseudonym_key() -> bytes:
    """Return the key from the environment; UsageError says how to set it."""
    key = os.environ.get(KEY_VARIABLE, "").encode()
    if len(key) < 16:
        raise UsageError(
            f"a class has pseudonyms: set the environment variable {KEY_VARIABLE} to a secret of 16 bytes or more"
        )
    return key


log = logging.getLogger(__name__)


class ForestBuilder:
    """Builder of a forest from batches of container tables; `finish` returns it in canonical form.

    `reads` is the schema by which readers make the batches.
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = self.reads = schema
        self.layout: Layout = schema.layout
        self.batches: list[Batch] = []
        self.report = ReadReport()

    @property
    def records(self) -> int:
        """The number of records so far."""
        return sum(part.records for part in self._parts())

    @property
    def any_moved(self) -> bool:
        """Whether nodes stand apart from the objects of the batches so far."""
        return any(len(part.moved.held) for part in self._parts())

    def _parts(self) -> Iterator[Batch]:
        for batch in self.batches:
            yield batch
            if batch.apart is not None:
                yield batch.apart

    def add(self, batch: Batch) -> None:
        """Take in the container tables of some records."""
        self.batches.append(self._cleaned(with_objects(batch, self.layout)))

    def _cleaned(self, batch: Batch) -> Batch:
        """Return the batch with the texts that are published; texts that only skipped records used are ""."""
        texts = tuple(self._published(index, batch) for index in range(len(self.layout.classes)))
        apart = None if batch.apart is None else self._cleaned(batch.apart)
        return replace(batch, texts=texts, apart=apart)

    def _published(self, index: int, batch: Batch) -> Sequence[str]:
        spec, texts = self.layout.classes[index].spec, batch.texts[index]
        used = np.zeros(len(texts) + 1, bool)
        for column in self._columns(index, batch):
            used[column] = True
        if isinstance(texts, NumberTexts) and not spec.pseudonym:
            return texts if used[:-1].all() else texts.only(used[:-1])
        if not used[:-1].all():
            texts = [text if is_used else "" for text, is_used in zip(texts, used.tolist(), strict=False)]
        if spec.type != "text":
            texts, given = [text.strip() for text in texts], texts
            self._count_padded(index, batch, given, texts)
        if spec.pseudonym and texts:
            key = pseudonym_key()
            texts = [pseudonym(text, key, spec.pseudonym_kind) if text else "" for text in texts]
        return texts

    def _count_padded(self, index: int, batch: Batch, given: Sequence[str], texts: Sequence[str]) -> None:
        """Count the values that were given with white space around them."""
        padded = np.array([text != own for text, own in zip(given, texts, strict=True)] + [False])
        if padded.any():
            times = sum(int(padded[column].sum()) for column in self._columns(index, batch))
            self.report.padded[self.layout.classes[index].name] += times

    def _columns(self, index: int, batch: Batch) -> list[Ints]:
        """Return all code columns of a class in a batch."""
        container = self.layout.classes[index].container
        moved = batch.moved.code[batch.moved.held == index]
        return [moved] if container < 0 else [moved, batch.tables[container].codes[index]]

    def finish(self, *, show_values: bool = False, jobs: int = 1) -> Forest:
        """Return the forest of all batches, which are released meanwhile.

        Values that a hierarchy does not know are an error, or become the class root where the schema says so; the
        error counts them, and lists them only with `show_values`.
        """
        resolved = [self._resolve(index, show_values) for index in range(len(self.layout.classes))]
        classes = Classes(
            tuple(c.name for c in self.layout.classes),
            tuple(c.parent for c in self.layout.classes),
            tuple(hierarchy for hierarchy, _ in resolved),
            self.layout.types,
        )
        codes = [iter(of_parts) for _, of_parts in resolved]
        firsts = classes.first.tolist()

        def labels() -> list[Ints]:
            return [_labels(next(of_parts), first) for of_parts, first in zip(codes, firsts, strict=False)]

        any_moved = self.any_moved
        waiting, self.batches = deque(self.batches), []
        planter = Planter(self.layout, sum(batch.cells for batch in waiting), jobs)
        while waiting:
            batch = waiting.popleft()
            apart = batch.apart
            planter.plant(batch, labels(), None if apart is None else (apart, labels()))
            del batch
        return recognized(Forest(self.schema, classes, *planter.finish(), self.report), any_moved)

    def distinct_texts(self, index: int) -> set[str]:
        """Return the value texts of a class in the batches so far."""
        return {text for part in self._parts() for text in part.texts[index] if text}

    def distinct_numbers(self, index: int) -> NumberTexts | None:
        """Return the value texts of a class in the batches so far if all are numbers that were read as such."""
        parts = [part.texts[index] for part in self._parts() if len(part.texts[index])]
        if not all(isinstance(part, NumberTexts) for part in parts):
            return None
        found = NumberTexts.together(parts)
        return None if found is None else NumberTexts(found.numbers(), found.decimals)

    def occurrences(self, index: int) -> Counter[str]:
        """Return the count of each value text of a class in the batches so far."""
        times = Counter[str]()
        for part in self._parts():
            texts = part.texts[index]
            columns = np.concatenate(self._columns(index, part)) + 1
            counts = np.bincount(columns, minlength=len(texts) + 1)[1:]
            for i in np.flatnonzero(counts).tolist():
                if texts[i]:
                    times[texts[i]] += int(counts[i])
        return times

    def _resolve(self, index: int, show_values: bool) -> tuple[Hierarchy, list[Ints]]:
        """Return a class's hierarchy, and for the texts of every part the nodes they stand for (-1: no node)."""
        spec = self.layout.classes[index].spec
        parts = list(self._parts())
        hierarchy = hierarchy_for(spec, [part.texts[index] for part in parts])
        codes = [hierarchy.encode(part.texts[index]) for part in parts]
        unknown = Counter[str]()
        for part, found in zip(parts, codes, strict=True):
            strange = [i for i in np.flatnonzero(found < 0).tolist() if part.texts[index][i]]
            if strange:
                column = np.concatenate(self._columns(index, part)) + 1
                times = np.bincount(column, minlength=len(found) + 1)[1:]
                for i in strange:
                    unknown[part.texts[index][i]] += int(times[i])
                found[strange] = 0
        if unknown:
            self.handle_unknown(spec, unknown, show_values=show_values)
        return hierarchy, codes

    def handle_unknown(self, spec: ClassSpec, unknown: Counter[str], *, show_values: bool) -> None:
        """Count values that a class's hierarchy does not know, or refuse them where the schema says so."""
        if spec.on_unknown == "suppress":
            self.report.unknown[spec.name] += unknown.total()
            log.warning("class %r: %d values unknown to its hierarchy became the root", spec.name, len(unknown))
            return
        listed = ": " + ", ".join(map(repr, unknown)) if show_values else ""
        raise HierarchyError(
            f"class {spec.name!r}: its hierarchy does not know {len(unknown)} distinct values of the data"
            f' ({unknown.total()} occurrences){listed}; complete the hierarchy or set on_unknown = "suppress"'
            + ("" if show_values else " (--show-values lists them)")
        )


def _labels(codes: Ints, first: int) -> Ints:
    """Return labels for codes of a class, with -1 at the end for code -1 (absent)."""
    return np.append(np.where(codes < 0, -1, codes + first), -1).astype(np.int32)


def recognized(forest: Forest, any_moved: bool) -> Forest:
    """Return the forest, or its merged trees where the schema leaves open what objects are and nodes have moved.

    Nothing moves out of an object that stays whole: so they are the trees of a release, or file, of merged trees.
    """
    if any_moved and forest.schema.input.objects_open and forest.classes.types and has_moved_nodes(forest):
        return merged(forest)
    return forest


def with_objects(batch: Batch, layout: Layout) -> Batch:
    """Return the batch with the type of every object as one more value of its row, where objects stay whole."""
    if not layout.types:
        return batch
    tables, texts = list(batch.tables), list(batch.texts)
    for index, published in enumerate(layout.classes[: layout.types]):
        table = tables[published.container]
        tables[published.container] = replace(table, codes={**table.codes, index: np.zeros(len(table), np.int32)})
        texts[index] = [ROOT]
    apart = None if batch.apart is None else with_objects(batch.apart, layout)
    return replace(batch, tables=tuple(tables), texts=tuple(texts), apart=apart)


def hierarchy_for(spec: ClassSpec, parts: Sequence[Sequence[str]]) -> Hierarchy:
    """Return the hierarchy of a class: the one it declares, or the one its builder makes of the values."""
    if isinstance(spec.hierarchy, Hierarchy):
        return spec.hierarchy
    builder = Flat() if spec.pseudonym else spec.hierarchy
    if isinstance(builder, Intervals) and any(isinstance(part, NumberTexts) for part in parts):
        numbers = NumberTexts.together(parts)
        found = None if numbers is None else builder.build_numbers(numbers)
        if found is not None:
            return found
    return builder.build(filter(None, chain.from_iterable(parts)))
