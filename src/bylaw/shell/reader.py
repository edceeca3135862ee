"""From text to syntax tree: bash's grammar, read by recursive descent.

Whatever is not understood exactly is an error, which makes the text opaque; nothing is guessed.
More may be accepted than bash accepts, because then bash runs less than what is listed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from bylaw.shell.compounds import ENDS, CompoundReader
from bylaw.shell.script import (
    Assignment,
    Compound,
    Redirection,
    ShellPipeline,
    ShellScript,
    ShellWord,
    SimpleCommand,
    Statement,
    Text,
    WordPart,
)
from bylaw.shell.words import BLANKS, METACHARACTERS

_RAW: Final = re.compile(r"(?:[^\s|&;()<>\\]|\\.)+", re.DOTALL)
_FUNCTION: Final = re.compile(r"[^\s|&;()<>$`'\"\\=]+[ \t]*\([ \t]*\)")
_ARRAY: Final = re.compile(r"([A-Za-z_]\w*)\+?=\(", re.ASCII)
_ASSIGNED: Final = re.compile(r"([A-Za-z_]\w*)(\+?)=", re.ASCII)
_ELEMENT: Final = re.compile(r"([A-Za-z_]\w*)\[", re.ASCII)
_REDIRECTION: Final = re.compile(
    r"(\d+|\{[A-Za-z_]\w*\})?(&>>|&>|<<<|<<-|<<|<>|<&|>&|>>|>\||<|>)", re.ASCII
)
_JOINED: Final = re.compile(r"[|&;<>]\\\n[|&;<>]")
_COMPOUNDS: Final = frozenset({"if", "while", "until", "for", "select", "case", "{", "[["})
_DECLARING: Final = frozenset({"declare", "typeset", "local", "export", "readonly"})


def read_script(text: str) -> ShellScript:
    """The syntax tree of a text. Raises Unparsed."""
    return _ScriptReader(text).whole()


class _ScriptReader(CompoundReader):
    def __init__(self, text: str, depth: int = 0) -> None:
        super().__init__(text, depth)
        self.pending: list[Redirection] = []
        """Here-documents whose text begins after the end of the line."""
        self.waiting = 0
        """The number of such here-documents around a substitution."""

    def whole(self) -> ShellScript:
        if "\0" in self.text:
            self.fail("a null character")
        if _JOINED.search(self.text):
            self.fail("a joined line in an operator")
        script = self.script()
        if self.at < len(self.text):
            self.fail(f"unexpected '{self.next}'")
        if self.pending:
            self.fail("a here-document without text")
        return script

    def nested(self, text: str) -> ShellScript:
        self.deeper()
        script = _ScriptReader(text, self.depth).whole()
        self.depth -= 1
        return script

    def script_until(self, closing: str) -> ShellScript:
        with self._inside():
            around, self.pending = self.pending, []
            self.waiting += len(around)
            script = self.script()
            if self.pending or self.next != closing:
                self.fail(f"'{closing}' is missing")
            self.at += 1
            self.pending = around
            self.waiting -= len(around)
        return script

    @contextmanager
    def _inside(self) -> Iterator[None]:
        self.deeper()
        yield
        self.depth -= 1

    # ── blanks, line ends, here-documents ────────────────────────────────────────────────

    def blanks(self) -> None:
        """Skips blanks, joined lines and comments."""
        while True:
            self.skip_joined_lines()
            if self.next and self.next in BLANKS:
                self.at += 1
            else:
                break
        if self.next == "#":
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end

    def lines(self) -> None:
        """Skips blanks and line ends."""
        self.blanks()
        while self.next == "\n":
            self.line_end()
            self.blanks()

    def line_end(self) -> None:
        """Takes a line end, and the here-documents that begin after it."""
        self.at += 1
        if self.waiting:
            self.fail("a line end in a substitution after '<<'")
        for redirection in self.pending:
            self._here_document(redirection)
        self.pending = []

    def _here_document(self, redirection: Redirection) -> None:
        delimiter = redirection.target
        texts = [part for part in delimiter.parts if isinstance(part, Text)]
        if len(texts) < len(delimiter.parts):
            self.fail("an expansion in the delimiter of a here-document")
        wanted = "".join(part.text for part in texts)
        literal = any(part.quoted for part in texts)
        lines: list[str] = []
        while self.at < len(self.text):
            line = self._line(joined=not literal)
            if redirection.operator == "<<-":
                line = line.lstrip("\t")
            if line.removesuffix("\n") == wanted:
                break
            lines.append(line)
        body = "".join(lines)
        parts: list[WordPart] = [Text(body, quoted=True)]
        if not literal:
            inner = _ScriptReader(body, self.depth + 1)
            parts = [Text("", quoted=True)]
            inner.expandable(parts, lambda: False, escapes="$`\\")
        redirection.target = ShellWord(tuple(parts), body)

    def _line(self, *, joined: bool) -> str:
        """One line with its end; lines that end with a backslash continue on the next."""
        pieces: list[str] = []
        while True:
            end = self.text.find("\n", self.at) + 1 or len(self.text)
            line = self.text[self.at : end]
            self.at = end
            pieces.append(line)
            before = line.removesuffix("\n")
            backslashes = len(before) - len(before.rstrip("\\"))
            if not joined or backslashes % 2 == 0 or line == before or not line:
                return "".join(pieces)
            pieces[-1] = before[:-1]

    # ── lists and pipelines ──────────────────────────────────────────────────────────────

    def raw(self) -> str:
        """The characters of the word that comes next, as they are written."""
        found = _RAW.match(self.text, self.at)
        return found[0].replace("\\\n", "") if found else ""

    def script(self) -> ShellScript:
        """Statements up to a reserved word or symbol that ends them, or to the end."""
        statements: list[Statement] = []
        while True:
            self.lines()
            if not self.next or self.next == ")" or self.ahead(";;") or self.ahead(";&"):
                break
            if self.raw() in ENDS:
                break
            pipelines = self.and_or()
            self.blanks()
            background = self.next == "&"
            statements.append(Statement(pipelines, background))
            if self.next in (";", "&") and not (self.ahead(";;") or self.ahead(";&")):
                self.at += 1
            elif self.next != "\n":
                break
        return tuple(statements)

    def and_or(self) -> tuple[tuple[str, ShellPipeline], ...]:
        found = [("", self.pipeline())]
        while True:
            self.blanks()
            symbol = self.text[self.at : self.at + 2]
            if symbol not in ("&&", "||"):
                return tuple(found)
            self.at += 2
            self.lines()
            found.append((symbol, self.pipeline()))

    def pipeline(self) -> ShellPipeline:
        negated = False
        while (word := self.raw()) in ("!", "time"):
            negated = negated is not (word == "!")
            self.at += len(word)
            self.blanks()
            if word == "time" and self.raw() == "-p":
                self.at += 2
                self.blanks()
        commands = [self.command()]
        while True:
            self.blanks()
            if self.next != "|" or self.ahead("||"):
                return ShellPipeline(tuple(commands), negated)
            self.at += 2 if self.ahead("|&") else 1
            self.lines()
            commands.append(self.command())

    # ── commands ─────────────────────────────────────────────────────────────────────────

    def command(self) -> SimpleCommand | Compound:
        self.skip_joined_lines()
        word = self.raw()
        if self.next == "(" or word in _COMPOUNDS:
            with self._inside():
                found = self.compound(word)
        elif word == "function" or _FUNCTION.match(self.text, self.at):
            with self._inside():
                found = self.function(word)
        elif word in ENDS or word == "coproc":
            self.fail(f"unexpected '{word}'")
        else:
            return self._simple()
        found.redirections = tuple(self._redirections())
        return found

    def _simple(self) -> SimpleCommand:
        start = self.at
        assignments: list[Assignment] = []
        words: list[ShellWord] = []
        redirections: list[Redirection] = []
        while True:
            self.blanks()
            if redirection := self._redirection():
                redirections.append(redirection)
                continue
            process = self.next in ("<", ">") and self.text[self.at + 1 : self.at + 2] == "("
            if not self.next or (self.next in METACHARACTERS and not process):
                break
            declaring = bool(words) and words[0].plain in _DECLARING
            if (not words or declaring) and (array := _ARRAY.match(self.text, self.at)):
                self.at = array.end()
                assignments.append(Assignment(array[1], self._array(), simple=False))
                continue
            word = self.word()
            assigned = _assignment(word) if not words or declaring else None
            if assigned is not None:
                assignments.append(assigned)
                if not declaring:
                    continue
            elif not words and _ELEMENT.match(word.source) and "]" not in word.source:
                self.fail("blanks in the subscript of an assignment")
            words.append(word)
        if not (assignments or words or redirections):
            self.fail(f"unexpected '{self.next}'" if self.next else "a command is missing")
        source = self.text[start : self.at].rstrip()
        return SimpleCommand(tuple(assignments), tuple(words), tuple(redirections), source)

    def _array(self) -> tuple[ShellWord, ...]:
        """The words of `x=(…)`, after the parenthesis."""
        found: list[ShellWord] = []
        while True:
            self.lines()
            if self.next == ")":
                self.at += 1
                return tuple(found)
            found.append(self.word())

    def _redirections(self) -> Iterator[Redirection]:
        self.blanks()
        while redirection := self._redirection():
            yield redirection
            self.blanks()

    def _redirection(self) -> Redirection | None:
        found = _REDIRECTION.match(self.text, self.at)
        if found is None or (found[2] in "<>" and self.text[found.end() : found.end() + 1] == "("):
            if found is not None and found[1]:
                self.fail("a process substitution after a descriptor")
            return None
        self.at = found.end()
        self.blanks()
        if found[2] in ("<<", "<<-"):
            redirection = Redirection(found[1] or "", found[2], self.word())
            self.pending.append(redirection)
            return redirection
        return Redirection(found[1] or "", found[2], self.word())


def _assignment(word: ShellWord) -> Assignment | None:
    """The assignment that a word before the command is, or None."""
    first = word.parts[0]
    if not isinstance(first, Text) or first.quoted:
        return None
    if found := _ASSIGNED.match(first.text):
        rest = first.text[found.end() :]
        leading = (Text(rest, quoted=False),) if rest else ()
        value = ShellWord((*leading, *word.parts[1:]), word.source[found.end() :])
        return Assignment(found[1], (value,), simple=not found[2])
    if (found := _ELEMENT.match(first.text)) and ("]=" in word.source or "]+=" in word.source):
        return Assignment(found[1], (word,), simple=False)
    return None
