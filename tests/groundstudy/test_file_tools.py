"""The two tools read the repository, and nothing else: none of the attacks here succeeds."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_cases import cases

from bylaw.groundstudy.repositories.file_tools import ENTRIES, PAGE, FileAccessError, Repository

SECRET = "the secret"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return _laid_out(tmp_path)


def _laid_out(tmp_path: Path) -> Path:
    """A repository, and files next to it that must stay unread."""
    (tmp_path / "secret.txt").write_text(SECRET)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text(SECRET)
    (tmp_path / "repository-secret").mkdir()
    (tmp_path / "repository-secret" / "secret.txt").write_text(SECRET)
    root = tmp_path / "repository"
    (root / "src" / "deep").mkdir(parents=True)
    (root / "src" / "api.py").write_text("def request(): ...\n")
    (root / "README").write_text("A library.\n")
    return root


def _everything(root: Path, path: Any) -> str:
    """All that both tools give away about a path, refusals included."""
    told = []
    repository = Repository(root)
    for tool in repository.tools.values():
        try:
            told.append(tool(path))
        except FileAccessError as error:
            told.append(str(error))
    return "\n".join(told)


# ── paths ─────────────────────────────────────────────────────────────────────────────────

WRITTEN = [
    "../secret.txt",
    "src/../../secret.txt",
    "src/../../../secret.txt",
    "./../secret.txt",
    ".//..//secret.txt",
    "src/deep/../../../secret.txt",
    "..",
    "../",
    "../repository-secret/secret.txt",
    "../repository/../secret.txt",
    "/etc/passwd",
    "//etc/passwd",
    "///etc/passwd",
    "/proc/self/environ",
    "/dev/zero",
    "~/secret.txt",
    "~root",
    "..\\secret.txt",
    "src\\..\\..\\secret.txt",
    "\\etc\\passwd",
    "C:\\secret.txt",
    "C:/secret.txt",
    "c:../secret.txt",
    "file:///etc/passwd",
    "%2e%2e/secret.txt",
    "%2e%2e%2fsecret.txt",
    "..%2fsecret.txt",
    "..%c0%afsecret.txt",
    "．．/secret.txt",
    "..\u2215secret.txt",
    "\u2025/secret.txt",
    "....//secret.txt",
    "..;/secret.txt",
    ".. /secret.txt",
    "../secret.txt\0",
    "README\0../secret.txt",
    "\0",
    "../secret.txt\n",
    "\ud800/../secret.txt",
    "\udcff",
    "src/api.py/../../../secret.txt",
    "README/../../secret.txt",
    "$HOME/secret.txt",
    "`cat ../secret.txt`",
    "*/../../secret.txt",
    "{..,}/secret.txt",
    "a" * 5_000,
    "../" * 2_000 + "etc/passwd",
    "a/" * 2_000 + "../" * 2_001 + "secret.txt",
]


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: ascii(path)[:40])
def test_no_spelling_leads_out(root: Path, path: str) -> None:
    told = _everything(root, path)
    assert SECRET not in told
    assert 'secret.txt"' not in told  # not even its name is listed
    assert "root:" not in told


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: ascii(path)[:40])
def test_no_spelling_is_served(root: Path, path: str) -> None:
    for tool in Repository(root).tools.values():
        with pytest.raises(FileAccessError):
            tool(path)


@pytest.mark.parametrize("path", [None, 7, True, ["src"], {"path": "src"}, b"src", 1.5])
def test_a_path_is_a_text(root: Path, path: object) -> None:
    assert _everything(root, path) == "path must be a string\npath must be a string"


@pytest.mark.parametrize("offset", [-1, True, 1.5, "0", None, [0]])
def test_an_offset_is_a_whole_number(root: Path, offset: Any) -> None:
    with pytest.raises(FileAccessError, match="an integer"):
        Repository(root).read_file("README", offset)


@pytest.mark.parametrize("offset", [12, 2**31, 2**63, 10**40])
def test_an_offset_lies_in_the_file(root: Path, offset: int) -> None:
    with pytest.raises(FileAccessError, match="past the end"):
        Repository(root).read_file("README", offset)


def _descriptors() -> set[str]:
    return {path.name for path in Path("/dev/fd").iterdir()}


def _trap(root: Path) -> None:
    """Puts a link to the outside wherever a path of chance may pass."""
    (root / "link").symlink_to("../outside")
    (root / "src" / "link").symlink_to("../../outside/secret.txt")
    (root / "src" / "deep" / "up").symlink_to("../../..")


PARTS = [
    "..",
    ".",
    "",
    "src",
    "deep",
    "link",
    "up",
    "outside",
    "secret.txt",
    "\\",
    "~",
    "\0",
    "%2e",
]


@pytest.fixture(scope="module")
def trapped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = _laid_out(tmp_path_factory.mktemp("trapped"))
    _trap(root)
    return root


@given(
    parts=st.lists(st.sampled_from(PARTS), max_size=9),
    between=st.sampled_from(["/", "//", "\\", "/./"]),
)
@cases(1_000)
def test_no_path_of_chance_leads_out(trapped: Path, parts: list[str], between: str) -> None:
    assert SECRET not in _everything(trapped, between.join(parts))


def test_no_descriptor_is_left_open(root: Path) -> None:
    _trap(root)
    before = _descriptors()
    for path in (*WRITTEN, "src", "README", "link", "src/link", "src/deep/up/secret.txt", "none"):
        _everything(root, path)
    assert _descriptors() == before


# ── links ─────────────────────────────────────────────────────────────────────────────────


def _to_file(root: Path) -> str:
    (root / "link").symlink_to("../secret.txt")
    return "link"


def _absolute(root: Path) -> str:
    (root / "link").symlink_to(root.parent / "secret.txt")
    return "link"


def _to_folder(root: Path) -> str:
    (root / "link").symlink_to("../outside")
    return "link/secret.txt"


def _the_folder_itself(root: Path) -> str:
    (root / "link").symlink_to("../outside")
    return "link"


def _with_a_slash(root: Path) -> str:
    (root / "link").symlink_to("../outside")
    return "link/."


def _chain(root: Path) -> str:
    (root / "c").symlink_to("../secret.txt")
    (root / "b").symlink_to("c")
    (root / "a").symlink_to("b")
    return "a"


def _through_a_folder(root: Path) -> str:
    (root / "up").symlink_to("..")
    return "up/secret.txt"


def _deep(root: Path) -> str:
    (root / "src" / "deep" / "up").symlink_to("../../..")
    return "src/deep/up/outside/secret.txt"


def _inside_then_out(root: Path) -> str:
    (root / "in").symlink_to("src")
    (root / "src" / "out").symlink_to("../../outside")
    return "in/out/secret.txt"


def _loop(root: Path) -> str:
    (root / "loop").symlink_to("loop")
    return "loop"


def _to_root(root: Path) -> str:
    (root / "all").symlink_to("/")
    return "all/etc/passwd"


def _to_descriptor(root: Path) -> str:
    (root / "self").symlink_to("/proc/self")
    return "self/environ"


def _second_name(root: Path) -> str:
    os.link(root.parent / "secret.txt", root / "again")
    return "again"


LINKS = [
    _to_file,
    _absolute,
    _to_folder,
    _the_folder_itself,
    _with_a_slash,
    _chain,
    _through_a_folder,
    _deep,
    _inside_then_out,
    _loop,
    _to_root,
    _to_descriptor,
    _second_name,
]


@pytest.mark.parametrize("make", LINKS, ids=lambda make: make.__name__.strip("_"))
def test_no_link_leads_out(root: Path, make: Any) -> None:
    path = make(root)
    told = _everything(root, path)
    assert SECRET not in told
    assert 'secret.txt"' not in told
    assert path not in list(Repository(root).files())
    with pytest.raises(FileAccessError):
        Repository(root).contents(path)


@contextmanager
def _swapping(root: Path, name: str) -> Iterator[None]:
    """Swaps a path and a link continuously during the block."""
    over = threading.Event()
    turns = ((name, "kept"), ("link", name), (name, "link"), ("kept", name))

    def swap() -> None:
        while not over.is_set():
            for old, new in turns:
                (root / old).rename(root / new)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_no_folder_that_is_swapped_in_leads_out(root: Path) -> None:
    (root / "folder").mkdir()
    (root / "folder" / "secret.txt").write_text("harmless")
    (root / "link").symlink_to("../outside")
    with _swapping(root, "folder"):
        told = {_everything(root, "folder/secret.txt") for _ in range(3_000)}
    assert any("harmless" in each for each in told)
    assert not any(SECRET in each for each in told)


def test_no_file_that_is_swapped_in_leads_out(root: Path) -> None:
    (root / "file").write_text("harmless")
    (root / "link").symlink_to("../secret.txt")
    with _swapping(root, "file"):
        told = {_everything(root, "file") for _ in range(3_000)}
    assert any("harmless" in each for each in told)
    assert not any(SECRET in each for each in told)


# ── what is no file ───────────────────────────────────────────────────────────────────────


def test_a_pipe_is_refused_without_blocking(root: Path) -> None:
    os.mkfifo(root / "pipe")
    assert "not a plain file" in _everything(root, "pipe")


def test_a_socket_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)  # the address of a socket must be short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("socket")
        assert "not a plain file" in _everything(root, "socket")


def test_devices_are_refused() -> None:
    for name in ("zero", "null", "tty"):
        with pytest.raises(FileAccessError, match=r"not a plain file|cannot be opened"):
            Repository("/dev").read_file(name)


def test_a_folder_is_not_read_and_a_file_not_listed(root: Path) -> None:
    repository = Repository(root)
    with pytest.raises(FileAccessError, match="use list_directory"):
        repository.read_file("src")
    with pytest.raises(FileAccessError, match="the root is a folder"):
        repository.read_file("")
    with pytest.raises(FileAccessError, match="Not a directory"):
        repository.list_directory("README")


def test_refusals_do_not_tell_where_the_repository_lies(root: Path) -> None:
    told = "".join(_everything(root, path) for path in (*WRITTEN, "missing", "src/missing"))
    assert str(root.parent) not in told


# ── what they are for ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("path", ["src", "src/", "./src", "src/.", ".//src//"])
def test_a_folder_is_listed(root: Path, path: str) -> None:
    assert json.loads(Repository(root).list_directory(path)) == {
        "path": "src",
        "entries": ["api.py", "deep/"],
    }


def test_a_file_is_read(root: Path) -> None:
    assert json.loads(Repository(root).read_file("./src/api.py")) == {
        "path": "src/api.py",
        "offset": 0,
        "content": "def request(): ...\n",
        "next_offset": None,
        "size": 19,
    }


def test_dots_that_lead_nowhere_are_names(root: Path) -> None:
    (root / "...").write_text("three")
    assert "three" in Repository(root).read_file("...")


@pytest.mark.parametrize(
    "line", ["x = 1\n", "ü" * 40 + "\n", "y" * 30_000, "€" * 30_000, "😀" * 20_000]
)
def test_pages_put_together_are_the_file(root: Path, line: str) -> None:
    text = line * max(1, 60_000 // len(line.encode()))
    (root / "long.py").write_text(text, encoding="utf-8")
    offset: int | None = 0
    pages = []
    while offset is not None:
        page = json.loads(Repository(root).read_file("long.py", offset))
        pages.append(page["content"])
        offset = page["next_offset"]
    assert "".join(pages) == text
    assert len(pages) > 4
    assert all(len(page.encode()) <= PAGE for page in pages)


def test_a_huge_file_costs_a_page(root: Path) -> None:
    with (root / "huge.txt").open("wb") as file:
        file.write(b"beginning\n" * 2_000)
        file.truncate(10**12)  # takes no room on disk
    page = json.loads(Repository(root).read_file("huge.txt"))
    assert page["size"] == 10**12
    assert len(page["content"]) <= PAGE
    with pytest.raises(FileAccessError, match="not a text file"):
        Repository(root).read_file("huge.txt", 10**11)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xef\xbb\xbfx = 1\n", "x = 1\n"),
        ("# naïve\n".encode("latin-1"), "# na\ufffdve\n"),
        (b"a\r\nb\r\n", "a\r\nb\r\n"),
        (b"", ""),
    ],
)
def test_encodings(root: Path, data: bytes, text: str) -> None:
    (root / "file.py").write_bytes(data)
    assert json.loads(Repository(root).read_file("file.py"))["content"] == text


def test_binary_files_are_refused(root: Path) -> None:
    (root / "module.so").write_bytes(b"\x7fELF\0\0")
    (root / "wide.txt").write_text("wide", encoding="utf-16")
    for name in ("module.so", "wide.txt"):
        with pytest.raises(FileAccessError, match="not a text file"):
            Repository(root).read_file(name)


def test_a_crowded_folder_is_cut_and_says_so(root: Path) -> None:
    (root / "many").mkdir()
    for number in range(ENTRIES + 5):
        (root / "many" / f"{number:05}").touch()
    listed = json.loads(Repository(root).list_directory("many"))
    assert len(listed["entries"]) == ENTRIES
    assert listed["note"] == "the first 1,000 of 1,005 entries"


def test_undecodable_names_are_listed_but_skipped(root: Path) -> None:
    (Path(os.fsdecode(os.fsencode(root) + b"/\xff.py"))).touch()
    repository = Repository(root)
    assert "\ufffd.py" in json.loads(repository.list_directory(""))["entries"]
    assert list(repository.files()) == ["README", "src/api.py"]
