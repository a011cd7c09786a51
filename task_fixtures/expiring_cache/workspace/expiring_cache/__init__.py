"""A small in-memory cache whose entries expire."""

from .cache import ExpiringCache
from .errors import InvalidTTL

__all__ = ["ExpiringCache", "InvalidTTL"]
