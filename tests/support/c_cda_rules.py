"""Structural rules of C-CDA 2.1, written from its conformance statements: what a document must have, and in what order.

They share nothing with the code that writes documents.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml import etree

V3 = {"v": "urn:hl7-org:v3", "xsi": "http://www.w3.org/2001/XMLSchema-instance"}
ROOT = "2.16.840.1.113883.10.20.22."

HEADER = (
    "v:realmCode[@code='US']", "v:typeId[@extension='POCD_HD000040']", f"v:templateId[@root='{ROOT}1.1']",
    f"v:templateId[@root='{ROOT}1.2']", "v:id", "v:code[@code='34133-9']", "v:title[text()]", "v:effectiveTime",
    "v:confidentialityCode", "v:languageCode", "v:recordTarget/v:patientRole/v:id",
    "v:recordTarget/v:patientRole/v:addr",
    "v:recordTarget/v:patientRole/v:telecom", "v:recordTarget/v:patientRole/v:patient/v:name",
    "v:recordTarget/v:patientRole/v:patient/v:administrativeGenderCode",
    "v:recordTarget/v:patientRole/v:patient/v:birthTime", "v:recordTarget/v:patientRole/v:patient/v:raceCode",
    "v:recordTarget/v:patientRole/v:patient/v:ethnicGroupCode", "v:author/v:time", "v:author/v:assignedAuthor/v:id",
    "v:author/v:assignedAuthor/v:addr", "v:author/v:assignedAuthor/v:telecom",
    "v:custodian/v:assignedCustodian/v:representedCustodianOrganization[v:id and v:name and v:telecom and v:addr]",
    "v:documentationOf/v:serviceEvent[@classCode='PCPR']/v:effectiveTime/v:low",
    *(f"v:component/v:structuredBody/v:component/v:section[v:code/@code='{code}']"
      for code in ("48765-2", "10160-0", "11450-4", "30954-2", "8716-3", "29762-2")),
)  # fmt: skip

# by the root of a templateId: what an entry, or what lies in it, must have
TEMPLATES = {
    "4.30": ("v:id", "v:code[@code='CONC']", "v:statusCode", "v:effectiveTime",
             "v:entryRelationship[@typeCode='SUBJ']/v:observation/v:templateId[@root='R4.7']"),
    "4.7": ("v:id", "v:code[@code='ASSERTION']", "v:statusCode[@code='completed']", "v:effectiveTime", "v:value",
            "v:participant[@typeCode='CSM']/v:participantRole[@classCode='MANU']/v:playingEntity[@classCode='MMAT']/v:code"),
    "4.16": ("v:id", "v:statusCode", "v:effectiveTime[@xsi:type='IVL_TS']/v:low", "v:doseQuantity",
             "v:consumable/v:manufacturedProduct/v:templateId[@root='R4.23']"),
    "4.23": ("v:manufacturedMaterial/v:code",),
    "4.3": ("v:id", "v:code[@code='CONC']", "v:statusCode", "v:effectiveTime/v:low",
            "v:entryRelationship/v:observation/v:templateId[@root='R4.4']"),
    "4.4": ("v:id", "v:code", "v:statusCode[@code='completed']", "v:effectiveTime/v:low", "v:value[@xsi:type='CD']"),
    "4.14": ("v:id", "v:code", "v:statusCode"),
    "4.49": ("v:id", "v:code", "v:effectiveTime"),
    "4.80": ("v:code[@code='29308-4']", "v:entryRelationship/v:observation/v:templateId[@root='R4.4']"),
    "4.1": ("v:id", "v:code", "v:statusCode", "v:component/v:observation/v:templateId[@root='R4.2']"),
    "4.2": ("v:id", "v:code", "v:statusCode[@code='completed']", "v:effectiveTime", "v:value"),
    "4.26": ("v:id", "v:code", "v:statusCode[@code='completed']", "v:effectiveTime",
             "v:component/v:observation/v:templateId[@root='R4.27']"),
    "4.27": ("v:id", "v:code", "v:statusCode[@code='completed']", "v:effectiveTime", "v:value[@xsi:type='PQ']"),
    "4.52": ("v:id", "v:statusCode", "v:effectiveTime",
             "v:consumable/v:manufacturedProduct/v:templateId[@root='R4.54']"),
    "4.54": ("v:manufacturedMaterial/v:code",),
    "4.78": ("v:id", "v:code[@code='72166-2']", "v:statusCode[@code='completed']", "v:effectiveTime", "v:value"),
    "4.200": ("v:code[@code='76689-9']", "v:statusCode[@code='completed']", "v:value"),
}  # fmt: skip

# the sequences of CDA's classes
SEQUENCES = {
    "ClinicalDocument": "realmCode typeId templateId id code title effectiveTime confidentialityCode languageCode setId"
    " versionNumber recordTarget author custodian participant documentationOf component",
    "patientRole": "id addr telecom patient",
    "patient": "name administrativeGenderCode birthTime deceasedInd deceasedTime maritalStatusCode raceCode"
    " ethnicGroupCode guardian birthplace languageCommunication",
    "section": "templateId id code title text entry",
    "act": "templateId id code text statusCode effectiveTime entryRelationship",
    "observation": "templateId id code text statusCode effectiveTime value interpretationCode participant"
    " entryRelationship",
    "organizer": "templateId id code statusCode effectiveTime component",
    "encounter": "templateId id code effectiveTime performer participant entryRelationship",
    "procedure": "templateId id code statusCode effectiveTime performer",
    "substanceAdministration": "templateId id statusCode effectiveTime doseQuantity consumable",
    "representedCustodianOrganization": "id name telecom addr",
    "assignedAuthor": "id addr telecom assignedPerson",
    "manufacturedMaterial": "code lotNumberText",
}  # fmt: skip
MOODS = {
    "act": "ACT",
    "observation": "OBS",
    "encounter": "ENC",
    "procedure": "PROC",
    "substanceAdministration": "SBADM",
}
TIME = re.compile(r"\d{4}(\d\d(\d\d(\d\d(\d\d(\d\d(\.\d+)?)?)?([+-]\d{4})?)?)?)?")


def problems_of(document: etree._Element) -> Iterator[str]:
    """Yield what is wrong with a document, a line each."""

    def has(element: etree._Element, path: str) -> bool:
        return bool(element.xpath(path.replace("'R4.", f"'{ROOT}4."), namespaces=V3))

    yield from (f"no {path}" for path in HEADER if not has(document, path))
    for section in document.iter("{*}section"):
        for path in ("v:templateId", "v:code[@codeSystem]", "v:title[text()]", "v:text[node()]"):
            if not has(section, path):
                yield f"section without {path}"
        if section.find("v:entry", V3) is None and section.get("nullFlavor") is None:
            if has(section, f"v:templateId[@root='{ROOT}2.20']"):
                continue
            yield "section without entries and without a reason"
    for template in document.iter("{*}templateId"):
        number = template.get("root", "").removeprefix(ROOT)
        holder = template.getparent()
        yield from (f"{number} without {path}" for path in TEMPLATES.get(number, ()) if not has(holder, path))
    for element in document.iter(etree.Element):
        yield from _problems_of_element(element)


def _problems_of_element(element: etree._Element) -> Iterator[str]:
    space, _, name = element.tag.rpartition("}")
    if space not in ("{urn:hl7-org:v3", "{urn:hl7-org:sdtc"):
        yield f"{name} of a foreign namespace"
    order = SEQUENCES.get(name, "").split()
    children = [child.tag.rpartition("}")[2] for child in element if isinstance(child.tag, str)]
    if order:
        strange = [child for child in children if child not in order]
        if strange:
            yield f"{name} holds {strange[0]}"
        elif [order.index(child) for child in children] != sorted(order.index(child) for child in children):
            yield f"{name} has its children in another order"
    above = element.getparent()
    if above is not None and above.tag.rpartition("}")[2] == "entry":
        if not any(child == "templateId" for child in children):
            yield f"{name} of an entry has no template"
        if element.get("moodCode") != "EVN" or (name in MOODS and element.get("classCode") != MOODS[name]):
            yield f"{name} has no class or mood"
    code = element.get("code")
    if code is not None and not re.fullmatch(r"[^\s*…]+", code):
        yield f"{name} has a code that is none"
    kind, value, flavor = element.get(f"{{{V3['xsi']}}}type", ""), element.get("value"), element.get("nullFlavor")
    is_bare = code is None and value is None and flavor is None and not kind.startswith("IVL")
    if name in ("code", "value", "translation") and is_bare:
        yield f"{name} says neither what it is nor why not"
    if name in ("effectiveTime", "low", "high", "birthTime", "time") and value and not TIME.fullmatch(value):
        yield f"{name} is no time"
    if kind == "PQ" and value and not re.fullmatch(r"-?\d+(\.\d+)?", value):
        yield f"{name} is no quantity"
