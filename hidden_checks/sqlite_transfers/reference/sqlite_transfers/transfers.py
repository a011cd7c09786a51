"""Moving money from one wallet to another."""

from sqlite_transfers.errors import (
    BalanceOverflow,
    InsufficientFunds,
    InvalidAmount,
    KeyConflict,
    SameWallet,
    TransactionOpen,
    UnknownWallet,
)

MAX_BALANCE = 2**63 - 1


def transfer(conn, source, target, amount, key=None):
    """Move ``amount`` from ``source`` to ``target`` and return the id of the transfer.

    Raises a TransferError or passes on an error of SQLite; then nothing has changed.
    """
    if conn.in_transaction:
        raise TransactionOpen()
    if type(amount) is not int or not 1 <= amount <= MAX_BALANCE:
        raise InvalidAmount(amount)
    if source == target:
        raise SameWallet(source)
    conn.execute("BEGIN IMMEDIATE")
    try:
        number = _earlier(conn, source, target, amount, key)
        if number is None:
            number = _move(conn, source, target, amount, key)
        conn.execute("COMMIT")
    except BaseException:
        conn.rollback()
        raise
    return number


def _earlier(conn, source, target, amount, key):
    """The id of the transfer that has ``key`` already, or None."""
    if key is None:
        return None
    row = conn.execute("SELECT id, source, target, amount FROM transfers WHERE key = ?", (key,)).fetchone()
    if row is None:
        return None
    if tuple(row[1:]) != (source, target, amount):
        raise KeyConflict(key, row[0])
    return row[0]


def _move(conn, source, target, amount, key):
    held = _balance(conn, source)
    room = MAX_BALANCE - _balance(conn, target)
    if held < amount:
        raise InsufficientFunds(source, held, amount)
    if room < amount:
        raise BalanceOverflow(target, MAX_BALANCE - room, amount)
    conn.execute("UPDATE wallets SET balance = balance - ? WHERE id = ?", (amount, source))
    conn.execute("UPDATE wallets SET balance = balance + ? WHERE id = ?", (amount, target))
    cursor = conn.execute(
        "INSERT INTO transfers (source, target, amount, key) VALUES (?, ?, ?, ?)",
        (source, target, amount, key),
    )
    return cursor.lastrowid


def _balance(conn, wallet):
    row = conn.execute("SELECT balance FROM wallets WHERE id = ?", (wallet,)).fetchone()
    if row is None:
        raise UnknownWallet(wallet)
    return row[0]
