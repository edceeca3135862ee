"""Forms that other languages have, and how they are written here.

A row is tried where a mistake was found: its pattern must match around the mistake. The sentence
and the replacement may refer to the pattern's groups.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from bylaw.logic.operators import BY_SPELLING


class ForeignForm(NamedTuple):
    """A form of another language."""

    pattern: re.Pattern[str]
    ours: str | None
    """The same in our language, if it can be computed."""
    sentence: str


def _form(pattern: str, ours: str | None, sentence: str) -> ForeignForm:
    return ForeignForm(re.compile(pattern), ours, sentence)


def _symbol(foreign: str, ours: str, meaning: str) -> ForeignForm:
    """A symbol that is spelt otherwise here."""
    return _form(foreign, ours, f"{meaning} is written {ours.strip()}.")


_PATH: Final = r'([^\W\d]\w*(?:\.\w+|\["[^"\n]*"\]|\[-?\d+\])*)'
_VALUE: Final = r'("[^"\n]*"|/[^/\n]+/|\[[^\]\n]*\]|-?[\w.]+)'
_NUMBER: Final = r"(-?[\w.]+)"
_TOOL: Final = r'([^\W\d]\w*|"[^"\n]*")'
_WORDS: Final = [word for word in BY_SPELLING if word.isidentifier() and word.islower()]
_HERE: Final = r"(?=[\w(!\[{\"])"
"""Something begins here that an operator can stand before."""

_SYMBOLS: Final = (
    _symbol(r"<=>|<==>|⇔|↔|⟷", "<->", "'if and only if'"),
    _symbol(r"===?>|=>|→|⇒|⟶|⊃", "->", "'implies'"),
    _symbol(r"&&|∧|/\\", "&", "'and'"),
    _symbol(r"\|\||∨|\\/", "|", "'or'"),
    _symbol(r"===?", "=", "A comparison for equality"),
    _symbol(r"!==|≠|=/=|/=", "!=", "'is not equal'"),
    _symbol(r"≤|=<", "<=", "'at most'"),
    _symbol(r"≥", ">=", "'at least'"),
    _symbol(r"\s*∈\s*", " in ", "'is one of'"),
    _symbol(r"¬\s*", "!", "'not'"),
    _symbol(r"∀\s*", "forall ", "'for all'"),
    _symbol(r"∃\s*", "exists ", "'there is'"),
    _symbol(r"(?:□|◻|⬜|\[\](?!\.))\s*" + _HERE, "G ", "'always'"),
    _symbol(r"(?:◇|◊|⋄)\s*", "F ", "'eventually'"),
    _symbol(r"(?:○|◯)\s*", "X ", "'next'"),
    _symbol(r"(?<![\w\])\"])(?<![\w\])\"] )<>\s*" + _HERE, "F ", "'eventually'"),
    _symbol(r"\s*<>\s*", " != ", "'is not equal'"),
    _symbol(r"=~", "~", "A match with a regular expression"),
    _form(rf"{_PATH}\s*!~\s*{_VALUE}", r"!(\1 ~ \2)", r"'does not match' is written !(\1 ~ \2)."),
    _symbol(r"(?<![\w\])\"] )(?<![\w\])\"])~\s*" + _HERE, "!", "'not'"),
    _form(
        rf"{_PATH}\s*(<=?|>=?)\s*{_PATH}\s*(<=?|>=?)\s*{_NUMBER}",
        r"\1 \2 \3 & \3 \4 \5",
        "A comparison has two sides: write a < b & b < c.",
    ),
    _form(
        rf"{_NUMBER}\s*(<=?|>=?)\s*{_PATH}\s*(<=?|>=?)\s*{_NUMBER}",
        r"\1 \2 \3 & \3 \4 \5",
        "A comparison has two sides: write a < b & b < c.",
    ),
    _form(
        rf"{_TOOL}\s*(?:\^|\bxor\b)\s*{_TOOL}",
        r"!(\1 <-> \2)",
        r"'either, but not both' is written !(\1 <-> \2).",
    ),
)

_LITERALS: Final = (
    _form(r"'([^'\"\n]*)'", r'"\1"', 'Strings are written in double quotes: "text".'),
    _form(
        r"[“”„‟″]([^“”„‟″\"\n]*)[“”„‟″\"]", r'"\1"', 'Strings are written in plain quotes: "text".'
    ),
    _form(r"[‘’‚]([^‘’‚\"\n]*)[‘’‚]", r'"\1"', 'Strings are written in double quotes: "text".'),
    _form(r"`([^`\n]*)`", r"\1", "Backticks are left out."),
    _form(r"\bTrue\b|\bTRUE\b", "true", "Write true, as in JSON."),
    _form(r"\bFalse\b|\bFALSE\b", "false", "Write false, as in JSON."),
    _form(
        rf"{_PATH}\s+(?:is\s+not|!=)\s+(?:null|None|NULL|nil|undefined)\b",
        r"(exists x in \1: true)",
        r"That a value is there is written exists x in \1: true.",
    ),
    _form(
        rf"{_PATH}\s+(?:is|=)\s+(?:null|None|NULL|nil|undefined)\b",
        r"!(exists x in \1: true)",
        r"That there is no value is written !(exists x in \1: true).",
    ),
    _form(r"\bNone\b|\bNULL\b|\bnil\b|\bundefined\b", "null", "Write null, as in JSON."),
    _form(r"(\d)[_'](\d)", r"\1\2", "Numbers are written without separators: 1000."),
    _form(r"(\d),(\d{3})\b", r"\1\2", "Numbers are written without separators: 1000."),
    _form(r"[$€£¥]\s*(?=\d)", "", "A number has no sign of a currency: 100."),
    _form(r"(?<=\d)\s*[$€£¥]", "", "A number has no sign of a currency: 100."),
    _form(r"(\d+)\s*%", None, r"There is no percent: write \1 / 100, or \1 if that is recorded."),
    _form(r"(?<![\w\])\".])\.(\d)", r"0.\1", r"A number begins with a digit: 0.\1."),
    _form(r"(?<![\w.])0+([1-9]\d*)\b", r"\1", "A number does not begin with 0."),
    _form(r"(?<!\w)\$\.?(?=[^\W\d])", "", "A path begins with its field: args.amount."),
    _form(
        r"\?\.?(?=[^\W\d]|\s|$)",
        ".",
        "No ? is needed: where a part is missing, the comparison is false.",
    ),
    _form(
        rf"{_PATH}\[\*?\]\.?([\w.]+)\s*(<=?|>=?|!?=|~|in|contains)\s*{_VALUE}",
        r"(forall x in \1: x.\2 \3 \4)",
        r"A condition on each element is written forall x in \1: x.\2 \3 \4.",
    ),
    _form(r";\s*$", "", "A rule ends without a semicolon."),
    _form(r"\s;", None, "A rule is one formula: join parts with &, or write several constraints."),
    _form(r"(?://|--)\s*(.*)$", r"# \1", "A comment begins with #."),
    _form(r"/\*(.*?)\*/", "", "A comment begins with #, and ends with the line."),
)

_UNITS: Final = (
    _form(r"(\d)\s*(?:milliseconds?|millis|msecs?)\b", r"\1 ms", "Milliseconds are written ms."),
    _form(r"(\d)\s*(?:seconds?|secs?|S)\b", r"\1 s", "Seconds are written s."),
    _form(r"(\d)\s*(?:minutes?|mins|m|M)\b", r"\1 min", "Minutes are written min."),
    _form(r"(\d)\s*(?:hours?|hrs?|H)\b", r"\1 h", "Hours are written h."),
    _form(r"(\d)\s*(?:days?|D)\b", r"\1 d", "Days are written d."),
    _form(r"(\d)\s*(?:weeks?|w)\b", None, "The longest unit is the day: 7 d."),
    _form(
        r"\bwithin\s+(\d+)\s+(?:calls?|steps?|turns?|events?)\b",
        None,
        r"within is a bound in time: 10 min. WithinSteps(a, b, \1) counts calls.",
    ),
)

_COUNTED: Final = (
    "No operator counts events. WithinSteps(a, b, 3) does, and within bounds the time."
)
_BOUNDED: Final = (
    _form(r"\bX\s*\[1\]\s*" + _HERE, "X ", "X is the next event."),
    _form(r"\bX\s*\[2\]\s*" + _HERE, "X X ", "X is repeated for the event after the next."),
    *(
        _form(
            rf"\bF\s*(?:\[(?:0\s*,\s*)?{n}\]|<=\s*{n}|\{{(?:0,)?{n}\}})\s*(?:{_TOOL}|\({_TOOL}\))",
            "(" + r"\1\2 | X(" * (n - 1) + r"\1\2 | X \1\2" + ")" * n,
            _COUNTED,
        )
        for n in (1, 2, 3)
    ),
    _form(r"\b[FGXUWROHYS]\s*(?:\[[\d,\s]*\]|<=?\s*\d+|\{[\d,\s]*\})\s*", None, _COUNTED),
)

_OPERATORS: Final = (
    *(
        _form(
            rf"\b(?!{word}\b)(?i:{word})\b(\s*)",
            rf"{word}\1",
            f"Operators are in lower case: {word}.",
        )
        for word in _WORDS
    ),
    _form(r"\bP\b\s*(?=[\w(!\"])", "O ", "P, some time in the past, is written O."),
    _form(r"\bN\b\s*(?=[\w(!\"])", "X ", "N, at the next event, is written X."),
    _form(r"\bZ\b\s*(?=[\w(!\"])", "WX ", "Z, at the next event if there is one, is written WX."),
    _form(r"\b[AE]([GFX])\b\s*", r"\1 ", r"There is one run, not a tree of them: write \1."),
    _form(r"\b(?i:globally|henceforth)\b\s*", "G ", "'always' is written G."),
    _form(r"\b(?i:finally|sometimes?|in future)\b\s*", "F ", "'eventually' is written F."),
    _form(r"\b(?i:previously|past)\b\s*(?=\()", "O ", "'some time before' is written O."),
    _form(r"\bif\s+(.+?)\s+then\s+", r"\1 -> ", "'if … then' is written ->."),
    _form(
        rf"\b(?:(?:forbid|never|no)\s+{_TOOL}\s+(?:unless|without|before)|"
        rf"{_TOOL}\s+(?:requires|needs|only\s+if|only\s+after|unless|after|must\s+follow))\s+{_TOOL}",
        r"G(\1\2 -> O \3)",
        r"That \3 comes first is written G(\1\2 -> O \3).",
    ),
    _form(
        rf"\bcall\({_TOOL}\)\s+(?:requires|needs|unless|after)\s+call\({_TOOL}\)",
        r"G(\1 -> O \2)",
        r"That \2 comes first is written G(\1 -> O \2).",
    ),
    _form(
        rf"(?:\bF\s*\(?\s*)?{_TOOL}\s*\)?\s+(?:before|precedes)\s+(?:F\s*\(?\s*)?{_TOOL}\)?",
        r"G(\2 -> O \1)",
        r"That \1 comes before each \2 is written G(\2 -> O \1).",
    ),
    _form(
        rf"{_TOOL}\s+(?:then|followed\s+by|leads\s+to|~>)\s+{_TOOL}",
        r"G(\1 -> F \2)",
        r"That \2 follows each \1 is written G(\1 -> F \2).",
    ),
    _form(r"\bif\s+(.+?)\s*:\s*", r"\1 -> ", "'if' is written ->: condition -> consequence."),
    _form(r"\belse\b", None, "There is no else: write (a -> b) & (!a -> c)."),
    _form(r"\b(?:never|forbid|deny|no)\b\s*" + _HERE, "G !", "'never' is written G !."),
    _form(r"\b(?:require|must)\b\s*(?:call\s+)?" + _HERE, "F ", "What must happen is written F."),
    _form(r"\bunless\b|\brequires\b", None, "A condition comes first: G(refund -> O verify)."),
    _form(r"\bfinal\s+answer\b", "final_answer", "The final answer is written final_answer."),
    _form(
        r"\b([GFXYOH])\(([^(),]+),[^()]*=",
        None,
        r"Conditions on a call stand inside it: \1 call(\2, id = 5).",
    ),
    _form(r"\b([GFXYOH])\(([^(),]+),\s*", None, r"\1 takes one formula: \1(a & b), \1(a -> b)."),
    _form(r"^\s*-\s+", "", "A rule is written without a dash."),
    _form(
        r"^\s*(?:rule|formula|[^\W\d][\w-]*)\s*:\s+",
        "",
        "The name of a rule is a field of its own, and not part of the rule.",
    ),
    _form(r"\bcall\s+(?=[\w\"])", "", "A call of a tool is written with its name alone."),
    _form(r"\blike\(\s*([\w*]+\*[\w*]*)\s*\)", r'like("\1")', "The pattern stands in quotes."),
    _form(
        r"([^\W\d]\w*\*[\w*]*)", r'like("\1")', r'Tools by a pattern of their names: like("\1").'
    ),
    _form(
        r"(?<=\()\s*\*\s*(?=\))|(?<![\w\])\"]) ?\*(?! ?[\d(\[\"])",
        "call",
        "Any call is written call.",
    ),
)

_VALUES: Final = (
    _form(
        rf"{_PATH}\.(?:startswith|startsWith|starts_with)\({_VALUE}\)|{_PATH}\s+"
        rf"(?:startswith|starts_with|startsWith|starts\s+with)\s+{_VALUE}",
        r"starts_with(\1\3, \2\4) = true",
        r"This is a function: starts_with(\1\3, \2\4) = true.",
    ),
    _form(
        rf"{_PATH}\.(?:endswith|endsWith|ends_with)\({_VALUE}\)|{_PATH}\s+"
        rf"(?:endswith|ends_with|endsWith|ends\s+with)\s+{_VALUE}",
        r"ends_with(\1\3, \2\4) = true",
        r"This is a function: ends_with(\1\3, \2\4) = true.",
    ),
    _form(
        rf"{_PATH}\.(?:contains|includes|has)\({_VALUE}\)",
        r"\1 contains \2",
        r"'contains' stands between its operands: \1 contains \2.",
    ),
    _form(
        rf"{_PATH}\.(?:match|matches|test|search)\({_VALUE}\)|{_PATH}\s+(?:matches|match)\s+{_VALUE}",
        r"\1\3 ~ \2\4",
        r"A match with a regular expression is written ~: \1\3 ~ \2\4.",
    ),
    _form(
        rf"{_PATH}\.(?:lower|toLowerCase|lowercase)\(\)",
        r"lower(\1)",
        r"This is a function: lower(\1).",
    ),
    _form(
        rf"{_PATH}\.(?:upper|toUpperCase|uppercase)\(\)",
        r"upper(\1)",
        r"This is a function: upper(\1).",
    ),
    _form(rf"{_PATH}\.(?:strip|trim)\(\)", r"trim(\1)", r"This is a function: trim(\1)."),
    _form(
        rf"{_PATH}\.(?:length|size|count|len)\(\)",
        r"length(\1)",
        r"This is a function: length(\1).",
    ),
    _form(
        rf"{_PATH}\s+like\s+\"([^\"\n]*)\"",
        None,
        r"Match it with a regular expression: \1 ~ /…/. In one, .* stands for any text.",
    ),
    _form(
        rf"{_PATH}\s+not\s+(in|contains)\s+{_VALUE}",
        r"!(\1 \2 \3)",
        r"'not' stands before the comparison: !(\1 \2 \3).",
    ),
    _form(
        rf"{_PATH}\s+between\s+{_NUMBER}\s+and\s+{_NUMBER}",
        r"\1 >= \2 & \1 <= \3",
        r"Write both limits: \1 >= \2 & \1 <= \3.",
    ),
    _form(
        rf"{_PATH}\s+in\s+(-?\d+)\s*\.\.\s*(-?\d+)",
        r"\1 >= \2 & \1 <= \3",
        r"Write both limits: \1 >= \2 & \1 <= \3.",
    ),
    _form(
        rf"\b(?:exists|has|defined|present|is_set)\({_PATH}\)",
        r"(exists x in \1: true)",
        r"That a value is there is written exists x in \1: true.",
    ),
    _form(
        rf"\bmissing\({_PATH}\)",
        r"!(exists x in \1: true)",
        r"That there is no value is written !(exists x in \1: true).",
    ),
    _form(r"\s+is\s+not\s+", " != ", "'is not' is written !=."),
    _form(r"\s+is\s+", " = ", "'is' is written =."),
    _form(r"\s+equals\s+", " = ", "'equals' is written =."),
    _form(r"%", None, "There is no remainder of a division."),
    _form(r"\*\*", None, "There are no powers: multiply."),
)

_BINDERS: Final = (
    _form(r"\blet\s+(\w+)\s*:=\s*", r"let \1 = ", "let names a value with =."),
    _form(
        r"(\blet\s+\w+\s*=\s*[^:;]+?)\s*(?:;|\bin\b)\s*",
        r"\1: ",
        "let ends with a colon: let x = …: …",
    ),
    _form(r"\bfor\s*(?:all|each|every)?\s+(\w+)\s+in\b", r"forall \1 in", "Write forall x in …: …"),
    _form(r"\bforeach\s+(\w+)\s+in\b", r"forall \1 in", "Write forall x in …: …"),
    _form(r"\ball\((?=\w+ in )", "(forall ", "'for all' is written forall x in …: …"),
    _form(r"\bany\((?=\w+ in )", "(exists ", "'there is' is written exists x in …: …"),
    _form(
        r"(\b(?:forall|exists)\s+\w+\s+in\s+[\w.]+)\s*,\s*",
        r"\1: ",
        "A colon follows: forall x in …: …",
    ),
    _form(
        r"(\b(?:forall|exists)\s+\w+\s+in\s+[\w.]+)\s+(?=\w)",
        r"\1: ",
        "A colon follows: forall x in …: …",
    ),
    _form(
        r"(\bexists\s+\w+\s+in\s+[\w.]+)\s*$",
        r"\1: true",
        "A condition follows, or true: exists x in …: true.",
    ),
    _form(
        r"\b(forall|exists)\s+(\w+)\s*:",
        None,
        r"It says over what: \1 \2 in args.items: … for a list of the call.",
    ),
)

FOREIGN_FORMS: Final = (
    *_LITERALS,
    *_SYMBOLS,
    *_VALUES,
    *_BINDERS,
    *_UNITS,
    *_BOUNDED,
    *_OPERATORS,
)
"""All rows. The first that matches is taken."""
