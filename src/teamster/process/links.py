"""The host's end of what the nursery and its shims say: frames over sockets."""

from __future__ import annotations

import array
import contextlib
import marshal
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Final

from teamster.model import ProcessIdentity, RunId, WorldError
from teamster.process import nursery
from teamster.process.protocol import Order

Ladder = Sequence[tuple[int, float]]
"""Signals to an agent's process group, each with the seconds that it is given; SIGKILL to the whole tree follows."""

SEND_SECONDS_MAX: Final = 5.0  # a parked shim reads at once; one that does not was stopped by somebody
NEWS_BYTES_MAX: Final = 4096


def write_order(order: Order, *, ladder: Ladder) -> nursery.Order:
    """Write an order as a shim reads it."""
    return {
        "run_id": str(order.run_id),
        "nonce": order.nonce,
        "argv": [os.fsencode(argument) for argument in order.argv],
        "env": {os.fsencode(name): os.fsencode(value) for name, value in order.env.items()},
        "cwd": os.fsencode(order.cwd),
        "stdin": os.fsencode(order.stdin) if order.stdin is not None else b"",
        "spool": os.fsencode(order.places.spool),
        "record": os.fsencode(order.places.exit_record),
        "timeout_seconds": order.timeout_seconds,
        "output_bytes_max": order.output_bytes_max,
        "ladder": [(int(number), seconds) for number, seconds in ladder],
    }


class ShimLink:
    """A shim that serves us, and what it serves."""

    def __init__(self, connection: socket.socket, *, slot: int, identity: ProcessIdentity) -> None:
        connection.settimeout(SEND_SECONDS_MAX)
        self.connection = connection
        self.slot = slot
        self.identity = identity
        self.order: Order | None = None
        self.overdue_at = 0.0  # on the clock that counts suspended time
        self._link = nursery.Link(connection.fileno())

    def run(self, order: Order, *, ladder: Ladder) -> bool:
        """Send an order; False where the shim does not take it."""
        self.order = order
        return self._send(("run", write_order(order, ladder=ladder)))

    def stop(self, run_id: RunId) -> bool:
        """Send the wish to end an attempt; False where the shim does not take it."""
        return self._send(("stop", str(run_id)))

    def receive(self) -> Iterator[tuple[str, bytes]]:
        """Take what is there; yield the attempts that ended, each with its record as it was written."""
        self._link.receive()
        while (frame := self._link.next_frame()) is not None:
            _, run_id, record = frame
            yield run_id, record

    @property
    def is_open(self) -> bool:
        """The shim lives, as far as we heard."""
        return self._link.is_open

    def close(self) -> None:
        """Hang up: a parked shim leaves, a busy one does once its agent has ended."""
        self.connection.close()

    def _send(self, frame: tuple[Any, ...]) -> bool:
        try:
            self.connection.sendall(nursery.pack(frame))
        except OSError:
            return False
        return True


class NurseryLink:
    """The nursery that we started. It leaves once we hung up and its last shim has left."""

    _left: Final[list[subprocess.Popen[bytes]]] = []  # they may stay as long as an agent runs; reaped by the next start

    def __init__(self, *, log: Path | None) -> None:
        """Start it.

        Raises:
            WorldError: it can't be started.
        """
        self._left[:] = [process for process in self._left if process.poll() is None]
        self.connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs, open_log(log) as errors:
                self._process = subprocess.Popen(  # noqa: S603 - our own program
                    [sys.executable, "-I", "-S", nursery.__file__, str(theirs.fileno())],
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                    cwd="/",
                    env={},  # an agent of the same user may read what stands here
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=errors,
                )
        except OSError as error:
            self.connection.close()
            raise WorldError(f"the nursery can't be started: {error}") from error

    @property
    def pid(self) -> int:
        """The nursery's pid, while we have not hung up."""
        return self._process.pid

    def ask(self) -> bool:
        """Ask for one more shim; False where nobody is there to hear it."""
        try:
            self.connection.send(nursery.FORK)
        except OSError:
            return False
        return True

    def receive(self) -> tuple[tuple[Any, ...], socket.socket | None] | None:
        """Return one message, and the link that came with it; None where the nursery hung up."""
        size = array.array("i").itemsize
        try:
            content, ancillary, _, _ = self.connection.recvmsg(
                NEWS_BYTES_MAX, socket.CMSG_SPACE(size), socket.MSG_CMSG_CLOEXEC
            )
        except ConnectionResetError:
            return None
        if not content:
            return None
        rights = array.array("i", b"".join(data for _, _, data in ancillary))
        return marshal.loads(content), socket.socket(fileno=rights[0]) if rights else None  # noqa: S302 - our nursery

    def close(self) -> None:
        """Hang up."""
        self.connection.close()
        if self._process.poll() is None:
            self._left.append(self._process)


@contextlib.contextmanager
def open_log(path: Path | None) -> Iterator[IO[bytes] | int]:
    """Open where the nursery may complain: never our own stderr, whose reader would wait as long as an agent runs."""
    if path is None:
        yield subprocess.DEVNULL
        return
    with path.open("ab") as file:
        yield file
