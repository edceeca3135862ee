"""Definitions in C and C++ source: from libclang if it is installed, else by shape."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import import_module
from typing import Any, Final

from bylaw.grounding.evidence.definitions import SourceDefinitions, by_lines

_C_ONLY: Final = "c"
_NAME: Final = r"[^\W\d]\w*"
_FUNCTION: Final = re.compile(
    rf"^(?![ \t]*(?:return|else|if|for|while|switch|case|new|delete|throw|typedef|using|\#))"
    rf"[\w:&*<>,~\[\] \t]{{0,200}}?(?P<name>(?:{_NAME}::)*~?{_NAME})[ \t]*"
    r"\([^;{}()]{0,2000}(?:\([^;{}()]{0,200}\)[^;{}()]{0,200}){0,9}\)[^;{}()=]{0,200}(?=[{;])",
    re.MULTILINE,
)
_MACRO: Final = re.compile(rf"^[ \t]*\#[ \t]*define[ \t]+(?P<name>{_NAME})", re.MULTILINE)
_ALIAS: Final = re.compile(rf"^[ \t]*typedef[^;{{}}\n]*?\b(?P<name>{_NAME})[ \t]*;", re.MULTILINE)
_NAMED_AFTER_BODY: Final = re.compile(rf"\}}[ \t]*(?P<name>{_NAME})[ \t]*;")
_CLASS: Final = re.compile(
    rf"\b(?:class|struct)[ \t]+(?P<name>{_NAME})[ \t\w]{{0,99}}"
    rf"(?::(?P<bases>[^{{;:]{{0,999}}))?\s{{0,99}}\{{"
)
_STATEMENTS: Final = frozenset(("if", "for", "while", "switch", "return", "sizeof", "catch"))


def defined_in_c(text: str, extension: str) -> SourceDefinitions:
    """The definitions of a file. Declarations count, because headers contain them."""
    clang = _clang()
    if clang is None:
        return _by_shape(text)
    language = "c" if extension == _C_ONLY else "c++"
    return _by_clang(clang, text, language)


# ── libclang ──────────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=1)
def _clang() -> Any:
    """The bindings, if they and their library are installed."""
    try:
        clang = import_module("clang.cindex")
        clang.Index.create()
    except Exception:  # without its library, the package raises its own error type
        return None
    return clang


_DEFINING: Final = """
    CLASS_DECL CLASS_TEMPLATE CONSTRUCTOR CXX_METHOD DESTRUCTOR ENUM_CONSTANT_DECL ENUM_DECL
    FIELD_DECL FUNCTION_DECL FUNCTION_TEMPLATE MACRO_DEFINITION NAMESPACE STRUCT_DECL TYPEDEF_DECL
    TYPE_ALIAS_DECL UNION_DECL VAR_DECL
"""
_KINDS: Final = frozenset(_DEFINING.split())
_CLASSES: Final = frozenset(("CLASS_DECL", "STRUCT_DECL", "CLASS_TEMPLATE"))
_KEEP_GOING: Final = 0x200
"""Continue after a missing header; here most headers are missing."""


def _by_clang(clang: Any, text: str, language: str) -> SourceDefinitions:
    unit_type = clang.TranslationUnit
    options = unit_type.PARSE_DETAILED_PROCESSING_RECORD | unit_type.PARSE_SKIP_FUNCTION_BODIES
    options |= unit_type.PARSE_INCOMPLETE | _KEEP_GOING
    try:
        unit = clang.Index.create().parse(
            "source", args=["-x", language], unsaved_files=[("source", text)], options=options
        )
    except clang.TranslationUnitLoadError:
        return _by_shape(text)
    found: set[str] = set()
    bases: dict[str, tuple[str, ...]] = {}
    pending = [(cursor, "") for cursor in unit.cursor.get_children()]
    while pending:
        cursor, around = pending.pop()
        place, name = cursor.location.file, cursor.spelling
        if place is None or place.name != "source":
            continue
        if cursor.kind.name in _KINDS and name:
            owner = cursor.semantic_parent
            outside = owner.spelling if owner is not None and owner.kind.name in _KINDS else around
            found.add(name.casefold())
            if outside:
                found.add(f"{outside}.{name}".casefold())
        if cursor.kind.name in _CLASSES:
            derived = (c for c in cursor.get_children() if c.kind.name == "CXX_BASE_SPECIFIER")
            bases[name.casefold()] = tuple(_last_word(each.spelling) for each in derived)
        pending.extend((child, name or around) for child in cursor.get_children())
    # A method whose class is in an unread header has no parent, but its shape names the class.
    return SourceDefinitions(frozenset(found) | _members(text), bases)


# ── by shape ──────────────────────────────────────────────────────────────────────────────


def _by_shape(text: str) -> SourceDefinitions:
    """The definitions, judged by their shape."""
    found = set(by_lines(text).names) | _members(text)
    bases: dict[str, tuple[str, ...]] = {}
    for pattern in (_MACRO, _ALIAS, _NAMED_AFTER_BODY):
        found |= {match["name"].casefold() for match in pattern.finditer(text)}
    for match in _CLASS.finditer(text):
        name = match["name"].casefold()
        found.add(name)
        bases[name] = tuple(map(_last_word, match["bases"].split(","))) if match["bases"] else ()
        for inner in _FUNCTION.finditer(_block(text, match.end())):
            found |= {inner["name"].casefold(), f"{name}.{inner['name']}".casefold()}
    return SourceDefinitions(frozenset(found - _STATEMENTS), bases)


def _members(text: str) -> frozenset[str]:
    """Functions, and methods that name their class, as in `int Parser::parse() {`."""
    found: set[str] = set()
    for match in _FUNCTION.finditer(text):
        around, _, name = match["name"].casefold().rpartition("::")
        found.add(name)
        if around:
            found.add(f"{around.rpartition('::')[2]}.{name}")
    return frozenset(found - _STATEMENTS)


def _block(text: str, start: int) -> str:
    """The text of a block whose opening brace ends at `start`."""
    depth = 1
    for brace in re.finditer(r"[{}]", text[start:]):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return text[start : start + brace.start()]
    return text[start:]


def _last_word(base: str) -> str:
    words = re.findall(_NAME, base.partition("<")[0])
    return words[-1].casefold() if words else ""
