"""Documents of C-CDA (Continuity of Care Document, release 2.1) of invented persons."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from xml.sax.saxutils import escape, quoteattr

from health_ccda_parts import (
    ACT,
    ACTS,
    ASSERTION,
    ATC,
    CVX,
    HOME,
    LOINC,
    NPI,
    OBSERVATION,
    RXNORM,
    SNOMED,
    SSN,
    code,
    diagnosis,
    period,
    related,
    stamp,
    status,
    template,
    time,
    value,
)
from health_facts import DRUGS, PRESSURE, PROCEDURES, REACTIONS, VISIT_KINDS, Measure
from health_people import TODAY, Address, Person, Staff, Visit


class Document:
    """The document of a person."""

    def __init__(self, one: Person) -> None:
        self.one = one

    def id(self, *parts: object) -> str:
        """Return the id of something of this person."""
        return f'<id root="{self.one.id("ccda", *parts)}"/>'

    def all(self) -> Iterator[str]:
        """Yield the parts of the document."""
        yield '<?xml version="1.0" encoding="UTF-8"?>\n'
        yield (
            '<ClinicalDocument xmlns="urn:hl7-org:v3" xmlns:sdtc="urn:hl7-org:sdtc"'
            ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
        )
        yield from self.header()
        yield "<component><structuredBody>"
        yield self.section("6.1", "48765-2", "Allergies", self.allergies(), "2015-08-01")
        yield self.section("1.1", "10160-0", "Medications", self.medications(), "2014-06-09")
        yield self.section("5.1", "11450-4", "Problems", self.problems(), "2015-08-01")
        yield self.section("7.1", "47519-4", "Procedures", self.procedures(), "2014-06-09")
        yield self.section("22.1", "46240-8", "Encounters", self.encounters(), "2015-08-01")
        yield self.section("3.1", "30954-2", "Results", self.results(), "2015-08-01")
        yield self.section("4.1", "8716-3", "Vital signs", self.vitals(), "2015-08-01")
        yield self.section("2.1", "11369-6", "Immunizations", self.immunizations(), "2015-08-01")
        yield self.section("17", "29762-2", "Social history", self.social(), "2015-08-01")
        yield self.section("20", "11348-0", "History of past illness", [], "2015-08-01")
        yield "</structuredBody></component></ClinicalDocument>\n"

    def header(self) -> Iterator[str]:
        """Yield what stands before the sections."""
        one = self.one
        last, kin = one.visits[-1], one.relative
        yield '<realmCode code="US"/><typeId root="2.16.840.1.113883.1.3" extension="POCD_HD000040"/>'
        yield template("1.1", "2015-08-01") + template("1.2", "2015-08-01")
        yield f'<id root="{HOME}" extension="{one.id("document")}"/>'
        yield code(LOINC, "34133-9", "Summarization of episode note")
        title = one.secrets.add("narrative", f"Summary of {one.name}")
        yield f"<title>{title}</title>{time(last.end)}"
        yield '<confidentialityCode code="N" codeSystem="2.16.840.1.113883.5.25"/><languageCode code="en-US"/>'
        yield f'<setId root={quoteattr(HOME)} extension={quoteattr(one.id("set"))}/><versionNumber value="1"/>'
        yield from self.target()
        yield self.author("author", last)
        house = last.house
        yield (
            "<custodian><assignedCustodian><representedCustodianOrganization>"
            f'<id root="{NPI}" extension="{house.npi}"/><name>{escape(house.name)}</name>'
            f"{self.reach(house.address.phone)}{self.address(house.address, 'WP')}"
            "</representedCustodianOrganization></assignedCustodian></custodian>"
        )
        yield (
            '<participant typeCode="IND"><associatedEntity classCode="NOK">'
            f"{code('2.16.840.1.113883.5.111', *kin.relation)}{self.reach(kin.phone)}<associatedPerson>"
            f"{self.name(kin.given, kin.family)}</associatedPerson></associatedEntity></participant>"
        )
        yield (
            '<documentationOf><serviceEvent classCode="PCPR">'
            + period(one.visits[0].start, last.end)
            + f'<performer typeCode="PRF">{self.staff(one.gp)}</performer></serviceEvent></documentationOf>'
        )

    def target(self) -> Iterator[str]:
        """Yield the person."""
        one = self.one
        yield f'<recordTarget><patientRole><id root="{HOME}.1" extension="{one.mrn}"/>'
        yield f'<id root="{SSN}" extension="{one.ssn}"/>{self.address(one.address, "HP")}'
        yield f'{self.reach(one.address.phone)}<telecom value="mailto:{one.address.mail}"/><patient>'
        yield self.name(one.given, one.family, one.middle)
        sex = "Female" if one.sex == "F" else "Male"
        yield code("2.16.840.1.113883.5.1", one.sex, sex, tag="administrativeGenderCode")
        yield f'<birthTime value="{stamp(one.born)}"/>'
        if one.died:
            yield f'<sdtc:deceasedInd value="true"/><sdtc:deceasedTime value="{stamp(one.died)}"/>'
        yield code("2.16.840.1.113883.5.2", *one.marital, tag="maritalStatusCode")
        yield code("2.16.840.1.113883.6.238", *one.race, tag="raceCode")
        yield code("2.16.840.1.113883.6.238", *one.ethnicity, tag="ethnicGroupCode")
        if (TODAY - one.born).days < 18 * 365:
            yield (
                "<guardian><guardianPerson>"
                + self.name(one.relative.given, one.relative.family)
                + "</guardianPerson></guardian>"
            )
        yield (
            "<birthplace><place><addr>" + f"<city>{one.address.town}</city><state>{one.address.state}</state>"
            "</addr></place></birthplace>"
        )
        yield f'<languageCommunication><languageCode code="{one.language[0]}"/></languageCommunication>'
        yield "</patient></patientRole></recordTarget>"

    def name(self, given: str, family: str, *more: str) -> str:
        """Return a name."""
        inside = "".join(f"<given>{each}</given>" for each in (given, *more))
        return f'<name use="L">{inside}<family>{family}</family></name>'

    def reach(self, phone: str) -> str:
        """Return a phone number."""
        return f'<telecom value="tel:+1-{phone}" use="HP"/>'

    def address(self, one: Address, use: str) -> str:
        """Return an address."""
        return (
            f'<addr use="{use}"><streetAddressLine>{one.street}</streetAddressLine><city>{one.town}</city>'
            f"<state>{one.state}</state><postalCode>{one.zip}</postalCode><country>US</country></addr>"
        )

    def staff(self, one: Staff) -> str:
        """Return somebody of the staff."""
        return (
            f'<assignedEntity><id root="{NPI}" extension="{one.npi}"/>'
            f'{code("2.16.840.1.113883.6.101", *one.specialty)}<telecom value="mailto:{one.mail}"/>'
            f"<assignedPerson>{self.name(one.given, one.family)}</assignedPerson></assignedEntity>"
        )

    def author(self, tag: str, visit: Visit) -> str:
        """Return who wrote the document."""
        one = visit.staff
        return (
            f'<{tag}><time value="{stamp(visit.end)}"/><assignedAuthor><id root="{NPI}" extension="{one.npi}"/>'
            f"{self.address(visit.house.address, 'WP')}{self.reach(visit.house.address.phone)}"
            f"<assignedPerson>{self.name(one.given, one.family)}</assignedPerson></assignedAuthor></{tag}>"
        )

    def section(self, number: str, loinc: str, title: str, entries: Iterable[tuple[str, str]], since: str) -> str:
        """Return a section with a row of its narrative for each entry."""
        found = list(entries)
        if found:
            rows = "".join(
                f'<tr><td ID="{loinc}-{row}">{escape(told)}</td></tr>' for row, (told, _) in enumerate(found)
            )
            text = f"<table><thead><tr><th>{title}</th></tr></thead><tbody>{rows}</tbody></table>"
        else:
            told = [each.story for each in self.one.visits] if loinc == "11348-0" else ["Nothing is known."]
            text = "".join(f"<paragraph>{escape(each)}</paragraph>" for each in told)
        # a section without entries says that it has none, where its template wants some
        none = ' nullFlavor="NI"' if not found and loinc != "11348-0" else ""
        held = "".join(f'<entry typeCode="DRIV">{entry}</entry>' for _, entry in found)
        return (
            f"<component><section{none}>{template(f'2.{number}')}{template(f'2.{number}', since)}"
            f"{code(LOINC, loinc, title)}<title>{title}</title><text>{text}</text>{held}</section></component>"
        )

    def allergies(self) -> Iterator[tuple[str, str]]:
        """Yield allergies, each with a line for people."""
        one = self.one
        for number, ((allergen, name, _), since) in enumerate(one.allergies):
            reaction = (
                f"{OBSERVATION}{template('4.9', '2014-06-09')}"
                f"{self.id('reaction', number)}{ASSERTION}"
                f"{status()}{value(SNOMED, *REACTIONS[number % 3])}</observation>"
            )
            agent = (
                '<participant typeCode="CSM"><participantRole classCode="MANU"><playingEntity classCode="MMAT">'
                f"{code(SNOMED, allergen, name)}</playingEntity></participantRole></participant>"
            )
            seen = (
                f"{OBSERVATION}{template('4.7', '2014-06-09')}{self.id('allergy', number)}"
                f"{ASSERTION}{status()}{period(f'{since:%Y%m}')}"
                f"{value(SNOMED, '419199007', 'Allergy to substance')}{agent}{related('MFST', reaction)}"
                f"</observation>"
            )
            yield name, self.concern("4.30", ("allergies", number), status("active") + period(f"{since:%Y%m}"), seen)

    def concern(self, number: str, key: tuple[object, ...], held: str, seen: str) -> str:
        """Return a concern about what was seen."""
        return (
            f"{ACT}{template(number, '2015-08-01')}{self.id(*key)}"
            f'<code code="CONC" codeSystem="{ACTS}"/>{held}{related("SUBJ", seen)}</act>'
        )

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield diagnoses."""
        for visit in self.one.visits:
            for number, illness in enumerate(visit.found):
                key = ("problem", visit.number, number)
                # who comes with a chronic illness knows a year
                since = period(f"{visit.start.year - 1}") if illness.chronic else period(visit.start, visit.end)
                seen = (
                    f"{OBSERVATION}{template('4.4', '2015-08-01')}{self.id(*key, 'seen')}"
                    f"{code(SNOMED, '64572001', 'Condition', inside=_CONDITION)}{status()}{since}"
                    f"{diagnosis(illness)}</observation>"
                )
                held = status("active" if illness.chronic else "completed")
                held += period(visit.start.date(), None if illness.chronic else visit.end.date())
                yield f"{illness.name}. {visit.story}", self.concern("4.3", key, held, seen)

    def medications(self) -> Iterator[tuple[str, str]]:
        """Yield drugs."""
        for visit in self.one.visits:
            for illness in visit.found:
                for name in illness.drugs:
                    drug = DRUGS[name]
                    over = None if illness.chronic else visit.end.date()
                    taken = period(visit.start.date(), over, more=' xsi:type="IVL_TS"')
                    product = code(
                        RXNORM, drug.rxnorm, drug.name, inside=code(ATC, drug.atc, drug.name, tag="translation")
                    )
                    yield (
                        drug.name,
                        (
                            f'<substanceAdministration classCode="SBADM" moodCode="EVN">'
                            f"{template('4.16', '2014-06-09')}{self.id('drug', visit.number, name)}"
                            f"{status('active' if illness.chronic else 'completed')}{taken}"
                            '<effectiveTime xsi:type="PIVL_TS" institutionSpecified="true" operator="A">'
                            f'<period value="{24 // (1 + len(name) % 3)}" unit="h"/></effectiveTime>'
                            f'<doseQuantity value="1"/>'
                            f'<consumable><manufacturedProduct classCode="MANU">{template("4.23", "2014-06-09")}'
                            f"<manufacturedMaterial>{product}</manufacturedMaterial></manufacturedProduct></consumable>"
                            "</substanceAdministration>"
                        ),
                    )

    def procedures(self) -> Iterator[tuple[str, str]]:
        """Yield what was done."""
        for visit in self.one.visits:
            for illness in visit.found or [visit.reason]:
                for name in illness.procedures:
                    number, title = PROCEDURES[name]
                    yield (
                        title,
                        (
                            f'<procedure classCode="PROC" moodCode="EVN">{template("4.14", "2014-06-09")}'
                            f"{self.id('procedure', visit.number, name)}{code(SNOMED, number, title)}{status()}"
                            f"{period(visit.start, visit.end)}<performer>{self.staff(visit.staff)}</performer>"
                            "</procedure>"
                        ),
                    )

    def encounters(self) -> Iterator[tuple[str, str]]:
        """Yield visits."""
        for visit in self.one.visits:
            number, title = VISIT_KINDS[visit.kind]
            house = visit.house
            where = (
                '<participant typeCode="LOC"><participantRole classCode="SDLOC">'
                + template("4.32")
                + code("2.16.840.1.113883.6.259", "1160-1", "Urgent care center")
                + self.address(house.address, "WP")
                + self.reach(house.address.phone)
                + f'<playingEntity classCode="PLC"><name>{house.name}</name></playingEntity>'
                f"</participantRole></participant>"
            )
            found = "".join(self.encounter_diagnosis(visit, number) for number in range(len(visit.found)))
            kind = code("2.16.840.1.113883.5.4", visit.kind, title, tag="translation")
            yield (
                f"{title}. {visit.story}",
                (
                    f'<encounter classCode="ENC" moodCode="EVN">{template("4.49", "2015-08-01")}'
                    f"{self.id('visit', visit.number)}"
                    f"{code(SNOMED, number, title, inside=kind)}{period(visit.start, visit.end)}"
                    f"<performer>{self.staff(visit.staff)}</performer>{where}{found}</encounter>"
                ),
            )

    def encounter_diagnosis(self, visit: Visit, number: int) -> str:
        """Return a diagnosis of a visit, as it stands in the visit."""
        key = ("found", visit.number, number)
        seen = (
            f"{OBSERVATION}{template('4.4', '2015-08-01')}{self.id(*key, 'seen')}"
            f"{code(SNOMED, '64572001', 'Condition', inside=_CONDITION)}{status()}{period(visit.start)}"
            f"{diagnosis(visit.found[number])}</observation>"
        )
        return related(
            "SUBJ",
            f"{ACT}{template('4.80', '2015-08-01')}{self.id(*key)}"
            f"{code(LOINC, '29308-4', 'Diagnosis')}{related('SUBJ', seen)}</act>",
        )

    def measured(self, number: str, since: str, visit: Visit, key: str, measure: Measure, amount: float) -> str:
        """Return a measured value."""
        return (
            f"<component>{OBSERVATION}{template(number, since)}"
            f"{self.id('seen', visit.number, key, measure.loinc)}{code(LOINC, measure.loinc, measure.name)}"
            f"{status()}"
            f'{time(visit.start)}<value xsi:type="PQ" value="{amount}" unit="{measure.unit}"/>'
            '<interpretationCode code="N" codeSystem="2.16.840.1.113883.5.83"/></observation></component>'
        )

    def results(self) -> Iterator[tuple[str, str]]:
        """Yield laboratory panels."""
        from health_facts import PANELS

        for visit in self.one.visits:
            for name, values in visit.panels:
                number, title, _ = PANELS[name]
                held = "".join(self.measured("4.2", "2015-08-01", visit, name, *each) for each in values)
                yield (
                    title,
                    (
                        f'<organizer classCode="BATTERY" moodCode="EVN">{template("4.1", "2015-08-01")}'
                        f"{self.id('panel', visit.number, name)}{code(LOINC, number, title)}{status()}{held}"
                        "</organizer>"
                    ),
                )

    def vitals(self) -> Iterator[tuple[str, str]]:
        """Yield vital signs."""
        for visit in self.one.visits:
            values = [*visit.vitals, *zip(PRESSURE, visit.pressure, strict=True)]
            held = "".join(self.measured("4.27", "2014-06-09", visit, "vital", *each) for each in values)
            kind = code(LOINC, "74728-7", "Vital signs", tag="translation")
            yield (
                "Vital signs",
                (
                    f'<organizer classCode="CLUSTER" moodCode="EVN">{template("4.26", "2015-08-01")}'
                    f"{self.id('vitals', visit.number)}"
                    f"{code(SNOMED, '46680005', 'Vital signs', inside=kind)}{status()}{time(visit.start)}"
                    f"{held}</organizer>"
                ),
            )

    def immunizations(self) -> Iterator[tuple[str, str]]:
        """Yield vaccinations."""
        for visit in self.one.visits:
            if visit.vaccine:
                number, title, _ = visit.vaccine
                lot = self.one.secrets.add("id", f"LOT{self.one.id('lot', visit.number)[:8]}")
                yield (
                    title,
                    (
                        '<substanceAdministration classCode="SBADM" moodCode="EVN" negationInd="false">'
                        f"{template('4.52', '2015-08-01')}{self.id('vaccine', visit.number)}"
                        f"{status()}{time(visit.start)}"
                        f'<consumable><manufacturedProduct classCode="MANU">{template("4.54", "2014-06-09")}'
                        f"<manufacturedMaterial>{code(CVX, number, title)}<lotNumberText>{lot}</lotNumberText>"
                        "</manufacturedMaterial></manufacturedProduct></consumable></substanceAdministration>"
                    ),
                )

    def social(self) -> Iterator[tuple[str, str]]:
        """Yield smoking, and the sex at birth."""
        one = self.one
        when = one.visits[0].start
        yield (
            one.smoking[1],
            (
                f"{OBSERVATION}{template('4.78', '2014-06-09')}{self.id('smoking')}"
                f"{code(LOINC, '72166-2', 'Tobacco smoking status')}{status()}{time(when)}"
                f"{value(SNOMED, *one.smoking)}</observation>"
            ),
        )
        sex = "Female" if one.sex == "F" else "Male"
        yield (
            f"Sex at birth: {sex}",
            (
                f"{OBSERVATION}{template('4.200', '2016-06-01')}"
                f"{code(LOINC, '76689-9', 'Sex assigned at birth')}{status()}"
                f"{value('2.16.840.1.113883.5.1', one.sex, sex)}</observation>"
            ),
        )


_CONDITION = code(LOINC, "75323-6", "Condition", tag="translation")
