"""What the ids and references of documents say beyond which object lies in which."""

from __future__ import annotations

from treeanon.io.beyond.findings import Findings
from treeanon.schema import Schema
from treeanon.schema.reference_forms import number_of
from treeanon.schema.references import tied

Key = tuple[int, int | str]
"""The class of an id, and its number; its text, if it is none."""


class KeyTexts:
    """Reader of the ids and references of records: each is told by where it first stands in its record.

    Counted are ids that are no numbers from 1 to that of all ids, that occur in two records, or that nothing refers to,
    and references to nothing.
    """

    def __init__(self, schema: Schema, found: Findings) -> None:
        self.found = found
        ties = tied(schema).ties if schema.references else ()
        self.called = {tie.target_class: (tie.target_class, tie.called) for tie in ties}
        self.signs = {tie.source_class: (tie.target_class, tie.sign) for tie in ties}
        self.numbers: set[Key] = set()
        self._open()

    def _open(self) -> None:
        self.places: dict[Key, int] = {}
        self.named: set[Key] = set()
        self.asked: set[Key] = set()

    def text(self, held: int, text: str) -> str:
        """Return what is to be compared of a value of a class."""
        form = self.called.get(held, self.signs.get(held))
        if form is None:
            return text
        number = number_of(form[1], text)
        key = form[0], text if number is None else number
        (self.named if held in self.called else self.asked).add(key)
        return str(self.places.setdefault(key, len(self.places) + 1))

    def end_record(self) -> None:
        """Count what is found in a record that ends."""
        if not self.called:
            return
        numbers = {key for key in self.named if isinstance(key[1], int)}
        strange = sum(not isinstance(name, int) for _, name in self.named | self.asked)
        self.found.add("keys", strange + len(numbers & self.numbers) + len(self.named ^ self.asked))
        self.numbers |= numbers
        self._open()

    def end(self) -> None:
        """Count what is found in all records."""
        self.found.add("keys", sum(isinstance(name, int) and name > len(self.numbers) for _, name in self.numbers))
