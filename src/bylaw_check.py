"""Checks certificates that Bylaw wrote, without Bylaw.

    python bylaw_check.py certificate.json trace.json procedure.yaml   the verdicts on a trace
    python bylaw_check.py gate.log procedure.yaml                      the refusals of a gate

This file needs only the standard library, and can be copied. A certificate claims, for each rule of
a procedure, an outcome, and the truth of every part of its formula along a trace. The checker
believes none of it. It reads the rule itself (sections 6 and 7), decides atoms from the trace
(sections 1 to 5), and tests every other part against the equation of its operator (section 4). A
set of positions is an integer, with bit `i` for event `i` and bit `n` for the empty suffix after
the last event, so that an equation such as `G == a & G >> 1 | end` is tested everywhere at once.

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
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn
from zoneinfo import ZoneInfo

Json = Any
Env = dict[str, tuple[Json, str | None]]  # of each variable, its value and the name of that value
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


def beyond(what: object) -> NoReturn:
    raise NotChecked(what)


def single(value: Json) -> tuple[str, Any]:
    """The tag and the content of an object with one key."""
    require(isinstance(value, dict) and len(value) == 1, f"not a part of a formula: {value!r:.60}")
    return next(iter(value.items()))  # type: ignore[no-any-return]  # JSON


# ── 1. JSON values: 1 equals 1.0, and true does not equal 1 ───────────────────────────────────


def refuse(what: object) -> NoReturn:
    raise ValueError(f"{what!s:.60} cannot be read")


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


def is_text(value: Json) -> bool:
    return isinstance(value, str)


def whole_numbers(value: Json) -> Json:
    if type(value) is float and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: whole_numbers(each) for key, each in value.items()}
    return list(map(whole_numbers, value)) if isinstance(value, list) else value


def identity(value: Json) -> str:
    """A text that two values share exactly if they are equal."""
    return json.dumps(whole_numbers(value), sort_keys=True, separators=(",", ":"))


def equal(a: Json, b: Json) -> bool:
    if isinstance(a, list | dict):
        return type(a) is type(b) and identity(a) == identity(b)
    return bool(a == b) and (type(a) is type(b) or (is_number(a) and is_number(b)))


def name_of(value: Json) -> str | None:
    """The name of a bound value in a certificate: its JSON or, if that is long, a digest of it."""
    text = "" if value is MISSING else identity(value)
    long = len(text) > 64
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest() if long else text or None


def distinct(values: list[Json]) -> list[Json]:
    found: dict[str, Json] = {}
    for value in values:
        found.setdefault(identity(value), value)
    return list(found.values())


# ── 2. functions and comparisons of values: undefined where they do not apply ─────────────────


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
        beyond(f"the regular expression {pattern!r:.60}: Python's may differ")
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
            beyond(f"the time zone {zone!r:.40}, which is not known here")
        try:
            moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
            return read(moment.astimezone(place))
        except OverflowError:
            return MISSING

    return compute


def leaves(value: Json, keys: bool = False) -> list[Json]:
    """The texts and numbers in a value, at any depth, except texts without a letter or digit."""
    if isinstance(value, dict):
        value = [*value, *value.values()] if keys else list(value.values())
    if isinstance(value, list):
        return [leaf for each in value for leaf in leaves(each, keys)]
    says = is_number(value) or (is_text(value) and re.search(r"\w", value) is not None)
    return [value] if says else []


KINDS: dict[str, tuple[type | tuple[type, ...], bool]] = {  # the types; is it lifted over lists?
    "number": ((int, float), True),
    "text": (str, True),
    "word": (str, False),
    "list": (list, False),
    "object": (dict, True),
    "row": ((str, list), False),
    "sized": ((str, list, dict), False),
    "each": (object, True),
    "any": (object, False),
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
    takes, compute = FUNCTIONS[name]
    fits, lifted = True, []
    for kind, value in zip(takes.split(), operands, strict=True):
        types, lifts = KINDS[kind]
        fits = fits and isinstance(value, types) and (kind != "number" or is_number(value))
        lifted.append(lifts and isinstance(value, list))
    if not any(lifted):
        result = compute(*operands) if fits else MISSING
        return MISSING if too_deep(result) else result
    lengths = {len(v) for v, lift in zip(operands, lifted, strict=True) if lift}
    if len(lengths) > 1:
        return MISSING
    size = lengths.pop()
    columns = [v if lift else [v] * size for v, lift in zip(operands, lifted, strict=True)]
    results = [apply(name, list(row)) for row in zip(*columns, strict=True)]
    return MISSING if any(result is MISSING for result in results) else results


ORDERS: dict[str, Callable[[Any, Any], bool]]
ORDERS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
COMPARISONS = ORDERS | {"=": operator.eq, "!=": operator.ne}
RELATIONS = (*COMPARISONS, "in", "contains", "mentions", "~")


def compared(a: Json, symbol: str, b: Json) -> bool:
    if a is MISSING or b is MISSING or a is None or b is None:
        return False
    match symbol:
        case "=" | "!=":
            return equal(a, b) is (symbol == "=")
        case "~":
            expression = regex(b) if is_text(a) and is_text(b) else None
            return expression is not None and expression.search(a) is not None
        case "mentions":
            return mentions(a, b)
        case "in" | "contains":
            whole, part = (b, a) if symbol == "in" else (a, b)
            if isinstance(whole, list):
                return any(equal(each, part) for each in whole)
            return is_text(whole) and is_text(part) and part in whole
    ordered = (is_number(a) and is_number(b)) or (is_text(a) and is_text(b))
    return ordered and ORDERS[symbol](a, b)


NUMERIC = re.compile(  # the words in numbers, amounts of money and dates
    r"(?i:e|x|usd?|dollars?|eur|euros?|gbp|pounds?|jpy|yen|inr|rupees?|chf|francs|cad?|c|aud?|a|cny"
    r"|rmb|yuan|st|nd|rd|th|of|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*)"
)
ESCAPES = re.compile(r"\\\n[ \t]*\\?|\\[nrt]|\\(?=[\"'])")
WEB = re.compile(r"(?<!\w)https?://(?:www\.)?(?=\w)|(?<![\w.@/-])www\.(?=\w)")


def mentions(whole: Json, part: Json) -> bool:
    """Does every text and number of the part occur in the whole?"""
    inside = decoded(whole)
    texts = [whole] if is_text(whole) and not isinstance(inside, list | dict) else None
    texts = [e if is_text(e) else json.dumps(e) for e in texts or leaves(inside, keys=True)]
    wanted = [leaf if is_text(leaf) else json.dumps(leaf) for leaf in leaves(part)]
    return all(any(occurs(leaf, text) for text in texts) for leaf in wanted)


def occurs(leaf: str, text: str) -> bool:
    """Does it occur as a whole? Numbers and dates may be written in other ways: an absence is
    only decided where no such way is possible.
    """
    if re.search(
        rf"(?<!\w)(?<!\w[./@+~%&\\-]){re.escape(plain(leaf))}(?!\w|[.@+~%&\\-]\w)", plain(text)
    ):
        return True
    words = re.findall(r"[^\W\d_]+", leaf)
    if not re.search(r"\d", leaf) or not all(map(NUMERIC.fullmatch, words)):
        return False  # it is neither a number nor a date
    unlike: object
    if date := re.fullmatch(r"\s*\d{4}(-\d\d-\d\d)\s*", leaf):
        months = r"\d/\d|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
        unlike = date[1] not in text and not re.search(months, text)
    else:
        digits = re.sub(r"\D", "", leaf).strip("0")
        number = digits and re.fullmatch(r"\s*-?\d+(\.\d+)?\s*", leaf)
        written = re.sub(r"(?<=\d)[,._](?=\d)", "", text)
        unlike = number and digits not in written and not re.search(r"0[xX]|\d[eE][+-]?\d", written)
    if unlike or not re.search(r"\d", text):
        return False
    beyond("'mentions', of a number or date that may be written in another way")


@lru_cache(maxsize=1000)
def plain(text: str) -> str:
    """The text without what people ignore: case, spacing, escapes, the scheme of an address."""
    if not text.isascii():
        strange = any(unicodedata.category(c) == "Cf" or (c > "\x7f" and c.isdigit()) for c in text)
        if strange or not unicodedata.is_normalized("NFKC", text):
            beyond("'mentions', of a text with unusual characters")
    text = ESCAPES.sub(lambda found: " " if found[0][-1] in "nrt" else "", text)
    text = WEB.sub("", text.casefold().replace("&amp;", "&"))
    return re.sub(r"\s+", " ", text).strip().removeprefix("#").rstrip("/")


def at_key(base: Json, key: Json) -> Json:
    if is_text(key) and isinstance(base, list):
        values = (at_key(each, key) for each in base)
        return [value for value in values if value is not MISSING and value is not None]
    if is_text(key):
        return base.get(key, MISSING) if isinstance(base, dict) else MISSING
    index = is_number(key) and key == int(key) and isinstance(base, list)
    return base[int(key)] if index and -len(base) <= key < len(base) else MISSING


def members(value: Json) -> list[Json]:
    """The members of a domain: the elements of a list, none for null, else the value itself."""
    return value if isinstance(value, list) else [] if value is None else [value]


def search(path: str, value: Json) -> Json:
    """The value that a JMESPath expression of names, indices and `[]` finds."""
    form = r'(?:^|\.)([A-Za-z_]\w*|"[^"\\]*")|(^@)|(?<=[^.])\[(-?\d*)\]|(.)'
    steps = list(re.finditer(form, path, re.ASCII | re.DOTALL))
    if not steps or any(step[4] for step in steps):
        beyond(f"the path {path!r:.60}")
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


# ── 3. the trace: a record in Bylaw's own format, with a step for each event, or for none ─────

DONE = {"result", "text", "error", "end", "duration", "usage"}  # known once a call has returned


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
        self.failed = "error" in fields

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


# ── 4. a formula on a trace, with the claimed rows of its parts ───────────────────────────────

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
TOOLS = {"tool", "tools", "first", "second", "goal", "sequence", "taken", "avoided", "any"}
MOVING = {"read", "last", "sofar", "count"}  # values that depend on the position


def nodes(value: Json, tag: str = "") -> Iterator[tuple[str, Json]]:
    """Everything in a part of a formula, with its tag. Literals, and keys of objects, are data."""
    yield tag, value
    if isinstance(value, list) and tag != "literal":
        for each in value:
            yield from nodes(each, tag)
    elif isinstance(value, dict) and tag != "literal":
        for key, each in value.items():
            yield from nodes(each, "" if tag == "object" else key)


def positions_in(mask: int) -> list[int]:
    return [at for at, bit in enumerate(bin(mask)[:1:-1]) if bit == "1"]


def mask_of(runs: list[int], size: int) -> int:
    """The positions that run lengths denote: so many outside, so many inside, and so on."""
    require(all(type(run) is int and run >= 0 for run in runs) and sum(runs) <= size, "bad runs")
    return int("".join("01"[i % 2] * run for i, run in enumerate(runs))[::-1] or "0", 2)


def microseconds(seconds: float | None) -> Any:
    return None if seconds is None else round(seconds * 1_000_000)


class Check:
    """The parts of a formula, from the last to the first: each asks earlier ones for their rows,
    and is then tested at every position where a later one asked for it. `names` are the variables
    of each part. In a run that continues (`open_run`), what a call has yet to return is not known.
    """

    def __init__(
        self, claim: Json, names: list[list[str]], events: list[Event], trace: Trace, order: str
    ) -> None:
        self.parts, self.names, self.trace, self.order = claim["formula"], names, trace, order
        self.events, self.size, self.open_run = events, len(events), False
        self.P, self.end = (1 << self.size) - 1, 1 << self.size
        steps = [event.step for event in events]
        self.starts = [bisect_left(steps, step) for step in steps]  # of the step of each event
        self.ends = [bisect_right(steps, step) for step in steps]
        self.masks: dict[tuple[str | None, str | None], int] = {}
        for at, event in enumerate(events):
            kind = event.tool, event.role
            self.masks[kind] = self.masks.get(kind, 0) | 1 << at
        self.rows: list[dict[Any, Row]] = [{} for _ in self.parts]
        self.asked: list[dict[Any, tuple[int, Env]]] = [{} for _ in self.parts]
        self.current = len(self.parts)
        require(len(claim["tables"]) == len(self.parts), "not one table for each part")
        for rows, own, table in zip(self.rows, names, claim["tables"], strict=True):
            for row in table:
                require(row.keys() <= {"values", "true", "checked"}, "a row with unknown fields")
                values = row.get("values", {})
                require(sorted(values) == own, "a row with other variables than its part")
                key = tuple(values[name] for name in own)
                require(key not in rows, "two rows for the same values")
                both = row["true"], row.get("checked", row["true"])
                true, checked = (mask_of(runs, self.size + 1) for runs in both)
                rows[key] = true, checked

    def row(self, number: int, env: Env, where: int) -> Row:
        """The claimed row at the asked positions. It is tested when the part has its turn."""
        require(type(number) is int and 0 <= number < self.current, "a part that refers to a later")
        if not where:
            return 0, 0
        inner = {name: env[name] for name in self.names[number]}
        key = tuple(name for _, name in inner.values())
        require(key in self.rows[number], f"part {number} has no row for {key!r:.80}")
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
                true ^= self.row(content[0], env, where)[0] ^ self.row(content[1], env, where)[0]
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
            case "forall" | "exists" | "let":
                true = where if tag == "forall" else 0
                for inner, here in self.bound(content, env, where):
                    a, c = self.row(content["body"], inner, here)
                    true = true & (a | ~here) if tag == "forall" else true | a
                    checked |= c
                return true, true & checked
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
        sign = -1 if ahead else 1
        order, inside = range(self.size)[::sign], set(positions_in(a))
        times: list[Any] = [microseconds(event.start) for event in self.events]
        times = [None if time is None else sign * time for time in times]
        near, met, latest = 0, 0, -math.inf
        for index, at in enumerate(order):
            before = self.size - self.ends[at] if ahead else self.starts[at]  # in other steps
            for other in order[met : (met := before if apart else index + 1)]:
                if other in inside and times[other] is not None:
                    latest = max(latest, times[other])
            near |= (times[at] is not None and times[at] - latest <= limit) << at
        return near

    # ── values ───────────────────────────────────────────────────────────────────────────

    def bound(self, content: Json, env: Env, where: int) -> list[tuple[Env, int]]:
        """The values that a variable takes, each with the positions where it does."""
        source = content["in"] if "in" in content else {"value": content["value"]}
        moves = any(tag in MOVING for tag, _ in nodes(source))
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
        match tag:
            case "value":
                return [self.value(content, at, env)]
            case "listed":
                values = [self.value(each, at, env) for each in content]
                return [value for value in values if value is not MISSING]
            case "found":
                value = self.value(content, at, env)
                return [] if value is MISSING else members(value)
        bases = [self.trace.metrics]
        if tag != "metrics":
            calls = positions_in(self.calls(content["tool"], env))
            field = "args" if tag == "args" else "result"
            bases = [self.read(i, field) for i in calls]
        hits = [search(content["path"], base) for base in bases if base is not MISSING]
        return distinct([value for hit in hits for value in members(hit)])

    def read(self, at: int, field: str = "") -> Json:
        """A field of an event, or all of them."""
        event = self.events[at]
        waits = self.open_run and event.tool and event.raw is MISSING and not event.failed
        if waits and (field in DONE or not field or (field == "start" and event.start is None)):
            beyond("it reads a call that has not returned")
        return event.fields.get(field, MISSING) if field else event.fields

    def value(self, term: Json, at: int, env: Env) -> Json:
        """The value of a term at a position; after the last event there is none to read."""
        tag, content = single(term)
        match tag:
            case "literal":
                return content
            case "variable":
                return env[content][0]
            case "read":
                return self.read(at, content) if at < self.size else MISSING
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
                return self.read(true.bit_length() - 1) if true else MISSING
            case "sofar":
                return self.sofar(content, at, env)
            case "count":
                domain, body = content["in"], content["body"]
                if "found" in domain and self.value(domain["found"], at, env) is MISSING:
                    return MISSING
                values = self.elements(domain, at, env)
                inner = [env | {content["variable"]: (v, name_of(v))} for v in values]
                return sum(self.row(body, each, 1 << at)[0] >> at for each in inner)
        return beyond(f"the value '{tag:.20}'")

    def sofar(self, content: Json, at: int, env: Env) -> Json:
        true, _ = self.row(content["condition"], env, self.P & (2 << at) - 1)
        found = positions_in(true)
        if "seconds" in content:
            limit = microseconds(content["seconds"])
            spots = [*found, at] if at < self.size else []
            starts = [microseconds(self.events[i].start) for i in spots]
            if not spots or None in starts:
                return MISSING
            found = [i for i, s in zip(found, starts, strict=False) if starts[-1] - s <= limit]
        return [self.read(i) for i in found]

    # ── 5. atoms ─────────────────────────────────────────────────────────────────────────

    def calls(self, tool: Json, env: Env, patterns: Json = (), where: int = -1) -> int:
        """The positions of calls of a tool that fit some patterns."""
        tools = tool["any"] if isinstance(tool, dict) and "any" in tool else [tool]
        found = 0
        for (name, _), mask in self.masks.items():
            if name is not None and any(self.is_named(name, member, env) for member in tools):
                found |= mask & where
        if patterns:
            wanted = [self.value(p["is"], self.size, env) if "is" in p else None for p in patterns]
            reads_result = any("argument" not in pattern for pattern in patterns)
            for at in positions_in(found):
                self.read(at, "result" if reads_result else "args")
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

        def times(tool: Json) -> list[int]:
            found = positions_in(self.calls(tool, env))
            return [self.events[i].step for i in found] if self.order == "step" else found

        def before(first: Json, second: Json, n: int = 0, m: int = 0) -> bool:
            one, other = times(first)[n : n + 1], times(second)[m : m + 1]
            return min(n, m) >= 0 and bool(one and other) and one < other

        tools = [c[key] if isinstance(c[key], list) else [c[key]] for key in TOOLS & c.keys()]
        for tool in (tool for each in tools for tool in each if isinstance(tool, dict)):
            if "variable" in tool and env[tool["variable"]][0] is MISSING:
                return False
        match tag:
            case "Called":
                return bool(times(c["tool"]))
            case "CalledN":
                wanted = number(c["count"]["number"])
                return wanted >= 0 and COMPARISONS[c["count"]["is"]](len(times(c["tool"])), wanted)
            case "Before" | "After":
                return before(c["first"], c["second"])
            case "AllBefore":
                return all(before(tool, c["goal"]) for tool in c["tools"])
            case "InstanceBefore":
                return before(c["first"], c["second"], number(c["n"]), number(c["m"]))
            case "InOrder":
                reached: float = -1
                for tool in c["sequence"]:
                    reached = next((time for time in times(tool) if time > reached), math.inf)
                return reached < math.inf
            case "WithinSteps":
                first = positions_in(self.calls(c["first"], env))[:1]
                ends, limit = positions_in(self.calls(c["second"], env)), number(c["limit"])
                return any(0 <= end - start <= limit for start in first for end in ends)
            case "BranchCalled":
                return bool(times(c["taken"])) and not times(c["avoided"])
            case "CalledWith" | "CalledWithResult" | "CalledExactly":
                found = positions_in(self.calls(c["tool"], env, c["arguments"]))
                events = [self.events[at] for at in found]
                if tag == "CalledExactly":
                    keys = {pattern["argument"][0] for pattern in c["arguments"]}
                    events = [event for event in events if event.args.keys() == keys]
                if tag == "CalledWithResult":
                    result = self.value(c["result"], self.size, env)
                    events = [e for e in events if equal(e.value, result) or equal(e.raw, result)]
                    return result is not MISSING and bool(events)
                return bool(events)
        beyond(f"'{tag:.20}'")


# ── 6. the procedure: the YAML that procedures are written in, not all of YAML ────────────────

QUOTED = r""""(?:[^"\\]|\\.)*"|'(?:[^']|'')*'"""
KEY = re.compile(rf"""({QUOTED}|(?:[^\s\[\]{{}}#&*!|>'"%@`,-]|-[^\s#])[^#]*?)\s*:(?:\s+|$)""")
COLON = r":(?=[^\s,\[\]{}])"  # one that is part of a text
PLAIN = (
    rf"""(?:[^\s\[\]{{}},:"'#&*!|>%@`]|{COLON})"""
    rf"(?:[^\s\[\]{{}},:]|{COLON}|\s+(?=[^\s\[\]{{}},:#]))*"
)
FLOW = re.compile(rf"(?:\s|(?<=\s)#[^\n]*)*({QUOTED}|{PLAIN}|[\[\]{{}},:])", re.DOTALL)
ITEM = re.compile(r" *-(\s|$)")


