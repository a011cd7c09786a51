"""Run the commands of a build in dependency order."""

from build_planner.errors import BuildError, CycleError, UnknownInput, WrongOutputs
from build_planner.planner import build

__all__ = ["BuildError", "CycleError", "UnknownInput", "WrongOutputs", "build"]
