"""What a container may use, as a value, and how the engine is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from docker.types import LogConfig, Mount, Ulimit

USER = "65532:65532"
"""Nobody in particular: not root, and no user of this machine."""
MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Tmpfs:
    """A memory file system; its bytes count as the container's memory."""

    path: str
    size: int
    """Bytes."""
    inodes: int = 4_096
    mode: int = 0o755
    executable: bool = False

    def options(self) -> str:
        """As the engine wants them."""
        uid, gid = USER.split(":")
        execution = "exec" if self.executable else "noexec"
        sizes = f"size={self.size},nr_inodes={self.inodes},mode={self.mode:o}"
        return f"rw,nosuid,nodev,{execution},{sizes},uid={uid},gid={gid}"


@dataclass(frozen=True)
class Bind:
    """A folder or file of this machine, readable in the container."""

    source: str
    target: str


@dataclass(frozen=True)
class VolumeMount:
    """A named volume."""

    name: str
    target: str
    read_only: bool = False


@dataclass(frozen=True)
class ContainerSpec:
    """What to run and within which limits. Defaults are the strictest useful ones: no network, nothing writable."""

    image: str
    command: tuple[str, ...]
    """Replaces entrypoint and command of the image."""
    role: str
    env: Mapping[str, str] = field(default_factory=dict)
    memory_bytes: int = 64 * MEGABYTE
    """Memory and swap together."""
    pids: int = 64
    cpus: float = 1.0
    tmpfs: tuple[Tmpfs, ...] = ()
    binds: tuple[Bind, ...] = ()
    volumes: tuple[VolumeMount, ...] = ()
    workdir: str = "/"
    stdin: bool = False
    runtime: str | None = None
    """Name of another OCI runtime (``runsc``, ``kata``); None means the engine's default."""
    network_of: str | None = None
    """Id of a container whose network name space is shared; None means no network at all."""
    open_files: int = 1_024
    shm_bytes: int = 4 * MEGABYTE
    max_output_bytes: int = 64 * MEGABYTE
    """Of stdout and stderr together."""


def container_config(api: Any, spec: ContainerSpec, given_labels: dict[str, str]) -> Any:
    """The body of the engine's "create a container" for ``spec``."""
    # `create_container` would add the proxies of ~/.docker/config.json to the environment: made by hand instead.
    return api.create_container_config(
        spec.image,
        None,
        entrypoint=list(spec.command),
        hostname=None if spec.network_of else "sandbox",
        user=USER,
        stdin_open=spec.stdin,
        environment=dict(spec.env),
        working_dir=spec.workdir,
        labels=given_labels,
        network_disabled=spec.network_of is None,
        healthcheck={"test": ["NONE"]},
        host_config=_host_config(api, spec),
    )


def _host_config(api: Any, spec: ContainerSpec) -> Any:
    return api.create_host_config(
        network_mode=f"container:{spec.network_of}" if spec.network_of else "none",
        read_only=True,
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        mem_limit=spec.memory_bytes,
        memswap_limit=spec.memory_bytes,
        oom_score_adj=500,
        pids_limit=spec.pids,
        nano_cpus=int(spec.cpus * 1e9),
        ulimits=[Ulimit(name="core", soft=0, hard=0), _open_files(spec)],
        # The engine's own /dev/shm has a size and no limit of inodes.
        tmpfs={item.path: item.options() for item in (*spec.tmpfs, Tmpfs("/dev/shm", spec.shm_bytes, mode=0o1777))},
        mounts=_mounts(spec),
        log_config=LogConfig(type="none"),
        init=True,
        auto_remove=False,
        runtime=spec.runtime,
    )


def _open_files(spec: ContainerSpec) -> Ulimit:
    return Ulimit(name="nofile", soft=spec.open_files, hard=spec.open_files)


def _mounts(spec: ContainerSpec) -> list[Mount]:
    binds = [Mount(bind.target, bind.source, type="bind", read_only=True) for bind in spec.binds]
    volumes = [
        Mount(volume.target, volume.name, type="volume", read_only=volume.read_only, no_copy=True)
        for volume in spec.volumes
    ]
    return binds + volumes
