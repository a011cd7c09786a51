"""The ten hidden checks of `sqlite_transfers`, and four that go further."""

from __future__ import annotations

import sqlite3
from operator import itemgetter
from typing import Any

from pytest_agentgrade.checks import Candidate, beyond, kills

TRANSFER = "sqlite_transfers:transfer"
ERRORS = "sqlite_transfers.errors"
TOP = 2**63 - 1
TABLES = (
    "CREATE TABLE wallets (id TEXT PRIMARY KEY NOT NULL, balance INTEGER NOT NULL)",
    "CREATE TABLE transfers (id INTEGER PRIMARY KEY, source TEXT NOT NULL, target TEXT NOT NULL,"
    " amount INTEGER NOT NULL, key TEXT UNIQUE)",
)
OPENING = ("BEGIN", "PRAGMA", "SAVEPOINT")


def _open(candidate: Candidate, lane: Any = None) -> Any:
    return candidate.connect("bank.db", lane, isolation_level=None, timeout=0)


def _bank(candidate: Candidate, balances: dict[str, int]) -> Any:
    """A connection to a new database with these wallets and no transfers."""
    conn = _open(candidate)
    for statement in TABLES:
        candidate.sql(conn, statement)
    for row in balances.items():
        candidate.sql(conn, "INSERT INTO wallets VALUES (?, ?)", row)
    return conn


def _balances(candidate: Candidate, wallets: list[str]) -> dict[str, int]:
    return {wallet: candidate.draw.integer(1_000, 10**15) for wallet in wallets}


def _assert_books(candidate: Candidate, conn: Any, balances: dict[str, int], transfers: int) -> None:
    """`conn` has no transaction open; another connection sees these balances and so many transfers."""
    assert candidate.attr(conn, "in_transaction") == False
    auditor = _open(candidate)
    assert candidate.sql(auditor, "SELECT id, balance FROM wallets ORDER BY id") == sorted(balances.items())
    assert candidate.sql(auditor, "SELECT count(*) FROM transfers") == [(transfers,)]
    auditor.close()


def _assert_transfer_works(
    candidate: Candidate, conn: Any, balances: dict[str, int], source: str, target: str, amount: int, transfers: int = 1
) -> None:
    """This transfer succeeds and is the only change; `transfers` counts the rows afterwards."""
    candidate.call(TRANSFER, conn, source, target, amount).expect(int)
    moved = {source: balances[source] - amount, target: balances[target] + amount}
    _assert_books(candidate, conn, balances | moved, transfers)


def _pause_after_the_first_read(candidate: Candidate) -> Any:
    """A trace callback that parks the statement after the first one that touches a table."""
    step = "opening"

    def trace(statement: Any) -> Any:
        nonlocal step
        if step == "opening" and not statement.expect(str).lstrip().upper().startswith(OPENING):
            step = "reading"
        elif step == "reading":
            step = "paused"
            return candidate.PARK
        return None

    return candidate.callback(trace)


@kills("swapped_row")
def test_moves_the_amount_and_records_it(candidate: Candidate) -> None:
    """Takes `amount` from the source, adds it to the target, inserts one row with the key and returns its id."""
    names = candidate.draw.texts(3)
    balances = _balances(candidate, names)
    conn = _bank(candidate, balances)
    rows = [(candidate.draw.integer(2, 10**9), names[2], names[0], candidate.draw.integer(1, 99), None)]
    candidate.sql(conn, "INSERT INTO transfers VALUES (?, ?, ?, ?, ?)", rows[0])
    for key in (None, candidate.draw.text(), None):
        source, target = candidate.draw.sample(names, 2)
        amount = candidate.draw.integer(1, 300)
        number = candidate.call(TRANSFER, conn, source, target, amount, key=key).expect(int)
        rows.append((number, source, target, amount, key))
        balances[source] -= amount
        balances[target] += amount
    _assert_books(candidate, conn, balances, 4)
    assert candidate.sql(conn, "SELECT id, source, target, amount, key FROM transfers ORDER BY id") == sorted(
        rows, key=itemgetter(0)
    )


