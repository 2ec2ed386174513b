"""What `treeanon compare` measures of a table that was published, row by row or as permutations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from treeanon.cli.compared import Compared, refuse_more
from treeanon.cli.shared import Reading
from treeanon.cli.table_io import read_both

if TYPE_CHECKING:
    from treeanon.metrics.table import FlatLosses, QueryLoss
    from treeanon.schema import Schema
    from treeanon.table import Table

_MOST_PAIRED = 20_000
"""Up to so many rows are checked as a freeform release unasked: every one is held against every other."""


def compare_rows(
    before: str,
    after: str,
    schema: Schema,
    reductions: Mapping[str, str],
    k: int | None,
    label: str | None,
    weights: Mapping[str, float] | None,
    queries: int | None,
    reading: Reading,
    *,
    quiet: bool,
) -> Compared:
    """The losses of the rows of AFTER, and with k whether they keep it."""
    from treeanon.metrics.table import measure, query_loss

    original, published, strange = read_both(before, after, schema, reductions, reading, quiet=quiet)
    refuse_more(before, len(original), after, len(published))
    losses = measure(original, published, label=label, k=k or 1, weights=weights)
    extents = _of_groups(published, weights)
    answered = None if queries is None else query_loss(original, published, queries)
    data = _as_dict(original, published, strange, losses, extents, answered)
    lines = _told(losses, extents, answered)
    if k is not None:
        checked, sentences = _checked(original, published, k, strange)
        data |= checked
        lines += ["", *sentences]
    return Compared(data, lines, "rows", strange, ((before, original.report), (after, published.report)))


def _checked(original: Table, published: Table, k: int, strange: Mapping[str, int]) -> tuple[dict[str, Any], list[str]]:
    """Whether the rows are k-anonymous; where they are not, whether they are as a freeform release is."""
    from treeanon.privacy.models import KAnonymity
    from treeanon.verifier.freeform import verify_freeform
    from treeanon.verifier.table import verify_table

    verdict = verify_table(published, [KAnonymity(k)])
    data: dict[str, Any] = {"verification": verdict.as_dict()}
    lines = [verdict.sentence]
    # A freeform release has every row of its input, and says nothing that the input has not.
    if verdict.holds or strange or len(published) != len(original) or original.person is not None:
        return data, lines
    if len(original) > _MOST_PAIRED:
        lines.append("As a freeform release it was not checked, which takes long: treeanon verify --original does it.")
    else:
        freeform = verify_freeform(original, published, k)
        data["as_freeform"] = freeform.as_dict()
        lines.append(f"As a freeform release, in which rows need not look alike: {freeform.sentence}")
    return data, lines


def _as_dict(
    original: Table,
    published: Table,
    strange: Mapping[str, int],
    losses: FlatLosses,
    extents: Mapping[str, float],
    answered: QueryLoss | None,
) -> dict[str, Any]:
    """All there is to tell, as plain data."""
    made: dict[str, Any] = {
        "rows": len(original),
        "published_rows": len(published),
        "strange_rows": dict(strange),
        "losses": losses.as_dict(),
        "of_published_rows": dict(extents),
    }
    if answered is not None:
        kinds = {" + ".join(names): loss for names, loss in answered.divergences.items()}
        made["queries"] = {"level": answered.level, "kl_divergence": answered.mean, "by_classes": kinds}
    return made


_EXTENTS = {
    "il_1": "mean extent (IL1)",
    "il_infinity": "largest extent (IL inf.)",
    "average_ncp": "NCP of a group, mean",
    "weighted_maximum_ncp": "NCP x share, largest group",
    "average_volume": "volume, mean",
}


def _of_groups(published: Table, weights: Mapping[str, float] | None) -> dict[str, float]:
    """The losses that are of groups of published rows, whatever is left out."""
    from treeanon.metrics.table import il
    from treeanon.metrics.table.volume import weighted_average_volume

    found = (
        il.mean_extent(published, weights),
        il.largest_extent(published, weights),
        il.average_ncp(published, weights=weights),
        il.weighted_maximum_ncp(published, weights=weights),
        weighted_average_volume(published),
    )
    return dict(zip(_EXTENTS, found, strict=True))


def _told(losses: FlatLosses, extents: Mapping[str, float], answered: QueryLoss | None) -> list[str]:
    from treeanon.report import flat_losses_text

    lines = [*flat_losses_text(losses).splitlines(), "", "of the rows published:"]
    lines += [f"{words:30}{extents[name]:>10.5f}" for name, words in _EXTENTS.items()]
    if answered is not None:
        many = f"{answered.level} class{'' if answered.level == 1 else 'es'}"
        lines += ["", f"{'counts by ' + many:30}{answered.mean:>10.5f}  KL divergence, 0: exact"]
    return lines
