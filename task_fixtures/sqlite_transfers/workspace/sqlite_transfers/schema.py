"""The two tables. Databases with this schema are in use: it does not change."""

TABLES = (
    """CREATE TABLE wallets (
        id TEXT PRIMARY KEY NOT NULL,
        balance INTEGER NOT NULL
    )""",
    """CREATE TABLE transfers (
        id INTEGER PRIMARY KEY,
        source TEXT NOT NULL,
        target TEXT NOT NULL,
        amount INTEGER NOT NULL,
        key TEXT UNIQUE
    )""",
)


def create_schema(conn):
    """Create the tables in an empty database."""
    for statement in TABLES:
        conn.execute(statement)


def open_wallet(conn, wallet, balance=0):
    """Add a wallet."""
    conn.execute("INSERT INTO wallets (id, balance) VALUES (?, ?)", (wallet, balance))
