"""Hidden checks of the task csv_ledger."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import NamedTuple

from pytest_agentgrade.checks import Candidate, beyond, kills

HEADER = "id,date,account,amount,memo\n"
MALFORMED = "csv_ledger.errors:MalformedRow"
CONFLICT = "csv_ledger.errors:ConflictingEntry"
ARABIC = {ord(str(digit)): 0x660 + digit for digit in range(10)}
"""Digits that int() and Decimal() read too."""


class Row(NamedTuple):
    """One row of a file, as text."""

    id: str
    date: str
    account: str
    amount: str
    memo: str

    def csv(self, end: str = "\n") -> str:
        """The row as it stands in a file, with every field quoted that needs it."""
        text = io.StringIO()
        csv.writer(text, lineterminator=end).writerow(self)
        return text.getvalue()


def _rows(candidate: Candidate, count: int) -> list[Row]:
    """Random good rows with distinct ids; amounts with two places, none zero."""
    draw = candidate.draw
    ids, accounts, memos = draw.texts(count), draw.texts(count), draw.texts(count)
    amounts = [_plain(draw.integer(1, 10**6) * draw.choice([1, -1]), 2) for _ in range(count)]
    dates = [draw.date().isoformat() for _ in range(count)]
    return [Row(*fields) for fields in zip(ids, dates, accounts, amounts, memos, strict=True)]


def _plain(units: int, places: int) -> str:
    """``units`` / 10**places in plain digits: (-5, 2) gives -0.05."""
    digits = str(abs(units)).zfill(places + 1)
    return f"{'-' if units < 0 else ''}{digits[:-places]}.{digits[-places:]}"


def _physical(*parts: str) -> list[str]:
    """The lines an open file would give for the joined ``parts``."""
    return list(io.StringIO("".join(parts), newline=""))


@kills("balance_before_day", "accounts_in_order_of_appearance")
def test_plain_rows_add_up_by_account_and_day(candidate: Candidate) -> None:
    """The balance of an account counts entries up to and including the day; accounts come sorted."""
    draw = candidate.draw
    first, second, unknown = sorted(draw.texts(3), reverse=True)
    day = draw.date(2002, 2029)
    days = [day + timedelta(days=offset) for offset in (draw.integer(1, 400), -draw.integer(1, 400), 0)]
    cents = [draw.integer(1, 10**6) for _ in range(4)]
    rows = [
        row._replace(account=first, date=when.isoformat(), amount=_plain(amount, 2))
        for row, when, amount in zip(_rows(candidate, 3), days, cents, strict=False)
    ]
    other = Row(draw.identifier(), day.isoformat(), second, _plain(-cents[3], 2), draw.text())
    ledger = candidate.call("csv_ledger:Ledger")
    assert ledger.import_rows([HEADER, *(row.csv() for row in [*rows, other])]) == 4
    assert candidate.len(ledger) == 4
    assert candidate.contains(ledger, other.id) == True
    assert candidate.contains(ledger, unknown) == False
    assert ledger.accounts() == [second, first]
    assert ledger.balance(first) == Decimal(sum(cents[:3])) / 100
    assert ledger.balance(first, day) == Decimal(cents[1] + cents[2]) / 100
    assert ledger.balance(first, day - timedelta(days=1000)) == Decimal(0)
    assert ledger.balance(second, day) == Decimal(-cents[3]) / 100
    assert ledger.balance(unknown) == Decimal(0)


@kills("untouched", "default_decimal_context", "hundred_digits")
def test_balances_are_exact_at_any_size(candidate: Candidate) -> None:
    """A balance is exact whatever the size of its amounts and their number of places."""
    draw = candidate.draw
    places = draw.integer(40, 90)
    units = [10 * draw.integer(10**200, 10**240) + draw.integer(1, 4), -10 * draw.integer(10**150, 10**180), 2]
    cents = [draw.integer(1, 10**6) for _ in range(2)]
    large, small = draw.texts(2)
    rows = [row._replace(account=large) for row in _rows(candidate, 3)]
    rows = [row._replace(amount=_plain(unit, places)) for row, unit in zip(rows, units, strict=True)]
    few = [Row(draw.identifier(), "2026-03-01", small, _plain(cent, 2), "") for cent in cents]
    ledger = candidate.call("csv_ledger:Ledger")
    assert ledger.import_rows([HEADER, *(row.csv() for row in [*rows, *few])]) == 5
    assert ledger.balance(large) == Decimal(_plain(sum(units), places))
    assert ledger.balance(small) == Decimal(_plain(sum(cents), 2))


@kills("untouched", "any_decimal_text", "unicode_digits", "bare_point")
def test_only_plain_digits_are_an_amount(candidate: Candidate) -> None:
    """An amount is an optional sign, ASCII digits, optionally a point and ASCII digits; nothing else."""
    draw = candidate.draw
    n = str(draw.integer(10, 10**9))
    arabic = n.translate(ARABIC)
    good = [n, f"+{n}", f"-{n}", f"00{n}", f"{n}.{n}", f"-0.{n}", f"{n}.00", "-0"]
    bad = [
        "", "-", ".", f"{n}.", f".{n}", f"{n}e2", f"{n[0]}_{n[1:]}", f" {n}", f"{n} ", f"{n}\n", f"--{n}", f"- {n}",
        f"1,{n}", f"0x{n}", f"{n}.{n}.{n}", arabic, f"{n}.{arabic}", "NaN", "Infinity", "-inf",
    ]  # fmt: skip
    row = _rows(candidate, 1)[0]
    for text in draw.shuffled(good):
        ledger = candidate.call("csv_ledger:Ledger")
        assert ledger.import_rows(_physical(HEADER, row._replace(amount=text).csv())) == 1
        assert ledger.balance(row.account) == Decimal(text)
    for text in draw.shuffled(bad):
        ledger = candidate.call("csv_ledger:Ledger")
        with candidate.raises(MALFORMED):
            ledger.import_rows(_physical(HEADER, row._replace(amount=text).csv()))
        assert candidate.len(ledger) == 0


@kills("untouched", "line_ends_unified", "one_reader_a_line")
def test_quoted_fields_are_kept_as_they_stand(candidate: Candidate) -> None:
    """A quoted field may hold commas, quotes and line breaks; nothing in it is trimmed or converted."""
    draw = candidate.draw
    a, b, c, d, e = draw.texts(5)
    odd, loose, plain = _rows(candidate, 3)
    odd = odd._replace(id=f"{a}\n,{b}", account=f' {a},\r\n"{b}"\n\n{c}\u2028{d} ', memo=f'"\r\n{e}\n')
    loose = loose._replace(account=f"{d}\u2028{e}")
    rows = sorted([odd, loose, plain], key=lambda row: row.account)
    end = draw.choice(["\n", "\r\n"])
    lines = _physical(HEADER, *(row.csv(end) for row in rows))
    ledger = candidate.call("csv_ledger:Ledger")
    assert ledger.import_rows(candidate.lines(iter(lines))) == 3
    for row in rows:
        assert candidate.contains(ledger, row.id) == True
        assert ledger.balance(row.account) == Decimal(row.amount)
    assert ledger.accounts() == [row.account for row in rows]


@kills("untouched", "no_byte_order_mark", "byte_order_mark_on_any_line", "all_byte_order_marks")
def test_one_byte_order_mark_is_ignored(candidate: Candidate) -> None:
    """One U+FEFF at the very start of the first line is ignored; anywhere else it is ordinary text."""
    rows = _rows(candidate, 3)
    marked = rows[1]._replace(id="\ufeff" + rows[1].id)
    lines = ["\ufeff" + HEADER, rows[0].csv(), marked.csv(), rows[2].csv()]
    ledger = candidate.call("csv_ledger:Ledger")
    assert ledger.import_rows(candidate.lines(iter(lines))) == 3
    assert candidate.contains(ledger, marked.id) == True
    assert candidate.contains(ledger, rows[1].id) == False
    ledger = candidate.call("csv_ledger:Ledger")
    with candidate.raises(MALFORMED) as caught:
        ledger.import_rows(["\ufeff" + lines[0], *lines[1:]])
    assert caught.attr("line") == 1


@kills("untouched", "line_where_the_row_ends", "number_of_the_record")
def test_malformed_row_is_named_by_its_first_physical_line(candidate: Candidate) -> None:
    """The line of an error is where its row begins; empty lines and those inside fields count."""
    draw = candidate.draw
    before: list[str] = []
    for row in _rows(candidate, 5):
        before += ["\n"] * draw.integer(1, 3)
        before += _physical(row._replace(memo="\n".join(draw.texts(draw.integer(2, 4)))).csv())
    bad = Row(draw.identifier(), "2026-03-01", "\n".join(draw.texts(2)), draw.text(), "\n\n" + draw.text())
    good = bad._replace(amount=str(draw.integer(1, 99)))
    ledger = candidate.call("csv_ledger:Ledger")
    with candidate.raises(MALFORMED) as caught:
        ledger.import_rows(candidate.lines(iter([HEADER, *before, *_physical(bad.csv())])))
    assert caught.attr("line") == 1 + len(before) + 1
    ledger = candidate.call("csv_ledger:Ledger")
    assert ledger.import_rows(candidate.lines(iter([HEADER, *before, *_physical(good.csv())]))) == 6


def _broken(candidate: Candidate, row: Row) -> list[str]:
    """``row`` with an empty field, a date that is none, a wrong number of fields, or quotes out of place."""
    year, month, day = (candidate.draw.integer(*span) for span in ((2001, 2030), (1, 9), (10, 28)))
    dates = [
        f"{year}-02-30", f"{year}-13-{day}", f"{year}0{month}{day}", f"{year}-W{day}-{month % 7 + 1}",
        f"{year}-{month}-{day}", f"{day}.0{month}.{year}", f"{row.date}T00:00", f" {row.date}", f"{row.date}\n",
        row.date.translate(ARABIC), "",
    ]  # fmt: skip
    changes = [{"id": ""}, {"account": ""}, *({"date": text} for text in dates)]
    four = ",".join(row[:4])
    ends = ["", f",{row.memo},", f',"{row.memo}', f',"{row.memo}"{row.id}']
    return [*(row._replace(**change).csv() for change in changes), *(f"{four}{end}\n" for end in ends), "\t\n"]


@kills("untouched", "any_iso_date", "loose_quotes", "rows_before_kept")
def test_rules_of_header_and_rows_hold(candidate: Candidate) -> None:
    """What breaks the rules of header, quoting, fields or dates is malformed, and nothing of its file is kept."""
    first, row, last = _rows(candidate, 3)
    ledger = candidate.call("csv_ledger:Ledger")
    for text in candidate.draw.shuffled(_broken(candidate, row)):
        with candidate.raises(MALFORMED):
            ledger.import_rows(_physical(HEADER, first.csv(), text))
    columns = HEADER.strip().split(",")
    for header in (columns[:4], [*columns, row.memo], [*columns[1:], "id"], ["Id", *columns[1:]], []):
        with candidate.raises(MALFORMED) as caught:
            ledger.import_rows([",".join(header) + "\n", first.csv()])
        assert caught.attr("line") == 1
    with candidate.raises(MALFORMED):
        ledger.import_rows(candidate.lines(iter(())))
    assert candidate.len(ledger) == 0
    assert ledger.import_rows([HEADER, first.csv(), row.csv(), last.csv()]) == 3


@kills("untouched", "undone_for_own_errors_only", "value_errors_are_malformed")
def test_error_while_reading_changes_nothing(candidate: Candidate) -> None:
    """An error raised by the lines themselves passes through unchanged and leaves the ledger as it was."""
    draw = candidate.draw
    old, *rows = _rows(candidate, 6)
    good = [HEADER, *(row.csv() for row in rows)]
    ledger = candidate.call("csv_ledger:Ledger")
    assert ledger.import_rows([HEADER, old.csv()]) == 1

    def breaking(error: Exception) -> Iterator[str]:
        yield from good
        raise error

    for error in (OSError(5, draw.text()), ValueError(draw.text()), KeyError(draw.text())):
        with candidate.raises(type(error)) as caught:
            ledger.import_rows(candidate.lines(breaking(error)))
        assert caught.args == error.args
        assert candidate.len(ledger) == 1
        assert ledger.accounts() == [old.account]
    assert ledger.import_rows(candidate.lines(iter(good))) == 5
    assert candidate.len(ledger) == 6


@kills("untouched", "ids_of_this_file_only", "ids_of_earlier_files_only", "amounts_compared_as_text")
def test_repeated_rows_are_skipped_and_conflicts_refused(candidate: Candidate) -> None:
    """A known id is skipped if date, account and amount agree, else it conflicts: in one file and across files."""
    draw = candidate.draw
    a, b, c, d = _rows(candidate, 4)
    again = a._replace(amount=a.amount + "0" * draw.integer(1, 3), memo=draw.text())
    ledger = candidate.call("csv_ledger:Ledger")
    assert ledger.import_rows([HEADER, a.csv(), b.csv(), again.csv()]) == 2
    assert ledger.import_rows([HEADER, b.csv(), c.csv(), again.csv(), c.csv()]) == 1
    for known in (a, d):
        for name in ("date", "account", "amount"):
            differs = known._replace(**{name: getattr(c, name)})
            with candidate.raises(CONFLICT) as caught:
                ledger.import_rows([HEADER, d.csv(), b.csv(), differs.csv()])
            assert caught.attr("line") == 4
            assert caught.attr("entry_id") == known.id
    assert candidate.len(ledger) == 3
    assert candidate.contains(ledger, d.id) == False
    for row in (a, b, c):
        assert ledger.balance(row.account) == Decimal(row.amount)


@kills("untouched", "list_of_lines", "whole_rows_kept")
def test_file_larger_than_memory_is_read_in_one_pass(candidate: Candidate) -> None:
    """Reading stops at the first error, and a file whose memos exceed the memory is imported."""
    draw = candidate.draw
    rows = _rows(candidate, 40)
    wrong = rows[5]._replace(amount=draw.text())
    source = candidate.lines(iter([HEADER, *(row.csv() for row in [*rows[:5], wrong, *rows[6:]])]))
    ledger = candidate.call("csv_ledger:Ledger")
    with candidate.raises(MALFORMED):
        ledger.import_rows(source)
    assert source.pulled <= 9
    ledger = candidate.call("csv_ledger:Ledger")
    # One character outside the basic plane makes Python hold four bytes for each of the memo: 150 MB in all.
    memo = draw.text() * 1_600 + "\U0001f4b6"
    total = 150_000_000 // (4 * len(memo)) + 1
    lines = (row.csv() for row in (rows[n % 40]._replace(id=f"{n}", memo=memo) for n in range(total)))
    assert ledger.import_rows(candidate.iterator(_with_header(lines), batch=8)) == total
    assert candidate.len(ledger) == total
    amounts = [Decimal(rows[n % 40].amount) for n in range(total)]
    assert ledger.balance(rows[7].account) == sum(amounts[7::40])


def _with_header(lines: Iterator[str]) -> Iterator[str]:
    yield HEADER
    yield from lines


@beyond
@kills("untouched")
def test_amounts_of_thousands_of_digits(candidate: Candidate) -> None:
    """More digits than int() reads at once are still exact."""
    draw = candidate.draw
    high, low = (str(draw.integer(10**3999, 10**4000 - 1)) * 2 for _ in range(2))
    whole, part = _rows(candidate, 2)
    lines = [HEADER, whole._replace(amount=high).csv(), part._replace(account=whole.account, amount="0." + low).csv()]
    ledger = candidate.call("csv_ledger:Ledger")
    assert ledger.import_rows(lines) == 2
    assert ledger.balance(whole.account) == Decimal(f"{high}.{low}")


@beyond
@kills("untouched", "field_limit_of_the_csv_module")
def test_field_longer_than_the_csv_module_allows(candidate: Candidate) -> None:
    """A field may be longer than the 131,072 characters that the csv module takes by default."""
    draw = candidate.draw
    row = _rows(candidate, 1)[0]
    long = row._replace(account="\n".join(draw.texts(2)), memo=draw.text(8, 12) * draw.integer(20_000, 30_000))
    ledger = candidate.call("csv_ledger:Ledger")
    assert ledger.import_rows(_physical(HEADER, long.csv())) == 1
    assert ledger.balance(long.account) == Decimal(row.amount)


@beyond
@kills("untouched", "csv_errors_of_the_lines_are_malformed")
def test_csv_error_of_the_lines_passes_through(candidate: Candidate) -> None:
    """The lines may come from another csv reader: its csv.Error is no malformed row of this file."""
    nonce = candidate.draw.text()
    row = _rows(candidate, 1)[0]

    def breaking() -> Iterator[str]:
        yield HEADER
        yield row.csv()
        raise csv.Error(nonce)

    ledger = candidate.call("csv_ledger:Ledger")
    with candidate.raises(csv.Error) as caught:
        ledger.import_rows(candidate.lines(breaking()))
    assert caught.args == (nonce,)
    assert candidate.len(ledger) == 0
    assert ledger.import_rows([HEADER, row.csv()]) == 1
