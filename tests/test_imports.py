"""Import directions: layers import downwards only, and light entry points stay light."""

from __future__ import annotations

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.support.paths import ROOT

PACKAGE = ROOT / "treeanon"

# Lowest first; a module may import its own layer and those before it.
LAYERS = [
    "errors",
    "progress",
    "plugins",
    "arrays",
    "resources",
    "kernels",
    "hierarchy",
    "schema",
    "forest",
    "table",
    "io",
    "infer",
    "privacy",
    "verifier",
    "metrics",
    "risks",
    "algorithms",
    "release",
    "spark",
    "api",
    "previews",
    "report",
    "explore",
    "bench",
    "cli",
    "__main__",
]
TOP = "__init__"
# A table writes itself by a method that loads the writer when it is called.
CALLED_UPWARDS = {("table/table.py", "treeanon.io.columns.write_table")}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def layer(name: str) -> str:
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else TOP


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path.name}: imports are absolute"
            names.add(node.module)
    return {name for name in names if name.split(".")[0] == "treeanon"}


def test_every_module_belongs_to_a_layer() -> None:
    for path in modules():
        own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        assert own in [*LAYERS, TOP], f"{own}: add it to the layers"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_downwards(path: Path) -> None:
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if own == TOP:
        return
    for name in imported(path):
        # The package itself holds nothing but its version; the CLI shows it.
        if name == "treeanon":
            assert own in ("cli", "__main__")
            continue
        if (str(path.relative_to(PACKAGE)), name) in CALLED_UPWARDS:
            continue
        assert LAYERS.index(layer(name)) <= LAYERS.index(own), f"{path.name} imports {name}"


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def test_modules_import_each_other_in_no_circle() -> None:
    names = {module_name(path): path for path in modules()}
    graph: dict[str, set[str]] = {}
    for own, path in names.items():
        found = {
            f"{node.module}.{alias.name}" if f"{node.module}.{alias.name}" in names else str(node.module)
            for node in ast.parse(path.read_text()).body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        graph[own] = (found & set(names)) - {own}
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


def test_only_the_command_line_prints() -> None:
    for path in modules():
        if path.relative_to(PACKAGE).parts[0] != "cli":
            calls = [n.func for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
            assert not any(isinstance(f, ast.Name) and f.id == "print" for f in calls), path.name


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["-c"]])
def test_help_is_light(arguments: list[str]) -> None:
    heavy = "numba", "numpy", "lxml", "orjson", "networkx", "pyspark", "mlxtend", "pandas", "starlette", "uvicorn"
    start = (
        "import treeanon"
        if arguments == ["-c"]
        else (
            f"import sys; sys.argv = ['treeanon', {arguments[0]!r}]\n"
            "from treeanon.cli.main import run\n"
            "try:\n    run()\nexcept SystemExit:\n    pass\n"
        )
    )
    code = f"{start}\nimport sys\nprint([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_library_does_not_load_optional_packages() -> None:
    code = "import treeanon.io, sys; print([n for n in ('pyspark', 'networkx', 'zstandard') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