def scalar(text: str) -> Json:
    text = re.sub(r"\s*\n\s*", " ", text.strip())
    if text[:1] == '"':
        return read_json(text)
    if text[:1] == "'":
        return text[1:-1].replace("''", "'")
    if text in ("", "~", "null", "true", "false"):
        return {"true": True, "false": False}.get(text)
    if re.fullmatch(r"[-+]?(0|[1-9][0-9]{0,999})", text):
        return int(text)
    number = re.fullmatch(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", text)
    return float(text) if number else text


class Yaml:
    """The lines of a document, read from the top. `least` is the indentation that continues."""

    def __init__(self, text: str) -> None:
        self.lines, self.at = text.removeprefix("\ufeff").split("\n"), 0
        if not all(line.isprintable() for line in self.lines) or re.search(r"(?m)^[ -]*\? ", text):
            refuse("YAML with tabs, control characters, other ends of lines, or keys with a '?'")

    def document(self) -> Json:
        value = self.block(0)
        return value if self.indent() < 0 else refuse(f"line {self.at + 1} of the YAML")

    def indent(self) -> int:
        """The indentation of the next line that has content; -1 at the end."""
        while self.at < len(self.lines):
            line = self.lines[self.at].lstrip()
            if line and line[0] != "#":
                return len(self.lines[self.at]) - len(line)
            self.at += 1
        return -1

    def block(self, least: int) -> Json:
        indent, items = self.indent(), []
        if indent < least:
            return None
        while self.indent() == indent and ITEM.match(self.lines[self.at]):
            self.lines[self.at] = self.lines[self.at].replace("-", " ", 1)
            items.append(self.block(indent + 1))
        if items:
            return items
        pairs: dict[str, Json] = {}
        while self.indent() == indent and (key := KEY.match(self.lines[self.at], indent)):
            name, after = scalar(key[1]), self.lines[self.at][key.end() :]
            if name in pairs or not is_text(name):
                refuse(f"the key {name!r:.40}")
            self.at += 1
            if after and after[0] != "#":
                pairs[name] = self.value(after, indent + 1)
            else:
                listed = self.indent() == indent and ITEM.match(self.lines[self.at])
                pairs[name] = self.block(indent if listed else indent + 1)
        if pairs:
            return pairs if self.indent() <= indent else refuse(f"line {self.at + 1} of the YAML")
        self.at += 1
        return self.value(self.lines[self.at - 1][indent:], least)

    def value(self, text: str, least: int) -> Json:
        """A scalar or a flow collection that begins with this text, and may continue below it."""
        if header := re.fullmatch(r"([|>])[-+]?\s*(#.*)?", text):
            return self.literal(header[1] == ">", least)
        at, gap = self.at, False
        while self.indent() >= least:
            gap = gap or self.at > at
            text += "\n" + self.lines[self.at]
            at = self.at = self.at + 1
        if text[0] not in "[{\"'":
            text = re.sub(r"\s#[^\n]*$", "", text)  # a comment ends the text
            if re.match(r"[&*!%@`|>#]|---", text) or re.search(r":(\s|$)|\s#", text):
                refuse(f"the YAML {text:.40}")
        elif text[0] in "[{":
            return self.flow(text)
        elif not (found := re.match(rf"({QUOTED})\s*(#[^\n]*)?$", text, re.DOTALL)):
            refuse(f"the YAML {text:.40}")
        else:
            text = found[1]
        if gap:
            refuse("an empty line or a comment inside a YAML value")
        return scalar(text)

    def flow(self, text: str) -> Json:
        tokens, at = [], 0
        while found := FLOW.match(text, at):
            tokens.append(found[1])
            at = found.end()
        if not re.fullmatch(r"\s*(\s#[^\n]*)?", text[at:]):
            refuse(f"the YAML {text[at:]:.40}")
        tokens.append("")
        value = self.item(tokens)
        return value if tokens == [""] else refuse(f"the YAML after {text:.40}")

    def item(self, tokens: list[str]) -> Json:
        """The value at the beginning of these tokens, which are consumed."""
        token = tokens.pop(0)
        if token not in ("[", "{"):
            return refuse("such a bracket or comma") if token in ("", *"]},:") else scalar(token)
        values: list[Json] = []
        pairs: dict[str, Json] = {}
        closing = "]" if token == "[" else "}"
        while tokens[0] != closing:
            values.append(self.item(tokens))
            if token == "{":
                if not is_text(values[-1]) or values[-1] in pairs or tokens.pop(0) != ":":
                    refuse(f"the key {values[-1]!r:.40}")
                pairs[values[-1]] = None if tokens[0] in (",", "}") else self.item(tokens)
            if tokens[0] != closing and tokens.pop(0) != ",":
                refuse("a bracket that is not closed")
        tokens.pop(0)
        return pairs if token == "{" else values

    def literal(self, folded: bool, least: int) -> str:
        start = self.at
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.strip() and len(line) - len(line.lstrip()) < least:
                break
            self.at += 1
        found = self.lines[start : self.at]
        margin = min((len(each) - len(each.lstrip()) for each in found if each.strip()), default=0)
        text, before = "", ""
        for line in (each[margin:].rstrip() for each in found):
            joined = folded and line and before and line[0] != " " and before[0] != " "
            text += (" " if joined else "\n" if text else "") + line
            before = line
        return text.strip("\n")


# ── 7. the text of rules: to shapes by precedence, then to the JSON form by looking up names ──

PREFIXES = {  # the spellings of an operator, and its tag
    spelling: tag
    for row in (
        "not:!,not next:X,next weak_next:WX,weak_next eventually:F,eventually always:G,always",
        "yesterday:Y,yesterday once:O,once historically:H,historically earlier:earlier later:later",
    )
    for tag, spellings in (each.split(":") for each in row.split())
    for spelling in spellings.split(",")
}
INFIXES = {  # its tag, and how tightly it binds; & and | are lists, the others group to the right
    spelling: (tag, level)
    for level, row in {
        10: "iff:<->,iff",
        20: "implies:->,implies",
        30: "or:|,or",
        40: "and:&,and",
        50: "until:U,until weak_until:W,weak_until release:R,release since:S,since",
    }.items()
    for tag, spellings in (each.split(":") for each in row.split())
    for spelling in spellings.split(",")
}
ARITHMETIC = {"+": 70, "-": 70, "*": 80, "/": 80}
UNITS = {"d": 86_400_000, "h": 3_600_000, "min": 60_000, "s": 1000, "ms": 1}
FIELDS = {"args", "tool", "step", "start", "agent"} | DONE
PREDICATES = {
    "Called": "tool:tool",
    "CalledN": "tool:tool count:count",
    "Before": "first:tool second:tool",
    "After": "second:tool first:tool",
    "AllBefore": "tools:tools goal:tool",
    "InstanceBefore": "first:tool n:value second:tool m:value",
    "InOrder": "sequence:rest",
    "WithinSteps": "first:tool second:tool limit:value",
    "CalledWith": "tool:tool arguments:patterns",
    "CalledWithResult": "tool:tool result:value arguments:patterns",
    "CalledExactly": "tool:tool arguments:patterns",
    "BranchCalled": "taken:tool avoided:tool",
}
WORD = r"[^\W\d]\w*"
IGNORED = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
OPERAND = re.compile(
    rf'(?P<name>{WORD})|(?P<string>"(?:[^"\\\n]|\\.)*")|(?P<regex>/(?:[^/\\\n]|\\.)+/)'
    r"|(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?P<opening>[(\[{])|(?P<prefix>!)"
)
SYMBOL = re.compile(rf"<->|->|<=|>=|!=|[-+*/=<>~.,:()\[\]{{}}&|]|{WORD}")

Shape = Any  # ("name", text), ("scalar", value), (tag, operands), …
Scope = dict[str, Any]  # a variable's name in the formula, or the shape and scope of an operand


class Text:
    """Reads the shape of a text from left to right. `symbol` is what comes next."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.move(0)

    def whole(self) -> Shape:
        shape = self.formula()
        return shape if self.at == len(self.text) else self.unread()

    def move(self, end: int) -> None:
        ignored = IGNORED.match(self.text, end)
        self.at: int = ignored.end() if ignored else end
        found = SYMBOL.match(self.text, self.at)
        self.symbol: str = found[0] if found else ""

    def unread(self) -> NoReturn:
        beyond(f"its text at '{self.text[self.at : self.at + 20]}'")

    def take(self, *wanted: str) -> str:
        symbol = self.symbol
        if wanted and symbol not in wanted:
            self.unread()
        self.move(self.at + len(symbol))
        return symbol

    def operand(self, *kinds: str) -> re.Match[str]:
        found = OPERAND.match(self.text, self.at)
        if found is None or (kinds and found.lastgroup not in kinds):
            self.unread()
        self.move(found.end())
        return found

    def formula(self, loosest: int = 0) -> Shape:
        left = self.unary()
        while (found := INFIXES.get(self.symbol)) and found[1] >= loosest:
            operands = [left]
            while INFIXES.get(self.symbol) == found:
                self.take()
                operands.append(self.formula(found[1] + (found[0] in ("and", "or"))))
            left = found[0], operands
        return left

    def unary(self) -> Shape:
        found = OPERAND.match(self.text, self.at)
        word = found[0] if found else ""
        if word in PREFIXES:
            self.operand()
            tag, operand = PREFIXES[word], self.unary()
            if self.symbol != "within" or f"{tag}_within" not in WITHIN:
                return tag, [operand]
            self.take()
            return f"{tag}_within", operand, self.value()
        if word in ("forall", "exists"):
            self.take()
            name, _, domain, _ = (
                self.operand("name")[0],
                self.take("in"),
                self.value(),
                self.take(":"),
            )
            return word, name, domain, self.formula()
        if word == "let":
            bindings = []
            while self.take("let", ",", ":") != ":":
                bindings.append((self.operand("name")[0], self.take("="), self.value()))
            body = self.formula()
            for name, _, value in reversed(bindings):
                body = "let", name, value, body
            return body
        left = self.value()
        if self.symbol == "from":
            self.take()
            part, condition = ("name", "text"), self.unary()
            if self.symbol == "of":
                self.take()
                part, condition = condition, self.unary()
            return "from", left, part, condition
        return ("compare", left, self.take(), self.value()) if self.symbol in RELATIONS else left

    def value(self, loosest: int = 0) -> Shape:
        left = self.primary()
        while self.symbol in (".", "["):
            if self.take() == ".":
                key = self.operand("name", "string")
                left = "at", left, ("scalar", json.loads(key[0]) if key["string"] else key[0])
            else:
                left = "at", left, self.value()
                self.take("]")
        while ARITHMETIC.get(self.symbol, -1) >= loosest:
            symbol = self.take()
            left = "apply", symbol, left, self.value(ARITHMETIC[symbol] + 1)
        return left

    def primary(self) -> Shape:
        found = self.operand("name", "string", "regex", "number", "opening")
        text = found[0]
        if text == "(":
            inner = self.formula()
            self.take(")")
            return inner
        if found["opening"]:
            return ("list", self.items("]")) if text == "[" else ("braces", self.items("}"))
        if found["regex"]:
            return "scalar", text[1:-1].replace("\\/", "/")
        if found["number"] and self.symbol in UNITS:
            seconds = read_json(text) * UNITS[self.take()] / 1000
            return "scalar", int(seconds) if seconds == int(seconds) else seconds
        if not found["name"] or text in ("true", "false", "null"):
            return "scalar", read_json(text)
        if self.symbol != "(":
            return "name", text
        self.take()
        return "invoke", text, self.items(")")

    def items(self, closing: str) -> list[Shape]:
        found: list[Shape] = []
        while found or self.symbol != closing:
            if self.symbol in COMPARISONS:
                found.append(("half", self.take(), self.value()))
            else:
                found.append(self.formula())
                if self.symbol == ":":
                    found.append(("pair", found.pop(), self.take(), self.formula()))
            if self.take(",", closing) == closing:
                return found
        self.take()
        return found


class Rules:
    """Formulas in the JSON form, their parts numbered; equal parts have one number, so that
    formulas are equal if their last parts have one. `free` are the variables of each part.
    """

    def __init__(self, document: Json) -> None:
        self.groups, self.constants = document.get("groups") or {}, document.get("constants") or {}
        self.definitions: dict[str, tuple[list[str], Shape]] = {}
        self.numbers: dict[str, int] = {}
        self.parts: list[Json] = []
        self.free: list[set[str]] = []
        self.expanded = 0
        for head, body in (document.get("define") or {}).items():
            name, _, rest = head.replace(" ", "").removesuffix(")").partition("(")
            self.definitions[name] = rest.split(",") if rest else [], self.shape(body)

    def shape(self, rule: Json) -> Shape:  # YAML reads `rule: true` as a boolean
        try:
            return Text(json.dumps(rule) if isinstance(rule, bool) else rule).whole()
        except NotChecked as error:
            return "unread", str(error)

    def root(self, rule: Json) -> int:
        """The number of the formula that a rule means."""
        if isinstance(rule, dict):
            return self.linked(rule["formula"])[-1]
        return self.formula(self.shape(rule), {})

    def linked(self, formula: list[Json]) -> list[int]:
        """The numbers of the parts of a formula in JSON, in which parts name earlier ones."""
        numbers: list[int] = []

        def renumbered(value: Json, tag: str = "") -> Json:
            if type(value) is int and tag not in ("literal", "seconds"):
                require(0 <= value < len(numbers), "a part that refers to a later one")
                return numbers[value]
            if isinstance(value, list) and tag != "literal":
                found = [renumbered(each, tag) for each in value]
                return sorted(found, key=json.dumps) if tag == "any" else found
            if isinstance(value, dict) and tag != "literal":
                inner = "" if tag == "object" else None
                return {k: renumbered(v, k if inner is None else inner) for k, v in value.items()}
            return value

        for part in formula:
            numbers.append(self.part(renumbered(part)))
        return numbers

    def part(self, part: Json) -> int:
        tag, content = single(part)
        if tag in ("and", "or"):  # a conjunction inside a conjunction dissolves
            part = {tag: [n for each in content for n in self.parts[each].get(tag, [each])]}
        key = json.dumps(part, sort_keys=True)
        if key not in self.numbers:
            self.numbers[key] = len(self.parts)
            self.parts.append(part)
            self.free.append(self.variables(part))
        return self.numbers[key]

    def variables(self, value: Json, tag: str = "") -> set[str]:
        if tag in ("literal", "seconds"):
            return set()
        if type(value) is int:
            return self.free[value]
        if isinstance(value, list):
            return set().union(*(self.variables(each, tag) for each in value))
        if not isinstance(value, dict):
            return {value} if tag == "variable" else set()
        inner = {k: self.variables(v, "" if tag == "object" else k) for k, v in value.items()}
        if "body" in inner and tag != "object":
            inner["body"] = inner["body"] - inner.pop("variable")
        return set().union(*inner.values())

    def formula(self, shape: Shape, scope: Scope) -> int:
        if meant := self.meaning(shape, scope):
            return self.formula(*meant)
        match shape:
            case (str(tag), [*operands]) if tag not in ("name", "scalar", "list", "braces"):
                return self.part({tag: [self.formula(each, scope) for each in operands]})
            case (tag, operand, limit) if tag in WITHIN:
                seconds = self.term(limit, scope)["literal"]
                return self.part(
                    {tag: {"operand": self.formula(operand, scope), "seconds": seconds}}
                )
            case (("forall" | "exists") as tag, name, domain, body):
                return self.part({tag: self.binder(name, domain, body, scope)})
            case ("let", name, given, body):
                value, inner = self.term(given, scope), self.binding(name, scope)
                content = {"variable": inner[name], "value": value}
                return self.part({"let": content | {"body": self.formula(body, inner)}})
            case ("from", given, part, condition):
                return self.sourced(given, part, condition, scope)
            case ("compare", left, symbol, right):
                return self.part(
                    {"compare": [self.term(left, scope), symbol, self.term(right, scope)]}
                )
            case ("scalar", bool(value)):
                return self.part({"truth": value})
            case ("name", "call"):
                return self.part({"event": {}})
            case ("name", "ok" | "failed"):
                return self.part({"event": {"where": [{"outcome": shape[1]}]}})
            case ("name" | "scalar" | "braces", _) | ("invoke", "like", _):
                return self.part({"event": {"tool": self.tool(shape, scope)}})
            case ("invoke", "call", operands):
                return self.event(operands, scope)
            case ("invoke", "says", [("name", role)]):
                return self.part({"says": role})
            case ("invoke", name, operands) if name in PREDICATES:
                return self.part({name: self.operands(PREDICATES[name], operands, scope)})
        return self.unknown(shape)

    def unknown(self, shape: Shape) -> NoReturn:
        shell = shape[1] in ("sh", "shell")
        why = "which only Bylaw parses" if shell else "which is registered in Python or new"
        beyond(shape[1] if shape[0] == "unread" else f"'{shape[1]!s:.40}', {why}")

    def meaning(self, shape: Shape, scope: Scope) -> tuple[Shape, Scope] | None:
        """The meaning of a definition, or of an operand of one; None if it is neither."""
        if shape[0] not in ("name", "invoke"):
            return None
        meant, given = scope.get(shape[1]), shape[2] if shape[0] == "invoke" else []
        if isinstance(meant, tuple) and shape[0] == "name":
            return meant
        if isinstance(meant, str) or shape[1] not in self.definitions:
            return None
        self.expanded += 1
        parameters, body = self.definitions[shape[1]]
        if len(parameters) != len(given) or self.expanded > 100_000:
            beyond(f"the definition '{shape[1]}'")
        return body, {name: (each, scope) for name, each in zip(parameters, given, strict=True)}

    def binding(self, name: str, scope: Scope) -> Scope:
        """The scope in which a variable is bound. It captures none that an operand may hold."""

        def held(scope: Scope) -> set[str]:
            inner = [each[1] for each in scope.values() if isinstance(each, tuple)]
            return set().union(*({v for v in s.values() if is_text(v)} | held(s) for s in inner))

        new, taken = name, held(scope)
        taken |= {v for k, v in scope.items() if is_text(v) and k != name} if taken else set()
        while new in taken:
            new += "_"
        return {**scope, name: new}

    def binder(self, name: str, domain: Shape, body: Shape, scope: Scope) -> Json:
        source, inner = self.domain(domain, scope), self.binding(name, scope)
        return {"variable": inner[name], "in": source, "body": self.formula(body, inner)}

    def sourced(self, given: Shape, part: Shape, condition: Shape, scope: Scope) -> int:
        """`forall leaf in leaves(x): earlier (a & text mentions leaf & !(args mentions leaf))`."""
        seen, read = self.formula(condition, scope), self.term(part, scope)
        names = ["leaf", *(f"leaf{number}" for number in range(2, 100))]
        leaf = next(n for n in names if n not in self.free[seen] | self.variables(read))
        mentioned = self.part({"compare": [read, "mentions", {"variable": leaf}]})
        echoed = self.part({"compare": [{"read": "args"}, "mentions", {"variable": leaf}]})
        body = self.part({"and": [seen, mentioned, self.part({"not": [echoed]})]})
        domain = {"found": {"apply": {"function": "leaves", "to": [self.term(given, scope)]}}}
        binder = {"variable": leaf, "in": domain, "body": self.part({"earlier": [body]})}
        return self.part({"forall": binder})

    def event(self, operands: list[Shape], scope: Scope) -> int:
        rest, patterns, compared = list(operands), [], []
        content: Json = {}
        first = rest[0] if rest else ("name", "ok")
        names_tool = first[0] in ("name", "scalar", "braces") or first[:2] == ("invoke", "like")
        if names_tool and first not in (("name", "ok"), ("name", "failed")):
            content = {"tool": self.tool(rest.pop(0), scope)}
        for each in rest:
            if each[0] == "name":
                patterns.append({"outcome": each[1]})
                continue
            _, left, symbol, right = each
            base, keys = self.keys(left, "result")
            value = self.term(right, scope)
            if symbol == "=" and not MOVING & {tag for tag, _ in nodes(value)}:
                patterns.append({"argument" if base == "args" else "result": keys, "is": value})
                continue
            path: Json = {"read": base}
            for key in keys:
                path = {"at": [path, {"literal": key}]}
            compared.append(self.part({"compare": [path, symbol, value]}))
        event = self.part({"event": content | ({"where": patterns} if patterns else {})})
        return self.part({"and": [event, *compared]}) if compared else event

    def keys(self, shape: Shape, other: str = "args") -> tuple[str, list[str]]:
        """The path of a pattern: `amount`, `args.amount`, `"order id".x`, `result.status`."""
        keys: list[str] = []
        while shape[0] == "at":
            keys.insert(0, shape[2][1] if shape[2][0] == "scalar" else self.unknown(shape))
            shape = shape[1]
        base = other if shape == ("name", other) else "args"
        return base, keys if base != "args" or (shape == ("name", "args") and keys) else [
            shape[1],
            *keys,
        ]

    def operands(self, kinds: str, given: list[Shape], scope: Scope) -> Json:
        found: Json = {}
        rest = list(given)
        for name, kind in (each.split(":") for each in kinds.split()):
            if kind == "patterns":
                pairs = [
                    (self.keys(left)[1], self.term(right, scope)) for _, left, _, right in rest
                ]
                found[name] = [{"argument": keys, "is": value} for keys, value in pairs]
            elif kind == "rest":
                found[name] = [self.tool(each, scope) for each in rest]
            elif kind == "tools":
                found[name] = [self.tool(each, scope) for each in rest.pop(0)[1]]
            elif kind == "count":
                found[name] = {"is": rest[0][1], "number": self.term(rest.pop(0)[2], scope)}
            else:
                found[name] = (self.tool if kind == "tool" else self.term)(rest.pop(0), scope)
        return found

    def tool(self, shape: Shape, scope: Scope) -> Json:
        if meant := self.meaning(shape, scope):
            return self.tool(*meant)
        match shape:
            case ("name", name) if name in scope:
                return {"variable": scope[name]}
            case ("name", name) if name in self.groups:
                return {"any": sorted(self.members(name, set()), key=json.dumps)}
            case ("invoke", "like", [("scalar", form)]):
                return {"like": form}
            case ("name" | "scalar", str(name)):
                return name
            case ("braces", shapes):
                tools = [self.tool(each, scope) for each in shapes]
                flat = [i for t in tools for i in (t["any"] if "any" in t and t != "any" else [t])]
                return {"any": sorted(distinct(flat), key=json.dumps)}
        return self.unknown(shape)

    def members(self, group: str, seen: set[str]) -> list[Json]:
        found: list[Json] = []
        seen.add(group)
        for member in self.groups[group]:
            if member not in self.groups:
                found.append({"like": member} if "*" in member else member)
            elif member not in seen:
                found += self.members(member, seen)
        return distinct(found)

    def term(self, shape: Shape, scope: Scope) -> Json:
        if meant := self.meaning(shape, scope):
            return self.term(*meant)
        match shape:
            case ("scalar", value):
                return {"literal": value}
            case ("name", name) if name in scope:
                return {"variable": scope[name]}
            case ("name", name) if name in self.constants:
                return {"literal": self.constants[name]}
            case ("name", name) if name in FIELDS:
                return {"read": name}
            case ("name", "answer" | "labels"):
                return {shape[1]: True}
            case ("at", base, key):
                return {"at": [self.term(base, scope), self.term(key, scope)]}
            case ("apply", symbol, *operands):
                return {
                    "apply": {"function": symbol, "to": [self.term(o, scope) for o in operands]}
                }
            case ("list", shapes):
                values = [self.term(each, scope) for each in shapes]
                written = all("literal" in value for value in values)
                return {"literal": [v["literal"] for v in values]} if written else {"list": values}
            case ("braces", shapes):
                pairs = {key: self.term(value, scope) for _, (_, key), _, value in shapes}
                written = all("literal" in value for value in pairs.values())
                plain = {key: value["literal"] for key, value in pairs.items() if written}
                return {"literal": plain} if written else {"object": pairs}
            case ("invoke", "last", [condition]):
                return {"last": self.formula(condition, scope)}
            case ("invoke", "sofar", [condition, *window]):
                content = {"condition": self.formula(condition, scope)}
                if window:
                    content["seconds"] = self.term(window[0], scope)["literal"]
                return {"sofar": content}
            case (
                "invoke",
                "count",
                [("pair", ("compare", ("name", name), "in", domain), _, body)],
            ):
                return {"count": self.binder(name, domain, body, scope)}
            case ("invoke", name, operands) if name in FUNCTIONS:
                return {"apply": {"function": name, "to": [self.term(o, scope) for o in operands]}}
        return self.unknown(shape)

    def domain(self, shape: Shape, scope: Scope) -> Json:
        match shape:
            case ("name", name) if isinstance(scope.get(name), tuple):
                return self.domain(*scope[name])
            case ("list", shapes):
                return {"listed": [self.term(each, scope) for each in shapes]}
            case ("invoke", ("args" | "results") as name, [tool, (_, path)]):
                return {name: {"tool": self.tool(tool, scope), "path": path}}
            case ("invoke", "metrics", [(_, path)]):
                return {"metrics": {"path": path}}
        value = self.term(shape, scope)
        if "literal" not in value:
            return {"found": value}
        return {"listed": [{"literal": each} for each in members(value["literal"])]}


# ── 8. the certificate ────────────────────────────────────────────────────────────────────────

UNREAD = ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError


class Procedure:
    """The procedure that a certificate is compared with."""

    def __init__(self, document: Json) -> None:
        self.reader, events = Rules(document), document.get("events") or "calls"
        self.order, self.rules = document.get("order") or "position", []
        for each in document["constraints"]:
            weight = 1.0 if each.get("weight") is None else float(each["weight"])
            about = {"weight": weight, "events": each.get("events") or events}
            self.rules.append({"name": each["name"], "rule": each["rule"], **about})
        self.failed = document.get("failed")

    def check(self, claim: Json, rule: Json, events: list[Event], trace: Trace) -> Check:
        """The claimed tables, of what is the formula of the rule."""
        try:
            root = self.reader.root(rule)
        except UNREAD as error:
            beyond(f"its text ({type(error).__name__}: {error})")
        numbers = self.reader.linked(claim["formula"])
        require(numbers[-1:] == [root], "the formula is not that of the rule")
        if "tables" not in claim:
            beyond(f"it has no tables ({claim.get('reason')!r:.100})")
        names = [sorted(self.reader.free[number]) for number in numbers]
        return Check(claim, names, events, trace, self.order)

    def outcome(self, claim: Json, rule: Json, trace: Trace) -> str:
        found = [node for part in claim["formula"] for node in nodes(part)]
        answer = any(tag in TOOLS and value == FINAL for tag, value in found)
        check = self.check(claim, rule["rule"], trace.seen(rule["events"], answer), trace)
        true, checked = check.verdict(1)
        return "satisfied" if checked else "vacuous" if true else "violated"

    def mark_failures(self, claim: Json, trace: Trace) -> None:
        """Gives an error to the calls that fail by the procedure's own test."""
        alone = Trace({"tool_calls": []})  # the test reads one call, and nothing else
        events = [Event(event.entry, 0, event.role) for event in trace.events]
        tested = [event.raw is not MISSING and not event.failed for event in events]
        where = sum(1 << at for at, test in enumerate(tested) if test)
        true, _ = self.check(claim, self.failed, events, alone).verdict(where)
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


def check(certificate: Json, record: Json, procedure: Procedure) -> list[str]:
    """Raises Wrong, or returns what was not checked."""
    require(certificate["certificate"] == 1, "another version of the format")
    trace, open_claims = Trace(record), []
    claims, failed = certificate["rules"], certificate.get("failed")
    require(
        certificate["procedure"]["order"] == procedure.order, "another order than the procedure's"
    )
    require(len(claims) == len(procedure.rules), "another number of rules than in the procedure")
    require((failed is None) is (procedure.failed is None), "only one has a test for failed calls")
    if failed is not None:
        try:
            procedure.mark_failures(failed, trace)
        except NotChecked as error:
            return [f"every rule, because of the test for failed calls: {error}"]
    for claim, rule in zip(claims, procedure.rules, strict=True):
        for field in ("name", "weight", "events"):
            require(same(claim[field], rule[field]), f"another {field} than in the procedure")
        try:
            outcome = procedure.outcome(claim, rule, trace)
            require(outcome == claim["outcome"], f"it is {outcome}, not {claim['outcome']!r:.20}")
        except Wrong as error:
            raise Wrong(f"{rule['name']}: {error}") from None
        except NotChecked as error:
            open_claims.append(f"{rule['name']}: {error}")
    found = [certificate["score"], certificate["label"]]
    require(same(found, score(claims)), f"score and label are {score(claims)}, not {found}")
    return open_claims


# ── 9. refusals in a gate's log ───────────────────────────────────────────────────────────────

AHEAD = {  # the value of such a part at an event may depend on what follows it
    *("next", "weak_next", "eventually", "always", "until", "weak_until", "release", "later"),
    *("eventually_within", "later_within", "args", "results", "metrics", "answer", *PREDICATES),
}


def looks_ahead(parts: list[Json], value: Json) -> bool:
    inner = [(tag, each) for tag, each in nodes(value) if tag not in ("literal", "seconds")]
    below = (parts[each] for _, each in inner if type(each) is int)
    return any(tag in AHEAD for tag, _ in inner) or any(looks_ahead(parts, each) for each in below)


def violations_last(parts: list[Json], number: int) -> bool:
    """Is the part, once violated by what happened so far, violated whatever follows?"""
    tag, content = single(parts[number])
    if not looks_ahead(parts, parts[number]):
        return True
    if tag in ("always", "weak_next", "weak_until", "release", "and", "or"):
        return all(violations_last(parts, each) for each in content)
    if tag == "implies":
        return not looks_ahead(parts, content[:1]) and violations_last(parts, content[1])
    if tag in ("forall", "exists", "let"):
        source = content.get("in", content.get("value"))
        return not looks_ahead(parts, source) and violations_last(parts, content["body"])
    return tag == "CalledN" and content["count"]["is"] in ("<", "<=")


class LoggedRun:
    """The calls and messages of a run, by the entries of a log."""

    def __init__(self) -> None:
        self.record: Json = {"tool_calls": [], "messages": [], "refusals": []}
        self.calls: dict[tuple[int, int], Json] = {}
        self.lost = ""  # why the rest of the run cannot be followed

    def take(self, entry: Json) -> None:
        match entry["kind"]:
            case "start":
                self.record |= {"labels": entry["labels"]}
            case "message":
                known = {
                    key: entry.get(key)
                    for key in ("role", "text", "step", "start", "agent", "usage")
                }
                self.record["messages"].append(known | {"before": len(self.record["tool_calls"])})
            case "decision" if entry["action"] == "allow" and entry["tool"] != FINAL:
                call = self.calls[entry["turn"], entry["index"]] = self.call(entry, entry["step"])
                self.record["tool_calls"].append(call)
            case "result":
                call = self.calls.get((entry["turn"], entry["index"]), {})
                call |= {key: entry[key] for key in ("error", "end", "usage") if key in entry}
                call |= {"tool_result": entry["result"]} if "result" in entry else {}
            case "resume" | "broken off" | "withdraw":
                self.lost = f"the run was followed until entry {entry['entry']} ({entry['kind']})"

    def call(self, entry: Json, step: int) -> Json:
        told = {key: entry[key] for key in ("start", "agent") if key in entry}
        return {"tool_name": entry["tool"], "arguments": entry["arguments"], "step": step, **told}

    def check(self, entry: Json, procedure: Procedure) -> Iterator[tuple[str, str]]:
        """The rules for which a call was refused, each with why that is not proved, or nothing."""
        claims = {claim["name"]: claim for claim in entry.get("certificates", ())}
        rules = {rule["name"]: rule for rule in procedure.rules}
        for name in (each["constraint"] for each in entry["violations"]):
            try:
                if self.lost or procedure.failed is not None or name not in claims:
                    beyond(self.lost or "it has no certificate")
                require(name in rules, "the procedure has no such rule")
                proposed = [*self.record["tool_calls"], self.call(entry, entry["turn"])]
                trace = Trace(self.record | {"tool_calls": proposed})
                events = trace.seen(rules[name]["events"], False)
                check = procedure.check(claims[name], rules[name]["rule"], events, trace)
                check.open_run = True
                if not violations_last(check.parts, len(check.parts) - 1):
                    beyond("what follows could mend it")
                require(not check.verdict(1)[0], "the call does not break it")
                yield name, ""
            except NotChecked as error:
                yield name, str(error)


def check_log(log: bytes, procedure: Procedure) -> list[str]:
    """Raises Wrong, or returns the refusals that are not proved."""
    runs: dict[str, LoggedRun] = {}
    head, open_claims = "0" * 64, []
    for number, line in enumerate(log.splitlines()):
        entry = read_json(line.decode())
        digest = hashlib.sha256(line[: line.rfind(b',"hash":"')]).hexdigest()
        linked = (entry["entry"], entry["prev"], entry["hash"]) == (number, head, digest)
        require(linked, f"entry {number} was altered")
        head, run = digest, runs.setdefault(entry.get("run", ""), LoggedRun())
        if entry["kind"] == "decision" and entry["action"] != "allow":
            try:
                for name, why in run.check(entry, procedure):
                    open_claims += [f"entry {number}: {name}: {why}"] if why else []
            except Wrong as error:
                raise Wrong(f"entry {number}: {error}") from None
        run.take(entry)
    return open_claims


# ── 10. the command ───────────────────────────────────────────────────────────────────────────


def check_files(contents: list[bytes], is_json: bool) -> list[str]:
    """Checks a certificate and a trace, or a log, and the procedure, which may be JSON."""
    *others, procedure = contents
    if len(others) == 2:
        claims, record = (read_json(each.decode()) for each in others)
        for name, content in (("trace", others[1]), ("procedure", procedure)):
            digest = hashlib.sha256(content).hexdigest()
            require(claims[name]["sha256"] == digest, f"the certificate is about another {name}")
    text = procedure.decode()
    document = read_json(text) if is_json else Yaml(text).document()
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)  # rules may nest a thousand operators
    try:
        if len(others) == 1:
            return check_log(others[0], Procedure(document))
        return check(claims, record, Procedure(document))
    finally:
        sys.setrecursionlimit(before)


def main() -> int:
    paths = [Path(each) for each in sys.argv[1:] if each != "--json"]
    if len(paths) not in (2, 3):
        print(__doc__)
        return 2
    code, lines = 0, ["accepted"]
    try:
        contents = [path.read_bytes() for path in paths]
        open_claims = check_files(contents, paths[-1].suffix == ".json")
        lines += [f"not checked: {claim}" for claim in open_claims]
        code = 3 if open_claims else 0
    except Wrong as error:
        code, lines = 1, [f"wrong: {error}"]
    except (OSError, *UNREAD) as error:
        code, lines = 2, [f"unusable: {type(error).__name__}: {error}"]
    if "--json" in sys.argv:
        print(json.dumps({"exit_code": code, "verdict": lines[0], "not_checked": lines[1:]}))
    else:  # texts of the files cannot begin a line
        for line in lines:
            print("".join(c if c.isprintable() else ascii(c)[1:-1] for c in line))
    return code


if __name__ == "__main__":
    sys.exit(main())
