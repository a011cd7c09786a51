"""The errors of this package."""


class InvalidTTL(ValueError):
    """Something that is no time to live; ``ttl`` is what was given."""

    def __init__(self, ttl):
        super().__init__(f"not a time to live: {ttl!r}")
        self.ttl = ttl
