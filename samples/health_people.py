"""Invented persons with their visits, from which `make_health.py` makes documents of FHIR and of C-CDA."""

from __future__ import annotations

import hashlib
import uuid
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from health_facts import (
    ALLERGIES,
    CHECKUP,
    ETHNICITIES,
    FAMILY_ENDS,
    GIVEN_ENDS,
    HOUSES,
    ILLNESSES,
    INSURERS,
    LANGUAGES,
    MARITAL,
    MIDDLES,
    PANELS,
    RACES,
    RELATIONS,
    SMOKING,
    SPECIALTIES,
    STARTS,
    STORIES,
    STREETS,
    TOWNS,
    VACCINES,
    VITALS,
    Illness,
    Measure,
)
from make_hospital import Dice

TODAY = date(2024, 6, 30)
FIRST_YEAR = 2014


class Secrets:
    """What must not be in any release, by kind; `add` remembers a text and gives it back."""

    def __init__(self) -> None:
        self.kinds: dict[str, set[str]] = defaultdict(set)

    def add(self, kind: str, text: str) -> str:
        """Remember a secret of that kind."""
        self.kinds[kind].add(text)
        return text

    def all(self, *without: str) -> list[str]:
        """Return all secrets but those of some kinds."""
        return sorted({text for kind, texts in self.kinds.items() if kind not in without for text in texts})

    def found_in(self, text: str, *without: str) -> list[str]:
        """Return those that occur in a text."""
        return [secret for secret in self.all(*without) if secret in text]


@dataclass(frozen=True)
class Address:
    """Where somebody lives or works."""

    street: str
    town: str
    state: str
    zip: str
    phone: str
    mail: str


@dataclass(frozen=True)
class Staff:
    """A member of the staff, who has a role in the house of that number."""

    id: str
    role: str
    npi: str
    given: str
    family: str
    specialty: tuple[str, str]
    house: int
    mail: str

    @property
    def name(self) -> str:
        """The name as it is written beside references."""
        return f"Dr. {self.given} {self.family}"


@dataclass(frozen=True)
class House:
    """A hospital or a practice, with the id of its place."""

    id: str
    place: str
    npi: str
    name: str
    kind: str
    address: Address


@dataclass(frozen=True)
class Relative:
    """Somebody of the person's family."""

    id: str
    given: str
    family: str
    relation: tuple[str, str]
    phone: str

    @property
    def name(self) -> str:
        """Given and family name."""
        return f"{self.given} {self.family}"


@dataclass
class Visit:
    """What happened on a day: why, who and where, what was found and done."""

    number: int
    start: datetime
    end: datetime
    kind: str
    reason: Illness
    found: list[Illness]
    house: House
    staff: Staff
    vitals: list[tuple[Measure, float]]
    pressure: tuple[int, int]
    panels: list[tuple[str, list[tuple[Measure, float]]]]
    vaccine: tuple[str, str, str] | None
    story: str


@dataclass
class Person:
    """Everything that is known of a person."""

    seed: int
    number: int
    secrets: Secrets
    given: str
    middle: str
    family: str
    maiden: str
    sex: str
    born: date
    died: date | None
    race: tuple[str, str]
    ethnicity: tuple[str, str]
    language: tuple[str, str]
    marital: tuple[str, str]
    address: Address
    ssn: str
    mrn: str
    license: str
    passport: str
    member: str
    device: str
    insurer: str
    relative: Relative
    gp: Staff
    gp_house: House
    smoking: tuple[str, str]
    allergies: list[tuple[tuple[str, str, str], date]]
    visits: list[Visit] = field(default_factory=list)

    def id(self, *parts: object) -> str:
        """Return the id of a thing of this person: the same for the same parts, and a secret."""
        return made_id(self.secrets, self.seed, self.number, *parts)

    @property
    def name(self) -> str:
        """Given and family name."""
        return f"{self.given} {self.family}"


def made_id(secrets: Secrets, *parts: object) -> str:
    """Return a UUID that follows from the parts."""
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return secrets.add("id", str(uuid.UUID(bytes=digest[:16], version=4)))


