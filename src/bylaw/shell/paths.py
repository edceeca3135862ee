"""File paths as texts: joined with the working directory and normalised. No file is looked at."""

from __future__ import annotations

from collections.abc import Sequence


def resolved(path: str, directories: Sequence[str]) -> list[str]:
    """The path from each directory that may be the working directory. No path stays none."""
    if not path:
        return [path]
    return list(dict.fromkeys(joined(directory, path) for directory in directories))


def joined(directory: str, path: str) -> str:
    """The path, seen from where the script starts: `a/../b` is `b`, `~/x` stays."""
    if not path.startswith(("/", "~")):
        path = f"{directory}/{path}"
    return normal(path)


def normal(path: str) -> str:
    """The path without `.`, `//` and `x/..`."""
    root = "/" if path.startswith("/") else ""
    parts: list[str] = []
    for part in path.split("/"):
        if part in ("", "."):
            continue
        if part == ".." and parts and parts[-1] != ".." and not _unknown(parts[-1]):
            parts.pop()
        elif part == ".." and root and not parts:
            continue
        else:
            parts.append(part)
    return root + "/".join(parts) or (root or ".")


def _unknown(part: str) -> bool:
    """May the directory be another than its name says? `~/..` is no path below home."""
    return part.startswith("~") or any(mark in part for mark in "$`*?[")
