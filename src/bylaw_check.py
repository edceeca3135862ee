"""Checks a certificate that `bylaw verify --certificate` wrote, without Bylaw.

    python bylaw_check.py certificate.json trace.json procedure.yaml

This file needs only the standard library, and can be copied. A certificate claims, for each rule of
a procedure, a formula, an outcome, and the truth of every part of the formula along a trace. The
checker believes none of it: it decides atoms from the trace, and tests every other part against the
equation of its operator. A set of positions is an integer, with bit `i` for event `i` and bit `n`
for the empty suffix after the last event, so that an equation such as `G == a & G >> 1 | end` is
tested at all positions at once. With `bylaw_rules.py` beside it, it also reads the text of rules.

Exit code: 0 every verdict is proved. 1 the certificate is wrong. 2 a file cannot be used.
3 nothing is wrong, but what is listed as "not checked" is not proved.
"""

import hashlib
import json
import math
import operator
import re
import sys
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from fractions import Fraction
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

Json = Any
Env = dict[str, tuple[Json, str | None]]  # of each variable, its value and the name of that value
Key = tuple[str | None, ...]  # the names of the values of a part's variables
Row = tuple[int, int]  # the positions where a part is true, and where something was checked
MISSING: Any = type("Missing", (), {})()  # an undefined value
FINAL = "final_answer"


class Wrong(Exception):
    """The certificate claims something that does not hold."""


class NotChecked(Exception):
    """Beyond this program, which says so."""


def require(condition: object, message: str) -> None:
    if not condition:
        raise Wrong(message)


def single(value: Json) -> tuple[str, Any]:
    """The tag and the content of an object with one key."""
    require(isinstance(value, dict) and len(value) == 1, f"not a part of a formula: {value!r:.60}")
    return next(iter(value.items()))  # type: ignore[no-any-return]  # JSON


# ── JSON values: 1 equals 1.0, and true does not equal 1 ──────────────────────────────────────


def refuse(text: object) -> Any:
    raise ValueError(f"{text!s:.40} is not JSON")


def too_deep(value: Json) -> bool:
    level = [value]
    for _ in range(200):
        level = [each for each in level if isinstance(each, list | dict)]
        level = [i for each in level for i in (each.values() if type(each) is dict else each)]
    return any(isinstance(each, list | dict) for each in level)


DECODER = json.JSONDecoder(
    parse_float=lambda t: float(t) if math.isfinite(float(t)) else refuse(t),
    parse_constant=refuse,
    object_pairs_hook=lambda p: dict(p) if len(dict(p)) == len(p) else refuse("a repeated key"),
)


def read_json(text: str) -> Json:
    value = DECODER.decode(text)
    brackets = text.count("[") + text.count("{")
    return refuse("such a nesting") if brackets > 200 and too_deep(value) else value


def decoded(value: Json) -> Json:
    """The value that a text encodes if it is JSON; otherwise the value itself."""
    try:
        return read_json(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value


def is_number(value: Json) -> bool:
    return type(value) in (int, float)


def equal(a: Json, b: Json) -> bool:
    if is_number(a) and is_number(b):
        return bool(a == b)
    if type(a) is list and type(b) is list:
        return len(a) == len(b) and all(map(equal, a, b))
    if type(a) is dict and type(b) is dict:
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    return type(a) is type(b) and a == b


def whole_numbers(value: Json) -> Json:
    if type(value) is float and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: whole_numbers(each) for key, each in value.items()}
    return list(map(whole_numbers, value)) if isinstance(value, list) else value


def identity(value: Json) -> str:
    """A text that two values share exactly if they are equal."""
    return json.dumps(whole_numbers(value), sort_keys=True, separators=(",", ":"))


def name_of(value: Json) -> str | None:
    """The name of a bound value in a certificate: its JSON or, if that is long, a digest of it."""
    text = "" if value is MISSING else identity(value)
    long = len(text) > 64
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest() if long else text or None


# ── functions of values: undefined where they do not apply ────────────────────────────────────


def small(compute: Callable[..., Any]) -> Callable[..., Json]:
    """The computation, undefined where its result is too large for JSON."""

    def computed(*operands: Any) -> Json:
        try:
            found = compute(*operands)
            fits = found.bit_length() < 1000 if type(found) is int else math.isfinite(found)
        except ArithmeticError:
            return MISSING
        return found if fits else MISSING

    return computed


def total(values: list[Json]) -> Json:
    exact = sum(map(Fraction, values))
    return int(exact) if all(type(value) is int for value in values) else float(exact)


def of(kind: Callable[[Any], bool], compute: Callable[..., Json]) -> Callable[[list[Any]], Json]:
    return lambda values: compute(values) if all(map(kind, values)) else MISSING


def alike(pick: Callable[[list[Any]], Json]) -> Callable[[list[Any]], Json]:
    """For a list of numbers or a list of texts."""
    return lambda values: of(is_text if values and is_text(values[0]) else is_number, pick)(values)


def is_text(value: Json) -> bool:
    return isinstance(value, str)


