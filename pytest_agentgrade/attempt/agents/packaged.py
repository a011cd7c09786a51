"""What the agents from npm and PyPI have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from pytest_agentgrade.assignment.settings import Settings
from pytest_agentgrade.attempt.agents.base import AgentBase, AgentNeeds, message_text
from pytest_agentgrade.attempt.agents.packages import AgentPackage, find_package


@dataclass(frozen=True)
class PackagedAgent(AgentBase):
    """Runs in the image of its package, or in one of the user's, with a HOME of its own."""

    package: AgentPackage
    context: int
    """Tokens of context it may be told the model has."""
    response_tokens: int
    """Tokens it may be told a response may have."""
    image: str | None = None
    """An image with the agent at the same place below ``/opt/agent``, in place of the one made here."""

    name: ClassVar[str]
    needs_tools: ClassVar[bool] = True
    adapter: ClassVar[int]
    """Raised whenever flags, configuration or marks change."""
    memory_bytes: ClassVar[int] = 1 << 30
    home_bytes: ClassVar[int] = 128 << 20
    kept: ClassVar[tuple[str, ...]]
    """See :attr:`AgentNeeds.kept`."""
    marks: ClassVar[tuple[str, ...]] = ()
    """How the first message of a request of it begins that does not serve the task."""

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """As the run is set up; the largest response budget where there are several."""
        package = find_package(cls.name, settings.agent_version)
        return cls(package, settings.context, max(settings.response_tokens), settings.agent_image)

    @property
    def version(self) -> str:
        """The package's version - the image's name, where it was given - and the adapter's."""
        return f"{self.image or self.package.version}+{self.adapter}"

    @property
    def needs(self) -> AgentNeeds:
        """Its image, and a HOME of which logs and sessions are kept."""
        return AgentNeeds(
            image=self.image or self.package.tag,
            image_hint="" if self.image else self.package.hint,
            memory_bytes=self.memory_bytes,
            home_bytes=self.home_bytes,
            kept=self.kept,
        )

    def is_auxiliary(self, request: Mapping[str, Any]) -> bool:
        """Titles, summaries and the like, by the words that it has for them."""
        first = next(iter(request["messages"]), None)
        return isinstance(first, Mapping) and message_text(first).lstrip().startswith(self.marks)
