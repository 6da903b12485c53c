"""Free ports for servers that tests start."""

from __future__ import annotations

import random
import socket

PORTS = range(
    20_000, 30_000
)  # below those that the system gives to outgoing connections, so that a server can have its port again


def free_port() -> int:
    """A port that nothing listens on, drawn anew each time, so that processes side by side do not choose the same one."""
    for _ in range(100):
        port = random.SystemRandom().choice(PORTS)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port
    raise RuntimeError(f"no free port in {PORTS}")
