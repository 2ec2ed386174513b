"""Arrays put aside on disk, so that memory does not grow with what is read."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import BinaryIO

import numpy as np

from treeanon.errors import FileError

Slices = Callable[[int, int], np.ndarray]
"""Gives the entries of an array from one number to another."""


def in_memory(array: np.ndarray) -> Slices:
    """Return the slices of an array that stays in memory."""
    return lambda start, stop: array[start:stop]


class Spill:
    """A file without a name, which is gone when the program ends, however it ends; it is made when it is needed.

    >>> spill = Spill()
    >>> first, second = spill.put(np.arange(5)), spill.put(np.ones((3, 2)))
    >>> first(1, 3).tolist(), second(0, 3).shape
    ([1, 2], (3, 2))
    """

    def __init__(self) -> None:
        self.file: BinaryIO | None = None
        self.size = 0

    def put(self, array: np.ndarray) -> Slices:
        """Write an array, and return its slices, each of which is read from the file again."""
        start, kind, shape = self.size, array.dtype, array.shape[1:]
        width = kind.itemsize * int(np.prod(shape, dtype=np.int64))
        try:
            if self.file is None:
                self.file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - as long as the slices
            left = array.tobytes()
            while left:
                left = left[self.file.write(left) :]
        except OSError as error:
            what = f"cannot put rows aside: {error.strerror}; TMPDIR names another folder for them"
            raise FileError(f"{tempfile.gettempdir()}: {what}") from None
        self.size += array.nbytes
        file = self.file

        def read(first: int, stop: int) -> np.ndarray:
            found = os.pread(file.fileno(), (stop - first) * width, start + first * width)
            return np.frombuffer(found, kind).reshape(-1, *shape)

        return read
