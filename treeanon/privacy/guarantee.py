"""The guarantee of a release of trees: k^(m,n)-anonymity, with what an attacker is taken to know.

After O. Gkountouna and M. Terrovitis, "Anonymizing collections of tree-structured data" (IEEE TKDE 2015), Sections II-B
(the attack model) and II-C (Definition 1); extended by Sections III-F (l-diversity) and III-G (negative knowledge).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from treeanon.errors import GuaranteeError, UsageError

if TYPE_CHECKING:
    from treeanon.forest import Classes, Forest
    from treeanon.schema import Schema

Attacker = Literal["independent", "joint"]
Diversity = Literal["distinct", "frequency"]

ATTACKERS: tuple[Attacker, ...] = ("independent", "joint")
DIVERSITIES: tuple[Diversity, ...] = ("distinct", "frequency")
MOST_LABELS = 8

TREE_DIVERSITY: Diversity = "frequency"
"""The default form of l-diversity in trees, where a person can hold several values."""


@dataclass(frozen=True)
class Guarantee:
    """Whatever 1 to m labels and 0 to n relations are known of a person, at least k released records may be theirs.

    Known is the *original* person: traces, which tell where nodes were moved from, count as relations
    (docs/guarantee.md has the definition and the proof). `as_published = True` is TREE's own definition: every set of
    labels with relations between them is held by no released record or by at least k.
    `attacker = "joint"` also counts the persons in whom one and the same nodes witness all relations. With `l`, every
    group that an attacker can form must be l-diverse in every sensitive class, counted in persons: by `frequency` no
    value is held by more than 1/l of them; `distinct`: l values are left when the persons that hold any one value are
    taken away. (Where nobody of a group holds a value, there is none to be learnt.) `negative` names classes of which
    an attacker may also know what a person does *not* have, at all or below a label.

    >>> Guarantee(5, m=3, n=0).sentence
    'Whoever knows up to 3 values of a person finds at least 5 records that may be theirs.'
    >>> Guarantee(5, m=3, n=0, as_published=True).sentence
    'Whoever knows up to 3 published values of a person finds no record, or at least 5.'
    """

    k: int
    m: int = 2
    n: int = 1
    attacker: Attacker = "independent"
    l: int = 1  # noqa: E741 - its name in the literature
    diversity: Diversity = TREE_DIVERSITY
    negative: tuple[str, ...] = ()
    as_published: bool = False

    def __post_init__(self) -> None:
        limits = (
            ("k", self.k, 1, 2**31 - 1),
            ("m", self.m, 1, MOST_LABELS),
            ("n", self.n, 0, 64),
            ("l", self.l, 1, 2**31 - 1),
        )
        for name, value, least, most in limits:
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
                raise UsageError(f"{name} must be a whole number from {least} to {most:,}")
        if self.attacker not in ATTACKERS:
            raise UsageError(f"attacker must be one of {', '.join(ATTACKERS)}")
        if self.diversity not in DIVERSITIES:
            raise UsageError(f"diversity must be one of {', '.join(DIVERSITIES)}")
        if not isinstance(self.as_published, bool):
            raise UsageError("as_published must be true or false")
        object.__setattr__(self, "negative", tuple(self.negative))

    @property
    def sentence(self) -> str:
        """Return the guarantee as a sentence."""
        values = f"{self.m} value{'s' if self.m > 1 else ''}"
        relations = ""
        if self.n and self.m > 1:
            same = ", also of the same nodes," if self.attacker == "joint" else ""
            relations = f" and up to {self.n} relation{'s' if self.n > 1 else ''} between them{same}"
        # What is missing below a value is counted in published values: docs/limits.md.
        below = "at all or below another" if self.as_published else "at all or (of published values) below another"
        lacks = f", or that it has none of a kind ({', '.join(self.negative)}), {below}," if self.negative else ""
        diverse = ""
        if self.l > 1:
            diverse = f" Of those, at most 1/{self.l} share a value of a sensitive class."
            if self.diversity == "distinct":
                diverse = f" Without those of any one value of a sensitive class, {self.l} values of it are left."
        if self.as_published:
            values = values.replace(" ", " published ", 1)
            known = f"Whoever knows up to {values} of a person{lacks}{relations}"
            return f"{known} finds no record, or at least {self.k}.{diverse}"
        known = f"Whoever knows up to {values} of a person{lacks}{relations}"
        return f"{known} finds at least {self.k} records that may be theirs.{diverse}"

    @property
    def of_merged_trees(self) -> str:
        """Why it is promised of merged trees alone; an empty text where objects may stay whole."""
        # Of one object it would have to be known what it holds and what it lacks.
        is_joint = self.negative and self.attacker == "joint" and self.m > 1 and self.n > 0
        return "negative knowledge of a joint attacker: not offered where objects stay whole" if is_joint else ""

    def as_dict(self) -> dict[str, Any]:
        """Return the guarantee as plain data, as in solutions; extensions at their defaults are left out."""
        plain: dict[str, Any] = {"k": self.k, "m": self.m, "n": self.n, "attacker": self.attacker}
        if self.l > 1:
            plain |= {"l": self.l, "diversity": self.diversity}
        if self.negative:
            plain["negative"] = list(self.negative)
        return plain | {"as_published": self.as_published}


class Labeled(Protocol):
    """Records labeled by classes, local or distributed."""

    @property
    def schema(self) -> Schema:
        """Return the schema of the classes."""

    @property
    def classes(self) -> Classes:
        """Return the classes of the labels."""


@dataclass(frozen=True)
class Roles:
    """Classes of a forest by the attacker's assumed knowledge; numbers of `forest.classes`.

    `known` classes make the labels V of the guarantee. Values of `sensitive` ones are what must not be learnt. Others
    (`keep`, pseudonyms) are published as they are and declared safe by the owner of the data.
    """

    known: tuple[int, ...]
    sensitive: tuple[int, ...]
    others: tuple[int, ...]
    negative: tuple[int, ...]


def roles_of(forest: Forest | Labeled, guarantee: Guarantee) -> Roles:
    """Return the classes that a guarantee covers, by role; UsageError if it does not fit them."""
    roles = {spec.name: spec.role for spec in forest.schema.classes}
    names = forest.classes.names
    # A type of objects is no class of values.
    valued = range(forest.classes.types, len(names))
    known = tuple(i for i in valued if roles.get(names[i], "quasi") == "quasi")
    sensitive = tuple(i for i in valued if roles.get(names[i]) == "sensitive")
    others = tuple(i for i in valued if i not in known and i not in sensitive)
    if guarantee.l > 1 and not sensitive:
        raise UsageError("l-diversity needs a class with role sensitive; the schema has none")
    for name in guarantee.negative:
        if forest.classes.index(name) not in known:
            raise UsageError(f"negative knowledge of class {name!r}: its role is not quasi")
    return Roles(known, sensitive, others, tuple(forest.classes.index(name) for name in guarantee.negative))


def refuse_too_few(forest: Forest, k: int) -> None:
    """Raise GuaranteeError if there are fewer than k persons."""
    if not len(forest):
        raise GuaranteeError("there are no records, so there is nothing to publish")
    if len(forest) < k:
        many = "1 record is" if len(forest) == 1 else f"{len(forest):,} records are"
        raise GuaranteeError(f"{many} fewer than k = {k:,}: nobody can be hidden")
