"""The public namespace: what it exports, that nothing is missing from it, and that it is cheap."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import inspect
import subprocess
import sys
from collections.abc import Iterator
from functools import cached_property
from typing import Any, TypeVar

import pytest

import bylaw

INTERNAL = {"CheckedTrace", "Evaluation", "Json", "Missing", "Narrator", "Span", "Value", "View"}
"""JSON values are of Python's own types, and MISSING is the one value of its class. Diagnostics are
made from spans, outcomes from values, and results from a checked trace, its views, its evaluations
and those who narrate them."""


def test_every_public_name_resolves_to_what_its_module_calls_it() -> None:
    for name in bylaw.__all__:
        value = getattr(bylaw, name)
        assert value is getattr(sys.modules[bylaw._HOMES[name]], name)


def test_the_names_are_sorted_and_listed_once() -> None:
    assert bylaw.__all__ == sorted(bylaw._HOMES, key=lambda name: (not name.isupper(), name))
    assert set(bylaw.__all__) <= set(dir(bylaw))


def _annotations(thing: Any) -> Iterator[tuple[Any, str]]:
    """The annotations that a user of a public class or function meets, with where they stand."""
    if inspect.isfunction(thing):
        written = thing.__annotations__.values()
        yield from ((thing, text) for text in written if isinstance(text, str))
        return
    if not inspect.isclass(thing):
        return
    if dataclasses.is_dataclass(thing):
        fields = dataclasses.fields(thing)
        yield from ((thing, str(field.type)) for field in fields if not field.name.startswith("_"))
    for name, member in vars(thing).items():
        if isinstance(member, property):
            member = member.fget
        elif isinstance(member, cached_property):
            member = member.func
        elif isinstance(member, classmethod | staticmethod):
            member = member.__func__
        shown = name == "__init__" or not name.startswith("_")
        if shown and inspect.isfunction(member) and member.__module__.startswith("bylaw"):
            yield from _annotations(member)


def _names(text: str) -> Iterator[str]:
    for part in ast.walk(ast.parse(text, mode="eval")):
        if isinstance(part, ast.Attribute):
            yield part.attr
        elif isinstance(part, ast.Name) and part.id.casefold() != part.id:
            yield part.id


def _is_ours(name: str, where: Any) -> bool:
    """Is the name one that Bylaw gives to a type?"""
    if hasattr(builtins, name):
        return False
    value = vars(sys.modules[where.__module__]).get(name)  # None: imported for type checkers only
    if isinstance(value, TypeVar):
        return False
    return getattr(value, "__module__", "bylaw").partition(".")[0] in ("bylaw", "typing", "types")


@pytest.mark.parametrize("name", bylaw.__all__)
def test_every_type_in_the_annotations_of_the_api_is_exported(name: str) -> None:
    meant = getattr(bylaw, name)
    typing_names = {"Any", "Callable", "Final", "Iterable", "Iterator", "Literal", "Self"}
    needed = {
        found
        for where, text in _annotations(meant)
        for found in _names(text)
        if _is_ours(found, where)
    }
    assert needed - typing_names - INTERNAL <= set(bylaw.__all__)


def test_every_public_exception_is_exported() -> None:
    pending, found = [bylaw.BylawError], set()
    while pending:
        error = pending.pop()
        found.add(error.__name__)
        pending += [each for each in error.__subclasses__() if each.__module__.startswith("bylaw")]
    assert {name for name in found if not name.startswith("_")} <= set(bylaw.__all__)


HEAVY = ("asyncio", "dataclasses", "inspect", "jmespath", "logging", "numpy", "ssl")
"""`bylaw.frozen` does what `dataclasses` does, and the others are imported when they are needed."""


def test_importing_and_loading_need_nothing_heavy() -> None:
    code = (
        "import sys; from bylaw import Guard, Procedure;"
        "Procedure.from_dict({'constraints': [{'name': 'n', 'rule': 'G(pay -> O verify)'}]});"
        f"print({{*{HEAVY}}} & {{*sys.modules}})"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"
