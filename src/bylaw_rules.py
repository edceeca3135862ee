"""Reads the rules of a procedure file without Bylaw: YAML, and the text of rules.

`bylaw_check.py` uses it, if it lies beside it, to find out that the formulas of a certificate are
the rules of the procedure. This file needs only the standard library, and can be copied. It reads
the YAML that procedures are written in, not all of YAML; what it cannot read it raises Unread for.

Formulas are in the JSON form of Bylaw: a list of parts, which name earlier parts by number.
"""

import json
import re
from typing import Any, NamedTuple

Json = Any


class Unread(Exception):
    """A text that this program does not read."""


def no(message: str) -> Any:
    raise Unread(message)


# ── YAML: block and flow collections, scalars; no anchors, no tags ────────────────────────────

KEY = re.compile(
    r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s\[\]{}#&*!|>'"%@`,-][^#]*?|-[^\s#][^#]*?)\s*:(?:\s+|$)"""
)
FLOW = re.compile(
    r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[\[\]{},]|:(?=[\s,\]}])|[^\s\[\]{},:"'](?:[^\[\]{},:]|:(?=\S))*)"""
)


def scalar(text: str) -> Json:
    text = text.strip()
    if text[:1] == '"':
        return json.loads(text)
    if text[:1] == "'":
        return text[1:-1].replace("''", "'")
    if text[:1] in tuple("&*!%@`|>"):
        no(f"the YAML value {text:.40}")
    if text in ("", "~", "null", "true", "false"):
        return {"true": True, "false": False}.get(text)
    if re.fullmatch(r"[-+]?(0|[1-9][0-9]{0,999})", text):
        return int(text)
    number = re.fullmatch(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", text)
    return float(text) if number else text


def flow(tokens: list[str]) -> Json:
    """The value at the beginning of the tokens of a flow collection, which are consumed."""
    token = tokens.pop(0) if tokens else no("a bracket that is not closed")
    if token not in ("[", "{"):
        return scalar(token)
    listed: list[Json] = []
    pairs: dict[str, Json] = {}
    while tokens and tokens[0] not in ("]", "}"):
        value = flow(tokens)
        if token == "{":
            if not isinstance(value, str) or value in pairs:
                no(f"the key {value!r:.40}")
            pairs[value] = flow(tokens) if tokens[:1] == [":"] and tokens.pop(0) else None
        listed.append(value)
        if tokens[:1] == [","]:
            tokens.pop(0)
    if not tokens or tokens.pop(0) != {"[": "]", "{": "}"}[token]:
        no("a bracket that is not closed")
    return pairs if token == "{" else listed


class Yaml:
    """The lines of a document, read from the top."""

    def __init__(self, text: str) -> None:
        self.lines, self.at = text.removeprefix("\ufeff").split("\n"), 0
        if not all(line.isprintable() for line in self.lines) or re.search(r"(?m)^[ -]*\? ", text):
            no("tabs, control characters, lines that end in another way, or keys with a '?'")

    def document(self) -> Json:
        value = self.block(0)
        return value if self.indent() < 0 else no(f"line {self.at + 1}")

    def indent(self) -> int:
        """The indentation of the next line that has content; -1 at the end."""
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.strip() and not line.lstrip().startswith("#"):
                return len(line) - len(line.lstrip())
            self.at += 1
        return -1

    def block(self, least: int) -> Json:
        indent = self.indent()
        if indent < least:
            return None
        line = self.lines[self.at]
        if re.match(r" *-(\s|$)", line):
            items = []
            while self.indent() == indent and re.match(r" *-(\s|$)", self.lines[self.at]):
                self.lines[self.at] = self.lines[self.at].replace("-", " ", 1)
                items.append(self.block(indent + 1))
            return items
        if KEY.match(line, indent) is None:
            self.at += 1
            return self.rest(line[indent:], least)
        pairs: dict[str, Json] = {}
        while self.indent() == indent and (key := KEY.match(self.lines[self.at], indent)):
            name, after = scalar(key[1]), self.lines[self.at][key.end() :]
            if name in pairs or not isinstance(name, str):
                no(f"the key {name!r:.40}")
            self.at += 1
            if after.strip() and not after.startswith("#"):
                pairs[name] = self.rest(after, indent + 1)
            else:
                dash = self.indent() == indent and re.match(r" *-(\s|$)", self.lines[self.at])
                pairs[name] = self.block(indent if dash else indent + 1)
        return pairs if self.indent() <= indent else no(f"line {self.at + 1}")

    def rest(self, text: str, least: int) -> Json:
        """A scalar or a flow collection that begins with this text, and may go on below it."""
        if header := re.fullmatch(r"([|>])[-+]?\s*(#.*)?", text):
            return self.literal(header[1] == ">", least)
        if text[0] in "\"'":
            closed = r'"(?:[^"\\]|\\.)*"' if text[0] == '"' else r"'(?:[^']|'')*'"
            while not re.match(closed, text):
                text = f"{text} {self.more(least) or no('a quote that is not closed')}"
            found = re.match(closed, text)
            return (
                scalar(found[0])
                if found and not re.sub(r"\s*(#.*)?$", "", text[found.end() :])
                else no(text)
            )
        if text[0] in "[{":
            while (tokens := self.flow_tokens(text)) is None:
                text = f"{text}\n{self.more(least) or no('a bracket that is not closed')}"
            value = flow(tokens)
            return no(f"the text after {text:.40}") if tokens else value
        while True:
            plain = re.sub(r"(^|\s)#.*$", "", text)
            if plain != text or not (line := self.more(least)):
                return no(f"the text {text:.40}") if re.search(r":(\s|$)", plain) else scalar(plain)
            text = f"{text} {line}"

    def flow_tokens(self, text: str) -> list[str] | None:
        """The tokens of a flow collection; None if it is not closed yet."""
        tokens, at, open_brackets = [], 0, 0
        text = re.sub(
            r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')|\s#[^\n]*""", lambda m: m[1] or "", text
        ).rstrip()
        while at < len(text):
            found = FLOW.match(text, at) or no(f"the text {text[at : at + 40]}")
            tokens.append(found[1])
            open_brackets += (found[1] in ("[", "{")) - (found[1] in ("]", "}"))
            at = found.end()
        return None if open_brackets else tokens

    def more(self, least: int) -> str:
        """The next line, if it continues a scalar."""
        start = self.at
        if self.indent() < least:
            return ""
        if self.at > start:
            no("an empty line or a comment inside a value")
        self.at += 1
        return self.lines[self.at - 1].strip()

    def literal(self, folded: bool, least: int) -> str:
        found: list[str] = []
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.strip() and len(line) - len(line.lstrip()) < least:
                break
            found.append(line)
            self.at += 1
        margin = min((len(each) - len(each.lstrip()) for each in found if each.strip()), default=0)
        text, before = "", ""
        for line in (each[margin:].rstrip() if each.strip() else "" for each in found):
            joined = folded and line and before and line[0] != " " and before[0] != " "
            text += (" " if joined else "\n" if text else "") + line
            before = line
        return text.strip("\n")


# ── the text of rules ─────────────────────────────────────────────────────────────────────────

TOKEN = re.compile(
    r"""(?P<space>(?:[ \t\r\n]+|\#[^\n]*)+)|(?P<name>[^\W\d]\w*)|(?P<string>"(?:[^"\\\n]|\\.)*")"""
    r"""|(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?P<regex>/(?:[^/\\\n]|\\.)+/)"""
    r"""|(?P<symbol><->|->|<=|>=|!=|[=<>~+*/.,:()\[\]{}&|!-])"""
)
WORDS = {
    "iff": "<->",
    "implies": "->",
    "or": "|",
    "and": "&",
    "not": "!",
    "until": "U",
    "weak_until": "W",
    "release": "R",
    "since": "S",
    "next": "X",
    "weak_next": "WX",
    "eventually": "F",
    "always": "G",
    "yesterday": "Y",
    "once": "O",
    "historically": "H",
}
PREFIXES = {
    "!": "not",
    "X": "next",
    "WX": "weak_next",
    "F": "eventually",
    "G": "always",
    "Y": "yesterday",
    "O": "once",
    "H": "historically",
    "earlier": "earlier",
    "later": "later",
}
INFIXES = {  # tag, and how tightly it binds; & and | are lists, the others group to the right
    "<->": ("iff", 10),
    "->": ("implies", 20),
    "|": ("or", 30),
    "&": ("and", 40),
    "U": ("until", 50),
    "W": ("weak_until", 50),
    "R": ("release", 50),
    "S": ("since", 50),
}
COMPARISONS = ("=", "!=", "<=", ">=", "<", ">")
RELATIONS = (*COMPARISONS, "in", "contains", "mentions", "~")
ARITHMETIC = {"+": 70, "-": 70, "*": 80, "/": 80}
UNITS = {"d": 86_400_000, "h": 3_600_000, "min": 60_000, "s": 1000, "ms": 1}
FIELDS = [
    "args",
    "result",
    "tool",
    "step",
    "text",
    "error",
    "start",
    "end",
    "duration",
    "agent",
    "usage",
]
PREDICATES = {
    "Called": "tool:tool",
    "CalledN": "tool:tool count:count",
    "Before": "first:tool second:tool",
    "After": "second:tool first:tool",
    "AllBefore": "tools:tools goal:tool",
    "InstanceBefore": "first:tool n:value second:tool m:value",
    "InOrder": "sequence:sequence",
    "WithinSteps": "first:tool second:tool limit:value",
    "CalledWith": "tool:tool arguments:arguments",
    "CalledWithResult": "tool:tool result:value arguments:arguments",
    "CalledExactly": "tool:tool arguments:arguments",
    "BranchCalled": "taken:tool avoided:tool",
}
FUNCTIONS = {
    *("abs", "avg", "ceil", "date", "decode", "ends_with", "find", "floor", "hour", "join"),
    *(
        "keys",
        "leaves",
        "length",
        "lower",
        "max",
        "min",
        "normalise",
        "replace",
        "reverse",
        "round",
    ),
    *("round", "sort", "split", "starts_with", "sum", "to_number", "to_string", "trim", "type"),
    *("unique", "upper", "values", "weekday", "zip"),
}


class Token(NamedTuple):
    """A word of a rule: what it is, and its text."""

    kind: str
    text: str


def tokens_of(text: str) -> list[Token]:
    """A `/` or `-` after a value is arithmetic; elsewhere it begins an expression or a number."""
    found: list[Token] = []
    at = 0
    while at < len(text):
        before = found[-1] if found else Token("symbol", "(")
        operator = before.text in RELATIONS or before.text in WORDS or before.text in PREFIXES
        after_value = not operator and (before.kind != "symbol" or before.text in ")]}")
        token = TOKEN.match(text, at) or no(f"the text {text[at : at + 20]!r}")
        kind, word = token.lastgroup or "", token[0]
        if after_value and (kind == "regex" or (kind == "number" and word[0] == "-")):
            kind, word = "symbol", word[0]
        if kind != "space":
            found.append(Token(kind, word))
        at += len(word)
    return [*found, Token("end", "")]


class Scope(NamedTuple):
    """The variables, by their names in the formula, and the operands of a definition."""

    variables: dict[str, str]
    operands: dict[str, "Reader"]

    def taken(self) -> set[str]:
        inner = [operand.scope for operand in self.operands.values()]
        return set().union(*({*scope.variables.values(), *scope.taken()} for scope in inner))

    def binding(self, variable: str) -> "Scope":
        name, taken = variable, self.taken()
        taken |= {v for k, v in self.variables.items() if k != variable} if taken else set()
        while name in taken:
            name += "_"
        operands = {key: operand for key, operand in self.operands.items() if key != variable}
        return Scope({**self.variables, variable: name}, operands)


def constant(term: Json) -> bool:
    ((tag, content),) = term.items()
    if tag in ("literal", "variable", "answer", "labels"):
        return True
    inner = content.values() if tag == "object" else content["to"] if tag == "apply" else content
    return tag in ("list", "object", "at", "apply") and all(map(constant, inner))


class Names(NamedTuple):
    """The names that a procedure defines."""

    groups: dict[str, list[str]]
    constants: dict[str, Json]
    definitions: dict[str, tuple[list[str], list[Token]]]


class Reader:
    """Reads tokens from a place on, in a scope. Every part is written when it is complete."""

    def __init__(self, tokens: list[Token], names: Names, parts: list[str], scope: Scope) -> None:
        self.tokens, self.names, self.parts, self.scope, self.at = tokens, names, parts, scope, 0

    def copy(self) -> "Reader":
        reader = Reader(self.tokens, self.names, self.parts, self.scope)
        reader.at = self.at
        return reader

    def inside(self, scope: Scope) -> "Reader":
        reader = self.copy()
        reader.scope = scope
        return reader

    @property
    def next(self) -> str:
        token = self.tokens[self.at]
        return token.text if token.kind in ("name", "symbol") else ""

    def take(self, *wanted: str) -> Token:
        if wanted and self.next not in wanted:
            no(f"'{self.tokens[self.at].text:.20}' where {' or '.join(wanted)} is expected")
        self.at += 1
        return self.tokens[self.at - 1]

    def string(self) -> str:
        token = self.take()
        return str(json.loads(token.text)) if token.kind == "string" else no(f"'{token.text:.20}'")

    def part(self, part: Json) -> int:
        """The number of a part; equal parts have one number."""
        text = json.dumps(part, sort_keys=True)
        number = self.parts.index(text) if text in self.parts else len(self.parts)
        self.parts += [text] if number == len(self.parts) else []
        return number

    # ── formulas ─────────────────────────────────────────────────────────────────────────

    def formula(self, loosest: int = 0) -> int:
        left = self.unary()
        while (found := INFIXES.get(WORDS.get(self.next, self.next))) and found[1] >= loosest:
            operands = [left]
            while INFIXES.get(WORDS.get(self.next, self.next)) == found:
                self.take()
                operands.append(self.formula(found[1] + (found[0] in ("and", "or"))))
            left = self.part({found[0]: operands})
        return left

    def unary(self) -> int:
        word = WORDS.get(self.next, self.next)
        if word in PREFIXES:
            self.take()
            operand = self.unary()
            if self.next != "within" or word not in ("F", "O", "earlier", "later"):
                return self.part({PREFIXES[word]: [operand]})
            self.take()
            bound = {"operand": operand, "seconds": self.term()["literal"]}
            return self.part({f"{PREFIXES[word]}_within": bound})
        if word in ("forall", "exists"):
            self.take()
            return self.part({word: self.binder()})
        if word == "let":
            self.take()
            return self.let()
        start, written = self.at, len(self.parts)
        try:
            left = self.term()
            if self.next == "from":
                return self.sourced(left)
            if self.next in RELATIONS:
                symbol = self.take().text
                return self.part({"compare": [left, symbol, self.term()]})
        except Unread:
            pass
        del self.parts[written:]
        self.at = start
        return self.atom()

    def sourced(self, value: Json) -> int:
        """`value from condition`, or `value from part of condition`, written out."""
        self.take("from")
        start, written, read = self.at, len(self.parts), {"read": "text"}
        try:
            part = self.term()
            self.take("of")
            read = part
        except Unread:
            del self.parts[written:]
            self.at = start
        condition = self.unary()
        seen = json.loads(self.parts[condition]).get("and", [condition])
        if len(seen) > 1 and condition == len(self.parts) - 1:
            del self.parts[condition]  # a conjunction inside a conjunction dissolves
        text = "".join(self.parts[written:]) + json.dumps(read)
        free = '{"variable": "leaf"}' in text and '"variable": "leaf"}}' not in text
        leaf = "leaf2" if free else "leaf"
        variable = {"variable": leaf}
        mentioned = self.part({"compare": [read, "mentions", variable]})
        echoed = self.part({"compare": [{"read": "args"}, "mentions", variable]})
        own = self.part({"not": [echoed]})
        both = self.part({"and": [*seen, mentioned, own]})
        body = self.part({"earlier": [both]})
        domain = {"found": {"apply": {"function": "leaves", "to": [value]}}}
        return self.part({"forall": {"variable": leaf, "in": domain, "body": body}})

    def binder(self) -> Json:
        variable = self.take().text
        self.take("in")
        domain = self.domain()
        self.take(":")
        inner = self.inside(self.scope.binding(variable))
        body = inner.formula()
        self.at = inner.at
        return {"variable": inner.scope.variables[variable], "in": domain, "body": body}

    def let(self) -> int:
        variable = self.take().text
        self.take("=")
        value = self.term()
        inner = self.inside(self.scope.binding(variable))
        body = inner.let() if inner.take(",", ":").text == "," else inner.formula()
        self.at = inner.at
        named = {"variable": inner.scope.variables[variable], "value": value}
        return self.part({"let": {**named, "body": body}})

    def atom(self) -> int:
        name, invoked = self.next, self.tokens[self.at + 1].text == "("
        if name == "(":
            self.take()
            found = self.formula()
            self.take(")")
            return found
        if (body := self.meaning()) is not None:
            return body.formula()
        if name in ("true", "false"):
            self.take()
            return self.part({"truth": name == "true"})
        if name in ("ok", "failed"):
            self.take()
            return self.part({"event": {"where": [{"outcome": name}]}})
        if name == "call":
            self.take()
            return self.event() if invoked else self.part({"event": {}})
        if not invoked or name in ("like", "{"):
            return self.part({"event": {"tool": self.tool()}})
        self.at += 2
        if name == "says":
            role = self.take("user", "assistant", "system").text
            self.take(")")
            return self.part({"says": role})
        if name in ("sh", "shell"):
            no("shell commands, which only Bylaw parses")
        if name not in PREDICATES:
            no(f"'{name}', which is registered in Python")
        return self.part({name: self.operands(PREDICATES[name])})

    def meaning(self) -> "Reader | None":
        """A reader of what a parameter or a definition stands for; None if the name is neither."""
        name = self.next
        if name in self.scope.operands:
            self.take()
            return self.scope.operands[name].copy()
        if name in self.scope.variables or name not in self.names.definitions:
            return None
        self.take()
        parameters, tokens = self.names.definitions[name]
        given = self.given() if parameters else []
        if len(given) != len(parameters):
            no(f"the operands of '{name}'")
        scope = Scope({}, dict(zip(parameters, given, strict=True)))
        return Reader(tokens, self.names, self.parts, scope)

    def given(self) -> "list[Reader]":
        """A reader for each operand in parentheses."""
        self.take("(")
        found, depth = [self.copy()], 0
        while depth or self.next != ")":
            token = self.take()
            if token.kind == "end":
                no("a parenthesis that is not closed")
            if token.kind == "symbol":
                depth += (token.text in "([{") - (token.text in ")]}")
            if token == ("symbol", ",") and not depth:
                found.append(self.copy())
        self.take(")")
        return found

    def event(self) -> int:
        self.take("(")
        after = self.tokens[self.at + 1].text
        named = (
            (self.tokens[self.at].kind in ("name", "string") and after in (",", ")"))
            or after == "("
            or self.next == "{"
        )
        tool = self.tool() if named and self.next not in ("ok", "failed") else None
        patterns: list[Json] = []
        conditions: list[int] = []  # the places of comparisons
        while self.next != ")":
            if tool is not None or patterns or conditions:
                self.take(",")
            start, written = self.at, len(self.parts)
            pattern = self.pattern()
            del self.parts[written:]
            if "compare" in pattern:
                conditions.append(start)
            else:
                patterns.append(pattern)
        content = {} if tool is None else {"tool": tool}
        event = self.part({"event": content | ({"where": patterns} if patterns else {})})
        end, compared = self.at, []
        for self.at in conditions:  # their own parts come after the event
            compared.append(self.part(self.pattern()))
        self.at = end + 1
        return self.part({"and": [event, *compared]}) if compared else event

    def pattern(self) -> Json:
        if self.next in ("ok", "failed"):
            return {"outcome": self.take().text}
        result = self.next == "result"
        keys = self.keys()
        symbol = self.take(*RELATIONS).text
        value = self.term()
        keys = keys[1:] if result else keys
        if symbol == "=" and constant(value):
            return {"result" if result else "argument": keys, "is": value}
        path: Json = {"read": "result" if result else "args"}
        for key in keys:
            path = {"at": [path, {"literal": key}]}
        return {"compare": [path, symbol, value]}

    def keys(self) -> list[str]:
        """The path to an argument: `amount`, `args.amount`, `"order id".x`."""
        plain = self.next == "args"
        keys = [self.key()]
        while self.next in (".", "["):
            bracket = self.take().text == "["
            keys.append(self.string() if bracket else self.key())
            if bracket:
                self.take("]")
        return keys[1:] if plain and len(keys) > 1 else keys

    def key(self) -> str:
        return self.take().text if self.tokens[self.at].kind == "name" else self.string()

    def operands(self, kinds: str) -> Json:
        found: Json = {}
        for name, kind in (each.split(":") for each in kinds.split()):
            rest = kind in ("sequence", "arguments")
            if found and (not rest or self.next != ")"):
                self.take(",")
            if kind == "tool":
                found[name] = self.tool()
            elif kind == "count":
                found[name] = {"is": self.take(*COMPARISONS).text, "number": self.term()}
            elif kind == "value":
                found[name] = self.term()
            else:
                found[name] = self.listed(kind)
        self.take(")")
        return found

    def listed(self, kind: str) -> list[Json]:
        closing = "]" if kind == "tools" else ")"
        if kind == "tools":
            self.take("[")
        found: list[Json] = []
        while self.next != closing:
            if found:
                self.take(",")
            if kind != "arguments":
                found.append(self.tool())
                continue
            keys = self.keys()
            self.take("=")
            found.append({"argument": keys, "is": self.term()})
        if kind == "tools":
            self.take("]")
        return found

    def tool(self) -> Json:
        token = self.tokens[self.at]
        if token.kind == "string":
            return self.string()
        if self.next == "{":
            self.take()
            members = [self.tool()]
            while self.take(",", "}").text == ",":
                members.append(self.tool())
            return self.tool_set(members)
        if token.text in self.scope.variables and token.text not in self.scope.operands:
            return {"variable": self.scope.variables[self.take().text]}
        if (body := self.meaning()) is not None:
            return body.tool()
        if token.text in self.names.groups:
            self.take()
            return self.tool_set(self.members(token.text, set()))
        if token.text == "like":
            self.at += 2
            pattern = self.string()
            self.take(")")
            return {"like": pattern}
        return self.take().text if token.kind == "name" else no(f"'{token.text:.20}' as a tool")

    def members(self, group: str, seen: set[str]) -> list[Json]:
        found: list[Json] = []
        seen.add(group)
        for member in self.names.groups[group]:
            if member in self.names.groups:
                found += self.members(member, seen) if member not in seen else []
            else:
                found.append({"like": member} if "*" in member else member)
        return found

    def tool_set(self, tools: list[Json]) -> Json:
        def place(tool: Json) -> tuple[str, int]:
            ((tag, name),) = tool.items() if isinstance(tool, dict) else [("name", tool)]
            return name, ("like", "name", "variable").index(tag)

        flat = [
            each
            for tool in tools
            for each in (tool["any"] if "any" in tool and isinstance(tool, dict) else [tool])
        ]
        return {"any": [tool for _, tool in sorted({place(tool): tool for tool in flat}.items())]}

    # ── values ───────────────────────────────────────────────────────────────────────────

    def term(self, loosest: int = 0) -> Json:
        left = self.primary()
        while self.next in (".", "["):
            if self.take().text == ".":
                left = {"at": [left, {"literal": self.key()}]}
            else:
                left = {"at": [left, self.term()]}
                self.take("]")
        while ARITHMETIC.get(self.next, -1) >= loosest:
            symbol = self.take().text
            right = self.term(ARITHMETIC[symbol] + 1)
            left = {"apply": {"function": symbol, "to": [left, right]}}
        return left

    def primary(self) -> Json:
        kind, text = self.tokens[self.at]
        if kind == "name" and text not in ("true", "false", "null"):
            return self.named()
        self.take()
        if kind == "regex":
            return {"literal": text[1:-1].replace("\\/", "/")}
        if kind == "number" and self.next in UNITS:
            seconds = json.loads(text) * UNITS[self.take().text] / 1000
            return {"literal": int(seconds) if seconds == int(seconds) else seconds}
        if kind in ("string", "number", "name"):
            return {"literal": json.loads(text)}
        if text == "(":
            value = self.term()
            self.take(")")
            return value
        if text not in ("[", "{"):
            no(f"'{text:.20}' as a value")
        items: list[tuple[str, Json]] = []
        while self.next not in ("]", "}"):
            key = ""
            if text == "{":
                key = self.string()
                self.take(":")
            items.append((key, self.term()))
            if self.next not in ("]", "}"):
                self.take(",")
        self.take("]" if text == "[" else "}")
        if text == "{" and len(dict(items)) < len(items):
            no("a key that appears twice")
        literal = all("literal" in value for _, value in items)
        plain = [(key, value["literal"] if literal else value) for key, value in items]
        content = dict(plain) if text == "{" else [value for _, value in plain]
        return {"literal" if literal else "object" if text == "{" else "list": content}

    def named(self) -> Json:
        name, invoked = self.next, self.tokens[self.at + 1].text == "("
        if name in self.scope.variables and name not in self.scope.operands:
            return {"variable": self.scope.variables[self.take().text]}
        if (body := self.meaning()) is not None:
            return body.term()
        self.take()
        if not invoked and name in self.names.constants:
            return {"literal": self.names.constants[name]}
        if not invoked and name in FIELDS:
            return {"read": name}
        if not invoked and name in ("answer", "labels"):
            return {name: True}
        if invoked and name == "shell":
            no("shell commands, which only Bylaw parses")
        if not invoked or name not in {*FUNCTIONS, "last", "sofar", "count"}:
            no(f"'{name}' as a value")
        self.take("(")
        if name == "last":
            value: Json = {"last": self.formula()}
        elif name == "count":
            value = {"count": self.binder()}
        elif name == "sofar":
            value = {"sofar": {"condition": self.formula()}}
            if self.next == ",":
                self.take()
                value["sofar"]["seconds"] = self.term()["literal"]
        else:
            operands = [self.term()]
            while self.next == ",":
                self.take()
                operands.append(self.term())
            value = {"apply": {"function": name, "to": operands}}
        self.take(")")
        return value

    def domain(self) -> Json:
        name, invoked = self.next, self.tokens[self.at + 1].text == "("
        if name in self.scope.operands:
            self.take()
            return self.scope.operands[name].copy().domain()
        if invoked and name in ("args", "results", "metrics"):
            self.at += 2
            content = {}
            if name != "metrics":
                content["tool"] = self.tool()
                self.take(",")
            path = self.string()
            self.take(")")
            return {name: {**content, "path": path}}
        start, brackets = self.at, name == "["
        value = self.term()
        end = self.at
        if brackets and self.is_list(start, end):
            return {
                "listed": value["list"]
                if "list" in value
                else [{"literal": v} for v in value["literal"]]
            }
        if "literal" not in value:
            return {"found": value}
        items = value["literal"] if isinstance(value["literal"], list) else [value["literal"]]
        return {"listed": [{"literal": item} for item in items]}

    def is_list(self, start: int, end: int) -> bool:
        """Are these tokens one pair of brackets?"""
        depth = 0
        for at in range(start, end):
            if self.tokens[at].kind == "symbol":
                depth += (self.tokens[at].text in "([{") - (self.tokens[at].text in ")]}")
            if not depth:
                return at == end - 1
        return False


def rule_tokens(rule: Json) -> list[Token]:
    """The tokens of a rule; YAML reads `rule: true` as a boolean."""
    return tokens_of(json.dumps(rule) if isinstance(rule, bool) else rule)


def read_rule(rule: Json, names: Names) -> list[Json]:
    """The parts of the formula that a rule means."""
    if isinstance(rule, dict):
        written: list[Json] = rule["formula"]
        return written
    parts: list[str] = []
    reader = Reader(rule_tokens(rule), names, parts, Scope({}, {}))
    root = reader.formula()
    if reader.tokens[reader.at].kind != "end" or root != len(parts) - 1:
        no(f"'{reader.tokens[reader.at].text:.20}' at the end")
    return [json.loads(part) for part in parts]


def pairs(found: list[tuple[str, Json]]) -> Json:
    return dict(found) if len(dict(found)) == len(found) else no("a key that appears twice")


def read_procedure(text: str, is_json: bool) -> Json:
    """The rules of a procedure: names, weights, events, and formulas or why there is none."""
    document = Yaml(text).document() if not is_json else json.loads(text, object_pairs_hook=pairs)
    definitions = {}
    for head, body in (document.get("define") or {}).items():
        name, _, parameters = head.strip().removesuffix(")").partition("(")
        listed = [each.strip() for each in parameters.split(",")] if parameters else []
        definitions[name.strip()] = listed, rule_tokens(body)
    names = Names(document.get("groups") or {}, document.get("constants") or {}, definitions)

    def formula(rule: Json) -> Json:
        try:
            return {"formula": read_rule(rule, names)}
        except (Unread, RecursionError, ValueError, LookupError, TypeError) as error:
            return {"formula": None, "reason": f"{type(error).__name__}: {error}"}

    rules, failed, events = [], document.get("failed"), document.get("events") or "calls"
    for each in document["constraints"]:
        weight = 1.0 if each.get("weight") is None else float(each["weight"])
        about = {"name": each["name"], "weight": weight, "events": each.get("events") or events}
        rules.append(about | formula(each["rule"]))
    return {
        "order": document.get("order") or "position",
        "failed": None if failed is None else formula(failed),
        "constraints": rules,
    }
