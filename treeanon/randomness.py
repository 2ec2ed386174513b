"""Randomness: that of the operating system, or that of the seed which a test gives so that outputs repeat.

What the order of published rows, fresh keys and drawn matchings rest on comes from here. A search that only tries
several starts has a generator of its own, seeded always, so that it finds the same again.
"""

from __future__ import annotations

import hashlib
import os
import random
import secrets
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from treeanon.arrays import Longs


def shuffled(count: int, seed: int | None = None) -> Longs:
    """Return the numbers below `count` in random order.

    >>> sorted(shuffled(3).tolist()), shuffled(5, seed=1).tolist() == shuffled(5, seed=1).tolist()
    ([0, 1, 2], True)
    """
    if seed is not None:
        return np.random.default_rng(seed).permutation(count)
    keys = np.frombuffer(os.urandom(16 * count), np.uint64).reshape(2, count)
    return np.lexsort(keys)


def random_orders(seed: int | None = None) -> Callable[[int], Longs]:
    """Return a function that gives one random order after another, all different also where a seed repeats them."""
    following = seed

    def order(count: int) -> Longs:
        nonlocal following
        found = shuffled(count, following)
        following = None if following is None else following + 1
        return found

    return order


def secret_key(size: int) -> bytes:
    """Return so many random bytes of the operating system."""
    return secrets.token_bytes(size)


class Randomness:
    """Random numbers, all equally likely."""

    def __init__(self, seed: int | None = None) -> None:
        self._own = None if seed is None else np.random.default_rng(seed)

    def _bytes(self, count: int) -> bytes:
        return secrets.token_bytes(count) if self._own is None else self._own.bytes(count)

    def draws(self, count: int) -> npt.NDArray[np.uint32]:
        """Return numbers of 32 bits each."""
        return np.frombuffer(self._bytes(4 * count), np.uint32)

    def below(self, limit: int, count: int) -> Longs:
        """Return whole numbers from 0 to before the limit."""
        highest = 2**63 // limit * limit
        found = self._words(count)
        while (over := np.flatnonzero(found >= highest)).size:
            found[over] = self._words(len(over))
        return np.asarray(found % limit, np.int64)

    def order(self, count: int) -> Longs:
        """Return the numbers from 0 to before the count in random order."""
        return np.argsort(self._words(count), kind="stable").astype(np.int64)

    def _words(self, count: int) -> npt.NDArray[np.int64]:
        return np.frombuffer(self._bytes(8 * count), np.int64) & np.int64(2**63 - 1)


def generator(seed: int | None = None) -> np.random.Generator:
    """Return NumPy's generator."""
    return np.random.default_rng(seed)


def chance(seed: int | None = None) -> random.Random:
    """Return Python's generator."""
    return random.SystemRandom() if seed is None else random.Random(seed)


def secret_of(seed: int | None) -> bytes:
    """Return a secret that makes random numbers which are the same for every attempt at a task of Spark."""
    return secrets.token_bytes(32) if seed is None else str(seed).encode()


def words_of(secret: bytes, name: bytes, count: int) -> npt.NDArray[np.uint64]:
    """Return the random numbers of 64 bits that a secret makes for what has this name, always the same.

    >>> words_of(b"secret", b"part 1", 2).tolist() == words_of(b"secret", b"part 1", 3).tolist()[:2]
    True
    """
    return np.frombuffer(hashlib.shake_256(b"%s %s" % (secret, name)).digest(8 * count), np.uint64)


def keyed_name(secret: bytes, content: bytes) -> bytes:
    """Return 16 bytes that stand for a content, which without the secret tell nothing of it."""
    return hashlib.blake2b(content, key=hashlib.sha256(secret).digest(), digest_size=16).digest()


def hash_seed() -> int:
    """Return a seed for hashes of values, so that nobody can write data whose hashes all collide."""
    return secrets.randbits(62)