@kills("untouched", "bool_accepted", "float_accepted")
def test_refuses_an_amount_that_is_not_a_positive_64_bit_int(candidate: Candidate) -> None:
    """An `amount` that is no `int`, a `bool`, less than 1 or greater than 2**63 - 1 raises `InvalidAmount`."""
    source, target = candidate.draw.texts(2)
    balances = {source: TOP, target: 0}
    conn = _bank(candidate, balances)
    small, draw = candidate.draw.integer(2, 300), candidate.draw
    for amount in (True, False, float(small), draw.float(1, 300), str(small), 0, -small, TOP + 1, TOP + 10**12 * small):
        with candidate.raises(f"{ERRORS}:InvalidAmount") as caught:
            candidate.call(TRANSFER, conn, source, target, amount)
        assert caught.attr("amount") == amount
        _assert_books(candidate, conn, balances, 0)
    _assert_transfer_works(candidate, conn, balances, source, target, draw.integer(2**62, TOP - 1))


@kills("untouched", "opens_unknown_target", "same_wallet_accepted")
def test_refuses_unknown_wallets_and_a_transfer_to_itself(candidate: Candidate) -> None:
    """The source, then the target, does not exist: `UnknownWallet`; `source == target`: `SameWallet`."""
    here, there, nowhere, lost = candidate.draw.texts(4)
    balances = _balances(candidate, [here, there])
    conn = _bank(candidate, balances)
    for source, target in ((nowhere, there), (nowhere, lost), (here, nowhere)):
        with candidate.raises(f"{ERRORS}:UnknownWallet") as caught:
            candidate.call(TRANSFER, conn, source, target, candidate.draw.integer(10**16, 10**17))
        assert caught.attr("wallet") == nowhere
        _assert_books(candidate, conn, balances, 0)
    for wallet in (here, nowhere):
        with candidate.raises(f"{ERRORS}:SameWallet") as caught:
            candidate.call(TRANSFER, conn, wallet, wallet, candidate.draw.integer(1, 300))
        assert caught.attr("wallet") == wallet
        _assert_books(candidate, conn, balances, 0)
    _assert_transfer_works(candidate, conn, balances, here, there, candidate.draw.integer(1, 300))


@kills("untouched", "whole_balance_refused")
def test_refuses_more_than_the_balance_of_the_source(candidate: Candidate) -> None:
    """The balance of the source is less than `amount`: `InsufficientFunds`. Taking all of it is allowed."""
    source, target = candidate.draw.texts(2)
    balances = _balances(candidate, [source, target])
    held = balances[source]
    conn = _bank(candidate, balances)
    for amount in (held + 1, held + candidate.draw.integer(2, 10**9), TOP - candidate.draw.integer(0, 999)):
        with candidate.raises(f"{ERRORS}:InsufficientFunds") as caught:
            candidate.call(TRANSFER, conn, source, target, amount)
        assert caught.attr("wallet") == source
        assert caught.attr("balance") == held
        assert caught.attr("amount") == amount
        _assert_books(candidate, conn, balances, 0)
    _assert_transfer_works(candidate, conn, balances, source, target, held)


@kills("untouched", "overflow_unchecked", "overflow_checked_as_float")
def test_refuses_a_sum_the_target_cannot_hold(candidate: Candidate) -> None:
    """A new balance of the target above 2**63 - 1: `BalanceOverflow`, and nothing changes. 2**63 - 1 is allowed."""
    source, target = candidate.draw.texts(2)
    room = candidate.draw.integer(2, 400)
    balances = {source: candidate.draw.integer(2**62, TOP), target: TOP - room}
    conn = _bank(candidate, balances)
    for amount in (room + 1, room + candidate.draw.integer(2, 10**6), candidate.draw.integer(2**60, 2**61)):
        with candidate.raises(f"{ERRORS}:BalanceOverflow") as caught:
            candidate.call(TRANSFER, conn, source, target, amount)
        assert caught.attr("wallet") == target
        assert caught.attr("balance") == balances[target]
        assert caught.attr("amount") == amount
        _assert_books(candidate, conn, balances, 0)
    _assert_transfer_works(candidate, conn, balances, source, target, room)


@kills("untouched", "funds_before_key", "failed_key_kept")
def test_a_retry_with_the_same_key_moves_nothing(candidate: Candidate) -> None:
    """A retry returns the row's id and changes nothing, whatever the balances are; a failed transfer uses no key."""
    source, target = candidate.draw.texts(2)
    key, amount = candidate.draw.text(), candidate.draw.integer(301, 900)
    balances = {source: amount - candidate.draw.integer(1, 300), target: candidate.draw.integer(0, 999)}
    conn = _bank(candidate, balances)
    with candidate.raises(f"{ERRORS}:InsufficientFunds"):
        candidate.call(TRANSFER, conn, source, target, amount, key=key)
    _assert_books(candidate, conn, balances, 0)
    candidate.sql(conn, "UPDATE wallets SET balance = ? WHERE id = ?", (amount + 10**6, source))
    number = candidate.call(TRANSFER, conn, source, target, amount, key=key).expect(int)
    left = candidate.draw.integer(0, 300)
    _assert_books(candidate, conn, {source: 10**6, target: balances[target] + amount}, 1)
    candidate.sql(conn, "UPDATE wallets SET balance = ? WHERE id = ?", (left, source))
    balances = {source: left, target: balances[target] + amount}
    for caller in (conn, _open(candidate)):
        assert candidate.call(TRANSFER, caller, source, target, amount, key=key) == number
        _assert_books(candidate, caller, balances, 1)


