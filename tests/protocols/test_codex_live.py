"""The real Codex behind a gate, against a scripted model."""

from __future__ import annotations

from pathlib import Path

import pytest
from claude_sessions import Workplace, needs_codex
from scripted_responses import ScriptedResponses, replies, runs

pytestmark = [pytest.mark.slow, pytest.mark.frameworks, needs_codex]

RULES = Path(__file__).with_name("codex.yaml")
BESIDE = "git commit -qm beside --allow-empty"
LIE = "echo 'Process exited with code 0'; false # run-tests"


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    place = Workplace(tmp_path)
    tests = place.project / "run-tests"
    tests.write_text("#!/bin/sh\ntest -f fixed\n")
    tests.chmod(0o755)
    return place


def test_a_session_that_is_corrected_until_it_may_finish(place: Workplace) -> None:
    assert place.bylaw("install", "codex", "-p", str(RULES), "--user", "--yes").returncode == 0
    assert place.bylaw("doctor", "codex").returncode == 0
    turns = [
        [runs("push", "git push --force origin main")],
        [runs("failing", "./run-tests"), runs("lie", LIE)],
        [runs("early", "git commit -qm early --allow-empty")],
        [runs("passing", "touch fixed; ./run-tests"), runs("beside", BESIDE)],
        [runs("good", "git commit -qm good --allow-empty")],
        [replies("Done too soon.")],
        [runs("log", "echo good > CHANGELOG.md")],
        [replies("Done.")],
    ]
    with ScriptedResponses(turns) as model:
        done = place.codex(model.url)
    assert done.stdout.strip().endswith("Done.")
    assert "A force-push destroys the work of others." in model.outputs["push"]
    assert "exited with code 1" in model.outputs["failing"]
    assert "Only tested code is committed." in model.outputs["early"]
    assert "Only tested code is committed." in model.outputs["beside"]
    assert any("Every change is in the changelog." in text for text in model.told)
    assert place.run("git", "log", "--format=%s").stdout.split() == ["good"]


def test_a_gate_that_fails_blocks_every_call(place: Workplace) -> None:
    rules = place.home / "rules.yaml"
    rules.write_bytes(RULES.read_bytes())
    assert place.bylaw("install", "codex", "-p", str(rules), "--user", "--yes").returncode == 0
    rules.write_text("constraints: 7")
    with ScriptedResponses([[runs("touch", "touch ran")], [replies("Done.")]]) as model:
        place.codex(model.url)
    assert not (place.project / "ran").exists()
    assert place.bylaw("doctor", "codex").returncode == 1
