"""The address of a store: `sqlite:FILE`, `postgresql://…` or `memory`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from bylaw.errors import Diagnostic, UsageError
from bylaw.store.public_address import public_address
from bylaw.store.store import GateStore


def _memory(_: str) -> GateStore:
    from bylaw.store.memory import MemoryStore

    return MemoryStore()


def _sqlite(address: str) -> GateStore:
    from bylaw.store.sqlite import SqliteStore

    return SqliteStore(address.removeprefix("sqlite:"))


def _postgresql(address: str) -> GateStore:
    from bylaw.store.postgresql import PostgresqlStore

    return PostgresqlStore(address)


_STORES: Final[dict[str, Callable[[str], GateStore]]] = {
    "memory": _memory,
    "sqlite": _sqlite,
    "postgresql": _postgresql,
    "postgres": _postgresql,
}


def open_store(address: str) -> GateStore:
    """The store at an address, ready to be used. Its tables are created if they are missing."""
    kind, colon, rest = address.partition(":")
    if kind not in _STORES or (kind != "memory" and not rest) or (kind == "memory" and colon):
        message = f"'{public_address(address)}' is not the address of a store"
        help = "Write sqlite:FILE, postgresql://USER@HOST/DATABASE, or memory."
        raise UsageError(Diagnostic("E451", message, help))
    return _STORES[kind](address)
