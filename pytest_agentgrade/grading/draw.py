"""Random inputs for checks: the same seed gives the same inputs, on every machine."""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from typing import TypeVar

from pytest_agentgrade.errors import TaskAuthorError

_T = TypeVar("_T")
_LETTERS = string.ascii_letters
_FOREIGN = "äöüßéèñçøåæłžčşığđþαβγδεζλμπσφψωбгджзийлпфцчшыэюя漢字仮名文山川אבגדה"
_IDENTIFIER_HEAD = string.ascii_lowercase
_IDENTIFIER_TAIL = string.ascii_lowercase + string.digits + "_"


class Draw:
    """What a check calls ``candidate.draw``."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        """The source of it all, for what the methods below do not offer."""

    def integer(self, lo: int, hi: int) -> int:
        """An int from ``lo`` to ``hi``, both included."""
        return self.random.randint(lo, hi)

    def boolean(self) -> bool:
        """True or False."""
        return self.random.random() < 0.5

    def float(self, lo: float, hi: float) -> float:
        """A finite float between the two that is no whole number."""
        for _ in range(1_000):
            value = self.random.uniform(lo, hi)
            if not value.is_integer():
                return value
        raise TaskAuthorError(f"draw.float({lo!r}, {hi!r}) finds whole numbers only", "choose smaller bounds")

    def decimal(self, lo: int, hi: int, places: int) -> Decimal:
        """A Decimal between two whole numbers with exactly ``places`` digits after the point."""
        scale = 10**places
        return Decimal(self.random.randint(lo * scale, hi * scale)).scaleb(-places)

    def text(self, min: int = 4, max: int = 12) -> str:
        """Letters, now and then foreign ones; no white space, no control characters."""
        letters = _LETTERS + _FOREIGN if self.random.random() < 0.25 else _LETTERS
        return "".join(self.random.choices(letters, k=self.random.randint(min, max)))

    def identifier(self) -> str:
        """A lower-case ASCII name that is no Python keyword and no builtin's name."""
        tail = self.random.choices(_IDENTIFIER_TAIL, k=self.random.randint(6, 11))
        return self.random.choice(_IDENTIFIER_HEAD) + "".join(tail) + self.random.choice(string.digits)

    def texts(self, n: int) -> list[str]:
        """``n`` different texts."""
        return _different(self.text, n)

    def identifiers(self, n: int) -> list[str]:
        """``n`` different identifiers."""
        return _different(self.identifier, n)

    def bytes(self, n: int) -> bytes:
        """``n`` bytes."""
        return self.random.randbytes(n)

    def date(self, lo_year: int = 2001, hi_year: int = 2030) -> date:
        """A day of those years, both included."""
        first, last = date(lo_year, 1, 1).toordinal(), date(hi_year, 12, 31).toordinal()
        return date.fromordinal(self.random.randint(first, last))

    def choice(self, options: Sequence[_T]) -> _T:
        """One of them."""
        return self.random.choice(options)

    def sample(self, options: Sequence[_T], k: int) -> list[_T]:
        """``k`` of them, each at most once, in random order."""
        return self.random.sample(options, k)

    def shuffled(self, options: Sequence[_T]) -> list[_T]:
        """All of them in random order."""
        return self.random.sample(options, len(options))


def _different(make: Callable[[], str], n: int) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < n:
        found.setdefault(make())
    return list(found)
