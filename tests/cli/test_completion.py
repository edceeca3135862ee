"""Shells complete commands, options and values by the scripts that `bylaw completion` prints."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from bylaw.cli.completion_scripts import SCRIPTS, arguments_of
from bylaw.cli.main import COMMANDS, main

Complete: TypeAlias = Callable[[str, Path], list[str]]

LINES = {
    "bylaw ver": {"verify"},
    "bylaw bench ": {"instance", "run", "report"},
    "bylaw train data ": {"build", "inspect"},
    "bylaw verify --summ": {"--summary"},
    "bylaw verify -p procedure.yaml --summ": {"--summary"},
    "bylaw bench run --setting b": {"baseline", "block-and-warn"},
    "bylaw completion ": {"bash", "zsh", "fish"},
}


def _ran(shell: str, script: str) -> list[str]:
    if shutil.which(shell) is None:
        pytest.skip(f"NOT TESTED: completion in {shell}, which is not installed")
    flags = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    done = subprocess.run(
        [shell, *flags, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1]


def in_bash(line: str, script: Path) -> list[str]:
    words = line.split(" ")
    listed = " ".join(map(shlex.quote, words))
    return _ran(
        "bash",
        f"source {script}; COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}; _bylaw; "
        "((${#COMPREPLY[@]} == 0)) || printf '%s\\n' \"${COMPREPLY[@]}\"",
    )


def in_fish(line: str, script: Path) -> list[str]:
    shown = _ran("fish", f"source {script}; complete -C {shlex.quote(line)}")
    return [each.split("\t")[0] for each in shown]


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("complete", [in_bash, in_fish])
def test_a_line_is_completed(complete: Complete, line: str, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(SCRIPTS[complete.__name__.removeprefix("in_")](), encoding="utf-8")
    assert set(complete(line, script)) == LINES[line]


@pytest.mark.parametrize("command", COMMANDS)
def test_bash_knows_every_option(command: str, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(SCRIPTS["bash"](), encoding="utf-8")
    flags = {flag for argument in arguments_of(command) for flag in argument.flags}
    assert set(in_bash(f"bylaw {command} -", script)) == flags


def test_bash_leaves_files_to_itself(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(SCRIPTS["bash"](), encoding="utf-8")
    assert in_bash("bylaw verify ", script) == []
    assert in_bash("bylaw verify -p ", script) == []


ZSH = """
compdef() { }
_describe() { print -l -- "${(@P)2%%:*}" }
_arguments() { print -- "$CURRENT: $words"; print -l -- "$@" }
"""
"""The functions of zsh's own completion, replaced by ones that print what they are asked for."""


def test_zsh_is_asked_for_commands_and_options(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(SCRIPTS["zsh"](), encoding="utf-8")
    start = f"{ZSH}\nsource {script}\n"
    assert _ran("zsh", f"{start} words=(bylaw train data ''); CURRENT=4; _bylaw") == [
        "build",
        "inspect",
    ]
    asked = _ran("zsh", f"{start} words=(bylaw bench run --set); CURRENT=4; _bylaw")
    assert asked[0] == "2: bylaw --set"
    assert any(each.startswith("*--setting[") and "baseline" in each for each in asked)


def test_the_command_prints_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    assert capsys.readouterr().out == SCRIPTS["bash"]()
