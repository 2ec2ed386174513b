"""Makes the sample hospital: invented patients as XML and as NDJSON, and the hierarchies of their values.

The same seed gives the same bytes on every machine: all chance comes from `random.Random.random`, whose
sequence Python promises to keep, and everything after it is integer arithmetic.

    python samples/make_hospital.py --schemas schemas
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import NamedTuple, TypeVar
from xml.sax.saxutils import escape, quoteattr

T = TypeVar("T")


class Hospital(NamedTuple):
    """A place of treatment: what it is, how many come, where it stands, and whom it admits."""

    name: str
    kind: str
    weight: int
    area: str
    admits: str = "all"


class Diagnosis(NamedTuple):
    """A disease: how often, at which ages (bands of `AGE_BANDS`), in which sex, and what is done about it."""

    name: str
    system: str
    weight: int
    ages: tuple[int, int, int, int, int]
    female: int
    male: int
    treatments: tuple[str, ...]


class Finding(NamedTuple):
    """One diagnosis of a visit and its treatments."""

    diagnosis: str
    treatments: tuple[str, ...]


class Visit(NamedTuple):
    """One visit to one hospital."""

    hospital: str
    day: date
    note: str
    findings: tuple[Finding, ...]


class Patient(NamedTuple):
    """One person."""

    record: int
    ssn: str
    name: str
    age: int
    sex: str
    zip: str
    visits: tuple[Visit, ...]


FIRST_DAY = date(2023, 1, 1)
DAYS = 731
AGE_BANDS = (18, 40, 60, 80, 200)

# (first age, years, weight)
AGES = ((0, 10, 9), (10, 10, 8), (20, 10, 12), (30, 10, 14), (40, 10, 14), (50, 10, 14), (60, 10, 13),
        (70, 10, 10), (80, 10, 5), (90, 8, 1))  # fmt: skip

# area (first three digits) -> weight, and the last two digits of its codes from the commonest to the rarest
AREAS = {
    "541": (40, ("01", "04", "10", "15", "22", "37", "53")),
    "548": (22, ("02", "06", "17", "40", "68")),
    "553": (18, ("03", "11", "29", "46")),
    "601": (14, ("05", "12", "33", "71")),
    "612": (6, ("08", "19", "94")),
}

HOSPITAL_KINDS = {
    "General hospital": "Full-service hospital",
    "Teaching hospital": "Full-service hospital",
    "Heart and lung center": "Specialist hospital",
    "Bone and nerve center": "Specialist hospital",
    "Family center": "Specialist hospital",
    "Cancer center": "Specialist hospital",
}

HOSPITALS = (
    Hospital("Lakeview General", "General hospital", 34, "541"),
    Hospital("Maple Grove Community", "General hospital", 24, "548"),
    Hospital("Saint Anne Memorial", "General hospital", 20, "553"),
    Hospital("Prairie County", "General hospital", 16, "601"),
    Hospital("Harlow University Hospital", "Teaching hospital", 22, "541"),
    Hospital("Fairmont Medical College", "Teaching hospital", 10, "601"),
    Hospital("Northgate Heart Institute", "Heart and lung center", 14, "541"),
    Hospital("Pinecrest Chest Clinic", "Heart and lung center", 6, "548"),
    Hospital("Summit Orthopedics", "Bone and nerve center", 12, "541"),
    Hospital("Willowbrook Neurology", "Bone and nerve center", 5, "553"),
    Hospital("Bright Harbor Children's", "Family center", 30, "541", "children"),
    Hospital("Grace Women's Hospital", "Family center", 10, "548", "women"),
    Hospital("Haven Oncology", "Cancer center", 5, "541"),
    Hospital("Stonebridge Tumor Clinic", "Cancer center", 2, "612"),
)

# what a specialist is visited for; a kind that is not here treats everything alike
SPECIALTIES = {
    "Heart and lung center": ("Circulatory disease", "Respiratory disease"),
    "Bone and nerve center": ("Musculoskeletal disease", "Nervous system disease"),
    "Cancer center": ("Tumor",),
}

SYSTEMS = {
    "Respiratory disease": "Heart and lung disorder",
    "Circulatory disease": "Heart and lung disorder",
    "Endocrine disease": "Metabolic or digestive disorder",
    "Digestive disease": "Metabolic or digestive disorder",
    "Musculoskeletal disease": "Movement or nerve disorder",
    "Nervous system disease": "Movement or nerve disorder",
    "Mental illness": "Mind or sense disorder",
    "Eye or ear disease": "Mind or sense disorder",
    "Urogenital disease": "Tissue or urogenital disorder",
    "Skin disease": "Tissue or urogenital disorder",
    "Tumor": "Tissue or urogenital disorder",
}

# how likely a disease is in each of the AGE_BANDS
YOUTH = (9, 2, 1, 1, 1)
ADULT = (1, 6, 6, 3, 2)
MIDDLE = (0, 2, 6, 6, 4)
LATE = (0, 0, 2, 7, 8)
ANY = (3, 4, 4, 4, 4)

DIAGNOSES = (
    Diagnosis("Asthma", "Respiratory disease", 44, YOUTH, 2, 2,
              ("Inhaler", "Steroid", "Breathing Exercises")),
    Diagnosis("Bronchitis", "Respiratory disease", 30, ANY, 2, 2, ("Antibiotic", "Inhaler")),
    Diagnosis("Influenza", "Respiratory disease", 34, ANY, 2, 2, ("Painkiller",)),
    Diagnosis("Pneumonia", "Respiratory disease", 14, LATE, 2, 2, ("Antibiotic", "Breathing Exercises")),
    Diagnosis("COPD", "Respiratory disease", 16, LATE, 2, 3, ("Inhaler", "Steroid", "Breathing Exercises")),
    Diagnosis("Sarcoidosis", "Respiratory disease", 1, ADULT, 3, 2, ("Steroid",)),
    Diagnosis("Hypertension", "Circulatory disease", 60, MIDDLE, 2, 2, ("Beta Blocker", "Diet Plan")),
    Diagnosis("Coronary Artery Disease", "Circulatory disease", 20, LATE, 1, 3,
              ("Statin", "Beta Blocker", "Bypass Surgery")),
    Diagnosis("Atrial Fibrillation", "Circulatory disease", 14, LATE, 2, 2,
              ("Blood Thinner", "Beta Blocker")),
    Diagnosis("Heart Failure", "Circulatory disease", 10, LATE, 2, 2, ("Beta Blocker", "Bypass Surgery")),
    Diagnosis("Stroke", "Circulatory disease", 6, LATE, 2, 2, ("Blood Thinner", "Physical Therapy")),
    Diagnosis("Type 2 Diabetes", "Endocrine disease", 36, MIDDLE, 2, 2, ("Diet Plan", "Insulin")),
    Diagnosis("High Cholesterol", "Endocrine disease", 32, MIDDLE, 2, 2, ("Statin", "Diet Plan")),
    Diagnosis("Hypothyroidism", "Endocrine disease", 18, ADULT, 5, 1, ("Thyroid Hormone",)),
    Diagnosis("Type 1 Diabetes", "Endocrine disease", 5, YOUTH, 2, 2, ("Insulin", "Diet Plan")),
    Diagnosis("Addison Disease", "Endocrine disease", 1, ADULT, 2, 1, ("Steroid",)),
    Diagnosis("Acid Reflux", "Digestive disease", 28, ADULT, 2, 2, ("Antacid", "Diet Plan")),
    Diagnosis("Gastritis", "Digestive disease", 22, ADULT, 2, 2, ("Antacid", "Antibiotic")),
    Diagnosis("Gallstones", "Digestive disease", 10, MIDDLE, 3, 1, ("Gallbladder Removal", "Painkiller")),
    Diagnosis("Appendicitis", "Digestive disease", 9, YOUTH, 2, 2, ("Appendectomy", "Antibiotic")),
    Diagnosis("Crohn Disease", "Digestive disease", 2, ADULT, 2, 2, ("Steroid", "Diet Plan")),
    Diagnosis("Back Pain", "Musculoskeletal disease", 40, ADULT, 2, 2, ("Physical Therapy", "Painkiller")),
    Diagnosis("Osteoarthritis", "Musculoskeletal disease", 24, LATE, 3, 2,
              ("Painkiller", "Physical Therapy", "Joint Replacement")),
    Diagnosis("Wrist Fracture", "Musculoskeletal disease", 20, YOUTH, 1, 2,
              ("Fracture Fixation", "Painkiller")),
    Diagnosis("Rheumatoid Arthritis", "Musculoskeletal disease", 6, MIDDLE, 3, 1,
              ("Steroid", "Physical Therapy")),
    Diagnosis("Gout", "Musculoskeletal disease", 5, MIDDLE, 1, 4, ("Painkiller", "Diet Plan")),
    Diagnosis("Migraine", "Nervous system disease", 26, ADULT, 3, 1, ("Painkiller", "Beta Blocker")),
    Diagnosis("Epilepsy", "Nervous system disease", 6, YOUTH, 2, 2, ("Anticonvulsant",)),
    Diagnosis("Parkinson Disease", "Nervous system disease", 4, LATE, 2, 3, ("Physical Therapy",)),
    Diagnosis("Multiple Sclerosis", "Nervous system disease", 2, ADULT, 3, 1,
              ("Steroid", "Physical Therapy")),
    Diagnosis("Depression", "Mental illness", 28, ADULT, 3, 2, ("Psychotherapy", "Antidepressant")),
    Diagnosis("Anxiety Disorder", "Mental illness", 24, ANY, 3, 2, ("Psychotherapy", "Antidepressant")),
    Diagnosis("Insomnia", "Mental illness", 12, MIDDLE, 2, 2, ("Psychotherapy",)),
    Diagnosis("Bipolar Disorder", "Mental illness", 3, ADULT, 2, 2, ("Anticonvulsant", "Psychotherapy")),
    Diagnosis("Ear Infection", "Eye or ear disease", 26, YOUTH, 2, 2, ("Antibiotic", "Painkiller")),
    Diagnosis("Cataract", "Eye or ear disease", 16, LATE, 2, 2, ("Cataract Surgery",)),
    Diagnosis("Glaucoma", "Eye or ear disease", 5, LATE, 2, 2, ("Beta Blocker",)),
    Diagnosis("Urinary Tract Infection", "Urogenital disease", 24, ANY, 4, 1, ("Antibiotic",)),
    Diagnosis("Kidney Stones", "Urogenital disease", 9, MIDDLE, 1, 2, ("Painkiller", "Diet Plan")),
    Diagnosis("Enlarged Prostate", "Urogenital disease", 14, LATE, 0, 4, ("Prostate Surgery",)),
    Diagnosis("Endometriosis", "Urogenital disease", 5, (0, 6, 4, 0, 0), 4, 0, ("Painkiller",)),
    Diagnosis("Eczema", "Skin disease", 22, YOUTH, 2, 2, ("Steroid",)),
    Diagnosis("Psoriasis", "Skin disease", 8, ADULT, 2, 2, ("Steroid",)),
    Diagnosis("Breast Cancer", "Tumor", 7, MIDDLE, 4, 0, ("Tumor Removal", "Chemotherapy", "Radiation")),
    Diagnosis("Prostate Cancer", "Tumor", 7, LATE, 0, 4, ("Radiation", "Prostate Surgery")),
    Diagnosis("Colon Cancer", "Tumor", 4, LATE, 2, 2, ("Tumor Removal", "Chemotherapy")),
    Diagnosis("Leukemia", "Tumor", 1, ANY, 2, 2, ("Chemotherapy",)),
)  # fmt: skip

# treatment -> (group, broad group)
TREATMENTS = {
    "Antibiotic": ("Short-term drug", "Medicine"),
    "Painkiller": ("Short-term drug", "Medicine"),
    "Antacid": ("Short-term drug", "Medicine"),
    "Inhaler": ("Hormone or airway drug", "Medicine"),
    "Steroid": ("Hormone or airway drug", "Medicine"),
    "Insulin": ("Hormone or airway drug", "Medicine"),
    "Thyroid Hormone": ("Hormone or airway drug", "Medicine"),
    "Beta Blocker": ("Heart drug", "Medicine"),
    "Statin": ("Heart drug", "Medicine"),
    "Blood Thinner": ("Heart drug", "Medicine"),
    "Antidepressant": ("Brain drug", "Medicine"),
    "Anticonvulsant": ("Brain drug", "Medicine"),
    "Appendectomy": ("Soft-tissue surgery", "Surgery"),
    "Gallbladder Removal": ("Soft-tissue surgery", "Surgery"),
    "Prostate Surgery": ("Soft-tissue surgery", "Surgery"),
    "Tumor Removal": ("Soft-tissue surgery", "Surgery"),
    "Bypass Surgery": ("Repair surgery", "Surgery"),
    "Cataract Surgery": ("Repair surgery", "Surgery"),
    "Fracture Fixation": ("Repair surgery", "Surgery"),
    "Joint Replacement": ("Repair surgery", "Surgery"),
    "Physical Therapy": ("Training or lifestyle", "Therapy"),
    "Breathing Exercises": ("Training or lifestyle", "Therapy"),
    "Diet Plan": ("Training or lifestyle", "Therapy"),
    "Psychotherapy": ("Clinical therapy", "Therapy"),
    "Radiation": ("Clinical therapy", "Therapy"),
    "Chemotherapy": ("Clinical therapy", "Therapy"),
}

WOMEN = (
    "Emma", "Olivia", "Ava", "Mary", "Linda", "Susan", "Karen", "Grace", "Hannah", "Chloe", "Nora", "Ruth",
    "Alice", "Julia", "Megan", "Paula", "Diane", "Ellen", "Joan", "Tara", "Wendy", "Brenda", "Carla",
    "Denise", "Faith", "Gloria", "Heidi", "Irene", "Janet", "Kelly", "Laura", "Molly", "Naomi", "Peggy",
    "Rosa", "Sheila", "Teresa", "Vera", "Willa", "Yvonne",
)  # fmt: skip
MEN = (
    "Liam", "Noah", "James", "John", "Robert", "Mark", "Paul", "Henry", "Jack", "Samuel", "Owen", "Peter",
    "Carl", "Frank", "Gary", "Harold", "Ian", "Jerome", "Keith", "Leon", "Martin", "Neil", "Oscar",
    "Philip", "Ralph", "Scott", "Todd", "Victor", "Walter", "Aaron", "Brian", "Craig", "Dennis", "Earl",
    "Floyd", "Glenn", "Howard", "Isaac", "Joel", "Kurt",
)  # fmt: skip
SURNAMES = (
    "Miller", "Johnson", "Walker", "Brooks", "Carter", "Hayes", "Fisher", "Porter", "Nelson", "Bennett",
    "Coleman", "Dawson", "Ellis", "Foster", "Grant", "Hughes", "Ingram", "Jensen", "Keller", "Lawson",
    "Mercer", "Norton", "Osborne", "Pierce", "Quinn", "Ramsey", "Sawyer", "Tanner", "Underwood", "Vaughn",
    "Whitman", "Yates", "Abbott", "Barlow", "Conrad", "Dalton", "Emerson", "Fuller", "Gibbs", "Holloway",
    "Irwin", "Jarvis", "Kirby", "Lowell", "Maddox", "Nash", "Overton", "Prescott", "Rowland", "Sheldon",
    "Thatcher", "Upton", "Vance", "Winslow", "Zimmer",
)  # fmt: skip
NOTES = (
    "Follow-up in six weeks.",
    "Patient was advised to rest.",
    "Seen by the night shift; stable.",
    "{name} asks for a call back.",
    "Results were sent to the family doctor.",
    "Came with a relative of the {surname} family.",
    "No known allergies.",
    "Drove in from {zip}; parking voucher given.",
    "Insurance card was copied.",
    "Next appointment is not yet fixed.",
)


class Dice:
    """Seeded chance that every Python reads alike.

    >>> Dice(1).below(6) == Dice(1).below(6)
    True
    """

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def below(self, bound: int) -> int:
        """Return an integer from 0 to bound - 1."""
        return int(self._random.random() * bound)

    def any(self, things: Sequence[T]) -> T:
        """Return one thing, each as often as the others."""
        return things[self.below(len(things))]

    def pick(self, things: Sequence[T], weights: Sequence[int]) -> T:
        """Return one thing, as often as its weight says."""
        left = self.below(sum(weights))
        for thing, weight in zip(things, weights, strict=True):
            left -= weight
            if left < 0:
                return thing
        raise ValueError("weights must be positive integers")

    def tail(self, things: Sequence[T]) -> T:
        """Return one thing, the first most often and the last hardly ever."""
        return self.pick(things, [1200 // (rank * rank + 2) + 1 for rank in range(len(things))])


def _age_band(age: int) -> int:
    return next(band for band, end in enumerate(AGE_BANDS) if age < end)


def _pick_hospital(dice: Dice, age: int, sex: str, area: str, known: Sequence[str]) -> Hospital:
    def weight(place: Hospital) -> int:
        if (place.admits == "children" and age >= AGE_BANDS[0]) or (place.admits == "women" and sex != "F"):
            return 0
        near = 8 if place.area == area else 1
        return place.weight * near * (12 if place.name in known else 1)

    return dice.pick(HOSPITALS, [weight(place) for place in HOSPITALS])


def _pick_diagnosis(dice: Dice, age: int, sex: str, place: Hospital, known: Iterable[str]) -> Diagnosis:
    specialties = SPECIALTIES.get(place.kind)
    known = set(known)

    def weight(disease: Diagnosis) -> int:
        person = disease.ages[_age_band(age)] * (disease.female if sex == "F" else disease.male)
        fits = 30 if specialties is None or disease.system in specialties else 1
        return disease.weight * person * fits * (10 if disease.name in known else 1)

    return dice.pick(DIAGNOSES, [weight(disease) for disease in DIAGNOSES])


def _treat(dice: Dice, disease: Diagnosis) -> Finding:
    wanted = dice.pick((0, 1, 2), (2, 6, 3))
    left = list(disease.treatments)
    chosen: list[str] = []
    while left and len(chosen) < wanted:
        chosen.append(dice.tail(left))
        left.remove(chosen[-1])
    return Finding(disease.name, tuple(chosen))


def _visits(dice: Dice, name: str, age: int, sex: str, code: str) -> tuple[Visit, ...]:
    count = dice.pick((1, 2, 3, 4), (30, 25, 20, 10) if age >= 60 else (50, 28, 10, 4))
    days = sorted({dice.below(DAYS) for _ in range(count)})
    visits: list[Visit] = []
    places: list[str] = []
    diseases: list[str] = []
    for day in days:
        place = _pick_hospital(dice, age, sex, code[:3], places)
        findings: dict[str, Finding] = {}
        for _ in range(dice.pick((1, 2, 3), (64, 27, 9))):
            disease = _pick_diagnosis(dice, age, sex, place, diseases)
            if disease.name not in findings:
                findings[disease.name] = _treat(dice, disease)
        note = dice.tail(NOTES).format(name=name, surname=name.split()[-1], zip=code)
        visits.append(Visit(place.name, FIRST_DAY + timedelta(days=day), note, tuple(findings.values())))
        places.append(place.name)
        diseases.extend(findings)
    return tuple(visits)


def _fake_ssn(dice: Dice, used: set[str]) -> str:
    """Return a new number from a range that is issued to nobody: 9xx with a middle part below 50."""
    while True:
        ssn = f"9{dice.below(100):02}-{1 + dice.below(49):02}-{1 + dice.below(9999):04}"
        if ssn not in used:
            used.add(ssn)
            return ssn


def make_patients(count: int, seed: int) -> list[Patient]:
    """Return the patients of a seed; the first ones are the same for every count."""
    dice = Dice(seed)
    used: set[str] = set()
    area_weights = [weight for weight, _ in AREAS.values()]
    patients = []
    for number in range(count):
        start, years, _ = dice.pick(AGES, [weight for _, _, weight in AGES])
        age = start + dice.below(years)
        sex = dice.pick("FM", (53, 47))
        area = dice.pick(list(AREAS), area_weights)
        code = area + dice.tail(AREAS[area][1])
        name = f"{dice.any(WOMEN if sex == 'F' else MEN)} {dice.any(SURNAMES)}"
        visits = _visits(dice, name, age, sex, code)
        patients.append(Patient(40001 + 3 * number, _fake_ssn(dice, used), name, age, sex, code, visits))
    return patients


def _xml_visit(visit: Visit) -> str:
    parts = [f"    <visit hospital={quoteattr(visit.hospital)}>"]
    parts.append(f"<date>{visit.day.isoformat()}</date><note>{escape(visit.note)}</note>")
    for disease, treatments in visit.findings:
        inner = "".join(f"<treatment>{escape(treatment)}</treatment>" for treatment in treatments)
        start = f"\n      <diagnosis name={quoteattr(disease)}"
        parts.append(f"{start}>{inner}</diagnosis>" if inner else f"{start}/>")
    parts.append("\n    </visit>")
    return "".join(parts)


def to_xml(patients: Iterable[Patient]) -> str:
    """Return the patients as an XML document."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<patients>"]
    for one in patients:
        lines.append(f'  <patient ssn="{one.ssn}" record="{one.record}"><name>{escape(one.name)}</name>')
        lines.append(f"    <age>{one.age}</age><sex>{one.sex}</sex><zip>{one.zip}</zip>")
        lines.extend(_xml_visit(visit) for visit in one.visits)
        lines.append("  </patient>")
    lines.append("</patients>")
    return "\n".join(lines) + "\n"


