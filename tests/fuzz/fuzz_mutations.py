"""Damage to files and texts: deterministic, from single bytes to whole subtrees."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

LONGEST = 200_000
"""No mutant is longer, so that a slow one is slow for a reason."""

TOKENS = (
    *(b"{", b"}", b"[", b"]", b'"', b"'", b":", b": ", b",", b"- ", b"#", b"|", b">", b"?", b"%"),
    *(b"*a", b"&a ", b"&a [*a]", b"*half", b"<<: *a", b"!!python/object:os.system ", b"!!str "),
    *(b"---\n", b"...\n", b"\n", b"\r\n", b"\t", b"  ", b"~", b"null", b"true", b"no", b"@", b"`"),
    *(b"NaN", b"Infinity", b"-Infinity", b".nan", b".inf", b"-.inf", b"1e999", b"-0", b"0x10"),
    *(b"\\u0000", b"\x00", b"\\ud800", b'"\\ud800"', b"\\", b"\\x41", b"\x85", b"\xe2\x80\xa8"),
    *(b"\xef\xbb\xbf", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x1b[31m"),
    *(b"9" * 400, b"9" * 5000, b"[" * 70, b"[" * 5000, b'{"a":' * 300, b"(" * 2000, b"! " * 1200),
    *(b"final_answer", b"answer", b"tool_calls", b'"bylaw": 2,', b"bylaw: 2\n", b"call(", b"ok"),
    *(b"forall x in [1]: ", b"exists x in answer(): ", b"<->", b"CalledN(", b"X", b"result."),
)
NUMBERS = (b"-1", b"0", b"1", b"1e308", b"1e-320", b".nan", b"-.inf", b"1e999", b"true", b'"1"')
BIG_NUMBERS = (b"1" + b"0" * 400, b"9" * 4300, b"9" * 5000, b"0.1e-400", b"18446744073709551616")
PATHS = (
    *(b"q[::0]", b"`NaN`", b"`1e999`", b"`foo`", b"to_number('nan')", b"sum(@)", b"&q", b"[&q]"),
    *(b"ceil(to_number('inf'))", b"[" + b"9" * 5000 + b"]", b"*.*", b"@", b"[*]", b"sort(keys(@))"),
    *(b"a" + b".a" * 2000, b"(" * 500, b"to_string(@)", b"[?ids > `1`]", b"max_by(@, &x)", b""),
)
_PATH = re.compile(rb'(?<=")[\w.|`? \[\]]*[\]\[*][\w.|`? \[\]]*(?=\\?")|(?<="path": ")[^"]*')
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_KEY = re.compile(rb'"[\w ]+"(?=\s*:)|(?<=[\n{ ])\w+(?=: )')
_WORD = re.compile(rb'"(?:[^"\\\n]|\\.){0,80}"|\w+|[^\w\s]')

Mutation = Callable[[random.Random, bytes, bytes], bytes]
"""From a choice, a file and another file of the same kind to a damaged one."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A damaged file, and how it came about."""

    number: int
    suffix: str
    content: bytes
    made_by: tuple[str, ...]

    def __str__(self) -> str:
        shown = self.content if len(self.content) <= 600 else self.content[:600] + b" [cut]"
        return f"mutant {self.number} ({self.suffix}; {', '.join(self.made_by)}): {shown!r}"


def mutant(corpus: Sequence[tuple[str, str]], seed: int, number: int) -> Mutant:
    """The mutant of this number: the same one in every run."""
    choose = random.Random(f"{seed}/{number}")
    suffix, text = choose.choice(corpus)
    content, made_by = text.encode(), []
    for _ in range(choose.choice((1, 1, 1, 1, 1, 1, 2, 2, 3, 5))):
        mutation = choose.choice(MUTATIONS)
        content = mutation(choose, content, choose.choice(corpus)[1].encode())[:LONGEST]
        made_by.append(mutation.__name__)
    return Mutant(number, suffix, content, tuple(made_by))


def _slice(choose: random.Random, content: bytes, longest: int = 60) -> tuple[int, int]:
    start = choose.randint(0, len(content))
    return start, min(len(content), start + choose.randint(1, longest))


def flip_bytes(choose: random.Random, content: bytes, other: bytes) -> bytes:
    damaged = bytearray(content)
    for _ in range(choose.randint(1, 4) if damaged else 0):
        damaged[choose.randrange(len(damaged))] ^= 1 << choose.randrange(8)
    return bytes(damaged)


def delete(choose: random.Random, content: bytes, other: bytes) -> bytes:
    start, end = _slice(choose, content)
    return content[:start] + content[end:]


