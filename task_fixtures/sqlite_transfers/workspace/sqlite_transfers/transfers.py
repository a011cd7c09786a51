"""Moving money from one wallet to another."""


def transfer(conn, source, target, amount, key=None):
    """Move ``amount`` from ``source`` to ``target`` and return the id of the transfer."""
    if amount <= 0:
        raise ValueError("amount must be positive")
    with conn:
        balance = _balance(conn, source)
        if balance < amount:
            raise ValueError(f"{source} has only {balance}")
        conn.execute("UPDATE wallets SET balance = ? WHERE id = ?", (balance - amount, source))
        conn.execute("UPDATE wallets SET balance = balance + ? WHERE id = ?", (amount, target))
        cursor = conn.execute(
            "INSERT INTO transfers (source, target, amount, key) VALUES (?, ?, ?, ?)",
            (source, target, amount, key),
        )
    return cursor.lastrowid


def _balance(conn, wallet):
    (balance,) = conn.execute("SELECT balance FROM wallets WHERE id = ?", (wallet,)).fetchone()
    return balance
