"""Makes the sample clinic: invented patients in nine tables, as CSV with a datapackage.json and as SQLite.

Diseases, names and chance come from `make_hospital.py`, and like there the same seed gives the same bytes on
every machine. Only the bytes of the SQLite file depend on the version of SQLite; its rows do not.

    python samples/make_clinic.py --schemas schemas
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from make_hospital import AGE_BANDS, AGES, DAYS, DIAGNOSES, FIRST_DAY, MEN, SURNAMES, WOMEN, Diagnosis, Dice

Row = tuple[int | str | None, ...]


class Key(NamedTuple):
    """Columns that refer to a row of `target`. Without target columns they refer to its primary key."""

    columns: tuple[str, ...]
    target: str
    target_columns: tuple[str, ...] = ()


class Kind(NamedTuple):
    """A table: its columns with their types (`?` where a cell may be empty), its primary key, its foreign keys."""

    columns: Mapping[str, str]
    primary: tuple[str, ...] = ()
    keys: tuple[Key, ...] = ()


# from the tables that refer to none to those that refer to others
KINDS = {
    "practice": Kind({"practice_id": "integer", "name": "string", "town": "string", "region": "string"},
                     ("practice_id",)),
    "doctor": Kind({"doctor_id": "integer", "full_name": "string", "specialty": "string", "practice_id": "integer?"},
                   ("doctor_id",), (Key(("practice_id",), "practice", ("practice_id",)),)),
    "ward": Kind({"ward_id": "string", "name": "string", "department": "string", "part_of": "string?"},
                 ("ward_id",), (Key(("part_of",), "ward", ("ward_id",)),)),
    "substance": Kind({"substance_id": "integer", "name": "string", "family": "string"}, ("substance_id",)),
    "patient": Kind({"patient_id": "integer", "name": "string", "ssn": "string", "birth_year": "integer",
                     "sex": "string", "postcode": "string", "gp_id": "integer?"},
                    ("patient_id",), (Key(("gp_id",), "doctor", ("doctor_id",)),)),
    "allergy": Kind({"patient_id": "integer", "substance_id": "integer"}, ("patient_id", "substance_id"),
                    (Key(("patient_id",), "patient", ("patient_id",)), Key(("substance_id",), "substance"))),
    "visit": Kind({"visit_id": "integer", "patient_id": "integer", "day": "date", "ward_id": "string",
                   "attending_id": "integer", "referred_by": "integer?"},
                  ("visit_id",),
                  (Key(("patient_id",), "patient", ("patient_id",)), Key(("ward_id",), "ward", ("ward_id",)),
                   Key(("attending_id",), "doctor", ("doctor_id",)), Key(("referred_by",), "doctor", ("doctor_id",)))),
    "diagnosis": Kind({"visit_id": "integer", "line_no": "integer", "code": "string", "name": "string",
                       "certainty": "string"},
                      ("visit_id", "line_no"), (Key(("visit_id",), "visit", ("visit_id",)),)),
    "treatment": Kind({"visit_id": "integer", "line_no": "integer", "name": "string", "dose": "integer?"}, (),
                      (Key(("visit_id", "line_no"), "diagnosis", ("visit_id", "line_no")),)),
}  # fmt: skip

# region -> weight, and its towns with their postcodes from the commonest to the rarest
REGIONS: Mapping[str, tuple[int, Mapping[str, tuple[str, ...]]]] = {
    "Lake shore": (40, {"Port Ellery": ("07101", "07104", "07110"), "Sandham": ("07121", "07125")}),
    "River valley": (34, {"Millbridge": ("54801", "54806"), "Fordwick": ("54817", "54840")}),
    "High country": (26, {"Stone Hollow": ("61205", "61208"), "Larch Pass": ("61219",)}),
}
PRACTICES = ("{town} Family Practice", "Old Mill Doctors, {town}")
GPS_OF_PRACTICE = ("General practice", "General practice", "Pediatrics")

# ward_id, name, department, the ward that it is part of
WARDS = (
    ("M", "Medical ward", "Medicine", None),
    ("M1", "Heart ward", "Medicine", "M"),
    ("M2", "Lung ward", "Medicine", "M"),
    ("M3", "Metabolic ward", "Medicine", "M"),
    ("S", "Surgical ward", "Surgery", None),
    ("S1", "Bone ward", "Surgery", "S"),
    ("S2", "Eye and ear ward", "Surgery", "S"),
    ("F", "Family ward", "Family care", None),
    ("F1", "Children's ward", "Family care", "F"),
    ("N", "Nerve and mind ward", "Neurology and psychiatry", None),
    ("N1", "Day clinic", "Neurology and psychiatry", "N"),
)
WARDS_OF_SYSTEM = {
    "Respiratory disease": ("M2", "M"),
    "Circulatory disease": ("M1", "M"),
    "Endocrine disease": ("M3",),
    "Digestive disease": ("M3", "S"),
    "Musculoskeletal disease": ("S1",),
    "Nervous system disease": ("N", "N1"),
    "Mental illness": ("N1", "N"),
    "Eye or ear disease": ("S2",),
    "Urogenital disease": ("S", "F"),
    "Skin disease": ("M",),
    "Tumor": ("S",),
}
# the specialties of a ward's doctors, and the field of each specialty
DOCTORS_OF_WARD = {
    "M": ("Internal medicine", "Internal medicine"),
    "M1": ("Cardiology", "Cardiology"),
    "M2": ("Pulmonology",),
    "M3": ("Endocrinology", "Internal medicine"),
    "S": ("General surgery", "General surgery"),
    "S1": ("Orthopedics", "Orthopedics"),
    "S2": ("Ophthalmology",),
    "F": ("Gynecology",),
    "F1": ("Pediatrics", "Pediatrics"),
    "N": ("Neurology",),
    "N1": ("Psychiatry", "Psychiatry"),
}
FIELDS = {
    "Internal medicine": "Conservative field",
    "Cardiology": "Conservative field",
    "Pulmonology": "Conservative field",
    "Endocrinology": "Conservative field",
    "General surgery": "Operative field",
    "Orthopedics": "Operative field",
    "Ophthalmology": "Operative field",
    "General practice": "Family field",
    "Gynecology": "Family field",
    "Pediatrics": "Family field",
    "Neurology": "Nerve and mind field",
    "Psychiatry": "Nerve and mind field",
}

# name -> family, weight
SUBSTANCES = {
    "Penicillin": ("Medicine allergen", 20),
    "Sulfonamide": ("Medicine allergen", 8),
    "Ibuprofen": ("Medicine allergen", 7),
    "Birch pollen": ("Airborne allergen", 24),
    "Grass pollen": ("Airborne allergen", 22),
    "House dust mite": ("Airborne allergen", 14),
    "Cat hair": ("Airborne allergen", 12),
    "Peanut": ("Food allergen", 10),
    "Cow's milk": ("Food allergen", 8),
    "Nickel, cobalt": ("Contact allergen", 10),
    "Latex": ("Contact allergen", 5),
}

CODES = {
    "Asthma": "J45", "Bronchitis": "J40", "Influenza": "J11", "Pneumonia": "J18", "COPD": "J44",
    "Hypertension": "I10", "Coronary Artery Disease": "I25", "Atrial Fibrillation": "I48", "Heart Failure": "I50",
    "Type 2 Diabetes": "E11", "High Cholesterol": "E78", "Hypothyroidism": "E03",
    "Acid Reflux": "K21", "Gastritis": "K29", "Gallstones": "K80", "Appendicitis": "K35",
    "Back Pain": "M54", "Osteoarthritis": "M19", "Wrist Fracture": "S62",
    "Migraine": "G43", "Epilepsy": "G40", "Depression": "F32", "Anxiety Disorder": "F41", "Insomnia": "F51",
    "Ear Infection": "H66", "Cataract": "H26", "Urinary Tract Infection": "N39", "Kidney Stones": "N20",
    "Enlarged Prostate": "N40", "Eczema": "L20", "Psoriasis": "L40", "Breast Cancer": "C50", "Prostate Cancer": "C61",
}  # fmt: skip
KNOWN = [disease for disease in DIAGNOSES if disease.name in CODES]

# in milligrams; what is not here has no dose
DOSES = {
    "Antibiotic": (500, 1000, 250), "Painkiller": (400, 800, 200), "Antacid": (20, 40), "Steroid": (20, 50, 5),
    "Thyroid Hormone": (50, 100, 25), "Beta Blocker": (50, 100), "Statin": (20, 40, 10), "Blood Thinner": (5, 10),
    "Antidepressant": (50, 100), "Anticonvulsant": (500, 1000),
}  # fmt: skip

FIRST_PATIENT, FIRST_VISIT = 20011, 700001
THIS_YEAR = 2024


@dataclass
class Visit:
    """A visit before it has a number: visits are numbered by day, whoever comes."""

    patient: int
    day: int
    ward: str
    attending: int
    referred_by: int | None
    findings: list[tuple[Diagnosis, str, list[tuple[str, int | None]]]]


@dataclass
class Clinic:
    """The rows of each table so far."""

    dice: Dice
    rows: dict[str, list[Row]] = field(default_factory=lambda: {name: [] for name in KINDS})
    visits: list[Visit] = field(default_factory=list)
    gps: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    attending: dict[str, list[int]] = field(default_factory=dict)


def _doctor_name(dice: Dice) -> str:
    return f"{dice.any((*SURNAMES, 'Núñez', 'Öberg'))}, {dice.any(WOMEN + MEN)}"


def _add_doctor(clinic: Clinic, specialty: str, practice: int | None) -> int:
    doctors = clinic.rows["doctor"]
    number = 101 + len(doctors)
    doctors.append((number, _doctor_name(clinic.dice), specialty, practice))
    return number


def _staff(clinic: Clinic) -> None:
    """Add what is there before the patients: practices, wards, their doctors, substances."""
    for region, (_, towns) in REGIONS.items():
        gps = clinic.gps.setdefault(region, [])
        for town in towns:
            for name in PRACTICES:
                practice = 1 + len(clinic.rows["practice"])
                clinic.rows["practice"].append((practice, name.format(town=town), town, region))
                gps.extend((_add_doctor(clinic, specialty, practice), specialty) for specialty in GPS_OF_PRACTICE)
    clinic.rows["ward"].extend(WARDS)
    for ward, specialties in DOCTORS_OF_WARD.items():
        clinic.attending[ward] = [_add_doctor(clinic, specialty, None) for specialty in specialties]
    for number, (name, (family, _)) in enumerate(SUBSTANCES.items(), 1):
        clinic.rows["substance"].append((number, name, family))


def _pick_gp(clinic: Clinic, region: str, age: int) -> int | None:
    """Return one who is near and right for the age, or none."""
    dice = clinic.dice
    wanted = "Pediatrics" if age < AGE_BANDS[0] else "General practice"
    gp = dice.tail([number for number, specialty in clinic.gps[region] if specialty == wanted])
    return None if dice.below(12) == 0 else gp


def _add_allergies(clinic: Clinic, patient: int) -> None:
    dice = clinic.dice
    found: set[int] = set()
    names = list(SUBSTANCES)
    for _ in range(dice.pick((0, 1, 2), (64, 26, 10))):
        same = {SUBSTANCES[names[number - 1]][0] for number in found}
        weights = [weight * (6 if family in same else 1) for family, weight in SUBSTANCES.values()]
        found.add(1 + dice.pick(range(len(names)), weights))
    clinic.rows["allergy"].extend((patient, number) for number in sorted(found))


def _pick_diagnosis(dice: Dice, age: int, sex: str, system: str | None, known: Sequence[str]) -> Diagnosis:
    band = next(band for band, end in enumerate(AGE_BANDS) if age < end)

    def weight(disease: Diagnosis) -> int:
        person = disease.ages[band] * (disease.female if sex == "F" else disease.male)
        again = 10 if disease.name in known else 1
        return disease.weight * disease.weight * person * again * (8 if disease.system == system else 1)

    return dice.pick(KNOWN, [weight(disease) for disease in KNOWN])


def _treatments(dice: Dice, disease: Diagnosis) -> list[tuple[str, int | None]]:
    chosen: dict[str, int | None] = {}
    for _ in range(dice.pick((0, 1, 2), (2, 6, 2))):
        name = dice.tail(disease.treatments)
        chosen[name] = dice.tail(DOSES[name]) if name in DOSES else None
    return list(chosen.items())


def _pick_ward(dice: Dice, disease: Diagnosis, age: int) -> str:
    if age < AGE_BANDS[0] and dice.below(6):
        return "F1"
    return dice.tail(WARDS_OF_SYSTEM[disease.system])


def _add_visits(clinic: Clinic, patient: int, age: int, sex: str, gp: int | None) -> None:
    dice = clinic.dice
    known: list[str] = []
    count = dice.pick((0, 1, 2, 3, 4), (5, 40, 30, 17, 8) if age >= AGE_BANDS[2] else (7, 58, 25, 8, 2))
    for day in sorted({dice.below(DAYS) for _ in range(count)}):
        main = _pick_diagnosis(dice, age, sex, None, known)
        ward = _pick_ward(dice, main, age)
        attending = dice.tail(clinic.attending[ward])
        found = [main]
        if dice.below(3) == 0:
            other = _pick_diagnosis(dice, age, sex, main.system, known)
            found += [other] if other is not main else []
        certainties = [dice.pick(("confirmed", "suspected", "ruled out"), (80, 15, 5)) for _ in found]
        findings = [(one, sure, _treatments(dice, one)) for one, sure in zip(found, certainties, strict=True)]
        clinic.visits.append(Visit(patient, day, ward, attending, gp if dice.below(5) < 3 else None, findings))
        known += [one.name for one in found]


def _number_visits(clinic: Clinic) -> None:
    """Add the rows of all visits, in the order of their days."""
    for number, visit in enumerate(sorted(clinic.visits, key=lambda visit: (visit.day, visit.patient)), FIRST_VISIT):
        day = (FIRST_DAY + timedelta(days=visit.day)).isoformat()
        row = (number, visit.patient, day, visit.ward, visit.attending, visit.referred_by)
        clinic.rows["visit"].append(row)
        for line, (disease, certainty, treatments) in enumerate(visit.findings, 1):
            clinic.rows["diagnosis"].append((number, line, CODES[disease.name], disease.name, certainty))
            clinic.rows["treatment"].extend((number, line, name, dose) for name, dose in treatments)


def _fake_ssn(dice: Dice, used: set[str]) -> str:
    """Return a new number of a form that is issued to nobody: nine hundred and something, and a zero group."""
    while (ssn := f"9{dice.below(100):02}-00-{1 + dice.below(9999):04}") in used:
        pass
    used.add(ssn)
    return ssn


def make_clinic(count: int, seed: int) -> dict[str, list[Row]]:
    """Return the rows of each table for that many patients.

    >>> {name: len(rows) for name, rows in make_clinic(5, 7).items()}["patient"]
    5
    """
    clinic = Clinic(dice := Dice(seed))
    _staff(clinic)
    used: set[str] = set()
    for number in range(FIRST_PATIENT, FIRST_PATIENT + 7 * count, 7):
        start, years, _ = dice.pick(AGES, [weight for _, _, weight in AGES])
        age, sex = start + dice.below(years), dice.pick("FM", (53, 47))
        region = dice.pick(list(REGIONS), [weight for weight, _ in REGIONS.values()])
        town = dice.tail(list(REGIONS[region][1].values()))
        name = f"{dice.any(WOMEN if sex == 'F' else MEN)} {dice.any(SURNAMES)}"
        gp = _pick_gp(clinic, region, age)
        patient = (number, name, _fake_ssn(dice, used), THIS_YEAR - age, sex, dice.tail(town), gp)
        clinic.rows["patient"].append(patient)
        _add_allergies(clinic, number)
        _add_visits(clinic, number, age, sex, gp)
    _number_visits(clinic)
    return clinic.rows


def to_csv(kind: Kind, rows: Sequence[Row]) -> str:
    """Return a table as CSV with a header; an empty cell is no value."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(kind.columns)
    writer.writerows(rows)
    return out.getvalue()


