"""A preview in a terminal: what it says, and that no value can move or color anything."""

from __future__ import annotations

import runpy
from pathlib import Path
from random import Random
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

import treeanon as ta
from tests.previews.test_record_changes import SCHEMA, couple, of, solution, world
from tests.support.paths import ROOT
from tests.support.profiles import few
from treeanon.previews.changes import record_change
from treeanon.previews.model import Node, NodeChange, RecordChange, RowChange
from treeanon.reports.preview_cells import cell, columns, cut, plain
from treeanon.reports.preview_text import preview_lines, preview_text, record_lines

HOSTILE = [
    "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "a\u202eb\u202c", "\u2066x\u2069", "zero\u200bwidth\u200d", "tab\there",
    "line\nbreak\r", "\x9b2J", "東京都庁舎展望台", "👩‍👩‍👧‍👦", "🇩🇪", "❤\ufe0f", "e" + "\u0301" * 40, "\u0301",
    "\u3164", "\U000e0041tag",
    "שלום עולם", "مرحبا", "\u1100\u1161\u11a8", "nbsp\xa0", "\x00", "\x7f", "a" * 200, "\\x1b[31m",
]  # fmt: skip
KEEP_ORDER = "\u200e"


def lines_of(change: RecordChange | RowChange, width: int = 80) -> list[str]:
    return [plain(line) for line in record_lines(change, width)]


def test_a_move_is_told_on_both_sides():
    change = record_change(couple(), of(solution(pairs=[(("ward", "w1"), ("ill", "flu"))]), couple()), 0)
    assert lines_of(change) == [
        "sex: f                                    sex: f",
        "ward: w1                                  ward: w1",
        "  ill: flu                             >  (now under the record)",
        "    drug: tea                          >  (now under ward: w1)",
        "  ill: gout                                 ill: gout",
        "                                       >    drug: tea (moved from ill: flu)",
        "                                       >  ill: flu (moved from ward: w1)",
    ]


def test_what_is_one_with_others_and_what_is_gone_is_told_beside_it():
    change = record_change(couple(), of(solution({"ward": ["*"], "ill": ["*"]}, withheld=["drug"]), couple()), 1)
    assert lines_of(change) == [
        "ward: w1                               ~= ward: *",
        "  ill: flu                             ~=   ill: *",
        "ward: w2                               ~= (merged with ward: *)",
        "  ill: acne                            ~= (merged with ill: *)",
        "    drug: soap                         x  (not published)",
    ]


def test_a_narrow_terminal_has_one_below_the_other():
    change = record_change(couple(), of(solution({"ward": ["*"]}, withheld=["drug"]), couple()), 1)
    assert lines_of(change, 30) == [
        "~=  ward: w1",
        "    -> ward: *",
        "      ill: flu",
        "    -> (further down)",
        "~=  ward: w2",
        "    -> (merged with ward: *)",
        "      ill: acne",
        "x       drug: soap",
        "    -> (not published)",
        "    ->   ill: flu",
    ]


def test_deep_nodes_say_how_deep_where_there_is_no_room_to_stand_further_in():
    fates = tuple(NodeChange(i, i, frozenset()) for i in range(9))
    node = None
    for i in reversed(range(9)):
        node = Node(i, "c", f"v{i}", (node,) if node else ())
    change = RecordChange(0, (node,), (node,), fates, 0.0)
    lines = [plain(line) for line in record_lines(change, 80)]
    assert lines[6].startswith(" " * 12 + "c: v6  ") and lines[7].startswith(" " * 12 + "[8] c: v7  ")
    assert lines[8].count("[9] c: v8") == 2


@pytest.mark.parametrize("width", [50, 80])
def test_a_long_value_of_several_words_is_whole_in_several_lines(width: int):
    values = "1 x brewer, 2 x baker of bread, 1 x maker of violins and other instruments"
    change = RowChange(0, ("work",), ("maker of violins and other instruments, all of them old",), (values,), 1, 0.5)
    lines = [plain(line) for line in record_lines(change, width)]
    assert all(len(line) <= width for line in lines)
    told = " ".join(" ".join(lines).replace("->", " ").split())
    for word in (*values.split(), "old"):
        assert word in told
    assert sum("~" in line for line in lines) == 1
    # A megabyte is a few lines all the same.
    many = RowChange(0, ("work",), ("a",), ("many words " * 100_000,), 1, 0.5)
    assert len(record_lines(many, width)) < 8


def test_rows_and_missing_values():
    change = RowChange(4, ("age", "sex"), ("34", None), ("30-39", None), 5, 0.25)
    assert lines_of(change) == [
        "age: 34                                ~  age: 30-39",
        "sex: (missing)                            sex: (missing)",
    ]
    gone = RowChange(4, ("age",), ("34",), None, 0, 1.0)
    assert lines_of(gone) == ["age: 34                                x  (not published)"]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("width", [1, 2, 7, 40])
def test_a_cell_is_as_wide_as_it_says_whatever_it_holds(text: str, width: int):
    found = cell(text, width)
    assert columns(found.replace(KEEP_ORDER, "")) == width
    assert harmless(found)
    assert len(found) <= 4 * width + 4, "accents do not pile up"


