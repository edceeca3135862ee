"""Reading one word: quotes, escapes, expansions and substitutions."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NoReturn

from bylaw.shell.escapes import unescaped
from bylaw.shell.script import (
    Expansion,
    ShellScript,
    ShellWord,
    Substitution,
    Text,
    Unparsed,
    WordPart,
)

BLANKS: Final = " \t"
METACHARACTERS: Final = frozenset(" \t\n|&;()<>")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SPECIAL: Final = frozenset("@*#?-$!0123456789_")
_PLAIN: Final = re.compile(r"""[^\s|&;()<>\\'"$`}]+""")
_PLAIN_QUOTED: Final = re.compile(r"""[^\n\\"$`]+""")
_MAX_DEPTH: Final = 40
"""The deepest nesting of substitutions and compound commands."""
_MAX_ARITHMETIC: Final = 2_000
"""The most characters of an arithmetic expression, which may have to be read twice."""


class WordReader:
    """The text, the place in it, and the reading of words. `_ScriptReader` reads commands."""

    def __init__(self, text: str, depth: int = 0) -> None:
        self.text = text
        self.at = 0
        self.depth = depth

    # ── places ───────────────────────────────────────────────────────────────────────────

    @property
    def next(self) -> str:
        """The character that comes next; empty at the end."""
        return self.text[self.at : self.at + 1]

    def ahead(self, symbol: str) -> bool:
        """Does this come next?"""
        return self.text.startswith(symbol, self.at)

    def fail(self, detail: str) -> NoReturn:
        """The text is no script of the shell, or none that is understood."""
        raise Unparsed("syntax", f"{detail}, at character {self.at}")

    def deeper(self) -> None:
        """Enters a construct inside another."""
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise Unparsed("too deep", f"commands nest more than {_MAX_DEPTH} deep")

    def skip_joined_lines(self) -> None:
        """A backslash before a line break joins two lines."""
        while self.ahead("\\\n"):
            self.at += 2

    def script_until(self, closing: str) -> ShellScript:
        """The commands up to a closing parenthesis. It is taken, too."""
        raise NotImplementedError

    def nested(self, text: str) -> ShellScript:
        """The commands of another text."""
        raise NotImplementedError

    # ── words ────────────────────────────────────────────────────────────────────────────

    def word(self) -> ShellWord:
        """The word that begins here. It has at least one character."""
        start = self.at
        parts: list[WordPart] = []
        while self.at < len(self.text):
            self.skip_joined_lines()
            character = self.next
            if character in ("<", ">") and self.text[self.at + 1 : self.at + 2] == "(":
                parts.append(self._process())
                continue
            if not character or character in METACHARACTERS:
                break
            self.part(parts)
        if self.next == "(" and parts:
            self.fail("unexpected '(' after a word")
        if not parts:
            self.fail("a word is missing")
        return ShellWord(tuple(parts), self.text[start : self.at])

    def part(self, parts: list[WordPart]) -> None:
        """One piece of a word: something quoted, an expansion, or plain characters."""
        match self.next:
            case "\\":
                if self.at + 1 >= len(self.text):
                    _append(parts, "\\", quoted=True)
                    self.at += 1
                else:
                    _append(parts, self.text[self.at + 1], quoted=True)
                    self.at += 2
            case "'":
                _append(parts, self._single_quoted(), quoted=True)
            case '"':
                parts += self._double_quoted()
            case "$":
                parts += self._dollar(quoted=False)
            case "`":
                parts.append(self._backquoted(quoted=False))
            case _:
                self._run(_PLAIN, parts, quoted=False)

    def _run(self, plain: re.Pattern[str], parts: list[WordPart], *, quoted: bool) -> None:
        """The characters up to one that may be special, and at least one."""
        found = plain.match(self.text, self.at)
        text = found[0] if found else self.next
        _append(parts, text, quoted=quoted)
        self.at += len(text)

    def _single_quoted(self) -> str:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            self.fail("a single quote is not closed")
        found = self.text[self.at + 1 : end]
        self.at = end + 1
        return found

    def _double_quoted(self) -> list[WordPart]:
        self.at += 1
        parts: list[WordPart] = [Text("", quoted=True)]  # "" is a word, even if it is empty
        self.expandable(parts, lambda: self.next == '"', escapes='$`"\\')
        if not self.next:
            self.fail("a double quote is not closed")
        self.at += 1
        return parts

    def expandable(self, parts: list[WordPart], ended: Callable[[], bool], *, escapes: str) -> None:
        """Text in which only `$`, backquotes and some escapes are special."""
        while self.at < len(self.text) and not ended():
            character = self.next
            if character == "\\":
                following = self.text[self.at + 1 : self.at + 2]
                if following == "\n":
                    self.at += 2
                    continue
                taken = following if following and following in escapes else character + following
                _append(parts, taken, quoted=True)
                self.at += 1 + len(following)
            elif character == "$":
                parts += self._dollar(quoted=True)
            elif character == "`":
                parts.append(self._backquoted(quoted=True))
            else:
                self._run(_PLAIN_QUOTED, parts, quoted=True)

    # ── expansions ───────────────────────────────────────────────────────────────────────

    def _dollar(self, *, quoted: bool) -> list[WordPart]:
        start = self.at
        self.at += 1
        following = self.next
        if following == "\\" and self.ahead("\\\n"):
            self.fail("a joined line after '$'")
        if following == "(":
            return [self._parenthesised(start, quoted=quoted)]
        if following == "{":
            return [self._braced(start, quoted=quoted)]
        if following == "'" and not quoted:
            return [Text(self._ansi_quoted(), quoted=True)]
        if following == '"' and not quoted:
            return self._double_quoted()
        if following == "[":
            self.fail("the old form of arithmetic, '$['")
        if found := _NAME.match(self.text, self.at):
            self.at = found.end()
            name = found[0]
            return [Expansion(self.text[start : self.at], quoted, name)]
        if following and following in _SPECIAL:
            self.at += 1
            return [Expansion(self.text[start : self.at], quoted, None)]
        return [Text("$", quoted=quoted)]

    def _ansi_quoted(self) -> str:
        end = self.at + 1
        while end < len(self.text) and self.text[end] != "'":
            end += 2 if self.text[end] == "\\" else 1
        if end >= len(self.text):
            self.fail("a single quote is not closed")
        found = self.text[self.at + 1 : end]
        self.at = end + 1
        value = unescaped(found)
        if value is None:
            raise Unparsed("encoding", "an escape in $'…' that stands for no character")
        return value

    def _parenthesised(self, start: int, *, quoted: bool) -> WordPart:
        """`$(…)` or `$((…))`, which begin alike."""
        if self.ahead("(("):
            self.at += 2
            inner = self.arithmetic()
            if inner is not None:
                source = self.text[start : self.at]
                return Expansion(source, quoted, None, inner, arithmetic=True)
            self.at = start + 1
        self.at += 1
        script = self.script_until(")")
        return Substitution(self.text[start : self.at], quoted, script)

    def arithmetic(self) -> tuple[ShellWord, ...] | None:
        """The words in an arithmetic expression up to `))`; None if it does not end so."""
        start, level = self.at, 0
        parts: list[WordPart] = []
        self.deeper()
        try:
            while self.at < len(self.text):
                if self.at - start > _MAX_ARITHMETIC:
                    raise Unparsed("too long", "a long expression in double parentheses")
                if level == 0 and self.ahead("))"):
                    source = self.text[start : self.at]
                    self.at += 2
                    self.depth -= 1
                    return (ShellWord(tuple(parts), source),)
                match self.next:
                    case "(":
                        level += 1
                    case ")" if level == 0:
                        break
                    case ")":
                        level -= 1
                    case "$":
                        parts += self._dollar(quoted=True)
                        continue
                    case "`":
                        parts.append(self._backquoted(quoted=True))
                        continue
                    case "'" | '"' | "\\":
                        raise Unparsed("arithmetic", "quotes in an arithmetic expression")
                _append(parts, self.next, quoted=True)
                self.at += 1
        except Unparsed as error:
            if error.why != "syntax":
                raise
        self.depth -= 1
        return None

    def _braced(self, start: int, *, quoted: bool) -> Expansion:
        """`${…}`: a plain name, or a name with an operator and words."""
        self.at += 1
        if self.next in (" ", "\t", "\n", "|"):
            self.fail("'${' with commands in it")
        found = _NAME.match(self.text, self.at)
        if found and self.text[found.end() : found.end() + 1] == "}":
            self.at = found.end() + 1
            return Expansion(self.text[start : self.at], quoted, found[0])
        self.deeper()
        parts: list[WordPart] = []
        while self.next != "}":
            if not self.next:
                self.fail("'${' is not closed")
            if self.next == "'" and quoted:
                self.fail("a single quote in '${…}' in double quotes")
            if self.next in ("<", ">") and self.text[self.at + 1 : self.at + 2] == "(":
                parts.append(self._process())
            elif self.ahead("\\\n"):
                self.at += 2
            else:
                self.part(parts)
        self.at += 1
        self.depth -= 1
        source = self.text[start : self.at]
        if source.rstrip("}").endswith("@P"):
            raise Unparsed("expansion", "a value that is expanded a second time")
        return Expansion(source, quoted, None, (ShellWord(tuple(parts), source),))

    def _backquoted(self, *, quoted: bool) -> Substitution:
        start = self.at
        inside: list[str] = []
        self.at += 1
        escapes = '$`\\"' if quoted else "$`\\"
        while self.next != "`":
            if not self.next:
                self.fail("a backquote is not closed")
            if self.next == "\\" and self.text[self.at + 1 : self.at + 2] in tuple(escapes):
                self.at += 1
            inside.append(self.next)
            self.at += 1
        self.at += 1
        return Substitution(self.text[start : self.at], quoted, self.nested("".join(inside)))

    def _process(self) -> Substitution:
        start = self.at
        self.at += 2
        script = self.script_until(")")
        return Substitution(self.text[start : self.at], quoted=True, script=script, process=True)


def _append(parts: list[WordPart], text: str, *, quoted: bool) -> None:
    """Adds text to the last part if it is of the same kind."""
    if parts and isinstance(parts[-1], Text) and parts[-1].quoted is quoted:
        text = parts.pop().text + text  # type: ignore[union-attr]  # it is a text
    parts.append(Text(text, quoted))