def _one_or_all(names: Sequence[str]) -> str | list[str]:
    return names[0] if len(names) == 1 else list(names)


def _resource(name: str, kind: Kind) -> dict[str, object]:
    fields = [{"name": column, "type": form.rstrip("?")} for column, form in kind.columns.items()]
    schema: dict[str, object] = {"fields": fields}
    if kind.primary:
        schema["primaryKey"] = _one_or_all(kind.primary)
    if kind.keys:
        schema["foreignKeys"] = [
            {
                "fields": _one_or_all(key.columns),
                # the standard names a resource's own rows by an empty text
                "reference": {
                    "resource": "" if key.target == name else key.target,
                    "fields": _one_or_all(key.target_columns or KINDS[key.target].primary),
                },
            }
            for key in kind.keys
        ]
    return {"name": name, "path": f"{name}.csv", "profile": "tabular-data-resource", "schema": schema}


def data_package() -> str:
    """Return the Frictionless description of the CSV files."""
    resources = [_resource(name, kind) for name, kind in KINDS.items()]
    package = {"profile": "tabular-data-package", "name": "clinic", "title": "A clinic of invented patients"}
    return json.dumps({**package, "resources": resources}, indent=2) + "\n"


def create_table(name: str, kind: Kind) -> str:
    """Return the SQL that declares a table with its keys."""
    types = {"integer": "INTEGER", "string": "TEXT", "date": "DATE"}
    lines = [
        f"{column} {types[form.rstrip('?')]}{'' if form.endswith('?') else ' NOT NULL'}"
        for column, form in kind.columns.items()
    ]
    if kind.primary:
        lines.append(f"PRIMARY KEY ({', '.join(kind.primary)})")
    for key in kind.keys:
        columns = f" ({', '.join(key.target_columns)})" if key.target_columns else ""
        lines.append(f"FOREIGN KEY ({', '.join(key.columns)}) REFERENCES {key.target}{columns}")
    return f"CREATE TABLE {name} (\n  " + ",\n  ".join(lines) + "\n)"


