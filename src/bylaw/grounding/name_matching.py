"""Deciding whether the evidence shows a name of code.

An identifier matches a seen name that it equals or is a prefix of, ignoring case. A function with
parentheses must match in full. A dotted name must be shown to be a member of its class or module.
"""

from __future__ import annotations

from itertools import product
from typing import Final

from bylaw.grounding.entities.names import SHORTEST, bare_name, is_built, name_key, name_parts
from bylaw.grounding.evidence.evidence import Evidence
from bylaw.grounding.evidence.source import SourceText

_LINKS: Final = (".", "::", "->")


def identifier_seen(text: str, evidence: Evidence) -> bool:
    """True for a seen name, a prefix of one, or a dotted name that is shown."""
    parts = [name_key(part) for part in name_parts(text)]
    if len(parts) > 1:
        return _chain(parts, evidence, called=False)
    return _name(parts[0], evidence) or _plural(text, evidence)


def _name(name: str, evidence: Evidence) -> bool:
    if name in evidence.stems or any(name in source.names for source in evidence.sources):
        return True
    if len(name) < SHORTEST:
        return False
    begun = any(stem.startswith(name) for stem in evidence.stems)
    return begun or any(source.begins(name) for source in evidence.sources)


def _plural(text: str, evidence: Evidence) -> bool:
    """True for the plural of a seen name: `ChargePoints` refers to ChargePoint."""
    if not text.endswith("s") or "_" in text or not is_built(text):
        return False
    return any(name_key(text[:-1]) in source.names for source in evidence.sources)


def function_seen(text: str, evidence: Evidence) -> bool:
    """True if a function with exactly this name is called, defined or imported."""
    parts = [name_key(part) for part in name_parts(bare_name(text))]
    if len(parts) > 1:
        return _chain(parts, evidence, called=True)
    return any(_has_function(parts[0], source) for source in evidence.sources)


def _has_function(name: str, source: SourceText) -> bool:
    """True if the name is called, defined or imported; a variable is not a function."""
    if name not in source.names:
        return False
    return source.calls(name) or source.has_class(name) or source.imports(name)


def _chain(parts: list[str], evidence: Evidence, *, called: bool) -> bool:
    """True for a dotted name that is written out, or a member of a class or module."""
    owner, name = parts[-2], parts[-1]
    known = [source for source in evidence.sources if name in source.names]
    near = [source for source in known if owner in source.names]
    for source, link in product(near, _LINKS):
        chain = link.join(parts)
        if source.calls(chain) if called else source.writes(chain):
            return True
    if _of_module(parts, evidence):
        return True
    if any(source.shows_member(owner, name) for source in near):
        return True
    if _is_class(owner, evidence):
        return _of_class(owner, name, evidence, set())
    if any(module[-1:] == (parts[0],) for module, _ in evidence.modules):
        return False  # the module was read, and lacks the name
    # The owner is unknown, so only the separate names can be checked.
    if not all(_name(part, evidence) for part in parts[:-1]):
        return False
    return any(_has_function(name, source) for source in known) if called else bool(known)


def _is_class(name: str, evidence: Evidence) -> bool:
    found = (source for source in evidence.sources if name in source.names)
    return any(each.has_class(name) and name in each.definitions.bases for each in found)


def _of_module(parts: list[str], evidence: Evidence) -> bool:
    for module, source in evidence.modules:
        for size in range(len(parts), 0, -1):
            if module[-size:] == tuple(parts[:size]):
                rest = parts[size:]
                if not rest or (len(rest) == 1 and rest[0] in source.names):
                    return True
                if ".".join(rest[-2:]) in source.definitions:
                    return True
    return False


def _of_class(owner: str, name: str, evidence: Evidence, tried: set[str]) -> bool:
    """True if the class, or one of its bases, has the member."""
    tried.add(owner)
    for source in evidence.sources:
        if owner not in source.names:
            continue
        if f"{owner}.{name}" in source.definitions:
            return True
        for base in source.definitions.bases.get(owner, ()):
            if base not in tried and _of_class(base, name, evidence, tried):
                return True
    return False
