"""Every command says in a sentence that it cannot use a damaged file.

`BYLAW_FUZZ_COMMANDS` says how many damaged files; the slow test takes a hundred thousand.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from fuzz_commands import (
    DamagedFile,
    Findings,
    chained,
    damaged,
    kinds,
    lay_out,
    prepare,
    problems,
    run,
    run_all,
)
from random_cases import chosen_number

from bylaw.cli.main import COMMANDS

FILES = chosen_number("BYLAW_FUZZ_COMMANDS", 400)

pytestmark = pytest.mark.fuzz

READ_NOTHING = {"bench instance", "train data build", "completion"}
"""Commands that read no file."""

TRIED_ELSEWHERE = {
    *("serve", "mcp", "hook claude-code", "hook codex", "hook litellm", "hook report"),
    *("install claude-code", "install codex", "install mcp"),
    *("doctor claude-code", "doctor codex", "doctor mcp"),
}
"""Commands that serve, or that change the settings of other programs. What they read is damaged in
`tests/serve` and `tests/protocols`."""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fuzz")
    before = Path.cwd()
    prepare(folder)
    os.chdir(before)
    return folder


def test_damaged_files(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _fuzz(desk, FILES, capsys)


@pytest.mark.slow
def test_many_damaged_files(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _fuzz(desk, 3_000, capsys)


def _fuzz(desk: Path, count: int, capsys: pytest.CaptureFixture[str]) -> None:
    found = run_all(desk, range(count))
    with capsys.disabled():
        print(f"\nfuzz: {found.runs} damaged files; exit codes by kind: {found.codes}")
    assert not found.failures
    assert found.runs == count


def test_every_command_that_reads_files_is_tried(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(desk)
    tried = {command for kind in kinds().values() for command in kind.commands}
    untried = {name for name in COMMANDS if not any(each.startswith(name) for each in tried)}
    assert untried == READ_NOTHING | TRIED_ELSEWHERE


def test_sound_files_are_read(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise damage would never get past the first check."""
    monkeypatch.chdir(desk)
    for name, kind in kinds().items():
        suffix, content = kind.samples[0]
        content = chained(content) if name == "forged logs" else content
        codes = set()
        for command in kind.commands:
            sound = DamagedFile(name, 0, f"{kind.path}{suffix}", content, command, ())
            code, wrong = run(sound)
            assert not wrong, (command, wrong)
            codes.add(code)
        assert codes & {0, 1}, name


def test_the_same_number_is_the_same_damage(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(desk)
    number = random.Random(1).randrange(10_000)
    assert damaged(kinds(), number) == damaged(kinds(), number)
    lay_out(damaged(kinds(), number))


@pytest.mark.parametrize(
    ("arguments", "code", "out", "err", "wrong"),
    [
        ([], 3, "", "", "exit code 3"),
        ([], 2, "", "", "nothing was said"),
        ([], 0, "\x1b[31m", "", "a raw '\\x1b'"),
        ([], 2, "", "a\rb", "a raw '\\r'"),
        ([], 2, "", "error[E499]: unexpected", "told: error[E499]: unexpected"),
        (["--json"], 0, '{"a": 1', "", "what is printed is not JSON"),
    ],
)
def test_the_fuzzer_sees(arguments: list[str], code: int, out: str, err: str, wrong: str) -> None:
    assert wrong in list(problems(arguments, code, out, err))


def test_a_process_that_dies_is_a_finding() -> None:
    found = Findings()
    found.add("any", None, ["died of signal 6"], "17")
    assert found.failures == {"any: died of signal 6": ["17"]}
