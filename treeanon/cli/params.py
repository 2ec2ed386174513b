"""Parameters of single searches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from treeanon.algorithms.table.options import OPTIONS, FlatOption
from treeanon.cli.options import F


def search_options(*taken: str) -> Callable[[F], F]:
    """Options of the searches of tables, but for those of these names, which the command has already."""

    def add(command: F) -> F:
        for option in reversed(OPTIONS.values()):
            if option.name not in taken:
                command = _search_option(option)(command)
        return command

    return add


def _search_option(option: FlatOption) -> Callable[[F], F]:
    takers = ", ".join(_takers(option.name))
    text = f"{takers}: {option.help}." if takers else f"{option.help}."
    if option.kind == "flag":
        return click.option(option.flag, option.name, is_flag=True, default=None, help=text)
    kinds: dict[str, Any] = {"choice": click.Choice(option.choices), "whole": int, "number": float, "text": str}
    metavar = {"choice": None, "whole": "N", "number": "X", "text": "TEXT"}[option.kind]
    return click.option(option.flag, option.name, type=kinds[option.kind], metavar=option.metavar or metavar, help=text)


def _takers(name: str) -> list[str]:
    from treeanon.algorithms.table.registry import FLAT_ALGORITHMS

    return [algorithm.name for algorithm in FLAT_ALGORITHMS.values() if name in algorithm.options]
