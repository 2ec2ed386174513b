"""What the pages in `docs/` show runs, and what they list is all there is."""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from tests.support.paths import ROOT
from tests.support.plugins import installed, make_package
from treeanon.algorithms.table.registry import TABLE_ALGORITHMS
from treeanon.algorithms.tree.default.objective import Effort
from treeanon.algorithms.tree.registry import TREE_ALGORITHMS
from treeanon.cli.demo import command as demo
from treeanon.cli.main import COMMANDS, main
from treeanon.privacy.models.registry import MODELS
from treeanon.schema import Schema

DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text()
PAGES = {str(page.relative_to(DOCS)): page.read_text() for page in sorted(DOCS.rglob("*.md"))}
PUBLIC = re.compile(r"`(treeanon/[\w/.]+\.py|tests/[\w/.]+)`")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGES[page], re.DOTALL | re.MULTILINE)


def with_blocks(language: str) -> list[str]:
    return [page for page in PAGES if blocks(page, language)]


@pytest.fixture
def hospital(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that `treeanon demo hospital` writes, as the working directory."""
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(demo, ["hospital", "--quiet"]).exit_code == 0
    monkeypatch.chdir(tmp_path / "hospital")
    return tmp_path / "hospital"


def run_line(line: str) -> str:
    """Runs a line of a shell example: commands of ours in this process, which is quicker, others by the shell.

    What a command of ours prints is returned.
    """
    if line.startswith("cd "):
        os.chdir(line[3:])
    elif line.startswith("treeanon "):
        done = CliRunner().invoke(main, shlex.split(line)[1:], catch_exceptions=True)
        assert done.exit_code == 0, (line, done.output, done.exception)
        return done.output
    elif line:
        subprocess.run(["bash", "-euo", "pipefail", "-c", line], check=True, capture_output=True)
    return ""


def words(line: str) -> str:
    """A line without its numbers, which a search may find otherwise."""
    return re.sub(r"\s+", " ", re.sub(r"[\d,.#]+", "0", line)).strip()


@pytest.fixture
def short(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches end soon, but those of the tutorial, which shows what they find."""
    if page != "tutorial.md":
        monkeypatch.setattr(Effort, "of", lambda _: Effort(0.1))


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("page", with_blocks("sh"))
def test_shell_examples_run(page: str, hospital: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begins_outside = "treeanon demo hospital" in "".join(blocks(page, "sh"))
    if begins_outside:
        (hospital.parent / "elsewhere").mkdir()
        monkeypatch.chdir(hospital.parent / "elsewhere")
    printed = "\n".join(run_line(line) for line in "\n".join(blocks(page, "sh")).splitlines())
    if page == "tutorial.md":
        there = {words(line) for line in printed.splitlines()}
        shown = "\n".join(
            [*blocks(page, "text"), *re.findall(r"^```\n(Whoever.*?)^```$", README, re.DOTALL | re.MULTILINE)]
        )
        for line in shown.splitlines():
            assert words(line) in there or line == "…", line


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("page", with_blocks("python"))
def test_python_examples_run(page: str, hospital: Path) -> None:
    if page == "how-to/again.md":
        run_line(next(line for block in blocks(page, "sh") for line in block.splitlines() if "--solution" in line))
    scope: dict[str, object] = {}
    for code in blocks(page, "python"):
        exec(compile(code, page, "exec"), scope)


@pytest.mark.parametrize(
    ("page", "text"), [(page, text) for page in PAGES for text in blocks(page, "toml") if "version = 1" in text]
)
def test_schema_examples_are_valid(page: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "hierarchies").mkdir()
    (tmp_path / "hierarchies" / "hospital.csv").write_text("H1;general;*\nH2;general;*\n")
    jsonschema.validate(tomllib.loads(text), json.loads((ROOT / "schemas" / "treeanon.schema.json").read_text()))
    # What paths through tables mean is known when the keys of the input are: here their form alone is checked.
    if 'format = "tables"' not in text:
        assert Schema.loads(text, folder=tmp_path).layout.classes


def test_data_examples_are_json() -> None:
    for page in with_blocks("json"):
        for text in blocks(page, "json"):
            json.loads(text)


@pytest.mark.parametrize("page", list(PAGES))
def test_files_that_pages_name_exist(page: str) -> None:
    for name in PUBLIC.findall(PAGES[page]):
        assert (ROOT / name).exists(), name


def test_files_of_the_paper_on_trees_cite_its_sections() -> None:
    page = PAGES["papers.md"].split("\n## TREE\n")[1].split("\nWhere we differ")[0]
    sections = 0
    for row in page.splitlines():
        section = re.match(r"\| (I[IV]*(?:-[A-G])?) ", row)
        for name in PUBLIC.findall(row) if section else ():
            text = (ROOT / name).read_text()
            if "/kernels/" not in name:
                # Kernels are named by who calls them.
                assert section is not None and re.search(rf"\b{section[1]}\b", text), (name, row)
                assert "Gkountouna" in text, name
                sections += 1
        for name in re.findall(r"`(\w+)` in `(?:treeanon/[\w/]+)\.py`", row):
            assert re.search(rf"(def|class) {name}\b", "".join((ROOT / f).read_text() for f in PUBLIC.findall(row)))
    assert sections > 25


def test_files_of_walks_exist() -> None:
    walks = blocks("architecture.md", "walk")
    assert len(walks) == 3
    for line in "".join(walks).splitlines():
        assert (ROOT / "treeanon" / line.split(":")[0]).is_file(), line


def test_the_map_shows_every_package_once() -> None:
    (text,) = blocks("architecture.md", "map")
    there = {path.stem for path in (ROOT / "treeanon").iterdir() if (path / "__init__.py").exists()}
    modules = {"errors", "progress", "plugins", "arrays", "api"}
    assert sorted(text.split()) == sorted(there | modules)


def test_every_command_is_shown() -> None:
    text = "".join(PAGES.values())
    for name in COMMANDS:
        assert f"treeanon {name}" in text, name


def test_every_search_is_shown() -> None:
    for name in (*TREE_ALGORITHMS.built_in, *TABLE_ALGORITHMS.built_in):
        assert re.search(rf"^\|[^|]*`{name}`", PAGES["searches.md"], re.MULTILINE), name


def test_every_model_is_shown() -> None:
    for name in MODELS.built_in:
        assert f"`{name}`" in PAGES["models.md"], name


def test_all_papers_are_named_by_their_titles() -> None:
    page = PAGES["papers.md"].lower()
    for algorithm in (*TREE_ALGORITHMS.built_in.values(), *TABLE_ALGORITHMS.built_in.values()):
        if algorithm.paper is not None:
            assert algorithm.paper.title.lower() in page, algorithm.paper


def test_pages_are_in_the_site_and_load_nothing_from_elsewhere() -> None:
    settings = (ROOT / "mkdocs.yml").read_text()
    for page in PAGES:
        assert f": {page}\n" in settings, page
    assert "font: false" in settings and "http" not in settings
    for page, text in PAGES.items():
        assert not re.search(r"!\[[^]]*\]\(http|<script|<link|<iframe", text), page


def test_generated_parts_are_complete() -> None:
    sys.path.insert(0, str(DOCS))
    try:
        import generate
    finally:
        sys.path.remove(str(DOCS))
    assert doctest.testmod(generate).failed == 0
    page = generate.command_line()
    for name in COMMANDS:
        assert f"## treeanon {name}\n" in page, name
    tables = generate.parameters()
    for name in (*TREE_ALGORITHMS.built_in, *TABLE_ALGORITHMS.built_in):
        assert f"### `{name}`" in tables, name
    drawing = generate.drawn(PAGES["architecture.md"])
    assert drawing.count("<svg") == 4 and "```walk" not in drawing


@pytest.mark.filterwarnings("ignore")
def test_the_site_builds_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    pytest.importorskip("material", reason="the extra `docs` is not installed")
    pytest.importorskip("mkdocstrings", reason="the extra `docs` is not installed")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(
        build,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > len(PAGES)
    loading = re.compile(
        r"""<(?:script|img|iframe|source|audio|video)[^>]*\ssrc=["']?(?:https?:)?//|"""
        r"""<link(?![^>]*rel=["']?canonical)[^>]*\shref=["']?(?:https?:)?//"""
    )
    for page in pages:
        assert not loading.search(page.read_text()), page


def extension(name: str) -> str:
    """The text of a file that the page about contributing shows."""
    page = PAGES["contributing.md"]
    (text,) = re.findall(rf"^```python title=\"my_package/{name}.py\"\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    return str(text)


def test_the_extensions_of_the_page_work(tmp_path: Path, hospital: Path) -> None:
    (points,) = (tomllib.loads(text) for text in blocks("contributing.md", "toml"))
    named = points["project"]["entry-points"]
    modules = {value.split(":")[0].split(".")[1] for group in named.values() for value in group.values()}
    files = {"my_package/__init__.py": "", **{f"my_package/{name}.py": extension(name) for name in modules}}
    with installed(make_package(tmp_path / "package", "my-package", named, files)):
        run_line("treeanon algorithms everything")
        run_line("treeanon anonymize patients.xml -s hospital-xml.toml -k 5 -a everything --param note=2 -o all.xml")
        (hospital / "people.query").write_text("".join(f"age={20 + n % 30}&sex={'fm'[n % 2]}\n" for n in range(300)))
        run_line("treeanon init people.query -o query.toml")
        run_line("treeanon anonymize people.query -s query.toml -k 5 -o published.query")
        run_line("treeanon verify published.query -s query.toml -k 5")
        run_line("treeanon anonymize census.csv -s census.toml -k 5 --l 1 --model no-majority:share=0.6 -o more.csv")
        run_line("treeanon convert published.query -s query.toml -o published.ndjson")
