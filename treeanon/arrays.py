"""The types of arrays: one name for each kind of number."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Flags = npt.NDArray[np.bool_]
Tinies = npt.NDArray[np.int8]
Shorts = npt.NDArray[np.int16]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]

SetArrays = tuple[Tinies, Longs, Ints, Words, Ints]
"""kind, at, size, rows, lists: numbered record sets, as `treeanon.kernels.tree.record_sets` has them."""
