"""What a check of a release found, as data and as sentences.

The work of a check in portions, on several threads.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Ints
from treeanon.io.beyond.findings import Finding, as_data, said_of
from treeanon.privacy.guarantee import Guarantee
from treeanon.progress import Progress
from treeanon.shown import Grid, Shown, Summary


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


_NOT = "not "
"""What names of absences begin with."""


def _relation_text(first: str, second: str, in_type: str = "") -> str:
    if in_type:
        return f"{first} and {second} in one {in_type}"
    return f"no such {second[len(_NOT) :]} below {first}" if second.startswith(_NOT) else f"{first} ⇝ {second}"


@dataclass(frozen=True)
class Failure:
    """Combinations of one pattern of classes that single out too few persons; never with values.

    `labels` are class names (`not disease` for an absence), `relations` pairs of them, the upper one first; the pair
    (hospital, not disease) says that a disease of the labels is nowhere below the hospital. Where objects
    stay whole, a relation is two classes and the type of the objects that hold both.
    `combinations` counts what fails, `least` is the smallest number of persons behind one. `sensitive` is empty, or
    the class in which the groups are not diverse.
    """

    labels: tuple[str, ...]
    relations: tuple[tuple[str, ...], ...]
    combinations: int
    least: int
    sensitive: str = ""

    @property
    def pattern(self) -> str:
        """Return the classes and relations of the pattern as text."""
        related = [_relation_text(*relation) for relation in self.relations]
        return " + ".join(self.labels) + (f" with {', '.join(related)}" if related else "")

    @property
    def sentence(self) -> str:
        """Return the failure as a sentence."""
        counted = _counted(self.combinations, "combination")
        few = f"as few as {_counted(self.least, 'person')}"
        if self.sensitive:
            return f"{self.pattern}: {counted} of {few} not diverse in {self.sensitive}"
        return f"{self.pattern}: {counted} held by {few}"

    def as_dict(self) -> dict[str, Any]:
        """Return the failure as plain data."""
        plain: dict[str, Any] = {"labels": list(self.labels), "relations": [list(pair) for pair in self.relations]}
        plain |= {"combinations": self.combinations, "least": self.least}
        return plain | ({"sensitive": self.sensitive} if self.sensitive else {})


@dataclass(frozen=True)
class Diverse:
    """Diversity, in one sensitive class, of the groups that an attacker can form.

    `largest_l` is the largest l that holds for all of them; None where no group holds a value of the class.
    """

    sensitive: str
    holds: bool
    largest_l: int | None

    def as_dict(self) -> dict[str, Any]:
        """Return the result as plain data."""
        return {"class": self.sensitive, "holds": self.holds, "largest_l": self.largest_l}


@dataclass(frozen=True, repr=False)
class Verdict(Shown):
    """Verdict on a collection of trees: whether the guarantee holds, and the largest k that does.

    `largest_k` is None where nobody has a label: then every k holds. `label_sets` counts the sets of labels that were
    looked at. `published_k` is the largest k as published, and `original_k` that for what is known of the original; one
    of them is `largest_k`. They differ where nodes were moved. `failures` groups what fails by classes, the simplest
    first. `beyond` is what a file holds that was not counted: then the release does not hold.
    """

    guarantee: Guarantee
    holds: bool
    largest_k: int | None
    persons: int
    label_sets: int
    failures: tuple[Failure, ...] = ()
    diversity: tuple[Diverse, ...] = ()
    seconds: float = 0.0
    published_k: int | None = None
    original_k: int | None = None
    beyond: tuple[Finding, ...] = ()

    def __bool__(self) -> bool:
        """Return whether the guarantee holds."""
        return self.holds

    def _summary(self) -> Summary:
        facts = [("guarantee", self.guarantee.sentence), ("persons", self.persons), ("label sets", self.label_sets)]
        rows = [[one.pattern, one.combinations, one.least, one.sensitive] for one in self.failures]
        heads = ["Failing classes", "Combinations", "Fewest persons", "Not diverse in"]
        return Summary("Verdict", self.sentence, facts, [Grid("Failures", heads, rows)] if rows else [])

    @property
    def sentence(self) -> str:
        """Return the verdict as a sentence."""
        guarantee = self.guarantee
        name = f"{guarantee.k}^({guarantee.m},{guarantee.n})-anonymity"
        if self.largest_k is None:
            return said_of(self.beyond, f"{name} holds: no person has a label that an attacker could know.")
        readings = ["for what is known of the original", "as published (TREE)"]
        asked, other = readings[::-1] if guarantee.as_published else readings
        beside = self.original_k if guarantee.as_published else self.published_k
        same = beside is None or beside == self.largest_k
        reading = f"{'holds' if self.largest_k >= guarantee.k else 'does not hold'}{',' if same else ''} {asked}"
        words = [f"{name} {reading}{f' and {other}' if same else ''}."]
        words.append(f"The largest k that holds is {self.largest_k:,}{'' if same else f'; {other}, {beside:,}'}.")
        for found in self.diversity:
            if found.largest_l is None:
                words.append(f"No person has a value of {found.sensitive}.")
            else:
                holds = "holds" if found.holds else "does not hold"
                words.append(
                    f"{guarantee.l}-diversity of {found.sensitive} {holds}: the largest l is {found.largest_l}."
                )
        return said_of(self.beyond, " ".join(words))

    def as_dict(self) -> dict[str, Any]:
        """Return the verdict as plain data, as solutions and `--json` hold it."""
        plain: dict[str, Any] = {
            "holds": self.holds,
            "guarantee": self.guarantee.as_dict(),
            "largest_k": self.largest_k,
            "persons": self.persons,
            "label_sets": self.label_sets,
            "failures": [failure.as_dict() for failure in self.failures],
        }
        for name, found in (("as_published", self.published_k), ("of_original", self.original_k)):
            plain[f"largest_k_{name}"] = self.largest_k if found is None else found
        if self.diversity:
            plain["diversity"] = [found.as_dict() for found in self.diversity]
        plain |= as_data(self.beyond)
        return plain | {"seconds": round(self.seconds, 3)}


T = TypeVar("T")

_PORTIONS = 64


def in_parts(task: Callable[[Ints], T], work: npt.NDArray[np.float64], jobs: int, progress: Progress | None) -> list[T]:
    """Return the task's results for all items, in portions of about equal work; kernels release the lock."""
    parts = shares(work)
    found: list[T] = []
    with ThreadPoolExecutor(min(jobs, max(len(parts), 1))) as pool:
        for made in pool.map(task, parts):
            found.append(made)
            if progress is not None:
                progress(len(found), len(parts))
    return found


def shares(work: npt.NDArray[np.float64]) -> list[Ints]:
    """Return the items in portions of about equal work, the heaviest first.

    >>> [part.tolist() for part in shares(np.array([1.0, 100.0, 100.0, 0.5]))]
    [[1], [2], [0, 3]]
    """
    order = np.argsort(-work, kind="stable").astype(np.int32)
    portion = work.sum() / _PORTIONS
    ends: list[int] = []
    held = 0.0
    for number, item in enumerate(order.tolist(), start=1):
        held += work[item]
        if held >= portion:
            ends.append(number)
            held = 0.0
    return [part for part in np.split(order, ends) if len(part)]
