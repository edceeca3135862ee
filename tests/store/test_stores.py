"""The promises of every store: whoever is first appends, all or nothing, and nothing is lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from stores import KINDS, SHARED, NewAddress, cluster, new_address

from bylaw import BylawError
from bylaw.store.addresses import open_store
from bylaw.store.store import Append, GateStore, RunRow, StoreError, stream_of

__all__ = ["cluster", "new_address"]


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, new_address: NewAddress) -> Iterator[GateStore]:
    made = open_store(new_address(request.param))
    yield made
    made.close()


def entry(stream: str, number: int, body: str = "x") -> Append:
    return Append(((stream, number, body),))


def row(run: str, number: int, *, updated: float = 1.0, closed: bool = False) -> RunRow:
    return RunRow(run, "desk", updated, closed, number, "replica", "{}")


def test_entries_are_read_in_order_from_any_place(store: GateStore) -> None:
    for number in range(5):
        assert store.append([entry("a", number, f"body {number}")]) == [True]
    assert store.read("a") == [f"body {number}" for number in range(5)]
    assert store.read("a", after=2) == ["body 3", "body 4"]
    assert store.read("a", after=4) == store.read("b") == []


def test_the_second_writer_of_a_number_is_told_and_changes_nothing(store: GateStore) -> None:
    assert store.append([entry("a", 0, "first")]) == [True]
    assert store.append([entry("a", 0, "second")]) == [False]
    assert store.read("a") == ["first"]


def test_appends_of_one_transaction_are_decided_each_on_its_own(store: GateStore) -> None:
    store.append([entry("taken", 0)])
    assert store.append([entry("a", 0), entry("taken", 0, "late"), entry("b", 0)]) == [
        True,
        False,
        True,
    ]
    assert store.read("taken") == ["x"]


def test_an_append_to_several_streams_is_all_or_nothing(store: GateStore) -> None:
    store.append([entry("shared", 0)])
    both = Append((("a", 0, "x"), ("shared", 0, "late")), row("a", 0), (("a", 0, "state"),))
    assert store.append([both]) == [False]
    assert store.read("a") == []
    assert store.row("a") is None
    assert store.snapshot("a") is None
    assert store.append([Append((("a", 0, "x"), ("shared", 1, "y")))]) == [True]
    assert store.read("shared") == ["x", "y"]


def test_a_stream_occurs_once_in_a_transaction(store: GateStore) -> None:
    with pytest.raises(ValueError, match="twice"):
        store.append([entry("a", 0), entry("a", 1)])


def test_the_latest_snapshot_and_row_count(store: GateStore) -> None:
    for number in range(3):
        done = Append((("a", number, "x"),), row("a", number), (("a", number, f"state {number}"),))
        assert store.append([done]) == [True]
    assert store.snapshot("a") == (2, "state 2")
    assert store.row("a") == row("a", 2)


def test_rows_are_listed_open_ones_first_then_the_latest(store: GateStore) -> None:
    rows = [
        row("old", 0, updated=1.0),
        row("done", 0, updated=9.0, closed=True),
        row("new", 0, updated=5.0),
    ]
    store.append([Append(((each.run, 0, "x"),), each) for each in rows])
    assert [each.run for each in store.rows()] == ["new", "old", "done"]
    assert [each.run for each in store.rows(since=5.0)] == ["new", "done"]
    assert [each.run for each in store.rows(limit=1)] == ["new"]


def test_an_entry_that_is_not_the_next_is_refused(store: GateStore) -> None:
    assert store.append([entry("a", 1)]) == [False]
    store.append([entry("a", 0)])
    assert store.append([entry("a", 2), entry("b", 0)]) == [False, True]
    assert store.read("a") == ["x"]


def ended(run: str, updated: float, *, closed: bool = True) -> Append:
    stream = stream_of(run)
    return Append(
        ((stream, 0, "x"),), row(run, 0, updated=updated, closed=closed), ((stream, 0, "s"),)
    )


def test_finished_runs_are_deleted_as_a_whole_the_oldest_first(store: GateStore) -> None:
    store.append([ended("old", 1.0), ended("older", 0.5), ended("new", 9.0)])
    store.append([ended("open", 1.0, closed=False), entry("across/x", 0)])
    assert store.delete_finished(5.0, 1) == 1
    assert store.row("older") is None
    assert store.row("old") is not None
    assert store.delete_finished(5.0, 9) == 1
    assert store.delete_finished(5.0, 9) == 0
    assert [each.run for each in store.rows()] == ["open", "new"]
    for run, left in {"older": False, "old": False, "new": True, "open": True}.items():
        assert bool(store.read(stream_of(run))) is left
        assert bool(store.snapshot(stream_of(run))) is left
    assert store.read("across/x") == ["x"]


def test_a_deleted_run_is_not_continued_and_can_be_opened_again(store: GateStore) -> None:
    store.append([ended("a", 1.0)])
    store.delete_finished(5.0, 9)
    assert store.append([entry(stream_of("a"), 1)]) == [False]
    assert store.append([entry(stream_of("a"), 0)]) == [True]


TEXTS = ["", "\\u0000", "'; DROP TABLE bylaw_entries; --", "é 漢 🙂", "x" * 300_000, "%s ? {0}"]


@pytest.mark.parametrize("text", TEXTS)
def test_a_body_is_kept_as_it_is(store: GateStore, text: str) -> None:
    store.append([Append(((f"s{text[:20]}", 0, text),))])
    assert store.read(f"s{text[:20]}") == [text]


def test_of_many_threads_exactly_one_is_first_at_each_number(store: GateStore) -> None:
    won: list[tuple[int, int]] = []

    def write(writer: int) -> None:
        for number in range(20):
            if store.append([entry("a", number, str(writer))]) == [True]:
                won.append((number, writer))

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(number for number, _ in won) == list(range(20))
    assert store.read("a") == [str(writer) for _, writer in sorted(won)]


@pytest.mark.parametrize("kind", SHARED)
def test_what_was_appended_is_there_after_closing(kind: str, new_address: NewAddress) -> None:
    address = new_address(kind)
    first = open_store(address)
    first.append([entry("a", 0, "kept")])
    first.close()
    with pytest.raises(StoreError):
        first.read("a")
    second = open_store(address)
    assert second.read("a") == ["kept"]
    second.check()
    second.close()


@pytest.mark.parametrize("kind", SHARED)
def test_opposite_orders_of_streams_are_no_deadlock(kind: str, new_address: NewAddress) -> None:
    address = new_address(kind)
    stores = [open_store(address) for _ in range(2)]
    outcomes: list[list[bool]] = [[], []]

    def write(own: int) -> None:
        for number in range(30):
            streams = ["a", "b"] if own else ["b", "a"]
            both = Append(tuple((stream, number, str(own)) for stream in streams))
            outcomes[own] += stores[own].append([both])

    threads = [threading.Thread(target=write, args=(n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one + two for one, two in zip(*outcomes, strict=True)] == [1] * 30
    assert stores[0].read("a") == stores[0].read("b")
    for each in stores:
        each.close()


WRONG = ["", "gate.db", "sqlite:", "mysql://db/gate", "postgresql:", "memory:gate", "sqlite"]


@pytest.mark.parametrize("address", WRONG)
def test_an_address_that_is_none_is_answered_with_what_to_write(address: str) -> None:
    with pytest.raises(BylawError, match="E451"):
        open_store(address)


def test_a_new_file_is_for_its_user_only(tmp_path: Path) -> None:
    store = open_store(f"sqlite:{tmp_path / 'gate.db'}")
    store.append([entry("a", 0)])
    assert {each.stat().st_mode & 0o777 for each in tmp_path.iterdir()} == {0o600}
    store.close()


def test_a_file_that_is_no_store_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("my notes, which are longer than a header of a database " * 40)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="E450"):
        open_store(f"sqlite:{path}")
    assert path.read_bytes() == before


def test_a_store_of_another_version_is_left_alone(tmp_path: Path) -> None:
    import sqlite3

    address = f"sqlite:{tmp_path / 'gate.db'}"
    open_store(address).close()
    with sqlite3.connect(tmp_path / "gate.db") as connection:
        connection.execute("INSERT INTO bylaw_store VALUES (99)")
    connection.close()
    with pytest.raises(StoreError, match="version 99"):
        open_store(address)


def test_a_server_that_cannot_be_reached_is_a_sentence(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(StoreError, match="E450"):
        open_store(f"postgresql://bylaw@/gate?host={tmp_path}")
