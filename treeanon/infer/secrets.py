"""Names and shapes of direct identifiers and secrets, which are withheld whoever they are about;
and the classes that must not be published because of them, of references, or of values that are nearly unique.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import pairwise

from treeanon.infer.leaves import Leaf
from treeanon.infer.sampling import Values
from treeanon.schema.model import Role

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+")

Words = tuple[str, ...]


def words(name: str) -> list[str]:
    """Return the words of a name, in lower case.

    >>> words("birthDate"), words("SSN_number"), words("e-mail")
    (['birth', 'date'], ['ssn', 'number'], ['e', 'mail'])
    """
    return [word.lower() for word in _WORD.findall(name)]


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SECRETS = _set(
    "password passwd pwd passphrase passcode token secret hash salt pin apikey credential credentials cookie otp"
    " cvv cvc privatekey passwort kennwort sha md5"
)
_CONTACTS = _set(
    "email mail phone telephone telefon tel mobile cell cellphone fax telecom pager skype username login nickname"
    " handle screenname url uri href website homepage ip ipaddress ipv4 ipv6 mac imei imsi hostname fullurl"
    " phonenumber handy"
)
_NUMBERS = _set(
    "ssn mrn nino nhs pid npi dea passport iban bic account acct card creditcard cardnumber license licence"
    " nationalid taxid socialsecurity insurancenumber vin"
)
_PLACES = _set("street address addr addressline streetline strasse housenumber latitude longitude lat lon lng geo gps")
_NAMES = _set(
    "surname lastname firstname forename fullname middlename maiden maidenname nickname familyname givenname"
    " birthname vorname nachname geburtsname patientname personname customername"
)
_PICTURES = _set(
    "photo photograph picture image avatar portrait thumbnail signature fingerprint biometric biometrics selfie"
)
_TEXTS = _set("note notes comment comments remark remarks memo narrative freetext anamnesis annotation annotations")
_QUALIFIERS = _set(
    "type kind status state class category count total number_of level currency balance limit use system format"
    " mime color verified confirmed valid enabled language lang size width height length date time year month at"
    " code"
)
"""Last words that say that a field tells something about a mail, card or note, and not that itself."""

_COUNTING = _set("has is was can num count n total")
"""First words of the same."""

_PERSONS = _set(
    "patient person people customer client member student citizen subject resident participant respondent insured"
    " tenant passenger pupil borrower donor voter guest individual inhabitant beneficiary policyholder cardholder"
    " applicant candidate inmate employee user staff worker contact author personnel doctor physician nurse"
    " teacher provider practitioner agent clinician surgeon therapist dentist pharmacist gp midwife guardian"
    " custodian caregiver carer family parent mother father mom dad spouse wife husband partner child son daughter"
    " sibling brother sister relative kin informant recorder asserter requester performer prescriber attending"
    " referrer referring owner holder manager supervisor boss seller buyer driver witness official officer judge"
    " lawyer attorney host sender recipient receiver assigned creator editor editedby signer principal subscriber"
    " payee payer emergency rep representative operator radiologist operatedby mentor tutor coach"
)
_PEOPLE_ALONE = _set(
    "doctor physician nurse teacher practitioner clinician surgeon therapist dentist pharmacist gp midwife"
    " guardian custodian caregiver carer mother father spouse wife husband kin author prescriber attending"
    " referrer supervisor driver radiologist attorney"
)
"""Persons whose bare word is a field that holds their name: `attending`, `next_of_kin`."""

_THINGS = _set(
    "organization organisation company hospital clinic department ward practice school city town country region"
    " state product item drug medication disease diagnosis condition procedure device location facility genre"
    " category track film movie album store shop station language currency payer insurer brand file event course"
    " illness treatment history"
)
_NAMES_ALONE = _set("first last middle")
"""Parts of names that are columns by themselves, as in extracts: FIRST, LAST; others are so beside them."""

_NAME_PARTS = _set("first last given family middle full prefix suffix maiden second birth forename surname title")
_INSIDE = _set(
    "telecom telecoms identifier identifiers phones emails photos signatures passwords credentials login logins"
)
_IDS = _set("id ids identifier uuid guid key no nr number record recordid ref reference oid extension")
_DOERS = _set("by")


def _joined(label: Words) -> set[str]:
    """Return the words of a label, and its neighbors as one word; trailing numbers are left away."""
    while len(label) > 1 and label[-1].isdigit():
        label = label[:-1]
    return {*label, *map("".join, pairwise(label)), "".join(label)}


def _is_about(label: Words) -> bool:
    """Return whether a label says something about a mail or card, and not that itself: `card_type`, `has_phone`."""
    return len(label) > 1 and (label[-1] in _QUALIFIERS or label[0] in _COUNTING)


def is_person_name(label: Words) -> bool:
    """Return whether a name is that of a person in some role, and not of a thing of theirs.

    >>> is_person_name(("general", "practitioner")), is_person_name(("customer", "city")), is_person_name(("gp",))
    (True, False, True)
    """
    found = {*label, *(word.removesuffix("s") for word in label)}
    # a "person" made of two words, as in assignedPerson, generalPractitioner, billingProvider
    return bool(found & _PERSONS) and not ({label[-1]} & _THINGS if label else False)


def _of_person(labels: Sequence[Words]) -> bool:
    """Return whether the nearest label that names a person or a thing names a person."""
    for label in reversed(labels):
        if is_person_name(label):
            return True
        if label and {label[-1], label[-1].removesuffix("s")} & _THINGS:
            return False
    return False


def secret_name(labels: Sequence[Words], siblings: Collection[str], *, of_record: bool, shared: bool) -> str:
    """Return why a field is withheld by its name, at any number of different values; empty if it is not.

    `labels` are the words of the names on the path to it, `siblings` the plain names of the fields beside it.
    `of_record` says that it describes the person whose record it is, `shared` that it describes something that many
    have in common.

    >>> def why(*path): return secret_name([tuple(words(name)) for name in path], (), of_record=False, shared=False)
    >>> why("staff", "password"), why("visits", "doctor", "name"), why("visits", "hospital", "name"), why("card_type")
    ('its name is that of a secret', 'it is the name of a person', '', '')
    >>> why("patients", "FIRST"), why("observations", "PREFIX")
    ('it is the name of a person', '')
    """
    last = labels[-1] if labels else ()
    if _is_about(last):
        return ""
    found = _joined(last)
    for known, why in _BY_WORD:
        if known & found:
            return why
    above = labels[:-1]
    if any((_INSIDE | _PICTURES) & set(label) for label in above):
        return "it is part of a contact, an identifier or a picture"
    if found & {"line", "lines"} and any({"address", "addresses", "addr"} & set(label) for label in above):
        return "its name is that of an address or a place on the map"
    if last and (last[-1] == "reference" or (last[-1] == "display" and "reference" in siblings)):
        return "it refers to a person or to something of one"
    if _in_narrative(labels):
        return "it is text for people to read, which may say anything about anyone"
    return _name_of_person(labels, siblings, of_record=of_record, shared=shared)


_BY_WORD = (
    (_SECRETS, "its name is that of a secret"),
    (_CONTACTS, "its name is that of a way to reach or find somebody"),
    (_NUMBERS, "its name is that of a number by which persons are known"),
    (_PLACES, "its name is that of an address or a place on the map"),
    (_NAMES, "it is the name of a person"),
    (_PICTURES, "its name is that of a picture or mark of a person"),
    (_TEXTS, "its name says free text, which may say anything about anyone"),
)


def _in_narrative(labels: Sequence[Words]) -> bool:
    """Return whether a place is in marked-up text, or is the text of a section."""
    if not labels:
        return False
    text = ("text",)
    if any(label in (text, ("narrative",), ("div",)) for label in labels[:-1]) or labels[-1] == ("div",):
        return labels[-1] != ("status",)
    return labels[-1] == text and len(labels) > 1 and bool({"section", "sections"} & set(labels[-2]))


def _name_of_person(labels: Sequence[Words], siblings: Collection[str], *, of_record: bool, shared: bool) -> str:
    """Return why a field is a person's name, if it is."""
    last, above = labels[-1] if labels else (), labels[:-1]
    why = "it is the name of a person"
    plain = {*last} - {*filter(str.isdigit, last)}
    inside = any(label[-1:] in (("name",), ("names",)) for label in above)
    if inside and (_of_person(above) or plain & _NAME_PARTS or {"family", "given", "first", "last"} & set(siblings)):
        return why
    if last[-1:] in (("name",), ("names",)):
        own = [label for label in (*above, last[:-1]) if label]
        if _of_person(own):
            return why
        return why if of_record and not own and not shared else ""
    if last and last[-1] in _DOERS and len(last) > 1:
        return why
    beside = {name.lower() for name in siblings}
    if len(last) == 1 and (plain & _NAMES_ALONE or (plain & _NAME_PARTS and beside & _NAMES_ALONE)):
        return why
    alone = bool(last) and (last[-1] in _PEOPLE_ALONE or "".join(last) == "nextofkin")
    return why if alone else ""


