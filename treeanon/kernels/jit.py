"""The one place that decides how kernels are compiled.

Set NUMBA_DISABLE_JIT=1 to run the same code uncompiled, for debugging.

Tells when kernels are being compiled: that takes seconds, and what is broken off must be begun again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar, cast

# Where colorama is installed, numba would have it write to the terminal when the program ends.
os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")

import numba
import numpy.typing as npt
from numba.core import codegen, event, types
from numba.core.compiler import Compiler

_IMPORT = re.compile(rb"^from treeanon\.kernels\.([\w.]+) import ", re.MULTILINE)

F = TypeVar("F", bound=Callable[..., Any])


class _Part(codegen.JITCodeLibrary):
    """What a kernel calls, as it was lowered: optimized and made machine code within the kernels that call it alone.

    By itself numba does both for every function, and again for all that it calls: a chain of five calls costs the work
    of fifteen functions.
    """

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        """Return it with all that it calls: kernels that are not ours may call one of numba's functions, too."""
        whole = self.alone().clone()
        for library in _called_by(self):
            whole.link_in(_alone(library), preserve=True)
        return whole

    def alone(self) -> Any:
        return super()._get_module_for_linking()  # type: ignore[no-untyped-call]

    def get_pointer_to_function(self, name: str) -> int:
        return 0

    @property
    def codegen(self) -> Any:
        return self

    def set_env(self, name: str, env: Any) -> None:
        """Nothing runs here: the kernel sets it."""


class _Whole(codegen.JITCodeLibrary):
    """A kernel with all that it calls, in turn, optimized at once."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        for library in _called_by(self):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(_alone(library), preserve=True)
        self._linking_libraries = []
        super().finalize()  # type: ignore[no-untyped-call]


def _called_by(library: Any) -> list[Any]:
    """Return what a library calls, and what that calls in turn."""
    called = dict.fromkeys(library._linking_libraries)
    for part in (waiting := list(called)):
        for each in part._linking_libraries if isinstance(part, _Part) else ():
            if each not in called:
                called[each] = None
                waiting.append(each)
    return list(called)


def _alone(library: Any) -> Any:
    return library.alone() if isinstance(library, _Part) else library._get_module_for_linking()


class _Compiler(Compiler):
    """Compiles a kernel, and whatever has to be compiled meanwhile as parts of it."""

    def compile_extra(self, function: Any) -> Any:
        code = self.state.targetctx.codegen()
        self.state.library = _Whole(code, function.__qualname__)  # type: ignore[no-untyped-call]
        self.state.library.enable_object_caching()
        code._library_class = _Part
        try:
            compiled = super().compile_extra(function)  # type: ignore[no-untyped-call]
        finally:
            del code._library_class
        for env in compiled._find_referenced_environments():
            code.set_env(env.env_name, env)
        return compiled


def njit(function: F) -> F:
    """The function, compiled on its first call and cached on disk; it holds no interpreter lock.

    Where nothing on disk can be written (a service user without a home), it is compiled anew in every process.
    """
    options: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True, "pipeline_class": _Compiler}
    try:
        compiled: Any = numba.njit(cache=True, **options)(function)
    except RuntimeError:
        compiled = numba.njit(**options)(function)
    _stamp(compiled)
    if compiled is not function:
        _call_as_part(compiled, function)
    return cast(F, compiled)


def _call_as_part(compiled: Any, function: F) -> None:
    """Have kernels that call it compile it as a part of them, with whole numbers of 64 bits, and none of its own type.

    To numba a constant is of a type of its own, and so is, for a first look at a loop, a number that begins with one:
    each would have the function compiled once more, and what it calls: a fifth of all compilations.
    """

    @cache
    def part() -> Any:
        options: dict[str, Any] = {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        return numba.njit(**options)(function)

    compiled.get_call_template = lambda args, kws: part().get_call_template(
        tuple(map(_wide, args)), {name: _wide(given) for name, given in kws.items()}
    )
    compiled.get_overload = lambda signature: part().get_overload(signature)


def _wide(given: types.Type) -> types.Type:
    plain = types.unliteral(given)  # type: ignore[no-untyped-call]
    return types.int64 if plain in (types.int8, types.int16, types.int32) else plain


def _stamp(compiled: Any) -> None:
    """Have numba compare cached kernels with the sources of their file and of all kernels that it imports.

    By itself it looks at the kernel's own file: when a kernel that it calls has changed, in another file, it would go
    on running the old one.
    """
    cached = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if cached is not None:
        cached._source_stamp = stamp_of(Path(compiled.py_func.__code__.co_filename))


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
