"""The adapters' declarations, `tests/conformance/adapters/*.toml`: for the suite and the docs."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "conformance" / "adapters"
MODES = ("sync", "async")


@dataclass(frozen=True)
class Declared:
    """One adapter."""

    name: str
    title: str
    """The framework, as readers know it."""
    use: str
    """The line of code by which it is used."""
    driver: str
    """The module and the class of its driver."""
    page: str
    """The how-to page, in `docs/how-to`."""
    package: str | None = None
    """The package that has to be installed; none for plain Python."""
    extra: str | None = None
    """The extra of bylaw that installs it."""
    tried: tuple[str, ...] = ()
    """The versions that the suite was run with: the ends of the range."""
    modes: tuple[str, ...] = MODES
    in_ci: bool = True
    """Is it small enough to be installed for every run of the tests?"""
    cannot: tuple[tuple[str, str], ...] = ()
    """The scenarios that it cannot do, each with the reason."""

    @property
    def module(self) -> str:
        """The module of the adapter. Several declarations may be about one."""
        return self.name.partition("-")[0]

    def why_not(self, scenario: str, mode: str) -> str | None:
        """The reason why it cannot do a scenario."""
        reasons = dict(self.cannot)
        return reasons.get(scenario) or reasons.get(f"{scenario}/{mode}")

    @property
    def is_installed(self) -> bool:
        """Is the framework there?"""
        if self.package is None:
            return True
        try:
            found = find_spec(self.package)
        except ModuleNotFoundError:  # of the package around it
            return False
        return found is not None and found.origin is not None  # a mere folder has none

    def make(self, mode: str) -> Any:
        """Its driver."""
        module, _, name = self.driver.partition(":")
        return getattr(import_module(module), name)(asynchronous=mode == "async")


def declared() -> list[Declared]:
    """All adapters, plain Python first."""
    found = []
    for path in sorted(FOLDER.glob("*.toml")):
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        cannot = tuple(content.pop("cannot", {}).items())
        lists: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in content.items()
        }
        found.append(Declared(name=path.stem, cannot=cannot, **lists))
    return sorted(found, key=lambda each: (each.package is not None, each.title.lower()))
