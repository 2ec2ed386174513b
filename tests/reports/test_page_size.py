"""Internal pages stay small: of large documents changed parts are shown, and the others are counted."""

from __future__ import annotations

from typing import Any

import pytest

from treeanon.previews.model import Part, Value
from treeanon.reports.page import internal
from treeanon.reports.page.elements import text_of


def value(text: str, *, changed: bool) -> Part:
    changes = frozenset({"generalized"}) if changed else frozenset()
    return Part('"code": ', Value(text, "*" if changed else text, changes, is_own=True))  # type: ignore[arg-type]


def items(count: int, changed: set[int]) -> Part:
    parts = tuple(
        Part("{", parts=(value(f"V{at}", changed=at in changed), value(f"W{at}", changed=False)), trail="}")
        for at in range(count)
    )
    return Part("{", parts=(Part('"entry": [', parts=parts, trail="]"),), trail="}")


class Record:
    number = 0


class Json:
    class input:
        slashed = False


def shown(monkeypatch: pytest.MonkeyPatch, part: Part, room: int) -> str:
    monkeypatch.setattr(internal, "document_of", lambda *_: part)
    record: Any = Record()
    schema: Any = Json()
    found = internal.document(record, schema, room)
    assert found is not None
    return text_of(found)


def test_small_documents_are_shown_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, items(20, {3}), 200)
    assert all(f"V{at}<" in text and f"W{at}<" in text for at in range(20)) and "more:" not in text


def test_of_large_ones_changed_parts_come_first_and_the_rest_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, items(1000, {5, 990}), 200)
    assert "V5<" in text and "V990<" in text and "V999<" not in text
    assert text.count("</bdi>") < 220
    drawn = sum(f"V{at}<" in text for at in range(1000))
    assert f"… {1000 - drawn:,} parts more: {2 * (1000 - drawn):,} values, 0 changed" in text
    assert "2,000 values, 2 changed" in text, "a part that is shown counts all that it has"


def test_more_changes_than_there_is_room_for_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, items(1000, set(range(1000))), 200)
    drawn = sum(f"V{at}<" in text for at in range(1000))
    assert 40 < drawn < 80 and f"{1000 - drawn:,} changed" in text
