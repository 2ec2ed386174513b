"""FHIR bundles whose diagnoses and procedures lie in the encounters that they refer to: what a release keeps whole.

    python samples/make_health.py --out DATA --persons 450 --kilobytes 80 --form bundles
    python tests/bench/bundles.py DATA/bundles [--results tests/bench/RESULTS.md]

Beside it the same with merged trees, and without keys. Whole is an encounter that still says its class, its type, its
start and its end, a diagnosis with code and day of onset, a procedure with code and start, however general. What the
release says of which diagnosis lies in which encounter is read out of the written file by code of its own.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from results import put

import treeanon as ta
from treeanon.metrics import objects_kept

ENCOUNTER, CONDITION, PROCEDURE = (
    f"entry[resource.resourceType={kind}]" for kind in ("Encounter", "Condition", "Procedure")
)
DAYS = 'type = "date"\nhierarchy = { dates = ["month", "quarter", "year", "decade"] }'
ICD = "code.coding[system=http://hl7.org/fhir/sid/icd-10-cm].code"
CLASSES = (
    ("gender", "entry[resource.resourceType=Patient].resource.gender", ""),
    ("birth", "entry[resource.resourceType=Patient].resource.birthDate", DAYS),
    ("class", f"{ENCOUNTER}.resource.class.code", ""),
    ("visit", f"{ENCOUNTER}.resource.type[].text", ""),
    ("start", f"{ENCOUNTER}.resource.period.start", DAYS),
    ("end", f"{ENCOUNTER}.resource.period.end", DAYS),
    ("diagnosis", f"{CONDITION}.resource.{ICD}", 'hierarchy = { icd10 = "cm" }'),
    ("onset", f"{CONDITION}.resource.onsetDateTime", DAYS),
    ("procedure", f"{PROCEDURE}.resource.code.text", ""),
    ("performed", f"{PROCEDURE}.resource.performedPeriod.start", DAYS),
)
KINDS = ("Encounter", "Condition", "Procedure")


def schema(objects: str, *, keyed: bool) -> ta.Schema:
    """Return the schema of bundles."""
    lines = ["version = 1", "[input]", 'format = "json"', 'record = "."', f'objects = "{objects}"']
    for kind in (CONDITION, PROCEDURE) if keyed else ():
        lines += ["[[key]]", f'from = "{kind}.resource.encounter.reference"', f'to = "{ENCOUNTER}.fullUrl"']
    for name, path, more in CLASSES:
        lines += ["[[class]]", f'name = "{name}"', f'path = "{path}"', more]
    return ta.Schema.loads("\n".join(lines))


def shares(objects: Any) -> list[str]:
    """Return the shares of the kinds that are whole."""
    found = {name.rpartition("resourceType=")[2]: of for name, of in objects.items() if name.endswith("]")}
    return [f"{100 * found[f'{kind}]'].whole:.1f}%" for kind in KINDS]


def referred(folder: Path) -> Counter[str]:
    """Count the diagnoses and procedures of files, and those whose encounter is found by its address."""
    found: Counter[str] = Counter()
    for path in sorted(folder.iterdir()):
        entries = json.loads(path.read_text()).get("entry", [])
        known = {
            one["fullUrl"] for one in entries if one["resource"]["resourceType"] == "Encounter" and "fullUrl" in one
        }
        for one in entries:
            if one["resource"]["resourceType"] in KINDS[1:]:
                found["objects"] += 1
                found["in"] += one["resource"].get("encounter", {}).get("reference") in known
    return found


def rows(data: Path) -> list[str]:
    """Return what was measured as a table."""
    lines = [
        "| objects | keys | what | value loss | relations kept | encounters | diagnoses | procedures | placed | s |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for objects, keyed in (("whole", True), ("whole", False), ("merged", True)):
        own = schema(objects, keyed=keyed)
        start = time.process_time()
        forest = ta.read(data, own)
        read = time.process_time() - start
        named = f"| {objects} | {'yes' if keyed else 'no'} "
        with tempfile.TemporaryDirectory() as folder:
            ta.write(forest, Path(folder, "out"), force=True)
            found = referred(Path(folder, "out"))
        lines.append(
            f"{named}| convert | 0 | 100% | {' | '.join(shares(objects_kept(forest, forest)))} "
            f"| {found['in']:,} of {found['objects']:,} | {read:.1f} |"
        )
        start = time.process_time()
        release = ta.anonymize(forest, k=5, m=2, n=1)
        took = time.process_time() - start
        with tempfile.TemporaryDirectory() as folder:
            release.write(Path(folder, "out"), force=True)
            found = referred(Path(folder, "out"))
        loss = release.loss
        lines.append(
            f"{named}| k=5, m=2, n=1 | {loss.value_loss:.3f} | {100 * loss.relations_kept:.1f}% "
            f"| {' | '.join(shares(loss.objects))} | {found['in']:,} of {found['objects']:,} | {took:.1f} |"
        )
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    """Measure, print, and perhaps write to the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--results", type=Path)
    asked = parser.parse_args()
    put(["`python tests/bench/bundles.py DATA/bundles` (2 cores)", "", *rows(asked.data)], "bundles", asked.results)


if __name__ == "__main__":
    main()
