"""The ledger: entries by id, balances by account and day."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from typing import NamedTuple

from csv_ledger.errors import LedgerError, MalformedRow

HEADER = "id,date,account,amount,memo"


class Entry(NamedTuple):
    day: date
    account: str
    amount: Decimal
    memo: str


class Ledger:
    """Entries of all imported files."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}

    def import_rows(self, lines: Iterable[str]) -> int:
        """Add the rows of one file; return how many were added."""
        try:
            rows = [line.strip() for line in lines if line.strip()]
        except Exception as error:
            raise LedgerError(f"cannot read the file: {error}") from error
        if not rows or rows[0] != HEADER:
            raise MalformedRow(1, f"expected {HEADER}")
        for number, row in enumerate(rows[1:], start=1):
            fields = row.split(",")
            if len(fields) != len(HEADER.split(",")):
                raise MalformedRow(number, "wrong number of fields")
            entry_id, day, account, amount, memo = fields
            self._entries[entry_id] = Entry(date.fromisoformat(day), account, Decimal(amount), memo)
        return len(rows) - 1

    def balance(self, account: str, day: date | None = None) -> Decimal:
        """The sum of the account's amounts, up to and including ``day`` if it is given."""
        total = Decimal(0)
        for entry in self._entries.values():
            if entry.account == account and (day is None or entry.day <= day):
                total += entry.amount
        return total

    def accounts(self) -> list[str]:
        return sorted({entry.account for entry in self._entries.values()})

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, entry_id: object) -> bool:
        return entry_id in self._entries
