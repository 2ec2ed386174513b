"""Import directions: layers import downwards only, and light entry points stay light."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.support.paths import ROOT

PACKAGE = ROOT / "treeanon"

# Lowest first; a module may import its own layer and those before it.
LAYERS = [
    "errors",
    "parameters",
    "builders",
    "progress",
    "shown",
    "plugins",
    "formats",
    "arrays",
    "randomness",
    "resources",
    "kernels",
    "hierarchy",
    "schema",
    "forest",
    "table",
    "io",
    "infer",
    "privacy",
    "queries",
    "verifier",
    "metrics",
    "risks",
    "algorithms",
    "release",
    "spark",
    "api",
    "previews",
    "reports",
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


@cache
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


def test_imports_point_downwards() -> None:
    upwards = []
    for path in modules():
        place = path.relative_to(PACKAGE)
        own = place.parts[0].removesuffix(".py")
        for name in imported(path) if own != TOP else ():
            # The package itself holds nothing but its version; the CLI shows it.
            if name == "treeanon":
                fine = own in ("cli", "__main__")
            else:
                fine = (str(place), name) in CALLED_UPWARDS or LAYERS.index(layer(name)) <= LAYERS.index(own)
            if not fine:
                upwards.append(f"{place} imports {name}")
    assert upwards == []


SEARCHES = ("algorithms", "kernels/tree", "kernels/table")
# Counters of the searches and of the rounds of Spark, whatever layer they are in.
COUNTERS = ("table.histograms", "kernels.table", "spark.spread", "spark.counting", "spark.repair", "spark.finer")


def test_the_verifier_and_the_searches_share_no_counting() -> None:
    """What is published is checked by code that the search for it has not used, and the other way round."""
    for path in modules():
        own, names = str(path.relative_to(PACKAGE)), {name.removeprefix("treeanon.") for name in imported(path)}
        if own.startswith((*SEARCHES, "privacy/", "metrics/", "table/")):
            assert not {name for name in names if name.startswith(("verifier", "kernels.verify"))}, own
        if own.startswith(("verifier/", "kernels/verify/")):
            assert not {name for name in names if name.startswith(("algorithms", "kernels.tree", *COUNTERS))}, own
        if own.startswith("spark/") and "kernels.verify" in " ".join(names):
            raise AssertionError(f"{own}: the rounds of Spark count by themselves")
    for own in ("spark/spread.py", "spark/counting.py", "spark/repair.py", "spark/finer.py"):
        names = imported(PACKAGE / own)
        assert not {name for name in names if name.startswith("treeanon.verifier")}, own


def test_only_the_searches_ask_models_for_whole_tables() -> None:
    """`Model.holds` and `Groups` are of the searches: the verifier has criteria and groups of its own."""
    for path in (PACKAGE / "verifier").glob("*.py"):
        text = path.read_text()
        assert ".holds(" not in text and "import Groups" not in text and "groups_of" not in text, path.name


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
        if path.relative_to(PACKAGE).parts[0] != "cli" and "print" in path.read_text():
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
    seldom = "pyspark", "networkx", "zstandard", "yaml"
    code = f"import treeanon.io, sys; print([name for name in {seldom} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


SELDOM = {
    "mlxtend": {"metrics/mining.py"},
    "pandas": {"metrics/mining.py"},
    "matplotlib": set[str](),
    "sklearn": {"metrics/table/use.py"},
    "networkx": {"algorithms/table/cell_suppression.py", "forest/forest.py", "hierarchy/model.py"},
}
"""Packages that few functions need, and the only modules that import them: inside of those functions."""


def imports_of(path: Path) -> Iterator[tuple[str, bool]]:
    """What a module imports that is not of ours, and whether that happens inside of a function."""
    tree = ast.parse(path.read_text())
    inside = {id(node) for one in ast.walk(tree) if isinstance(one, ast.FunctionDef) for node in ast.walk(one)}
    guarded = {
        id(node)
        for one in ast.walk(tree)
        if isinstance(one, ast.If) and ast.unparse(one.test) == "TYPE_CHECKING"
        for node in ast.walk(one)
    }
    for node in ast.walk(tree):
        if id(node) not in guarded and isinstance(node, ast.Import | ast.ImportFrom):
            named = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            yield from ((name.partition(".")[0], id(node) in inside) for name in named)


def test_few_functions_import_what_is_seldom_needed() -> None:
    found: dict[str, set[str]] = {name: set() for name in SELDOM}
    for path in modules():
        text = path.read_text()
        for name, is_inside in imports_of(path) if any(seldom in text for seldom in SELDOM) else ():
            if name in SELDOM:
                assert is_inside, f"{path}: {name} is imported before it is needed"
                found[name].add(path.relative_to(PACKAGE).as_posix())
    assert found == SELDOM


def test_releases_of_trees_and_tables_need_none_of_it() -> None:
    code = f"""
import sys, tempfile
from pathlib import Path
import treeanon as ta
root, folder = Path({str(PACKAGE.parent)!r}), Path(tempfile.mkdtemp())
forest = ta.read(root / "samples/patients.ndjson", ta.Schema.load(root / "schemas/hospital-json.toml"))
release = ta.anonymize(forest, k=5, algorithm="gcs")
release.write(folder / "out.ndjson")
ta.risk(release.forest)
table = ta.read_table(root / "samples/census.csv", ta.Schema.load(root / "schemas/census.toml"))
release = ta.anonymize(table, k=5, l=2, algorithm="datafly")
release.write(folder / "out.csv")
ta.verify(release.table, k=5)
print([name for name in {sorted(SELDOM)!r} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