class Makers:
    """Chance with the things that are made of it; whatever identifies somebody is remembered."""

    def __init__(self, seed: int, secrets: Secrets) -> None:
        self.dice = Dice(seed)
        self.secrets = secrets
        self._taken: set[str] = set()

    def given(self, sex: str) -> str:
        """Return a given name."""
        dice = self.dice
        return self.secrets.add("name", dice.any(STARTS) + dice.any(MIDDLES) + dice.any(GIVEN_ENDS[sex]))

    def family(self) -> str:
        """Return a family name."""
        dice = self.dice
        return self.secrets.add("name", dice.any(STARTS) + dice.any(MIDDLES) + dice.any(FAMILY_ENDS))

    def number(self, kind: str, digits: int, before: str = "") -> str:
        """Return a number that nobody else has."""
        while (text := f"{before}{10 ** (digits - 1) + self.dice.below(9 * 10 ** (digits - 1))}") in self._taken:
            pass
        self._taken.add(text)
        return self.secrets.add(kind, text)

    def ssn(self) -> str:
        """A number of a form that is issued to nobody: nine hundred and something, and a zero group."""
        while (text := f"9{self.dice.below(100):02}-00-{1 + self.dice.below(9999):04}") in self._taken:
            pass
        self._taken.add(text)
        return self.secrets.add("ssn", text)

    def phone(self) -> str:
        """Return a phone number."""
        return self.secrets.add("phone", f"555-{100 + self.dice.below(900)}-{1000 + self.dice.below(9000)}")

    def mail(self, given: str, family: str) -> str:
        """Return a mail address."""
        text = f"{given}.{family}{self.dice.below(1000)}@post.example".lower()
        return self.secrets.add("mail", text)

    def address(self, given: str, family: str) -> Address:
        """Return an address with phone and mail."""
        dice = self.dice
        town, state, zips = dice.tail(TOWNS)
        street = self.secrets.add("address", f"{100 + dice.below(900)} {dice.any(STREETS)}")
        code = self.secrets.add("zip", dice.tail(zips))
        self.secrets.add("town", town)
        return Address(street, town, state, code, self.phone(), self.mail(given, family))

    def amount(self, measure: Measure) -> float:
        """Return a measured value."""
        scale = 10**measure.digits
        value = measure.low * scale + self.dice.below((measure.high - measure.low) * scale)
        return value / scale if measure.digits else value


def houses(makers: Makers, seed: int) -> tuple[list[House], list[Staff]]:
    """Return the hospitals and practices, and who works there."""
    found, staff = [], []
    for number, (name, kind) in enumerate(HOUSES):
        made = makers.address("desk", f"house{number}")
        ids = [made_id(makers.secrets, seed, what, number) for what in ("house", "place")]
        found.append(House(*ids, makers.number("npi", 10), name, kind, made))
        for seat in range(2):
            given, family = makers.given(makers.dice.any("FM")), makers.family()
            who, role = (made_id(makers.secrets, seed, what, number, seat) for what in ("staff", "role"))
            specialty = makers.dice.any(SPECIALTIES)
            mail = makers.mail(given, family)
            staff.append(Staff(who, role, makers.number("npi", 10), given, family, specialty, number, mail))
    return found, staff


def people(persons: int, seed: int, visits: float, secrets: Secrets) -> Iterator[Person]:
    """Make persons one by one, each with about that many visits."""
    makers = Makers(seed, secrets)
    places, staff = houses(makers, seed)
    for number in range(persons):
        one = _person(makers, seed, number, places, staff)
        _add_visits(makers, one, places, staff, visits)
        yield one


def _weighted(dice: Dice, rows: Sequence[tuple[str, str, int]]) -> tuple[str, str]:
    code, name, _ = dice.pick(rows, [row[2] for row in rows])
    return code, name