def to_number(value: Json) -> Json:
    if is_text(value):
        grouped = re.fullmatch(r"\s*-?[1-9]\d{0,2}(,\d{3})+(\.\d+)?\s*", value, re.ASCII)
        value = decoded(value.replace(",", "") if grouped else value)
    return value if is_number(value) else MISSING


def to_string(value: Json) -> str:
    compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
    return value if is_text(value) else compact.encode(json.loads(identity(value)))


ESCAPED, UNLIKE = r"\\[^1-9B]", re.compile(r"\\|\(\?(?:[=!<>(]|P=|[a-zA-Z-]*a)|[*+?}]\+")


def regex(pattern: str) -> re.Pattern[str] | None:
    if len(pattern) > 1000 or UNLIKE.search(re.sub(ESCAPED, "", pattern)):
        raise NotChecked(f"the regular expression {pattern!r:.60}: Python's may differ")
    try:
        return re.compile(pattern)
    except re.error:
        return None


def find(value: Json, pattern: str) -> Json:
    expression = regex(pattern)
    if expression is None or isinstance(value, dict):
        return MISSING
    matches = () if value is None else expression.finditer(to_string(value))
    texts = [match[int(expression.groups == 1)] for match in matches]
    return [text for text in texts if text is not None]


def replace(text: str, pattern: str, new: str) -> Json:
    try:
        expression = regex(pattern)
        return MISSING if expression is None else expression.sub(new, text)
    except (re.error, IndexError):
        return MISSING


def local(read: Callable[[datetime], Json]) -> Callable[[float, str], Json]:
    def compute(seconds: float, zone: str) -> Json:
        try:
            place = ZoneInfo(zone)
        except (OSError, ValueError, KeyError):
            raise NotChecked(f"the time zone {zone!r:.40} is not known here") from None
        try:
            moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
            return read(moment.astimezone(place))
        except OverflowError:
            return MISSING

    return compute


def distinct(values: list[Json]) -> list[Json]:
    found: dict[str, Json] = {}
    for value in values:
        found.setdefault(identity(value), value)
    return list(found.values())


def leaves(value: Json) -> list[Json]:
    """The texts and numbers in a value, at any depth, except texts without a letter or digit."""
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return [leaf for each in inner for leaf in leaves(each)]
    says = is_number(value) or (is_text(value) and re.search(r"\w", value) is not None)
    return [value] if says else []


KINDS: dict[str, tuple[Callable[[Any], bool], bool]] = {  # does it fit; is it lifted over lists
    "number": (is_number, True),
    "text": (is_text, True),
    "word": (is_text, False),
    "list": (lambda v: isinstance(v, list), False),
    "object": (lambda v: isinstance(v, dict), True),
    "row": (lambda v: isinstance(v, str | list), False),
    "sized": (lambda v: isinstance(v, str | list | dict), False),
    "each": (lambda v: True, True),
    "any": (lambda v: True, False),
}
TYPES = {bool: "boolean", int: "number", float: "number", str: "string", list: "array"}
FUNCTIONS: dict[str, tuple[str, Callable[..., Json]]] = {
    "abs": ("number", abs),
    "avg": ("list", of(is_number, small(lambda v: s / len(v) if (s := total(v)) or v else 1 / 0))),
    "ceil": ("number", small(math.ceil)),
    "date": ("number word", local(lambda moment: moment.date().isoformat())),
    "decode": ("each", lambda v: d if isinstance(d := decoded(v), list | dict) else v),
    "ends_with": ("text word", str.endswith),
    "find": ("each word", find),
    "floor": ("number", small(math.floor)),
    "hour": ("number word", local(lambda moment: moment.hour)),
    "join": ("word list", lambda s, v: of(is_text, s.join)(v)),
    "keys": ("object", sorted),
    "leaves": ("any", leaves),
    "length": ("sized", len),
    "lower": ("text", str.lower),
    "max": ("list", alike(lambda v: max(v, default=MISSING))),
    "min": ("list", alike(lambda v: min(v, default=MISSING))),
    "normalise": ("text", lambda t: " ".join(unicodedata.normalize("NFKC", t).casefold().split())),
    "replace": ("text word word", replace),
    "reverse": ("row", lambda v: v[::-1]),
    "round": ("number", small(lambda v: math.floor(v) + (v - math.floor(v) >= 0.5))),
    "sort": ("list", alike(sorted)),
    "split": ("text word", lambda t, s: t.split(s) if s else MISSING),
    "starts_with": ("text word", str.startswith),
    "sum": ("list", of(is_number, small(total))),
    "to_number": ("each", to_number),
    "to_string": ("each", to_string),
    "trim": ("text", str.strip),
    "type": ("any", lambda v: "null" if v is None else TYPES.get(type(v), "object")),
    "unique": ("list", distinct),
    "upper": ("text", str.upper),
    "values": ("object", lambda o: [o[key] for key in sorted(o)]),
    "weekday": ("number word", local(datetime.isoweekday)),
    "zip": ("list list", lambda a, b: [list(pair) for pair in zip(a, b, strict=False)]),
    "+": ("number number", small(operator.add)),
    "-": ("number number", small(operator.sub)),
    "*": ("number number", small(operator.mul)),
    "/": ("number number", small(operator.truediv)),
}


