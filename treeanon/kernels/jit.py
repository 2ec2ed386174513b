"""The one place that decides how kernels are compiled.

Set NUMBA_DISABLE_JIT=1 to run the same code uncompiled, for debugging.

Tells when kernels are being compiled: that takes seconds, and what is broken off must be begun again.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable
from functools import cache, partial, wraps
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

# Where colorama is installed, numba would have it write to the terminal when the program ends.
os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")


def _import_numba() -> None:
    """Import numba without settings from a file `.numba_config.yaml` in the current folder.

    What somebody sent may lie there, and must not say from where kernels are loaded. Numba passes over the file if it
    finds no parser of YAML, and need not load one either, which takes a fifth of its own time.
    """
    held, modules = sys.modules.get("yaml"), cast(dict[str, Any], sys.modules)
    modules["yaml"] = None
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="A Numba config file is found")
            import_module("numba")
    finally:
        del modules["yaml"]
        if held is not None:
            modules["yaml"] = held


_import_numba()

import numba  # noqa: E402
import numpy as np  # noqa: E402
import numpy.typing as npt  # noqa: E402
from numba.core import event, types  # noqa: E402

_ahead: Any = import_module("treeanon.kernels.ahead")

_IMPORT = re.compile(rb"^from treeanon\.kernels\.([\w.]+) import ", re.MULTILINE)

_TESTED = (0, 68), (0, 68)
"""With these versions of numba, first and last, kernels are compiled as a whole (whole.py), and plainly with others."""

F = TypeVar("F", bound=Callable[..., Any])


def _is_tested() -> bool:
    return _TESTED[0] <= tuple(map(int, numba.__version__.split(".")[:2])) <= _TESTED[1]


PLAIN = bool(os.environ.get("TREEANON_PLAIN_KERNELS")) or not _is_tested()
"""Whether kernels are compiled by numba's own means alone."""

_options: dict[str, Any] = {"nogil": True}
if not PLAIN:
    _whole: Any = import_module("treeanon.kernels.whole")
    _whole.leave_out_wrappers()
    import_module("treeanon.kernels.numba_shortcuts").start()
    _options |= {"no_cfunc_wrapper": True, "pipeline_class": _whole.WholeCompiler}


def njit(function: F) -> F:
    """The function, compiled on its first call and cached on disk; it holds no interpreter lock.

    Where nothing on disk can be written (a service user without a home), it is compiled anew in every process.
    """
    try:
        compiled: Any = numba.njit(cache=True, **_options)(function)
    except RuntimeError:
        compiled = numba.njit(**_options)(function)
    _stamp(compiled)
    if compiled is not function:
        _call_with_wide_numbers(compiled, function)
    return cast(F, compiled)


FEW = 128
"""Tables of so many rows at most are worked on by uncompiled kernels: that takes less time than to compile them."""


def for_rows(kernel: F, rows: int) -> F:
    """Return a kernel, or for few rows the same uncompiled: it takes milliseconds then, and compiling up to seconds."""
    if rows > FEW or not hasattr(kernel, "py_func"):
        return kernel
    function = _uncompiled(kernel.py_func.__module__)[kernel.py_func.__name__]

    @wraps(function)
    def run(*given: Any) -> Any:
        # Whole numbers that become too great begin anew, as they do in machine code.
        with np.errstate(over="ignore"):
            return function(*given)

    return cast(F, run)


@cache
def _uncompiled(module: str) -> dict[str, Any]:
    """Return what a module of kernels names, all kernels as they are written."""
    names = dict(vars(import_module(module)))
    for name, given in list(names.items()):
        if function := getattr(given, "py_func", None):
            is_own = function.__module__ == module
            names[name] = FunctionType(function.__code__, names) if is_own else _uncompiled(function.__module__)[name]
    return names


def _call_with_wide_numbers(compiled: Any, function: F) -> None:
    """Have other kernels pass it all whole numbers as 64 bits, and none as a type of its own.

    To numba a constant is of a type of its own, and so is, for a first look at a loop, a number that begins with one:
    each would have the kernel compiled once more, and what it calls: a fifth of all compilations. Where kernels are
    compiled as a whole, others call a twin of it that has no code of its own.
    """
    own = compiled.get_call_template

    @cache
    def part() -> Any:
        options: dict[str, Any] = {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        return numba.njit(**options)(function)

    compiled.get_call_template = lambda args, kws: (own if PLAIN else part().get_call_template)(
        tuple(map(_wide, args)), {name: _wide(given) for name, given in kws.items()}
    )
    if not PLAIN:
        compiled.get_overload = lambda signature: part().get_overload(signature)


def _wide(given: types.Type) -> types.Type:
    plain = types.unliteral(given)  # type: ignore[no-untyped-call]
    return types.int64 if plain in (types.int8, types.int16, types.int32) else plain


def _stamp(compiled: Any) -> None:
    """Have numba compare cached kernels with the sources of their file and of all kernels that it imports.

    By itself it looks at the kernel's own file: when a kernel that it calls has changed, in another file, it would go
    on running the old one.
    """
    kept: Any = getattr(compiled, "_cache", None)
    cached = getattr(kept, "_cache_file", None)
    if cached is not None:
        if not PLAIN:
            kept.load_overload, kept.save_overload = partial(_load, compiled), partial(_whole.save, kept)
        # What was compiled in the other way is not loaded.
        way = b"" if PLAIN else stamp_of(Path(__file__).with_name("whole.py"))
        cached._source_stamp = way + stamp_of(Path(compiled.py_func.__code__.co_filename))


def _load(compiled: Any, signature: Any, target: Any) -> Any:
    """Return what is kept on disk of a kernel, compiled by another process if it may; None if there is nothing."""
    load = partial(_whole.load, compiled._cache, signature, target)
    found = load()
    if found is None and isinstance(signature, tuple) and _ahead.wait_for(_ahead.spelled(compiled, signature)):
        found = load()
    if found is None and _ahead.beside is not None and isinstance(signature, tuple):
        data = {"dispatcher": compiled, "args": signature, "return_type": None}
        with event.trigger_event("numba:compile", data=data):
            _ahead.beside.compile(_ahead.spelled(compiled, signature))
        found = load()
    return found


@cache
def stamp_of(source: Path) -> bytes:
    """Return a hash of a source of kernels, of those that it imports, of those that these import, and so on."""
    stamp, wanted, package = sha256(), [source], _package_of(source)
    for file in wanted:
        text = file.read_bytes()
        stamp.update(sha256(text).digest())
        for name in _IMPORT.findall(text):
            found = package.joinpath(*name.decode().split(".")).with_suffix(".py")
            if found not in wanted:
                wanted.append(found)
    return stamp.digest()


def _package_of(source: Path) -> Path:
    """Return the folder of all kernels."""
    return next(folder for folder in source.parents if folder.name == "kernels")


def read_only(*arrays: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], ...]:
    """Views of arrays that cannot be written to.

    A kernel is compiled anew for arrays that can and for arrays that cannot: where both come in, this saves seconds.
    """
    views = tuple(array.view() for array in arrays)
    for view in views:
        view.flags.writeable = False
    return views


class _Counting(event.Listener):
    def __init__(self, add: Callable[[int], None]) -> None:
        self.add = add

    def on_start(self, event: Any) -> None:
        self.add(1)

    def on_end(self, event: Any) -> None:
        self.add(-1)


def watch(add: Callable[[int], None]) -> None:
    """Calls `add` with 1 whenever a compilation begins and with -1 when it ends; loading kept kernels is none."""
    event.register("numba:compile", _Counting(add))  # type: ignore[no-untyped-call]
