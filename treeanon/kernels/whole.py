"""How a kernel is compiled as a whole: what it calls is lowered by itself, but optimized and emitted within it alone.

Leans on what is inside numba: `jit.py` uses it with versions that were tested, and compiles plainly with others.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from numba.core import codegen
from numba.core.compiler import Compiler
from numba.core.lowering import Lower
from numba.core.runtime.nrt import rtsys

from treeanon.kernels.numba_shortcuts import compiling, spare

_llvm: Any = import_module("llvmlite.binding")


class _Part(codegen.JITCodeLibrary):
    """What a kernel calls, as it was lowered: optimized and made machine code within the kernels that call it alone.

    By itself numba does both for every function, and again for all that it calls: a chain of five calls costs the work
    of fifteen functions.
    """

    _bitcode: bytes | None = None

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        """Return it with all that it calls: kernels that are not ours may call one of numba's functions, too."""
        whole = self.alone()
        for library in _called_by(self):
            whole.link_in(_alone(library))
        return whole

    def alone(self) -> Any:
        """Return it as a module to link in, which is gone then; kept as bitcode, it takes a tenth of the memory."""
        if self._bitcode is None:
            self._bitcode = super()._get_module_for_linking().as_bitcode()  # type: ignore[no-untyped-call]
            self._final_module = self._shared_module = None
        return _llvm.parse_bitcode(self._bitcode)

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
            self._final_module.link_in(_alone(library))
        self._linking_libraries = []
        super().finalize()  # type: ignore[no-untyped-call]

    def serialize_using_object_code(self) -> tuple[str, str, Any]:
        """Return its machine code alone: nobody calls it but Python, so that no bitcode need be kept."""
        self._ensure_finalized()  # type: ignore[no-untyped-call]
        return self.name, "object", self._get_compiled_object()  # type: ignore[no-untyped-call]

    @classmethod
    def _unserialize(cls, codegen: Any, state: Any) -> Any:
        name, _, code = state
        kept: Any = cls(codegen, name)
        kept.enable_object_caching()
        kept._set_compiled_object(code)
        kept._finalize_final_module()
        return kept

    def forget(self) -> None:
        """Free what it was compiled from."""
        module, self._final_module = self._final_module, self._codegen._llvm_module
        self._codegen._engine._ee.remove_module(module)
        module.close()
        self._compiled_object = None

    def get_pointer_to_function(self, name: str) -> int:
        """Return where a function is, of those that it has for certain: numba looks that up in the bitcode."""
        self._ensure_finalized()  # type: ignore[no-untyped-call]
        found: int = self._codegen._engine.get_function_address(name)
        return found


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
    return library.alone() if isinstance(library, _Part) else library._get_module_for_linking().clone()


@contextmanager
def _libraries(code: Any, kind: type) -> Iterator[None]:
    """Have numba make libraries of a kind; it has locked what compiles and loads."""
    before = code._library_class
    code._library_class = kind
    try:
        yield
    finally:
        code._library_class = before


class WholeCompiler(Compiler):
    """Compiles a kernel, and whatever has to be compiled meanwhile as parts of it."""

    def __init__(self, *given: Any) -> None:
        spare()
        super().__init__(*given)  # type: ignore[no-untyped-call]

    def compile_extra(self, function: Any) -> Any:
        """Compile a function and return the result."""
        code = self.state.targetctx.codegen()
        self.state.library = _Whole(code, function.__qualname__)  # type: ignore[no-untyped-call]
        self.state.library.enable_object_caching()
        with _libraries(code, _Part), compiling():
            compiled = super().compile_extra(function)  # type: ignore[no-untyped-call]
        for env in compiled._find_referenced_environments():
            code.set_env(env.env_name, env)
        return compiled


def load(kept: Any, signature: Any, target: Any) -> Any:
    """Return what is kept on disk of a kernel; None if there is nothing.

    Numba first learns all that it can compile, for which it imports modules for a tenth of a second. Nothing of that is
    needed to load what is compiled; for what is not, the compiler learns it.
    """
    rtsys.initialize(target)
    with _libraries(target.codegen(), _Whole), kept._guard_against_spurious_io_errors():
        return kept._load_overload(signature, target)


def save(kept: Any, signature: Any, compiled: Any) -> None:
    """Keep a kernel on disk, and in memory its machine code alone."""
    type(kept).save_overload(kept, signature, compiled)
    compiled.library.forget()


def leave_out_wrappers() -> None:
    """Have numba give parts no wrapper by which C calls them: it would never be called."""
    lower: Any = Lower
    wrap = lower.create_cfunc_wrapper
    lower.create_cfunc_wrapper = lambda given: None if isinstance(given.library, _Part) else wrap(given)
