"""Sessions of the real Claude Code and Codex in a scratch repository, against a scripted model.

`make claude-code` and `make codex` install them from the npm registry into `.tools`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CLAUDE = ROOT / ".tools" / "node_modules" / ".bin" / "claude"

CODEX = ROOT / ".tools" / "codex" / "node_modules" / ".bin" / "codex"

needs_codex = pytest.mark.skipif(
    not CODEX.exists(), reason="NOT TESTED: Codex is not installed (make codex; needs npm)"
)
needs_claude = pytest.mark.skipif(
    not CLAUDE.exists(),
    reason="NOT TESTED: Claude Code is not installed (make claude-code; needs npm)",
)


class Workplace:
    """A scratch repository, a home of its own, and the bylaw of this checkout."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.project = folder / "project"
        self.home.mkdir()
        self.project.mkdir()
        self.env = {
            **{key: os.environ[key] for key in ("PATH", "LANG", "TMPDIR") if key in os.environ},
            "HOME": str(self.home),
            "XDG_STATE_HOME": str(self.home / "state"),
            "GIT_AUTHOR_NAME": "a",
            "GIT_AUTHOR_EMAIL": "a@b",
            "GIT_COMMITTER_NAME": "a",
            "GIT_COMMITTER_EMAIL": "a@b",
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        self.run(shutil.which("git") or "git", "init", "-q")

    def run(self, *command: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Runs a command in the repository."""
        return subprocess.run(
            command,
            cwd=self.project,
            env=self.env,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def bylaw(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Runs a command of bylaw."""
        return self.run(sys.executable, "-m", "bylaw", *arguments, stdin=stdin)

    def claude(self, url: str, prompt: str = "Go.") -> subprocess.CompletedProcess[str]:
        """One session of Claude Code that may use every tool we need without asking."""
        self.env |= {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "none",
            "NO_PROXY": "*",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }
        tools = ("--allowedTools", "Bash", "Read", "Write", "Edit", "Agent", "Glob")
        return self.run(str(CLAUDE), "-p", prompt, *tools)

    def codex(self, url: str, prompt: str = "Go.") -> subprocess.CompletedProcess[str]:
        """One session of Codex. The hooks are ours, so they need no review."""
        home = self.home / ".codex"
        home.mkdir(exist_ok=True)
        (home / "config.toml").write_text(
            'model = "gpt-5.2"\nmodel_provider = "scripted"\n[model_providers.scripted]\n'
            f'name = "scripted"\nbase_url = "{url}/v1"\nwire_api = "responses"\n'
            "request_max_retries = 0\nstream_max_retries = 0\n"
        )
        self.env |= {"CODEX_HOME": str(home), "NO_PROXY": "*"}
        unattended = (
            "--dangerously-bypass-approvals-and-sandbox",
            "--dangerously-bypass-hook-trust",
        )
        return self.run(str(CODEX), "exec", "--skip-git-repo-check", *unattended, prompt)
