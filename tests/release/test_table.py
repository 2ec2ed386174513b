"""Releases of tables: what is written holds what was asked, whoever looks; and nothing else is ever written."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
from collections import Counter, defaultdict
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treeanon as ta
from tests.support.profiles import few
from treeanon.algorithms.table.registry import TABLE_ALGORITHMS
from treeanon.algorithms.table.result import Recoding
from treeanon.errors import GuaranteeError, UsageError
from treeanon.privacy.models import DistinctDiversity, KAnonymity
from treeanon.release import TableSolution
from treeanon.release.table import check_recoding

AGES = ta.Hierarchy.from_paths(
    [[str(age), f"{age // 10 * 10}s", "young" if age < 40 else "old", "*"] for age in range(20, 60, 3)]
)
TOWNS = ta.Hierarchy.from_paths([["Ulm", "south", "*"], ["Bonn", "west", "*"], ["Essen", "west", "*"]])
ILLS = ta.Hierarchy.flat(["flu", "gout", "acne", "HIV"])


def people(rnd: Random, rows: int, gap: float = 0.0) -> ta.Table:
    def some(values, many=rows):
        return [None if rnd.random() < gap else rnd.choice(values) for _ in range(many)]

    leaves = [AGES.texts[leaf] for leaf in AGES.leaf_nodes]
    columns = {
        "age": (some(leaves), AGES),
        "town": (some(["Ulm", "Bonn", "Essen"]), TOWNS),
        "ill": (some(["flu", "flu", "flu", "gout", "acne", "HIV"]), ILLS),
    }
    return ta.Table.of_texts(columns, {"ill": "sensitive"})


def groups_in(rows: list[tuple[str, ...]]) -> dict[tuple[str, ...], list[str]]:
    groups = defaultdict(list)
    for *known, ill in rows:
        groups[tuple(known)].append(ill)
    return groups


def covers(hierarchy: ta.Hierarchy, shown: str, value: str | None) -> bool:
    """Whether a published text can stand for a value; by parents alone."""
    parents = {
        text: hierarchy.texts[up] if up >= 0 else None
        for text, up in zip(hierarchy.texts, hierarchy.parent, strict=True)
    }
    if value is None:
        return shown in ("", "*") or shown.endswith((",null]", "[null]", " or missing"))
    if shown.startswith("["):
        return value in json.loads(shown)
    if " … " in shown:
        low, high = shown.removesuffix(" or missing").split(" … ")
        leaves = [hierarchy.texts[leaf] for leaf in hierarchy.leaf_nodes]
        return leaves.index(low) <= leaves.index(value) <= leaves.index(high)
    at: str | None = value
    while at is not None and at != shown:
        at = parents[at]
    return at == shown


HOLDS = {
    "k": lambda ills: len(ills) >= 3,
    "distinct": lambda ills: len(set(ills)) >= 2,
    "frequency": lambda ills: max(Counter(ills).values()) * 2 <= len(ills),
    "entropy": lambda ills: (
        -sum(n / len(ills) * math.log(n / len(ills)) for n in Counter(ills).values()) >= math.log(2) - 1e-9
    ),
    "alpha": lambda ills: max(Counter(ills).values()) <= 0.75 * len(ills),
}
ASKED = {
    "k": {"k": 3, "l": 1},
    "distinct": {"k": 3, "l": 2},
    "frequency": {"l": 2, "diversity": "frequency"},
    "entropy": {"l": 2, "diversity": "entropy"},
    "alpha": {"k": 3, "alpha": 0.75},
}


BY_GROUPS = sorted(name for name, one in TABLE_ALGORITHMS.items() if not one.freeform)
FREEFORM = sorted(name for name, one in TABLE_ALGORITHMS.items() if one.freeform)


@few(30, 60)
@given(st.integers(0, 2**32), st.sampled_from(sorted(ASKED)), st.sampled_from(BY_GROUPS))
def test_what_is_written_holds_what_was_asked(tmp_path_factory, seed, kind, algorithm):
    rnd = Random(seed)
    table = people(rnd, rnd.choice([3, 8, 20, 40]), rnd.choice([0, 0, 0.2]))
    path = tmp_path_factory.mktemp("release") / rnd.choice(["out.csv", "out.tsv", "out.csv.gz", "out.parquet"])
    try:
        release = ta.anonymize(table, algorithm=algorithm, max_suppressed=rnd.choice([0, 2, "30%"]), **ASKED[kind])
    except (GuaranteeError, UsageError):
        return
    release.write(path)
    assert release.verdict.holds
    if path.suffix == ".parquet":
        rows = [tuple("" if v is None else v for v in row.values()) for row in pq.read_table(path).to_pylist()]
    else:
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
        (_, *rows) = map(tuple, csv.reader(io.StringIO(text), delimiter="\t" if ".tsv" in path.name else ","))
    assert len(rows) == len(release.table)
    assert all(HOLDS[kind](ills) for ills in groups_in(rows).values())
    if "k" in ASKED[kind]:
        assert all(len(ills) >= ASKED[kind]["k"] for ills in groups_in(rows).values())
    # Every published row can be one of the input, with the same illness.
    left = list(table.rows())
    for age, town, ill in rows:
        assert any(
            (ill or None) == own[2] and covers(AGES, age, own[0]) and covers(TOWNS, town, own[1]) for own in left
        )
    assert len(left) - len(rows) == release.loss.suppressed


def possible(table: ta.Table, rows: list[tuple[str, ...]]) -> nx.Graph:
    """Who can be behind what: persons 0.., published rows 1000.."""
    graph = nx.Graph()
    for i, own in enumerate(table.rows()):
        graph.add_edges_from(
            (i, 1000 + j)
            for j, (age, town, _) in enumerate(rows)
            if covers(AGES, age, own[0]) and covers(TOWNS, town, own[1])
        )
    return graph


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.sampled_from(FREEFORM))
def test_everybody_can_be_behind_k_rows_of_a_freeform_release(tmp_path_factory, seed, algorithm):
    """Each pair of person and row that counts is in a perfect matching: leave both out, and the others still match."""
    rnd = Random(seed)
    table = people(rnd, rnd.choice([3, 6, 9]))
    path = tmp_path_factory.mktemp("release") / "out.csv"
    release = ta.anonymize(table, algorithm=algorithm, k=3, l=1)
    release.write(path)
    (_, *rows) = map(tuple, csv.reader(io.StringIO(path.read_text())))
    assert sorted(row[2] for row in rows) == sorted(row[2] or "" for row in table.rows())
    graph, persons = possible(table, rows), range(len(table))
    for person in persons:
        able = 0
        for row in list(graph[person]):
            rest = graph.subgraph([n for n in graph if n not in (person, row)])
            found = nx.bipartite.maximum_matching(rest, [n for n in rest if n < 1000])
            able += len(found) == 2 * (len(table) - 1)
        assert able >= 3
    assert ta.verify(release.table, k=3, original=table).holds
    assert not ta.verify(release.table, k=len(table) + 1, original=table).holds


def test_another_reader_gets_the_same_rows(tmp_path):
    table = people(Random(3), 200)
    schema = ta.Schema.loads(
        'version = 1\n[input]\nformat = "csv"\n'
        + "".join(f'[[class]]\nname = "{name}"\npath = "{name}"\n' for name in ("age", "town"))
        + '[[class]]\nname = "ill"\npath = "ill"\nrole = "sensitive"\n'
    )
    release = ta.anonymize(table, k=4, l=2, algorithm="optimal")
    release.write(tmp_path / "out.csv")
    again = ta.read_table(tmp_path / "out.csv", schema, published=True)
    assert sorted(map(str, again.rows())) == sorted(map(str, release.table.rows()))
    assert ta.verify(again, k=4, l=2).holds
    assert not ta.verify(again, k=100).holds


def test_frames_come_back_as_what_they_were():
    text = """
    version = 1
    [input]
    format = "csv"
    [[class]]
    name = "years"
    path = "'age in years'"
    type = "integer"
    hierarchy = { intervals = [10, 50], min = 0, max = 99 }
    """
    schema = ta.Schema.loads(text)
    ages = [31, 32, 33, 45, 46, 47]
    out = ta.anonymize(pa.table({"age in years": ages, "name": list("abcdef")}), schema=schema, k=3)
    assert out.column_names == ["age in years"]
    assert sorted(out["age in years"].to_pylist()) == sorted(["30-39"] * 3 + ["40-49"] * 3) or len(set(out[0])) <= 2
    pandas = pytest.importorskip("pandas")
    frame = ta.anonymize(pandas.DataFrame({"age in years": ages}), schema=schema, k=3)
    assert isinstance(frame, pandas.DataFrame)
    assert frame.shape == (6, 1)
    with pytest.raises(UsageError, match="need a schema"):
        ta.anonymize(frame, k=3)


def test_wrong_requests_say_what_is_right():
    table = people(Random(1), 30)
    for asked, words in (
        ({"k": 3}, "calls ill sensitive"),
        ({}, "k is required"),
        ({"k": 3, "t": {"illness": 0.3}}, "unknown class 'illness'"),
        ({"k": 3, "l": {"age": 2}}, "not sensitive"),
        ({"k": 3, "l": 2, "diversity": "fair"}, "one of distinct, frequency"),
        ({"k": 3, "l": 2, "c": 2}, "recursive"),
        ({"l": 2, "diversity": "recursive"}, "needs c"),
        ({"p": 2}, "needs k"),
        ({"k": 3, "l": 1, "algorithm": "magic"}, "choose from optimal"),
        ({"k": 3, "l": 1, "algorithm": "maximal"}, "search of trees"),
        ({"k": 3, "l": 1, "algorithm": "datafly", "loss": "gcp"}, "no parameter 'loss'"),
        ({"k": 3, "l": 1, "max_suppressed": "many"}, "number of persons"),
    ):
        with pytest.raises(UsageError, match=words):
            ta.anonymize(table, **asked)
    for asked, words in (({"k": 31, "l": 1}, "fewer than k"), ({"k": 2, "l": 5}, "no generalization|cannot|not")):
        with pytest.raises(GuaranteeError, match=words):
            ta.anonymize(table, algorithm="optimal", **asked)
    with pytest.raises(GuaranteeError, match="no rows"):
        ta.anonymize(table.take(np.arange(0)), k=2, l=1)


def test_nothing_is_published_that_is_wrong(monkeypatch):
    table = people(Random(2), 40)
    found = ta.anonymize(table, k=3, l=1, algorithm="optimal").found
    recoded, rows = found.recoded(table)
    other = recoded.with_codes({"ill": np.roll(recoded.column("ill").codes, 1)})
    with pytest.raises(GuaranteeError, match="not those of the input"):
        check_recoding(table, other, rows, None)
    leaf = np.full(len(rows), AGES.code("20"), np.int32)
    with pytest.raises(GuaranteeError, match="not those of the input"):
        check_recoding(table, recoded.with_codes({"age": leaf}), rows, None)
    with pytest.raises(GuaranteeError, match="not those of the input"):
        check_recoding(table, recoded.take(np.zeros(5, int)), np.zeros(5, int), None)
    twice = np.array([0, -len(table)])
    with pytest.raises(GuaranteeError, match="not those of the input"):
        check_recoding(table, recoded.take(twice), twice, None)
    with pytest.raises(GuaranteeError, match="more persons"):
        check_recoding(table, recoded.take(np.arange(5)), rows[:5], 3)
    raw = Recoding("optimal", (KAnonymity(3),), table, np.arange(len(table)))
    monkeypatch.setattr("treeanon.algorithms.table.optimal.search", lambda problem, **_: raw)
    with pytest.raises(GuaranteeError, match="did not pass the check"):
        ta.anonymize(table, k=3, l=1, algorithm="optimal")


def test_a_file_that_does_not_hold_never_appears(tmp_path, monkeypatch):
    table = people(Random(2), 40)
    release = ta.anonymize(table, k=3, l=1, algorithm="optimal")
    monkeypatch.setattr(
        "treeanon.io.columns.write_table.write_rows",
        lambda out, form, delimiter, stream: stream.write(b"age,town,ill\n20,Ulm,flu\n"),
    )
    with pytest.raises(GuaranteeError, match="not published"):
        release.write(tmp_path / "out.csv")
    assert not list(tmp_path.iterdir())


def test_closeness_holds_among_the_rows_published():
    """Rows left out change what is compared with: what comes out holds for whoever has the release alone."""
    held = 0
    for seed in range(30):
        table = people(Random(seed), 60)
        try:
            release = ta.anonymize(table, k=2, t=0.25, max_suppressed="30%", algorithm="optimal")
        except GuaranteeError:
            continue
        held += 1
        ills = [row[2] for row in release.table.rows()]
        whole = Counter(ills)
        for group in groups_in(list(release.table.rows())).values():
            far = sum(abs(Counter(group)[v] / len(group) - n / len(ills)) for v, n in whole.items()) / 2
            assert far <= 0.25 + 1e-9
    assert held


def test_solutions_do_the_same_to_other_tables(tmp_path):
    release = ta.anonymize(people(Random(5), 300), k=5, l=2, max_suppressed="2%", algorithm="optimal")
    release.write_solution(tmp_path / "s.json")
    other = people(Random(6), 400)
    made = ta.apply(tmp_path / "s.json", other)
    assert made.verdict.holds
    assert made.found.as_dict() == release.found.as_dict()
    assert TableSolution.load(tmp_path / "s.json").max_suppressed == "2%"
    with pytest.raises(GuaranteeError, match="does not hold for these data"):
        ta.apply(tmp_path / "s.json", people(Random(7), 12))
    with pytest.raises(UsageError, match="other columns"):
        ta.apply(tmp_path / "s.json", ta.Table(other.columns[1:]))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('"models": [{"model": "k"}]', "must be one of k-anonymity"),
        ('"models": [{"model": ["k-anonymity"], "k": 2}]', "must be one of k-anonymity"),
        ('"models": [{"model": "t-closeness", "t": 0.2, "column": ["ill"]}]', "the parameters of t-closeness"),
        ('"models": [{"model": "k-anonymity", "k": null}]', "the parameters of k-anonymity"),
        ('"models": [{"model": "k-anonymity", "k": ' + "9" * 5000 + "}]", "numbers too long"),
        ('"models": [{"model": "k-anonymity", "k": 2}], "max_suppressed": "1e999999999"', "number of persons"),
        ('"models": [{"model": "k-anonymity", "k": 2}], "max_suppressed": "1e-999999999%"', "number of persons"),
    ],
)
def test_a_broken_solution_says_what_is_wrong(text, words, tmp_path):
    path = tmp_path / "s.json"
    path.write_text('{"version": 1, "kind": "table", "levels": {"age": 1, "town": 1}, ' + text + "}")
    with pytest.raises(UsageError, match=words):
        ta.apply(path, people(Random(1), 30))


def test_a_solution_protects_what_the_schema_calls_sensitive(tmp_path):
    table = people(Random(5), 60)
    bare = ta.anonymize(ta.Table(table.columns[:2]), k=5, algorithm="optimal")
    bare.write_solution(tmp_path / "s.json")
    with pytest.raises(UsageError, match="of which no model of the solution speaks"):
        ta.apply(tmp_path / "s.json", table)
    ta.anonymize(table, k=5, l=1, algorithm="optimal").write_solution(tmp_path / "t.json")
    assert ta.apply(tmp_path / "t.json", table).verdict.holds


@pytest.mark.parametrize("style", ["ranges", "sets"])
@few(30, 60)
@given(st.data())
def test_texts_of_ranges_and_sets_mean_what_they_stand_for(style, data):
    odd = [
        "a",
        'a", ',
        ', "',
        "or missing",
        " or missing",
        "a … b",
        "b",
        '["a"]',
        "[null]",
        "null",
        "1",
        "…",
        "a … b or missing",
    ]
    values = data.draw(st.lists(st.sampled_from(odd), min_size=2, max_size=9, unique=True))
    texts = data.draw(st.lists(st.sampled_from([*values, None]), min_size=4, max_size=12))
    table = ta.Table.of_texts({"x": (texts, ta.Hierarchy.flat(values))})
    release = ta.anonymize(table, k=2, algorithm="mondrian", style=style)
    covers = release.table.columns[0].covers
    assert covers is None or all(
        json.loads(text) or True for text in covers.texts if text.startswith("[") and text not in values
    )
    with TemporaryDirectory() as folder:
        release.write(Path(folder, "out.parquet"))


def test_odd_tables():
    one = ta.Table.of_texts({"age": (["20"], AGES)})
    assert list(ta.anonymize(one, k=1).table.rows()) == [("20",)]
    with pytest.raises(GuaranteeError):
        ta.anonymize(one, k=2)
    # However many may be left out, somebody is published.
    two = ta.anonymize(ta.Table.of_texts({"age": (["20", "23"], AGES)}), k=2, max_suppressed=2, algorithm="datafly")
    assert len(two.table) == 2 and len(set(two.table.rows())) == 1
    same = ta.Table.of_texts({"age": (["20"] * 4, AGES), "town": ([None] * 4, TOWNS)})
    assert list(ta.anonymize(same, k=4).table.rows()) == [("20", None)] * 4
    many = ta.Hierarchy.from_paths([[str(i), f"{i // 100} hundred", "*"] for i in range(10_000)])
    texts = [str(i) for i in range(10_000) for _ in range(2)]
    release = ta.anonymize(ta.Table.of_texts({"zip": (texts, many)}), k=3)
    assert release.verdict.holds
    assert release.verdict.largest_k == 200


def test_persons_with_several_rows_are_counted_once():
    table = people(Random(4), 30)
    doubled = ta.Table(table.take(np.repeat(np.arange(30), 2)).columns, np.repeat(np.arange(30), 2).astype(np.int32))
    release = ta.anonymize(doubled, k=3, l=1, algorithm="optimal")
    assert release.table.persons == 30
    assert ta.verify(release.table, k=3).largest_k >= 3
    members = defaultdict(set)
    for row, person in zip(release.table.rows(), release.table.person.tolist(), strict=True):
        members[row[:2]].add(person)
    assert min(map(len, members.values())) >= 3


def test_reprs_and_reports_show_no_value():
    release = ta.anonymize(people(Random(5), 60), k=5, l=2, algorithm="optimal")
    told = json.dumps(release.as_dict()) + repr(release) + repr(release.found) + release.verdict.sentence
    values = {v for row in people(Random(5), 60).rows() for v in row} - {None}
    assert not [value for value in values if f'"{value}"' in told or f"'{value}'" in told]


def test_the_order_of_rows_is_not_that_of_the_input():
    ages = [AGES.texts[leaf] for leaf in AGES.leaf_nodes for _ in range(5)]
    orders = {tuple(ta.anonymize(ta.Table.of_texts({"age": (ages, AGES)}), k=5).table.rows()) for _ in range(3)}
    assert len(orders) == 3
    seeded = {tuple(ta.anonymize(ta.Table.of_texts({"age": (ages, AGES)}), k=5, seed=1).table.rows()) for _ in range(3)}
    assert len(seeded) == 1


def test_the_delimiter_stays(tmp_path):
    (tmp_path / "in.csv").write_text("age;name\n" + "34;x\n35;y\n" * 3)
    schema = ta.Schema.loads('version = 1\n[input]\nformat = "csv"\n[[class]]\nname = "a"\npath = "age"')
    release = ta.anonymize(ta.read_table(tmp_path / "in.csv", schema), k=3)
    release.write(tmp_path / "out.csv")
    assert Path(tmp_path / "out.csv").read_text().splitlines()[0].strip('"') == "age"
    assert release.counts["dropped"] == {"name": 6}


@pytest.mark.parametrize("asked", [{"k": 3, "l": 2}, {"models": [KAnonymity(3), DistinctDiversity(2)]}, {"t": 0.5}, {}])
def test_what_cannot_be_checked_against_the_original_is_refused(asked):
    table = people(Random(1), 30)
    with pytest.raises(UsageError, match="nothing but k can be checked"):
        ta.verify(table, original=table, **asked)
    assert not ta.verify(table, original=table, models=[KAnonymity(2)]).holds


@pytest.mark.parametrize("algorithm", FREEFORM)
def test_freeform_searches_are_not_asked_for_diversity(algorithm):
    """Candidates that were chosen to be diverse can be told apart by whoever knows that."""
    with pytest.raises(UsageError, match="gives k-anonymity alone"):
        ta.anonymize(people(Random(1), 30), algorithm=algorithm, k=3, l=2)


@pytest.mark.parametrize("style", ["auto", "ranges", "sets"])
@pytest.mark.parametrize("algorithm", ["mondrian", "hilbert", "topdown", "onedim", "local", "ring", "koptimize"])
def test_nodes_above_one_leaf_are_no_leaves(algorithm, style):
    option = {} if algorithm == "koptimize" else {"style": style}
    chain = ta.Hierarchy.from_paths([["a", "A", "R"], ["b", "A", "R"], ["c", "C", "R"]])
    for texts, hierarchy in ((["C", "C", "a", "b"], chain), (["*", "*", "c", "c"], ta.Hierarchy.flat(["c"]))):
        table = ta.Table.of_texts({"q": (texts, hierarchy)})
        try:
            assert ta.anonymize(table, k=2, algorithm=algorithm, **option).verdict.holds
        except UsageError as problem:
            assert "leaves" in str(problem) and algorithm == "koptimize"
