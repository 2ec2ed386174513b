"""Kernels compiled in other processes: ahead of need, or beside a process that is to hold little memory.

While a first release compiles those that it needs first, a helper compiles the last ones. The helper is a process of
its own. It goes through a list from its end, and the release comes to need what is there from its beginning; by what
is kept on disk they meet in between, where the release waits for the kernel that the helper is at. `first.txt` has
lists with an empty line between: the searches that a list is for, then its kernels. The first is of the default search,
the others are of what searches need beyond that: first what only many persons need. Lists out of date cost time, and
nothing else. `python -m tests.support.first_kernels` writes them.
"""

from __future__ import annotations

import atexit
import os
import sys
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import subprocess

LIST = Path(__file__).with_name("first.txt")

_PACKAGE = "treeanon.kernels."

is_wanted = False
"""Whether this process may start a helper: only that of the command does, and no program that imports the package."""

_search = ""
"""The search of the release, if one is to be made."""

_started: list[subprocess.Popen[bytes]] = []

_told = b""
"""The lines that the helper has told, each when it began with the kernel; none when it is done with all."""

_LONGEST = 20.0
"""Seconds that the release waits for one kernel at most."""


def _may_start() -> bool:
    several = (os.cpu_count() or 1) > 1
    return is_wanted and not _started and bool(sys.executable) and several and not _is_helper()


def _is_helper() -> bool:
    """Return whether this process was itself started to compile: such a one never starts another."""
    program = getattr(sys.modules["__main__"], "__spec__", None)
    return program is not None and program.name == f"{_PACKAGE}ahead"


def start_first(search: str) -> None:
    """Start the helper at once where the first kernel of a search's list is not kept: the release will need them all.

    Looks for files alone, which is sooner than numba would. A wrong answer costs time.
    """
    global _search
    _search = search
    if _may_start() and (lines := lists().get(search)) and _is_missing(lines[0]):
        _start(search)


def _is_missing(line: str) -> bool:
    """Return whether numba keeps nothing of a line's kernel where the user says, or beside the sources.

    It may keep it elsewhere; then the answer is no.
    """
    module, function = line.split(" ", 1)[0].rsplit(".", 1)
    source = LIST.parent.joinpath(*module.split("."))
    if wanted := os.environ.get("NUMBA_CACHE_DIR"):
        from hashlib import sha1

        folder = source.parent
        kept = Path(wanted, f"{folder.name}_{sha1(str(folder).encode()).hexdigest()}")
    elif os.access(LIST.parent, os.W_OK):
        kept = source.parent / "__pycache__"
    else:
        return False
    return next(kept.glob(f"{source.name}.{function}-*.nbi"), None) is None


def watch() -> None:
    """Start the helper as soon as a kernel has to be compiled of the list of the search, or of any if there is none."""
    from numba.core import event

    class Start(event.Listener):
        def on_start(self, event: Any) -> None:
            kernel = event.data["dispatcher"]
            if _may_start() and kernel.stats.cache_path:
                line = spelled(kernel, event.data["args"])
                found = [search for search, lines in lists().items() if line in lines and _search in ("", search)]
                if found:
                    _start(found[0])

        def on_end(self, event: Any) -> None:
            """Nothing is to be done."""

    if _may_start():
        event.register("numba:compile", Start())  # type: ignore[no-untyped-call]


def _start(search: str) -> None:
    import subprocess

    nothing = subprocess.DEVNULL
    with suppress(OSError):
        command, environment = _command(str(os.getpid()), search)
        pipe = subprocess.PIPE
        helper = subprocess.Popen(command, stdin=nothing, stdout=pipe, stderr=nothing, env=environment)
        assert helper.stdout is not None
        os.set_blocking(helper.stdout.fileno(), False)
        _started.append(helper)
        atexit.register(_end, helper)


def wait_for(line: str) -> bool:
    """Wait until the helper has done the kernel of a line, if it is at that; return whether it was."""
    if not _started or (told := _started[0].stdout) is None or not _is_at(line, told):
        return False
    from select import select

    until = time.monotonic() + _LONGEST
    while _is_at(line, told) and (left := until - time.monotonic()) > 0:
        select([told], [], [], left)
    return True


def _is_at(line: str, told: IO[bytes]) -> bool:
    """Return whether the helper, by what it has told, is at the kernel of a line."""
    global _told
    with suppress(BlockingIOError):
        while True:
            more = os.read(told.fileno(), 1 << 16)
            _told = _told + more if more else b""
            if not more:
                break
    return _told.splitlines()[-1:] == [line.encode()]


def _command(*arguments: str) -> tuple[list[str], dict[str, str]]:
    """Return the command of a process that compiles, and its environment.

    From the folder where it is called it imports nothing, and this package from where this process has it: kernels are
    kept by the place of their sources.
    """
    environment, root = dict(os.environ), LIST.parents[2]
    if root.name not in ("site-packages", "dist-packages"):
        environment["PYTHONPATH"] = os.pathsep.join([str(root), *filter(None, [environment.get("PYTHONPATH")])])
    return [sys.executable, "-P", "-m", __name__, *arguments], environment


