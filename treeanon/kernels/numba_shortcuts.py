"""What numba is spared while it compiles: work that it does over and over, with the same outcome.

Leans on what is inside numba, as `whole.py` does.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, wraps
from importlib import import_module
from typing import Any

from numba.core import environment, ir
from numba.core.base import BaseContext
from numba.core.compiler import Flags
from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.runtime.context import NRTContext
from numba.core.targetconfig import ConfigStack
from numba.core.transforms import canonicalize_cfg
from numba.core.typed_passes import AnnotateTypes, NoPythonBackend
from numba.core.types.functions import BaseFunction

_ARRAYS = "numba.np.arraymath"


@cache
def spare() -> None:
    """Spare numba all of it, in this process, from the first compilation on: what is kept is loaded without."""
    _load_arrays()
    _compare_flags()
    _list_variables()
    _resolve_calls()
    _measure_types()
    _count_references()
    _look_for_lifetimes()
    _refresh()
    _forget_sources()
    _name_no_shapes()


def start() -> None:
    """Spare numba to try whether SciPy's linear algebra is there when it loads what arrays can do.

    It always is, as we depend on it, and takes a third of the time in which numba starts. What uses it loads it then.
    """
    rebuild: Any = environment._rebuild_env

    @wraps(rebuild)
    def rebuild_beside(module: str, *given: Any) -> Any:
        if module == _ARRAYS:
            _load_arrays()
        return rebuild(module, *given)

    # Kernels that are kept name the modules of the functions that they call.
    environment._rebuild_env = rebuild_beside


@cache
def _load_arrays() -> None:
    linalg: Any = import_module("numba.np.linalg")
    ask, linalg.ensure_blas = linalg.ensure_blas, lambda: None
    try:
        arraymath: Any = import_module(_ARRAYS)
    finally:
        linalg.ensure_blas = ask
    arraymath.ensure_blas = ask


def _compare_flags() -> None:
    """Compare the flags of compilations as a whole: one by one, it was an eighth of compiling."""
    flags: Any = Flags
    defaults = {name: option.default for name, option in flags.options.items()}
    number = hash(flags())
    flags.values = lambda given: defaults | given._values
    flags.__hash__ = lambda given: number


_ways: dict[type, int] = {}


def _way_of(kind: type) -> int:
    groups: tuple[Any, ...] = (ir.Var, ir.Inst, (list, tuple), dict, object)
    return _ways.setdefault(kind, next(way for way, group in enumerate(groups) if issubclass(kind, group)))


def _add_variables(value: Any, found: list[Any]) -> None:
    kind = type(value)
    way = _ways.get(kind)
    if way is None:
        way = _way_of(kind)
    if way == 0:
        found.append(value)
    elif way == 1:
        found.extend(value.list_vars())
    elif way < 4:
        for each in value if way == 2 else value.values():
            _add_variables(each, found)


def _list_variables() -> None:
    """List the variables of an instruction by the types of its fields, looked at once: it was a tenth of compiling."""
    instruction: Any = ir.Inst

    def listed(given: Any, value: Any) -> list[Any]:
        found: list[Any] = []
        _add_variables(value, found)
        return found

    instruction._rec_list_vars = listed


_depth = 0
_resolved: dict[Any, Any] = {}


@contextmanager
def compiling() -> Iterator[None]:
    """Mark that a kernel is compiled, by the one thread that may, and collect no garbage: a fifth of the work."""
    global _depth
    collects = gc.isenabled()
    gc.disable()
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1
        if collects:
            gc.enable()


def _kind_of(flags: Any) -> tuple[Any, ...]:
    """Return what of the flags changes machine code, of those that what is called takes over from its caller."""
    return flags.error_model, frozenset(flags.fastmath.flags), flags.boundscheck, flags.auto_parallel.enabled, flags.nrt


def _resolve_calls() -> None:
    """Ask once what a call of numba's own functions gives for certain types: asking was a sixth of compiling.

    By itself numba asks at every place and in every round of its inference, and compiles what the function needs anew
    for flags that only say how Python calls it. Kept for our kernels alone.
    """
    function: Any = BaseFunction
    ask = function.get_call_type

    def get_call_type(given: Any, context: Any, args: Any, kws: Any) -> Any:
        if not _depth:
            return ask(given, context, args, kws)
        flags: Any = ConfigStack.top_or_none()  # type: ignore[no-untyped-call]
        key = given, context, tuple(args), tuple(kws.items()), flags and _kind_of(flags)
        try:
            if key in _resolved:
                return _resolved[key]
        except TypeError:  # of an argument that has no hash
            return ask(given, context, args, kws)
        signature = ask(given, context, args, kws)
        _resolved[key] = signature
        return signature

    function.get_call_type = get_call_type


def _measure_types() -> None:
    """Measure a type once: for each question numba has LLVM read a module written for it."""
    contexts: Any = BaseContext
    for name in ("get_abi_sizeof", "get_abi_alignment"):
        setattr(contexts, name, _kept(getattr(contexts, name)))


def _kept(ask: Any) -> Any:
    known: dict[Any, int] = {}

    def size(context: Any, kind: Any) -> int:
        key = type(context), kind
        if key not in known:
            known[key] = ask(context, kind)
        return known[key]

    return size


def _count_references() -> None:
    """Look for references to count in those parts of a value that can have any.

    By itself numba takes every value apart, numbers, shapes and strides too, and writes code for each part, which is
    then printed, read and thrown away: an eighth of compiling, of tuples of arrays a third.
    """
    counting: Any = NRTContext
    holds: dict[Any, bool] = {}

    def may_hold(models: Any, kind: Any) -> bool:
        if kind not in holds:
            holds[kind] = models[kind].contains_nrt_meminfo()
        return holds[kind]

    def get_meminfos(given: Any, builder: Any, kind: Any, value: Any) -> list[Any]:
        models = given._context.data_model_manager
        if not may_hold(models, kind):
            return []
        model = models[kind]
        found = [(kind, model.get_nrt_meminfo(builder, value))] if model.has_nrt_meminfo() else []
        for inner, part in model.traverse(builder):
            if may_hold(models, inner):
                found += get_meminfos(given, builder, inner, part(value))
        return found

    counting.get_meminfos = get_meminfos


def _look_for_lifetimes() -> None:
    """Find out how long variables live where that is asked for, and not after each of numba's passes."""
    processor: Any = PostProcessor
    run = processor.run

    def run_lazily(given: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
        if emit_dels or not _depth or given.func_ir.is_generator:
            run(given, emit_dels, extend_lifetimes)
            return
        given.func_ir.blocks = canonicalize_cfg(given.func_ir.blocks)  # type: ignore[no-untyped-call]
        given.func_ir.variable_lifetime = VariableLifetime(given.func_ir.blocks)  # type: ignore[no-untyped-call]
        given.func_ir.generator_info = None

    processor.run = run_lazily


def _refresh() -> None:
    """Look for new declarations where there are any: numba looks through all whenever it does not find something."""
    contexts: Any = BaseContext
    refresh = contexts.refresh
    seen: dict[Any, int] = {}

    def refresh_if_new(given: Any) -> None:
        registries = (*given._registries, *given.typing_context._registries)
        count = sum(len(each) for registry in registries for each in vars(registry).values() if isinstance(each, list))
        if not _depth or seen.get(given) != count:
            refresh(given)
            seen[given] = count

    contexts.refresh = refresh_if_new


def _forget_sources() -> None:
    """Forget what a function was compiled from: numba keeps two copies, with the types of all that is in them."""
    annotate: Any = AnnotateTypes
    backend: Any = NoPythonBackend
    annotated, run = annotate.run_pass, backend.run_pass

    def run_annotation(given: Any, state: Any) -> bool:
        if not _depth:
            return bool(annotated(given, state))
        state.type_annotation = None
        return False

    def run_backend(given: Any, state: Any) -> bool:
        changed = bool(run(given, state))
        if _depth:
            made = state.cr.fndesc
            made.typemap = made.calltypes = None
        return changed

    annotate.run_pass, backend.run_pass = run_annotation, run_backend


def _refuse_shapes(given: Any, wanted: Any) -> None:
    """Stand for what refuses to assign to a slice, in compiled code alone."""


def _name_no_shapes() -> None:
    """Refuse to assign other shapes to a slice in words that name none.

    By itself numba has a text made of the shapes, and for that compiles what makes texts of numbers and joins them: a
    tenth of the time of a kernel that assigns to slices, and never used.
    """
    extending: Any = import_module("numba.extending")

    def refuse(given: Any, wanted: Any) -> Any:
        def refused(given: Any, wanted: Any) -> None:
            raise ValueError("cannot assign to a slice of another shape")

        return refused

    extending.overload(_refuse_shapes)(refuse)
    arrays: Any = import_module("numba.np.arrayobj")
    arrays.raise_with_shape_context = _refuse_shapes
