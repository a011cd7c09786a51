"""All hostile candidates, and the one that does nothing."""

from __future__ import annotations

from .calling import CALLING
from .exhausting import EXHAUSTING
from .hooking import HOOKING
from .lying import LYING
from .specimen import BASELINE, Conclusion, Specimen
from .tampering import PROTOCOL, TAMPERING
from .undermining import UNDERMINING

UNTOUCHED = [
    Specimen("untouched", task, {"NOTES.md": b"Nothing was done.\n"}, Conclusion.UNCHANGED) for task in BASELINE
]
_ANY_TIME = [*HOOKING, *LYING, *TAMPERING, *CALLING, *UNDERMINING]
QUICK = [*UNTOUCHED, *(one for one in _ANY_TIME if one.concludes is not Conclusion.LIMIT)]
"""Judged in well under a second."""
SLOW = [*PROTOCOL, *EXHAUSTING, *(one for one in _ANY_TIME if one.concludes is Conclusion.LIMIT)]
"""Seconds for each check."""
WHOLE = [one for one in QUICK if one in (*UNTOUCHED, *HOOKING, *LYING)]
"""Judged by all ten checks; the others by some that tell, unless everything is asked for."""
HOSTILE = [*QUICK, *SLOW]
PATIENTLY = "hang_with_children"
"""One of the slow ones that gets all the time a check has."""
