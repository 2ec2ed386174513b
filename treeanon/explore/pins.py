"""Results that are pinned, to be compared in one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treeanon.explore.settings import QUICK, Settings
from treeanon.metrics import Losses, share_whole
from treeanon.metrics.table import FlatLosses
from treeanon.reports.page.elements import Content, Element, el, percent, scrolled
from treeanon.risks import Risk

MOST_PINS = 20


@dataclass(frozen=True)
class Pin:
    """A result: its settings, what the schema was called, its losses, and its risk once that is known."""

    settings: Settings
    schema: str
    loss: Losses | FlatLosses
    risk: Risk | None = None


def pins_table(pins: Sequence[Pin]) -> Content:
    """Return the table of the pinned results; each can be taken off."""
    if not pins:
        return el("p", "Pin results to compare them here.", class_="hint")
    trees = isinstance(pins[0].loss, Losses)
    heads = ["Result", "Schema", *(("value loss", "relations kept", "objects whole") if trees else ("GCP",))]
    heads += ["singled out", "take off"]
    found = el(
        "table",
        el("caption", _CAPTION[trees]),
        el("thead", el("tr", [el("th", head, scope="col") for head in heads])),
        el("tbody", [_row(at, pin) for at, pin in enumerate(pins)]),
        class_="numbers",
    )
    return scrolled("Pinned results", found)


_CAPTION = {
    True: "Pinned results. Singled out: persons whom one value more than guaranteed (m + 1) finds among fewer than k",
    False: "Pinned results. Singled out: persons whom all values that are counted under Risk find among fewer than k",
}


def _singled_out(pin: Pin) -> str:
    """Return the share of persons that an attacker singles out who knows more than the guarantee is for."""
    if pin.risk is None:
        return "…"
    m, n = min(pin.settings.m + 1, pin.risk.m), min(pin.settings.n, pin.risk.n)
    return percent(pin.risk.at(m, n).share if pin.settings.kind == "trees" else pin.risk.below_k[-1][-1].share)


def _row(at: int, pin: Pin) -> Element:
    words = [pin.schema, *_losses(pin.loss), _singled_out(pin)]
    return el(
        "tr",
        el("th", named(pin.settings), scope="row"),
        [el("td", word) for word in words],
        el("td", el("button", "Take off", type="button", data_unpin=str(at), aria_label=f"Take off result {at + 1}")),
    )


def _losses(loss: Losses | FlatLosses) -> list[str]:
    if isinstance(loss, FlatLosses):
        return [f"{loss.gcp_taxonomy:.3f}"]
    whole = share_whole(loss.objects)
    return [f"{loss.value_loss:.3f}", percent(loss.relations_kept), "–" if whole is None else percent(whole)]


def named(settings: Settings) -> str:
    """Return the settings in a line.

    >>> named(Settings("trees", k=7, max_suppressed="1%"))
    'k=7 m=2 n=1 maximal, suppressed up to 1%'
    """
    words = [f"k={settings.k}", *([f"m={settings.m}", f"n={settings.n}"] if settings.kind == "trees" else [])]
    words += [f"l={settings.l}"] if settings.l is not None else []
    more = [" ".join([*words, settings.algorithm])]
    more += ["joint"] if settings.attacker != "independent" else []
    more += [f"suppressed up to {settings.suppressed}"] if settings.suppressed != "0" else []
    more += [f"{name} ×{weight:g}" for name, weight in settings.weights if settings.takes("weights")]
    more += [f"effort {settings.effort}"] if settings.options.get("effort", QUICK) != QUICK else []
    return ", ".join(more)
