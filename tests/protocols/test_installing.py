"""Installing a gate, removing it, and the doctor that finds what is wrong with it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bylaw.cli.main import main
from bylaw.protocols.claude_code import EVENTS
from bylaw.protocols.claude_settings import command_hook, http_hook, installed, our_hooks, removed
from bylaw.protocols.mcp_config import gated, is_gated, ungated

RULES = str(Path(__file__).with_name("coding.yaml"))

OTHER: dict[str, Any] = {"type": "command", "command": "echo"}
SETTINGS: list[dict[str, Any]] = [
    {},
    {"model": "opus"},
    {"hooks": {}},
    {"hooks": {"PreToolUse": []}},
    {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [OTHER]}]}, "model": "opus"},
    {"hooks": {"Notification": [{"hooks": [OTHER, OTHER]}], "Stop": [{"hooks": [OTHER]}]}},
    {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": []}]}},
]
HOOKS = [
    command_hook(["-p", "/rules.yaml"]),
    command_hook(["-p", "/rules.yaml", "--observe"]),
    http_hook("http://127.0.0.1:8181", "a-token-of-some-length"),
]


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("settings", SETTINGS)
def test_removing_takes_out_exactly_what_installing_put_in(
    settings: dict[str, Any], hook: dict[str, Any]
) -> None:
    before = json.dumps(settings)
    with_gate = installed(settings, hook, "project")
    assert sorted(found.event for found in our_hooks(with_gate)) == sorted(EVENTS)
    assert all(found.hook["onFailure"] == "block" for found in our_hooks(with_gate))
    assert removed(with_gate) == _without_empty(settings)
    assert installed(with_gate, hook, "project") == with_gate
    assert json.dumps(settings) == before


def _without_empty(settings: dict[str, Any]) -> dict[str, Any]:
    """Lists that hold nothing mean nothing, and go with the hooks that filled them."""
    hooks = {event: groups for event, groups in settings.get("hooks", {}).items() if groups}
    others = {key: value for key, value in settings.items() if key != "hooks"}
    return {**others, "hooks": hooks} if hooks else others


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@given(st.lists(st.text(max_size=5), max_size=4), st.dictionaries(st.text(max_size=4), JSON))
def test_a_server_is_as_before_once_its_gate_is_removed(args: list[str], more: Any) -> None:
    entry = {**more, "command": "server", **({"args": args} if args else {})}
    if not args:
        entry.pop("args", None)
    config = {"mcpServers": {"desk": entry, "other": {"url": "http://x"}}, "more": 1}
    with_gate = gated(config, "desk", ["-p", "/rules.yaml"])
    servers: Any = with_gate["mcpServers"]
    assert is_gated(servers["desk"])
    assert gated(with_gate, "desk", ["-p", "/rules.yaml"]) == with_gate
    assert ungated(with_gate, "desk") == config


def test_an_agent_cannot_replace_python_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither by files where it works, nor by paths in the environment."""
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "json.py").write_text("raise SystemExit(0)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "there"))
    hook: Any = command_hook(["--help"])
    command = [hook["command"], *hook["args"]]
    done = subprocess.run(command, cwd=tmp_path / "here", capture_output=True, check=False)
    assert b"usage: bylaw hook claude-code" in done.stdout


# ── the commands ─────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


def test_nothing_is_written_without_a_yes(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["install", "claude-code", "-p", RULES]) == 1
    out = capsys.readouterr().out
    assert '+            "onFailure": "block"' in out
    assert "nothing was changed" in out
    assert not (project / ".claude").exists()


def _settings(project: Path) -> Path:
    return project / ".claude" / "settings.json"


def _edit(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def edit(project: Path) -> None:
        settings = json.loads(_settings(project).read_text())
        change(settings)
        _settings(project).write_text(json.dumps(settings))

    return edit


def _hook(settings: dict[str, Any], event: str) -> dict[str, Any]:
    found: dict[str, Any] = settings["hooks"][event][0]["hooks"][0]
    return found


TAMPERED: dict[str, Callable[[Path], object]] = {
    "removed": lambda project: _settings(project).unlink(),
    "no longer JSON": lambda project: _settings(project).write_text("{"),
    "one event less": _edit(lambda s: s["hooks"].pop("PostToolBatch")),
    "only one tool": _edit(lambda s: s["hooks"]["PreToolUse"][0].update(matcher="Read")),
    "fails open": _edit(lambda s: _hook(s, "PreToolUse").pop("onFailure")),
    "in the background": _edit(lambda s: _hook(s, "PreToolUse").update({"async": True})),
    "all hooks disabled": _edit(lambda s: s.update(disableAllHooks=True)),
    "another program": _edit(
        lambda s: [_hook(s, event).update(command="/bin/true") for event in s["hooks"]]
    ),
    "no program": _edit(lambda s: [_hook(s, e).update(command="/no/such") for e in s["hooks"]]),
    "other rules": lambda project: (project / "rules.yaml").write_text("constraints: []"),
}


@pytest.mark.parametrize("way", ["untouched", *TAMPERED])
def test_the_doctor_finds_what_lets_calls_past_the_gate(
    project: Path, way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = project / "rules.yaml"
    rules.write_bytes(Path(RULES).read_bytes())
    assert main(["install", "claude-code", "-p", str(rules), "--yes"]) == 0
    if way != "untouched":
        TAMPERED[way](project)
    assert main(["doctor", "claude-code", "--json"]) == (way != "untouched")


def test_install_and_remove_leave_a_file_as_it_was(project: Path) -> None:
    _settings(project).parent.mkdir()
    text = '{\n    "model": "opus",\n    "hooks": {\n        "Stop": []\n    }\n}\n'
    _settings(project).write_text(text.replace(',\n    "hooks": {\n        "Stop": []\n    }', ""))
    before = _settings(project).read_text()
    assert main(["install", "claude-code", "-p", RULES, "--yes"]) == 0
    assert main(["install", "claude-code", "--remove", "--yes"]) == 0
    assert _settings(project).read_text() == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["install", "claude-code"],
        ["install", "claude-code", "-p", "missing.yaml"],
        ["install", "claude-code", "--url", "http://127.0.0.1:1"],
        ["install", "mcp", "desk", "-p", RULES],
        ["doctor", "mcp", "desk"],
        ["mcp", "-p", RULES],
        ["mcp", "-p", RULES, "--", "no-such-program"],
        ["mcp", "-p", RULES, "--upstream", "http://x"],
        ["hook", "claude-code", "-p", RULES, "--pin", "0123"],
    ],
)
def test_commands_that_cannot_work_say_so(
    project: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import io
    import sys

    event = b'{"hook_event_name": "PreToolUse", "session_id": "s"}'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(event)))
    code = main(arguments)
    assert code == (0 if "--pin" in arguments else 2)
