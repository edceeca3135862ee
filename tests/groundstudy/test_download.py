"""Pinned repositories are downloaded completely and unchanged, and none of their code is run."""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bylaw.errors import UsageError
from bylaw.groundstudy.repositories import download
from bylaw.groundstudy.repositories.download import INDEX, fetch, index_url
from bylaw.groundstudy.repositories.pinned import PINNED, PinnedRepository, package

SMALL = PinnedRepository("small_repository", "1.0", 1, "low", "small")
FILES = {
    "small-1.0/setup.py": b"raise SystemExit('was run')",
    "small-1.0/src/small.py": b"def request(): ...\n",
}


def _archive(files: Mapping[str, bytes], *extra: tarfile.TarInfo) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        for member in extra:
            archive.addfile(member)
    return out.getvalue()


class Index:
    """A package index on this machine."""

    def __init__(self) -> None:
        self.pages: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.users: list[str | None] = []
        pages, asked, users = self.pages, self.asked, self.users

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                users.append(self.headers["Authorization"])
                content = pages.get(self.path)
                self.send_response(404 if content is None else 200)
                self.end_headers()
                self.wfile.write(content or b"")

            def log_message(self, *_: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/simple"

    def offer(self, data: bytes, link: str = "../../files/small-1.0.tar.gz#sha256={}") -> None:
        """Puts an archive up."""
        href = link.format(hashlib.sha256(data).hexdigest())
        self.pages["/simple/small/"] = (
            '<a href="../../files/small-0.9.tar.gz#sha256=00">small-0.9.tar.gz</a>'
            '<a href="../../files/small-1.0-py3-none-any.whl#sha256=00">a wheel</a>'
            f'<a href="{href}">small-1.0.tar.gz</a>'
        ).encode()
        self.pages["/files/small-1.0.tar.gz"] = data


@pytest.fixture
def index() -> Iterator[Index]:
    if not hasattr(tarfile, "data_filter"):
        pytest.skip("NOT TESTED: this Python cannot unpack archives safely")
    made = Index()
    thread = threading.Thread(target=made.server.serve_forever)
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()
    thread.join()


def test_the_table_is_the_papers() -> None:
    assert len(PINNED) == 16
    assert Counter(each.bucket for each in PINNED.values()) == {"hi": 5, "mid": 3, "low": 8}
    assert [each.name for each in PINNED.values() if each.project is None] == ["mac_apt"]
    assert [each.name for each in PINNED.values() if each.checksum is None] == ["mac_apt"]


def test_a_source_distribution_is_fetched_once(index: Index, tmp_path: Path) -> None:
    index.offer(_archive(FILES))
    root = fetch(SMALL, tmp_path / "store", index.url)
    assert root == tmp_path / "store" / "small_repository-1.0"
    assert (root / "src" / "small.py").read_bytes() == b"def request(): ...\n"
    assert index.asked == ["/simple/small/", "/files/small-1.0.tar.gz"]
    assert fetch(SMALL, tmp_path / "store", index.url) == root
    assert len(index.asked) == 2


def test_without_safe_unpacking_nothing_is_unpacked(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.offer(_archive(FILES))
    monkeypatch.delattr(tarfile, "data_filter")
    assert "requires Python 3.11.4 or later" in _refused(index, tmp_path)


def _refused(index: Index, tmp_path: Path) -> str:
    with pytest.raises(UsageError) as caught:
        fetch(SMALL, tmp_path / "store", index.url)
    assert not (tmp_path / "store" / "small_repository-1.0").exists()
    left = list((tmp_path / "store").iterdir()) if (tmp_path / "store").exists() else []
    assert left == []  # nor anything half done
    return " ".join(str(caught.value).split())  # lines are wrapped


def test_an_archive_with_another_checksum_is_refused(index: Index, tmp_path: Path) -> None:
    index.offer(_archive(FILES))
    index.pages["/files/small-1.0.tar.gz"] = _archive({"small-1.0/evil.py": b""})
    assert "does not match the checksum" in _refused(index, tmp_path)


def test_an_archive_that_was_replaced_on_the_index_is_refused(index: Index, tmp_path: Path) -> None:
    index.offer(_archive(FILES))
    pinned = replace(SMALL, checksum="0" * 64)
    with pytest.raises(UsageError, match=r"checksum\s+pinned\s+by\s+the\s+study"):
        fetch(pinned, tmp_path / "store", index.url)
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    "link",
    [
        "../../files/small-1.0.tar.gz",  # no checksum
        "../../files/small-1.0.tar.gz#md5={}",
        "../../files/small-1.0.zip#sha256={}",
        "../../files/small-1.0.1.tar.gz#sha256={}",
        "../../files/smaller-1.0.tar.gz#sha256={}",
    ],
)
def test_another_archive_is_not_used(index: Index, tmp_path: Path, link: str) -> None:
    index.offer(_archive(FILES), link)
    assert "no source distribution of 1.0" in _refused(index, tmp_path)


def test_an_index_cannot_point_at_files_of_this_machine(index: Index, tmp_path: Path) -> None:
    data = _archive(FILES)
    (tmp_path / "small-1.0.tar.gz").write_bytes(data)
    index.offer(data, f"file://{tmp_path}/small-1.0.tar.gz#sha256={{}}")
    assert "must use http or https" in _refused(index, tmp_path)


def _link(kind: bytes, name: str, target: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


EVIL = {
    "up": ({"small-1.0/../../evil": b""}, []),
    "absolute link": ({}, [_link(tarfile.SYMTYPE, "small-1.0/link", "/etc")]),
    "link up": ({}, [_link(tarfile.SYMTYPE, "small-1.0/link", "../../..")]),
    "hard link": ({}, [_link(tarfile.LNKTYPE, "small-1.0/link", "/etc/passwd")]),
    "device": ({}, [_link(tarfile.CHRTYPE, "small-1.0/zero", "")]),
    "pipe": ({}, [_link(tarfile.FIFOTYPE, "small-1.0/pipe", "")]),
    "two folders": ({"other/file": b""}, []),
}


@pytest.mark.parametrize("name", EVIL)
def test_an_archive_that_means_harm(index: Index, tmp_path: Path, name: str) -> None:
    files, members = EVIL[name]
    index.offer(_archive(FILES | files, *members))
    assert "cannot be unpacked" in _refused(index, tmp_path)
    assert not (tmp_path / "evil").exists()


def test_an_archive_that_is_none(index: Index, tmp_path: Path) -> None:
    index.offer(b"not an archive")
    assert "cannot be unpacked" in _refused(index, tmp_path)


def test_an_archive_that_is_cut(index: Index, tmp_path: Path) -> None:
    index.offer(_archive({"small-1.0/long.py": bytes(range(256)) * 5_000})[:1_000])
    assert "cannot be unpacked" in _refused(index, tmp_path)


def test_an_archive_that_is_too_large(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.offer(_archive({"small-1.0/zeros": bytes(2_000_000)}))
    monkeypatch.setattr(download, "LARGEST_TREE", 1_000_000)
    assert "larger than 1,000,000 bytes" in _refused(index, tmp_path)
    monkeypatch.setattr(download, "LARGEST", 1_000)
    assert "larger than 1,000 bytes" in _refused(index, tmp_path)


def test_an_index_that_does_not_have_it(index: Index, tmp_path: Path) -> None:
    message = "cannot be downloaded from 127.0.0.1: the server answered 404"
    assert message in _refused(index, tmp_path)


def test_a_repository_without_a_package_needs_a_checkout(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--checkout mac_apt=DIR"):
        fetch(PINNED["mac_apt"], tmp_path, INDEX)


def test_a_password_is_shown_to_the_index_alone(index: Index, tmp_path: Path) -> None:
    url = index.url.replace("//", "//user:p%40ss@")
    with pytest.raises(UsageError) as caught:
        fetch(SMALL, tmp_path / "first", url)
    assert "p%40ss" not in str(caught.value)
    assert "p@ss" not in str(caught.value)
    index.offer(_archive(FILES))
    assert fetch(SMALL, tmp_path / "second", url).is_dir()
    assert index.users == ["Basic dXNlcjpwQHNz"] * 3


def test_the_index_is_the_one_that_pip_would_ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(download, "_CONFIGURED", download._CONFIGURED[1:])  # not this machine's
    monkeypatch.delenv("PIP_INDEX_URL", raising=False)
    monkeypatch.delenv("PIP_CONFIG_FILE", raising=False)
    assert index_url() == INDEX
    (tmp_path / ".pip").mkdir()
    (tmp_path / ".pip" / "pip.conf").write_text("[global]\nindex-url = https://one/simple\n")
    assert index_url() == "https://one/simple"
    (tmp_path / "own.conf").write_text("[global]\nindex-url = https://two/simple\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "own.conf"))
    assert index_url() == "https://two/simple"
    monkeypatch.setenv("PIP_INDEX_URL", "https://three/simple")
    assert index_url() == "https://three/simple"


def test_a_package_is_found_whatever_joins_the_words_of_its_name(
    index: Index, tmp_path: Path
) -> None:
    data = _archive(FILES)
    checksum = hashlib.sha256(data).hexdigest()
    link = f'<a href="../../files/Two_Words-1.0.tar.gz#sha256={checksum}">two-words</a>'
    index.pages["/simple/two-words/"] = link.encode()
    index.pages["/files/Two_Words-1.0.tar.gz"] = data
    assert fetch(package("two-words", "1.0"), tmp_path / "store", index.url).is_dir()
