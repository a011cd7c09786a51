"""Ten hidden checks of the expiring cache, and four that go beyond its prompt."""

from __future__ import annotations

import itertools
import math
from typing import Any

from pytest_agentgrade.checks import Candidate, beyond, kills

AT_ONCE = 3.0
"""Seconds of silence after which something that must not wait is seen as waiting."""
MUST_WAIT = 1.0
"""Seconds of silence after which something that must wait is believed to."""


class Clock:
    """A clock that the check sets by hand."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def new_cache(candidate: Candidate, clock: Any, **options: Any) -> Any:
    return candidate.call("expiring_cache:ExpiringCache", clock=candidate.callback(clock), **options)


@kills("untouched", "boundary_still_alive", "float_clock")
def test_entry_expires_exactly_at_insertion_plus_ttl(candidate: Candidate) -> None:
    """It lives until just before t + d, at t + d it is expired; large integers are not rounded."""
    draw = candidate.draw
    key, value, default = draw.texts(3)
    for unit, start in ((1, draw.integer(2**60, 2**62)), (0.125, draw.integer(1_000, 10**6) * 0.125)):
        ttl = draw.integer(3, 90) * unit
        clock = Clock(start)
        cache = new_cache(candidate, clock, ttl=ttl)
        cache.set(key, value)
        clock.now = start + ttl - unit
        assert cache.get(key, default) == value
        clock.now = start + ttl
        assert cache.get(key, default) == default


@kills("untouched", "bool_ttl", "nan_ttl", "zero_ttl", "ttl_checked_late", "infinite_ttl")
def test_what_is_no_ttl_is_refused(candidate: Candidate) -> None:
    """Anything but None or a finite number above zero raises InvalidTTL before anything else happens."""
    draw = candidate.draw
    key, value, other = draw.texts(3)
    factory = candidate.callback(lambda: other)
    cache = new_cache(candidate, Clock(draw.integer(0, 10**6)), ttl=draw.integer(5, 99))
    cache.set(key, value, ttl=draw.float(1, 50))
    wrong = [True, False, str(draw.integer(1, 99)), 0, 0.0, -draw.integer(1, 10**6), -draw.float(0, 9), math.nan]
    wrong += [math.inf, -math.inf, draw.decimal(1, 9, 2), [draw.integer(1, 9)]]
    for ttl in draw.shuffled(wrong):
        with candidate.raises("expiring_cache.errors:InvalidTTL"):
            new_cache(candidate, Clock(0), ttl=ttl)
        with candidate.raises("expiring_cache.errors:InvalidTTL"):
            cache.set(key, other, ttl=ttl)
        with candidate.raises("expiring_cache.errors:InvalidTTL"):
            cache.get_or_compute(other, factory, ttl=ttl)
    assert len(factory.calls) == 0
    assert cache.get(key) == value


@kills("untouched", "none_means_cache_ttl", "overwriting_keeps_ttl", "overwriting_keeps_birth")
def test_each_set_decides_the_lifetime_anew(candidate: Candidate) -> None:
    """Without a ttl the cache's applies, None is never; overwriting replaces value, time and ttl."""
    draw = candidate.draw
    ttl, own = draw.integer(20, 40), draw.integer(200, 400)
    clock = Clock(draw.integer(0, 10**6))
    cache = new_cache(candidate, clock, ttl=ttl)
    shortened, lengthened, forever = draw.texts(3)
    old, new, missing = draw.texts(3)
    cache.set(shortened, old, ttl=own)
    cache.set(lengthened, old)
    cache.set(forever, old, ttl=None)
    clock.now += draw.integer(3, ttl - 3)
    cache.set(shortened, new)
    cache.set(lengthened, new, ttl=own)
    clock.now += ttl - 2
    assert cache.get(shortened, missing) == new
    clock.now += 4
    assert cache.get(shortened, missing) == missing
    assert cache.get(lengthened, missing) == new
    clock.now += own
    assert cache.get(lengthened, missing) == missing
    assert cache.get(forever, missing) == old


@kills("untouched", "len_counts_expired", "contains_expired", "iterates_expired", "purge_says_nothing")
def test_expired_entries_are_not_seen(candidate: Candidate) -> None:
    """len, in and iteration count an expired entry as absent; purge removes such and says how many."""
    draw = candidate.draw
    keys = draw.texts(draw.integer(6, 9))
    kept = draw.sample(keys, draw.integer(1, 2))
    living = [key for key in keys if key in kept]
    clock = Clock(draw.integer(0, 10**6))

    def aged() -> Any:
        cache = new_cache(candidate, clock)
        for key in keys:
            cache.set(key, draw.text(), ttl=draw.integer(900, 999) if key in living else draw.integer(5, 20))
        clock.now += draw.integer(30, 300)
        return cache

    assert candidate.len(aged()) == len(living)
    assert candidate.list(aged()) == living
    looked_into, purged = aged(), aged()
    for key in draw.shuffled(keys):
        assert candidate.contains(looked_into, key) == (key in living)
    assert purged.purge() == len(keys) - len(living)
    assert purged.purge() == 0
    assert candidate.list(purged) == living