def apply(name: str, operands: list[Json]) -> Json:
    if any(operand is MISSING for operand in operands):
        return MISSING
    if name not in FUNCTIONS:
        raise NotChecked(f"the function '{name:.20}'")
    takes, compute = FUNCTIONS[name]
    kinds = [KINDS[kind] for kind in takes.split()]
    lifts = [lifted and isinstance(v, list) for (_, lifted), v in zip(kinds, operands, strict=True)]
    if any(lifts):
        lengths = {len(v) for v, lift in zip(operands, lifts, strict=True) if lift}
        columns = [
            v if lift else [v] * max(lengths) for v, lift in zip(operands, lifts, strict=True)
        ]
        results = [apply(name, list(row)) for row in zip(*columns, strict=False)]
        return MISSING if len(lengths) > 1 or any(r is MISSING for r in results) else results
    fits = all(kind[0](value) for kind, value in zip(kinds, operands, strict=True))
    result = compute(*operands) if fits else MISSING
    return MISSING if too_deep(result) else result


ORDERS: dict[str, Callable[[Any, Any], bool]]
ORDERS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
COUNTS = ORDERS | {"=": operator.eq, "!=": operator.ne}


def compared(a: Json, symbol: str, b: Json) -> bool:
    if a is MISSING or b is MISSING or a is None or b is None:
        return False
    if symbol in ("=", "!="):
        return equal(a, b) is (symbol == "=")
    if symbol in ORDERS:
        ordered = (is_number(a) and is_number(b)) or (is_text(a) and is_text(b))
        return ordered and ORDERS[symbol](a, b)
    if symbol == "~":
        expression = regex(b) if is_text(a) and is_text(b) else None
        return expression is not None and expression.search(a) is not None
    if symbol == "mentions":
        raise NotChecked("'mentions', which compares texts as people do")
    require(symbol in ("in", "contains"), f"unknown comparison {symbol!r:.20}")
    whole, part = (b, a) if symbol == "in" else (a, b)
    if isinstance(whole, list):
        return any(equal(each, part) for each in whole)
    return is_text(whole) and is_text(part) and part in whole


def at_key(base: Json, key: Json) -> Json:
    if is_text(key) and isinstance(base, list):
        values = (at_key(each, key) for each in base)
        return [value for value in values if value is not MISSING and value is not None]
    if is_text(key):
        return base.get(key, MISSING) if isinstance(base, dict) else MISSING
    index = is_number(key) and key == int(key) and isinstance(base, list)
    return base[int(key)] if index and -len(base) <= key < len(base) else MISSING


def contributed(value: Json) -> list[Json]:
    """The members of a domain: those of a list, none for null, else the value itself."""
    return value if isinstance(value, list) else [] if value is None else [value]


def search(path: str, value: Json) -> Json:
    """The value that a JMESPath expression of names, indices and `[]` finds."""
    form = r'(?:^|\.)([A-Za-z_]\w*|"[^"\\]*")|(^@)|(?<=[^.])\[(-?\d*)\]|(.)'
    steps = list(re.finditer(form, path, re.ASCII | re.DOTALL))
    if not steps or any(step[4] for step in steps):
        raise NotChecked(f"the path {path!r:.60}")
    many = False
    for name, _, index, _ in (step.groups() for step in steps):
        if index == "":
            if not isinstance(value, list):
                return None
            flat = [i for each in value for i in (each if isinstance(each, list) else [each])]
            value, many = [each for each in flat if each is not None], True
        elif name or index:
            key: Any = name.strip('"') if name else int(index)
            bases = [e for e in (value if many else [value]) if type(e) is (dict if name else list)]
            found = [i for e in bases if (i := at_key(e, key)) is not MISSING and i is not None]
            value = found if many else found[0] if found else None
    return value


# ── the trace: a record in Bylaw's own format, with a step for each event, or for none ─────────


class Event:
    """A call, or a message of a role. `fields` are what rules can read."""

    def __init__(self, entry: Json, step: int, role: str | None = None) -> None:
        given = {key: value for key, value in entry.items() if value is not None}
        self.entry, self.role, self.step, self.start = entry, role, step, given.get("start")
        self.tool: str | None = None if role else entry["tool_name"]
        self.args: Json = given.get("arguments", {})
        self.raw: Json = MISSING if role else entry.get("tool_result", MISSING)
        self.value = decoded(self.raw)
        names = ("start", "agent", "usage") if role else ("start", "agent", "usage", "end", "error")
        fields = {name: given[name] for name in names if name in given} | {"step": step}
        if "end" in fields and "start" in fields:
            fields["duration"] = fields["end"] - fields["start"]
        texts = [entry["text"]] if role else []
        if role is None:
            fields |= {"args": self.args, "tool": self.tool}
        if self.raw is not MISSING:
            fields["result"] = self.value
            raw = self.raw if is_text(self.raw) else json.dumps(self.raw, ensure_ascii=False)
            texts.append(raw)
        if "error" in fields:
            texts.append(fields["error"])
        self.fields = fields | ({"text": "\n".join(dict.fromkeys(texts))} if texts else {})

    @property
    def failed(self) -> bool:
        return "error" in self.fields

    def fits(self, pattern: Json, wanted: Json) -> bool:
        """Has the call this argument, result or outcome?"""
        if "outcome" in pattern:
            ok = self.raw is not MISSING and not self.failed
            return self.failed if pattern["outcome"] == "failed" else ok
        value = self.args if "argument" in pattern else self.value
        for key in pattern["argument"] if "argument" in pattern else pattern["result"]:
            value = value.get(key, MISSING) if isinstance(value, dict) else MISSING
        return value is not MISSING and wanted is not MISSING and equal(value, wanted)