def _end(helper: subprocess.Popen[bytes]) -> None:
    helper.kill()
    helper.wait()
    for pipe in (helper.stdin, helper.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


class Beside:
    """A process that compiles and keeps kernels for this one, which then only loads their machine code.

    What numba learns and makes in order to compile it never gives back: some 60 MB for the first kernel, and more than
    one for each that follows, where loading takes a tenth of one. So the other process ends after `MOST` kernels, and
    the next kernel gets a new one.
    """

    MOST = 150

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.owner = self.asked = 0
        self.seconds = 0.0
        """Seconds of the processor that compiling has taken."""

    def compile(self, line: str) -> None:
        """Have the kernel of a line compiled and kept, if that can be done; numba lets in one thread at a time."""
        with suppress(OSError, ValueError):
            process = self._running()
            assert process.stdin is not None and process.stdout is not None
            try:
                process.stdin.write(f"{line}\n".encode())
                process.stdin.flush()
                self.seconds += float(process.stdout.readline())
            except BaseException:
                self.end()
                raise
            self.asked += 1
            if self.asked == self.MOST:
                self.end()

    def _running(self) -> subprocess.Popen[bytes]:
        import subprocess

        if _is_helper():
            raise ValueError("what compiles for others compiles by itself")
        if self.process is None or self.owner != os.getpid():
            pipe, (command, environment) = subprocess.PIPE, _command()
            nothing = subprocess.DEVNULL
            self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nothing, env=environment)
            self.owner, self.asked = os.getpid(), 0
            atexit.register(self.end)
        return self.process

    def end(self) -> None:
        """End the process, which keeps nothing that it has not finished."""
        process, self.process = self.process, None
        if process is not None and self.owner == os.getpid():
            _end(process)
        atexit.unregister(self.end)


beside: Beside | None = None
"""Where kernels are compiled that are not kept; None: in this process. A program sets it for itself alone."""


def compile_asked() -> None:
    """Compile and keep the kernels that are asked for, a line each, and answer with the seconds that it took."""
    for line in sys.stdin:
        start = time.process_time()
        with suppress(Exception):
            kernel, types = read(line.rstrip("\n"))
            kernel.compile(types)
        sys.stdout.write(f"{time.process_time() - start}\n")
        sys.stdout.flush()


def lists() -> dict[str, list[str]]:
    """Return the list of each search: lines of calls of kernels, in the order in which a first release needs them."""
    with suppress(OSError):
        parts = [part.splitlines() for part in LIST.read_text(encoding="utf-8").split("\n\n")]
        return {search: lines for searches, *lines in parts for search in searches.split()}
    return {}


def spelled(kernel: Any, types: Any) -> str:
    """Return the line for a kernel called with these types."""
    function = kernel.py_func
    name = f"{function.__module__}.{function.__qualname__}".removeprefix(_PACKAGE)
    return f"{name} {_spelled(types)}"


def _spelled(given: Any) -> str:
    if hasattr(given, "layout"):
        axes = ", ".join([":"] * (given.ndim - 1) + ["::1" if given.layout == "C" else ":"])
        return f"{given.dtype}[{axes}]" if given.mutable else f"fixed({given.dtype}[{axes}])"
    if hasattr(given, "__iter__"):
        items = f"({', '.join(map(_spelled, given))},)"
        kind = getattr(given, "instance_class", tuple)
        return items if kind is tuple else f"named('{kind.__module__}', '{kind.__qualname__}', {items})"
    return str(given)


def read(line: str) -> tuple[Any, tuple[Any, ...]]:
    """Return the kernel and the types of a line."""
    types: Any = import_module("numba.types")

    def fixed(array: Any) -> Any:
        return array.copy(readonly=True)

    def named(module: str, kind: str, items: tuple[Any, ...]) -> Any:
        return types.BaseTuple.from_types(tuple(map(read_of, items)), getattr(import_module(module), kind))

    def read_of(given: Any) -> Any:
        return types.Tuple(tuple(map(read_of, given))) if isinstance(given, tuple) else given

    name, spelling = line.split(" ", 1)
    module, function = name.rsplit(".", 1)
    names = {**vars(types), "bool": types.boolean, "fixed": fixed, "named": named, "__builtins__": {}}
    return getattr(import_module(_PACKAGE + module), function), tuple(map(read_of, eval(spelling, names)))


def compile_listed(caller: int, search: str) -> None:
    """Compile and keep the kernels of a search, from the last, as long as the process that wants them is there.

    Tells which it is at.
    """
    for line in reversed(lists()[search]):
        if os.getppid() != caller:
            return
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
        with suppress(Exception):
            kernel, types = read(line)
            kernel.compile(types)


if __name__ == "__main__":
    if sys.argv[1:]:
        compile_listed(int(sys.argv[1]), sys.argv[2])
    else:
        compile_asked()
