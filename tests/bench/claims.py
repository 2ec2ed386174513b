"""Why a claim of 1D's experiments (Ghinita et al., TODS 34(2), 2009) does not hold of our searches; Python packages.

    python tests/bench/claims.py --results tests/bench/RESULTS.md [--only k] [--data FOLDER]

The claims themselves are told by `treeanon bench flat`. `k` is run on the invented census and needs no data. `packages`
takes the FOLDER that `flat.py` takes.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import flat as adult
import numpy as np
from published_mondrian import published
from results import put

from treeanon.algorithms.table.onedim.costs import best_cuts, ncp_costs, table_costs
from treeanon.algorithms.table.onedim.orders import Points, hilbert_order
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.registry import table_algorithm_named
from treeanon.algorithms.table.result import Partition, Result
from treeanon.bench.invented import census
from treeanon.kernels.table.onedim import cut_groups
from treeanon.metrics.table import gcp
from treeanon.privacy.models import KAnonymity
from treeanon.verifier.table import check

ROWS = 30_000
KS, COLUMNS = (10, 20, 50, 100), (2, 3, 4, 5, 6, 7)
CELLS = 1024

Lines = Iterator[str]
Search = Callable[[Problem], Result]


def search(name: str, **options: Any) -> Search:
    """A search by name, with options."""
    return lambda problem: table_algorithm_named(name).search(problem, **options)


def even_hilbert(problem: Problem) -> Partition:
    """Best cuts of a Hilbert order in which a value takes the room of its share of the rows, not that of one value."""
    (model,) = problem.models
    assert isinstance(model, KAnonymity)
    points = Points.of(problem.table)
    cells = np.empty_like(points.points)
    for c, ranks in enumerate(points.points.T):
        counts = np.bincount(ranks)
        middle = (np.cumsum(counts) - counts / 2) / len(ranks)
        cells[:, c] = (middle * CELLS).astype(np.int32)[ranks]
    rows, _ = hilbert_order(Points(cells, np.full(cells.shape[1], CELLS)))
    costs = ncp_costs(table_costs(problem.table, "taxonomy", "auto"), rows)
    group, _ = cut_groups(rows, best_cuts(costs, len(rows), model.k)[1])
    return Partition("hilbert", problem.models, group)


K_SEARCHES: dict[str, Search] = {
    "Hilbert": search("hilbert"),
    "Hilbert, even": even_hilbert,
    "best order": search("onedim"),
    "iDistance": search("idistance"),
    "Mondrian, published": published,
    "Mondrian": search("mondrian"),
    "Mondrian, ncp": search("mondrian", split="ncp"),
    "TopDown": search("topdown"),
}
THEIRS = ("Mondrian, published", "Mondrian", "Mondrian, ncp", "TopDown")


def lost(problem: Problem, run: Search) -> float:
    """The GCP of a checked release without a row left out."""
    released, rows = run(problem).recoded(problem.table)
    assert len(rows) == len(problem.table)
    assert all(one.holds for one in check(released, problem.models))
    return gcp(released)


def row(cells: Iterable[object]) -> str:
    """A row of a table."""
    return "| " + " | ".join(map(str, cells)) + " |"


def heads(cells: Iterable[str]) -> Lines:
    """The head of a table."""
    names = list(cells)
    yield row(names)
    yield row("---" for _ in names)


class Tally:
    """How often one is below, or not, of how many."""

    def __init__(self) -> None:
        self.held: dict[tuple[str, str], list[bool]] = {}

    def add(self, found: dict[str, float], ours: Iterable[str], theirs: Iterable[str]) -> None:
        """Compares ours with theirs; equal losses to six digits count as below."""
        for one in ours:
            for other in theirs:
                self.held.setdefault((one, other), []).append(found[one] <= found[other] + 5e-7)

    def lines(self, verb: str) -> Lines:
        """What was counted."""
        for (one, other), held in self.held.items():
            yield f"- {one} {verb} {other}: **{sum(held)} of {len(held)}**"


def ratios(found: dict[str, float]) -> Lines:
    """The cells of a row: Hilbert's GCP, and all others as multiples of it; in bold those below it."""
    own = found["Hilbert"]
    yield f"{own:.5f}"
    for name, value in found.items():
        if name != "Hilbert":
            text = f"{value / own:.2f}" if own else "-"
            yield f"**{text}**" if value < own - 5e-7 else text


