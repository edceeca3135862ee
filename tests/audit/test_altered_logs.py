"""Everything that can be done to a log, and what `check` says of it."""

from __future__ import annotations

import functools
import re
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from random_cases import share
from small_logs import KEY, OTHER_KEY, lines_of, rewritten, write_log

from bylaw import AuditLog, LogError
from bylaw.audit.anchor import Anchor
from bylaw.audit.check import LogCheck, check
from bylaw.audit.seal import SealingKey, sealing_key

Lines = list[bytes]
ANOTHER_LOG: Final = (
    "it is not the log that the anchor was taken of, or was rewritten from its beginning"
)


@functools.cache
def _original(folder: Path, key: bytes | None, run: str = "run", calls: int = 3) -> bytes:
    return write_log(folder / f"{run}-{key is None}.jsonl", key, run=run, calls=calls)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logs")


def _checked(
    path: Path, log: bytes, *, key: SealingKey | None = None, anchor: Anchor | None = None
) -> LogCheck:
    path.write_bytes(log)
    return check(path, key=key, anchors=[anchor] if anchor else [])


def _allow(content: dict[str, Any]) -> None:
    content["action"] = "allow"


def _swapped(lines: Lines, i: int, j: int) -> Lines:
    lines = list(lines)
    lines[i], lines[j] = lines[j], lines[i]
    return lines


# Each way to alter a log of six entries (open, start, three decisions, close): what is said
# without a key or an anchor; with the key; with an anchor of the whole log.
ALTERED: Final[dict[str, tuple[Any, ...]]] = {
    "nothing": (lambda ls, _: ls, "intact", "intact", "intact"),
    # ── edits that leave the hashes as they are
    "an argument": (
        lambda ls, _: [*ls[:3], ls[3].replace(b'"n":1', b'"n":7', 1), *ls[4:]],
        *["altered: entry 3 was changed"] * 3,
    ),
    "an action": (
        lambda ls, _: [*ls[:4], ls[4].replace(b'"block"', b'"allow"'), *ls[5:]],
        *["altered: entry 4 was changed"] * 3,
    ),
    "a space": (
        lambda ls, _: [ls[0], ls[1].replace(b'"labels":', b'"labels": '), *ls[2:]],
        *["altered: entry 1 was changed"] * 3,
    ),
    "the last hash": (
        lambda ls, _: [*ls[:5], re.sub(rb'"hash":"\w{4}', b'"hash":"0000', ls[5])],
        *["altered: entry 5 was changed"] * 3,
    ),
    "a field after the hash": (
        lambda ls, _: [*ls[:4], ls[4][:-2] + b',"action":"allow"}\n', *ls[5:]],
        *["altered: entry 4 is not an entry any more"] * 3,
    ),
    "a number": (
        lambda ls, _: [*ls[:4], ls[4].replace(b'"entry":4', b'"entry":9'), *ls[5:]],
        *["altered: entry 4 is missing: entry 9 is in its place"] * 3,
    ),
    "a carriage return": (
        lambda ls, _: [*ls[:4], ls[4][:-1] + b"\r\n", *ls[5:]],
        *["altered: entry 4 is not an entry any more"] * 3,
    ),
    # ── whole entries
    "the first removed": (
        lambda ls, _: ls[1:],
        *["altered: entry 0 is missing: entry 1 is in its place"] * 3,
    ),
    "one removed": (
        lambda ls, _: [*ls[:3], *ls[4:]],
        *["altered: entry 3 is missing: entry 4 is in its place"] * 3,
    ),
    "one repeated": (
        lambda ls, _: [*ls[:3], ls[2], *ls[3:]],
        *["altered: entry 3 is missing: entry 2 is in its place"] * 3,
    ),
    "two exchanged": (
        lambda ls, _: _swapped(ls, 2, 3),
        *["altered: entry 2 is missing: entry 3 is in its place"] * 3,
    ),
    "an empty line": (
        lambda ls, _: [*ls[:3], b"\n", *ls[3:]],
        *["altered: entry 3 is not an entry any more"] * 3,
    ),
    "something else appended": (
        lambda ls, _: [*ls, b'{"note": "all is well"}\n'],
        *["altered: entry 6 is not an entry any more"] * 3,
    ),
    "half a line appended": (
        lambda ls, _: [*ls, b"all is well"],
        *["altered: entry 6 is neither complete nor the beginning of an entry"] * 3,
    ),
    "an entry of another log": (
        lambda ls, other: [*ls[:3], other[3], *ls[4:]],
        *["altered: entry 3 does not follow the one before it"] * 3,
    ),
    "the end of another log": (
        lambda ls, other: [*ls[:3], *other[3:]],
        *["altered: entry 3 does not follow the one before it"] * 3,
    ),
    "brackets without end": (
        lambda ls, _: [*ls[:3], b'{"entry":' + b"[" * 100_000 + b"\n", *ls[3:]],
        *["altered: entry 3 is not an entry any more"] * 3,
    ),
    # ── cuts
    "the last two entries cut off": (
        lambda ls, _: ls[:4],
        "intact",
        "intact",
        "altered: it was cut: it has 4 entries, and had 6 when the anchor was taken",
    ),
    "one byte cut off": (
        lambda ls, _: [*ls[:5], ls[5][:-1]],
        "torn",
        "torn",
        "altered: it was cut: it has 5 entries, and had 6 when the anchor was taken",
    ),
    "a byte cut off, and what remains edited": (
        lambda ls, _: [*ls[:4], ls[4].replace(b'"block"', b'"allow"')[:-1]],
        *["altered: entry 4 is neither complete nor the beginning of an entry"] * 3,
    ),
    "everything cut off": (
        lambda ls, _: [],
        "torn",
        "torn",
        "altered: it was cut: it has 0 entries, and had 6 when the anchor was taken",
    ),
    # ── by somebody who computes hashes as well as the gate does
    "rewritten from an entry on": (
        lambda ls, _: rewritten(ls, 4, _allow),
        "intact",
        "altered: the seal of entry 4 was not made with this key",
        "altered: it was rewritten: entry 5 is not the one that the anchor names",
    ),
    "rewritten with another key": (
        lambda ls, _: rewritten(ls, 4, _allow, sealing_key(OTHER_KEY)),
        "altered: the seal of entry 4 is missing or of another kind",
        "altered: the seal of entry 4 was not made with this key",
        "altered: the seal of entry 4 is missing or of another kind",
    ),
    "another log in its place": (
        lambda ls, other: other,
        "intact",
        "altered: no entry is sealed, but there is a key to check seals with",
        f"altered: {ANOTHER_LOG}",
    ),
}


