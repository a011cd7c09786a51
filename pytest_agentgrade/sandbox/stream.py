"""One hijacked connection of the engine: stdin goes out raw, stdout and stderr come back in frames."""

from __future__ import annotations

import socket
import struct
from typing import Any, NamedTuple

_HEADER = struct.Struct(">BxxxL")
"""Engine API, "Attach to a container", stream format: stream number, three zero bytes, length."""
_CHUNK = 65_536
STDOUT = 1
STDERR = 2


class Piece(NamedTuple):
    """Some bytes of one output stream; a frame may come in several pieces."""

    stream: int
    data: bytes


class FramedStream:
    """Wraps what ``attach_socket`` or ``exec_start(socket=True)`` of the Docker SDK return.

    Not thread-safe in one direction; one thread may send while another receives.
    """

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        # SocketIO refuses every read after one time-out, so its socket is read directly.
        self._socket: socket.socket = getattr(connection, "_sock", connection)
        self._header = b""
        self._left = 0
        self._stream = STDOUT

    def send(self, data: bytes, timeout: float) -> None:
        """Write all of ``data`` to stdin. Raises OSError (TimeoutError, BrokenPipeError) if it is not taken."""
        self._socket.settimeout(timeout)
        self._socket.sendall(data)

    def close_input(self) -> None:
        """Send end of file on stdin."""
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:  # the other end is gone already
            return

    def receive(self, timeout: float) -> Piece | None:
        """The next piece of output, None at the end. Raises TimeoutError after ``timeout`` seconds of silence."""
        self._socket.settimeout(max(timeout, 0.001))
        while not self._left:
            data = self._read(_HEADER.size - len(self._header))
            if not data:
                return None
            self._header += data
            if len(self._header) == _HEADER.size:
                self._stream, self._left = _HEADER.unpack(self._header)
                self._header = b""
        data = self._read(min(self._left, _CHUNK))
        if not data:
            return None
        self._left -= len(data)
        return Piece(self._stream, data)

    def hang_up(self) -> None:
        """End both directions; another thread's :meth:`receive` returns None then."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:  # closed, or the other end is gone already
            return

    def close(self) -> None:
        """Drop the connection; closing twice is harmless."""
        # The response owns the connection: closed after its file, it would try to flush it.
        response = getattr(self._connection, "_response", None)
        if response is not None:
            response.close()
        self._connection.close()

    def _read(self, size: int) -> bytes:
        try:
            return self._socket.recv(size)
        except (ConnectionResetError, BrokenPipeError):
            return b""
