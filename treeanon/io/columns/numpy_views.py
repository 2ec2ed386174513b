"""Arrow's arrays of whole numbers as views of NumPy, without what `to_numpy` brings along."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa


def viewed(numbers: pa.Array) -> npt.NDArray[np.integer]:
    """The numbers of an array of integers without nulls; they share its memory.

    Arrow's own way imports pandas if that is installed, which takes longer than reading a small file.

    >>> import pyarrow as pa
    >>> viewed(pa.array([3, 4, 5], pa.int32()).slice(1)).tolist()
    [4, 5]
    """
    kind = np.dtype(numbers.type.to_pandas_dtype())
    buffer = numbers.buffers()[1]
    if numbers.null_count or kind.kind not in "iu" or buffer is None:
        return np.asarray(numbers)
    return np.frombuffer(buffer, kind)[numbers.offset : numbers.offset + len(numbers)]


def indices(codes: npt.NDArray[np.integer]) -> pa.Array:
    """Codes as an Arrow array, with null for those below 0.

    >>> indices(np.array([1, -1, 0])).to_pylist()
    [1, None, 0]
    """
    import pyarrow as pa

    data = np.ascontiguousarray(codes, np.int32)
    there = data >= 0
    bits = None if there.all() else pa.py_buffer(np.packbits(there, bitorder="little"))
    return pa.Array.from_buffers(pa.int32(), len(data), [bits, pa.py_buffer(data)])


def strings(texts: Sequence[str]) -> pa.Array:
    """Texts as an Arrow array; UnicodeEncodeError if one holds half of a character.

    >>> strings(["a", "", "ü"]).to_pylist()
    ['a', '', 'ü']
    """
    import pyarrow as pa

    data = [text.encode() for text in texts]
    ends = np.zeros(len(data) + 1, np.int64)
    np.cumsum([len(one) for one in data], out=ends[1:])
    long = pa.Array.from_buffers(pa.large_string(), len(data), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(data))])
    return long.cast(pa.string())