@pytest.mark.parametrize("how", ALTERED)
@pytest.mark.parametrize("known", ["nothing", "key", "anchor"])
def test_alterations(how: str, known: str, folder: Path, tmp_path: Path) -> None:
    alter, *said = ALTERED[how]
    written_with = KEY if known == "key" else None
    log = _original(folder, written_with)
    anchor = check(folder / f"run-{written_with is None}.jsonl").anchor
    other = lines_of(_original(folder, None, "other", 4))
    found = _checked(
        tmp_path / "log.jsonl",
        b"".join(alter(lines_of(log), other)),
        key=sealing_key(KEY) if known == "key" else None,
        anchor=anchor if known == "anchor" else None,
    )
    expected = said[("nothing", "key", "anchor").index(known)]
    assert found.state + (f": {found.problem}" if found.problem else "") == expected
    if found.state == "altered" and known != "anchor":
        before = (tmp_path / "log.jsonl").read_bytes()
        with pytest.raises(LogError, match="the log is not intact"):
            AuditLog(tmp_path / "log.jsonl", key=written_with)
        assert (tmp_path / "log.jsonl").read_bytes() == before


@pytest.mark.parametrize("key", [None, KEY], ids=["no key", "a key"])
def test_a_log_cut_at_every_byte(key: bytes | None, folder: Path, tmp_path: Path) -> None:
    log = _original(folder, key)
    anchor = check(folder / f"run-{key is None}.jsonl").anchor
    opened = sealing_key(key) if key else None
    ends = [0]
    for line in lines_of(log):
        ends.append(ends[-1] + len(line))
    for size in range(len(log)):
        whole = sum(end <= size for end in ends) - 1
        found = _checked(tmp_path / "log.jsonl", log[:size], key=opened)
        assert found.state == ("intact" if size in ends[1:] else "torn"), size
        assert (found.entries, found.good, found.torn) == (whole, ends[whole], size - ends[whole])
        assert not found.closed, "an end that was cut off shows in this, too"
        with_anchor = _checked(tmp_path / "log.jsonl", log[:size], key=opened, anchor=anchor)
        assert with_anchor.state == "altered", size


