"""Plugins: found by entry points, loaded when asked for; a broken or clashing one is named in the error."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.plugins import installed, make_package
from treeanon.algorithms.table.registry import TABLE_ALGORITHMS
from treeanon.algorithms.tree.registry import TREE_ALGORITHMS
from treeanon.errors import UsageError
from treeanon.formats import FORMATS, PROFILES
from treeanon.plugins import Registry, plugins
from treeanon.privacy.models.registry import MODELS

GROUP = "treeanon.tests"


def numbers() -> Registry[int]:
    return Registry(GROUP, int, "number", {"one": 1})


def package(folder: Path, name: str, value: str, text: str) -> Path:
    return make_package(folder, folder.name, {GROUP: {name: value}}, {f"{value.split(':')[0]}.py": text})


def test_found_by_name_and_loaded_when_asked_for(tmp_path: Path) -> None:
    with installed(package(tmp_path / "first", "two", "plugged_two:NUMBER", "NUMBER = 2\n")):
        found = numbers()
        assert list(found) == ["one", "two"] and len(found) == 2 and "two" in found
        assert "plugged_two" not in sys.modules
        assert found.named("two") == 2 and "plugged_two" in sys.modules
    assert list(numbers()) == ["one"] and "plugged_two" not in sys.modules


def test_every_registry_has_the_group_that_packages_use() -> None:
    groups = {
        "treeanon.formats": [FORMATS],
        "treeanon.profiles": [PROFILES],
        "treeanon.models": [MODELS],
        "treeanon.algorithms": [TREE_ALGORITHMS, TABLE_ALGORITHMS],
    }
    for group, registries in groups.items():
        assert [registry.group for registry in registries] == [group] * len(registries)


def test_unknown_name_lists_plugins_too(tmp_path: Path) -> None:
    with (
        installed(package(tmp_path / "first", "two", "plugged_two:NUMBER", "NUMBER = 2\n")),
        pytest.raises(UsageError, match="unknown number 'six'; choose from one, two"),
    ):
        numbers().named("six")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("two", "raise ValueError('no such thing')\n", r"cannot be loaded from plugged:NUMBER \(ValueError: no such"),
        ("two", "", r"cannot be loaded from plugged:NUMBER \(AttributeError"),
        ("two", "NUMBER = 'two'\n", "is no int, which every number must be"),
        ("one", "NUMBER = 1\n", "has the name of a number of treeanon itself"),
    ],
)
def test_broken_plugin_is_named(tmp_path: Path, name: str, text: str, message: str) -> None:
    with (
        installed(package(tmp_path / "first", name, "plugged:NUMBER", text)),
        pytest.raises(UsageError, match=f"entry point '{name}' in {GROUP} of package 'first' {message}"),
    ):
        numbers().named("two")


def test_object_calls_itself_otherwise(tmp_path: Path) -> None:
    text = "class Number(int):\n    name = 'deux'\n\nNUMBER = Number(2)\n"
    with (
        installed(package(tmp_path / "first", "two", "plugged:NUMBER", text)),
        pytest.raises(UsageError, match=r"entry point 'two' .*calls itself 'deux'"),
    ):
        numbers().named("two")


def test_two_packages_of_one_name_clash(tmp_path: Path) -> None:
    first = package(tmp_path / "first", "two", "plugged_a:NUMBER", "NUMBER = 2\n")
    second = package(tmp_path / "second", "two", "plugged_b:NUMBER", "NUMBER = 2\n")
    with installed(first, second), pytest.raises(UsageError, match=r"clashes with entry point 'two' .* uninstall"):
        plugins(GROUP)
