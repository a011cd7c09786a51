"""Looks for a loop in a reply while it comes in. Only for the live abort, which is off unless asked for.

The detector is the one of :mod:`pytest_agentgrade.attempt.loops`, run now and then on the end of what is there; what
it finds counts only if it says the same of the whole text so far. So the pass over the record, which sees just that
text, always finds a loop where one was cut.
"""

from __future__ import annotations

from pytest_agentgrade.attempt.exchange import Reply, named_texts
from pytest_agentgrade.attempt.loops import find_loop, find_loop_in, split_tokens

LOOK_EVERY = 1_000
"""Characters of a reply from one look to the next, about 200 tokens."""
TAIL_TOKENS = 2_048
"""Tokens that a look is given: enough for every rule but cycles of more than about 500; its cost does not grow."""
_TAIL_CHARACTERS = 8 * TAIL_TOKENS


class LoopWatch:
    """Watches one reply."""

    def __init__(self) -> None:
        self._next = LOOK_EVERY
        self._lengths: dict[str, int] = {}

    def look(self, reply: Reply, characters: int) -> str | None:
        """The loop in the reply so far, in words; None without one, or before there is enough new text.

        ``characters`` is the length of all its texts together.
        """
        if characters < self._next:
            return None
        self._next = characters + LOOK_EVERY
        for name, text in named_texts(reply):
            grown = len(text) > self._lengths.get(name, 0)
            self._lengths[name] = len(text)
            if grown and _circles(text) and (loop := find_loop(text)) is not None:
                return f"{name} goes round in circles: {loop}"
        return None


def _circles(text: str) -> bool:
    """Whether the end of the text, looked at alone, is in a loop."""
    return find_loop_in(split_tokens(text[-_TAIL_CHARACTERS:])[-TAIL_TOKENS:]) is not None
