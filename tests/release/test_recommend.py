"""What m means on the data: whom one more value singles out in a release, and what several m and n cost and leave."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import treeanon as ta
from tests.support.paths import ROOT
from tests.support.profiles import few
from treeanon.cli.main import exit_code, main
from treeanon.errors import UsageError
from treeanon.privacy.guarantee import Guarantee
from treeanon.release.recommend import SIZES, Recommendation, Trial, recommend, recommendation_text
from treeanon.risks.trees import one_more, percent_of

FLAT = ta.Schema.loads('version = 1\n[input]\nformat = "trees"\n[[class]]\nname = "a"')
SAMPLES = ROOT / "samples"


def forest(people: list[set[str]]) -> ta.Forest:
    return ta.Forest.from_records(FLAT, [[["a", value, []] for value in sorted(values)] for values in people])


def slowly(people: list[set[str]], k: int, m: int) -> int:
    """How many persons hold up to m + 1 values that fewer than k persons hold, by looking at all."""
    found = 0
    for own in people:
        sets = (set(each) for size in range(1, m + 2) for each in combinations(sorted(own), size))
        found += any(sum(each <= other for other in people) < k for each in sets)
    return found


@few(50, 100)
@given(
    st.lists(st.sets(st.sampled_from("abcdef"), min_size=1, max_size=5), min_size=1, max_size=12),
    st.integers(2, 4),
    st.integers(1, 3),
)
def test_one_more_value_counts_those_whom_a_slow_look_at_all_counts(people: list[set[str]], k: int, m: int) -> None:
    found = one_more(forest(people), Guarantee(k, m=m, n=0))
    assert found is not None
    assert (found.share.persons, found.share.of, found.m) == (slowly(people, k, m), len(people), m + 1)


def test_a_worked_example() -> None:
    people = [{"flu", "acne"}, {"flu", "acne"}, {"flu", "gout"}, {"acne", "gout"}]
    found = one_more(forest(people), Guarantee(2, m=1, n=0))
    assert found is not None and found.share.persons == 2
    assert found.sentence == (
        "One value more than the guarantee covers (2 values) fits fewer than 2 persons for 50.0 % of the 4 persons."
    )
    nobody = one_more(forest([{"x"}] * 3), Guarantee(2, m=1, n=0))
    assert nobody is not None and nobody.sentence.endswith("fits fewer than 2 persons for nobody.")
    assert one_more(forest(people), Guarantee(1, m=1, n=0)) is None
    assert one_more(forest(people), Guarantee(2, m=4, n=0)) is None


def test_shares_are_never_rounded_to_all_or_nothing() -> None:
    assert [percent_of(share) for share in (0.0, 1e-9, 1 - 1e-9, 1.0)] == ["0.0 %", "< 0.1 %", "> 99.9 %", "100.0 %"]


def write_people(tmp_path: Path) -> list[str]:
    rows = [{"age": str(30 + n % 3), "visits": [{"w": f"w{n % 7}"}, {"w": f"w{n % 5}"}]} for n in range(60)]
    (tmp_path / "p.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
    classes = '[[class]]\nname = "age"\npath = "age"\n[[class]]\nname = "ward"\npath = "visits[].w"\n'
    (tmp_path / "s.toml").write_text(f'version = 1\n[input]\nformat = "ndjson"\n{classes}')
    return ["anonymize", str(tmp_path / "p.ndjson"), "-s", str(tmp_path / "s.toml")]


def test_the_command_and_the_public_page_say_it(tmp_path: Path) -> None:
    args = [*write_people(tmp_path), "-k", "3", "-m", "1", "-n", "0", "-o", str(tmp_path / "out.ndjson")]
    page = tmp_path / "page.html"
    done = CliRunner().invoke(main, [*args, "--json", "--html", str(page)])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)["one_more_value"]
    released = ta.read(tmp_path / "out.ndjson", ta.Schema.load(tmp_path / "s.toml"))
    assert told["persons"] == ta.risk(released, k=3, m=2, n=0).at(2, 0).persons > 0
    sentence = "One value more than the guarantee covers (2 values) fits fewer than 3 persons for"
    assert f"Beyond it: {sentence}" in done.stderr and sentence in page.read_text()


def test_several_m_and_n_are_tried(tmp_path: Path) -> None:
    args = [*write_people(tmp_path), "-k", "3", "--recommend"]
    done = CliRunner().invoke(main, args)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("k = 3, tried with all 60 persons; nothing is written.")
    assert "Suggested: -m " in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.ndjson", "s.toml"]
    told = json.loads(CliRunner().invoke(main, [*args, "--json", "--quiet"]).stdout)
    assert [(trial["m"], trial["n"]) for trial in told["trials"]] == list(SIZES)
    assert {"value_loss", "relations_kept", "one_more_value", "withheld"} <= told["trials"][0].keys()
    losses = [trial["value_loss"] for trial in told["trials"]]
    assert losses[0] <= losses[1] and told["k"] == 3 and told["suggested"]["m"] in (1, 2, 3)


def test_a_sample_is_tried_where_there_are_many() -> None:
    people = forest([{f"v{n % 5}", f"w{n % 3}"} for n in range(300)])
    found = recommend(people, k=4, sample=100, seed=1)
    assert (found.persons, found.sample, found.k) == (300, 100, 4)
    assert "a sample of 100 of 300 persons" in recommendation_text(found)
    assert "With all of them, less is lost." in recommendation_text(found)


def test_what_is_suggested() -> None:
    assert Recommendation(5, 9, 9, (Trial(1, 0, failed="no"),)).suggested is None
    dear = Recommendation(5, 9, 9, (Trial(1, 0, 0.2), Trial(2, 0, 0.4), Trial(3, 0, 0.9)))
    assert dear.suggested is not None and dear.suggested[0].m == 2
    dearest = Recommendation(5, 9, 9, (Trial(1, 0, 0.7), Trial(2, 0, 0.8)))
    assert dearest.suggested is not None and dearest.suggested[0].m == 1


def test_what_cannot_be_tried_is_refused(tmp_path: Path) -> None:
    args = [*write_people(tmp_path), "--recommend"]
    assert CliRunner().invoke(main, [*args, "-m", "2"]).exit_code == 2
    done = CliRunner().invoke(main, args[:-1])
    assert done.exit_code == 2 and "--output" in done.output
    (tmp_path / "p.csv").write_text("a,b\n1,2\n1,2\n")
    (tmp_path / "c.toml").write_text('version = 1\n[input]\nformat = "csv"\n[[class]]\nname = "a"\npath = "a"\n')
    rows = ["anonymize", str(tmp_path / "p.csv"), "-s", str(tmp_path / "c.toml"), "--recommend"]
    done = CliRunner().invoke(main, rows)
    assert done.exit_code == 2 and "applies to trees only" in done.output
    people = forest([{"x"}] * 9)
    with pytest.raises(UsageError, match="m: several are tried"):
        recommend(people, m=2)
    with pytest.raises(UsageError, match="sample must be"):
        recommend(people, sample=0)
    assert exit_code(UsageError("x")) == 2
