"""Slow twins of terminologies, ages and postal codes: one text at a time."""

from __future__ import annotations

import datetime
from itertools import pairwise

from tests.reference.intervals import ordered_tree
from treeanon.hierarchy import ROOT, Hierarchy


def slow_terminology(rows, values):
    """The tree of values under rows of (code, parent or None, name); None where parents make a cycle."""
    codes = list(dict.fromkeys(code for code, _, _ in rows))
    names = {}
    for code, _, name in rows:
        if name:
            names.setdefault(code, name)
    ups = {code: {above for own, above, _ in rows if own == code and above is not None} for code in codes}

    def longest(code, seen=()):
        if code in seen:
            raise RecursionError
        return max((1 + longest(above, (*seen, code)) for above in ups[code]), default=0)

    try:
        depth = {code: longest(code) for code in codes}
    except RecursionError:
        return None
    parent = {code: min(ups[code], key=lambda above: (-depth[above], above)) for code in codes if ups[code]}
    tops = [code for code in codes if code not in parent]
    if len(tops) == 1:
        parent = {code: above for code, above in parent.items() if above != tops[0]}
    inner = set(parent.values())
    label = {code: f"{code} {names[code]}" if code in inner and code in names else code for code in codes}
    links = {}
    for value in values:
        for code in codes:
            if value in (code, label[code]):
                chain = [label[code]]
                above = code
                while above in parent:
                    above = parent[above]
                    chain.append(label[above])
                chain = chain if value == label[code] else [value, *chain]
                links.update(pairwise([*chain, ROOT]))
    return Hierarchy(*ordered_tree(links, sorted(links)))


def slow_ages(builder, dates):
    """The tree of days and years (no other periods) of birth."""
    year, month, day = map(int, builder.on.split("-"))
    on = datetime.date(year, month, day)
    links, key = {}, {}
    for text in dates:
        whole = len(text) == 10
        first = datetime.date.fromisoformat(text if whole else f"{text}-01-01")
        last = first if whole else datetime.date(int(text), 12, 31)
        if first > on:
            continue
        ages = [_age(born, on) for born in (min(last, on), first)]
        chain = [text]
        for width in (1, *builder.widths):
            starts = {age // width * width for age in ages}
            if builder.top is not None and max(ages) >= builder.top:
                starts = set()
            if len(starts) == 1:
                start = starts.pop()
                end = start + width - 1 if builder.top is None else min(start + width, builder.top) - 1
                label = f"{start} years" if start == end else f"{start}-{end} years"
                key[label] = (start, 0, -end)
                if label not in chain:
                    chain.append(label)
        if builder.top is not None and min(ages) >= builder.top:
            chain.append(f"{builder.top}+ years")
            key[chain[-1]] = (builder.top, 0, -(10**9))
        key[text] = (ages[0], 1, 0, text)
        links.update(pairwise([*chain, ROOT]))
    return Hierarchy(*ordered_tree(links, sorted(links, key=key.__getitem__)))


def _age(born, on):
    return on.year - born.year - ((on.month, on.day) < (born.month, born.day))


def slow_zips(builder, values):
    """The tree of texts without stars."""
    links = {}
    zeros = "0" * builder.keep[0]
    for value in values:
        if value[: builder.keep[0]] in builder.large - {zeros}:
            above = [value[:kept] + "*" for kept in builder.keep if kept < len(value)]
        else:
            above = [zeros] if value != zeros else []
        links.update(pairwise([value, *above, ROOT]))
    small = {text for text in links if zeros in (text, links[text])}
    order = sorted(links, key=lambda text: (text in small, text in small and text != zeros, text))
    return Hierarchy(*ordered_tree(links, order))