def _as_json(one: Patient) -> dict[str, object]:
    visits = [
        {
            "hospital": visit.hospital,
            "date": visit.day.isoformat(),
            "note": visit.note,
            "diagnoses": [{"name": name, "treatments": list(names)} for name, names in visit.findings],
        }
        for visit in one.visits
    ]
    person = {"ssn": one.ssn, "record": one.record, "name": one.name, "age": one.age, "sex": one.sex}
    return {**person, "zip": one.zip, "visits": visits}


def to_ndjson(patients: Iterable[Patient]) -> str:
    """Return the patients as lines of JSON."""
    return "".join(json.dumps(_as_json(one), separators=(",", ":")) + "\n" for one in patients)


def hierarchies() -> Mapping[str, Sequence[Sequence[str]]]:
    """Return the rows of each hierarchy file: every value with its groups, up to `*`."""
    return {
        "hospital": [(place.name, place.kind, HOSPITAL_KINDS[place.kind], "*") for place in HOSPITALS],
        "diagnosis": [(one.name, one.system, SYSTEMS[one.system], "*") for one in DIAGNOSES],
        "treatment": [(name, group, broad, "*") for name, (group, broad) in TREATMENTS.items()],
    }


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    print(f"{path}: {path.stat().st_size} bytes")


def main() -> None:
    """Write the files that the command line asks for."""
    parser = argparse.ArgumentParser(description="Make the sample hospital.")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent, help="where the patients go")
    parser.add_argument("--schemas", type=Path, help="folder whose hierarchies/ to write too")
    parser.add_argument("--patients", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    patients = make_patients(options.patients, options.seed)
    _write(options.out / "patients.xml", to_xml(patients))
    _write(options.out / "patients.ndjson", to_ndjson(patients))
    if options.schemas is not None:
        for name, rows in hierarchies().items():
            text = "".join(";".join(row) + "\n" for row in rows)
            _write(options.schemas / "hierarchies" / f"{name}.csv", text)


if __name__ == "__main__":
    main()
