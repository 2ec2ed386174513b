"""Results as plain data, for JSON."""

from __future__ import annotations

from typing import Any

from treeanon.metrics import Losses, MiningLoss


def losses_data(losses: Losses, mining: MiningLoss | None = None) -> dict[str, Any]:
    """The losses of a release as plain data; mining losses under `mining`, if they were measured.

    >>> from treeanon.metrics import Counts
    >>> held, left = Counts(2, 4, 2, {"sex": 2}), Counts(2, 4, 1, {"sex": 1})
    >>> data = losses_data(Losses(0.5, {"sex": 0.5}, 1.0, {}, 0.25, held, left))
    >>> data["value_loss"], data["after"]["values"], "mining" in data
    (0.5, {'sex': 1}, False)
    """
    return losses.as_dict() | ({"mining": mining.as_dict()} if mining else {})
