"""What a guarantee means in the words of the law: the three risks of the opinion on anonymization techniques.

Article 29 Data Protection Working Party: Opinion 05/2014 on Anonymisation Techniques (WP216), 10 April 2014, section 3.
A report says of each risk what the guarantee addresses and what it does not; whether that suffices is for people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from treeanon.privacy.guarantee import Guarantee
from treeanon.privacy.models.model import Model, asks_for_size, largest_k
from treeanon.privacy.models.registry import model_of, plain_model
from treeanon.shown import counted

OPINION = "Article 29 Working Party, Opinion 05/2014 on Anonymisation Techniques (WP216)"

DEFINITIONS = {
    "Singling out": "the possibility to isolate some or all records which identify an individual in the dataset",
    "Linkability": (
        "the ability to link, at least, two records concerning the same data subject or a group of data subjects"
    ),
    "Inference": (
        "the possibility to deduce, with significant probability, the value of an attribute from the values of a set"
        " of other attributes"
    ),
}
"""The risks, in the words of the opinion."""

Roles = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Promise:
    """What a release promises: a guarantee of trees, or models of rows; `freeform` rows need not look alike."""

    guarantee: Guarantee | None = None
    models: tuple[Model, ...] = ()
    freeform: bool = False

    @property
    def k(self) -> int:
        """The least number of persons behind what is known."""
        return largest_k(self.models) if self.guarantee is None else self.guarantee.k

    @property
    def knowledge(self) -> str:
        """What an attacker may know at the most."""
        guarantee = self.guarantee
        if guarantee is None:
            return "the values of all quasi-identifiers of a person"
        related = f" and up to {counted(guarantee.n, 'relation')} between them" if guarantee.n else ""
        return f"up to {counted(guarantee.m, 'value')} of a person{related}"

    @property
    def diversity(self) -> str:
        """What is promised of sensitive values, in words; empty for nothing."""
        if self.guarantee is None:
            return ", ".join(model.name for model in self.models if not asks_for_size(model))
        found = self.guarantee
        return f"{found.l}-diversity ({found.diversity})" if found.l > 1 else ""


FAILS = "Not addressed by this release: the guarantee that was asked for does not hold."


def criteria(promise: Promise, roles: Roles, *, holds: bool = True) -> list[dict[str, str]]:
    """Return each risk with what is addressed and what is not; `roles` has the classes published as they are.

    Where the guarantee does not hold (`holds`), nothing is addressed.

    >>> found = criteria(Promise(Guarantee(5, 2, 1)), {})
    >>> [one["name"] for one in found], found[2]["addressed"]
    (['Singling out', 'Linkability', 'Inference'], 'Not addressed: no diversity of sensitive values was asked for.')
    """
    texts = (_singling_out(promise, roles), _linkability(promise, roles), _inference(promise, roles))
    return [
        {"name": name, "meaning": meaning, "addressed": addressed if holds else FAILS, "open": left}
        for (name, meaning), (addressed, left) in zip(DEFINITIONS.items(), texts, strict=True)
    ]


def _singling_out(promise: Promise, roles: Roles) -> tuple[str, str]:
    bare = [name for role in ("keep", "pseudonym", "sensitive") for name in roles.get(role, ())]
    known = f" Knowledge of {', '.join(bare)} is not counted: these values are published as they are." if bare else ""
    if promise.k < 2:
        return "Not addressed: no least number of persons was asked for.", f"All of it.{known}"
    if promise.freeform:
        addressed = (
            f"Addressed for whoever knows {promise.knowledge}: at least {promise.k:,} rows of the release can be that"
            " person's."
        )
        return addressed, f"Whoever knows further columns, or how the rows were drawn, is not counted.{known}"
    none = "no record of the release, or " if promise.guarantee is None or promise.guarantee.as_published else ""
    addressed = f"Addressed for whoever knows {promise.knowledge}: that fits {none}at least {promise.k:,} records."
    if promise.guarantee is None:
        return addressed, f"Whoever knows columns that are no quasi-identifiers is not counted.{known}"
    return addressed, f"Whoever knows more values or more relations may single persons out.{known}"


def _linkability(promise: Promise, roles: Roles) -> tuple[str, str]:
    if promise.k < 2:
        return "Not addressed.", "Records of this and another collection may be linked by what they share."
    addressed = (
        f"In part: by {promise.knowledge}, a record of another collection matches at least {promise.k:,} records of"
        " this release or none, so that no such link is certain."
    )
    left = (
        "That somebody is in the release at all, and links between groups of persons, are not hidden; two releases"
        " about the same persons can be compared with each other, and the guarantee is of each alone."
    )
    if named := roles.get("pseudonym"):
        left += f" Pseudonyms ({', '.join(named)}) link the records of all releases made with the same key."
    return addressed, left


def _inference(promise: Promise, roles: Roles) -> tuple[str, str]:
    common = " What holds for everybody like a person can be learnt from any useful statistic, and is not hidden."
    named = ", ".join(roles.get("sensitive", ()))
    if not promise.diversity:
        return (
            "Not addressed: no diversity of sensitive values was asked for.",
            f"All persons whom some knowledge fits may share a further value, which is learnt then.{common}",
        )
    addressed = f"Addressed for the sensitive values{f' of {named}' if named else ''}: {promise.diversity}."
    return addressed, f"Values of other classes may be the same for all persons whom some knowledge fits.{common}"


def unprotected(promise: Promise, roles: Roles) -> list[str]:
    """Return what the release does not protect against, in sentences."""
    found = [
        "It is no differential privacy: publish a collection once. Two releases of the same persons, or the release and"
        " other tables about them, may tell more together.",
        "That a person is in the release is not hidden.",
    ]
    guarantee = promise.guarantee
    if guarantee is None:
        found.append("Persons whose further columns are known, beside the quasi-identifiers, may be singled out.")
    else:
        more = promise.knowledge.replace("up to ", "")
        found.append(f"Attackers who know more than {more} may single persons out.")
        if guarantee.attacker == "independent":
            found.append("Attackers who know that several relations speak of the same value are not counted.")
        if not guarantee.negative:
            found.append("Attackers who know what a person does not have are not counted.")
        if guarantee.as_published:
            found.append("What traces of moved nodes tell of the original is not counted (as published).")
    for role, words in _AS_THEY_ARE.items():
        if names := roles.get(role):
            found.append(words.format(", ".join(names)))
    if roles.get("sensitive") and not promise.diversity:
        found.append("Sensitive values are published as they are, and no diversity of them was asked for.")
    return found


_AS_THEY_ARE = {
    "keep": "Declared safe by the schema, and published as they are: {}.",
    "pseudonym": "Published as keyed pseudonyms, which whoever has the key can compute: {}.",
}


def plain_promise(promise: Promise) -> Mapping[str, Any]:
    """Return the promise as plain data, by which it is made again."""
    guarantee = None if promise.guarantee is None else promise.guarantee.as_dict()
    return {
        "guarantee": guarantee,
        "models": [plain_model(model) for model in promise.models],
        "freeform": promise.freeform,
    }


def promise_of(plain: Mapping[str, Any]) -> Promise:
    """Return the promise of plain data.

    >>> promise = Promise(Guarantee(5, 2, 1, l=3))
    >>> promise_of(plain_promise(promise)) == promise
    True
    """
    given = plain.get("guarantee")
    guarantee = None if given is None else Guarantee(**{**given, "negative": tuple(given.get("negative", ()))})
    return Promise(guarantee, tuple(map(model_of, plain.get("models", ()))), bool(plain.get("freeform", False)))
