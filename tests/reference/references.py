"""References followed the obvious way: each record as one nested dict, object by object."""

from __future__ import annotations

import copy
from typing import Any

Record = dict[str, Any]
LINKS = (("stays", "episode", "episodes"), ("ills", "stay", "stays"))
"""Objects of the first list refer by a field to the ids of the last one; inner ones come last."""


def nested(record: Record) -> Record:
    """Return the record with every object in the one that it refers to, or in a bare one of its own."""
    record = copy.deepcopy(record)
    for name, field, into in reversed(LINKS):
        for item in record.pop(name, []):
            named = [one for one in record.get(into, []) if one.get("id") and one["id"] == item.get(field)]
            if not named:
                named = [{}]
                record.setdefault(into, []).extend(named)
            named[0].setdefault(name, []).append(item)
    return record


def with_lists(record: Record) -> Record:
    """Return the record with each test in every report that lists it, or in a bare one; and reports in their stays."""
    record = copy.deepcopy(record)
    for test in record.pop("tests", []):
        having = [one for one in record.get("reports", []) if test["id"] in one.get("results", [])]
        if not having:
            having = [{}]
            record.setdefault("reports", []).extend(having)
        for one in having:
            one.setdefault("tests", []).append(copy.deepcopy(test))
    for report in record.pop("reports", []):
        having = [one for one in record.get("stays", []) if one.get("id") and one["id"] == report.get("stay")]
        if not having:
            having = [{}]
            record.setdefault("stays", []).extend(having)
        having[0].setdefault("reports", []).append(report)
    return record


def facts(record: Record) -> list[Any]:
    """Return what a document says of its illnesses: each with what it refers to, found by its references."""
    found = []
    for ill in record.get("ills", []):
        stays = [stay for stay in record.get("stays", []) if "id" in stay and stay["id"] == ill.get("stay")]
        episodes = [
            one for one in record.get("episodes", []) if stays and "id" in one and one["id"] == stays[0].get("episode")
        ]
        drugs = sorted(drug for drug in ill.get("drugs", []))
        ward = stays[0].get("ward") if stays else None
        found.append((ill.get("name"), drugs, ward, episodes[0].get("kind") if episodes else None))
    return sorted({repr(each) for each in found})
