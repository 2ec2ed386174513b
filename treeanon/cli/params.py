"""Parameters of single searches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from treeanon.algorithms.algorithm import merged_parameters
from treeanon.algorithms.parameters import Parameter
from treeanon.algorithms.table.registry import TABLE_ALGORITHMS
from treeanon.cli.options import F

OPTIONS = merged_parameters(TABLE_ALGORITHMS.built_in.values())


def search_options(*taken: str) -> Callable[[F], F]:
    """Options of the searches of tables, but for those of these names, which the command has already."""

    def add(command: F) -> F:
        for option in reversed(OPTIONS.values()):
            if option.name not in taken:
                command = _search_option(option)(command)
        return command

    return add


def _search_option(option: Parameter) -> Callable[[F], F]:
    flag = "--" + option.name.replace("_", "-")
    text = f"{', '.join(_takers(option.name))}: {option.help}"
    if option.kind == "flag":
        return click.option(flag, option.name, is_flag=True, default=None, help=text)
    kinds: dict[str, Any] = {"choice": click.Choice(option.choices), "int": int, "float": float}
    metavar = {"choice": None, "int": "N", "float": "X"}.get(option.kind, "CLASSES")
    return click.option(flag, option.name, type=kinds.get(option.kind, str), metavar=metavar, help=text)


def _takers(name: str) -> list[str]:
    return [algorithm.name for algorithm in TABLE_ALGORITHMS.built_in.values() if algorithm.takes(name)]
