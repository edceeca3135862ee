"""The syntax tree of a shell script, as bash reads it. Nothing is expanded yet."""

from __future__ import annotations

from typing import Final, TypeAlias

from bylaw.frozen import frozen, record


class Unparsed(Exception):
    """The text is no script that is understood exactly; `why` is one of the documented words."""

    def __init__(self, why: str, detail: str) -> None:
        super().__init__(detail)
        self.why: Final = why
        self.detail: Final = detail


# ── words ─────────────────────────────────────────────────────────────────────────────────


@frozen
class Text:
    """Characters that stand for themselves, unless they are unquoted glob or brace characters."""

    text: str
    quoted: bool


@frozen
class Expansion:
    """`$x`, `${x:-y}`, `$((1 + x))`: a value that the shell computes."""

    source: str
    quoted: bool
    name: str | None
    """The variable, if it is a plain `$x` or `${x}`."""
    inner: tuple[ShellWord, ...] = ()
    """The words in it, which can run commands themselves."""
    arithmetic: bool = False


@frozen
class Substitution:
    """`$(…)`, backquotes, `<(…)` or `>(…)`: the commands run, and their output is used."""

    source: str
    quoted: bool
    script: ShellScript
    process: bool = False


WordPart: TypeAlias = Text | Expansion | Substitution


@frozen
class ShellWord:
    """One word, before expansion."""

    parts: tuple[WordPart, ...]
    source: str

    @property
    def plain(self) -> str | None:
        """The text of a word without any quoting or expansion, else None."""
        if len(self.parts) == 1 and isinstance(self.parts[0], Text) and not self.parts[0].quoted:
            return self.parts[0].text
        return None


# ── commands ──────────────────────────────────────────────────────────────────────────────


@frozen
class Assignment:
    """`x=1`, `x+=1`, `x[i]=1`, `x=(a b)`."""

    name: str
    value: tuple[ShellWord, ...]
    simple: bool
    """Is it a plain `name=value`?"""


@record
class Redirection:
    """`> file`, `2>&1`, `<<EOF`, `<<< word`. A here-document is filled in when it is reached."""

    descriptor: str
    operator: str
    target: ShellWord
    """The file that it leads to; for a here-document, its text."""


@frozen
class SimpleCommand:
    """Assignments, words and redirections."""

    assignments: tuple[Assignment, ...]
    words: tuple[ShellWord, ...]
    redirections: tuple[Redirection, ...]
    source: str


@record
class Compound:
    """A command made of scripts: a subshell, a group, a loop, a condition, a function …"""

    kind: str
    scripts: tuple[tuple[str, ShellScript], ...]
    """Its scripts, each with its role: condition or body."""
    words: tuple[ShellWord, ...] = ()
    """The words that it evaluates itself: of a `for`, a `case`, a `[[ … ]]`."""
    name: str | None = None
    """The variable of a `for`, the name of a function."""
    redirections: tuple[Redirection, ...] = ()


@frozen
class ShellPipeline:
    """Commands joined by `|`."""

    commands: tuple[SimpleCommand | Compound, ...]
    negated: bool = False
    """Does `!` turn its success into failure?"""


@frozen
class Statement:
    """Pipelines joined by `&&` and `||`."""

    pipelines: tuple[tuple[str, ShellPipeline], ...]
    """Each with the operator before it; empty for the first."""
    background: bool


ShellScript: TypeAlias = tuple[Statement, ...]
