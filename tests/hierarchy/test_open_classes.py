"""Open classes of the builder `intervals`: where each number lies, how labels are read back, losses, and releases."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import treeanon as ta
from tests.support.profiles import few
from treeanon.cli.main import main
from treeanon.errors import HierarchyError
from treeanon.hierarchy import Intervals, parse_builder
from treeanon.metrics.table.ncp import node_ranges
from treeanon.schema.dump import dump_schema

AGES = Intervals((5, 10), min=0, max=120, min_open=18, max_open=90)


def path(built: Intervals, value: str) -> list[str]:
    hierarchy = built.build([value])
    return [hierarchy.texts[code] for code in hierarchy.ancestors(hierarchy.code(value))]


def slow_path(value: Fraction, text: str, low: int, high: int, widths: tuple[int, ...], *, integer: bool) -> list[str]:
    """Each interval begins at the bottom class, and ends at the top one."""
    if value < low:
        return [text, f"less than {low}", "*"]
    if value >= high:
        return [text, f"{high} and more", "*"]
    found = [text]
    for width in widths:
        start = low + (value - low) // width * width
        stop = min(start + width, Fraction(high))
        label = f"{start}-{stop - 1}" if integer else f"[{start}, {stop})"
        if label != found[-1] and not (integer and stop - 1 == start):
            found.append(label)
    return [*found, "*"]


@few(30, 60)
@given(st.integers(-20, 160), st.booleans(), st.integers(-5, 20), st.integers(30, 60))
def test_each_number_lies_where_its_definition_says(number: int, integer: bool, low: int, high: int) -> None:
    built = Intervals((5, 10, 20), integer=integer, min_open=low, max_open=high)
    assert path(built, str(number)) == slow_path(Fraction(number), str(number), low, high, (5, 10, 20), integer=integer)


def test_by_hand() -> None:
    assert path(AGES, "97") == ["97", "90 and more", "*"]
    assert path(AGES, "90") == ["90", "90 and more", "*"]
    assert path(AGES, "89") == ["89", "88-89", "*"]
    assert path(AGES, "17") == ["17", "less than 18", "*"]
    numbers = Intervals((0.5, 1), integer=False, min_open=-1, max_open=2.5)
    assert path(numbers, "2.5") == ["2.5", "2.5 and more", "*"]
    assert path(numbers, "2.49") == ["2.49", "[2, 2.5)", "*"]
    assert path(numbers, "-1.5") == ["-1.5", "less than -1", "*"]
    # An interval that is all between the open classes is a node, which it would not be without them.
    assert path(Intervals((5,), min_open=0, max_open=5), "3") == ["3", "0-4", "*"]


def test_beyond_the_bounds_is_no_number_of_a_class() -> None:
    hierarchy = AGES.build(["121", "-1", "95"])
    assert hierarchy.encode(["121", "-1", "95"]).tolist()[:2] == [-1, -1]
    assert hierarchy.find("95") is not None
    # Nobody is there, and nobody says so: no class.
    assert AGES.build(["30"]).find("90 and more") is None


def test_labels_are_read_back() -> None:
    hierarchy = AGES.build(["90 and more", "less than 18", "33-37", "95"])
    assert [hierarchy.find(text) is not None for text in ("90 and more", "less than 18", "33-37")] == [True] * 3
    assert [hierarchy.texts[code] for code in hierarchy.ancestors(hierarchy.code("95"))][1] == "90 and more"


def test_losses_are_shares_of_the_range() -> None:
    hierarchy = AGES.build(["95", "3", "40"])
    shares = node_ranges(hierarchy, AGES)
    assert shares[hierarchy.code("90 and more")] == pytest.approx(30 / 120)
    assert shares[hierarchy.code("less than 18")] == pytest.approx(18 / 120)
    unbounded = Intervals((10,), max_open=90)
    open_end = unbounded.build(["40", "110"])
    assert node_ranges(open_end, unbounded)[open_end.code("90 and more")] == pytest.approx(20 / 70)


@pytest.mark.parametrize(
    "wrong",
    [{"min_open": 20, "max_open": 20}, {"max": 80, "max_open": 90}, {"min": 5, "min_open": 5}, {"max_open": 1.5}],
)
def test_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(HierarchyError):
        Intervals((5,), **wrong)  # type: ignore[arg-type]
    assert parse_builder({"intervals": [5], **wrong}, "integer")[0] is None


SCHEMA = """version = 1
[input]
format = "csv"
[[class]]
name = "age"
path = "age"
type = "integer"
hierarchy = { intervals = [5, 10], min = 0, max = 120, max_open = 90 }
"""


def test_releases_with_open_classes_are_published_and_verified(tmp_path: Path) -> None:
    schema, source, out = tmp_path / "s.toml", tmp_path / "in.csv", tmp_path / "out.csv"
    schema.write_text(SCHEMA)
    source.write_text("age\n" + "".join(f"{age}\n" for age in [91, 94, 99, 103, 30, 31, 32, 33]))
    for algorithm in ("optimal", "local"):
        release = ta.anonymize(source, schema=schema, k=4, algorithm=algorithm)
        release.write(out, force=True)
        assert ta.verify(out, schema=schema, k=4).holds
    release = ta.anonymize(source, schema=schema, k=4, algorithm="optimal")
    assert {row["age"] for row in release.to_records()} == {"90 and more", "30-39"}
    loaded = ta.Schema.load(schema)
    assert "max_open = 90" in dump_schema(loaded)
    source.write_text("age\n13031303\n30\n")
    with pytest.raises(HierarchyError) as caught:
        ta.read_table(source, loaded)
    assert "13031303" not in str(caught.value)


@pytest.mark.parametrize("ages", [[91, 91, 99, 99, 30, 30, 32, 32], [91, 91, 99, 99]])
def test_with_a_least_level_nothing_finer_is_published(tmp_path: Path, ages: list[int]) -> None:
    """However many widths there are between: a number of the class lies directly below it."""
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("age\n" + "".join(f"{age}\n" for age in ages))
    schema = SCHEMA.replace("[5, 10]", "[5, 10, 20]") + "min_level = 1\n"
    for algorithm in ("local", "optimal", "mondrian", "onedim", "freeform-greedy", "suppress-tuples"):
        for levels in (None, {"age": 1}, {"age": (1, 3)}):
            release = ta.anonymize(source, schema=schema, k=2, algorithm=algorithm, levels=levels)
            release.write(out, force=True)
            assert set(out.read_text().split("\n")[1:]) <= {"", '"90 and more"', '"30-34"'}, (algorithm, levels)
            assert ta.verify(out, schema=schema, k=2).holds
    assert not ta.verify(source, schema=schema, k=2).holds


def test_hierarchy_build_takes_them(tmp_path: Path) -> None:
    values = tmp_path / "ages.txt"
    values.write_text("95\n12\n40\n")
    out = tmp_path / "age.json"
    line = ["hierarchy", "build", "--values", str(values), "--intervals", "5", "--max-open", "90", "--min-open", "18"]
    assert CliRunner().invoke(main, [*line, "-o", str(out)]).exit_code == 0
    parents = json.loads(out.read_text())
    assert (parents["95"], parents["12"]) == ("90 and more", "less than 18")
