from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from hypothesis import given

from tests.support.hierarchy_strategies import hierarchies
from tests.support.profiles import few
from tests.support.steps import check_linear
from treeanon.errors import FileError, HierarchyError
from treeanon.hierarchy import (
    Hierarchy,
    dump_csv,
    dump_json,
    load_csv,
    load_json,
    read_hierarchy,
    render,
    write_hierarchy,
)

SIMPLE = ("*", "lung", "flu", "skin", "acne")


@few(250, 500)
@given(hierarchies())
def test_csv_and_json_give_the_hierarchy_back_in_the_same_order(h):
    assert load_csv(dump_csv(h)) == h
    assert load_json(dump_json(h)) == h


@given(hierarchies())
def test_csv_rows_have_equal_length(h):
    rows = list(csv.reader(io.StringIO(dump_csv(h), newline=""), delimiter=";"))
    assert {len(row) for row in rows} == {h.height + 1}
    assert [row[0] for row in rows] == [h.texts[v] for v in h.leaf_nodes]


@pytest.mark.parametrize("form", ["csv", "json"])
def test_files_round_trip_and_streams_are_written(tmp_path, form):
    h = Hierarchy.from_paths([["a;b", "x\r\ny", "*"], [' "c"', "*"]])
    write_hierarchy(h, tmp_path / f"h.{form}")
    assert read_hierarchy(tmp_path / f"h.{form}") == h
    out = io.StringIO()
    write_hierarchy(h, out, form=form)
    assert out.getvalue().encode() == (tmp_path / f"h.{form}").read_bytes()


@pytest.mark.parametrize(
    "text",
    [
        "flu;lung;*\nacne;skin;*\n",
        "flu,lung,*\r\nacne,skin,*\r\n",
        "flu\tlung\t*\nacne\tskin\t*",
        "\ufeffflu;lung;*\n\n   \n;;\nacne;skin;*\n\n",
        '"flu";"lung";"*"\n"acne";skin;*\n',
        "flu;lung\nacne;skin\n",
    ],
)
def test_delimiters_marks_and_blank_lines(text, tmp_path):
    (tmp_path / "h.csv").write_text(text, encoding="utf-8", newline="")
    assert read_hierarchy(tmp_path / "h.csv").texts == SIMPLE


def test_the_delimiter_is_the_one_of_even_rows():
    assert load_csv("1,5;1-2;*\n2,5;2-3;*\n").texts == ("*", "1-2", "1,5", "2-3", "2,5")
    assert load_csv("a, b\tX\nc, d\tX\n").texts == ("X", "a, b", "c, d")
    assert load_csv("a;b,X\nc,X\nd,X\n").texts == ("X", "a;b", "c", "d")
    assert load_csv("one value\nanother\n").texts == ("*", "one value", "another")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "h.csv: there are no rows"),
        (b"flu;*\n\nsecret;A;*\nz;*\nsecret;B;*\n", "h.csv, lines 3 and 5: "),
        (b'"a\nb";X;*\nsecret;A;*\nsecret;B;*\n', "h.csv, lines 3 and 4: "),
        (b"x;A;B\ny;B;A\n", "h.csv, lines 1 and 2: .*cycle"),
        (b"a;*\nsec\0ret;*\n", "h.csv, line 2: there is a NUL"),
        (b"a;*\nb;*\nsecr\xe9t;*\n", "h.csv, line 3: the text must be UTF-8"),
        ("secret;*".encode("utf-16"), "h.csv, line 1: the text must be UTF-8"),
        (b'a;*\n"secret;*\n', "h.csv, line 2: "),
        (b'a;*\nb;"secret"x\n', "h.csv, line 2: "),
        (b"a;*\n" + b"secret" * 30_000 + b";*\n", "h.csv, line 2: "),
    ],
)
def test_bad_csv_names_file_and_line_and_no_value(tmp_path, data, says):
    (tmp_path / "h.csv").write_bytes(data)
    with pytest.raises(HierarchyError, match=says) as caught:
        read_hierarchy(tmp_path / "h.csv")
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "h.json, line 1: "),
        ("[]", "line 1: '{'"),
        ('{"secret": "a",\n "b": "a",\n "secret": "a"}', "h.json, lines 1 and 3: .*two parents"),
        ('{"secret": "",\n"secret": "b"}', "lines 1 and 2: .*two parents"),
        ('{"a": "*",\n"secret": ""\n,"b": ""}', "lines 2 and 3: there must be one root"),
        ('{"a": "*",\n"b": {"secret": "x"}}', "line 2: a string"),
        ('{"a": NaN}', "line 1: a string"),
        ('{"a": null}', "line 1: a string"),
        ('{"a":\n 5}', "line 2: a string"),
        ('{"a": "b",}', "line 1: a string"),
        ('{"a" "b"}', "line 1: ':'"),
        ('{"a": "b" "c": "d"}', "line 1: '}'"),
        ('{"a": "b"', "line 1: '}'"),
        ('{"a": "b"} x', "line 1: nothing may follow"),
        ('{"a": "secret', "line 1: a string is not JSON"),
        ('{"a": "\\x"}', "line 1: a string is not JSON"),
        ('{"a": "b\n"}', "line 1: a string is not JSON"),
        ('{"": "a"}', "line 1: a key is empty"),
        ('{"a": "b",\n"b": "c",\n"c": "a"}', "h.json, lines 1, 2 and 3: .*cycle"),
        ('{"a": "b",\n"c": "d"}', "h.json, lines 1 and 2: 2 texts have no parent"),
        ("[" * 100_000, "line 1: "),
        ('{"a":' * 100_000, "line 1: "),
    ],
)
def test_bad_json_names_file_and_line_and_no_value(tmp_path, text, says):
    (tmp_path / "h.json").write_text(text, encoding="utf-8")
    with pytest.raises(HierarchyError, match=says) as caught:
        read_hierarchy(tmp_path / "h.json")
    assert "secret" not in str(caught.value)


