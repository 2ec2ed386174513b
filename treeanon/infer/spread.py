"""Samples from the beginning, middle and end of what there is, also of streams whose length nobody knows."""

from __future__ import annotations

from collections import deque
from operator import itemgetter
from random import Random
from typing import Generic, TypeVar

T = TypeVar("T")


def spread(count: int, most: int) -> list[int]:
    """Return the numbers of at most so many of a count of things, from their beginning, middle and end.

    >>> spread(3, 9), spread(100, 6)
    ([0, 1, 2], [0, 1, 49, 50, 98, 99])
    """
    if count <= most:
        return list(range(count))
    third = -(-most // 3)
    last = min(third, most - third)
    middle = most - third - last
    start = (count - middle) // 2
    return [*range(third), *range(start, start + middle), *range(count - last, count)]


class Spread(Generic[T]):
    """A collector of at most so many of a stream of things, whose number is known only at its end.

    The first third are kept as they come, the last as well; of those between them, a part drawn evenly.

    >>> spread = Spread(6)
    >>> for number in range(1000): spread.add(number)
    >>> found = spread.all()
    >>> found[:2], found[-2:], len(found), spread.count
    ([0, 1], [998, 999], 6, 1000)
    """

    def __init__(self, most: int) -> None:
        self.first: list[T] = []
        self.last: deque[T] = deque()
        self.between: list[tuple[int, T]] = []
        self.count = 0
        self.sizes = (-(-most // 3), most - -(-most // 3) - (most // 3), most // 3)
        # which records are looked at protects nobody: the same input should give the same schema
        self.chance = Random(0)

    def add(self, thing: T) -> None:
        """Take the next thing."""
        self.count += 1
        of_first, of_between, of_last = self.sizes
        if len(self.first) < of_first:
            self.first.append(thing)
            return
        self.last.append(thing)
        if len(self.last) <= of_last:
            return
        number = self.count - of_last
        passed = number, self.last.popleft()
        if len(self.between) < of_between:
            self.between.append(passed)
        elif of_between and (at := self.chance.randrange(number - of_first)) < of_between:
            self.between[at] = passed

    def all(self) -> list[T]:
        """Return what was kept, in order."""
        return [*self.first, *(thing for _, thing in sorted(self.between, key=itemgetter(0))), *self.last]
