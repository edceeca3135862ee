"""Definitions in Python source: from its syntax tree, or by indentation if it does not parse."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from bylaw.grounding.evidence.definitions import SourceDefinitions

_HEAD: Final = re.compile(
    r"^(?P<indent>[ \t]*)(?:async[ \t]+)?(?P<word>def|class)[ \t]+(?P<name>[^\W\d]\w*)"
    r"(?:[ \t]*\((?P<bases>[^():=\n]*)\))?",
    re.MULTILINE,
)
_SET: Final = re.compile(r"^(?P<name>[^\W\d]\w*)[ \t]*(?::[^=\n]+)?=(?!=)", re.MULTILINE)
_OWN: Final = re.compile(r"\bself\.(?P<name>[^\W\d]\w*)[ \t]*(?::[^=\n]+)?=(?!=)")
_UNREADABLE: Final = (SyntaxError, ValueError, RecursionError, MemoryError)


def defined_in_python(readings: Iterable[str]) -> SourceDefinitions:
    """The definitions of the first reading that parses; of all readings, if none does."""
    found: set[str] = set()
    bases: dict[str, tuple[str, ...]] = {}
    for text in readings:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # odd escapes in the source do not matter
                tree = ast.parse(text)
        except _UNREADABLE:
            torn = _by_indentation(text)
            found |= torn.names
            bases |= torn.bases
            continue
        visitor = _Visitor()
        visitor.read(tree)
        return SourceDefinitions(frozenset(visitor.names), visitor.bases)
    return SourceDefinitions(frozenset(found), bases)


class _Visitor:
    """Collects definitions, iteratively, so that nesting depth is not limited."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.bases: dict[str, tuple[str, ...]] = {}

    def read(self, tree: ast.Module) -> None:
        # Each statement, the names around it, and the class that `self` is of.
        pending: list[tuple[ast.AST, tuple[str, ...], str | None]] = [(tree, (), None)]
        while pending:
            node, around, owner = pending.pop()
            match node:
                case ast.ClassDef(name=name, bases=bases):
                    self.define(name, around)
                    self.bases[name.casefold()] = tuple(_last_names(bases))
                    around, owner = (*around, name), name
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    self.define(name, around)
                    around = (*around, name)
                case ast.Assign(targets=targets):
                    self.assign(targets, around, owner)
                case ast.AnnAssign(target=target):
                    self.assign([target], around, owner)
            pending.extend((child, around, owner) for child in _statements_in(node))

    def define(self, name: str, around: tuple[str, ...]) -> None:
        self.names.add(name.casefold())
        if around:
            self.names.add(f"{around[-1]}.{name}".casefold())
            self.names.add(".".join((*around, name)).casefold())

    def assign(self, targets: list[ast.expr], around: tuple[str, ...], owner: str | None) -> None:
        pending = list(targets)
        while pending:
            match pending.pop():
                case ast.Tuple(elts=parts) | ast.List(elts=parts):
                    pending += parts
                case ast.Starred(value=part):
                    pending.append(part)
                case ast.Name(id=name):
                    self.define(name, around)
                case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name) if owner:
                    self.define(name, (owner,))


def _statements_in(node: ast.AST) -> Iterator[ast.AST]:
    """The statements directly inside a statement. Expressions define nothing of interest."""
    for block in ("body", "orelse", "finalbody", "handlers", "cases"):
        found = getattr(node, block, ())
        yield from found if isinstance(found, list) else ()


def _last_names(bases: list[ast.expr]) -> Iterator[str]:
    for base in bases:
        match base.value if isinstance(base, ast.Subscript) else base:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                yield name.casefold()


def class_blocks(text: str, name: str) -> Iterator[str]:
    """The bodies of the classes with this name."""
    head = f"class {name}"
    at = text.find(head)
    while at >= 0:
        margin = text[text.rfind("\n", 0, at) + 1 : at]
        start = at + len(head)
        if not margin.strip() and text[start : start + 1] in ("(", ":", " ", "["):
            end = _outdented(len(margin)).search(text, start)
            yield text[start : end.start() if end else len(text)]
        at = text.find(head, start)


@lru_cache(maxsize=100)
def _outdented(margin: int) -> re.Pattern[str]:
    """A line indented no further than this; brackets and comments do not count."""
    return re.compile(rf"\n[ \t]{{0,{margin}}}[^\s#)]")


def _by_indentation(text: str) -> SourceDefinitions:
    """The definitions, judged by how lines begin: enough for a single page or a draft."""
    found = {match["name"].casefold() for match in _SET.finditer(text)}
    bases: dict[str, tuple[str, ...]] = {}
    classes: list[tuple[int, str]] = []
    heads = [*_HEAD.finditer(text), *_OWN.finditer(text)]
    for head in sorted(heads, key=lambda match: match.start()):
        name = head["name"].casefold()
        if head.re is _OWN:
            found |= {name, *(f"{around}.{name}" for _, around in classes[-1:])}
            continue
        depth = len(head["indent"].expandtabs())
        while classes and classes[-1][0] >= depth:
            classes.pop()
        found |= {name, *(f"{around}.{name}" for _, around in classes[-1:])}
        if head["word"] == "class":
            classes.append((depth, name))
            derived = re.split(r"[,\s]+", head["bases"] or "")
            bases[name] = tuple(base.rpartition(".")[2].casefold() for base in derived if base)
    return SourceDefinitions(frozenset(found), bases)