def insert(choose: random.Random, content: bytes, other: bytes) -> bytes:
    start = choose.randint(0, len(content))
    return content[:start] + choose.choice(TOKENS) + content[start:]


def replace(choose: random.Random, content: bytes, other: bytes) -> bytes:
    """A whole word gives way to something else."""
    return _at_match(choose, _WORD, content, choose.choice(TOKENS))


def borrow(choose: random.Random, content: bytes, other: bytes) -> bytes:
    """A whole word gives way to one of the other file."""
    words = _WORD.findall(other)
    return _at_match(choose, _WORD, content, choose.choice(words) if words else b"")


def duplicate(choose: random.Random, content: bytes, other: bytes) -> bytes:
    start, end = _slice(choose, content, 200)
    return content[:end] + content[start:end] * choose.choice((1, 1, 2, 20)) + content[end:]


def truncate(choose: random.Random, content: bytes, other: bytes) -> bytes:
    return content[: choose.randint(0, len(content))]


def splice(choose: random.Random, content: bytes, other: bytes) -> bytes:
    return content[: choose.randint(0, len(content))] + other[choose.randint(0, len(other)) :]


def change_number(choose: random.Random, content: bytes, other: bytes) -> bytes:
    numbers = BIG_NUMBERS if choose.random() < 0.2 else NUMBERS
    return _at_match(choose, _NUMBER, content, choose.choice(numbers))


def change_path(choose: random.Random, content: bytes, other: bytes) -> bytes:
    """A path into arguments, results or metrics finds something else."""
    return _at_match(choose, _PATH, content, choose.choice(PATHS))


def swap_keys(choose: random.Random, content: bytes, other: bytes) -> bytes:
    keys = list(_KEY.finditer(content))
    if len(keys) < 2:
        return content
    first, second = sorted(choose.sample(keys, 2), key=lambda match: match.start())
    between = content[first.end() : second.start()]
    swapped = second.group() + between + first.group()
    return content[: first.start()] + swapped + content[second.end() :]


def swap_lines(choose: random.Random, content: bytes, other: bytes) -> bytes:
    lines = content.split(b"\n")
    i, j = choose.randrange(len(lines)), choose.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    return b"\n".join(lines)


def _at_match(
    choose: random.Random, pattern: re.Pattern[bytes], content: bytes, new: bytes
) -> bytes:
    found = list(pattern.finditer(content))
    if not found:
        return content + new
    match = choose.choice(found)
    return content[: match.start()] + new + content[match.end() :]


# ── subtrees: the file stays JSON, and says something else ────────────────────────────────

ODDITIES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 0.5, 1e308, 10**400, "", "a", "\ud800", "\x00", "x" * 300),
    *([], {}, [[]], [None], {"": None}, {"a": 1}, [1, "a", {}], {"literal": {}}, {"variable": "t"}),
    *({"any": [1]}, {"any": []}, {"list": [{"answer": 1}]}, {"tool": "a", "path": "[::0]"}, [0]),
    *("G(", "a & b", "q[::0]", "final_answer", "answer", "é·", "call", "search", "`NaN`"),
)


def graft(choose: random.Random, content: bytes, other: bytes) -> bytes:
    """A value anywhere in a JSON text gives way to an odd one, or to one from elsewhere."""
    for text in (content, choose.choice(content.splitlines() or [b""])):
        try:
            tree = json.loads(text)
            if places := _places(tree):
                _change(choose, places)
            changed = json.dumps(tree, indent=choose.choice((None, 1))).encode()
        except (ValueError, RecursionError):
            continue
        return content.replace(text, changed, 1)
    return borrow(choose, content, other)


def _change(choose: random.Random, places: list[tuple[Any, Any]]) -> None:
    parent, key = choose.choice(places)
    kind = choose.random()
    if kind < 0.2:
        del parent[key]
    elif kind < 0.5:
        donor, other_key = choose.choice(places)
        parent[key] = json.loads(json.dumps(donor[other_key]))
    else:
        parent[key] = choose.choice(ODDITIES)


def _places(tree: Any) -> list[tuple[Any, Any]]:
    """Every container inside a tree, with each of its keys or indices."""
    found: list[tuple[Any, Any]] = []
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, dict | list):
            for key in node if isinstance(node, dict) else range(len(node)):
                found.append((node, key))
                pending.append(node[key])
    return found


MUTATIONS: tuple[Mutation, ...] = (
    *(flip_bytes, delete, insert, insert, replace, borrow, duplicate, truncate, splice),
    *(change_number, change_number, change_path, swap_keys, swap_lines),
    *(graft, graft, graft, graft, graft),
)
