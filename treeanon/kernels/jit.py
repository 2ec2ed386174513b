"""The one place that decides how kernels are compiled.

Set NUMBA_DISABLE_JIT=1 to run the same code uncompiled, for debugging.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy.typing as npt

F = TypeVar("F", bound=Callable[..., Any])


def njit(function: F) -> F:
    """The function, compiled on its first call and cached on disk; it holds no interpreter lock.

    Where nothing on disk can be written (a service user without a home), it is compiled anew in every process.
    """
    try:
        return cast(F, numba.njit(cache=True, nogil=True)(function))
    except RuntimeError:
        return cast(F, numba.njit(nogil=True)(function))


def read_only(*arrays: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], ...]:
    """Views of arrays that cannot be written to.

    A kernel is compiled anew for arrays that can and for arrays that cannot: where both come in, this saves seconds.
    """
    views = tuple(array.view() for array in arrays)
    for view in views:
        view.flags.writeable = False
    return views
