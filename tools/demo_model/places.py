"""Where things are in the checkout."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The checkout."""
CHAT_TEMPLATE = Path(__file__).with_name("chat_template.jinja")
