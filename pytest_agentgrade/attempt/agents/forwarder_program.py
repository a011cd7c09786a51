"""First process of an agent's container: opens the one way out, then runs the agent.

``forwarder_program.py SOCKET PORT COMMAND...`` listens on 127.0.0.1:PORT, passes each connection on to the unix socket
SOCKET, writes the line ``agent starts`` to stdout, runs COMMAND and exits with its exit code (127 when there is no such
command, 128 + n when signal n ended it). Standard library only.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import threading

STARTS = b"agent starts\n"
"""Written before the agent exists, so it cannot be forged: the host starts the task clock when it sees it."""
_CHUNK = 65_536


def serve(listener: socket.socket, path: str) -> None:
    """Accept for ever; each connection has its own pair of threads."""
    while True:
        client, _ = listener.accept()
        threading.Thread(target=connect, args=(client, path), daemon=True).start()


def connect(client: socket.socket, path: str) -> None:
    """Join a client's connection and a new one to the unix socket, until either side has ended it."""
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with client, socket.socket(socket.AF_UNIX) as proxy:
        try:
            proxy.connect(path)
        except OSError as error:
            print(f"forwarder: cannot reach {path}: {error}", file=sys.stderr, flush=True)
            return
        outward = threading.Thread(target=pump, args=(client, proxy), daemon=True)
        outward.start()
        pump(proxy, client)
        outward.join()


def pump(source: socket.socket, target: socket.socket) -> None:
    """Copy until ``source`` ends, then end both: HTTP needs no half-closed connection, and a cut must be felt."""
    try:
        while data := source.recv(_CHUNK):
            target.sendall(data)
    except OSError:
        pass  # either side reset the connection: an end like any other
    for side in (source, target):
        try:
            side.shutdown(socket.SHUT_RDWR)
        except OSError:
            continue  # was ended already


def run(command: list[str]) -> int:
    """Run the agent to its end."""
    sys.stdout.buffer.write(STARTS)
    sys.stdout.buffer.flush()
    try:
        code = subprocess.call(command, stdin=subprocess.DEVNULL)
    except OSError as error:
        print(f"forwarder: cannot run {command[0]}: {error}", file=sys.stderr, flush=True)
        return 127
    return code if code >= 0 else 128 - code


def main() -> None:
    """See the module's docstring."""
    path, port, *command = sys.argv[1:]
    listener = socket.create_server(("127.0.0.1", int(port)), backlog=64)
    threading.Thread(target=serve, args=(listener, path), daemon=True).start()
    sys.exit(run(command))


if __name__ == "__main__":
    main()