class Trace:
    """The events of a record, its answer, metrics and labels."""

    def __init__(self, record: Json) -> None:
        if "refusals" not in record and "[bylaw:" in json.dumps(record, ensure_ascii=False):
            raise ValueError("it may hold refused calls, and does not list them")
        calls, messages = record["tool_calls"], record.get("messages") or []
        entries = [(call, None, index, 1) for index, call in enumerate(calls)]
        entries += [(m, m["role"], min(m["before"], len(calls)), 0) for m in messages]
        entries.sort(key=lambda entry: entry[2:])  # stable
        steps = [entry.get("step") for entry, *_ in entries]
        if steps.count(None) == len(calls) and not messages:
            steps = list(range(len(calls)))
        named = all(is_text(call["tool_name"]) and call["tool_name"] != FINAL for call in calls)
        if record.get("bylaw", 1) != 1 or not named or any(type(step) is not int for step in steps):
            raise ValueError("its version, a tool or a step is not one that this program reads")
        if steps != sorted(steps):
            raise ValueError("its steps decrease")
        self.events = [
            Event(e, step, role) for (e, role, *_), step in zip(entries, steps, strict=True)
        ]
        self.answer, self.answered = record.get("answer", record.get(FINAL)), record.get("answered")
        self.labels = record.get("labels") or {}
        own = ("bylaw", "tool_calls", "answer", "answered", FINAL, "messages", "refusals", "labels")
        self.metrics = {key: value for key, value in record.items() if key not in own}

    def seen(self, events: str, answer: bool) -> list[Event]:
        """The events that a rule sees."""
        seen = [event for event in self.events if events == "all" or event.role is None]
        if answer and self.answer is not None:
            step = self.events[-1].step + 1 if self.events else 0
            entry = {"tool_name": FINAL, "arguments": {"answer": self.answer}}
            seen.append(Event(entry | {"start": self.answered}, step))
        return seen


# ── a formula on a trace, with the claimed rows of its parts ──────────────────────────────────

TOOLS = {"tool", "tools", "first", "second", "goal", "sequence", "taken", "avoided", "any"}
# The row of an operator follows from its own, T and C, at other positions, from those of its
# operands, a with c, and b, and from all events P. Rows are tested at every position.
EQUATIONS: dict[str, Callable[..., Row]] = {
    "eventually": lambda k, T, C, a, c: (a | T >> 1, c | C >> 1),
    "always": lambda k, T, C, a, c: (a & T >> 1 | k.end, T & (c | C >> 1)),
    "once": lambda k, T, C, a, c: (k.P & (a | T << 1), k.P & (c | C << 1)),
    "historically": lambda k, T, C, a, c: (a & (T << 1 | 1) | k.end, T & k.P & (c | C << 1)),
    "until": lambda k, T, C, a, _, b, __: (b | a & T >> 1, T),
    "weak_until": lambda k, T, C, a, _, b, __: (b | a & T >> 1 | k.end, T & ~k.throughout(a)),
    "release": lambda k, T, C, a, _, b, __: (
        b & (a | T >> 1) | k.end,
        T & ~(k.throughout(b) & -1 << a.bit_length()),
    ),
    "since": lambda k, T, C, a, _, b, __: (k.P & (b | a & T << 1), T),
    "earlier": lambda k, T, C, a, c: (k.after_step(a), k.after_step(c)),
    "later": lambda k, T, C, a, c: (k.before_step(a), k.before_step(c)),
}
WITHIN = ("eventually_within", "once_within", "earlier_within", "later_within")


def positions_in(mask: int) -> list[int]:
    return [at for at, bit in enumerate(bin(mask)[:1:-1]) if bit == "1"]


def mask_of(runs: list[int], size: int) -> int:
    """The positions that run lengths denote: so many outside, so many inside, and so on."""
    require(all(type(run) is int and run >= 0 for run in runs) and sum(runs) <= size, "bad runs")
    return int("".join("01"[i % 2] * run for i, run in enumerate(runs))[::-1] or "0", 2)


def microseconds(seconds: float | None) -> Any:
    return None if seconds is None else round(seconds * 1_000_000)


def mentions(value: Json, found: Callable[[str, Json], bool], key: str = "") -> bool:
    """Is there such a tag and content in a formula, outside literals?"""
    if isinstance(value, list):
        return any(mentions(each, found, key) for each in value)
    inner = value.items() if isinstance(value, dict) else ()
    if key == "object":  # its keys are not tags
        return any(mentions(each, found) for _, each in inner)
    return found(key, value) or any(mentions(v, found, k) for k, v in inner if k != "literal")


