"""A mode: a named way to serve a model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pytest_agentgrade.errors import SettingsError

_NAME = re.compile(r"[a-z0-9_.]+")


@dataclass(frozen=True)
class Mode:
    """How the model is served; what a mode declares here is all that may differ within a pair."""

    name: str
    """``[a-z0-9_.]+``; part of node ids, file names and records."""
    server_args: tuple[str, ...] = ()
    """llama-server flags of this mode, added behind the common ones."""
    model: str | None = None
    """Path of a GGUF file, when the mode brings its own; else the run's model."""
    server: str | None = None
    """``embedded``, a path to a llama-server binary, or an http URL, when the mode brings its own."""
    speculates: bool | None = None
    """Whether drafts must be seen (True), must not (False), or are not checked (None)."""
    lossless: bool = True
    """Whether the mode claims to keep the model's output distribution (speculative decoding does)."""
    placebo_of: str | None = None
    """The mode from which this one differs in numerics only: a measure of noise, and no contender."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise SettingsError(f"mode name {self.name!r} is not made of a-z, 0-9, '_' and '.'", "rename the mode")


def settle_placebos(modes: Mapping[str, Mode]) -> dict[str, Mode]:
    """Give each placebo the flags and promises of its mode, its own flags behind them: nothing else can differ.

    SettingsError for a placebo of an unknown mode or of a placebo, with another model, or that changes nothing.
    """
    return {name: _settled(mode, modes) if mode.placebo_of is not None else mode for name, mode in modes.items()}


def _settled(placebo: Mode, modes: Mapping[str, Mode]) -> Mode:
    real = modes.get(placebo.placebo_of or "")
    what = f"modes.{placebo.name}: placebo_of = {placebo.placebo_of!r}"
    if real is None or real.placebo_of is not None:
        real_ones = ", ".join(sorted(name for name, mode in modes.items() if mode.placebo_of is None))
        raise SettingsError(f"{what} names no mode that is there for its own sake", f"name one of: {real_ones}")
    if placebo.model is not None:
        raise SettingsError(f"{what} has a model of its own: that is no placebo", "leave out model, or placebo_of")
    if not placebo.server_args and placebo.server in (None, real.server):
        hint = 'give it server_args that change numerics only, such as ["-ub", "256"]; the same mode run twice is a '
        raise SettingsError(f"{what} changes nothing", f"{hint}determinism test and needs no placebo")
    return replace(
        placebo,
        server_args=(*real.server_args, *placebo.server_args),
        model=real.model,
        server=placebo.server or real.server,
        speculates=real.speculates if placebo.speculates is None else placebo.speculates,
        lossless=real.lossless,
    )
