"""Reading compound commands: groups, conditions, loops, functions, tests."""

from __future__ import annotations

from typing import Final

from bylaw.shell.script import (
    Compound,
    ShellPipeline,
    ShellScript,
    ShellWord,
    SimpleCommand,
    Statement,
    WordPart,
)
from bylaw.shell.words import METACHARACTERS, WordReader

ENDS: Final = frozenset({"then", "elif", "else", "fi", "do", "done", "esac", "}"})
"""Reserved words that end a list of commands."""


class CompoundReader(WordReader):
    """Reads compound commands. `_ScriptReader` reads the lists in them."""

    def raw(self) -> str:
        """The characters of the word that comes next, as they are written."""
        raise NotImplementedError

    def blanks(self) -> None:
        """Skips blanks, joined lines and comments."""
        raise NotImplementedError

    def lines(self) -> None:
        """Skips blanks and line ends."""
        raise NotImplementedError

    def script(self) -> ShellScript:
        """Statements up to a reserved word or symbol that ends them, or to the end."""
        raise NotImplementedError

    def command(self) -> SimpleCommand | Compound:
        """One command."""
        raise NotImplementedError

    def take(self, word: str) -> None:
        """A reserved word."""
        self.lines()
        if self.raw() != word:
            self.fail(f"'{word}' is missing")
        self.skip_joined_lines()
        while word:  # joined lines may stand in it
            self.skip_joined_lines()
            self.at, word = self.at + 1, word[1:]

    def compound(self, word: str) -> Compound:
        """The compound command that begins with a reserved word or a parenthesis."""
        if self.ahead("(("):
            start = self.at
            self.at += 2
            inner = self.arithmetic()
            if inner is not None:
                return Compound("arithmetic", (), inner)
            self.at = start
        if self.next == "(":
            self.at += 1
            return Compound("subshell", (("body", self.script_until(")")),))
        self.take(word)
        match word:
            case "{":
                body = self.script()
                self.take("}")
                return Compound("group", (("body", body),))
            case "[[":
                return Compound("test", (), self._test())
            case "if":
                return self._if()
            case "while" | "until":
                condition = self.script()
                return Compound("loop", (("condition", condition), ("body", self._body())))
            case "case":
                return self._case()
            case _:
                return self._for()

    def _body(self) -> ShellScript:
        self.take("do")
        body = self.script()
        self.take("done")
        return body

    def _if(self) -> Compound:
        scripts: list[tuple[str, ShellScript]] = [("condition", self.script())]
        self.take("then")
        scripts.append(("body", self.script()))
        while self.raw() == "elif":
            self.take("elif")
            scripts.append(("condition", self.script()))
            self.take("then")
            scripts.append(("body", self.script()))
        if self.raw() == "else":
            self.take("else")
            scripts.append(("body", self.script()))
        self.take("fi")
        return Compound("if", tuple(scripts))

    def _for(self) -> Compound:
        self.blanks()
        if self.ahead("(("):
            self.at += 2
            words = self.arithmetic()
            if words is None:
                self.fail("'))' is missing")
            self.blanks()
            if self.next == ";":
                self.at += 1
            return Compound("loop", (("body", self._body()),), words)
        name = self.word().plain
        self.lines()
        listed: list[ShellWord] = []
        if self.raw() == "in":
            self.take("in")
            self.blanks()
            while self.next and self.next not in METACHARACTERS:
                listed.append(self.word())
                self.blanks()
        if self.next == ";":
            self.at += 1
        return Compound("for", (("body", self._body()),), tuple(listed), name or "?")

    def _case(self) -> Compound:
        self.blanks()
        words = [self.word()]
        self.take("in")
        scripts: list[tuple[str, ShellScript]] = []
        while True:
            self.lines()
            if self.raw() == "esac":
                break
            if self.next == "(":
                self.at += 1
                self.blanks()
            while True:
                words.append(self.word())
                self.blanks()
                if self.next != "|":
                    break
                self.at += 1
                self.blanks()
            if self.next != ")":
                self.fail("')' is missing after a pattern")
            self.at += 1
            scripts.append(("body", self.script()))
            for symbol in (";;&", ";;", ";&"):
                if self.ahead(symbol):
                    self.at += len(symbol)
                    break
        self.take("esac")
        return Compound("case", tuple(scripts), tuple(words))

    def function(self, word: str) -> Compound:
        """`name() …` or `function name …`."""
        if word == "function":
            self.take("function")
            self.blanks()
            name = self.raw()
            self.at += len(name)
            self.blanks()
            if self.next == "(":
                self.at += 1
                self.blanks()
        else:
            name = self.text[self.at : self.text.index("(", self.at)].strip()
            self.at = self.text.index("(", self.at) + 1
            self.blanks()
        if self.next == ")":
            self.at += 1
        self.lines()
        body = self.command()
        if isinstance(body, SimpleCommand):
            self.fail("the body of a function is missing")
        pipeline = ShellPipeline((body,))
        return Compound("function", (("body", (Statement((("", pipeline),), False),)),), (), name)

    def _test(self) -> tuple[ShellWord, ...]:
        """The words of `[[ … ]]`. After an operator that takes a pattern, parentheses are text."""
        found: list[ShellWord] = []
        while True:
            self.lines()
            if not self.next:
                self.fail("']]' is missing")
            if self.raw() == "]]":
                self.at += 2
                return tuple(found)
            if self.next in "()<>&|;" and self.text[self.at : self.at + 2] not in ("<(", ">("):
                self.at += 1
            elif found and found[-1].plain in ("=~", "==", "!=", "="):
                found.append(self._pattern())
            else:
                found.append(self.word())

    def _pattern(self) -> ShellWord:
        start, level = self.at, 0
        parts: list[WordPart] = []
        while self.next and (level or self.next not in " \t\n"):
            level += {"(": 1, ")": -1}.get(self.next, 0)
            self.part(parts)
        return ShellWord(tuple(parts), self.text[start : self.at])