def names_person_id(label: Words) -> bool:
    """Return whether a label is that of an id of a person: `patient_id`, `SupportRepId`."""
    return len(label) > 1 and label[-1] in _IDS and is_person_name(label[:-1])


def names_id(label: Words) -> bool:
    """Return whether a label is that of an id of anything."""
    return bool(label) and label[-1] in _IDS


_SHAPES = (
    (re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+"), "mail addresses"),
    (re.compile(r"(?:[a-z][a-z0-9+.-]*://|www\.|mailto:|tel:)\S+", re.I), "addresses of the web"),
    (re.compile(r"\+\d[\d ()/.-]{6,}\d|\(\d{3}\) ?\d{3}-\d{4}|\d{3}-\d{3}-\d{4}"), "phone numbers"),
    (re.compile(r"\d{3}-\d{2}-\d{4}"), "social security numbers"),
    (
        re.compile(r"(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}|(?:[0-9a-f]{1,4}:){3,7}[0-9a-f]{1,4}", re.I),
        "addresses of computers",
    ),
    # Numbers alone may be codes: those of SNOMED CT have up to 18 digits.
    (re.compile(r"(?=.*[a-f])(?=.*\d)[0-9a-f]{16,}|[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56,}", re.I), "hashes"),
    (re.compile(r"\$\w{1,12}\$\S{20,}|eyJ[\w-]{10,}\.[\w-]+\.?[\w-]*|(?:sk|pk|ghp|xox[bap])[_-]\w{16,}"), "secrets"),
    (re.compile(r"[A-Z]{2}\d{2}(?: ?[0-9A-Z]{4}){3,7}(?: ?[0-9A-Z]{1,3})?"), "account numbers"),
    (re.compile(r"(?:\d{4}[ -]){3}\d{4}"), "card numbers"),
    (re.compile(r"(?:urn:uuid:)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I), "made to be unique (UUID)"),
    (re.compile(r"(?:Dr|Mr|Mrs|Ms|Prof|Herr|Frau|Mme|Sr|Sra)\.? [A-Z]\S+.*"), "names of persons with a title"),
)
_OF_A_SHAPE = 0.1
"""Share of values of a shape from which all are withheld."""

_CONSTANTS = 8
"""Addresses of the web that are so few, and repeat, name systems of codes, and not persons."""


def secret_shape(texts: Collection[str], occurrences: int) -> str:
    """Return what the values are by their shape, if they identify or open something; empty if they do not.

    >>> secret_shape(["ann@x.example", "none"], 2), secret_shape(["Asthma", "Flu"], 40)
    ('its values are mail addresses', '')
    """
    for shape, called in _SHAPES:
        found = sum(shape.fullmatch(text.strip()) is not None for text in texts)
        is_constant = called == "addresses of the web" and len(texts) <= _CONSTANTS and occurrences >= 2 * len(texts)
        if found and found >= _OF_A_SHAPE * len(texts) and not is_constant:
            return f"its values are {called}"
    return ""


ENOUGH = 20
"""Least number of records for conclusions from the number of distinct values."""

_FEW = 8
_FLAGS = frozenset({"true", "false", "yes", "no", "y", "n", "0", "1"})
_REFERRING = frozenset({"id", "by", "fk", "ref"})
_CODE_LIKE = re.compile(r"(?=.*[0-9])\S{8,}")
_FREE = "it may say anything about anyone"


def withheld(leaf: Leaf, value_type: str, records: int) -> tuple[Role, str] | None:
    """Return the role that withholds a class, and the reason; None for a class to publish."""
    values = leaf.values
    if is_free_text(values):
        return "drop", f"long free text: {_FREE}"
    if values.counts.keys() <= _FLAGS and (values.occurrences >= ENOUGH or not values.quoted):
        return None
    labels = [tuple(words(label)) for label in leaf.labels]
    reason = secret_name(labels, leaf.siblings, of_record=leaf.holder.in_record, shared=leaf.shared)
    if reason:
        return ("drop" if "text" in reason else "identifier"), reason
    reason = _as_id(leaf, labels, records) or _by_values(leaf, value_type, records)
    if reason:
        return "identifier", reason
    last = labels[-1] if labels else ()
    if value_type == "integer" and len(last) > 1 and last[-1] in _REFERRING and values.distinct > _FEW:
        return "drop", "by its name it refers to something elsewhere, whose numbers have no order to generalize by"
    return None


def is_free_text(values: Values) -> bool:
    """Return whether values are long or of many words, all of them or a part."""
    total = values.occurrences
    length = sum(len(text) * times for text, times in values.counts.items()) / total
    many_words = sum(len(text.split()) * times for text, times in values.counts.items()) / total
    long = sum(times for text, times in values.counts.items() if len(text) > 120 or len(text.split()) > 20)
    return length > 60 or many_words > 10 or long > 0.05 * total


def _as_id(leaf: Leaf, labels: list[Words], records: int) -> str:
    """Return why a field is an id by its name, if it is."""
    last, values = labels[-1] if labels else (), leaf.values
    few = values.distinct <= _FEW and values.occurrences >= ENOUGH
    if names_person_id(last):
        return "it is an id of a person"
    # An identifier's own value is one at any number of values; what says of which system it is, is not.
    few_systems = few and last[-1:] not in (("extension",), ("value",))
    if any(names_id(label) and len(label) == 1 for label in labels[:-1]) and not few_systems:
        return "it is part of an identifier"
    if not leaf.holder.in_record:
        return ""
    varied = records < ENOUGH or 2 * values.distinct > values.records
    if varied and (names_id(last) or last[-1:] == ("name",)) and not leaf.shared:
        return "its name says that it tells one record from another"
    if not few and "".join(last) == "name" and not leaf.shared:
        return "its name says that it tells who somebody is"
    return ""


def _by_values(leaf: Leaf, value_type: str, records: int) -> str:
    values = leaf.values
    if value_type == "text" and (reason := secret_shape(values.counts, values.occurrences)):
        return reason
    if values.occurrences < ENOUGH or not _near_unique(values):
        return ""
    own = f"({values.distinct:,} of {values.occurrences:,})"
    if leaf.holder.in_record:
        if _is_identifying_kind(values, value_type):
            return f"nearly every record has a value of its own {own}"
        return ""
    last = tuple(words(leaf.labels[-1])) if leaf.labels else ()
    is_code = value_type == "text" and all(map(_CODE_LIKE.fullmatch, values.counts))
    if value_type in ("text", "integer") and (names_id(last) or is_code):
        return f"nearly every occurrence has a value of its own {own}"
    if (value_type == "text" and values.occurrences >= 2 * ENOUGH) or _is_counter(values, value_type):
        return f"nearly every occurrence has a value of its own {own}"
    return ""


def _near_unique(values: Values) -> bool:
    return values.distinct > 0.9 * values.occurrences


def _is_identifying_kind(values: Values, value_type: str) -> bool:
    """Return whether unique values are identifiers: texts, counters, and long integers that never repeat."""
    if value_type == "integer":
        long = all(len(text.strip().lstrip("+-")) >= 5 for text in values.counts)
        return (long and values.distinct == values.occurrences) or _is_counter(values, value_type)
    return value_type == "text"


def _is_counter(values: Values, value_type: str) -> bool:
    """Return whether integers number what they stand at: none repeats, and few between them are missing."""
    if value_type != "integer" or values.distinct != values.occurrences or values.distinct < ENOUGH:
        return False
    numbers = [int(text) for text in values.counts]
    in_order = numbers == sorted(numbers)
    # ages or weights of few persons may fill their range, too, but do not come in order
    return max(numbers) - min(numbers) < 2 * len(numbers) and (in_order or len(numbers) > 200)


def refers_to(values: Values, ids: frozenset[str]) -> bool:
    """Return whether most values are ids that other fields withhold, alone or at the end of a path.

    >>> values = Values()
    >>> for number in range(10): values.add(f"Patient/{number}", number, quoted=True)
    >>> refers_to(values, frozenset(str(number) for number in range(20)))
    True
    """
    if values.distinct <= _FEW:
        return False
    found = sum(text in ids or text.rpartition("/")[2] in ids for text in values.counts)
    return 2 * found > values.distinct