@kills("untouched", "clock_taken_as_is", "latest_only_when_setting")
def test_time_never_runs_backwards(candidate: Candidate) -> None:
    """When the clock goes back, the cache's time stands still until the clock has caught up."""
    draw = candidate.draw
    start, ttl, later = draw.integer(10**3, 10**6), draw.integer(50, 90), draw.integer(200, 300)
    gone, kept, value, missing = draw.texts(4)
    clock = Clock(start)
    cache = new_cache(candidate, clock, ttl=ttl)
    cache.set(gone, value)
    clock.now = start + later
    assert cache.get(gone, missing) == missing
    clock.now = start + draw.integer(0, 40)
    assert cache.get(gone, missing) == missing
    cache.set(kept, value)
    clock.now = start + later + ttl - 2
    assert cache.get(kept, missing) == value
    clock.now = start + later + ttl + 2
    assert cache.get(kept, missing) == missing
    assert cache.get(gone, missing) == missing


@kills("live_iteration", "lazy_iteration", "iterator_looks_again")
def test_iteration_is_a_snapshot(candidate: Candidate) -> None:
    """What an iterator gives is fixed by iter(cache): no change and no passing time disturbs it."""
    draw = candidate.draw
    keys = draw.texts(draw.integer(6, 12))
    clock = Clock(draw.integer(0, 10**6))
    cache = new_cache(candidate, clock, ttl=draw.integer(5, 20))
    early, middle, late = keys[:-2], keys[-2], keys[-1]
    for key in early:
        cache.set(key, draw.text())
    iterator = candidate.iter(cache)
    cache.set(middle, draw.text())
    assert candidate.next(iterator) == early[0]
    cache.set(late, draw.text())
    cache.set(draw.choice(early), draw.text())
    assert candidate.list(cache) == keys
    assert candidate.next(iterator) == early[1]
    clock.now += 99
    assert candidate.list(iterator) == early[2:]


@kills("untouched", "none_computed_again", "ttl_from_before_factory", "computed_ttl_ignored")
def test_computed_value_lives_from_its_return(candidate: Candidate) -> None:
    """A living value, None too, is returned without a call; else the factory's, its ttl counted from the return."""
    draw = candidate.draw
    ttl, took = draw.integer(20, 50), draw.integer(100, 200)
    key, default = draw.texts(2)
    clock = Clock(draw.integer(0, 10**6))
    cache = new_cache(candidate, clock, ttl=draw.integer(5_000, 9_000))
    for value in draw.shuffled([None, draw.text()]):

        def compute(value: str | None = value) -> str | None:
            clock.now += took
            return value

        factory = candidate.callback(compute)
        assert cache.get_or_compute(key, factory, ttl=ttl) == value
        clock.now += ttl - 2
        assert cache.get_or_compute(key, factory) == value
        assert cache.get(key, default) == value
        clock.now += 4
        assert len(factory.calls) == 1
        assert cache.get(key, default) == default


@kills("untouched", "double_compute")
def test_concurrent_callers_share_one_factory_call(candidate: Candidate) -> None:
    """Callers of a key whose factory runs wait and return that call's value, even if it has expired by then."""
    key, value = candidate.draw.texts(2)
    ttl, start = candidate.draw.integer(2, 9), candidate.draw.integer(0, 10**6)
    readings = itertools.count(start, candidate.draw.integer(10, 20))
    cache = new_cache(candidate, lambda: next(readings), ttl=ttl)
    factory = candidate.callback(lambda: candidate.PARK)
    compute = candidate.bound(cache, "get_or_compute")
    first, *others = lanes = [candidate.lane() for _ in range(3)]
    first.start(compute, key, factory)
    assert first.state(AT_ONCE) == "parked"
    for lane in others:
        lane.start(compute, key, factory)
    for lane, silence in zip(others, (MUST_WAIT, 0.1), strict=True):
        assert lane.state(silence) == "blocked"
    first.resume(value)
    for lane in lanes:
        assert lane.state(AT_ONCE) == "done"
        assert lane.result() == value
    assert len(factory.calls) == 1


