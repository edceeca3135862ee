"""The real Claude Code behind a gate, against a scripted model."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from claude_sessions import Workplace, needs_claude
from scripted_model import ScriptedModel, says, use

pytestmark = [pytest.mark.slow, pytest.mark.frameworks, needs_claude]

RULES = str(Path(__file__).with_name("coding.yaml"))


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    place = Workplace(tmp_path)
    tests = place.project / "run-tests"
    tests.write_text("#!/bin/sh\ntest -f fixed\n")
    tests.chmod(0o755)
    return place


def test_a_session_that_is_corrected_until_it_may_finish(place: Workplace) -> None:
    assert place.bylaw("install", "claude-code", "-p", RULES, "--yes").returncode == 0
    push = use("Bash", command="git push --force origin main")
    early = use("Bash", command="git commit -qm early --allow-empty")
    failing = use("Bash", command="./run-tests")
    passing = use("Bash", command="touch fixed; ./run-tests")
    beside = use("Bash", command="git commit -qm beside --allow-empty")
    good = use("Bash", command="git commit -qm good --allow-empty")
    log = use("Write", file_path=str(place.project / "CHANGELOG.md"), content="- good\n")
    turns = [
        [says("I push."), push],
        [early],
        [failing],
        [passing, beside],  # the commit is proposed before the result of the tests is read
        [good],
        [says("Done too soon.")],
        [log],
        [says("Done.")],
    ]
    with ScriptedModel(turns) as model:
        done = place.claude(model.url)
    assert done.stdout.strip() == "Done."
    assert "A force-push destroys the work of others." in model.results[push["id"]]
    assert "Only tested code is committed." in model.results[early["id"]]
    assert "Exit code 1" in model.results[failing["id"]]
    assert "Only tested code is committed." in model.results[beside["id"]]
    assert "Not executed" not in model.results[good["id"]]
    assert any("Every change is in the changelog." in text for text in model.told)
    commits = place.run("git", "log", "--format=%s").stdout.split()
    assert commits == ["good"]
    report = json.loads(place.bylaw("hook", "report", "--json").stdout)
    refused = [each["tool"] for each in report[0]["refused"]]
    assert refused == ["Bash", "Bash", "Bash", "final_answer"]


@pytest.fixture
def listening(place: Workplace) -> Iterator[subprocess.Popen[bytes]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [sys.executable, "-m", "bylaw", "hook", "claude-code", "-p", RULES]
    with subprocess.Popen([*command, "--listen", address], env=place.env) as server:
        for _ in range(100):
            with suppress(OSError), urllib.request.urlopen(f"http://{address}/health"):
                break
            time.sleep(0.1)
        installed = place.bylaw("install", "claude-code", "--url", f"http://{address}", "--yes")
        assert installed.returncode == 0, installed.stderr
        yield server
        server.kill()


def test_a_gate_that_is_killed_blocks_every_call(
    place: Workplace, listening: subprocess.Popen[bytes]
) -> None:
    assert place.bylaw("doctor", "claude-code").returncode == 0
    first, second = use("Bash", command="touch first"), use("Bash", command="touch second")

    def kill(turn: int) -> None:
        if turn == 1:
            listening.kill()
            listening.wait()

    with ScriptedModel([[first], [second], [says("Done.")]], before=kill) as model:
        place.claude(model.url)
    assert (place.project / "first").exists()
    assert not (place.project / "second").exists()
    assert second["id"] not in model.results or "blocked" in model.results[second["id"]].lower()
    assert place.bylaw("doctor", "claude-code").returncode == 1


def test_calls_that_run_in_parallel_and_subagents(
    place: Workplace, listening: subprocess.Popen[bytes]
) -> None:
    """Reads run at once, and their hooks come in any order; a subagent's calls are gated, too."""
    files = [place.project / f"file-{n}" for n in range(6)]
    for file in files:
        file.write_text(file.name)
    reads = [use("Read", file_path=str(file)) for file in files]
    agent = use("Agent", description="push", prompt="push it", subagent_type="general-purpose")
    push = use("Bash", command="git push --force")
    log = use("Write", file_path=str(place.project / "CHANGELOG.md"), content="- x\n")
    pushing = {"push it": [[push], [says("I could not.")]]}
    with ScriptedModel([[*reads], [agent], [log], [says("Done.")]], inner=pushing) as model:
        done = place.claude(model.url)
    assert done.stdout.strip().endswith("Done.")  # it may hear of the subagent later
    assert all(
        file.name in model.results[read["id"]] for file, read in zip(files, reads, strict=True)
    )
    assert "A force-push destroys the work of others." in model.results[push["id"]]
    (session,) = json.loads(place.bylaw("hook", "report", "--json").stdout)
    assert [each["agent"].split()[0] for each in session["refused"]] == ["general-purpose"]


def test_a_gate_that_observes_lets_everything_pass(place: Workplace) -> None:
    arguments = ("install", "claude-code", "-p", RULES, "--observe", "--yes")
    assert place.bylaw(*arguments).returncode == 0
    commit = use("Bash", command="git commit -qm untested --allow-empty")
    with ScriptedModel([[commit], [says("Done.")]]) as model:
        assert place.claude(model.url).stdout.strip() == "Done."
    assert place.run("git", "log", "--format=%s").stdout.split() == ["untested"]
    (session,) = json.loads(place.bylaw("hook", "report", "--json").stdout)
    assert [each["rules"] for each in session["refused"]] == [["tested"], ["logged"]]


# ── managed settings ─────────────────────────────────────────────────────────────────────────

PRIVATE = ("unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc && exec "$@"')
"""Runs a command that sees a folder in place of /etc. No other process does."""


def _can_replace_etc() -> bool:
    with suppress(OSError):
        return subprocess.run([*PRIVATE, "/etc", "true"], capture_output=True).returncode == 0
    return False


class ManagedPlace(Workplace):
    """A workplace with an /etc of its own."""

    etc: Path

    def run(self, *command: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        inside = (*PRIVATE, str(self.etc), *command) if hasattr(self, "etc") else command
        return super().run(*inside, stdin=stdin)


@pytest.mark.skipif(not _can_replace_etc(), reason="NOT TESTED: needs root and unshare")
def test_managed_settings_hold_against_those_of_the_user(tmp_path: Path) -> None:
    place = ManagedPlace(tmp_path)
    shutil.copytree("/etc", tmp_path / "etc", symlinks=True)
    place.etc = tmp_path / "etc"
    settings = place.etc / "claude-code" / "managed-settings.d" / "50-bylaw.json"
    installed = place.bylaw("install", "claude-code", "-p", RULES, "--managed", "--yes")
    assert installed.returncode == 0, installed.stderr
    assert json.loads(settings.read_text())["allowManagedHooksOnly"] is True
    assert place.bylaw("doctor", "claude-code").returncode == 0
    for folder in (place.home, place.project):
        (folder / ".claude").mkdir(exist_ok=True)
        theirs = folder / ".claude" / "settings.json"
        theirs.write_text('{"disableAllHooks": true, "hooks": {}}')
    push = use("Bash", command="git push --force origin main")
    with ScriptedModel([[push], [says("Done.")]]) as model:
        assert place.claude(model.url).stdout.strip() == "Done."
    assert "A force-push destroys the work of others." in model.results[push["id"]]

    removed = place.bylaw("install", "claude-code", "--managed", "--remove", "--yes")
    assert removed.returncode == 0, removed.stderr
    assert not settings.exists()
    with ScriptedModel([[push], [says("Done.")]]) as model:
        place.claude(model.url)
    assert "destroys" not in model.results[push["id"]]