def compared(searches: dict[str, Search], problems: Iterable[tuple[tuple[int, ...], Problem]], head: str) -> Lines:
    """A table of losses, and how often the claim holds."""
    tally, ours = Tally(), [name for name in ("Hilbert", "Hilbert, even", "best order") if name in searches]
    yield from heads([*head.split(), "GCP of Hilbert", *(f"{name} / Hilbert" for name in list(searches)[1:])])
    for at, problem in problems:
        found = {name: lost(problem, run) for name, run in searches.items()}
        tally.add(found, ours, [name for name in THEIRS if name in searches])
        yield row([*at, *ratios(found)])
    yield ""
    yield from tally.lines("not above")


def by_k() -> Lines:
    """k-anonymity: GCP by k and by the number of quasi columns."""
    tables = {d: census(ROWS, quasi=d) for d in COLUMNS}
    problems = (((d, k), Problem(tables[d], (KAnonymity(k),))) for d in COLUMNS for k in KS)
    yield from compared(K_SEARCHES, problems, "d k")


THEIR_NUMBERS: dict[str, dict[int, tuple[float, float]]] = {
    "anjana, full-domain, 5 %": {5: (0.185, 1.3), 10: (0.246, 1.4), 50: (0.497, 1.8)},
    "crowds (OLA), 5 %": {5: (0.219, 38.6)},
    "anonypy, Mondrian, value sets": {5: (0.027, 13.1), 10: (0.052, 7.5), 50: (0.148, 2.1)},
    "plain-Python strict Mondrian": {5: (0.097, 0.16), 10: (0.118, 0.13), 50: (0.181, 0.10)},
}
"""GCP (form `set`) and seconds of Python packages by k, on the machine of the README."""


def packages(data: Path) -> Lines:
    """Python packages on Adult, against ours."""
    yard, table = adult.yardstick(), adult.adult(data, 7)
    ours: dict[str, Search] = {
        "`mondrian`, sets": search("mondrian", style="sets"),
        "`mondrian`, ncp, sets": search("mondrian", split="ncp", style="sets"),
        "`mondrian`, ranges": search("mondrian", style="ranges"),
        "`onedim`, sets": search("onedim", style="sets", form="set"),
    }
    yield f"Yardstick {yard:.3f} s here, {adult.YARD} s there. The best of 15 warm runs each, no row left out; in the"
    yield "columns of packages: our GCP / theirs, and their time, scaled by the yardstick, / ours."
    yield ""
    yield from heads(["search", "k", "GCP (set)", "ms", *THEIR_NUMBERS])
    for name, run in ours.items():
        for k in (5, 10, 50):
            problem = Problem(table, (KAnonymity(k),))
            seconds = best(lambda p=problem, r=run: r(p))
            released, rows = run(problem).recoded(table)
            assert len(rows) == len(table) and all(one.holds for one in check(released, problem.models))
            own = gcp(released, form="set")
            cells = [_against(own, seconds / yard * adult.YARD, theirs.get(k)) for theirs in THEIR_NUMBERS.values()]
            yield row([name, k, f"{own:.4f}", f"{1000 * seconds:.1f}", *cells])


def _against(own: float, seconds: float, theirs: tuple[float, float] | None) -> str:
    return "" if theirs is None else f"{own / theirs[0]:.2f}; {theirs[1] / seconds:,.0f} ×"


def best(run: Callable[[], Any], rounds: int = 15) -> float:
    """The least seconds of some rounds after two that do not count: what a noisy machine disturbs least."""
    times = []
    for _ in range(rounds + 2):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times[2:])


PARTS: dict[str, Callable[[], Lines]] = {"k": by_k}


def main() -> None:
    """Measures, prints the tables, and writes them where asked to."""
    parser = argparse.ArgumentParser(description="Measure the claims of the 1-D framework.")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, comma-separated; `packages` needs --data")
    parser.add_argument("--data", type=Path, help="folder of adult/ and its README.md")
    parser.add_argument("--results", type=Path, help="the file whose tables are to be replaced")
    options = parser.parse_args()
    for name in options.only.split(","):
        data = " --data DATA" if name == "packages" else ""
        lines = [
            f"`python tests/bench/claims.py{data} --only {name}` ({os.cpu_count()} cores)",
            "",
            *(packages(options.data) if name == "packages" else PARTS[name]()),
        ]
        put(lines, f"claims:{name}", options.results)


if __name__ == "__main__":
    main()
