"""Grade what a coding agent on a local language model delivers, mode by mode."""

from __future__ import annotations

__version__ = "0.1.0"
