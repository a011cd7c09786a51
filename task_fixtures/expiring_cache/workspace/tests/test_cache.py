import unittest

from expiring_cache import ExpiringCache


class ExpiringCacheTest(unittest.TestCase):
    def setUp(self):
        self.now = 100
        self.cache = ExpiringCache(ttl=10, clock=lambda: self.now)

    def test_value_is_returned(self):
        self.cache.set("a", 1)
        self.assertEqual(self.cache.get("a"), 1)
        self.assertEqual(self.cache.get("b", "nothing"), "nothing")

    def test_expired_value_is_gone(self):
        self.cache.set("a", 1)
        self.now = 111
        self.assertIsNone(self.cache.get("a"))

    def test_own_ttl(self):
        self.cache.set("a", 1, ttl=30)
        self.now = 129
        self.assertEqual(self.cache.get("a"), 1)

    def test_iteration(self):
        for key in "cab":
            self.cache.set(key, 1)
        self.assertEqual(list(self.cache), ["c", "a", "b"])

    def test_len_leaves_out_expired_entries(self):
        self.cache.set("a", 1)
        self.cache.set("b", 2, ttl=30)
        self.now = 120
        self.assertEqual(len(self.cache), 1)

    def test_purge(self):
        self.cache.set("a", 1)
        self.cache.set("b", 2, ttl=30)
        self.now = 120
        self.assertEqual(self.cache.purge(), 1)
        self.assertEqual(list(self.cache), ["b"])

    def test_get_or_compute(self):
        self.assertEqual(self.cache.get_or_compute("a", lambda: 7), 7)
        self.assertEqual(self.cache.get_or_compute("a", lambda: 8), 7)


if __name__ == "__main__":
    unittest.main()