@pytest.mark.parametrize("key", [None, KEY], ids=["no key", "a key"])
def test_every_changed_byte_is_found(key: bytes | None, folder: Path, tmp_path: Path) -> None:
    log = _original(folder, key)
    random = Random(3)
    states: Counter[str] = Counter()
    for at in range(len(log)):
        changed = bytearray(log)
        changed[at] ^= random.randrange(1, 256)
        try:
            found = _checked(
                tmp_path / "log.jsonl", bytes(changed), key=sealing_key(key) if key else None
            )
        except LogError:
            states["not a log"] += 1
            continue
        states[found.state] += 1
        assert found.state == "altered", (at, found)
    assert states["not a log"] == len(b'{"entry":'), "what every log begins with"


@pytest.mark.parametrize("key", [None, KEY], ids=["no key", "a key"])
def test_exactly_what_the_docs_say_is_not_found(
    key: bytes | None, folder: Path, tmp_path: Path
) -> None:
    """Random alterations of lines and bytes, by somebody who may compute hashes but has no key.

    Whatever `check` calls intact is the log, the log without its last entries, or, without a key,
    a log rewritten with right hashes. With an anchor it is the log.
    """
    random = Random(5)
    log = _original(folder, key)
    lines, other = lines_of(log), lines_of(_original(folder, None, "other", 4))
    anchor = check(folder / f"run-{key is None}.jsonl").anchor
    opened = sealing_key(key) if key else None
    undetected: Counter[str] = Counter()
    for _ in range(share(1500)):
        made, rewrote = _altered(random, list(lines), other)
        altered = b"".join(made)
        try:
            found = _checked(tmp_path / "log.jsonl", altered, key=opened)
            anchored = _checked(tmp_path / "log.jsonl", altered, key=opened, anchor=anchor)
        except LogError:  # it is not a log any more
            continue
        if anchored.state == "intact":
            assert altered == log
        if found.state != "intact":
            continue
        if altered == log:
            undetected["unchanged"] += 1
        elif made and altered == b"".join(lines[: len(made)]):
            undetected["cut"] += 1
        else:
            assert key is None, altered
            assert rewrote or made == other[: len(made)], altered
            undetected["rewritten"] += 1
    assert undetected["cut"] > 20
    assert bool(undetected["rewritten"]) is (key is None)


def _altered(random: Random, lines: Lines, other: Lines) -> tuple[Lines, bool]:
    """The lines after one to three random steps; were hashes made right again?"""
    rewrote = False
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(lines)) if lines else 0
        match random.choice(("cut", "drop", "copy", "swap", "byte", "splice", "rewrite", "all")):
            case "cut":
                lines = lines[:at]
            case "drop":
                del lines[at : at + 1]
            case "copy":
                lines[at:at] = lines[at : at + 1]
            case "swap" if len(lines) > 1:
                lines = _swapped(lines, at, random.randrange(len(lines)))
            case "byte" if lines and lines[at]:
                place = random.randrange(len(lines[at]))
                changed = bytes([random.randrange(256)])
                lines[at] = lines[at][:place] + changed + lines[at][place + 1 :]
            case "splice":
                lines = [*lines[:at], *other[at:]]
            case "all":
                lines = list(other)
            case "rewrite" if lines:
                try:
                    lines = rewritten(lines, at, _allow)
                    rewrote = True
                except ValueError:  # it is not a chain any more
                    pass
    return lines, rewrote
