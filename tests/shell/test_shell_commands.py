"""The commands of a text: a table that bash itself confirms, random scripts, and hostile texts."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
from bash_oracle import BASH, WRAPPERS, BashOracle
from hypothesis import given
from hypothesis import strategies as st
from random_cases import chosen_number
from shell_notation import shown, table

from bylaw.shell.calls import MAX_TEXT, commands_of
from bylaw.shell.programs import OTHER_NAMES, names
from bylaw.values import Json, problem

TABLE = list(table())
needs_bash = pytest.mark.skipif(BASH is None, reason="bash is not installed")
FEWEST_CONFIRMED = 250
SCRIPTS = chosen_number("BYLAW_SHELL_SCRIPTS", 400)
"""The number of random scripts that are compared with bash."""


def found(text: Json) -> list[Any]:
    """The commands of a text."""
    commands = commands_of(text)
    assert commands is not None
    return commands


# ── the table ─────────────────────────────────────────────────────────────────────────────


def test_the_table_is_long() -> None:
    assert len({command for command, _ in TABLE}) == len(TABLE) > 300


@pytest.mark.parametrize(("command", "expected"), TABLE, ids=[row[0] for row in TABLE])
def test_a_command_is_the_calls_that_it_makes(command: str, expected: str) -> None:
    assert shown(found(command)) == expected


def test_a_list_of_words_is_a_command_without_a_shell_around_it() -> None:
    assert shown(found(["git", "push", "a b; rm x"])) == "git push 'a b; rm x'"
    assert shown(found(["bash", "-lc", "git push; rm x"])) == "git push [via bash]; rm x [via bash]"
    assert shown(found({"cmd": ["sudo", "rm", "x"]})) == "rm x [via sudo]"


@pytest.mark.parametrize("value", [None, 1, True, [], [1], ["a", 1], {}, {"x": "ls"}, {"cmd": 1}])
def test_other_values_have_no_commands(value: Json) -> None:
    assert commands_of(value) is None


# ── bash itself ───────────────────────────────────────────────────────────────────────────

_BUILTINS = names(
    "cd echo export unset read eval trap exec command builtin test [ : true wait break declare "
    "alias enable set source pushd xargs time -"
) | {*WRAPPERS}
"""Not logged by the oracle, because bash runs them itself or they are run as they are."""
_STUBS = names(
    "git rm cat grep wc ls aa bb curl find sed awk python python3 python3.11 pip npm node perl "
    "ruby php tar make cargo go docker kubectl apt-get chmod xyz vim parallel pytest jest date"
)


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> BashOracle:
    return BashOracle(tmp_path_factory.mktemp("bash") / "stubs", _STUBS)


def harmless(commands: list[Any]) -> bool:
    """May bash run them? No program of its own folder, and no file outside the work folder."""
    texts = [each for c in commands for each in (*c.get("writes", ()), *c.get("reads", ()))]
    outside = [each for each in texts if each[:1] in "/~" or each.startswith("..")]
    foreign = {"sudo", "doas", "su", "ssh", "uv", "poetry", "pipenv", "npx", "npm", "bundle"}
    foreign |= {"python", "find", "git", "watch", "flock", "script", "strace", "chroot", "busybox"}
    return not (
        any(c["kind"] == "opaque" or "environment" in c["within"] for c in commands)
        or any("/" in file for c in commands for file in _programs_with_folder(c))
        or [each for each in outside if each != "/dev/null"]
        or foreign & {each for c in commands for each in c["via"]}
    )


def _programs_with_folder(command: Any) -> list[str]:
    return [word for word in re.split(r"[\s;&|(]+", command["source"]) if word.endswith("/sh")] + [
        file for file in command["runs"] if file not in command["paths"]
    ]


_UNKNOWN = re.compile(r"[*?\[~$`]")


def disagreement(commands: list[Any], oracle: BashOracle, script: str) -> str | None:
    """The difference between what is listed and what bash ran; None if there is none."""
    ran, complete = oracle.run(script)
    listed = [
        (
            [c["program"], *c["words"]],
            c["dynamic"] or any(m in w for w in c["words"] for m in "*?[~$`"),
        )
        for c in commands
        if c["kind"] == "command" and c["program"] not in _BUILTINS and c["program"]
    ]
    for words in ran:
        name = re.sub(r"^python[\d.]*$", "python", OTHER_NAMES.get(words[0], words[0]))
        if not any(
            each == [name, *words[1:]] or (unknown and each[0] == name) for each, unknown in listed
        ):
            return f"bash ran {words}, which is not among {listed}"
    within = {each for c in commands for each in c["within"]}
    straight = not within & {"or", "and", "branch", "loop", "function", "negated", "condition"}
    repeats = any("xargs" in c["via"] for c in commands)
    known = [words for words, _ in listed if words[0] in _STUBS]
    if straight and not repeats and complete and len(ran) != len(known):
        return f"bash ran {ran}, not {known}"
    return None


@needs_bash
def test_bash_confirms_the_table(oracle: BashOracle) -> None:
    confirmed, wrong = 0, {}
    for command, _ in TABLE:
        commands = found(command)
        if commands and harmless(commands):
            confirmed += 1
            if difference := disagreement(commands, oracle, command):
                wrong[command] = difference
    assert wrong == {}
    assert confirmed >= FEWEST_CONFIRMED


PIECES = (
    *("git", "rm", "aa", "bb", "push", "-f", "--x=1", " ", " ", " ", " ", "\n", ";", "&&", "||"),
    *("|", "&", "(", ")", "{ ", " }", "'", '"', "\\", "$x", "${x}", "$(", "`", "{a,b}", "{1..3}"),
    *("{", "}", ",", "a", "b", "x=1 ", "x=aa ", "if ", "then ", "fi", "for x in a b; do ", " done"),
    *("<<E\n", "\nE\n", "<<'E'\n", ">", "<f", "2>&1", "#", "!", "*", "?", "[", "]", "=", "\\\n"),
    *("$'\\x61'", "env ", "bash -c ", "eval ", "command ", "[[ a == b ]]", "$((1+1))", '"$x"'),
    *("case a in a) ", "esac", ";;", "f() ", "f", "time ", "<<<", "exec ", "export x=rm\n"),
    *("x=git;", "nohup ", "cd d", "|&", "&>o", "x=(a b) ", "<(", "test", "xargs ", "\t", "%", "^"),
)
"""Pieces of scripts; none names a file outside the work folder."""


@needs_bash
def test_bash_runs_nothing_that_is_not_listed(oracle: BashOracle) -> None:
    """Random scripts, most of which are no scripts: those are opaque."""
    made = random.Random(26)
    compared, wrong = 0, {}
    while compared < SCRIPTS:
        script = "".join(made.choices(PIECES, k=made.randint(2, 9)))
        commands = found(script)
        if commands and not any(c["kind"] == "opaque" or c["writes"] for c in commands):
            compared += 1
            if "&" in script and "&&" not in script:
                continue  # what runs in the background may be logged too late
            if difference := disagreement(commands, oracle, script):
                wrong[script] = difference
    assert wrong == {}


# ── hostile texts ─────────────────────────────────────────────────────────────────────────


@given(st.text(max_size=60) | st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
def test_any_text_has_commands(text: str) -> None:
    assert problem(found(text)) is None


@given(st.sampled_from(TABLE), st.integers(0, 60), st.sampled_from([*PIECES, "", "\0", "\ud800"]))
def test_a_damaged_command_has_commands(row: tuple[str, str], place: int, piece: str) -> None:
    text = row[0][:place] + piece + row[0][place + len(piece) % 2 :]
    assert all(command["kind"] in ("command", "function", "opaque") for command in found(text))


DEEP = {
    "(": 20_000,
    "$(": 20_000,
    "`": 20_001,
    '"$(': 10_000,
    "((": 20_000,
    "$((": 10_000,
    "${x:-": 10_000,
    "if ": 10_000,
    "{a,": 10_000,
    "{": 20_000,
    "sudo ": 10_000,
    "bash -c ": 5_000,
    "case x in x) ": 4_000,
    "f() { ": 9_000,
    "for i in 1 2 3 4 5 6 7 8 9; do ": 9,
    "a;": 30_000,
    "eval ": 5_000,
}


@pytest.mark.parametrize("piece", DEEP)
def test_deep_and_long_texts_are_opaque(piece: str) -> None:
    assert any(command["kind"] == "opaque" for command in found(piece * DEEP[piece]))


def test_a_text_that_is_too_long_is_opaque() -> None:
    assert shown(found("a" * (MAX_TEXT + 1))) == "?too-long"
    assert shown(found(["a" * MAX_TEXT, "b"])) == "?too-long"
    assert found("a" * MAX_TEXT)[0]["kind"] == "command"


def test_scripts_in_scripts_are_read_to_a_limit() -> None:
    text = "rm x"
    for _ in range(20):
        text = f"eval {text!r}" if "'" not in text else f"eval {text}"
    assert found(text)[-1]["kind"] == "opaque" or found(text)[-1]["program"] == "rm"


def test_files_that_redirections_name_are_resolved(tmp_path: Path) -> None:
    (command,) = found("cat < ../a/./b > c//d")
    assert (command["reads"], command["writes"]) == (["../a/b"], ["c/d"])
