"""Parts of resources of FHIR R4, and the resources of a person that belong to no visit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, datetime
from typing import Any

from health_facts import PROCEDURES, REACTIONS, Drug, Illness, Measure
from health_people import Address, House, Person, Relative, Staff

Json = dict[str, Any]
Refer = Callable[[str, str], str]

SNOMED = "http://snomed.info/sct"
ICD10 = "http://hl7.org/fhir/sid/icd-10-cm"
LOINC = "http://loinc.org"
RXNORM = "http://www.nlm.nih.gov/research/umls/rxnorm"
ATC = "http://www.whocc.no/atc"
CVX = "http://hl7.org/fhir/sid/cvx"
NPI = "http://hl7.org/fhir/sid/us-npi"
SSN = "http://hl7.org/fhir/sid/us-ssn"
TERMS = "http://terminology.hl7.org/CodeSystem"
CORE = "http://hl7.org/fhir/us/core/StructureDefinition"
HOME = "http://records.brelmouth.example"


def coding(system: str, code: str, name: str) -> Json:
    """Return a code with its system and its name."""
    return {"system": system, "code": code, "display": name}


def concept(*codings: Json, text: str | None = None) -> Json:
    """Return a CodeableConcept; its text is the name of the first code."""
    return {"coding": list(codings), "text": text or codings[0]["display"]}


def term(system: str, code: str) -> Json:
    """Return a code of one of HL7's small code systems, which needs no name."""
    return {"coding": [{"system": f"{TERMS}/{system}", "code": code}]}


def moment(when: datetime) -> str:
    """Return a dateTime with its zone."""
    return f"{when.isoformat()}-05:00"


def instant(when: datetime) -> str:
    """Return an instant, which has thousandths of a second."""
    return f"{when.isoformat()}.417-05:00"


def diagnosis(one: Illness) -> Json:
    """Return a diagnosis by two code systems, as most hospitals export it."""
    return concept(coding(SNOMED, one.snomed, one.name), coding(ICD10, one.icd10, one.name))


def medication(one: Drug) -> Json:
    """Return a drug by two code systems."""
    return concept(coding(RXNORM, one.rxnorm, one.name), coding(ATC, one.atc, one.name))


def procedure(name: str) -> Json:
    """Return a procedure by its code."""
    return concept(coding(SNOMED, *PROCEDURES[name]))


def quantity(measure: Measure, value: float) -> Json:
    """Return a measured value with its unit."""
    return {"value": value, "unit": measure.unit, "system": "http://unitsofmeasure.org", "code": measure.unit}


def div(text: str) -> str:
    """Return a narrative."""
    return f'<div xmlns="http://www.w3.org/1999/xhtml"><p>{text}</p></div>'


def address_of(one: Address, *, use: str | None = "home") -> Json:
    """Return an address, with a point on the map as Synthea has it."""
    made: Json = {"use": use} if use else {}
    return {
        **made, "line": [one.street], "city": one.town, "state": one.state, "postalCode": one.zip, "country": "US",
    }  # fmt: skip


def telecom(phone: str, mail: str | None = None) -> list[Json]:
    """Return the ways to reach somebody."""
    found = [{"system": "phone", "value": phone, "use": "home"}]
    return [*found, {"system": "email", "value": mail}] if mail else found