def write_sqlite(path: Path, tables: Mapping[str, Sequence[Row]]) -> None:
    """Write the tables as a new SQLite file, with all foreign keys enforced."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA foreign_keys = ON")
        for name, kind in KINDS.items():
            file.execute(create_table(name, kind))
            marks = ", ".join("?" * len(kind.columns))
            file.executemany(f"INSERT INTO {name} VALUES ({marks})", tables[name])
        file.commit()
        file.execute("VACUUM")
    print(f"{path}: {path.stat().st_size} bytes")


def hierarchies() -> Mapping[str, Sequence[Sequence[str]]]:
    """Return the rows of each hierarchy file that the clinic adds to the hospital's."""
    return {
        "specialty": [(name, branch, "*") for name, branch in FIELDS.items()],
        "substance": [(name, family, "*") for name, (family, _) in SUBSTANCES.items()],
    }


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    print(f"{path}: {path.stat().st_size} bytes")


def main() -> None:
    """Write the files that the command line asks for."""
    parser = argparse.ArgumentParser(description="Make the sample clinic.")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent, help="where the clinic goes")
    parser.add_argument("--schemas", type=Path, help="folder whose hierarchies/ to write too")
    parser.add_argument("--patients", type=int, default=600)
    parser.add_argument("--seed", type=int, default=11)
    options = parser.parse_args()
    tables = make_clinic(options.patients, options.seed)
    for name, kind in KINDS.items():
        _write(options.out / "clinic" / f"{name}.csv", to_csv(kind, tables[name]))
    _write(options.out / "clinic" / "datapackage.json", data_package())
    write_sqlite(options.out / "clinic.sqlite", tables)
    if options.schemas is not None:
        for name, rows in hierarchies().items():
            text = "".join(";".join(row) + "\n" for row in rows)
            _write(options.schemas / "hierarchies" / f"{name}.csv", text)


if __name__ == "__main__":
    main()
