"""Hierarchies without the values themselves, against a slow twin, and releases that are made by them."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import treeanon as ta
from tests.support.command_line import treeanon
from treeanon.errors import SchemaError
from treeanon.hierarchy import Ages, Dates, Levels, Prefix, parse_builder

BUILDERS = {
    Dates(("year", "decade")): lambda text: (text.isdigit() and len(text) == 4) or text.endswith("0s"),
    Prefix((3, 1), frozenset(["121", "136"])): lambda text: text == "000" or (text[-1] == "*" and len(text) in (2, 4)),
    Ages((5, 10), on="2024-06-30", top=90): lambda text: text.endswith(" years"),
}  # fmt: skip
days = st.dates().map(lambda day: day.isoformat())
values = st.one_of(
    days, days.map(lambda day: day[:7]), days.map(lambda day: day[:4]), st.sampled_from(["2010s", "35-39 years"]),
    st.from_regex(r"1[23][0-9]{3}|12|1[23][0-9]\*|1\*|000", fullmatch=True),
)  # fmt: skip


@given(st.sampled_from(list(BUILDERS)), st.lists(values, max_size=12))
def test_values_are_names_of_what_stood_above_them(builder, texts) -> None:
    whole, levels = builder.build(texts), Levels(builder).build(texts)
    is_label = BUILDERS[builder]
    assert all(text == "*" or is_label(text) for text in levels.texts)
    assert set(levels.texts) == {text for text in whole.texts if text == "*" or is_label(text)}
    for text in whole.texts:
        above = whole.code(text)
        while above and not is_label(whole.texts[above]):
            above = int(whole.parent[above])
        assert levels.texts[levels.code(text)] == whole.texts[above]
        assert levels.encode([text]).tolist() == [levels.find(text)]
    for code in range(1, len(levels)):
        parent = whole.texts[whole.parent[whole.code(levels.texts[code])]]
        assert levels.texts[levels.parent[code]] == parent


def test_it_can_be_sent_to_other_processes() -> None:
    h = Levels(Dates(("year",))).build(["2019-03-04"])
    again = pickle.loads(pickle.dumps(h))
    assert again == h and again.code("2019-03-04") == h.code("2019")


@pytest.mark.parametrize("spec", [{"icd10": True}, {"groups": 5}, {"flat": True}])
def test_other_builders_have_no_such_key(spec) -> None:
    builder, problems = parse_builder({**spec, "leaves": False}, "text")
    assert builder is None and problems[0][0] == "leaves"


def test_the_key_is_true_or_false() -> None:
    assert parse_builder({"prefix": [3], "leaves": True}, "text") == (Prefix((3,)), [])
    assert parse_builder({"prefix": [3], "leaves": "no"}, "text")[1][0][0] == "leaves"


SCHEMA = """
version = 1
[input]
format = "{form}"
[[class]]
name = "day"
path = "day"
type = "date"
hierarchy = {{ dates = ["year", "decade"], leaves = false }}
on_unknown = "suppress"
[[class]]
name = "zip"
path = "zip"
hierarchy = {{ prefix = [3], leaves = false }}
"""


def test_dates_that_move_have_days() -> None:
    with pytest.raises(SchemaError, match="moves days, and the hierarchy has none"):
        ta.Schema.loads(SCHEMA.format(form="ndjson").replace('type = "date"', 'type = "date"\nshift = "person"'))


@pytest.mark.parametrize("form", ["ndjson", "csv"])
def test_releases_have_no_value_below_the_levels_and_verify_finds_one(form: str, tmp_path: Path) -> None:
    rows = [{"day": f"2019-03-{1 + number % 2:02d}", "zip": "12101"} for number in range(20)]
    files = {
        "ndjson": lambda rows: "".join(json.dumps(row) + "\n" for row in rows),
        "csv": lambda rows: "day,zip\n" + "".join(f"{row['day']},{row['zip']}\n" for row in rows),
    }
    (tmp_path / "s.toml").write_text(SCHEMA.format(form=form))
    source, target = tmp_path / f"in.{form}", tmp_path / f"out.{form}"
    source.write_text(files[form](rows))

    def run(command: str, path: Path, *more: str | Path) -> int:
        return treeanon(command, path, "-s", tmp_path / "s.toml", "-k", "5", *more).returncode

    assert run("anonymize", source, "-o", target) == 0
    released = target.read_text()
    assert released.count("2019") == 20 and "2019-03" not in released and "12101" not in released
    assert run("verify", target) == 0
    target.write_text(released.replace("2019", "2019-03-01"))
    assert run("verify", target) == 1
