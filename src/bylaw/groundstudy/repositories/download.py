"""How to get a pinned repository without running any of its code.

A source distribution is an archive on a package index. It is found through the index's simple
pages, held to the checksum that they state, and unpacked with tarfile's data filter, which lets
nothing out of the folder and makes no devices.
"""

from __future__ import annotations

import configparser
import hashlib
import os
import re
import shutil
import tarfile
import tempfile
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from html.parser import HTMLParser
from http.client import HTTPException
from pathlib import Path
from typing import Final
from urllib.error import HTTPError
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from bylaw.errors import Diagnostic, UsageError
from bylaw.groundstudy.repositories.pinned import PinnedRepository

INDEX: Final = "https://pypi.org/simple"
LARGEST: Final = 200_000_000
"""How many bytes an archive may have."""
LARGEST_TREE: Final = 2_000_000_000
"""How many bytes it may unpack to."""
_TIMEOUT: Final = 60.0
_CONFIGURED: Final = ("/etc/pip.conf", "~/.pip/pip.conf", "~/.config/pip/pip.conf")


def index_url() -> str:
    """The package index that pip would ask: PIP_INDEX_URL, else its configuration, else PyPI."""
    from_environment = os.environ.get("PIP_INDEX_URL")
    return from_environment or next(_configured(), INDEX)


def _configured() -> Iterator[str]:
    """What pip's configuration files say, the most particular first."""
    own = os.environ.get("PIP_CONFIG_FILE")
    for path in reversed((*_CONFIGURED, *([own] if own else []))):
        parser = configparser.RawConfigParser()
        try:
            parser.read(Path(path).expanduser(), encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError):
            continue
        found = parser.get("global", "index-url", fallback=None)
        if found:
            yield found


def fetch(pinned: PinnedRepository, folder: Path, index: str) -> Path:
    """The root of a pinned version below `folder`; fetched, unless it is there already."""
    root = folder / f"{pinned.name}-{pinned.version}"
    if root.is_dir():
        return root
    if pinned.project is None:
        help = f"Give a checkout of version {pinned.version}: --checkout {pinned.name}=DIR"
        raise _unusable(pinned, "the package index does not have it", help)
    try:
        url, checksum = _archive(pinned, _read(f"{index.rstrip('/')}/{pinned.project}/").decode())
        data = _read(urljoin(f"{index.rstrip('/')}/{pinned.project}/", url))
    except (OSError, ValueError, HTTPException) as error:
        raise _unusable(pinned, f"cannot be fetched from {_host(index)}: {error}") from None
    if hashlib.sha256(data).hexdigest() != checksum:
        raise _unusable(pinned, "the archive does not have the checksum that the index states")
    if pinned.checksum not in (None, checksum):
        raise _unusable(pinned, "the archive is not the one that the study is pinned to")
    folder.mkdir(parents=True, exist_ok=True)
    _unpack(pinned, data, root)
    return root


def _archive(pinned: PinnedRepository, page: str) -> tuple[str, str]:
    """The address of the source distribution on an index page, and its checksum."""
    links = _Links()
    links.feed(page)
    name = re.compile(rf"{pinned.project}-{re.escape(pinned.version)}\.tar\.gz", re.IGNORECASE)
    for link in links.found:
        url, fragment = urldefrag(link)
        algorithm, _, checksum = fragment.partition("=")
        if name.fullmatch(urlsplit(url).path.rpartition("/")[2]) and algorithm == "sha256":
            return url, checksum
    raise ValueError(f"there is no source distribution of {pinned.version} with a checksum")


class _Links(HTMLParser):
    """The links of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: Final[list[str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        target = dict(attrs).get("href")
        if tag == "a" and target:
            self.found.append(target)


def _read(url: str) -> bytes:
    """What is at an address, which is never a file of this machine."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https"):
        raise ValueError("an index is read through http or https")
    host = parts.netloc.rpartition("@")[2]
    request = urllib.request.Request(parts._replace(netloc=host).geturl())
    if parts.username is not None:
        user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        word = b64encode(user.encode()).decode()
        request.add_unredirected_header("Authorization", f"Basic {word}")
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as response:
            data: bytes = response.read(LARGEST + 1)
    except HTTPError as error:
        with error:
            raise ValueError(f"the server says {error.code} {error.reason}") from None
    if len(data) > LARGEST:
        raise ValueError(f"more than {LARGEST:,} bytes")
    return data


def _unpack(pinned: PinnedRepository, data: bytes, root: Path) -> None:
    """Unpacks an archive of one folder to `root`; it appears there complete, or not at all."""
    if not hasattr(tarfile, "data_filter"):
        reason = "unpacking archives safely takes Python 3.11.4 or later; use --checkout instead"
        raise _unusable(pinned, reason)
    with tempfile.TemporaryDirectory(dir=root.parent) as made:
        try:
            with tempfile.TemporaryFile() as file:
                file.write(data)
                file.seek(0)
                with tarfile.open(fileobj=file, mode="r:gz") as archive:
                    _require_small(archive)
                    archive.extractall(made, filter="data")
            (inner,) = Path(made).iterdir()
            inner.rename(root)
        except (tarfile.TarError, OSError, EOFError, ValueError) as error:
            shutil.rmtree(root, ignore_errors=True)
            raise _unusable(pinned, f"the archive cannot be unpacked: {error}") from None


def _require_small(archive: tarfile.TarFile) -> None:
    size = 0
    for member in archive:
        size += member.size
        if size > LARGEST_TREE:
            raise ValueError(f"it holds more than {LARGEST_TREE:,} bytes")


def _host(url: str) -> str:
    """The host alone: an address may hold a password."""
    return urlsplit(url).hostname or "the index"


def _unusable(pinned: PinnedRepository, message: str, help: str | None = None) -> UsageError:
    text = f"{pinned.name} {pinned.version}: {message}"
    return UsageError(Diagnostic("E402", text, help))
