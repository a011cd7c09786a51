"""Removing what dead processes left on the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import docker
import requests
from docker.errors import APIError, DockerException

from pytest_agentgrade.errors import HostError
from pytest_agentgrade.sandbox.owner import LABEL, Owner, labels, owner_of


def sweep(client: docker.DockerClient) -> tuple[str, ...]:
    """Remove containers, networks and volumes whose owner is surely gone; returns what was removed.

    What a living process owns stays, and so does what another machine's process made on a shared engine.
    Raises HostError when the engine refuses.
    """
    return _remove_where(client, lambda found: (owner := owner_of(found)) is not None and owner.is_gone())


def remove_owned(client: docker.DockerClient, owner: Owner) -> tuple[str, ...]:
    """Remove everything that ``owner`` made. Raises HostError when the engine refuses."""
    return _remove_where(client, lambda found: owner_of(found) == owner)


def remove_of_run(client: docker.DockerClient, owner: Owner, run_id: str) -> tuple[str, ...]:
    """Remove what ``owner`` made in one run. Raises HostError when the engine refuses."""
    made = labels(owner, run_id, "").items()
    return _remove_where(client, lambda found: all(found.get(name) == value for name, value in made if value))


def _remove_where(client: docker.DockerClient, condition: Callable[[dict[str, str]], bool]) -> tuple[str, ...]:
    api: Any = client.api
    filters = {"label": LABEL}
    removed: list[str] = []

    def matches(found: dict[str, str] | None) -> bool:
        return condition(found or {})

    try:
        for found in api.containers(all=True, filters=filters):
            if matches(found["Labels"]) and _gone(api.remove_container, found["Id"], force=True, v=True):
                removed.append(f"container {found['Id'][:12]}")
        for found in api.networks(filters=filters):
            if matches(found["Labels"]) and _gone(api.remove_network, found["Id"]):
                removed.append(f"network {found['Name']}")
        for found in api.volumes(filters=filters)["Volumes"] or ():
            if matches(found["Labels"]) and _gone(api.remove_volume, found["Name"]):
                removed.append(f"volume {found['Name'][:12]}")
    except (DockerException, requests.RequestException) as error:
        raise HostError(f"cannot remove what an earlier run left on the engine: {error}") from error
    return tuple(removed)


def _gone(remove: Callable[..., None], name: str, **options: bool) -> bool:
    """Whether we removed it; False when somebody else does so right now."""
    try:
        remove(name, **options)
    except APIError as error:
        if error.status_code in (404, 409):
            return False
        raise
    return True