def test_json_is_plain_json_and_drops_a_common_star():
    h = load_json(' {"flu":"lung", "lung" : "any disease", "any disease":"*"}\n')
    assert h.texts == ("any disease", "lung", "flu")
    assert json.loads(dump_json(h)) == {"lung": "any disease", "flu": "lung"}
    assert load_json("{}").texts == ("*",)
    assert load_json('{"*": "", "a": "*"}').texts == ("*", "a")


def test_a_nul_goes_to_no_file():
    h = Hierarchy(("*", "\0", "a"), np.array([-1, 0, 0]))
    with pytest.raises(HierarchyError, match="node 1"):
        dump_csv(h)
    with pytest.raises(HierarchyError, match="NUL"):
        load_json(dump_json(h))


def test_half_a_character_is_no_text():
    with pytest.raises(HierarchyError, match="node 2"):
        Hierarchy(("*", "a", "\ud800"), np.array([-1, 0, 0]))
    with pytest.raises(HierarchyError):
        load_json('{"\\ud800": "*"}')


def test_writing_and_reading_take_linear_work():
    def again(size):
        h = Hierarchy.from_paths([str(i), f"{i // 10}x", f"{i // 100}y", "*"] for i in range(size))
        return lambda: (load_csv(dump_csv(h)), load_json(dump_json(h))) == (h, h)

    assert again(30_000)()
    check_linear(again, 1000)


def test_files_that_cannot_be_read_or_written(tmp_path):
    with pytest.raises(FileError, match=r"none\.csv"):
        read_hierarchy(tmp_path / "none.csv")
    with pytest.raises(FileError):
        write_hierarchy(Hierarchy.flat([]), tmp_path / "none" / "h.json")
    with pytest.raises(HierarchyError, match=r"end in \.csv or \.json"):
        read_hierarchy(tmp_path / "h.txt")
    with pytest.raises(HierarchyError, match="csv, json"):
        write_hierarchy(Hierarchy.flat([]), io.StringIO(), form="xml")


def test_a_tree_in_box_characters():
    h = Hierarchy.from_paths([["a", "A", "*"], ["b", "A", "*"], ["c", "B", "*"]])
    assert render(h).splitlines() == ["*", "├── A", "│   ├── a", "│   └── b", "└── B", "    └── c"]
    assert render(h, max_depth=1).splitlines() == ["*", "├── A (... and 2 more)", "└── B (... and 1 more)"]
    assert render(h, max_depth=0) == "* (... and 5 more)"
    assert render(Hierarchy.flat(map(str, range(15))), max_children=3).endswith("└── ... and 12 more")


@given(hierarchies())
def test_one_printable_line_per_node(h):
    lines = render(h).split("\n")
    assert len(lines) == len(h)
    assert all(line.isprintable() for line in lines)


def test_a_text_cannot_steer_the_terminal():
    shown = render(Hierarchy.flat(["\x1b[2J", "a\u202eb"]))
    assert all(line.isprintable() for line in shown.split("\n"))
    assert "\\x1b[2J" in shown and "\\u202e" in shown


def test_a_deep_tree_needs_no_recursion():
    assert render(Hierarchy.from_parents({str(i): str(i + 1) for i in range(2_000)})).count("\n") == 2_000
