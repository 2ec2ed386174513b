"""Two folders exchange their names in one step, where the system can do that."""

from __future__ import annotations

import ctypes
import errno
import os
from functools import cache
from pathlib import Path
from typing import Any

_HERE = -100
_EXCHANGE = 2
_UNKNOWN = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)


@cache
def _renameat2() -> Any:
    """Return Linux's function of that name; None elsewhere."""
    try:
        found: Any = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError):
        return None
    found.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    return found


def exchange(new: Path, old: Path) -> None:
    """Give what is at the path `new` the name `old`, and the other way round: nobody finds nothing there meanwhile.

    Where the system cannot do that, `old` is away for an instant, and is back if the new one cannot take its place.
    """
    rename = _renameat2()
    if rename is not None and rename(_HERE, os.fsencode(new), _HERE, os.fsencode(old), _EXCHANGE) == 0:
        return
    if rename is not None and (code := ctypes.get_errno()) not in _UNKNOWN:
        raise OSError(code, os.strerror(code), str(old))
    away = new.with_name(f".{new.name[:100]}.away")
    old.rename(away)
    try:
        new.rename(old)
    except BaseException:
        away.rename(old)
        raise
    away.rename(new)