def _person(makers: Makers, seed: int, number: int, places: list[House], staff: list[Staff]) -> Person:
    dice, secrets = makers.dice, makers.secrets
    sex = dice.pick("FM", (53, 47))
    born = TODAY - timedelta(days=365 * 2 + dice.below(365 * 88))
    secrets.add("day", born.isoformat())
    given, family = makers.given(sex), makers.family()
    id_of_relative = made_id(secrets, seed, number, "relative")
    kin = Relative(id_of_relative, makers.given(dice.any("FM")), family, dice.any(RELATIONS), makers.phone())
    died = TODAY - timedelta(days=dice.below(300)) if dice.below(25) == 0 else None
    allergies = [
        (one, born + timedelta(days=300 + dice.below(900)))
        for one in sorted({dice.tail(ALLERGIES) for _ in range(dice.pick((0, 1, 2), (60, 28, 12)))})
    ]
    insurer = dice.pick([name for name, _ in INSURERS], [weight for _, weight in INSURERS])
    gp = dice.any(staff)
    return Person(
        seed, number, secrets, given, makers.given(sex), family, makers.family(), sex, born, died,
        _weighted(dice, RACES), _weighted(dice, ETHNICITIES), _weighted(dice, LANGUAGES), dice.any(MARITAL),
        makers.address(given, family), makers.ssn(), makers.number("mrn", 8, "MRN"), makers.number("license", 8, "S"),
        makers.number("passport", 8, "X"), makers.number("member", 9, "H"), makers.number("device", 11), insurer,
        kin, gp, places[gp.house], dice.tail(SMOKING), allergies,
    )  # fmt: skip


def _illness(makers: Makers, one: Person, when: date, known: list[Illness]) -> Illness:
    age = (when - one.born).days // 365
    band = 0 if age < 18 else 1 if age < 55 else 2
    fitting = [each for each in ILLNESSES if each.sex in ("", one.sex) and each.ages[band]]
    weights = [each.ages[band] ** 2 * (12 if each in known and each.chronic else 1) for each in fitting]
    return makers.dice.pick(fitting, weights)


def _add_visits(makers: Makers, one: Person, places: list[House], staff: list[Staff], mean: float) -> None:
    dice = makers.dice
    least = max(1, round(mean / 2))
    count = least + dice.below(max(1, round(2 * (mean - least)) + 1))
    last = one.died or TODAY
    first = max(one.born + timedelta(days=10), date(FIRST_YEAR, 1, 1))
    span = max(1, (last - first).days)
    days = sorted(first + timedelta(days=dice.below(span)) for _ in range(count))
    known: list[Illness] = []
    for number, day in enumerate(days):
        one.visits.append(_visit(makers, one, number, day, places, staff, known))


def _visit(
    makers: Makers, one: Person, number: int, day: date, places: list[House], staff: list[Staff], known: list[Illness]
) -> Visit:
    dice = makers.dice
    found = [] if dice.below(5) == 0 else [_illness(makers, one, day, known)]
    if found and dice.below(5) == 0:
        other = _illness(makers, one, day, known)
        found += [other] if other not in found else []
    # a chronic illness is a new condition on the first visit alone
    reason = found[0] if found else CHECKUP
    found = [each for each in found if each not in known or not each.chronic]
    known += found
    heavy = any({"stent", "delivery", "appendectomy", "gallbladder-surgery"} & set(each.procedures) for each in found)
    kind = "IMP" if heavy else dice.pick(("AMB", "EMER", "VR"), (80, 14, 6))
    start = datetime(day.year, day.month, day.day, 7 + dice.below(11), 5 * dice.below(12), dice.below(60))
    lasts = timedelta(days=1 + dice.below(6)) if kind == "IMP" else timedelta(minutes=15 * (1 + dice.below(4)))
    doctor = one.gp if kind in ("AMB", "VR") and dice.below(4) else dice.any(staff)
    names = sorted({each.panel for each in (*found, reason) if each.panel})
    panels = [(name, [(each, makers.amount(each)) for each in PANELS[name][2]]) for name in names]
    for each in (start, start + lasts):
        makers.secrets.add("day", each.date().isoformat())
    told = dice.any(STORIES).format(relative=one.relative.name, phone=one.relative.phone, doctor=doctor.name)
    story = makers.secrets.add("narrative", f"{one.name} {told} ({day:%B} {day.day}, {day.year}).")
    return Visit(
        number, start, start + lasts, kind, reason, found, places[doctor.house], doctor,
        [(each, makers.amount(each)) for each in VITALS[: 2 + dice.below(len(VITALS) - 1)]],
        (100 + dice.below(65), 62 + dice.below(39)), panels,
        dice.tail(VACCINES) if kind == "AMB" and dice.below(3) == 0 else None, story,
    )  # fmt: skip
