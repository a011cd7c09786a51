"""Adds up the CSV exports of several banks."""

from csv_ledger.errors import ConflictingEntry, LedgerError, MalformedRow
from csv_ledger.ledger import Ledger

__all__ = ["ConflictingEntry", "Ledger", "LedgerError", "MalformedRow"]