class Check:
    """The parts of a formula, from the last to the first: each asks earlier ones for their rows,
    and is then tested at every position where a later one asked for it.
    """

    def __init__(self, claim: Json, trace: Trace, events: list[Event], order: str) -> None:
        self.parts, self.trace, self.events, self.order = claim["formula"], trace, events, order
        self.size = len(events)
        self.P, self.end = (1 << self.size) - 1, 1 << self.size
        self.masks: dict[tuple[str | None, str | None], int] = {}
        steps = [event.step for event in events]
        self.starts = [bisect_left(steps, step) for step in steps]  # of the step of each event
        self.ends = [bisect_right(steps, step) for step in steps]
        for at, event in enumerate(events):
            kind = event.tool, event.role
            self.masks[kind] = self.masks.get(kind, 0) | 1 << at
        self.rows: list[dict[Key, Row]] = [{} for _ in self.parts]
        self.names: list[list[str]] = [[] for _ in self.parts]  # the variables of a part
        self.asked: list[dict[Key, tuple[int, Env]]] = [{} for _ in self.parts]
        self.current = len(self.parts)
        for number, table in enumerate(claim["tables"]):
            for row in table:
                require(row.keys() <= {"values", "true", "checked"}, "a row with unknown fields")
                values = row.get("values", {})
                names = self.names[number] = self.names[number] or sorted(values)
                key = tuple(values[name] for name in names)
                require(len(values) == len(names), "rows of one part with different variables")
                require(key not in self.rows[number], "two rows for the same values")
                true, checked = (
                    mask_of(runs, self.size + 1)
                    for runs in (row["true"], row.get("checked", row["true"]))
                )
                self.rows[number][key] = true, checked

    def row(self, number: int, env: Env, where: int) -> Row:
        """The claimed row at the asked positions. It is tested when the part has its turn."""
        require(type(number) is int and 0 <= number < self.current, "a part that refers to a later")
        if not where:
            return 0, 0
        inner = {name: env[name] for name in self.names[number]}
        key = tuple(name for _, name in inner.values())
        require(key in self.rows[number], f"part {number} has no row for {key}")
        asked, first = self.asked[number].get(key, (0, inner))
        self.asked[number][key] = asked | where, first
        true, checked = self.rows[number][key]
        return true & where, checked & where

    def verdict(self, where: int) -> Row:
        """The row of the formula at some positions, once every row has been tested."""
        answer = self.row(len(self.parts) - 1, {}, where)
        for number in range(len(self.parts) - 1, -1, -1):
            self.current = number
            tag, content = single(self.parts[number])
            asked, rows = self.asked[number], self.rows[number]
            require(asked.keys() == rows.keys(), f"part {number} has rows that nothing asks for")
            for key, (places, env) in asked.items():
                if self.expected(tag, content, env, places, *rows[key]) != rows[key]:
                    shown = json.dumps(self.parts[number])[:100]
                    raise Wrong(f"part {number} ({shown}) has another value than claimed")
        return answer

    def expected(self, tag: str, content: Json, env: Env, where: int, T: int, C: int) -> Row:
        """The row that follows from the operands' rows. `T, C` is the claimed one itself."""
        if tag in EQUATIONS:
            operands = [each for number in content for each in self.row(number, env, self.P)]
            return EQUATIONS[tag](self, T, C, *operands)
        true, checked = where, 0
        match tag:
            case "not":
                true ^= self.row(content[0], env, where)[0]
                return true, true
            case "iff":
                a, b = content
                true ^= self.row(a, env, where)[0] ^ self.row(b, env, where)[0]
                return true, true
            case "and":
                for number in content:
                    true, more = self.row(number, env, true)
                    checked |= more
                return true, true & checked
            case "or":
                true = 0
                for number in content:
                    also, more = self.row(number, env, where & ~checked)
                    true, checked = true | also, checked | more
                return true, checked
            case "implies":
                applies, _ = self.row(content[0], env, where)
                true, checked = self.row(content[1], env, applies)
                return where ^ applies | true, checked
            case "next" | "weak_next":
                a, c = self.row(content[0], env, where << 1 & self.P)
                last = where & (self.end | self.end >> 1) if tag == "weak_next" else 0
                return a >> 1 | last, c >> 1 | last
            case "yesterday":
                a, c = self.row(content[0], env, where >> 1 & self.P)
                return a << 1 & self.P, c << 1 & self.P
            case "forall":
                for inner, asked in self.bound(content, env, where):
                    a, c = self.row(content["body"], inner, asked)
                    true, checked = true & (a | ~asked), checked | c
                return true, true & checked
            case "exists" | "let":
                true = 0
                for inner, asked in self.bound(content, env, where):
                    a, c = self.row(content["body"], inner, asked)
                    true, checked = true | a, checked | c
                return true, checked
        if tag in WITHIN:
            a, c = self.row(content["operand"], env, self.P)
            limit = microseconds(content["seconds"])
            return self.near(tag, a, limit), self.near(tag, c, limit)
        true = where & self.atom(tag, content, env, where)
        return true, true

    def throughout(self, a: int) -> int:
        """The positions from which on it is true at all events."""
        return (self.P | self.end) & -1 << (self.P & ~a).bit_length()

    def after_step(self, a: int) -> int:
        """The positions in steps after that of the first one."""
        return self.P & -1 << self.ends[(a & -a).bit_length() - 1] if a else 0

    def before_step(self, a: int) -> int:
        """The positions in steps before that of the last one."""
        return (1 << self.starts[a.bit_length() - 1]) - 1 if a else 0

    def near(self, tag: str, a: int, limit: int) -> int:
        """The positions whose start is at most so long after that of one of these, or before."""
        ahead, apart = tag in ("eventually_within", "later_within"), tag not in WITHIN[:2]
        order = range(self.size - 1, -1, -1) if ahead else range(self.size)
        reached, near, best = 0, 0, None
        for index, at in enumerate(order):
            step = self.size - self.ends[at] if ahead else self.starts[at]
            for other in order[reached : (reached := step if apart else index + 1)]:
                start = microseconds(self.events[other].start) if a >> other & 1 else None
                if start is not None:  # the nearest start is the least, or the greatest, so far
                    best = (
                        start if best is None else min(best, start) if ahead else max(best, start)
                    )
            here = microseconds(self.events[at].start)
            if here is not None and best is not None:
                near |= ((best - here if ahead else here - best) <= limit) << at
        return near

    # ── values ───────────────────────────────────────────────────────────────────────────

    def bound(self, content: Json, env: Env, where: int) -> list[tuple[Env, int]]:
        """The values that a variable takes, each with the positions where it does."""
        source = content["in"] if "in" in content else {"value": content["value"]}
        moves = mentions(source, lambda key, _: key in ("read", "last", "sofar", "count"))
        spots = [(1 << i, i) for i in positions_in(where)] if moves else [(where, self.size)]
        found: dict[str | None, tuple[Json, int]] = {}
        for mask, at in spots:
            for value in self.elements(source, at, env):
                first, known = found.get(name := name_of(value), (value, 0))
                found[name] = first, known | mask
        variable = content["variable"]
        return [(env | {variable: (v, name)}, mask) for name, (v, mask) in found.items()]

    def elements(self, domain: Json, at: int, env: Env) -> list[Json]:
        tag, content = single(domain)
        if tag == "value":
            return [self.value(content, at, env)]
        if tag == "listed":
            values = [self.value(each, at, env) for each in content]
            return [value for value in values if value is not MISSING]
        if tag == "found":
            value = self.value(content, at, env)
            return [] if value is MISSING else contributed(value)
        if tag not in ("args", "results", "metrics"):
            raise NotChecked(f"the domain '{tag:.20}', which is registered in Python")
        bases = [self.trace.metrics]
        if tag != "metrics":
            calls = [self.events[i] for i in positions_in(self.calls(content["tool"], env))]
            bases = [call.args if tag == "args" else call.value for call in calls]
        hits = [search(content["path"], base) for base in bases if base is not MISSING]
        return distinct([value for hit in hits for value in contributed(hit)])

    def value(self, term: Json, at: int, env: Env) -> Json:
        """The value of a term at a position; after the last event there is none to read."""
        tag, content = single(term)
        match tag:
            case "literal":
                return content
            case "variable":
                return env[content][0]
            case "read":
                return self.events[at].fields.get(content, MISSING) if at < self.size else MISSING
            case "answer":
                return MISSING if self.trace.answer is None else self.trace.answer
            case "labels":
                return self.trace.labels
            case "at":
                base, key = (self.value(each, at, env) for each in content)
                return MISSING if base is MISSING or key is MISSING else at_key(base, key)
            case "apply":
                return apply(content["function"], [self.value(v, at, env) for v in content["to"]])
            case "list":
                values = [self.value(each, at, env) for each in content]
                return MISSING if any(value is MISSING for value in values) else values
            case "object":
                pairs = {key: self.value(each, at, env) for key, each in content.items()}
                return MISSING if any(v is MISSING for v in pairs.values()) else pairs
            case "last":
                before = (1 << self.starts[at]) - 1 if at < self.size else 0
                true, _ = self.row(content, env, before)
                return self.events[true.bit_length() - 1].fields if true else MISSING
            case "sofar":
                return self.sofar(content, at, env)
            case "count":
                domain, body = content["in"], content["body"]
                if "found" in domain and self.value(domain["found"], at, env) is MISSING:
                    return MISSING
                values = self.elements(domain, at, env)
                inner = [env | {content["variable"]: (v, name_of(v))} for v in values]
                return sum(self.row(body, each, 1 << at)[0] >> at for each in inner)
        raise NotChecked(f"the value '{tag:.20}'")

    def sofar(self, content: Json, at: int, env: Env) -> Json:
        true, _ = self.row(content["condition"], env, self.P & (2 << at) - 1)
        events = [self.events[i] for i in positions_in(true)]
        if "seconds" in content:
            limit = microseconds(content["seconds"])
            starts = [microseconds(event.start) for event in (*events, *self.events[at : at + 1])]
            if at == self.size or None in starts:
                return MISSING
            events = [e for e, s in zip(events, starts, strict=False) if starts[-1] - s <= limit]
        return [event.fields for event in events]

    # ── atoms ────────────────────────────────────────────────────────────────────────────

    def calls(self, tool: Json, env: Env, patterns: Json = (), where: int = -1) -> int:
        """The positions of calls of a tool that fit some patterns."""
        members = tool["any"] if isinstance(tool, dict) and "any" in tool else [tool]
        found = 0
        for (name, _), mask in self.masks.items():
            if name is not None and any(self.is_named(name, member, env) for member in members):
                found |= mask & where
        if patterns:
            wanted = [self.value(p["is"], self.size, env) if "is" in p else None for p in patterns]
            for at in positions_in(found):
                if not all(map(self.events[at].fits, patterns, wanted)):
                    found ^= 1 << at
        return found

    def is_named(self, name: str, tool: Json, env: Env) -> bool:
        if is_text(tool):
            return bool(name == tool)
        tag, content = single(tool)  # neither a form nor a variable stands for the answer
        if tag == "variable":
            return name != FINAL and env[content][0] == name
        form = {"like": content, "all": "*"}[tag].replace("[", "[[]").replace("?", "[?]")
        return name != FINAL and fnmatchcase(name, form)

    def atom(self, tag: str, content: Json, env: Env, where: int) -> int:
        """The positions where an atom holds."""
        match tag:
            case "truth":
                return where if content is True else 0
            case "says":
                return self.masks.get((None, content), 0)
            case "event":
                tool = content.get("tool", {"all": True})
                return self.calls(tool, env, content.get("where", ()), where)
            case "compare":
                left, symbol, right = content
                true = 0
                for at in positions_in(where):
                    first, second = self.value(left, at, env), self.value(right, at, env)
                    true |= compared(first, symbol, second) << at
                return true
        return where if self.predicate(tag, content, env) else 0

    def predicate(self, tag: str, c: Json, env: Env) -> bool:
        """The value of a trace predicate, which does not depend on the position."""

        def number(term: Json) -> int:
            value = self.value(term, self.size, env)
            whole = is_number(value) and 0 <= value <= 2**53 and value == int(value)
            return int(value) if whole else -1

        def times(tool: Json, patterns: Json = ()) -> list[int]:
            found = positions_in(self.calls(tool, env, patterns))
            return [self.events[i].step for i in found] if self.order == "step" else found

        def before(first: Json, second: Json, n: int = 0, m: int = 0) -> bool:
            one, other = times(first)[n : n + 1], times(second)[m : m + 1]
            return min(n, m) >= 0 and bool(one and other) and one < other

        if not isinstance(c, dict):
            raise NotChecked(f"the operator '{tag:.20}'")
        tools = [c[key] if isinstance(c[key], list) else [c[key]] for key in TOOLS & c.keys()]
        for tool in (tool for each in tools for tool in each if isinstance(tool, dict)):
            if "variable" in tool and env[tool["variable"]][0] is MISSING:
                return False
        match tag:
            case "Called":
                return bool(times(c["tool"]))
            case "CalledN":
                wanted = number(c["count"]["number"])
                return wanted >= 0 and COUNTS[c["count"]["is"]](len(times(c["tool"])), wanted)
            case "Before" | "After":
                return before(c["first"], c["second"])
            case "AllBefore":
                return all(before(tool, c["goal"]) for tool in c["tools"])
            case "InstanceBefore":
                return before(c["first"], c["second"], number(c["n"]), number(c["m"]))
            case "InOrder":
                reached: int | None = -1
                for tool in c["sequence"]:
                    after = [] if reached is None else [t for t in times(tool) if t > reached]
                    reached = after[0] if after else None
                return reached is not None
            case "WithinSteps":
                first = positions_in(self.calls(c["first"], env))[:1]
                ends = positions_in(self.calls(c["second"], env))
                return any(
                    0 <= end - start <= number(c["limit"]) for start in first for end in ends
                )
            case "BranchCalled":
                return bool(times(c["taken"])) and not times(c["avoided"])
        if tag not in ("CalledWith", "CalledWithResult", "CalledExactly"):
            raise NotChecked(f"'{tag:.20}', which is registered in Python or new")
        events = [
            self.events[at] for at in positions_in(self.calls(c["tool"], env, c["arguments"]))
        ]
        if tag == "CalledExactly":
            keys = {pattern["argument"][0] for pattern in c["arguments"]}
            events = [event for event in events if event.args.keys() == keys]
        if tag == "CalledWithResult":
            result = self.value(c["result"], self.size, env)
            events = [e for e in events if equal(e.value, result) or equal(e.raw, result)]
            return result is not MISSING and bool(events)
        return bool(events)


