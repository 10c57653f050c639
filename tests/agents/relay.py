"""A relay before a model that keeps the bytes of what was asked: whole requests, with what no journal keeps."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from urllib.parse import urlsplit

from teamster.rehearsal import Model

PIECE_BYTES = 65536


class Asked:
    """What went through so far."""

    def __init__(self) -> None:
        self.content = b""

    def holds(self, text: str) -> bool:
        """Tell whether a text was part of what was asked."""
        return text.encode() in self.content


@contextmanager
def relayed(model: Model) -> Iterator[tuple[Model, Asked]]:
    """Stand between a program and its model; the model that is given back is reached through the relay."""
    address = urlsplit(model.base_url)
    asked = Asked()
    with socket.create_server(("127.0.0.1", 0)) as server:
        target = (str(address.hostname), int(address.port or 0))
        threading.Thread(target=_serve, args=(server, target, asked), daemon=True).start()
        port = server.getsockname()[1]
        yield replace(model, base_url=f"http://127.0.0.1:{port}{address.path}"), asked


def _serve(server: socket.socket, target: tuple[str, int], asked: Asked) -> None:
    while True:
        try:
            near, _ = server.accept()
        except OSError:
            return  # the test is over
        far = socket.create_connection(target)
        threading.Thread(target=_pump, args=(near, far, asked), daemon=True).start()
        threading.Thread(target=_pump, args=(far, near, None), daemon=True).start()


def _pump(source: socket.socket, sink: socket.socket, asked: Asked | None) -> None:
    try:
        while piece := source.recv(PIECE_BYTES):
            if asked is not None:
                asked.content += piece
            sink.sendall(piece)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        return  # one end hung up: the other sees it by itself
