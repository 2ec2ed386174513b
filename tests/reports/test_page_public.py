"""Pages for the public show nothing that the release does not."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from random import Random

import numpy as np
import pytest

import treeanon as ta
from tests.support.page_worlds import TOKEN, labels_of, random_forest, texts_of, tokens
from tests.support.paths import ROOT
from tests.support.strategies import properties
from treeanon.errors import GuaranteeError, UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.metrics import measure
from treeanon.reports.page.page import page
from treeanon.verifier.tree import verify


def check_only_published_values(rnd: Random) -> None:
    forest = random_forest(rnd)
    try:
        release = ta.anonymize(forest, k=rnd.randint(2, 4), m=2, n=1, algorithm=rnd.choice(["gcs", "miracle"]))
    except GuaranteeError:
        return
    shown = page(release, seed=rnd.randrange(9))
    assert set(TOKEN.findall(shown)) <= labels_of(release.forest)


test_only_published_values, test_only_published_values_of_many = properties(check_only_published_values, 40, 2000)


def check_of_the_release_alone(rnd: Random) -> None:
    """Whatever else a release object knows: the page is the same."""
    forest = random_forest(rnd)
    release = ta.anonymize(forest, k=2, m=1, n=0, algorithm="gcs")
    odd = 90_210
    pairs = ((("place", "qz9999zq"), ("cure", "qz9998zq")),)
    solution = replace(
        release.solution, disassociated=pairs, withheld=("kind",), suppressed=odd, algorithm="other", options={"g": odd}
    )
    other = replace(
        release,
        solution=solution,
        loss=measure(forest, forest.project("*")),
        counts={"records": odd, "nodes": odd, "published_records": odd, "published_nodes": odd, "dropped": {"x": odd}},
        report={"tried": odd},
        kept=np.arange(len(forest))[::-1],
        verdict=replace(verify(release.forest, release.solution.guarantee), label_sets=odd),
    )
    assert page(other, seed=1) == page(release, seed=1)


test_of_the_release_alone, test_of_the_release_alone_of_many = properties(check_of_the_release_alone, 15, 500)


def test_the_order_of_the_input_is_not_that_of_the_page() -> None:
    """The records of a release object are in the order of the input: which are drawn is left to chance alone."""
    forest = random_forest(Random(3))
    release = ta.anonymize(forest, k=2, m=1, n=0, algorithm="gcs")
    turned = replace(release, forest=release.forest.take(np.arange(len(forest))[::-1]))

    def without_records(shown: str) -> str:
        return re.sub('<section id="records".*?</section>', "", shown, flags=re.DOTALL)

    assert without_records(page(release)) == without_records(page(turned))
    assert len({page(release) for _ in range(8)}) > 1


def leaked(shown: str, originals: Iterable[str], published: set[str]) -> set[str]:
    """The originals that stand in a page and are not published: as a text of their own, or, if they are long enough
    to be nothing else, within another."""
    texts = texts_of(shown)
    whole = {word for text in texts for word in (text, *text.split())}
    gone = {text for text in originals if text not in published}
    within = "\n".join(texts)
    for text in sorted(published, key=len, reverse=True):
        within = within.replace(text, "")
    counts = re.compile("[0-9,.]+")
    return {
        text
        for text in gone
        if (text in whole and not counts.fullmatch(text)) or (len(text) > 3 and not text.isdigit() and text in within)
    }


@pytest.mark.parametrize(
    ("source", "schema"),
    [
        ("samples/patients.xml", "schemas/hospital-xml.toml"),
        ("samples/patients.ndjson", "schemas/hospital-json.toml"),
        ("samples/clinic", "schemas/clinic.toml"),
    ],
)
def test_samples_of_trees(source: str, schema: str) -> None:
    forest = ta.read(ROOT / source, ta.Schema.load(ROOT / schema))
    release = ta.anonymize(forest, k=5, m=2, n=1, algorithm="gcs")
    published = labels_of(release.forest)
    shown = page(release)
    assert leaked(shown, labels_of(forest), published) == set()
    assert leaked(shown, forest.classes.texts, published) == set()
    # Numbers of records, and how many there were, are not to be told by accident either.
    assert "of the input" not in shown


@pytest.mark.parametrize("algorithm", ["local", "mondrian", "optimal"])
def test_the_sample_of_a_table(algorithm: str) -> None:
    table = ta.read_table(ROOT / "samples/census.csv", ta.Schema.load(ROOT / "schemas/census.toml"))
    release = ta.anonymize(table, k=5, l=1, max_suppressed="5%", algorithm=algorithm)
    published = {text for column in release.table.columns for text in column.texts() if text is not None}
    originals = {text for column in table.columns for text in column.texts() if text is not None}
    # A published set of values names its members.
    parts = {part for text in published for part in re.findall('"([^"]*)"', text)}
    parts |= {part for text in published for part in text.split(" … ")}
    assert leaked(page(release), originals, published | parts) == set()
    hierarchies = {text for column in table.quasi for text in column.hierarchy.texts}
    assert leaked(page(release), hierarchies, published | parts) == set()


def token_table(rnd: Random) -> ta.Table:
    names = tokens()
    columns = {}
    rows = rnd.randint(6, 30)
    for name in ("one", "two"):
        paths = [[next(names), group, f"{name} any"] for group in (next(names), next(names)) for _ in range(3)]
        texts = [rnd.choice(paths[: rnd.randint(1, 6)])[0] for _ in range(rows)]
        columns[name] = (texts, Hierarchy.from_paths(paths))
    ills = [next(names) for _ in range(4)]
    columns["ill"] = ([rnd.choice(ills) for _ in range(rows)], Hierarchy.flat(ills))
    return ta.Table.of_texts(columns, {"ill": "sensitive"})


def check_only_published_rows(rnd: Random) -> None:
    table = token_table(rnd)
    algorithm = rnd.choice(["local", "samarati", "mondrian", "suppress-cells", "freeform-greedy"])
    try:
        release = ta.anonymize(table, k=2, l=1, algorithm=algorithm)
    except GuaranteeError:
        return
    published = {word for row in release.table.rows() for text in row for word in TOKEN.findall(text or "")}
    shown = page(release, seed=1)
    assert set(TOKEN.findall(shown)) <= published
    odd = replace(
        release,
        counts={"rows": 90_210, "published_rows": 90_210},
        loss=replace(release.loss, suppressed=90_210, rows=90_210),
        options={"seconds": 90_210},
    )
    assert page(odd, seed=1) == shown


test_only_published_rows, test_only_published_rows_of_many = properties(check_only_published_rows, 40, 1000)


def test_how_many_tuples_an_original_can_be_behind_is_not_told() -> None:
    table = token_table(Random(4))
    release = ta.anonymize(table, k=2, l=1, algorithm="freeform-greedy")
    verdict = replace(release.verdict, tuples=77, originals=78)  # type: ignore[type-var]
    assert page(replace(release, verdict=verdict), seed=1) == page(release, seed=1)


def test_what_shows_the_input_is_refused() -> None:
    forest = random_forest(Random(1))
    release = ta.anonymize(forest, k=2, m=1, n=0, algorithm="gcs")
    with pytest.raises(UsageError, match="release alone"):
        page(release, before=forest)


def test_internal_pages_say_what_they_are() -> None:
    forest = random_forest(Random(1))
    release = ta.anonymize(forest, k=2, m=1, n=0, algorithm="gcs")
    shown = page(release, before=forest, audience="internal")
    assert "do not publish it" in shown and "Internal" in shown and "noindex" in shown
