"""From a word to the words that bash makes of it: braces, known variables, splitting."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from bylaw.frozen import frozen
from bylaw.shell.script import Expansion, ShellWord, Substitution, Text, Unparsed

_MAX_WORDS: Final = 1_000
"""The most words that braces may make of one."""
_MAX_BRACES: Final = 50


@frozen
class KnownWord:
    """A word after expansion: its text, as far as it is known."""

    text: str
    """Unknown parts are written as in the source: `$x`, `$(…)`."""
    literal: bool = True
    """Is the text the value?"""
    glob: bool = False
    """May file names replace it?"""
    open: bool = False
    """Does it begin with something unknown, so that it may be an option?"""
    splits: bool = False
    """May it become several words, or none?"""


Variables: TypeAlias = Mapping[str, KnownWord | None]
"""The values of variables; None is a value that is not known."""

_Atom: TypeAlias = tuple[str, bool] | Expansion | Substitution
"""A character and whether it is unquoted, quoted text, or a part that the shell computes."""

_STANDING: Final = {"HOME": "~", "PWD": "."}
"""Variables whose value is known by another name."""
_IFS: Final = " \t\n"


def expanded(word: ShellWord, variables: Variables) -> list[KnownWord]:
    """The words that one word stands for in a command."""
    atoms = list(_atoms(word))
    opening = atoms.count(("{", True))
    if not opening:
        return _fields(atoms, variables)
    if opening > _MAX_BRACES:
        raise Unparsed("too long", f"more than {_MAX_BRACES} braces in a word")
    return [field for each in _braces(atoms) for field in _fields(each, variables)]


def value_of(word: ShellWord, variables: Variables) -> KnownWord:
    """The word as the value of an assignment or the target of a redirection: it stays one word."""
    found = _fields([_as_quoted(atom) for atom in _atoms(word)], variables)
    return found[0] if found else KnownWord("")


def _as_quoted(atom: _Atom) -> _Atom:
    match atom:
        case Expansion(source, _, name, inner, arithmetic):
            return Expansion(source, True, name, inner, arithmetic)
        case Substitution(source, _, script, process):
            return Substitution(source, True, script, process)
        case _:
            return atom


def _atoms(word: ShellWord) -> Iterator[_Atom]:
    for part in word.parts:
        if not isinstance(part, Text):
            yield part
        elif part.quoted:
            yield part.text, False
        else:
            yield from ((character, True) for character in part.text)


# ── braces ────────────────────────────────────────────────────────────────────────────────


def _braces(atoms: list[_Atom]) -> list[list[_Atom]]:
    """`a{b,c}` is `ab ac`, and `{1..3}` is `1 2 3`; other braces stand for themselves."""
    for start, atom in enumerate(atoms):
        if atom != ("{", True):
            continue
        end = _closing(atoms, start)
        if end is None:
            continue
        inner = atoms[start + 1 : end]
        choices = _choices(inner)
        if choices is None:
            continue
        rests = _braces(atoms[end + 1 :])
        found = [
            [*atoms[:start], *choice, *rest]
            for given in choices
            for choice in _braces(given)
            for rest in rests
        ]
        if len(found) > _MAX_WORDS:
            raise Unparsed("too long", f"braces that make more than {_MAX_WORDS:,} words")
        return found
    return [atoms]


def _closing(atoms: Sequence[_Atom], start: int) -> int | None:
    level = 0
    for at in range(start, len(atoms)):
        level += _level(atoms[at])
        if level == 0:
            return at
    return None


def _level(atom: _Atom) -> int:
    return (atom == ("{", True)) - (atom == ("}", True))


def _choices(inner: list[_Atom]) -> list[list[_Atom]] | None:
    """The alternatives between commas, or the members of a sequence; None if it is neither."""
    found: list[list[_Atom]] = [[]]
    level = 0
    for atom in inner:
        if atom == (",", True) and level == 0:
            found.append([])
            continue
        level += _level(atom)
        found[-1].append(atom)
    if len(found) > 1:
        return found
    if all(isinstance(atom, tuple) and atom[1] for atom in inner):
        members = _sequence("".join(atom[0] for atom in inner if isinstance(atom, tuple)))
        if members is not None:
            return [[(character, True) for character in member] for member in members]
    return None


_NUMBERS: Final = re.compile(r"([-+]?\d+)\.\.([-+]?\d+)(?:\.\.([-+]?\d+))?", re.ASCII)
_LETTERS: Final = re.compile(r"([A-Za-z])\.\.([A-Za-z])(?:\.\.([-+]?\d+))?", re.ASCII)


def _sequence(text: str) -> list[str] | None:
    if found := _NUMBERS.fullmatch(text):
        first, last, step = int(found[1]), int(found[2]), abs(int(found[3] or 1)) or 1
        padded = any(re.match(r"[-+]?0\d", number) for number in (found[1], found[2]))
        width = max(len(found[1]), len(found[2])) if padded else 0
        if abs(last - first) // step > _MAX_WORDS:
            raise Unparsed("too long", f"braces that make more than {_MAX_WORDS:,} words")
        steps = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
        return [f"{number:0{width}d}" for number in steps]
    if found := _LETTERS.fullmatch(text):
        first, last, step = ord(found[1]), ord(found[2]), abs(int(found[3] or 1)) or 1
        if found[1].islower() is not found[2].islower():
            raise Unparsed("expansion", "a sequence of characters that are not all letters")
        steps = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
        return [chr(number) for number in steps]
    return None


# ── values ────────────────────────────────────────────────────────────────────────────────


class _Fields:
    """Words under construction."""

    def __init__(self) -> None:
        self.done: list[KnownWord] = []
        self._begin()

    def _begin(self) -> None:
        self.text = ""
        self.begun = False
        self.literal, self.glob, self.open, self.splits = True, False, False, False

    def add(self, text: str, *, glob: bool = False) -> None:
        self.text += text
        self.begun = True
        self.glob = self.glob or glob

    def unknown(self, source: str, *, splits: bool) -> None:
        self.open = self.open or not self.text
        self.splits = self.splits or splits
        self.literal = False
        self.add(source)

    def end(self) -> None:
        if self.begun:
            self.glob = self.glob and (any(c in "*?" for c in self.text) or "]" in self.text)
            self.done.append(KnownWord(self.text, self.literal, self.glob, self.open, self.splits))
        self._begin()


def _fields(atoms: Sequence[_Atom], variables: Variables) -> list[KnownWord]:
    fields = _Fields()
    for at, atom in enumerate(atoms):
        if isinstance(atom, tuple):
            text, unquoted = atom
            fields.add(text, glob=unquoted and text in "*?[")
            continue
        value = _value(atom, fields.text, atoms[at + 1 : at + 2], variables)
        if value is None or (not atom.quoted and "IFS" in variables):
            fields.unknown(atom.source, splits=not atom.quoted or "@" in atom.source)
        elif atom.quoted:
            fields.open = fields.open or (value.open and not fields.text)
            fields.add(value.text)
            fields.literal = fields.literal and value.literal
        else:
            _split(value, fields)
    fields.end()
    return fields.done


def _value(
    atom: Expansion | Substitution, before: str, after: Sequence[_Atom], variables: Variables
) -> KnownWord | None:
    """The value of an expansion where it is known."""
    if isinstance(atom, Substitution) or atom.name is None:
        return None
    if atom.name in variables:
        return variables[atom.name]
    if atom.name == "IFS":
        return KnownWord(_IFS)
    ends = not after or (isinstance(after[0], tuple) and after[0][0].startswith("/"))
    if atom.name in _STANDING and not before and ends:
        return KnownWord(_STANDING[atom.name])
    return None


def _split(value: KnownWord, fields: _Fields) -> None:
    """An unquoted value becomes several words where it has blanks."""
    pieces = re.split(r"[ \t\n]+", value.text)
    for number, piece in enumerate(pieces):
        if number:
            fields.end()
        if piece:
            fields.add(piece, glob=any(c in "*?[" for c in piece))
            fields.literal = fields.literal and value.literal
            fields.open = fields.open or value.open
            fields.splits = fields.splits or value.splits
