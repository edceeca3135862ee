"""Reading the words of a command line: subcommand, options, their values, operands."""

from __future__ import annotations

from collections.abc import Sequence

from bylaw.frozen import record
from bylaw.shell.expansion import KnownWord
from bylaw.shell.programs import PLAIN, PROGRAMS, CommandLine


@record
class ReadLine:
    """A command line, taken apart."""

    subcommand: str | None
    options: list[str]
    values: dict[str, list[KnownWord]]
    operands: list[KnownWord]
    unknown: list[KnownWord]
    """The words that may be something else than what they were taken for."""


def read_line(program: str, words: Sequence[KnownWord]) -> ReadLine:
    """The parts of a command line. The words begin after the program."""
    found = ReadLine(None, [], {}, [], [])
    line = PROGRAMS.get(program, PLAIN)
    pending = list(reversed(words))
    only_operands = False
    while pending:
        word = pending.pop()
        if not word.literal and (word.open or word.splits or not word.text.startswith("-")):
            found.unknown.append(word)
        if only_operands or not word.text.startswith("-") or word.text == "-":
            if line.subcommands is not None and not only_operands:
                found.subcommand = word.text
                line = line.subcommands.get(word.text, PLAIN)
            elif not (line.operands_first and found.options):
                found.operands.append(word)
        elif word.text == "--":
            only_operands = True
        elif word.text.startswith("--") or line.single_dash:
            _long(word, line, pending, found)
        else:
            _cluster(word, line, pending, found)
    return found


def _long(word: KnownWord, line: CommandLine, pending: list[KnownWord], into: ReadLine) -> None:
    name, equals, value = word.text.partition("=")
    names = [name]
    if name not in line.values and name not in line.long and len(name) > 3:
        names += [known for known in line.long if known.startswith(name)]
    for known in names:
        _add(known, line, into)
    if not word.literal and any(mark in name for mark in "$`"):
        into.unknown.append(word)
    if equals:
        for known in names:
            into.values.setdefault(known, []).append(KnownWord(value, word.literal))
    elif any(known in line.values for known in names) and pending:
        given = pending.pop()
        if given.splits:
            into.unknown.append(given)
        for known in names:
            into.values.setdefault(known, []).append(given)


def _cluster(word: KnownWord, line: CommandLine, pending: list[KnownWord], into: ReadLine) -> None:
    """`-rf`: letters that are options, up to one that takes the rest, or the next word."""
    letters = word.text[1:]
    if len(letters) > 1 and not (line.values or line.names):
        _add(word.text, line, into)  # perhaps one long option with a single dash
    for at, letter in enumerate(letters):
        name = f"-{letter}"
        _add(name, line, into)
        if name in line.values:
            rest = letters[at + 1 :]
            given = KnownWord(rest, word.literal) if rest else pending.pop() if pending else None
            if given is not None:
                if given.splits:
                    into.unknown.append(given)
                for each in {name, line.names.get(name, name)}:
                    into.values.setdefault(each, []).append(given)
            return
    if not word.literal and word not in into.unknown:
        into.unknown.append(word)


def _add(name: str, line: CommandLine, into: ReadLine) -> None:
    """An option is listed under each of its names."""
    also = [other for short, other in line.names.items() if short == name]
    also += [short for short, other in line.names.items() if other == name]
    for each in (name, *also):
        if each not in into.options:
            into.options.append(each)
