"""Makes invented health records of the same persons in three forms: bundles of FHIR R4, its bulk export, C-CDA.

The same options give the same bytes on every machine. All that must not be in a release (names, numbers, addresses,
narratives, …) is remembered and can be written to a file of its own.

    python samples/make_health.py --out health --persons 300
    python samples/make_health.py --out health --persons 450 --kilobytes 800 --secrets secrets.json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from health_ccda import Document
from health_fhir import Resources
from health_people import Person, Secrets, people

FORMS = ("bundles", "bulk", "ccda")
KILOBYTES_OF_VISIT, KILOBYTES_OF_PERSON = 16, 13


class Health:
    """Invented persons, and the documents of them; `secrets` holds those of whatever was made so far.

    >>> health = Health(persons=3)
    >>> [bundle["entry"][0]["resource"]["resourceType"] for bundle in health.bundles()]
    ['Patient', 'Patient', 'Patient']
    """

    def __init__(self, persons: int = 300, seed: int = 17, kilobytes: float = 50) -> None:
        self.secrets = Secrets()
        self._persons, self._seed = persons, seed
        self._visits = max(1.0, (kilobytes - KILOBYTES_OF_PERSON) / KILOBYTES_OF_VISIT)

    def people(self) -> Iterator[Person]:
        """Make the persons, the same each time."""
        return people(self._persons, self._seed, self._visits, self.secrets)

    def bundles(self) -> Iterator[dict[str, Any]]:
        """Make a bundle for each person, in which references are the fullUrl of entries."""
        for one in self.people():
            found = Resources(one, lambda kind, id: f"urn:uuid:{id}").all()
            yield {"resourceType": "Bundle", "type": "transaction", "entry": [
                {"fullUrl": f"urn:uuid:{each['id']}", "resource": each,
                 "request": {"method": "POST", "url": each["resourceType"]}}
                for each in found
            ]}  # fmt: skip

    def bulk(self) -> Iterator[dict[str, Any]]:
        """Make the resources of all persons; those that persons share come once."""
        told: set[tuple[str, str]] = set()
        for one in self.people():
            for each in Resources(one, lambda kind, id: f"{kind}/{id}").all():
                key = (each["resourceType"], each["id"])
                if key not in told:
                    told.add(key)
                    yield each

    def documents(self) -> Iterator[str]:
        """Make a document of C-CDA for each person."""
        for one in self.people():
            yield "".join(Document(one).all())

    def write_bundles(self, folder: Path) -> Path:
        """Write a file for each bundle, under the person's name, as exports do."""
        folder.mkdir(parents=True, exist_ok=True)
        for one, bundle in zip(self.people(), self.bundles(), strict=True):
            path = folder / f"{one.given}_{one.family}_{one.id('Patient')}.json"
            path.write_text(json.dumps(bundle, ensure_ascii=False), "utf-8")
        return folder

    def write_bulk(self, folder: Path) -> Path:
        """Write a file of lines for each type of resource."""
        folder.mkdir(parents=True, exist_ok=True)
        files: dict[str, list[str]] = {}
        for each in self.bulk():
            files.setdefault(each["resourceType"], []).append(json.dumps(each, ensure_ascii=False) + "\n")
        for kind, lines in files.items():
            (folder / f"{kind}.ndjson").write_text("".join(lines), "utf-8")
        return folder

    def write_documents(self, folder: Path) -> Path:
        """Write a file for each document of C-CDA, under the person's name."""
        folder.mkdir(parents=True, exist_ok=True)
        for one, document in zip(self.people(), self.documents(), strict=True):
            (folder / f"{one.given}_{one.family}_{one.id('Patient')}.xml").write_text(document, "utf-8")
        return folder

    def write_secrets(self, path: Path) -> Path:
        """Write the secrets of whatever was made so far, by kind."""
        found = {kind: sorted(texts) for kind, texts in sorted(self.secrets.kinds.items())}
        path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
        return path


def main() -> None:
    """Write the forms that the command line asks for."""
    parser = argparse.ArgumentParser(description="Make invented health records.")
    parser.add_argument("--out", type=Path, default=Path("health"), help="where the folders of the forms go")
    parser.add_argument("--persons", type=int, default=300)
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--kilobytes", type=float, default=50, help="size of a bundle, on the average (30 to 800)")
    parser.add_argument("--form", choices=FORMS, action="append", help="default: all three")
    parser.add_argument("--secrets", type=Path, help="file for all that must not be in a release")
    options = parser.parse_args()
    health = Health(options.persons, options.seed, options.kilobytes)
    writers = dict(zip(FORMS, (health.write_bundles, health.write_bulk, health.write_documents), strict=True))
    for form in options.form or FORMS:
        folder = writers[form](options.out / form)
        sizes = [path.stat().st_size for path in folder.iterdir()]
        print(f"{folder}: {len(sizes)} files, {sum(sizes)} bytes")
    if options.secrets is not None:
        print(health.write_secrets(options.secrets))


if __name__ == "__main__":
    main()
