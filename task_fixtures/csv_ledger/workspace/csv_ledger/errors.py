"""What an import can raise. Other programs rely on these classes: they stay as they are."""


class LedgerError(Exception):
    """Base of the errors of this package."""


class MalformedRow(LedgerError):
    """A row that breaks the rules of the format."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line
        self.reason = reason


class ConflictingEntry(LedgerError):
    """A known id with another date, account or amount."""

    def __init__(self, line: int, entry_id: str) -> None:
        super().__init__(f"line {line}: {entry_id!r} is known with other values")
        self.line = line
        self.entry_id = entry_id
