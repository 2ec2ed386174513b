"""`treeanon compare --html`: releases side by side, with the numbers of `compare` and `risk`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lxml import html as reader

from tests.support.command_line import treeanon
from tests.support.hospital import folder_of, write_persons


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = folder_of(tmp_path / "place")
    write_persons(folder / "in.ndjson", 1)
    monkeypatch.chdir(folder)
    for k in ("2", "4"):
        line = f"anonymize in.ndjson -s s.toml -k {k} --effort 0.1 -o out{k}.ndjson -q"
        assert treeanon(*line.split()).returncode == 0
    return folder


def tables_of(page: Path) -> dict[str, list[list[str]]]:
    found = {}
    for one in reader.fromstring(page.read_text()).iter("table"):
        rows = [[cell.text_content() for cell in row] for row in one.iter("tr")]
        found[one.find("caption").text_content()] = rows
    return found


def test_the_page_has_the_numbers_of_the_other_commands(home: Path) -> None:
    done = treeanon(
        *["compare", "in.ndjson", "out2.ndjson", "out4.ndjson", "-s", "s.toml", "-k", "2", "--html", "c.html", "--json"]
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    tables = tables_of(home / "c.html")
    assert tables["Totals"][0] == ["", "out2.ndjson", "out4.ndjson"]
    lost = {row[0]: row[1:] for row in tables["Totals"]}
    for at, name in enumerate(("out2.ndjson", "out4.ndjson")):
        alone = json.loads(treeanon("compare", "in.ndjson", name, "-s", "s.toml", "-k", "2", "--json").stdout)
        assert alone["losses"] == told[name]["losses"]
        assert lost["value loss, 0 unchanged"][at] == f"{alone['losses']['value_loss']:.3f}"
        risk = json.loads(treeanon("risk", name, "-s", "s.toml", "-k", "2", "-m", "3", "-n", "2", "--json").stdout)
        shown = tables["Persons by attacker"][1:]
        assert len(shown) == 6
        below = {(cell["m"], cell["n"]): cell["share"] for cell in risk["below_k"]}
        assert shown[-1][2 * at + 4].endswith(f"{100 * below[3, 2]:.1f} %")
    assert all(row[1] == "✓ holds" for row in tables["The guarantee that was asked for"][1:])
    assert "CANARY" not in (home / "c.html").read_text(), "values of the data"
    assert (home / "c.html").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("out2.ndjson out4.ndjson -s s.toml", "--html FILE"),
        ("out2.ndjson - - -s s.toml --html c.html", "only one"),
        ("out2.ndjson -s s.toml --html in.ndjson", "is an input"),
    ],
)
def test_wrong_use_is_refused(home: Path, line: str, says: str) -> None:
    done = treeanon("compare", "in.ndjson", *line.split())
    assert done.returncode == 2 and says in " ".join(done.stderr.split())
