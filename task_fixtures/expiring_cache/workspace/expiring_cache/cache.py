"""The cache."""

import threading
import time


class ExpiringCache:
    """Maps keys to values that expire."""

    def __init__(self, ttl=None, clock=time.monotonic):
        self._ttl = ttl
        self._clock = clock
        self._entries = {}
        self._lock = threading.RLock()

    def set(self, key, value, ttl=None):
        lifetime = ttl or self._ttl
        with self._lock:
            expires = None if lifetime is None else self._clock() + lifetime
            self._entries[key] = (value, expires)

    def get(self, key, default=None):
        with self._lock:
            value, expires = self._entries.get(key, (default, None))
            if self._expired(expires):
                del self._entries[key]
                return default
            return value

    def get_or_compute(self, key, factory, ttl=None):
        value = self.get(key)
        if value is None:
            self._lock.acquire()
            value = factory()
            self.set(key, value, ttl)
            self._lock.release()
        return value

    def purge(self):
        with self._lock:
            for key, (_, expires) in self._entries.items():
                if self._expired(expires):
                    del self._entries[key]

    def _expired(self, expires):
        return expires is not None and self._clock() > expires

    def __contains__(self, key):
        return key in self._entries

    def __len__(self):
        return len(self._entries)

    def __iter__(self):
        with self._lock:
            return iter(list(self._entries))
