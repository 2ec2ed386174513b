"""Secrets planted in invented data: each is remembered, so that a test can look for it in what is released."""

from __future__ import annotations

import hashlib
import random
import uuid

_GIVEN = ["Abelard", "Brunhild", "Cosima", "Dagobert", "Eulalia", "Fridolin", "Gisela", "Hadrian", "Isolde", "Jeronimo"]
_FAMILY = ["Quarzhaus", "Wolkenstein", "Xylander", "Yperdorf", "Zwickmuehl", "Vogelsberg", "Uhlenbrock", "Tannengrund"]
_STREETS = ["Brombeerweg", "Distelgasse", "Erlenallee", "Fichtenpfad", "Ginsterstieg"]
_TALES = ["was seen limping", "spoke of the lighthouse", "kept bees until spring", "asked for the red blanket"]


class Planted:
    """A maker of names, mails, hashes, ids and tales that occur nowhere else; `all` has each of them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.all: set[str] = set()

    def keep(self, text: str) -> str:
        self.all.add(text)
        return text

    def given(self) -> str:
        return self.keep(self.random.choice(_GIVEN) + str(self.random.randrange(10, 99)))

    def family(self) -> str:
        return self.keep(self.random.choice(_FAMILY) + str(self.random.randrange(10, 99)))

    def few_names(self) -> str:
        """One of two names: as few as a small practice has doctors."""
        return self.keep(self.random.choice(["Theophil Zwirbeldiek", "Sieglinde Pfauenfeder"]))

    def mail(self) -> str:
        return self.keep(f"{self.random.choice(_GIVEN).lower()}.{self.random.randrange(10**6)}@post.example")

    def phone(self) -> str:
        return self.keep(f"+49 {self.random.randrange(100, 999)} {self.random.randrange(10**6, 10**7)}")

    def street(self) -> str:
        return self.keep(f"{self.random.choice(_STREETS)} {self.random.randrange(100, 999)}")

    def uuid(self) -> str:
        return self.keep(str(uuid.UUID(int=self.random.getrandbits(128), version=4)))

    def number(self, digits: int = 9) -> str:
        return self.keep(str(self.random.randrange(10 ** (digits - 1), 10**digits)))

    def ssn(self) -> str:
        parts = self.random.randrange(100, 999), self.random.randrange(10, 99), self.random.randrange(1000, 9999)
        return self.keep("{}-{}-{}".format(*parts))

    def hash(self) -> str:
        return self.keep(hashlib.sha1(self.random.randbytes(8)).hexdigest())

    def ip(self) -> str:
        return self.keep(".".join(str(self.random.randrange(100, 255)) for _ in range(4)))

    def url(self) -> str:
        return self.keep(f"https://files.example/portrait/{self.random.getrandbits(48):x}.png")

    def tale(self) -> str:
        """A sentence as narratives have it."""
        return self.keep(f"Patient {self.random.getrandbits(40):x} {self.random.choice(_TALES)}")

    def found_in(self, text: str) -> list[str]:
        """Return those that occur in a text."""
        return sorted(secret for secret in self.all if secret in text)
