import unittest
from datetime import date
from decimal import Decimal

from csv_ledger import ConflictingEntry, Ledger, MalformedRow

HEADER = "id,date,account,amount,memo\n"


class LedgerTest(unittest.TestCase):
    def test_balances_by_account_and_day(self):
        ledger = Ledger()
        added = ledger.import_rows(
            [HEADER, "a1,2026-03-01,savings,250.00,salary\n", "a2,2026-03-15,savings,-12.50,books\n", "a3,2026-03-02,rent,-700,\n"]
        )
        self.assertEqual(added, 3)
        self.assertEqual(ledger.balance("savings"), Decimal("237.50"))
        self.assertEqual(ledger.balance("savings", date(2026, 3, 14)), Decimal("250.00"))
        self.assertEqual(ledger.accounts(), ["rent", "savings"])
        self.assertIn("a1", ledger)
        self.assertEqual(len(ledger), 3)

    def test_wrong_header_is_refused(self):
        with self.assertRaises(MalformedRow) as caught:
            Ledger().import_rows(["id,account\n"])
        self.assertEqual(caught.exception.line, 1)

    def test_quoted_field_keeps_its_comma(self):
        ledger = Ledger()
        ledger.import_rows([HEADER, 'a1,2026-03-01,"savings, joint",5,\n'])
        self.assertEqual(ledger.accounts(), ["savings, joint"])

    def test_same_row_is_counted_once(self):
        ledger = Ledger()
        ledger.import_rows([HEADER, "a1,2026-03-01,savings,5.0,\n"])
        self.assertEqual(ledger.import_rows([HEADER, "a1,2026-03-01,savings,5.00,again\n"]), 0)
        with self.assertRaises(ConflictingEntry) as caught:
            ledger.import_rows([HEADER, "a1,2026-03-01,savings,6,\n"])
        self.assertEqual((caught.exception.line, caught.exception.entry_id), (2, "a1"))
        self.assertEqual(ledger.balance("savings"), Decimal(5))

    def test_line_of_a_malformed_row(self):
        ledger = Ledger()
        with self.assertRaises(MalformedRow) as caught:
            ledger.import_rows([HEADER, "a1,2026-03-01,savings,5,\n", "\n", "a2,2026-03-01,savings,five,\n"])
        self.assertEqual(caught.exception.line, 4)
        self.assertEqual(len(ledger), 0)


if __name__ == "__main__":
    unittest.main()