# ── a certificate ─────────────────────────────────────────────────────────────────────────────


def checked_outcome(claim: Json, trace: Trace, order: str) -> str:
    if "tables" not in claim:
        raise NotChecked(f"it has no tables ({claim.get('reason')!r:.100})")
    answer = mentions(claim["formula"], lambda key, value: key in TOOLS and value == FINAL)
    events = trace.seen(claim["events"], answer)
    true, checked = Check(claim, trace, events, order).verdict(1)
    return "satisfied" if checked else "vacuous" if true else "violated"


def mark_failures(claim: Json, trace: Trace) -> None:
    """Gives an error to the calls that fail by the procedure's own test."""
    alone = Trace({"tool_calls": []})  # the test reads one call, and nothing else
    events = [Event(event.entry, 0, event.role) for event in trace.events]
    tested = [event.raw is not MISSING and not event.failed for event in events]
    where = sum(1 << at for at, test in enumerate(tested) if test)
    true, _ = Check(claim, alone, events, "position").verdict(where)
    for at in positions_in(true):
        event = trace.events[at]
        trace.events[at] = Event(event.entry | {"error": event.fields["text"]}, event.step)


def score(rules: list[Json]) -> tuple[float | None, str | None]:
    lost = [rule["weight"] for rule in rules if rule["outcome"] == "violated"]
    if any(rule["outcome"] == "error" for rule in rules):
        return None, None
    label = "FULL" if not lost else "NONE" if len(lost) == len(rules) else "PARTIAL"
    total = math.fsum(rule["weight"] for rule in rules)
    return 0.0 if label == "NONE" else 1 - math.fsum(lost) / total, label