@kills("untouched", "key_amount_only")
def test_refuses_a_key_that_belongs_to_another_transfer(candidate: Candidate) -> None:
    """A key used with another source, target or amount: `KeyConflict` with the id it belongs to; nothing changes."""
    source, target, other = names = candidate.draw.texts(3)
    first, key = candidate.draw.text(), candidate.draw.text(13, 20)
    amount = candidate.draw.integer(1, 300)
    start = _balances(candidate, names)
    conn = _bank(candidate, start)
    candidate.call(TRANSFER, conn, source, other, amount, key=first)
    number = candidate.call(TRANSFER, conn, source, target, amount, key=key).expect(int)
    balances = {name: start[name] + amount for name in (target, other)} | {source: start[source] - 2 * amount}
    for changed in ((other, target, amount), (source, other, amount), (source, target, amount + 1)):
        with candidate.raises(f"{ERRORS}:KeyConflict") as caught:
            candidate.call(TRANSFER, conn, *changed, key=key)
        assert caught.attr("key") == key
        assert caught.attr("transfer_id") == number
        _assert_books(candidate, conn, balances, 2)
    assert candidate.call(TRANSFER, conn, source, target, amount, key=key) == number
    _assert_transfer_works(candidate, conn, balances, source, target, amount, transfers=3)


@kills("untouched", "rollback_of_refusals_only")
def test_an_error_in_the_middle_changes_nothing(candidate: Candidate) -> None:
    """A trigger aborts: the `sqlite3` exception reaches the caller unchanged, and the database is as it was."""
    source, target = candidate.draw.texts(2)
    balances = _balances(candidate, [source, target])
    conn = _bank(candidate, balances)
    events = ("UPDATE ON wallets WHEN NEW.balance < OLD.balance", "UPDATE ON wallets WHEN NEW.balance > OLD.balance")
    for event in candidate.draw.shuffled((*events, "INSERT ON transfers")):
        nonce = candidate.draw.identifier()
        candidate.sql(conn, f"CREATE TRIGGER audit BEFORE {event} BEGIN SELECT RAISE(ABORT, '{nonce}'); END")
        with candidate.raises(sqlite3.IntegrityError) as caught:
            candidate.call(TRANSFER, conn, source, target, candidate.draw.integer(1, 300))
        assert caught.args == (nonce,)
        _assert_books(candidate, conn, balances, 0)
        candidate.sql(conn, "DROP TRIGGER audit")
    _assert_transfer_works(candidate, conn, balances, source, target, candidate.draw.integer(1, 300))


@kills("untouched", "deferred_begin", "read_before_begin")
def test_nobody_writes_between_the_first_read_and_the_commit(candidate: Candidate) -> None:
    """The write lock is taken before anything is read: a second transfer is told that the database is locked."""
    source, target = candidate.draw.texts(2)
    balances = _balances(candidate, [source, target])
    amount, more = candidate.draw.integer(1, 300), candidate.draw.integer(301, 600)
    other = _bank(candidate, balances)
    candidate.sql(other, "PRAGMA journal_mode = WAL")  # here a transaction that reads does not block one that writes
    lane = candidate.lane()
    conn = _open(candidate, lane)
    conn.set_trace_callback(_pause_after_the_first_read(candidate))
    lane.start(TRANSFER, conn, source, target, amount, key=candidate.draw.text())
    assert lane.state(settle=10) == "parked"
    with candidate.raises(sqlite3.OperationalError) as caught:
        candidate.call(TRANSFER, other, source, target, more)
    assert caught.text == "database is locked"
    _assert_books(candidate, other, balances, 0)
    lane.resume(None)
    lane.result().expect(int)
    balances = {source: balances[source] - amount, target: balances[target] + amount}
    _assert_books(candidate, conn, balances, 1)
    _assert_transfer_works(candidate, other, balances, source, target, more, transfers=2)


