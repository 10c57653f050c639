"""The listening side of the scripted model: its socket, its limits, and when it is time to end."""

from __future__ import annotations

import os
import select
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from typing import Any, Final

from teamster.kit import Clock, sha256
from teamster.rehearsal.answering import Answering
from teamster.rehearsal.journal import Journal
from teamster.rehearsal.scenario import Scenario
from teamster.rehearsal.wire import Reset

CONNECTIONS_MAX: Final = 1024
BACKLOG_MAX: Final = 512
LOOPBACK: Final = "127.0.0.1"
KEEP_ALIVE_SECONDS: Final = 15.0
"""How often a model that thinks says that it is there."""

LOOK_SECONDS_MAX: Final = 5.0
"""How often an idle model looks at the clock, and whether it is still the one of its folder."""


def proof_of(token: str) -> str:
    """Return what a model shows of its token: enough to be known by, too little to be stopped with."""
    return sha256(f"proof {token}".encode())


class Listener(ThreadingHTTPServer):
    """The socket, and what all conversations share: the scenario, and when somebody last asked."""

    daemon_threads = True
    timeout = 0.0  # `handle_request` is called when somebody is there
    request_queue_size = BACKLOG_MAX

    def __init__(
        self,
        scenario: Scenario,
        *,
        port: int,
        token: str,
        clock: Clock,
        journal: Journal,
        keep_alive_seconds: float = KEEP_ALIVE_SECONDS,
    ) -> None:
        super().__init__((LOOPBACK, port), Answering)
        self.scenario = scenario
        self.token = token
        self.proof = proof_of(token)
        self.journal = journal
        self.keep_alive_seconds = keep_alive_seconds
        self._clock = clock
        self._places = threading.BoundedSemaphore(CONNECTIONS_MAX)
        self._lock = threading.Lock()
        self._under_way = 0
        self._asked_at = clock.now().boot_seconds
        self.stop_reader, self._stop_writer = os.pipe()

    @property
    def base_url(self) -> str:
        """Where agents shall send their requests."""
        return f"http://{LOOPBACK}:{self.server_port}/v1"

    def server_bind(self) -> None:
        """Bind, without asking a name server who we are as the standard library would."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = LOOPBACK, self.server_address[1]

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """Count a request as long as it lasts: a model that thinks is not idle."""
        with self._lock:
            self._under_way += 1
        try:
            yield
        finally:
            with self._lock:
                self._under_way -= 1
                self._asked_at = self._clock.now().boot_seconds

    def reset(self, seconds: int) -> Reset:
        """Say when a quota that is used up is there again."""
        return Reset(seconds=seconds, at=int(self._clock.now().wall.timestamp()) + seconds)

    def stop(self) -> None:
        """Ask for the end, from any thread or a signal handler. The byte is never read: all who wait see it."""
        os.write(self._stop_writer, b".")

    def serve(self, *, idle_seconds_max: float, is_wanted: Callable[[], bool] = lambda: True) -> None:
        """Answer until `stop` was called, nobody asked anything for so long, or it is wanted no more."""
        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        poll.register(self.stop_reader, select.POLLIN)
        while (left := self._idle_seconds_left(idle_seconds_max)) > 0:
            ready = {descriptor for descriptor, _ in poll.poll(min(left, LOOK_SECONDS_MAX) * 1000)}
            if self.stop_reader in ready:
                break
            if ready:
                self.handle_request()
            elif not is_wanted():
                break
        self.stop()  # who waits in a delay sees it
        self.server_close()

    def _idle_seconds_left(self, idle_seconds_max: float) -> float:
        with self._lock:
            if self._under_way:
                return idle_seconds_max
            return self._asked_at + idle_seconds_max - self._clock.now().boot_seconds

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread of its own, or close it where too many are open."""
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Give the place back when the connection ends."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Pass over clients that went away, as killed agents do; show anything else."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)
