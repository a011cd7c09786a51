"""Wallets and transfers between them, in one SQLite file."""

from sqlite_transfers.schema import create_schema, open_wallet
from sqlite_transfers.transfers import transfer

__all__ = ["create_schema", "open_wallet", "transfer"]