def same(a: Json, b: Json) -> bool:
    """Are these written in the same way, the order of keys aside?"""
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


def check(certificate: Json, record: Json, procedure: Json) -> list[str]:
    """Raises Wrong, or returns what was not checked. `procedure` is what bylaw_rules reads."""
    require(certificate["certificate"] == 1, "another version of the format")
    trace, open_claims = Trace(record), []
    rules, order = certificate["rules"], certificate["procedure"]["order"]
    if procedure is None:
        open_claims.append(
            "that the formulas are the rules of the procedure: bylaw_rules.py is missing"
        )
    else:
        require(order == procedure["order"], "another order than in the procedure")
        require(len(rules) == len(procedure["constraints"]), "another number of rules")
        pairs = [("failed", certificate.get("failed"), procedure.get("failed"))]
        for claim, rule in zip(rules, procedure["constraints"], strict=True):
            for field in ("name", "weight", "events"):
                require(same(claim[field], rule[field]), f"another {field} than in the procedure")
            pairs.append((claim["name"], claim, rule))
        for name, claim, rule in pairs:
            require((claim is None) is (rule is None), f"{name} is only in one of the files")
            if rule is not None and rule["formula"] is None:
                open_claims.append(f"{name}: that its formula is its rule: {rule['reason']}")
            elif rule is not None and not same(rule["formula"], claim["formula"]):
                raise Wrong(f"{name}: the formula is not that of the rule")
    provable = rules
    try:
        if "failed" in certificate:
            mark_failures(certificate["failed"], trace)
    except NotChecked as error:
        open_claims.append(f"every rule, because of the test for failed calls: {error}")
        provable = []
    for claim in provable:
        try:
            outcome = checked_outcome(claim, trace, order)
            require(outcome == claim["outcome"], f"it is {outcome}, not {claim['outcome']}")
        except Wrong as error:
            raise Wrong(f"{claim['name']}: {error}") from None
        except NotChecked as error:
            open_claims.append(f"{claim['name']}: {error}")
    found = [certificate["score"], certificate["label"]]
    require(same(found, score(rules)), f"score and label are {score(rules)}, not {found}")
    return open_claims


