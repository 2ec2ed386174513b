"""Parts of documents of C-CDA: templates, codes, times."""

from __future__ import annotations

from datetime import date, datetime
from xml.sax.saxutils import quoteattr

from health_facts import Illness

SNOMED, ICD10, LOINC = "2.16.840.1.113883.6.96", "2.16.840.1.113883.6.90", "2.16.840.1.113883.6.1"
RXNORM, ATC, CVX = "2.16.840.1.113883.6.88", "2.16.840.1.113883.6.73", "2.16.840.1.113883.12.292"
NAMES = {SNOMED: "SNOMED CT", ICD10: "ICD-10-CM", LOINC: "LOINC", RXNORM: "RxNorm", ATC: "ATC", CVX: "CVX"}
SSN, NPI, HOME = "2.16.840.1.113883.4.1", "2.16.840.1.113883.4.6", "2.16.840.1.113883.19.5.99999"
TEMPLATE = "2.16.840.1.113883.10.20.22"
ACTS = "2.16.840.1.113883.5.6"


def template(number: str, extension: str = "") -> str:
    """Return a templateId, with its version where it has one."""
    dated = f' extension="{extension}"' if extension else ""
    return f'<templateId root="{TEMPLATE}.{number}"{dated}/>'


def code(system: str, value: str, name: str, *, tag: str = "code", more: str = "", inside: str = "") -> str:
    """Return an element with a code."""
    held = f' codeSystem="{system}"' + (f" codeSystemName={quoteattr(NAMES[system])}" if system in NAMES else "")
    start = f"<{tag}{more} code={quoteattr(value)}{held} displayName={quoteattr(name)}"
    return f"{start}>{inside}</{tag}>" if inside else f"{start}/>"


def value(system: str, number: str, name: str, inside: str = "") -> str:
    """Return the value of an observation that is a code."""
    return code(system, number, name, tag="value", more=' xsi:type="CD"', inside=inside)


def stamp(when: datetime | date) -> str:
    """Return a point in time: a day, or seconds with the zone."""
    return f"{when:%Y%m%d%H%M%S}-0500" if isinstance(when, datetime) else f"{when:%Y%m%d}"


def time(when: datetime | date) -> str:
    """Return a time that is a point."""
    return f'<effectiveTime value="{stamp(when)}"/>'


def period(low: datetime | date | str, high: datetime | date | None = None, *, more: str = "") -> str:
    """Return a time from low, to high if it is over."""
    start = low if isinstance(low, str) else stamp(low)
    end = f'<high value="{stamp(high)}"/>' if high else ""
    return f'<effectiveTime{more}><low value="{start}"/>{end}</effectiveTime>'


def status(word: str = "completed") -> str:
    """Return a status."""
    return f'<statusCode code="{word}"/>'


def diagnosis(one: Illness) -> str:
    """Return a diagnosis with its translation to another code system."""
    return value(SNOMED, one.snomed, one.name, code(ICD10, one.icd10, one.name, tag="translation"))


def related(kind: str, content: str) -> str:
    """Return what belongs to an entry."""
    return f'<entryRelationship typeCode="{kind}">{content}</entryRelationship>'


OBSERVATION = '<observation classCode="OBS" moodCode="EVN">'
ACT = '<act classCode="ACT" moodCode="EVN">'
ASSERTION = '<code code="ASSERTION" codeSystem="2.16.840.1.113883.5.4"/>'
