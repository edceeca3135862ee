"""Downloading a pinned repository without running any of its code.

The source distribution is found through the simple pages of a package index, verified against the
checksum given there, and unpacked with tarfile's data filter, which writes nothing outside the
folder and creates no devices.
"""

from __future__ import annotations

import configparser
import hashlib
import os
import re
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
"""The maximum size of an archive, in bytes."""
LARGEST_TREE: Final = 2_000_000_000
"""The maximum size of its contents, in bytes."""
_TIMEOUT: Final = 60.0
_CONFIGURED: Final = ("/etc/pip.conf", "~/.pip/pip.conf", "~/.config/pip/pip.conf")


def index_url() -> str:
    """The package index that pip would use: PIP_INDEX_URL, its configuration, or PyPI."""
    from_environment = os.environ.get("PIP_INDEX_URL")
    return from_environment or next(_configured(), INDEX)


def _configured() -> Iterator[str]:
    """The indexes named in pip's configuration files, the most specific file first."""
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
    """The root of a pinned version below `folder`; downloaded unless it is already there."""
    root = folder / f"{pinned.name}-{pinned.version}"
    if root.is_dir():
        return root
    if pinned.project is None:
        help = f"Give a checkout of version {pinned.version}: --checkout {pinned.name}=DIR"
        raise _unusable(pinned, "not available from the package index", help)
    try:
        url, checksum = _archive(pinned, _read(f"{index.rstrip('/')}/{pinned.project}/").decode())
        data = _read(urljoin(f"{index.rstrip('/')}/{pinned.project}/", url))
    except (OSError, ValueError, HTTPException) as error:
        raise _unusable(pinned, f"cannot be downloaded from {_host(index)}: {error}") from None
    if hashlib.sha256(data).hexdigest() != checksum:
        raise _unusable(pinned, "the archive does not match the checksum given by the index")
    if pinned.checksum not in (None, checksum):
        raise _unusable(pinned, "the archive does not match the checksum pinned by the study")
    folder.mkdir(parents=True, exist_ok=True)
    _unpack(pinned, data, root)
    return root


def _archive(pinned: PinnedRepository, page: str) -> tuple[str, str]:
    """The address and checksum of the source distribution on an index page."""
    links = _Links()
    links.feed(page)
    project = re.sub(r"[-_.]+", "[-_.]+", pinned.project or "")
    name = re.compile(rf"{project}-{re.escape(pinned.version)}\.tar\.gz", re.IGNORECASE)
    for link in links.found:
        url, fragment = urldefrag(link)
        algorithm, _, checksum = fragment.partition("=")
        if name.fullmatch(urlsplit(url).path.rpartition("/")[2]) and algorithm == "sha256":
            return url, checksum
    raise ValueError(f"no source distribution of {pinned.version} with a checksum")


class _Links(HTMLParser):
    """Collects the links of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: Final[list[str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        target = dict(attrs).get("href")
        if tag == "a" and target:
            self.found.append(target)


def _read(url: str) -> bytes:
    """The content at a web address. Local files are rejected."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https"):
        raise ValueError("the index must use http or https")
    host = parts.netloc.rpartition("@")[2]
    request = urllib.request.Request(parts._replace(netloc=host).geturl())
    if parts.username is not None:
        user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        token = b64encode(user.encode()).decode()
        request.add_unredirected_header("Authorization", f"Basic {token}")
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as response:
            data: bytes = response.read(LARGEST + 1)
    except HTTPError as error:
        with error:
            raise ValueError(f"the server answered {error.code} {error.reason}") from None
    if len(data) > LARGEST:
        raise ValueError(f"larger than {LARGEST:,} bytes")
    return data


def _unpack(pinned: PinnedRepository, data: bytes, root: Path) -> None:
    """Unpacks an archive of one folder to `root`, completely or not at all."""
    if not hasattr(tarfile, "data_filter"):
        reason = "unpacking archives safely requires Python 3.11.4 or later; use --checkout instead"
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
            raise _unusable(pinned, f"the archive cannot be unpacked: {error}") from None


def _require_small(archive: tarfile.TarFile) -> None:
    size = 0
    for member in archive:
        size += member.size
        if size > LARGEST_TREE:
            raise ValueError(f"its contents are larger than {LARGEST_TREE:,} bytes")


def _host(url: str) -> str:
    """The host alone, because an address may contain a password."""
    return urlsplit(url).hostname or "the index"


def _unusable(pinned: PinnedRepository, message: str, help: str | None = None) -> UsageError:
    text = f"{pinned.name} {pinned.version}: {message}"
    return UsageError(Diagnostic("E402", text, help))