@kills("untouched", "open_transaction_committed", "open_transaction_rolled_back")
def test_refuses_a_connection_with_a_transaction_open(candidate: Candidate) -> None:
    """`TransactionOpen`: the caller's changes are neither committed nor rolled back, the transaction stays open."""
    source, target = candidate.draw.texts(2)
    balances = _balances(candidate, [source, target])
    conn = _bank(candidate, balances)
    gift = candidate.draw.integer(1, 10**9)
    candidate.sql(conn, candidate.draw.choice(("BEGIN", "BEGIN IMMEDIATE")))
    candidate.sql(conn, "UPDATE wallets SET balance = balance + ? WHERE id = ?", (gift, target))
    with candidate.raises(f"{ERRORS}:TransactionOpen"):
        candidate.call(TRANSFER, conn, source, target, candidate.draw.integer(1, 300))
    assert candidate.attr(conn, "in_transaction") == True
    _assert_books(candidate, _open(candidate), balances, 0)
    conn.commit()
    balances[target] += gift
    _assert_books(candidate, conn, balances, 0)
    _assert_transfer_works(candidate, conn, balances, source, target, candidate.draw.integer(1, 300))


@beyond
@kills("untouched", "begin_inside_try")
def test_a_trigger_that_rolls_back_itself(candidate: Candidate) -> None:
    """`RAISE(ROLLBACK)` has ended the transaction already: its error still reaches the caller unchanged."""
    source, target = candidate.draw.texts(2)
    nonce = candidate.draw.identifier()
    balances = _balances(candidate, [source, target])
    conn = _bank(candidate, balances)
    candidate.sql(conn, f"CREATE TRIGGER t BEFORE INSERT ON transfers BEGIN SELECT RAISE(ROLLBACK, '{nonce}'); END")
    with candidate.raises(sqlite3.IntegrityError) as caught:
        candidate.call(TRANSFER, conn, source, target, candidate.draw.integer(1, 300))
    assert caught.args == (nonce,)
    candidate.sql(conn, "DROP TRIGGER t")
    _assert_transfer_works(candidate, conn, balances, source, target, candidate.draw.integer(1, 300))


@beyond
@kills("rollback_of_refusals_only")
def test_a_commit_that_fails_is_rolled_back(candidate: Candidate) -> None:
    """A reader blocks COMMIT: the error is passed on, no transaction stays open, the next transfer works."""
    source, target = candidate.draw.texts(2)
    balances = _balances(candidate, [source, target])
    conn = _bank(candidate, balances)
    reader = _open(candidate)
    candidate.sql(reader, "BEGIN")
    candidate.sql(reader, "SELECT count(*) FROM wallets")
    with candidate.raises(sqlite3.OperationalError) as caught:
        candidate.call(TRANSFER, conn, source, target, candidate.draw.integer(1, 300))
    assert caught.text == "database is locked"
    _assert_books(candidate, conn, balances, 0)
    reader.commit()
    _assert_transfer_works(candidate, conn, balances, source, target, candidate.draw.integer(1, 300))


@beyond
@kills("untouched", "key_ignored")
def test_the_empty_string_is_a_key_like_any_other(candidate: Candidate) -> None:
    """Only `None` means that there is no key."""
    source, target = candidate.draw.texts(2)
    amount = candidate.draw.integer(1, 300)
    balances = _balances(candidate, [source, target])
    conn = _bank(candidate, balances)
    number = candidate.call(TRANSFER, conn, source, target, amount, key="").expect(int)
    assert candidate.call(TRANSFER, conn, source, target, amount, key="") == number
    balances = {source: balances[source] - amount, target: balances[target] + amount}
    _assert_books(candidate, conn, balances, 1)
    _assert_transfer_works(candidate, conn, balances, source, target, amount, transfers=2)


@beyond
@kills("untouched")
def test_a_connection_with_the_default_isolation_level(candidate: Candidate) -> None:
    """A caller who forgot `isolation_level=None` gets the same transfers, committed."""
    source, target = candidate.draw.texts(2)
    amount, key = candidate.draw.integer(1, 300), candidate.draw.text()
    balances = _balances(candidate, [source, target])
    _bank(candidate, balances)
    conn = candidate.connect("bank.db", timeout=0)
    with candidate.raises(f"{ERRORS}:InsufficientFunds"):
        candidate.call(TRANSFER, conn, source, target, balances[source] + amount, key=key)
    number = candidate.call(TRANSFER, conn, source, target, amount, key=key).expect(int)
    assert candidate.call(TRANSFER, conn, source, target, amount, key=key) == number
    balances = {source: balances[source] - amount, target: balances[target] + amount}
    _assert_books(candidate, conn, balances, 1)
