"""C-CDA: Continuity of Care Documents of one person each, with the templates and elements that release 2.1 demands.

A label that cannot stand in its attribute is `nullFlavor="MSK"`: that of a code is its `originalText`, that of a
quantity the `originalText` of a translation, any other stands in a processing instruction, which is no part of the
standard's content. Times are written as HL7 has them, and read as dates of ISO 8601, in documents of others, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from lxml import etree

from treeanon.errors import DataError
from treeanon.io.profiles.c_cda_templates import (
    ELEMENTS,
    LOINC,
    MADE_CODES,
    MADE_NAMES,
    ORDER,
    SECTIONS,
    SOCIAL,
    section_made,
)

_V3, _XSI, _SDTC = "urn:hl7-org:v3", "http://www.w3.org/2001/XMLSchema-instance", "urn:hl7-org:sdtc"
_OPEN = f'<x xmlns="{_V3}" xmlns:sdtc="{_SDTC}" xmlns:xsi="{_XSI}">'
_TYPE = f"{{{_XSI}}}type"
_PI = "treeanon"
_PLACE = {name: at for at, name in enumerate(ORDER)}
_PARSER = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)

_HL7 = re.compile(r"(\d{4})(?:(\d\d)(?:(\d\d)(?:(\d\d)(?:(\d\d)(?:(\d\d(?:\.\d+)?))?)?(?:([+-]\d\d)(\d\d)?)?)?)?)?")
_ISO = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:T(\d\d)(?::(\d\d)(?::(\d\d(?:\.\d+)?))?)?(?:([+-]\d\d)(?::(\d\d))?)?)?)?)?"
)
_TIMES = frozenset(("effectiveTime", "birthTime", "deceasedTime", "time"))
_BOUNDS = frozenset(("low", "high", "center"))
_TYPES_OF_TIMES = frozenset(("TS", "IVL_TS"))
_BARE_CODES = frozenset(("statusCode", "languageCode", "realmCode"))
_MADE_ATTRIBUTES = ("classCode", "moodCode", "typeCode", "negationInd", "nullFlavor", _TYPE)
_FIXED_STATUS = frozenset(("observation", "organizer"))


def from_hl7(text: str) -> str:
    """Return a point in time as ISO 8601 has it; what is none stays.

    >>> from_hl7("20190304102105-0500"), from_hl7("201903"), from_hl7("soon")
    ('2019-03-04T10:21:05-05:00', '2019-03', 'soon')
    """
    match = _HL7.fullmatch(text)
    if match is None:
        return text
    year, month, day, hour, minute, second, zone, zone_minute = match.groups()
    date = "-".join(part for part in (year, month, day) if part)
    clock = ":".join(part for part in (hour, minute, second) if part)
    return date + (f"T{clock}" if clock else "") + (zone or "") + (f":{zone_minute}" if zone_minute else "")


def to_hl7(label: str) -> str | None:
    """Return a date of ISO 8601 as HL7 has it; None for a label that is none.

    >>> to_hl7("2019-03-04T10:21:05-05:00"), to_hl7("2019-03"), to_hl7("2010s")
    ('20190304102105-0500', '201903', None)
    """
    match = _ISO.fullmatch(label)
    return None if match is None else "".join(part or "" for part in match.groups())


def _local(element: etree._Element) -> str:
    """Return the name of an element of CDA; empty for a comment, and for elements of other namespaces."""
    tag = element.tag
    if not isinstance(tag, str):
        return ""
    space, _, name = tag.rpartition("}")
    return name if space in ("", "{" + _V3, "{" + _SDTC) else ""


def _parsed(text: str) -> list[etree._Element]:
    return list(etree.fromstring(f"{_OPEN}{text}</x>", _PARSER))


def _is_time(element: etree._Element) -> bool:
    name = _local(element)
    if name in _BOUNDS:
        above = element.getparent()
        return above is not None and _is_time(above)
    return name in _TIMES or (name == "value" and element.get(_TYPE, "").rpartition(":")[2] in _TYPES_OF_TIMES)


class _Encoder:
    """Writer of one document."""

    def __init__(self, number: int) -> None:
        self.number = number

    def document(self, root: etree._Element) -> None:
        """Make a canonical record a document."""
        self.mask(root)
        self.complete(root, "document")
        body = next(each for each in root.iter(f"{{{_V3}}}structuredBody"))
        self.sections(body)
        for each in _parsed(f'<id root="{self.number:08x}-0000-4000-8000-000000000000"/>'):
            root.append(each)
        for element in list(root.iter(etree.Element)):
            # what is made has its own order
            if not any(_local(each) in MADE_NAMES for each in (element, *element.iterancestors())):
                _sort(element)
        root.insert(0, etree.ProcessingInstruction(_PI, "c-cda"))

    def mask(self, root: etree._Element) -> None:
        """Take labels that cannot stand where they are to where they can."""
        for element in list(root.iter(etree.Element)):
            name = _local(element)
            if name in MADE_NAMES:
                raise DataError(f"the profile c-cda makes the element {name} itself: leave the class of it out")
            for attribute, label in list(element.attrib.items()):
                own = _standing(element, str(attribute), str(label))
                if own is None:
                    _mask(element, str(attribute), str(label))
                else:
                    element.set(attribute, own)
            above = element.getparent()
            if name == "translation" and above is not None:
                for each in (element, above):
                    if each.get("code") is None:
                        each.set("nullFlavor", "MSK")
            if element.text == "*" and not len(element):
                element.text = None
                _instruct(element, "", "*")

    def complete(self, element: etree._Element, kind: str) -> None:
        """Put into an element what its kind demands, and so on inwards."""
        wanted = ELEMENTS[kind]
        for name, value in wanted.attributes.items():
            element.set(_TYPE if name == "xsi:type" else name, value)
        held = {_local(child) for child in element}
        needed = "".join(xml for name, xml in wanted.needed.items() if name not in held)
        for child in _parsed(wanted.made + needed) if wanted.made or needed else ():
            element.append(child)
        for child in list(element):
            inner = wanted.kinds.get(_local(child), "")
            way, _, rest = inner.partition(" ")
            if way in ("subject", "part"):
                self.related(child, way, rest)
            elif inner and not (inner == "time" and _is_point(child)):
                self.complete(child, inner)

    def related(self, element: etree._Element, way: str, kind: str) -> None:
        """Complete an entryRelationship or component, and what it holds."""
        if way == "subject":
            element.set("typeCode", "SUBJ")
        name = "act" if kind == "encounter diagnosis" else "observation"
        if not any(_local(child) == name for child in element):
            etree.SubElement(element, f"{{{_V3}}}{name}")
        for child in list(element):
            if _local(child) == name:
                self.complete(child, kind)

    def sections(self, body: etree._Element) -> None:
        """Complete the sections, and make those that are demanded."""
        found = set()
        for section in list(body.iter(f"{{{_V3}}}section")):
            code = section.find(f"{{{_V3}}}code")
            number = code.get("code", "") if code is not None else ""
            if code is None or number not in SECTIONS:
                raise DataError("a section has a code that the profile c-cda does not know: leave its classes out")
            found.add(number)
            self.section(section, code, number)
        for number, wanted in SECTIONS.items():
            if wanted.is_required and number not in found:
                made = f'<section nullFlavor="NI"><code code="{number}" codeSystem="{LOINC}"/></section>'
                for component in _parsed(f"<component>{made}</component>"):
                    component[0].extend(_parsed(section_made(number)))
                    body.append(component)

    def section(self, section: etree._Element, code: etree._Element, number: str) -> None:
        """Complete a section and its entries."""
        code.set("codeSystem", LOINC)
        section.extend(_parsed(section_made(number)))
        wanted = SECTIONS[number]
        entries = [child for child in section if _local(child) == "entry"]
        if not entries:
            section.set("nullFlavor", "MSK")
        for entry in entries:
            if not len(entry):
                etree.SubElement(entry, f"{{{_V3}}}{wanted.entry}")
            for child in entry:
                self.complete(child, _kind_of(child, wanted.kind))


def _kind_of(statement: etree._Element, kind: str) -> str:
    """Return the kind of an entry: observations of the social history have several."""
    code = statement.find(f"{{{_V3}}}code")
    if kind != "social" or code is None or code.get("code") not in SOCIAL:
        return kind
    code.set("codeSystem", LOINC)
    return SOCIAL[code.get("code", "")]


def _standing(element: etree._Element, attribute: str, label: str) -> str | None:
    """Return what an attribute can hold of a label; None if that is nothing."""
    if attribute == "value" and _is_time(element):
        return to_hl7(label)
    if attribute == "value" and _local(element) in ("value", "doseQuantity"):
        return label if re.fullmatch(r"-?\d+(\.\d+)?", label) else None
    if attribute in ("code", "unit", "value"):
        return label if re.fullmatch(r"[^\s*…]+", label) else None
    return label


def _is_point(time: etree._Element) -> bool:
    """Return whether a time is a point, which has no bounds."""
    return time.get("value") is not None or next(_labels(time), None) is not None


def _mask(element: etree._Element, attribute: str, label: str) -> None:
    """Take a label out of its attribute."""
    del element.attrib[attribute]
    name = _local(element)
    if attribute == "code" and name not in _BARE_CODES and label.strip() == label:
        element.set("nullFlavor", "MSK")
        etree.SubElement(element, f"{{{_V3}}}originalText").text = label
    elif attribute == "value" and name in ("value", "doseQuantity") and label.strip() == label:
        element.set("nullFlavor", "MSK")
        inner = etree.SubElement(element, f"{{{_V3}}}translation", nullFlavor="MSK")
        etree.SubElement(inner, f"{{{_V3}}}originalText").text = label
    else:
        _instruct(element, attribute, label)


def _instruct(element: etree._Element, attribute: str, label: str) -> None:
    """Put a label beside the content of its element."""
    element.set("nullFlavor", "MSK")
    told = json.dumps([attribute, label]).replace("?", "\\u003f").replace(">", "\\u003e")
    element.append(etree.ProcessingInstruction(_PI, told))


def _sort(element: etree._Element) -> None:
    """Put children in the order of the standard."""
    children = list(element)
    if len(children) > 1:
        last = len(ORDER)
        # originalText and what is masked stand before the other children of a code
        places = [-1 if not _local(child) or _local(child) == "originalText" else _PLACE.get(_local(child), last)
                  for child in children]  # fmt: skip
        element[:] = [children[at] for at in sorted(range(len(children)), key=places.__getitem__)]


class _Decoder:
    """Reader that takes back what `_Encoder` has changed."""

    def document(self, root: etree._Element) -> None:
        """Make a document the canonical record again."""
        for element in list(root.iter(etree.Element)):
            above = element.getparent()
            if above is not None and self._is_made(element):
                above.remove(element)
        for element in list(root.iter(etree.Element)):
            self._take_back(element)

    def _is_made(self, element: etree._Element) -> bool:
        """Return whether an element was made, with all that is in it."""
        name = _local(element)
        if name in MADE_NAMES or (name == "code" and element.get("code") in MADE_CODES):
            return True
        flavor = element.get("nullFlavor")
        if name == "component" and any(child.get("nullFlavor") == "NI" for child in element):
            return True
        if name == "statusCode" and element.get("code") == "completed":
            above = element.getparent()
            return above is not None and (_local(above) in _FIXED_STATUS or above.get("negationInd") is not None)
        # children that have a code of their own, such as translations, are kept
        is_kept = name in ("section", "translation") or flavor != "MSK"
        return not is_kept and next(_labels(element), None) is None and not _says(element)

    def _take_back(self, element: etree._Element) -> None:
        for attribute, label, held in list(_labels(element)):
            element.remove(held)
            if attribute:
                element.set(attribute, label)
            else:
                element.text = label
        if _local(element) == "code" and (element.get("code") in SECTIONS or element.get("code") in SOCIAL):
            element.attrib.pop("codeSystem", "")
        for attribute in _MADE_ATTRIBUTES:
            # that a time is an interval may be what a path asks for
            if attribute != _TYPE or element.get(_TYPE) != "IVL_TS":
                element.attrib.pop(attribute, "")


def _says(element: etree._Element) -> bool:
    """Return whether there is a value in an element that is masked itself."""
    for each in element.iter(etree.Element):
        name, code = _local(each), each.get("code")
        if each is element or name == "statusCode" or code in MADE_CODES:
            continue
        if code is not None or each.get("value") is not None or next(_labels(each), None) is not None:
            return True
        if name == "translation" and not len(each):
            return True
    return False


def _labels(element: etree._Element) -> Iterator[tuple[str, str, etree._Element]]:
    """Yield the labels that stand beside an element: attribute, label, and what holds it."""
    if element.get("nullFlavor") != "MSK":
        return
    is_quantity = element.get(_TYPE) == "PQ" or _local(element) == "doseQuantity"
    for child in element:
        if _local(child) == "originalText":
            yield "code", child.text or "", child
        elif is_quantity and _local(child) == "translation" and len(child) and _local(child[0]) == "originalText":
            yield "value", child[0].text or "", child
        elif isinstance(child, etree._ProcessingInstruction) and child.target == _PI:
            try:
                attribute, label = json.loads(child.text or "")
            except (ValueError, TypeError):
                raise DataError("has a label that cannot be read") from None
            yield str(attribute), str(label), child


class CCda:
    """The codec of the profile `c-cda`.

    >>> record = '<ClinicalDocument><recordTarget><patientRole><patient><birthTime value="2010s"/></patient>' \
        '</patientRole></recordTarget></ClinicalDocument>'
    >>> written = CODEC.encode(record, 1, "")
    >>> 'nullFlavor="MSK"' in written, "templateId" in written
    (True, True)
    """

    def encode(self, text: str, number: int, kind: str) -> str:
        """Return a canonical record as a document."""
        try:
            wrapper = etree.fromstring(f"{_OPEN}{text}</x>", _PARSER)
        except etree.XMLSyntaxError:
            raise DataError(
                'the profile c-cda needs the namespaces "" (urn:hl7-org:v3), sdtc and xsi, and record "."'
            ) from None
        _Encoder(number).document(wrapper[0])
        made = etree.tostring(wrapper, encoding="unicode")
        return made[made.index(">") + 1 : made.rindex("<")]

    def decode(self, text: bytes) -> bytes:
        """Return a document as the format writes it, and one of others with its times as dates of ISO 8601."""
        if b"<!DOCTYPE" in text or b"<!ENTITY" in text:
            return text
        try:
            root = etree.fromstring(text, _PARSER)
        except etree.XMLSyntaxError:
            # The reader says what is wrong with it.
            return text
        first = root[0] if len(root) else None
        if isinstance(first, etree._ProcessingInstruction) and first.target == _PI:
            _Decoder().document(root)
            root.remove(first)
        for element in list(root.iter(etree.Element)):
            value = element.get("value")
            if value is not None and _is_time(element):
                element.set("value", from_hl7(value))
        return etree.tostring(root, encoding="UTF-8", xml_declaration=True)


CODEC = CCda()
