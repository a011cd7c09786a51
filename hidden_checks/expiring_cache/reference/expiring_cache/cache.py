"""The cache."""

import math
import threading
import time

from .errors import InvalidTTL

_CACHE_TTL = object()


class _Flight:
    """One running factory call, and what came of it."""

    def __init__(self):
        self.over = threading.Event()
        self.value = None
        self.error = None

    def wait(self):
        self.over.wait()
        if self.error is not None:
            raise self.error
        return self.value


class ExpiringCache:
    """Maps keys to values that expire."""

    def __init__(self, ttl=None, clock=time.monotonic):
        self._ttl = self._checked(ttl)
        self._clock = clock
        self._latest = None
        self._entries = {}  # key -> (value, time of insertion, ttl)
        self._flights = {}  # key -> _Flight
        self._lock = threading.RLock()

    def set(self, key, value, ttl=_CACHE_TTL):
        ttl = self._checked(ttl)
        with self._lock:
            now = self._now()
            if not self._alive(key, now):
                self._entries.pop(key, None)
            self._entries[key] = (value, now, ttl)

    def get(self, key, default=None):
        with self._lock:
            return self._entries[key][0] if self._alive(key, self._now()) else default

    def get_or_compute(self, key, factory, ttl=_CACHE_TTL):
        ttl = self._checked(ttl)
        with self._lock:
            if self._alive(key, self._now()):
                return self._entries[key][0]
            running = self._flights.get(key)
            if running is None:
                flight = self._flights[key] = _Flight()
        if running is not None:
            return running.wait()
        try:
            flight.value = factory()
            self.set(key, flight.value, ttl)
        except BaseException as error:
            flight.error = error
            raise
        finally:
            with self._lock:
                del self._flights[key]
            flight.over.set()
        return flight.value

    def purge(self):
        with self._lock:
            now = self._now()
            expired = [key for key in self._entries if not self._alive(key, now)]
            for key in expired:
                del self._entries[key]
            return len(expired)

    def __contains__(self, key):
        with self._lock:
            return self._alive(key, self._now())

    def __len__(self):
        with self._lock:
            return len(self._living_keys())

    def __iter__(self):
        with self._lock:
            return iter(self._living_keys())

    def _living_keys(self):
        now = self._now()
        return [key for key in self._entries if self._alive(key, now)]

    def _alive(self, key, now):
        if key not in self._entries:
            return False
        _, inserted, ttl = self._entries[key]
        return ttl is None or now - inserted < ttl

    def _now(self):
        reading = self._clock()
        if self._latest is None or reading > self._latest:
            self._latest = reading
        return self._latest

    def _checked(self, ttl):
        if ttl is _CACHE_TTL:
            return self._ttl
        if ttl is None:
            return None
        if isinstance(ttl, bool) or not isinstance(ttl, (int, float)):
            raise InvalidTTL(ttl)
        if isinstance(ttl, float) and not math.isfinite(ttl) or ttl <= 0:
            raise InvalidTTL(ttl)
        return ttl