class OfPerson:
    """Resources of a person; `refer` says how a resource of a kind and id is referred to."""

    def __init__(self, one: Person, refer: Refer) -> None:
        self.one = one
        self.refer = refer
        self.subject = {"reference": refer("Patient", one.id("Patient")), "display": one.name}
        self._told: set[str] = set()

    def to(self, kind: str, *parts: object, name: str | None = None) -> Json:
        """Return a reference to a resource of this person."""
        made: Json = {"reference": self.refer(kind, self.one.id(kind, *parts))}
        return {**made, "display": name} if name else made

    def base(self, kind: str, *parts: object) -> Json:
        """Return the beginning of a resource of this person."""
        return {"resourceType": kind, "id": self.one.id(kind, *parts)}

    def doctor(self, one: Staff) -> Json:
        """Return a reference to one of the staff."""
        return {"reference": self.refer("Practitioner", one.id), "display": one.name}

    def house(self, one: House) -> Json:
        """Return a reference to a hospital or practice."""
        return {"reference": self.refer("Organization", one.id), "display": one.name}

    def patient(self) -> Json:
        """Return the person."""
        one = self.one
        home = address_of(one.address)
        point = one.secrets.add("place", f"42.{int(one.id('north')[:8], 16) | 1:012d}")
        home["extension"] = [{"url": "http://hl7.org/fhir/StructureDefinition/geolocation",
                              "extension": [{"url": "latitude", "valueDecimal": float(point)}]}]  # fmt: skip
        told = one.secrets.add("narrative", f"{one.name} has been with us since the flood of the old harbor.")
        made = {
            **self.base("Patient"),
            "meta": {"profile": [f"{CORE}/us-core-patient"]},
            "text": {"status": "generated", "div": div(told)},
            "extension": [
                self.us_core("race", one.race),
                self.us_core("ethnicity", one.ethnicity),
                {"url": f"{CORE}/us-core-birthsex", "valueCode": one.sex},
                {"url": "http://hl7.org/fhir/StructureDefinition/patient-mothersMaidenName", "valueString": one.maiden},
            ],
            "identifier": [
                self.identifier("MR", HOME, one.mrn), self.identifier("SS", SSN, one.ssn),
                self.identifier("DL", "urn:oid:2.16.840.1.113883.4.3.25", one.license),
                self.identifier("PPN", f"{HOME}/passport", one.passport),
            ],
            "active": True,
            "name": [{"use": "official", "family": one.family, "given": [one.given, one.middle],
                      "prefix": ["Ms." if one.sex == "F" else "Mr."]}],
            "telecom": telecom(one.address.phone, one.address.mail),
            "gender": "female" if one.sex == "F" else "male",
            "birthDate": one.born.isoformat(),
            "address": [home],
            "maritalStatus": concept(coding(f"{TERMS}/v3-MaritalStatus", *one.marital)),
            "multipleBirthBoolean": False,
            "contact": [{"relationship": [term("v2-0131", "N")], "name": {"text": one.relative.name},
                         "telecom": telecom(one.relative.phone)}],
            "communication": [{"language": concept(coding("urn:ietf:bcp:47", *one.language))}],
            "generalPractitioner": [self.doctor(one.gp)],
        }  # fmt: skip
        return {**made, "deceasedDateTime": moment(_noon(one.died))} if one.died else made

    def us_core(self, what: str, value: tuple[str, str]) -> Json:
        """Return an extension of US Core."""
        held = [{"url": "ombCategory", "valueCoding": coding("urn:oid:2.16.840.1.113883.6.238", *value)}]
        return {"url": f"{CORE}/us-core-{what}", "extension": [*held, {"url": "text", "valueString": value[1]}]}

    def identifier(self, kind: str, system: str, value: str) -> Json:
        """Return an identifier of a kind."""
        return {"type": term("v2-0203", kind), "system": system, "value": value}

    def relative(self, kin: Relative) -> Json:
        """Return a relative."""
        kind = coding(f"{TERMS}/v3-RoleCode", *kin.relation)
        return {
            "resourceType": "RelatedPerson", "id": kin.id, "active": True, "patient": self.subject,
            "relationship": [concept(kind)], "name": [{"family": kin.family, "given": [kin.given]}],
            "telecom": telecom(kin.phone),
        }  # fmt: skip

    def coverage(self) -> Json:
        """Return the insurance."""
        return {
            **self.base("Coverage"), "status": "active", "subscriberId": self.one.member, "beneficiary": self.subject,
            "payor": [{"display": self.one.insurer}], "relationship": term("subscriber-relationship", "self"),
        }  # fmt: skip

    def device(self) -> Json:
        """Return a device with its number."""
        one = self.one
        carrier = one.secrets.add("udi", f"(01){one.device}(21){one.member}")
        return {
            **self.base("Device"), "status": "active", "serialNumber": one.device, "patient": self.subject,
            "udiCarrier": [{"deviceIdentifier": one.device, "carrierHRF": carrier}],
            "type": concept(coding(SNOMED, "337414009", "Blood glucose meter")),
        }  # fmt: skip

    def allergy(self, number: int) -> Json:
        """Return an allergy."""
        (code, name, kind), since = self.one.allergies[number]
        return {
            **self.base("AllergyIntolerance", number), "clinicalStatus": term("allergyintolerance-clinical", "active"),
            "verificationStatus": term("allergyintolerance-verification", "confirmed"), "type": "allergy",
            "category": [kind], "criticality": "low" if number else "high", "patient": self.subject,
            "code": concept(coding(SNOMED, code, name)), "recordedDate": f"{since:%Y-%m}",
            "reaction": [{"manifestation": [concept(coding(SNOMED, *REACTIONS[number % 3]))], "severity": "mild"}],
        }  # fmt: skip

    def of_house(self, house: House) -> Iterator[Json]:
        """Yield a hospital or practice and its place, once."""
        if house.id in self._told:
            return
        self._told.add(house.id)
        where = address_of(house.address, use=None)
        yield {
            "resourceType": "Organization", "id": house.id, "active": True, "name": house.name,
            "identifier": [{"system": NPI, "value": house.npi}], "type": [term("organization-type", house.kind)],
            "telecom": telecom(house.address.phone), "address": [where],
        }  # fmt: skip
        yield {
            "resourceType": "Location", "id": house.place, "status": "active", "name": house.name,
            "telecom": telecom(house.address.phone), "address": where, "managingOrganization": self.house(house),
        }  # fmt: skip

    def of_staff(self, one: Staff, house: House) -> Iterator[Json]:
        """Yield somebody of the staff and the role, once."""
        if one.id in self._told:
            return
        self._told.add(one.id)
        yield {
            "resourceType": "Practitioner", "id": one.id, "active": True,
            "identifier": [{"system": NPI, "value": one.npi}],
            "name": [{"family": one.family, "given": [one.given], "prefix": ["Dr."]}],
            "telecom": [{"system": "email", "value": one.mail, "use": "work"}],
        }  # fmt: skip
        yield {
            "resourceType": "PractitionerRole", "id": one.role, "active": True, "practitioner": self.doctor(one),
            "organization": self.house(house),
            "specialty": [concept(coding("http://nucc.org/provider-taxonomy", *one.specialty))],
        }  # fmt: skip


def _noon(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, 12)
