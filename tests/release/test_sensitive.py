"""Several sensitive columns, each by itself or joined; and α of one value: found, verified, told."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import treeanon as ta
from tests.support.strategies import examples
from treeanon.errors import GuaranteeError, UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.privacy.models import AlphaKAnonymity
from treeanon.privacy.models.registry import models_of
from treeanon.release import anonymize_table
from treeanon.release.reapply import TableSolution
from treeanon.table import Table

SEARCHES = ("local", "mondrian", "topdown", "optimal", "samarati", "suppress-cells", "suppress-columns")


def random_table(rnd: Random, rows: int) -> Table:
    """Two quasi columns, two sensitive ones."""
    paths = [[f"{i:02}", f"{i // 3}.", "*"] for i in range(12)]
    tree, ills, pays = Hierarchy.from_paths(paths), Hierarchy.flat("xyz"), Hierarchy.flat("pq")
    columns: dict[str, Any] = {name: ([f"{rnd.randrange(12):02}" for _ in range(rows)], tree) for name in "ab"}
    columns["ill"] = [rnd.choice("xyz") for _ in range(rows)], ills
    columns["pay"] = [rnd.choice("pq") for _ in range(rows)], pays
    return Table.of_texts(columns, roles={"ill": "sensitive", "pay": "sensitive"})


def values(table: Table, column: int, *, joined: bool) -> list[list[str | None]]:
    """The values of a sensitive column in each group of rows alike, and in each part of it where others are known."""
    groups = defaultdict(list)
    for row in table.rows():
        groups[row[:2] + (row[5 - column : 6 - column] if joined else ())].append(row[column])
    return list(groups.values())


@pytest.mark.parametrize("name", SEARCHES)
@given(number=st.integers(0, 2**32))
@examples(4)
def test_each_by_itself_or_joined(name: str, number: int) -> None:
    rnd = Random(number)
    table, joined = random_table(rnd, rnd.choice([12, 40])), rnd.random() < 0.5
    how = "joined" if joined else rnd.choice(["separate", None])
    asked: dict[str, Any] = rnd.choice([{"l": 2}, {"alpha": 0.7}, {"l": 2, "diversity": "frequency"}])
    room = 0 if name.startswith("suppress-c") else rnd.choice([0, 4])
    try:
        release = anonymize_table(table, k=2, algorithm=name, sensitive=how, max_suppressed=room, **asked)
    except GuaranteeError:
        return
    most = {"alpha": 0.7, "diversity": 0.5}
    for column in (2, 3):
        for held in values(release.table, column, joined=joined):
            assert "alpha" in asked or len(set(held)) >= 2
            for key, share in most.items():
                assert key not in asked or max(map(held.count, held)) <= share * len(held)
    assert ta.verify(release.table, k=2, sensitive=how, **asked).holds


def test_separate_is_the_default_and_needs_less() -> None:
    table = random_table(Random(1), 60)
    plain, separate, joined = (anonymize_table(table, k=2, l=2, sensitive=how) for how in (None, "separate", "joined"))
    assert plain.loss.gcp_taxonomy == separate.loss.gcp_taxonomy < joined.loss.gcp_taxonomy
    assert not ta.verify(plain.table, k=2, l=2, sensitive="joined").holds
    assert "distinct 2-diversity (sensitive columns joined)" in joined.sentence
    assert "joined" not in plain.sentence


def test_a_solution_file_keeps_what_is_joined(tmp_path: Path) -> None:
    release = anonymize_table(random_table(Random(1), 60), k=2, l=2, alpha=0.9, sensitive="joined", algorithm="optimal")
    release.write_solution(tmp_path / "s.json")
    assert TableSolution.load(tmp_path / "s.json").models == release.models
    assert '"joined"' not in str(TableSolution.of(anonymize_table(random_table(Random(1), 60), k=2, l=2)).as_dict())


def test_p_sensitive_is_never_joined() -> None:
    models = models_of(3, p=2, t=0.2, sensitive="joined")
    assert [model.name for model in models] == [
        "3-anonymity",
        "2-sensitive 3-anonymity",
        "0.2-closeness (equal distance) (sensitive columns joined)",
    ]
    with pytest.raises(UsageError, match="sensitive must be one of separate, joined"):
        models_of(3, sensitive="each")  # type: ignore[arg-type]


def test_alpha_of_one_value() -> None:
    table = random_table(Random(3), 60)
    release = anonymize_table(table, k=3, alpha={"ill:x": 0.4}, l={"pay": 1})
    assert release.models[1] == AlphaKAnonymity(0.4, 3, "x", column="ill")
    held = values(release.table, 2, joined=False)
    assert all(own.count("x") <= 0.4 * len(own) for own in held)
    assert any(max(map(own.count, own)) > 0.4 * len(own) for own in held)
    assert release.verdict.sentence.startswith("3-anonymity holds. (0.4, 3)-anonymity for one value of ill holds.")
    assert ta.verify(release.table, k=3, alpha={"ill:x": 0.4}).holds
    assert not ta.verify(release.table, k=3, alpha={"ill:x": 0.01}).holds


@pytest.mark.parametrize("name", ["ill:", ":x"])
def test_half_a_name_of_a_value_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="CLASS:VALUE"):
        models_of(3, alpha={name: 0.4})


def test_errors_do_not_show_the_value() -> None:
    table = random_table(Random(3), 30)
    with pytest.raises(UsageError, match="the hierarchy of ill does not know the value") as refused:
        anonymize_table(table, k=3, alpha={"ill:secret": 0.4}, l={"pay": 1})
    assert "secret" not in str(refused.value)
    release = anonymize_table(table, k=3, alpha={"ill:x": 0.9}, l={"pay": 1})
    assert "ill:x" not in str(release.as_dict()) and "'x'" not in str(release.as_dict())
