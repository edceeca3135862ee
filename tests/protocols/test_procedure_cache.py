"""A procedure that hooks have read before, and who can change what is kept of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bylaw import Guard, Procedure
from bylaw.enforcement.promises import broken_promises
from bylaw.errors import SpecError
from bylaw.protocols import procedure_cache
from bylaw.protocols.procedure_cache import cached_procedure
from bylaw.protocols.store import SessionStore

PACKAGED = Path(procedure_cache.__file__).parents[1] / "procedure/packaged/coding.yaml"
RULES = """\
tools: {pay: {type: object, properties: {amount: {type: number}}}, look: null}
failed: 'text ~ /^Error/'
constraints:
  - {name: small, rule: 'G(pay -> args.amount < LIMIT)', severity: HARD_STOP, weight: 2, why: w}
  - {name: looked, rule: 'G(pay -> O look)', layer: L3, events: all}
constants: {LIMIT: 10}
"""


class Kept:
    """A procedure file, and the folder where hooks keep what they read."""

    def __init__(self, folder: Path, text: str = RULES) -> None:
        self.path, self.folder = folder / "rules.yaml", folder / "state"
        self.path.write_text(text)
        self.key = SessionStore(self.folder).key()

    def read(self, key: bytes | None = None) -> Procedure:
        return cached_procedure(self.path, self.folder, key or self.key)

    @property
    def files(self) -> list[Path]:
        return sorted(self.folder.glob("procedure-*"))


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading a procedure file fails the test."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("the file was read again")

    monkeypatch.setattr(Procedure, "load", refuse)


@pytest.mark.parametrize("text", [RULES, PACKAGED.read_text()], ids=["small", "packaged"])
def test_what_is_kept_is_the_procedure(
    text: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    kept = Kept(tmp_path, text)
    first = kept.read()
    request.getfixturevalue("unread")
    second = kept.read()
    assert second == first
    assert second.constraints == first.constraints
    assert second.failed == first.failed
    assert second.schemas.keys() == first.schemas.keys()
    saved = Guard(first, run_id="r").save()
    Guard(second, run_id="r").restore(saved)  # they have the same rules


def test_promises_are_not_searched_again(kept: Kept) -> None:
    kept.read()
    assert kept.read()._derived.keys() == {broken_promises}


def test_an_edit_of_the_file_is_seen(kept: Kept) -> None:
    kept.read()
    kept.path.write_text(RULES.replace("LIMIT: 10", "LIMIT: 20"))
    assert kept.read().constants == {"LIMIT": 20}
    assert len(kept.files) == 1


def test_another_program_reads_the_file_again(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    kept.read()
    monkeypatch.setattr(procedure_cache, "__version__", "0.0.0")
    request.getfixturevalue("unread")
    with pytest.raises(AssertionError, match="read again"):
        kept.read()


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("HARD_STOP", "TOLERATE"),
        lambda text: text.partition("\n")[2],
        lambda text: "",
        lambda text: "\n",
        lambda text: f"{'0' * 64}\n{text.partition(chr(10))[2]}",
        lambda text: "\udcff",
    ],
)
def test_what_somebody_else_wrote_is_ignored(kept: Kept, change: Any) -> None:
    expected = kept.read()
    (file,) = kept.files
    file.write_text(change(file.read_text()), errors="surrogateescape")
    assert kept.read().constraints == expected.constraints


def test_a_session_is_not_a_procedure(kept: Kept) -> None:
    """Both are sealed with one key, and neither can stand for the other."""
    kept.read()
    (file,) = kept.files
    content = file.read_text().partition("\n")[2]
    state = Guard(Procedure.load(kept.path)).save(key=kept.key)
    digest: Any = state["seal"]
    file.write_text(f"{digest['digest']}\n{content}")
    assert kept.read(kept.key).constraints == Procedure.load(kept.path).constraints
    assert file.read_text().partition("\n")[2] == content


def test_another_key_reads_the_file_again(kept: Kept, request: pytest.FixtureRequest) -> None:
    kept.read()
    request.getfixturevalue("unread")
    with pytest.raises(AssertionError, match="read again"):
        kept.read(b"x" * 32)


def test_only_the_owner_can_read_what_is_kept(kept: Kept) -> None:
    kept.read()
    assert [file.stat().st_mode & 0o777 for file in kept.files] == [0o600]


def test_tools_in_another_file_are_read_each_time(tmp_path: Path) -> None:
    kept = Kept(tmp_path, "tools: tools.json\nconstraints: [{name: a, rule: 'G !a'}]\n")
    (tmp_path / "tools.json").write_text('[{"name": "a"}]')
    kept.read()
    (tmp_path / "tools.json").write_text('[{"name": "a"}, {"name": "b"}]')
    assert kept.read().tools == ("a", "b")


def test_a_broken_promise_is_reported_each_time(tmp_path: Path) -> None:
    rule = "constraints: [{name: a, rule: 'G(a -> result = 1)', severity: SOFT_BLOCK}]\n"
    kept = Kept(tmp_path, rule)
    for _ in range(2):
        with pytest.raises(SpecError, match="cannot be kept"):
            Guard(kept.read())


def test_a_mistake_in_the_file_is_reported(tmp_path: Path) -> None:
    kept = Kept(tmp_path, "constraints: [{name: a, rule: 'G('}]\n")
    with pytest.raises(SpecError, match=r"rules\.yaml:1"):
        kept.read()
    kept.path.unlink()
    with pytest.raises(SpecError, match=r"rules\.yaml"):
        kept.read()
