"""Models of a whole release and of a population: by hand, against twins, in searches, in the check, and refused."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treeanon as ta
from treeanon.algorithms.table.lattice import Lattice
from treeanon.algorithms.table.problem import Problem
from treeanon.errors import DataError, GuaranteeError, UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.privacy.models import AverageRisk, DeltaPresence, KAnonymity, KMap, Model, PopulationUniqueness
from treeanon.privacy.models.registry import model_of, model_of_text, plain_model
from treeanon.table import Table
from treeanon.table.covers import level_maps
from treeanon.verifier.table import check, verify_table

AGES = Hierarchy.from_paths([[str(age), f"{age // 10}x", "*"] for age in (31, 32, 33, 41, 42)])
SEXES = Hierarchy.flat(["f", "m"])


def table_of(rows: list[tuple[str, str]]) -> Table:
    return Table.of_texts({"age": ([age for age, _ in rows], AGES), "sex": ([sex for _, sex in rows], SEXES)})


TOWN = table_of(
    [("31", "f"), ("31", "f"), ("32", "f"), ("33", "m"), ("41", "m"), ("41", "m"), ("42", "m"), ("42", "f")]
)
CLINIC = table_of([("31", "f"), ("33", "m"), ("41", "m"), ("42", "m")])


def recoded(table: Table, vector: tuple[int, ...]) -> Table:
    codes = {}
    for column, level in zip(table.quasi, vector, strict=True):
        made = level_maps(column.hierarchy)[level][column.codes]
        codes[column.name] = np.where(made == len(column.hierarchy), -1, made).astype(np.int32)
    return table.with_codes(codes)


def by_definition(table: Table, town: Table, model: Model) -> bool:
    """Rows and persons as texts: who of the town fits which row, one by one."""
    rows = list(table.rows())
    trees = [column.hierarchy for column in table.quasi]

    def fits(row: tuple[str | None, ...], person: tuple[str | None, ...]) -> bool:
        return all(
            a == b or (a is not None and b is not None and tree.covers(tree.code(a), tree.code(b)))
            or (a == tree.root and b is None)
            for a, b, tree in zip(row, person, trees, strict=True)
        )  # fmt: skip

    people = list(town.rows())
    groups = {row: (rows.count(row), sum(fits(row, person) for person in people)) for row in rows}
    if isinstance(model, AverageRisk):
        return sum(1 / rows.count(row) for row in rows) / len(rows) <= model.share + 1e-12  # type: ignore[operator]
    if isinstance(model, KMap):
        return all(behind >= model.k for _, behind in groups.values())
    assert isinstance(model, DeltaPresence)
    low, high = float(model.min), float(model.max)
    shares = [own / behind if behind else 2.0 for own, behind in groups.values()]
    everybody = low == 0 or all(any(fits(row, person) for row in groups) for person in people)
    return everybody and all(low - 1e-12 <= share <= high + 1e-12 for share in shares)


def test_by_hand() -> None:
    """Of the town two are 31 and f, one is 33 and m, two are 41 and m, one is 42 and m."""
    assert [check(CLINIC, [KMap(TOWN, k=k)])[0].groups for k in (1, 2, 3)] == [0, 2, 4]
    # By tens and sex: 3x f is that of three, 3x m of one, 4x m of three; two of the clinic's four are 4x m.
    tens = recoded(CLINIC, (1, 0))
    assert [check(tens, [KMap(TOWN, k=k)])[0].groups for k in (1, 2, 3, 4)] == [0, 1, 1, 3]
    assert check(tens, [DeltaPresence(TOWN, max=1)])[0].holds
    assert check(tens, [DeltaPresence(TOWN, max=0.9)])[0].groups == 1
    # Whoever is 42 and f fits no row: she is known to be missing.
    assert check(tens, [DeltaPresence(TOWN, max=1, min=0.1)])[0].groups == 3
    assert check(recoded(CLINIC, (1, 1)), [DeltaPresence(TOWN, max=0.5, min=0.5)])[0].holds
    # Three groups of four persons.
    assert check(tens, [AverageRisk(0.75)])[0].holds
    assert not check(tens, [AverageRisk(0.74)])[0].holds


MODELS: list[Model] = [
    KMap(TOWN, k=2), KMap(TOWN, k=4), DeltaPresence(TOWN, max=0.6), DeltaPresence(TOWN, max=0.7, min=0.3),
    AverageRisk(0.5), AverageRisk(0.3),
]  # fmt: skip
CELLS = st.lists(
    st.tuples(st.sampled_from(["31", "32", "33", "41", "42"]), st.sampled_from("fm")), min_size=1, max_size=8
)


@settings(max_examples=25)
@given(CELLS, CELLS, st.integers(0, 3), st.sampled_from(range(len(MODELS))))
def test_lattices_and_checks_agree_with_the_definitions(rows: Any, more: Any, room: int, which: int) -> None:
    table, town = table_of(rows), table_of(rows + more)
    model = MODELS[which]
    if isinstance(model, KMap):
        model = KMap(town, k=model.k)
    elif isinstance(model, DeltaPresence):
        model = DeltaPresence(town, max=model.max, min=model.min)
    lattice = Lattice(Problem(table, (model,), 0))
    found = {}
    for vector in product(*(range(height + 1) for height in lattice.heights)):
        holds = by_definition(recoded(table, vector), town, model)
        assert (lattice.evaluate(vector).suppressed == 0) is holds
        assert check(recoded(table, vector), [model])[0].holds is holds
        found[vector] = holds
    if lattice.is_monotone:
        assert all(found[up] for vector, holds in found.items() if holds for up in lattice.above(vector))
    # With room for suppression what is found is published, and checked, or refused.
    try:
        release = ta.anonymize(table, models=[model], algorithm="optimal", max_suppressed=room)
    except GuaranteeError:
        assert room or not any(found.values())
    else:
        assert by_definition(release.table, town, model)


@pytest.mark.parametrize("algorithm", ["optimal", "samarati", "incognito", "datafly"])
def test_searches_by_levels_honor_them(algorithm: str) -> None:
    models = ["average-risk:share=0.5", KMap(TOWN, k=3), PopulationUniqueness(0.05, 1000)]
    release = ta.anonymize(CLINIC, k=1, models=models, algorithm=algorithm)
    assert release.verdict.holds
    assert by_definition(release.table, TOWN, KMap(TOWN, k=3))
    assert verify_table(release.table, release.models).holds


@pytest.mark.parametrize("algorithm", ["local", "mondrian", "topdown", "koptimize", "suppress-cells", "freeform"])
@pytest.mark.parametrize("model", ["average-risk:share=0.5", "k-map:k=2,population=town.csv"])
def test_others_refuse_them_by_name(algorithm: str, model: str) -> None:
    with pytest.raises(UsageError, match=rf"'{algorithm}' judges groups one by one.*choose from optimal, samarati"):
        ta.anonymize(CLINIC, k=2, models=[model], algorithm=algorithm)


def test_files_of_a_population(tmp_path: Path) -> None:
    town = tmp_path / "town.csv"
    town.write_text("name,sex,age\na,f,31\nb,f,31\nc,f,32\nd,m,33\ne,m,41\nf,m,41\ng,m,42\nh,f,42\n")
    counts = tmp_path / "census.csv"
    counts.write_text("age,sex,n\n3x,f,3\n3x,m,1\n4x,m,3\n42,f,1\n")
    for file, count in ((town, ""), (counts, ",count=n")):
        for k in (1, 3):
            (found,) = check(recoded(CLINIC, (1, 0)), [model_of_text(f"k-map:k={k},population={file}{count}")])
            assert found.groups == (0 if k == 1 else 1)
    # Who is only known to be 3x may be any of these: not counted for 31.
    (found,) = check(CLINIC, [model_of_text(f"k-map:k=1,population={counts},count=n")])
    assert found.groups == 4
    for text, line, error in (
        ("", "age,sex,n\n3x,f,many\n", DataError),
        ("", "age,sex,n\nunheard-of,f,3\n", ta.TreeanonError),
        ("", "age,n\n31,3\n", ta.TreeanonError),
    ):
        counts.write_text(text + line)
        with pytest.raises(error) as caught:
            check(CLINIC, [model_of_text(f"k-map:k=1,population={counts},count=n")])
        assert "many" not in str(caught.value)
        assert "unheard-of" not in str(caught.value)


def test_solutions_keep_what_is_plain(tmp_path: Path) -> None:
    models: list[Model] = [AverageRisk(0.4), KMap("town.csv", k=3), DeltaPresence("t.csv", max=0.5, count="n")]
    models.append(PopulationUniqueness(0.1, 50, "snb"))
    assert [model_of(plain_model(model)) for model in models] == models
    assert plain_model(KMap(TOWN, k=3)) == {"model": "3-map"}


def test_refused() -> None:
    for text in ("delta-presence:max=0.2,min=0.4,population=x.csv", "average-risk:share=0", "k-map:k=3"):
        with pytest.raises(UsageError):
            model_of_text(text)
    overlapping = table_of([("3x", "f"), ("31", "f"), ("4x", "*")])
    with pytest.raises(UsageError, match="do not overlap"):
        check(overlapping, [DeltaPresence(TOWN, max=0.9)])
    with pytest.raises(UsageError, match="smaller than the table"):
        check(CLINIC, [PopulationUniqueness(0.1, 3)])
    assert check(CLINIC, [KAnonymity(1), PopulationUniqueness(0.1, 4)])[1].groups == 4
