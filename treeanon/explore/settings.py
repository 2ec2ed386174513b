"""The settings of the page as one value, which is also the key of cached results.

Also the explored data: a sample of the persons of an input, and its source.

Also results that are pinned, to be compared in one table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from treeanon.algorithms.table.registry import TABLE_ALGORITHMS, TABLE_DEFAULT, table_algorithm_named
from treeanon.algorithms.tree.registry import TREE_ALGORITHMS, TREE_DEFAULT, tree_algorithm_named
from treeanon.arrays import Longs
from treeanon.errors import UsageError
from treeanon.forest import Forest
from treeanon.forest.shifting import shifted
from treeanon.metrics import Losses, share_whole
from treeanon.metrics.table import FlatLosses
from treeanon.previews.preview import sampled
from treeanon.privacy.guarantee import ATTACKERS, Attacker
from treeanon.privacy.models.registry import models_of
from treeanon.release.table_request import TableRequest, unprotected_by
from treeanon.release.tree_request import Request, persons
from treeanon.reports.page.elements import Content, Element, el, percent, scrolled
from treeanon.risks import Risk
from treeanon.schema.controls import controls_of
from treeanon.table import Table

Kind = Literal["trees", "table"]

QUICK = "0.1"
"""The effort of a quick search: a tenth of the default one, which takes a moment on a sample."""

LARGEST_K, LARGEST_M, LARGEST_N = 100, 4, 3
LARGEST_WEIGHT = 10.0


@dataclass(frozen=True)
class Settings:
    """The guarantee and the search; `l` is None if the schema has no sensitive class.

    `weights` has only the classes with a weight other than 1. Options that a search does not support are omitted from
    its request and from the command line.

    >>> Settings("trees", k=7).request().guarantee.k
    7
    """

    kind: Kind
    k: int = 5
    m: int = 2
    n: int = 1
    attacker: Attacker = "independent"
    l: int | None = None  # noqa: E741 - its name in the literature
    algorithm: str = TREE_DEFAULT
    weights: tuple[tuple[str, float], ...] = ()
    max_suppressed: str = "0"
    effort: str = QUICK

    def __post_init__(self) -> None:
        if self.algorithm not in searches_of(self.kind):
            names = ", ".join(searches_of(self.kind))
            raise UsageError(f"unknown algorithm for {_NAMED[self.kind]}; choose from {names}")
        if any(not 0 <= weight <= LARGEST_WEIGHT for _, weight in self.weights):
            raise UsageError(f"weights must be numbers from 0 to {LARGEST_WEIGHT:g}")
        persons(self.max_suppressed, 10**9)

    def takes(self, option: str) -> bool:
        """Return whether the search supports an option."""
        if self.kind == "table":
            # Its number of walks is unrelated to the effort of trees, and small enough.
            return option == "max_suppressed" or (option == "weights" and "weight" in self._flat.honors)
        return tree_algorithm_named(self.algorithm).takes(option)

    @property
    def _flat(self) -> Any:
        return table_algorithm_named(self.algorithm)

    @property
    def options(self) -> dict[str, Any]:
        """The options of the search that are set."""
        out: dict[str, Any] = {}
        if self.weights and self.kind == "trees" and self.takes("weights"):
            out["weights"] = dict(self.weights)
        if self.takes("effort"):
            out["effort"] = self.effort
        return out

    @property
    def suppressed(self) -> str:
        """The maximum to suppress; 0 if the search does not support it."""
        return self.max_suppressed if self.takes("max_suppressed") else "0"

    def request(self) -> Request:
        """Return the request for trees."""
        return Request(
            self.k, self.m, self.n, self.attacker, self.l,
            algorithm=self.algorithm, max_suppressed=self.suppressed, options=self.options,
        )  # fmt: skip

    def table_request(self) -> TableRequest:
        """Return the request for rows."""
        models = models_of(self.k, l=self.l)
        weights = dict(self.weights) if self.takes("weights") else None
        return TableRequest(
            models, self.algorithm, self.suppressed, self.options, unprotected=unprotected_by(self.l),
            controls=controls_of({"weights": weights}),
        )  # fmt: skip

    def at(self, k: int) -> Settings:
        """Return the same settings at another k."""
        return replace(self, k=k)


_NAMED = {"trees": "trees", "table": "tables"}


def searches_of(kind: Kind) -> dict[str, str]:
    """Return the available searches by name, each with a description.

    >>> next(iter(searches_of("trees")))
    'maximal'
    """
    if kind == "trees":
        return {one.name: one.summary for one in TREE_ALGORITHMS.values()}
    return {one.name: one.summary for one in TABLE_ALGORITHMS.values() if not one.needs}


def default_settings(kind: Kind, *, sensitive: bool, **given: Any) -> Settings:
    """Return the initial settings: those given, else the defaults of the library; 2-diversity if classes are sensitive.

    >>> default_settings("table", sensitive=True, k=None).l
    2
    """
    named = {name: value for name, value in given.items() if value is not None}
    named.setdefault("algorithm", TREE_DEFAULT if kind == "trees" else TABLE_DEFAULT)
    if sensitive:
        named.setdefault("l", 2)
    return Settings(kind, **named)


def adapted(settings: Settings, explored: ExploredData) -> Settings:
    """Return the settings for data of other roles: l where there is something sensitive, weights of what there is."""
    quasi = explored.of_role("quasi")
    return replace(
        settings,
        l=(settings.l or 2) if explored.of_role("sensitive") else None,
        weights=tuple(pair for pair in settings.weights if pair[0] in quasi),
    )


def settings_of(fields: Mapping[str, str], kind: Kind, classes: tuple[str, ...], *, sensitive: bool) -> Settings:
    """Return the settings for the fields of the form; UsageError for values that the form cannot send.

    The weight of classes[i] is in the field `weight-i`, as names of classes are arbitrary.

    >>> settings_of({"k": "9", "weight-0": "2.5"}, "trees", ("age",), sensitive=False).weights
    (('age', 2.5),)
    """
    weights = tuple(
        (name, weight) for index, name in enumerate(classes) if (weight := _number(fields, f"weight-{index}", "1")) != 1
    )
    attacker = next((one for one in ATTACKERS if one == fields.get("attacker", ATTACKERS[0])), None)
    if attacker is None:
        raise UsageError(f"attacker must be one of {', '.join(ATTACKERS)}")
    effort = fields.get("effort", QUICK)
    if effort not in EFFORTS:
        raise UsageError(f"effort must be one of {', '.join(EFFORTS)}")
    trees = kind == "trees"
    return Settings(
        kind,
        k=_whole(fields, "k", "5"),
        m=_whole(fields, "m", "2") if trees else 2,
        n=_whole(fields, "n", "1") if trees else 1,
        attacker=attacker if trees else "independent",
        l=_whole(fields, "l", "2") if sensitive else None,
        algorithm=fields.get("algorithm", TREE_DEFAULT if trees else TABLE_DEFAULT),
        weights=weights,
        max_suppressed=fields.get("max_suppressed", "0"),
        effort=effort,
    )


EFFORTS = {QUICK: "quick", "1": "default", "4": "four times the default"}


def _whole(fields: Mapping[str, str], name: str, default: str) -> int:
    try:
        return int(fields.get(name, default))
    except ValueError:
        raise UsageError(f"{name} must be an integer") from None


def _number(fields: Mapping[str, str], name: str, default: str) -> float:
    try:
        return float(fields.get(name, default))
    except ValueError:
        raise UsageError("weights must be numbers") from None


@dataclass(frozen=True, eq=False, repr=False)
class ExploredData:
    """The records of `persons` sampled persons out of `total` in the input.

    Record i is record of[i] of the `records` in the input; `of` is None if all are included. `source` and `schema` are
    their names on the command line, `reading` the given options of reading.
    """

    data: Forest | Table
    records: int
    persons: int
    total: int
    of: Longs | None = None
    source: str = "INPUT"
    schema: str = "SCHEMA"
    reading: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> Kind:
        """Whether trees or rows are explored."""
        return "trees" if isinstance(self.data, Forest) else "table"

    @property
    def whole(self) -> bool:
        """Whether all persons of the input are in the sample."""
        return self.of is None

    def place(self, number: int) -> int | None:
        """Return the number in the sample of a record of the input, or None."""
        if self.of is None:
            return number if 0 <= number < self.records else None
        found = np.flatnonzero(self.of == number)
        return int(found[0]) if len(found) else None

    def of_role(self, role: str) -> tuple[str, ...]:
        """Return the published classes of a role."""
        if isinstance(self.data, Table):
            return tuple(column.name for column in self.data.columns if column.role == role)
        return tuple(spec.name for spec in self.data.schema.classes if spec.published and spec.role == role)


def explored_data(data: Forest | Table, sample: int, **named: Any) -> ExploredData:
    """Return a deterministic sample of at most `sample` persons of an input.

    >>> from treeanon.hierarchy import Hierarchy
    >>> table = Table.of_texts({"age": (["34", "41"], Hierarchy.flat(["34", "41"]))})
    >>> explored = explored_data(table, 1)
    >>> len(explored.data), explored.persons, explored.total, explored.whole
    (1, 1, 2, False)
    """
    data = shifted(data) if isinstance(data, Forest) else data
    part, of = sampled(data, sample)
    return ExploredData(part, len(data), _persons(part), _persons(data), of, **named)


def _persons(data: Forest | Table) -> int:
    return data.persons if isinstance(data, Table) else len(data)


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
