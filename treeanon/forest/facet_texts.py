"""What facets say of each value of their class, and of how many values records disagree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

_END = "\0"


def node_text(text: str, value: str) -> str:
    """Return the text of the node of a facet above a value, which no other value has; the facet may be empty."""
    return f"{text}{_END}{value}"


def written(text: str) -> str:
    """Return what is written for the text of a node: of the node of a facet what it says, which may be nothing.

    >>> written("Flu"), written(node_text("Influenza", "J11")), written(node_text("", "J12"))
    ('Flu', 'Influenza', '')
    """
    return text.partition(_END)[0]


@dataclass
class FacetTexts:
    """What one facet is for each value of its class, and the values for which records disagree or leave it out.

    `alone` counts where it stands without a value.
    """

    texts: dict[str, str] = field(default_factory=dict)
    disagree: set[str] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)
    alone: int = 0

    def add(self, value: str, text: str | None) -> None:
        """Take in that a value stands with this text somewhere, or with none."""
        if text is None:
            self.missing.add(value)
        elif self.texts.setdefault(value, text) != text:
            self.disagree.add(value)

    def agreed(self) -> dict[str, str]:
        """Return the text of each value for which all records agree."""
        lost = self.disagree | self.missing
        return {value: text for value, text in self.texts.items() if value not in lost}

    def counts(self) -> dict[str, int]:
        """Return how many values keep the facet, and how many lose it because records disagree or leave it out."""
        absent = (self.missing - self.disagree) & self.texts.keys()
        return {"values": len(self.agreed()), "disagree": len(self.disagree), "missing": len(absent)}

    def beyond(self) -> int:
        """Return how often the facet says more than its values; never in a release."""
        counts = self.counts()
        return counts["disagree"] + counts["missing"] + self.alone


def facet_counts(found: Mapping[tuple[str, str], FacetTexts]) -> dict[str, dict[str, dict[str, int]]]:
    """Return the counts of all facets, by class and facet."""
    made: dict[str, dict[str, dict[str, int]]] = {}
    for (name, facet), texts in found.items():
        made.setdefault(name, {})[facet] = texts.counts()
    return made
