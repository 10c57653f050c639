"""The service that renews tokens, as strict as the real one: each is good for one use."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

DAY_SECONDS = 86_400.0
TOGETHER_SECONDS_MAX = 5.0


def token(number: int, *, days: float) -> str:
    """Return a token that expires in so many days."""
    account = {"chatgpt_account_id": "me", "chatgpt_user_id": "me", "chatgpt_plan_type": "pro"}
    claims = {"exp": int(time.time() + days * DAY_SECONDS), "number": number, "https://api.openai.com/auth": account}
    parts = ({"alg": "none"}, claims, {"signed": True})
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts)


def login(*, days: float) -> bytes:
    """Return what `codex login` leaves behind, so many days before it expires."""
    tokens = {"id_token": token(0, days=days), "access_token": token(0, days=days), "refresh_token": "first"}
    value = {"auth_mode": "chatgpt", "OPENAI_API_KEY": None, "last_refresh": "2026-01-01T00:00:00Z"}
    return json.dumps({**value, "tokens": {**tokens, "account_id": "me"}}).encode()


def held(path: Path) -> str:
    """Return the token that a login file holds."""
    return str(json.loads(path.read_bytes())["tokens"]["refresh_token"])


@dataclass
class TokenService:
    """What it was asked. With `together` it answers nobody before so many have come with the same token."""

    url: str = ""
    together: int = 1
    asked: list[str] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    @property
    def reused(self) -> list[str]:
        """The tokens that came twice: whoever brought them later was signed out."""
        return sorted({used for used in self.asked if self.asked.count(used) > 1})

    def answer(self, used: str) -> dict[str, Any] | None:
        """Renew once; None for one that was used up."""
        with self.changed:
            self.asked.append(used)
            self.changed.notify_all()
            self.changed.wait_for(lambda: self.asked.count(used) >= self.together, timeout=TOGETHER_SECONDS_MAX)
            number = len(set(self.asked))
            if self.asked.count(used) > 1 and f"done {used}" in self.asked:
                return None
            self.asked.append(f"done {used}")
        return {
            "id_token": token(number, days=10),
            "access_token": token(number, days=10),
            "refresh_token": f"after-{used}",
        }


@contextmanager
def token_service(*, together: int = 1) -> Iterator[TokenService]:
    """Listen on loopback."""
    service = TokenService(together=together)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            value = json.loads(self.rfile.read(int(self.headers["content-length"])))
            answer = service.answer(value["refresh_token"])
            body = json.dumps(answer or {"error": {"code": "refresh_token_reused"}}).encode()
            self.send_response(200 if answer else 401)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    service.url = f"http://127.0.0.1:{server.server_port}/oauth/token"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