@kills("untouched")
def test_nothing_else_waits_for_a_factory(candidate: Candidate) -> None:
    """While a factory runs, other keys are computed and all other methods work at once, for its own key as well."""
    draw = candidate.draw
    slow, quick, value, computed, missing = draw.texts(5)
    cache = new_cache(candidate, Clock(draw.integer(0, 10**6)), ttl=draw.integer(5, 99))
    first, second = candidate.lane(), candidate.lane()
    first.start(candidate.bound(cache, "get_or_compute"), slow, candidate.callback(lambda: candidate.PARK))
    assert first.state(AT_ONCE) == "parked"
    for method, arguments, expected in (
        ("get_or_compute", (quick, candidate.callback(lambda: computed)), computed),
        ("get", (quick, missing), computed),
        ("get", (slow, missing), missing),
    ):
        second.start(candidate.bound(cache, method), *arguments)
        assert second.state(AT_ONCE) == "done"
        assert second.result() == expected
    for method, arguments in (("set", (missing, computed)), ("purge", ())):
        second.start(candidate.bound(cache, method), *arguments)
        assert second.state(AT_ONCE) == "done"
        second.result()
    first.resume(value)
    assert first.result() == value
    assert cache.get(slow) == value


@kills("untouched", "error_not_shared")
def test_factory_error_reaches_all_its_callers(candidate: Candidate) -> None:
    """It reaches them unchanged, nothing is stored, and the next call for that key calls its factory."""
    draw = candidate.draw
    key, value, text = draw.texts(3)
    cache = new_cache(candidate, Clock(draw.integer(0, 10**6)), ttl=draw.integer(5, 99))
    failing = candidate.callback(lambda: candidate.PARK)
    compute = candidate.bound(cache, "get_or_compute")
    lanes = first, second = candidate.lane(), candidate.lane()
    first.start(compute, key, failing)
    assert first.state(AT_ONCE) == "parked"
    second.start(compute, key, failing)
    assert second.state(MUST_WAIT) == "blocked"
    error = draw.choice((ValueError, KeyError, OSError, ArithmeticError))
    first.resume_raise(error(text))
    for lane in lanes:
        assert lane.state(AT_ONCE) == "done"
        with candidate.raises(error) as caught:
            lane.result()
        assert caught.args == (text,)
    assert len(failing.calls) == 1
    assert candidate.contains(cache, key) == False
    second.start(compute, key, candidate.callback(lambda: value))
    assert second.state(AT_ONCE) == "done"
    assert second.result() == value


@beyond
@kills("isfinite_ttl")
def test_huge_integer_ttl_with_an_integer_clock(candidate: Candidate) -> None:
    """A finite int has no largest value: 10**400 is a ttl, and exact to the last digit."""
    key, value, missing = candidate.draw.texts(3)
    ttl = 10 ** candidate.draw.integer(320, 480) + candidate.draw.integer(0, 10**6)
    clock = Clock(candidate.draw.integer(0, 10**12))
    cache = new_cache(candidate, clock, ttl=ttl)
    cache.set(key, value)
    clock.now += ttl - 1
    assert cache.get(key, missing) == value
    clock.now += 1
    assert cache.get(key, missing) == missing


@beyond
@kills("isfinite_ttl", "deadline_stored")
def test_huge_integer_ttl_with_a_float_clock(candidate: Candidate) -> None:
    """An int too large for a float does not overflow when the clock gives floats."""
    draw = candidate.draw
    long, short, value, missing = draw.texts(4)
    clock = Clock(draw.integer(1, 10**6) + 0.125)
    cache = new_cache(candidate, clock, ttl=10 ** draw.integer(320, 480))
    cache.set(long, value)
    cache.set(short, value, ttl=draw.integer(5, 50))
    clock.now += draw.integer(100, 10**9)
    assert cache.get(long, missing) == value
    assert cache.get(short, missing) == missing


@beyond
@kills("expired_keeps_place")
def test_key_set_again_after_it_expired_comes_last(candidate: Candidate) -> None:
    """An expired entry counts as absent everywhere, so its key is inserted anew."""
    draw = candidate.draw
    first, *others = draw.texts(draw.integer(3, 6))
    clock = Clock(draw.integer(0, 10**6))
    cache = new_cache(candidate, clock, ttl=draw.integer(500, 900))
    cache.set(first, draw.text(), ttl=draw.integer(5, 50))
    for key in others:
        cache.set(key, draw.text())
    cache.set(others[0], draw.text())
    clock.now += draw.integer(60, 90)
    cache.set(first, draw.text())
    assert candidate.list(cache) == [*others, first]


@beyond
@kills("exit_leaves_flight")
def test_factory_that_exits_frees_its_key(candidate: Candidate) -> None:
    """A factory ended by SystemExit, which is no Exception, has raised as well: nobody waits for it for ever."""
    draw = candidate.draw
    key, value, text = draw.texts(3)
    cache = new_cache(candidate, Clock(draw.integer(0, 10**6)), ttl=draw.integer(5, 99))
    leaving = candidate.call("functools:partial", candidate.find("sys:exit"), text)
    with candidate.raises(SystemExit) as caught:
        cache.get_or_compute(key, leaving)
    assert caught.args == (text,)
    lane = candidate.lane()
    lane.start(candidate.bound(cache, "get_or_compute"), key, candidate.callback(lambda: value))
    assert lane.state(AT_ONCE) == "done"
    assert lane.result() == value
