"""Why a transfer is refused."""


class TransferError(Exception):
    """Base of all refusals."""


class TransactionOpen(TransferError):
    """The caller's connection is in the middle of a transaction."""

    def __init__(self):
        super().__init__("the connection has a transaction open")


class InvalidAmount(TransferError):
    """Not an int from 1 to 2**63 - 1."""

    def __init__(self, amount):
        super().__init__(f"invalid amount: {amount!r}")
        self.amount = amount


class SameWallet(TransferError):
    """Source and target are one wallet."""

    def __init__(self, wallet):
        super().__init__(f"source and target are both {wallet!r}")
        self.wallet = wallet


class KeyConflict(TransferError):
    """The key belongs to an earlier transfer with other arguments."""

    def __init__(self, key, transfer_id):
        super().__init__(f"key {key!r} belongs to transfer {transfer_id}")
        self.key = key
        self.transfer_id = transfer_id


class UnknownWallet(TransferError):
    """No such wallet."""

    def __init__(self, wallet):
        super().__init__(f"unknown wallet: {wallet!r}")
        self.wallet = wallet


class InsufficientFunds(TransferError):
    """The source holds less than the amount; ``balance`` is what it holds."""

    def __init__(self, wallet, balance, amount):
        super().__init__(f"wallet {wallet!r} holds {balance}, less than {amount}")
        self.wallet = wallet
        self.balance = balance
        self.amount = amount


class BalanceOverflow(TransferError):
    """The target cannot hold the amount as well; ``balance`` is what it holds."""

    def __init__(self, wallet, balance, amount):
        super().__init__(f"wallet {wallet!r} holds {balance} and has no room for {amount}")
        self.wallet = wallet
        self.balance = balance
        self.amount = amount