@given(st.text(max_size=60), st.integers(1, 50))
def test_any_text_is_cut_to_the_columns_there_are(text: str, width: int):
    found = cut(text, width)
    assert columns(found) <= width and harmless(found)
    assert cut(text, 10_000).startswith(found.removesuffix("…"))


def harmless(text: str) -> bool:
    return all(character.isprintable() for character in text.replace(KEEP_ORDER, ""))


def test_long_values_are_not_looked_at_whole():
    assert cut("a" * 10**6, 10) == "a" * 9 + "…"
    assert cut("\u0301" * 10**6, 20).startswith("\\u0301\\u0301")


@few(50, 100)
@given(st.integers(0, 2**32), st.sampled_from([20, 40, 63, 64, 80, 133]))
def test_every_line_fits_and_every_node_is_told(seed: int, width: int):
    forest, release = world(seed)
    for number in range(len(forest)):
        change = record_change(forest, release, number)
        lines = lines_of(change, width)
        assert all(columns(line.replace(KEEP_ORDER, "")) <= width and harmless(line) for line in lines)
        if width >= 64:
            assert len(lines) >= len(change.fates)
            signs = [line[(width - 5) // 2 :][:5] for line in lines if columns(line) == len(line)]
            assert all(set(sign) <= set("~>=x ") for sign in signs)


def test_the_whole_text_with_hostile_values_in_eighty_columns_and_no_colors():
    rnd = Random(1)
    schema = ta.Schema.loads(
        'version = 1\n[input]\nformat = "trees"\n[[class]]\nname = "c\\u001b[2J"\n[[class]]\nname = "d"\nunder = "/"'
    )
    # A trees file cannot hold a NUL, and no reader lets one in.
    values = [text for text in HOSTILE if "\0" not in text] + ["b" * 10**6]
    records = [[["c\x1b[2J", text, []], ["d", rnd.choice("xy"), []]] for text in values for _ in range(2)]
    found = ta.preview(ta.Forest.from_records(schema, records), k=2, records=len(records))
    for width in (20, 80):
        text = preview_text(found, width=width)
        assert all(columns(line.replace(KEEP_ORDER, "")) <= width and harmless(line) for line in text.split("\n"))
    assert "\\x1b[31mred" in text and "c\\x1b[2J: b" in text


def test_hostile_values_that_move_are_texts_too():
    wards, ills = [["ward", text, []] for text in HOSTILE if "\0" not in text], "\x1b[2J\u202e"
    for ward in wards:
        forest = ta.Forest.from_records(SCHEMA, [[["ward", ward[1], [["ill", ills, [["drug", "tea", []]]]]]]])
        change = record_change(forest, of(solution(pairs=[(("ward", ward[1]), ("ill", ills))]), forest), 0)
        for width in (20, 64, 80, 150):
            lines = lines_of(change, width)
            assert all(columns(line.replace(KEEP_ORDER, "")) <= width and harmless(line) for line in lines)


def test_colors_add_nothing_but_colors():
    found = ta.preview(couple(), k=2, records=1)
    bare, colored = preview_text(found), preview_text(found, color=True)
    codes = [f"\x1b[{code}m" for code in (0, 1, 2, 31, 33, 34, 36)]
    stripped = colored
    for code in codes:
        stripped = stripped.replace(code, "")
    assert [line.rstrip() for line in stripped.split("\n")] == bare.split("\n") and stripped != colored


def test_a_long_record_is_cut_and_its_summary_is_whole():
    schema = ta.Schema.loads('version = 1\n[input]\nformat = "trees"\n[[class]]\nname = "c"')
    records = [[["c", str(i), []] for i in range(80)] for _ in range(2)]
    found = ta.preview(ta.Forest.from_records(schema, records), k=2, records=1)
    text = preview_text(found, lines=10)
    assert "… and 70 more lines" in text and "80 unchanged" in text
    assert len(preview_lines(found, lines=None)) > 80


def test_it_says_what_it_is_and_what_a_sample_cannot_say():
    forest = ta.read("samples/patients.xml", ta.Schema.load("schemas/hospital-xml.toml"))[:300]
    text = preview_text(ta.preview(forest, k=3, sample=100))
    assert text.startswith("PREVIEW: nothing is written. It shows ORIGINAL data")
    assert "SAMPLE of 100 of 300" in text
    assert (
        "Whoever knows up to 2 values of a person" in text and "Verified by counting: 3^(2,1)-anonymity holds" in text
    )
    assert "~ generalized   > moved   = merged   x not published" in text


def test_the_picture_of_the_readme_is_what_its_script_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made = tmp_path / "preview.svg"
    monkeypatch.setattr("sys.argv", ["make_preview_picture.py", str(made)])
    runpy.run_path(str(ROOT / "samples" / "make_preview_picture.py"), run_name="__main__")
    assert made.read_text("utf-8") == (ROOT / "samples" / "preview.svg").read_text("utf-8")
    picture = ElementTree.parse(made).getroot()
    assert picture.get("viewBox") and any("Beta Blocker" in (text.text or "") for text in picture.iter())
