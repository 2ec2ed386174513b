"""Slow twins of the builders of codes: one value at a time, every chapter and block looked at for each."""

from __future__ import annotations

import re
from itertools import pairwise

from tests.reference.intervals import ordered_tree
from tests.support.paths import ROOT as PROJECT
from treeanon.hierarchy import ROOT, Hierarchy

NAMES = PROJECT / "treeanon" / "hierarchy" / "names"


def lines(name):
    return [line for line in (NAMES / name).read_text().splitlines() if not line.startswith("#")]


def tree_of_chains(chains):
    """The tree of chains, each from a text up to the last below the root."""
    parent = {}
    for chain in chains:
        for child, above in pairwise([*chain, ROOT]):
            assert parent.setdefault(child, above) == above
    return Hierarchy(*ordered_tree(parent, sorted(parent)))


def ranges(version):
    """(first, last, label, chapter's label or None) of each range of each chapter and block."""
    found, chapter = [], None
    for line in lines("icd10.txt"):
        versions, codes, name = line.split(" ", 2)
        if versions in (version, "both"):
            first, last = codes.lstrip("+").split(",")[0].split("-")
            label = f"{first} {name}" if first == last else f"{first}-{last} {name}"
            chapter = label if codes[0] == "+" else chapter
            for part in codes.lstrip("+").split(","):
                start, _, stop = part.partition("-")
                found.append((start, stop or start, label, None if codes[0] == "+" else chapter))
    return found


def slow_icd10(builder, values):
    return tree_of_chains(
        chain for value in values if (chain := _icd10_chain(value, builder.version, ranges(builder.version)))
    )


def _icd10_chain(value, version, known):
    for _, _, label, chapter in known:
        if value == label:
            return [label] if chapter is None else [label, chapter]
    text = value.upper() if value.isascii() else value
    rest = text[3:]
    wild = rest == ".-"
    if rest and not wild:
        rest = rest[:-1] if rest[-1] in "+*!" else rest
        rest = rest[1:] if rest[:1] == "." and len(rest) > 1 else rest
    thirds = "0123456789" if version == "who" else "0123456789AB"
    well_formed = (
        len(text) >= 3
        and text[0] in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
        and text[1] in "0123456789"
        and text[2] in thirds
        and (wild or (len(rest) <= 4 and all(c in "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ" for c in rest)))
    )
    holding = [each for each in known if well_formed and each[0] <= text[:3] <= each[1]]
    if not holding:
        return None
    # as blocks are disjoint but for those of one odd category, the one that starts last is the narrowest
    blocks = [each for each in holding if each[3] is not None]
    _, _, label, chapter = max(blocks or holding)
    category = text[:3]
    chain = [value]
    for length in range(len(value) - 1, 3, -1):
        if value[length - 1] not in ".Xx":
            chain.append(value[:length])
    return [*chain, *([category] if value != category else []), label, *([chapter] if chapter else [])]


def slow_atc(builder, values):
    names = {line.partition(" ")[0]: line for line in lines("atc.txt")}
    return tree_of_chains(chain for value in values if (chain := _atc_chain(value, names)))


def _atc_chain(value, names):
    for code, label in names.items():
        if value == label:
            return [label] if len(code) == 1 else [label, names[code[0]]]
    shape = re.sub("[0-9]", "0", re.sub("[A-Z]", "A", value))
    if shape not in ("A", "A00", "A00A", "A00AA", "A00AA00") or not value.isascii():
        return None
    if re.search("[^A-Z0-9]", value) or value[:1] not in names or value[:3] not in names:
        return None
    below = [value[:length] for length in (5, 4) if len(value) >= length]
    above = [names[value[:length]] for length in (3, 1) if len(value) >= length]
    return [value, *(code for code in below if code != value), *above]
