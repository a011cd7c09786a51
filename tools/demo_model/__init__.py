"""Make the demo model: a few megabytes of GGUF with an MTP head; a *fixture*, no language model of any merit."""

from __future__ import annotations
