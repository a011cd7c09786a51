"""The project's own texts, which the vocabulary is trained on."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The checkout."""
_FOLDERS = ("pytest_agentgrade", "task_fixtures", "tools")
_SUFFIXES = frozenset({".py", ".md", ".toml", ".jinja"})


def project_texts() -> list[str]:
    """Sources, prompts and documents, in the order of their paths."""
    paths = sorted(path for folder in _FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in _SUFFIXES)
    return [path.read_text(encoding="utf-8") for path in paths]


def chat_template() -> str:
    """The chat template that goes into the file."""
    return (Path(__file__).parent / "chat_template.jinja").read_text(encoding="utf-8").rstrip("\n")
