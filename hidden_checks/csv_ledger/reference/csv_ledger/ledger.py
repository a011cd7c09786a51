"""The ledger: entries by id, balances by account and day."""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterable, Iterator
from datetime import date
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, Inexact
from typing import NamedTuple

from csv_ledger.errors import ConflictingEntry, MalformedRow

HEADER = ["id", "date", "account", "amount", "memo"]
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_AMOUNT = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact])
csv.field_size_limit(sys.maxsize)


class Entry(NamedTuple):
    day: date
    account: str
    amount: Decimal


class Ledger:
    """Entries of all imported files."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}

    def import_rows(self, lines: Iterable[str]) -> int:
        """Add the rows of one file, all or none; return the number of new entries."""
        new: dict[str, Entry] = {}
        for line, fields in _records(lines):
            entry_id, entry = _parse(line, fields)
            known = self._entries.get(entry_id, new.get(entry_id))
            if known is None:
                new[entry_id] = entry
            elif known != entry:
                raise ConflictingEntry(line, entry_id)
        self._entries.update(new)
        return len(new)

    def balance(self, account: str, day: date | None = None) -> Decimal:
        """The exact sum of the account's amounts, up to and including ``day`` if it is given."""
        total = Decimal(0)
        for entry in self._entries.values():
            if entry.account == account and (day is None or entry.day <= day):
                total = _EXACT.add(total, entry.amount)
        return total

    def accounts(self) -> list[str]:
        return sorted({entry.account for entry in self._entries.values()})

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, entry_id: object) -> bool:
        return entry_id in self._entries


def _records(lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """The number of its first line and the fields of each row after the header."""
    failures: list[Exception] = []

    def watched() -> Iterator[str]:
        try:
            for index, line in enumerate(lines):
                yield line if index else line.removeprefix("\ufeff")
        except Exception as error:
            failures.append(error)
            raise

    reader = csv.reader(watched(), strict=True)
    first = 1
    try:
        if next(reader, None) != HEADER:
            raise MalformedRow(1, "expected the header " + ",".join(HEADER))
        first = reader.line_num + 1
        for fields in reader:
            if fields:
                yield first, fields
            first = reader.line_num + 1
    except csv.Error as error:
        if failures:
            raise
        raise MalformedRow(first, str(error)) from error


def _parse(line: int, fields: list[str]) -> tuple[str, Entry]:
    if len(fields) != len(HEADER):
        raise MalformedRow(line, f"{len(fields)} fields")
    entry_id, day, account, amount, _ = fields
    if not entry_id or not account:
        raise MalformedRow(line, "empty id or account")
    if not _AMOUNT.fullmatch(amount):
        raise MalformedRow(line, f"amount {amount!r}")
    try:
        parsed = date.fromisoformat(day if _DATE.fullmatch(day) else "")
    except ValueError as error:
        raise MalformedRow(line, f"date {day!r}") from error
    return entry_id, Entry(parsed, account, Decimal(amount))