def check_files(contents: list[bytes], is_json: bool) -> list[str]:
    """Checks a certificate, a trace and a procedure, which may be JSON."""
    certificate, trace, procedure = contents
    claims = read_json(certificate.decode())
    for name, content in (("trace", trace), ("procedure", procedure)):
        digest = hashlib.sha256(content).hexdigest()
        require(claims[name]["sha256"] == digest, f"the certificate is about another {name}")
    try:
        import bylaw_rules
    except ImportError:
        return check(claims, read_json(trace.decode()), None)
    try:
        rules = bylaw_rules.read_procedure(procedure.decode(), is_json)
    except bylaw_rules.Unread as error:
        raise ValueError(f"the procedure cannot be read: {error}") from None
    return check(claims, read_json(trace.decode()), rules)


MALFORMED = ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError


def main() -> int:
    paths = [Path(each) for each in sys.argv[1:] if each != "--json"]
    if len(paths) != 3:
        print(__doc__)
        return 2
    sys.setrecursionlimit(20_000)
    code, lines = 0, ["accepted"]
    try:
        contents = [path.read_bytes() for path in paths]
        open_claims = check_files(contents, paths[2].suffix == ".json")
        lines += [f"not checked: {claim}" for claim in open_claims]
        code = 3 if open_claims else 0
    except Wrong as error:
        code, lines = 1, [f"wrong: {error}"]
    except (OSError, *MALFORMED) as error:
        code, lines = 2, [f"unusable: {type(error).__name__}: {error}"]
    if "--json" in sys.argv:
        print(json.dumps({"exit_code": code, "verdict": lines[0], "not_checked": lines[1:]}))
    else:  # texts of the files cannot begin a line
        for line in lines:
            print("".join(c if c.isprintable() else ascii(c)[1:-1] for c in line))
    return code


if __name__ == "__main__":
    sys.exit(main())
