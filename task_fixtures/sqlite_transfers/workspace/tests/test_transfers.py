import sqlite3
import unittest

from sqlite_transfers import create_schema, open_wallet, transfer
from sqlite_transfers.errors import InsufficientFunds, UnknownWallet


class TransferTest(unittest.TestCase):
    def setUp(self):
        self.conn = sqlite3.connect(":memory:", isolation_level=None)
        self.addCleanup(self.conn.close)
        create_schema(self.conn)
        open_wallet(self.conn, "ada", 500)
        open_wallet(self.conn, "bob", 20)

    def balances(self):
        return dict(self.conn.execute("SELECT id, balance FROM wallets"))

    def test_moves_the_amount(self):
        transfer(self.conn, "ada", "bob", 120)
        self.assertEqual(self.balances(), {"ada": 380, "bob": 140})

    def test_records_the_transfer(self):
        number = transfer(self.conn, "ada", "bob", 120, key="invoice 7")
        rows = self.conn.execute("SELECT * FROM transfers").fetchall()
        self.assertEqual(rows, [(number, "ada", "bob", 120, "invoice 7")])

    def test_refuses_more_than_the_balance(self):
        with self.assertRaises(InsufficientFunds) as caught:
            transfer(self.conn, "bob", "ada", 21)
        self.assertEqual(caught.exception.balance, 20)
        self.assertEqual(self.balances(), {"ada": 500, "bob": 20})

    def test_unknown_target_keeps_the_money(self):
        with self.assertRaises(UnknownWallet):
            transfer(self.conn, "ada", "eve", 120)
        self.assertEqual(self.balances(), {"ada": 500, "bob": 20})

    def test_retry_moves_money_once(self):
        first = transfer(self.conn, "ada", "bob", 120, key="invoice 7")
        self.assertEqual(transfer(self.conn, "ada", "bob", 120, key="invoice 7"), first)
        self.assertEqual(self.balances(), {"ada": 380, "bob": 140})


if __name__ == "__main__":
    unittest.main()
