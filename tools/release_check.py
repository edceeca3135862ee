"""Builds the wheel, installs it alone in a fresh environment, and follows the tutorial there.

    python tools/release_check.py

The commands of `docs/tutorial/first-procedure.md` must print what the page shows, without the
repository, its tests or any extra at hand. Prints what was done; exits 1 at the first difference.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
TUTORIAL: Final = ROOT / "docs" / "tutorial" / "first-procedure.md"
_FOLLOW: Final = """
import sys
from pathlib import Path
import bylaw
sys.path.insert(0, sys.argv[1])
from doc_pages import Page, Runner
assert Path(bylaw.__file__).is_relative_to(sys.prefix), bylaw.__file__
Runner(Page(Path(sys.argv[2])), Path.cwd()).run()
"""
"""Runs in the fresh environment, whose Python and commands the runner of examples then uses."""


def main() -> int:
    """Checks the release."""
    with tempfile.TemporaryDirectory(prefix="bylaw-release-") as folder:
        place = Path(folder)
        wheel = _build(place)
        python = _installed(place / "environment", wheel)
        _follow(place / "tutorial", python)
    return 0


def _build(place: Path) -> Path:
    _run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(place), str(ROOT)]
    )
    (wheel,) = place.glob("*.whl")
    print(f"built {wheel.name}, {wheel.stat().st_size // 1024} KiB")
    return wheel


def _installed(environment: Path, wheel: Path) -> Path:
    venv.create(environment, with_pip=True)
    python = environment / ("Scripts" if os.name == "nt" else "bin") / "python"
    _run([str(python), "-m", "pip", "install", "--quiet", str(wheel)])
    listed = _run([str(python), "-m", "pip", "list", "--format", "json"])
    packages = sorted({each["name"].lower() for each in json.loads(listed)} - {"pip", "setuptools"})
    print(f"installed it with {', '.join(name for name in packages if name != 'bylaw')}")
    return python


def _follow(folder: Path, python: Path) -> None:
    """Runs the examples of the tutorial with the installed commands."""
    folder.mkdir()
    _run([str(python), "-c", _FOLLOW, str(ROOT / "tests" / "docs"), str(TUTORIAL)], folder)
    print(f"followed {TUTORIAL.relative_to(ROOT)}: every command prints what the page shows")
    scripts, files = python.parent, ("monday.json", "help-desk.yaml")
    certify = ["verify", "-p", files[1], files[0], "--certificate", "certificate.json"]
    _run([str(scripts / "bylaw"), *certify], folder)
    _run([str(scripts / "bylaw-check"), "certificate.json", *files], folder)
    print("certified a verdict, and bylaw-check proved it")


def _run(command: Sequence[str], folder: Path = ROOT) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        command, cwd=folder, env=clean, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(command[:4])} … failed:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
