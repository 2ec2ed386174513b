"""Resources of FHIR R4 of invented persons. How they refer to each other depends on the form: bundle or bulk export."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import timedelta

from health_facts import DRUGS, IMAGING, PANELS, PRESSURE, PROCEDURES, VISIT_KINDS, Illness, Measure
from health_fhir_parts import (
    ATC,
    CORE,
    CVX,
    HOME,
    LOINC,
    SNOMED,
    TERMS,
    Json,
    OfPerson,
    coding,
    concept,
    diagnosis,
    div,
    instant,
    medication,
    moment,
    procedure,
    quantity,
    term,
)
from health_people import Visit


class Resources(OfPerson):
    """All resources of a person."""

    def all(self) -> Iterator[Json]:
        """Yield them: whom and what others refer to first."""
        yield self.patient()
        yield from self.of_house(self.one.gp_house)
        yield from self.of_staff(self.one.gp, self.one.gp_house)
        yield self.relative(self.one.relative)
        yield self.coverage()
        yield self.device()
        for allergy in range(len(self.one.allergies)):
            yield self.allergy(allergy)
        for visit in self.one.visits:
            yield from self.of_house(visit.house)
            yield from self.of_staff(visit.staff, visit.house)
            yield from self.of_visit(visit)
        chronic = {each.icd10: each for visit in self.one.visits for each in visit.found if each.chronic}
        for illness in chronic.values():
            yield from self.plan(illness)
        yield self.provenance()

    def of_visit(self, visit: Visit) -> Iterator[Json]:
        """Yield everything of a visit."""
        yield self.encounter(visit)
        for number, illness in enumerate(visit.found):
            yield self.condition(visit, number, illness)
        for illness in visit.found or [visit.reason]:
            for name in illness.procedures:
                yield self.procedure(visit, illness, name)
                if name in IMAGING:
                    yield self.imaging(visit, illness, name)
            for name in illness.drugs:
                yield self.request(visit, illness, name)
        yield from self.observations(visit)
        yield from self.panels(visit)
        if visit.vaccine:
            yield self.immunization(visit)
        yield self.note(visit)
        yield self.claim(visit)
        yield self.benefit(visit)

    def encounter(self, visit: Visit) -> Json:
        """Return a visit itself."""
        code, name = VISIT_KINDS[visit.kind]
        period = {"start": moment(visit.start), "end": moment(visit.end)}
        made = {
            **self.base("Encounter", visit.number), "meta": {"lastUpdated": instant(visit.end)},
            "identifier": [{"use": "official", "system": HOME, "value": self.one.id("Encounter", visit.number)}],
            "status": "finished", "class": {"system": f"{TERMS}/v3-ActCode", "code": visit.kind},
            "type": [concept(coding(SNOMED, code, name))], "subject": self.subject,
            "participant": [{"type": [term("v3-ParticipationType", "PPRF")], "period": period,
                             "individual": self.doctor(visit.staff)}],
            "period": period, "reasonCode": [diagnosis(visit.reason)],
            "location": [{"location": {"reference": self.refer("Location", visit.house.place),
                                       "display": visit.house.name}}],
            "serviceProvider": self.house(visit.house),
        }  # fmt: skip
        home = concept(coding(f"{TERMS}/discharge-disposition", "home", "Home"))
        return {**made, "hospitalization": {"dischargeDisposition": home}} if visit.kind == "IMP" else made

    def condition(self, visit: Visit, number: int, illness: Illness) -> Json:
        """Return a diagnosis of a visit."""
        made = {
            **self.base("Condition", visit.number, number),
            "clinicalStatus": term("condition-clinical", "active" if illness.chronic else "resolved"),
            "verificationStatus": term("condition-ver-status", "confirmed"),
            "category": [term("condition-category", "encounter-diagnosis")], "code": diagnosis(illness),
            "subject": self.subject, "encounter": self.to("Encounter", visit.number),
            # who comes with a chronic illness knows a year
            "onsetDateTime": f"{visit.start.year - 1}" if illness.chronic else moment(visit.start),
            "recordedDate": moment(visit.start), "note": [{"text": visit.story}],
        }  # fmt: skip
        over = moment(visit.start + timedelta(days=14))
        return made if illness.chronic else {**made, "abatementDateTime": over}

    def procedure(self, visit: Visit, illness: Illness, name: str) -> Json:
        """Return what was done."""
        return {
            **self.base("Procedure", visit.number, name), "status": "completed", "code": procedure(name),
            "subject": self.subject, "encounter": self.to("Encounter", visit.number),
            "performedPeriod": {"start": moment(visit.start), "end": moment(visit.end)},
            "performer": [{"actor": self.doctor(visit.staff)}], "reasonCode": [diagnosis(illness)],
            "location": {"reference": self.refer("Location", visit.house.place), "display": visit.house.name},
        }  # fmt: skip

    def imaging(self, visit: Visit, illness: Illness, name: str) -> Json:
        """Return the study of an image."""
        uid = self.one.secrets.add("id", f"1.2.840.99999999.{int(self.one.id(visit.number, name)[:8], 16)}")
        kind = coding("http://dicom.nema.org/resources/ontology/DCM", IMAGING[name], IMAGING[name])
        return {
            **self.base("ImagingStudy", visit.number, name), "status": "available", "subject": self.subject,
            "identifier": [{"system": "urn:dicom:uid", "value": f"urn:oid:{uid}"}],
            "encounter": self.to("Encounter", visit.number), "started": moment(visit.start), "numberOfSeries": 1,
            "numberOfInstances": 1, "procedureCode": [procedure(name)], "reasonCode": [diagnosis(illness)],
            "series": [{"uid": f"{uid}.1", "number": 1, "modality": kind}],
        }  # fmt: skip

    def request(self, visit: Visit, illness: Illness, name: str) -> Json:
        """Return a prescription."""
        drug = DRUGS[name]
        return {
            **self.base("MedicationRequest", visit.number, illness.icd10, name),
            "status": "active" if illness.chronic else "stopped", "intent": "order",
            "medicationCodeableConcept": medication(drug), "subject": self.subject,
            "encounter": self.to("Encounter", visit.number), "authoredOn": moment(visit.start),
            "requester": self.doctor(visit.staff), "reasonCode": [diagnosis(illness)],
            "dosageInstruction": [{
                "sequence": 1, "asNeededBoolean": not illness.chronic,
                "timing": {"repeat": {"frequency": 1 + len(name) % 3, "period": 1, "periodUnit": "d"}},
                "doseAndRate": [{"doseQuantity": {"value": 1, "unit": drug.unit}}],
            }],
        }  # fmt: skip

    def observation(self, visit: Visit, key: str, group: str, code: Json) -> Json:
        """Return the beginning of an observation."""
        return {
            **self.base("Observation", visit.number, key), "status": "final",
            "category": [term("observation-category", group)], "code": code, "subject": self.subject,
            "encounter": self.to("Encounter", visit.number), "effectiveDateTime": moment(visit.start),
            "issued": instant(visit.end),
        }  # fmt: skip

    def observations(self, visit: Visit) -> Iterator[Json]:
        """Yield vital signs, and smoking once."""
        for measure, value in visit.vitals:
            code = concept(coding(LOINC, measure.loinc, measure.name))
            seen = self.observation(visit, measure.loinc, "vital-signs", code)
            yield {**seen, "valueQuantity": quantity(measure, value)}
        parts = [
            {"code": concept(coding(LOINC, measure.loinc, measure.name)), "valueQuantity": quantity(measure, value)}
            for measure, value in zip(PRESSURE, visit.pressure, strict=True)
        ]
        seen = self.observation(
            visit, "85354-9", "vital-signs", concept(coding(LOINC, "85354-9", "Blood pressure panel"))
        )
        yield {**seen, "component": parts}
        if visit.number == 0:
            code = concept(coding(LOINC, "72166-2", "Tobacco smoking status"))
            smokes = self.observation(visit, "72166-2", "social-history", code)
            yield {**smokes, "valueCodeableConcept": concept(coding(SNOMED, *self.one.smoking))}

    def panels(self, visit: Visit) -> Iterator[Json]:
        """Yield the values of laboratory panels, each followed by its report."""
        for name, (number, title, values) in _panels(visit):
            found = []
            for measure, value in values:
                code = concept(coding(LOINC, measure.loinc, measure.name))
                seen = self.observation(visit, f"{name}/{measure.loinc}", "laboratory", code)
                yield {**seen, "valueQuantity": quantity(measure, value)}
                key = (visit.number, f"{name}/{measure.loinc}")
                found.append(self.to("Observation", *key, name=measure.name))
            yield {
                **self.base("DiagnosticReport", visit.number, name), "status": "final",
                "category": [concept(coding(f"{TERMS}/v2-0074", "LAB", "Laboratory"))],
                "code": concept(coding(LOINC, number, title)), "subject": self.subject,
                "encounter": self.to("Encounter", visit.number), "effectiveDateTime": moment(visit.start),
                "issued": instant(visit.end), "performer": [self.house(visit.house)], "result": found,
            }  # fmt: skip

    def immunization(self, visit: Visit) -> Json:
        """Return a vaccination."""
        assert visit.vaccine is not None
        code, name, atc = visit.vaccine
        return {
            **self.base("Immunization", visit.number), "status": "completed",
            "vaccineCode": concept(coding(CVX, code, name), coding(ATC, atc, name)), "patient": self.subject,
            "encounter": self.to("Encounter", visit.number), "occurrenceDateTime": moment(visit.start),
            "primarySource": True, "location": {"reference": self.refer("Location", visit.house.place)},
            "lotNumber": self.one.secrets.add("id", f"LOT{self.one.id('lot', visit.number)[:8]}"),
        }  # fmt: skip

    def note(self, visit: Visit) -> Json:
        """Return a note, whose text is encoded."""
        held = base64.b64encode(f"# Visit\n{visit.story}\n".encode()).decode()
        self.one.secrets.add("encoded", held)
        return {
            **self.base("DocumentReference", visit.number), "status": "current",
            "type": concept(coding(LOINC, "34117-2", "History and physical note")),
            "category": [concept(coding(f"{CORE}/us-core-documentreference-category", "clinical-note", "Note"))],
            "subject": self.subject, "date": instant(visit.end), "author": [self.doctor(visit.staff)],
            "custodian": self.house(visit.house),
            "content": [{"attachment": {"contentType": "text/plain", "data": held}}],
            "context": {"encounter": [self.to("Encounter", visit.number)],
                        "period": {"start": moment(visit.start), "end": moment(visit.end)}},
        }  # fmt: skip

    def claim(self, visit: Visit) -> Json:
        """Return the claim for a visit."""
        items = [(VISIT_KINDS[visit.kind], 129.16), *((PROCEDURES[each], 240.5) for each in visit.reason.procedures)]
        return {
            **self.base("Claim", visit.number), "status": "active", "type": term("claim-type", "professional"),
            "use": "claim", "patient": self.subject, "created": moment(visit.end),
            "billablePeriod": {"start": moment(visit.start), "end": moment(visit.end)},
            "provider": self.house(visit.house), "priority": term("processpriority", "normal"),
            "insurance": [{"sequence": 1, "focal": True, "coverage": self.to("Coverage", name=self.one.insurer)}],
            "diagnosis": [
                {"sequence": number + 1, "diagnosisReference": self.to("Condition", visit.number, number)}
                for number in range(len(visit.found))
            ],
            "item": [
                {"sequence": number, "productOrService": concept(coding(SNOMED, *what)),
                 "encounter": [self.to("Encounter", visit.number)], "net": {"value": price, "currency": "USD"}}
                for number, (what, price) in enumerate(items, 1)
            ],
            "total": {"value": sum(price for _, price in items), "currency": "USD"},
        }  # fmt: skip

    def benefit(self, visit: Visit) -> Json:
        """Return what the insurance paid for a visit."""
        claim = self.claim(visit)
        for key in ("priority", "diagnosis"):
            del claim[key]
        for item in claim["item"]:
            item["category"] = concept(coding(f"{TERMS}/ex-benefitcategory", "1", "Medical care"))
            share = {"category": term("adjudication", "benefit"), "amount": {"value": 96.4, "currency": "USD"}}
            item["adjudication"] = [share]
        total = [{"category": term("adjudication", "submitted"), "amount": claim.pop("total")}]
        covered = [{"focal": True, "coverage": self.to("Coverage", name=self.one.insurer)}]
        return {
            **claim, **self.base("ExplanationOfBenefit", visit.number), "outcome": "complete",
            "claim": self.to("Claim", visit.number), "insurer": {"display": self.one.insurer}, "insurance": covered,
            "identifier": [{"system": HOME, "value": self.one.id("eob", visit.number)}], "total": total,
            "payment": {"amount": {"value": 96.4, "currency": "USD"}},
        }  # fmt: skip

    def plan(self, illness: Illness) -> Iterator[Json]:
        """Yield team, goal and plan of care for a chronic illness."""
        one = self.one
        first = next(visit for visit in one.visits if illness in visit.found)
        role = concept(coding(SNOMED, "453231000124104", "Primary care provider"))
        team = [{"member": self.subject}, {"role": [role], "member": self.doctor(first.staff)}]
        start = {"start": moment(first.start)}
        exercise = concept(coding(SNOMED, "229065009", "Exercise"))
        yield {**self.base("CareTeam", illness.icd10), "status": "active", "subject": self.subject, "period": start,
               "participant": team}  # fmt: skip
        yield {
            **self.base("Goal", illness.icd10), "lifecycleStatus": "active", "subject": self.subject,
            "description": concept(coding(SNOMED, "390906007", "Follow-up")), "startDate": f"{first.start:%Y-%m-%d}",
            "addresses": [self.to("Condition", first.number, first.found.index(illness))],
        }  # fmt: skip
        yield {
            **self.base("CarePlan", illness.icd10), "status": "active", "intent": "order", "subject": self.subject,
            "text": {"status": "generated", "div": div(one.secrets.add("narrative", f"Plan of {one.name}."))},
            "category": [concept(coding(SNOMED, "734163000", "Care plan"))], "period": start,
            "encounter": self.to("Encounter", first.number), "careTeam": [self.to("CareTeam", illness.icd10)],
            "addresses": [self.to("Condition", first.number, first.found.index(illness))],
            "goal": [self.to("Goal", illness.icd10)],
            "activity": [{"detail": {"status": "in-progress", "code": exercise}}],
        }  # fmt: skip

    def provenance(self) -> Json:
        """Return where the records are from."""
        one = self.one
        author = term("provenance-participant-type", "author")
        return {
            **self.base("Provenance"), "target": [self.subject], "recorded": instant(one.visits[-1].end),
            "agent": [{"type": author, "who": self.doctor(one.visits[-1].staff)}],
        }  # fmt: skip


def _panels(visit: Visit) -> Iterator[tuple[str, tuple[str, str, list[tuple[Measure, float]]]]]:
    for name, values in visit.panels:
        number, title, _ = PANELS[name]
        yield name, (number, title, values)
