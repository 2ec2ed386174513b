"""What C-CDA (release 2.1) demands of a document beside what a release says: templates, fixed codes, order of elements.

`MSK` marks what was there, and is not published.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

_ROOT = "2.16.840.1.113883.10.20.22"
LOINC = "2.16.840.1.113883.6.1"
_SNOMED = "2.16.840.1.113883.6.96"

ORDER = (
    "realmCode", "typeId", "templateId", "id", "code", "title", "text", "statusCode", "effectiveTime",
    "confidentialityCode", "languageCode", "setId", "versionNumber", "copyTime", "repeatNumber", "routeCode",
    "approachSiteCode", "doseQuantity", "rateQuantity", "maxDoseQuantity", "administrationUnitCode", "value",
    "interpretationCode", "methodCode", "targetSiteCode", "recordTarget", "subject", "specimen", "addr", "telecom",
    "streetAddressLine", "city", "state", "postalCode", "country", "patient", "name", "administrativeGenderCode",
    "birthTime", "deceasedInd", "deceasedTime", "maritalStatusCode", "religiousAffiliationCode", "raceCode",
    "ethnicGroupCode", "guardian", "birthplace", "languageCommunication", "consumable", "manufacturedProduct",
    "manufacturedMaterial", "lotNumberText", "performer", "author", "custodian", "informant", "participant",
    "participantRole", "playingEntity", "entryRelationship", "reference", "documentationOf", "component",
    "structuredBody", "section", "entry", "act", "encounter", "observation", "organizer", "procedure",
    "substanceAdministration",
)  # fmt: skip
"""The elements in an order that is right in all parents where they stand."""

MADE_NAMES = frozenset((
    "realmCode", "typeId", "templateId", "id", "title", "text", "confidentialityCode", "custodian", "author",
    "documentationOf",
))  # fmt: skip
"""Elements that the profile always makes, and no release says."""


@dataclass(frozen=True)
class Element:
    """What an element of a kind has beside what a release says.

    `made` are children that it always has, as XML; `needed` those that it has unless the release has them; `kinds` says
    of which kind its children are, by their names.
    """

    attributes: Mapping[str, str] = field(default_factory=dict)
    made: str = ""
    needed: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Section:
    """A section: its title, its template, and the element of which kind its entries hold."""

    title: str
    template: str
    version: str
    entry: str
    kind: str
    is_required: bool = False


def _template(number: str, version: str = "") -> str:
    dated = f' extension="{version}"' if version else ""
    return f'<templateId root="{_ROOT}.{number}"{dated}/>'


def _masked(*names: str) -> dict[str, str]:
    return {name: f'<{name} nullFlavor="MSK"/>' for name in names}


_ID = '<id nullFlavor="MSK"/>'
_TIME = '<effectiveTime nullFlavor="MSK"><low nullFlavor="MSK"/></effectiveTime>'
_SINCE = {"effectiveTime": _TIME}
_CODED = '<value xsi:type="CD" nullFlavor="MSK"/>'
_OBSERVATION = {"classCode": "OBS", "moodCode": "EVN"}
_ACT = {"classCode": "ACT", "moodCode": "EVN"}
_DONE = '<statusCode code="completed"/>'
_CONCERN = '<code code="CONC" codeSystem="2.16.840.1.113883.5.6"/>'
_ASSERTION = '<code code="ASSERTION" codeSystem="2.16.840.1.113883.5.4"/>'
_CONDITION = f'<code code="64572001" codeSystem="{_SNOMED}"><translation code="75323-6" codeSystem="{LOINC}"/></code>'
_VITALS = f'<code code="46680005" codeSystem="{_SNOMED}"><translation code="74728-7" codeSystem="{LOINC}"/></code>'
_DIAGNOSIS = f'<code code="29308-4" codeSystem="{LOINC}"/>'
_SUMMARY = f'<code code="34133-9" codeSystem="{LOINC}"/>'

MADE_CODES = frozenset(("CONC", "ASSERTION", "64572001", "75323-6", "46680005", "74728-7", "29308-4", "34133-9"))
"""Fixed codes in children `code` that a template has, and their translations: no release says them."""


def _related(name: str) -> str:
    """Return an entryRelationship that a template demands, with an element in it that says nothing."""
    return f'<entryRelationship nullFlavor="MSK"><{name}/></entryRelationship>'


def _product(number: str) -> Element:
    return Element({"classCode": "MANU"}, _template(number, "2014-06-09"), {"manufacturedMaterial": _MATERIAL})


_MATERIAL = '<manufacturedMaterial nullFlavor="MSK"><code nullFlavor="MSK"/></manufacturedMaterial>'
_AUTHOR = (
    '<author><time nullFlavor="MSK"/><assignedAuthor><id nullFlavor="MSK"/><addr nullFlavor="MSK"/>'
    '<telecom nullFlavor="MSK"/></assignedAuthor></author>'
)
_CUSTODIAN = (
    '<custodian><assignedCustodian><representedCustodianOrganization><id nullFlavor="MSK"/><name nullFlavor="MSK"/>'
    '<telecom nullFlavor="MSK"/><addr nullFlavor="MSK"/></representedCustodianOrganization></assignedCustodian>'
    "</custodian>"
)
_HEADER = (
    '<realmCode code="US"/><typeId root="2.16.840.1.113883.1.3" extension="POCD_HD000040"/>'
    + _template("1.1", "2015-08-01")
    + _template("1.2", "2015-08-01")
    + _SUMMARY
    + '<title>Anonymized summary</title><confidentialityCode code="N" codeSystem="2.16.840.1.113883.5.25"/>'
    + _AUTHOR
    + _CUSTODIAN
    + '<documentationOf><serviceEvent classCode="PCPR"><effectiveTime><low nullFlavor="MSK"/></effectiveTime>'
    + "</serviceEvent></documentationOf>"
)

ELEMENTS: Mapping[str, Element] = {
    "document": Element(
        made=_HEADER,
        needed=_masked("effectiveTime", "languageCode", "recordTarget", "component"),
        kinds={"recordTarget": "target", "component": "body"},
    ),
    "target": Element(needed=_masked("patientRole"), kinds={"patientRole": "role"}),
    "role": Element(
        made=_ID,
        needed=_masked("addr", "telecom", "patient"),
        kinds={"addr": "address", "patient": "patient"},
    ),
    "address": Element(needed=_masked("streetAddressLine", "city", "state", "postalCode")),
    "patient": Element(
        needed=_masked("name", "administrativeGenderCode", "birthTime", "raceCode", "ethnicGroupCode"),
    ),
    "body": Element(needed=_masked("structuredBody")),
    "time": Element(needed=_masked("low")),
    "allergy": Element(
        _ACT,
        _template("4.30", "2015-08-01") + _ID + _CONCERN,
        {**_masked("statusCode"), **_SINCE, "entryRelationship": _related("observation")},
        {"effectiveTime": "time", "entryRelationship": "subject allergy observation"},
    ),
    "allergy observation": Element(
        _OBSERVATION,
        _template("4.7", "2014-06-09") + _ID + _ASSERTION + _DONE,
        {**_SINCE, "value": _CODED, **_masked("participant")},
        {"effectiveTime": "time", "value": "CD", "participant": "allergen"},
    ),
    "allergen": Element(
        {"typeCode": "CSM"},
        needed=_masked("participantRole"),
        kinds={"participantRole": "allergen role"},
    ),
    "allergen role": Element(
        {"classCode": "MANU"}, needed=_masked("playingEntity"), kinds={"playingEntity": "substance"}
    ),
    "substance": Element({"classCode": "MMAT"}, needed=_masked("code")),
    "problem": Element(
        _ACT,
        _template("4.3", "2015-08-01") + _ID + _CONCERN,
        {**_masked("statusCode"), **_SINCE, "entryRelationship": _related("observation")},
        {"effectiveTime": "time", "entryRelationship": "subject problem observation"},
    ),
    "problem observation": Element(
        _OBSERVATION,
        _template("4.4", "2015-08-01") + _ID + _CONDITION + _DONE,
        {**_SINCE, "value": _CODED},
        {"effectiveTime": "time", "value": "CD"},
    ),
    "medication": Element(
        {"classCode": "SBADM", "moodCode": "EVN"},
        _template("4.16", "2014-06-09") + _ID,
        {**_masked("statusCode", "doseQuantity", "consumable"), **_SINCE},
        {"effectiveTime": "taken", "consumable": "drug"},
    ),
    "taken": Element({"xsi:type": "IVL_TS"}, needed=_masked("low")),
    "drug": Element(
        needed=_masked("manufacturedProduct"), kinds={"manufacturedProduct": "drug product"}
    ),
    "drug product": _product("4.23"),
    "procedure": Element(
        {"classCode": "PROC", "moodCode": "EVN"},
        _template("4.14", "2014-06-09") + _ID,
        _masked("code", "statusCode", "effectiveTime"),
    ),
    "encounter": Element(
        {"classCode": "ENC", "moodCode": "EVN"},
        _template("4.49", "2015-08-01") + _ID,
        {**_masked("code"), **_SINCE},
        {"effectiveTime": "time", "entryRelationship": "subject encounter diagnosis"},
    ),
    "encounter diagnosis": Element(
        _ACT,
        _template("4.80", "2015-08-01") + _ID + _DIAGNOSIS,
        {"entryRelationship": _related("observation")},
        {"entryRelationship": "subject problem observation"},
    ),
    "panel": Element(
        {"classCode": "BATTERY", "moodCode": "EVN"},
        _template("4.1", "2015-08-01") + _ID + _DONE,
        {**_masked("code"), "component": '<component nullFlavor="MSK"><observation/></component>'},
        {"component": "part result"},
    ),
    "result": Element(
        _OBSERVATION,
        _template("4.2", "2015-08-01") + _ID + _DONE,
        {**_masked("code", "effectiveTime"), "value": '<value xsi:type="PQ" nullFlavor="MSK"/>'},
        {"value": "PQ"},
    ),
    "vitals": Element(
        {"classCode": "CLUSTER", "moodCode": "EVN"},
        _template("4.26", "2015-08-01") + _ID + _VITALS + _DONE,
        {**_masked("effectiveTime"), "component": '<component nullFlavor="MSK"><observation/></component>'},
        {"component": "part vital"},
    ),
    "vital": Element(
        _OBSERVATION,
        _template("4.27", "2014-06-09") + _ID + _DONE,
        {**_masked("code", "effectiveTime"), "value": '<value xsi:type="PQ" nullFlavor="MSK"/>'},
        {"value": "PQ"},
    ),
    "immunization": Element(
        {"classCode": "SBADM", "moodCode": "EVN", "negationInd": "false"},
        _template("4.52", "2015-08-01") + _ID + _DONE,
        _masked("effectiveTime", "consumable"),
        {"consumable": "vaccine"},
    ),
    "vaccine": Element(
        needed=_masked("manufacturedProduct"), kinds={"manufacturedProduct": "vaccine product"}
    ),
    "vaccine product": _product("4.54"),
    "social": Element(
        _OBSERVATION,
        _template("4.38", "2015-08-01") + _ID + _DONE,
        {**_masked("code", "effectiveTime"), "value": _CODED},
        {"value": "CD"},
    ),
    "smoking": Element(
        _OBSERVATION,
        _template("4.78", "2014-06-09") + _ID + _DONE,
        {**_masked("effectiveTime"), "value": _CODED},
        {"value": "CD"},
    ),
    "birth sex": Element(
        _OBSERVATION, _template("4.200", "2016-06-01") + _DONE, {"value": _CODED}, {"value": "CD"}
    ),
    "CD": Element({"xsi:type": "CD"}),
    "PQ": Element({"xsi:type": "PQ"}),
}  # fmt: skip
"""By kinds. A kind `subject X` is an entryRelationship, `part X` a component, that holds an element of kind X."""

SECTIONS: Mapping[str, Section] = {
    "48765-2": Section("Allergies", "2.6.1", "2015-08-01", "act", "allergy", True),
    "10160-0": Section("Medications", "2.1.1", "2014-06-09", "substanceAdministration", "medication", True),
    "11450-4": Section("Problems", "2.5.1", "2015-08-01", "act", "problem", True),
    "47519-4": Section("Procedures", "2.7.1", "2014-06-09", "procedure", "procedure"),
    "46240-8": Section("Encounters", "2.22.1", "2015-08-01", "encounter", "encounter"),
    "30954-2": Section("Results", "2.3.1", "2015-08-01", "organizer", "panel", True),
    "8716-3": Section("Vital signs", "2.4.1", "2015-08-01", "organizer", "vitals", True),
    "11369-6": Section("Immunizations", "2.2.1", "2015-08-01", "substanceAdministration", "immunization"),
    "29762-2": Section("Social history", "2.17", "2015-08-01", "observation", "social", True),
}
SOCIAL = {"72166-2": "smoking", "76689-9": "birth sex"}
"""Kinds of observations of the social history by their codes."""

HELD = {"subject": "entryRelationship", "part": "component"}


def section_made(code: str) -> str:
    """Return what a section always has, as XML."""
    section = SECTIONS[code]
    found = _template(section.template) if section.template != "2.17" else ""
    return (
        found
        + _template(section.template, section.version)
        + f"<title>{section.title}</title><text>Not published, as text may say anything about anyone.</text>"
    )
