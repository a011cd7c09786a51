"""The model server of a mode: launched or reached, proved to be in its mode, stopped whatever happens."""

from __future__ import annotations

from pytest_agentgrade.attempt.server.config import DraftCounters, ServerConfig, ServerInfo, ServerKind
from pytest_agentgrade.attempt.server.launching import launch
from pytest_agentgrade.attempt.server.proof import ModeProof, ProofStatus, prove_mode
from pytest_agentgrade.attempt.server.running import RunningServer

__all__ = [
    "DraftCounters",
    "ModeProof",
    "ProofStatus",
    "RunningServer",
    "ServerConfig",
    "ServerInfo",
    "ServerKind",
    "launch",
    "prove_mode",
]
