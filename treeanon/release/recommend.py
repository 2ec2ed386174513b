"""What several m and n cost, and what they leave to whoever knows one more value: tried on a sample of the persons."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treeanon.errors import GuaranteeError, UsageError
from treeanon.forest import Forest
from treeanon.forest.shifting import shifted
from treeanon.progress import Progress, stage
from treeanon.release.tree import fulfill
from treeanon.release.tree_request import Request, request_of
from treeanon.risks.trees import OneMore

SIZES = ((1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2))
"""The m and n that are tried, the weaker before the stronger."""

SAMPLE = 1_000
"""Number of persons of the sample."""

K = 5
"""The k that is tried where none is asked for."""

ENOUGH = 0.05
"""Share of persons up to which one more value may single somebody out in what is suggested."""

DEAR = 0.5
"""Value loss from which what is suggested would publish little."""


@dataclass(frozen=True)
class Trial:
    """What one m and n cost, and whom one more value singles out then; `failed` says why there is no release."""

    m: int
    n: int
    value_loss: float = 1.0
    relations_kept: float = 0.0
    withheld: tuple[str, ...] = ()
    one_more: OneMore | None = None
    seconds: float = 0.0
    failed: str = ""

    @property
    def left(self) -> float | None:
        """The share of persons whom one more value singles out; None if that is not known."""
        return None if self.one_more is None else self.one_more.share.share

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain data."""
        if self.failed:
            return {"m": self.m, "n": self.n, "failed": self.failed}
        return {
            "m": self.m,
            "n": self.n,
            "value_loss": self.value_loss,
            "relations_kept": self.relations_kept,
            "withheld": list(self.withheld),
            "one_more_value": None if self.one_more is None else self.one_more.as_dict(),
            "seconds": self.seconds,
        }


@dataclass(frozen=True)
class Recommendation:
    """The trials of one k on a sample of the persons, and the one that is suggested, with the reason."""

    k: int
    persons: int
    sample: int
    trials: tuple[Trial, ...]

    @property
    def suggested(self) -> tuple[Trial, str] | None:
        """The least m and n that leave few to one more value, else the strongest that still publish much."""
        held = [trial for trial in self.trials if not trial.failed]
        for trial in held:
            if trial.left is not None and trial.left <= ENOUGH and trial.value_loss < DEAR:
                return trial, f"the least of which one more value singles out at most {ENOUGH:.0%} of the persons"
        for trial in reversed(held):
            if trial.value_loss < DEAR:
                return trial, f"the strongest of those tried that lose less than {DEAR:.0%} of the values"
        return (held[0], "the one that loses least") if held else None

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain data, as `--json` has it."""
        found = self.suggested
        return {
            "k": self.k,
            "persons": self.persons,
            "sample": self.sample,
            "trials": [trial.as_dict() for trial in self.trials],
            "suggested": None if found is None else {"m": found[0].m, "n": found[0].n, "why": found[1]},
        }


def recommend(
    forest: Forest, *, sample: int = SAMPLE, progress: Progress | None = None, **asked: Any
) -> Recommendation:
    """Return what several m and n cost on a sample of the persons of a forest; nothing is published.

    Parameters
        forest: the records, as `treeanon.read` gives them.
        sample: the number of persons to try with.
        asked: what else is asked of `treeanon.anonymize`, such as k (default 5), weights or l; m and n are tried.

    With fewer persons groups are harder to form: with all of them, less is lost.

    >>> import treeanon as ta
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "trees"\\n[[class]]\\nname = "illness"')
    >>> flu, acne = ["illness", "flu", []], ["illness", "acne", []]
    >>> found = recommend(ta.Forest.from_records(schema, [[flu, acne]] * 3 + [[flu]] * 3), k=2)
    >>> [(trial.m, trial.n, trial.value_loss) for trial in found.trials][:2]
    [(1, 0, 0.0), (2, 0, 0.0)]
    """
    tried = sorted({"m", "n"} & asked.keys())
    if tried:
        raise UsageError(f"{' and '.join(tried)}: several are tried; leave them out")
    return recommend_by(request_of(**{"k": K, **asked}), forest, sample=sample, progress=progress)


def recommend_by(
    request: Request, forest: Forest, *, sample: int = SAMPLE, progress: Progress | None = None
) -> Recommendation:
    """Return the same for a request, whose m and n are not looked at."""
    if sample < 1:
        raise UsageError("sample must be a number of persons, 1 or more")
    request.check(forest.schema)
    request = request.weighted(forest.schema)
    chosen = forest = shifted(forest)
    if len(forest) > sample:
        order = np.random.default_rng(request.seed).permutation(len(forest))[:sample]
        chosen = forest.take(np.sort(order))
    trials = tuple(_trials(request, chosen, progress))
    return Recommendation(request.guarantee.k, len(forest), len(chosen), trials)


def _trials(request: Request, forest: Forest, progress: Progress | None) -> Iterator[Trial]:
    for m, n in SIZES:
        begun = time.perf_counter()
        try:
            release = fulfill(replace(request, m=m, n=n), forest, stage(progress, f"m = {m}, n = {n}"))
        except GuaranteeError as problem:
            yield Trial(m, n, failed=str(problem))
            continue
        loss = release.loss
        withheld = tuple(release.solution.withheld)
        yield Trial(
            m, n, loss.value_loss, loss.relations_kept, withheld, release.one_more, time.perf_counter() - begun
        )  # fmt: skip


def recommendation_text(found: Recommendation) -> str:
    """Return the trials as a table, and what is suggested.

    >>> print(recommendation_text(Recommendation(5, 9, 9, (Trial(1, 0, failed="too few"),))))
    k = 5, tried with all 9 persons; nothing is written.
    <BLANKLINE>
      m   n   value loss   relations kept   one more value singles out   seconds
      1   0   cannot be reached: too few
    """
    whole = found.sample == found.persons
    drawn = f"all {found.persons:,} persons" if whole else f"a sample of {found.sample:,} of {found.persons:,} persons"
    more = "" if whole else " With all of them, less is lost."
    lines = [f"k = {found.k}, tried with {drawn}; nothing is written.{more}", ""]
    lines.append("  m   n   value loss   relations kept   one more value singles out   seconds")
    for trial in found.trials:
        if trial.failed:
            lines.append(f"  {trial.m}   {trial.n}   cannot be reached: {trial.failed}")
            continue
        left = "-" if trial.left is None else f"{100 * trial.left:.1f} % of the persons"
        cells = f"{trial.value_loss:>10.3f}   {100 * trial.relations_kept:>12.1f} %   {left:>26}"
        lines.append(f"  {trial.m}   {trial.n}   {cells}   {trial.seconds:>7.1f}")
    if found.suggested is not None:
        trial, why = found.suggested
        lines += ["", f"Suggested: -m {trial.m} -n {trial.n}, {why}."]
    return "\n".join(lines)
