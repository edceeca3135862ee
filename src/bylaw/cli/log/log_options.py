"""The log, the keys and the anchors that commands on logs are given."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bylaw.audit.anchor import Anchor
from bylaw.audit.check import LogCheck, check
from bylaw.audit.seal import CheckingKey, public_key, sealing_key
from bylaw.errors import Diagnostic, TraceError, UsageError
from bylaw.opening import open_regular


def add_log(parser: argparse.ArgumentParser) -> None:
    """Adds the log, and the keys that its seals are checked with."""
    parser.add_argument("log", metavar="FILE", help="the audit log")
    keys = parser.add_mutually_exclusive_group()
    keys.add_argument(
        "--key", metavar="FILE", help="the key that the log was written with: check the seals"
    )
    keys.add_argument(
        "--public-key", metavar="FILE", help="the public half of an Ed25519 key: check the seals"
    )


def add_run(parser: argparse.ArgumentParser) -> None:
    """Adds the choice of one run."""
    parser.add_argument("--run", dest="run_id", metavar="ID", help="only this run")


def given_key(options: argparse.Namespace) -> CheckingKey | None:
    """The key that the options name."""
    if options.key is not None:
        return sealing_key(_content(options.key))
    if options.public_key is not None:
        return public_key(_content(options.public_key))
    return None


def given_anchors(paths: Sequence[str]) -> list[Anchor]:
    """The anchors in these files, one a line."""
    anchors: list[Anchor] = []
    for path in paths:
        lines = _content(path).decode(errors="replace").splitlines()
        anchors += [Anchor.read(line, path) for line in lines if line.strip()]
    if paths and not anchors:
        message = "the anchor cannot be used: the file is empty"
        raise UsageError(Diagnostic("E415", message, source=paths[0]))
    return anchors


def checked(
    options: argparse.Namespace, anchors: Sequence[Anchor] = (), procedure: str | None = None
) -> LogCheck:
    """The result of checking the log that the options name."""
    with readable(options.log):
        key = given_key(options)
        return check(options.log, key=key, anchors=anchors, procedure=procedure)


@contextmanager
def readable(path: str) -> Iterator[None]:
    """Reports a file that cannot be read."""
    try:
        yield
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
        raise TraceError(Diagnostic("E310", message, source=path)) from None


def _content(path: str) -> bytes:
    with readable(path), open_regular(Path(path)) as file:
        return file.read(1 << 20)
