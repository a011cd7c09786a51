"""The unix socket of the proxy, and how many connections it takes."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path

from aiohttp import web

MAX_CONNECTIONS = 64
"""Open at a time. The agent's container may open thousands; each costs this process a descriptor."""


async def serve_unix(server: web.Server, path: Path) -> asyncio.Server:
    """Answer on a unix socket that anyone may connect to; its folder decides who sees it."""
    loop = asyncio.get_running_loop()
    return await loop.create_unix_server(lambda: _protocol(server), sock=_listen(path))


class _Refused(asyncio.Protocol):
    """What a connection too many gets."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()


def _protocol(server: web.Server) -> asyncio.BaseProtocol:
    """The HTTP side of a new connection."""
    return _Refused() if len(server.connections) >= MAX_CONNECTIONS else server()


def _listen(path: Path) -> socket.socket:
    """Bound through a descriptor of the folder: the path itself may be longer than the 107 bytes an address holds."""
    path.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(f"/proc/self/fd/{folder}/{path.name}")
        path.chmod(0o666)
    except OSError:
        listener.close()
        raise
    finally:
        os.close(folder)
    return listener
