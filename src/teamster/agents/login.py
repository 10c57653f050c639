"""Codex's login file as a value: whose it is, when its tokens were renewed last, how the program renews them."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

LOGIN_FILE: Final = "auth.json"
DUE_BEFORE_EXPIRY: Final = timedelta(hours=2)  # longer than most attempts: who starts now need not renew it
DUE_AFTER: Final = timedelta(days=7)  # a day before Codex would do it by itself, each attempt for its own copy
CLOCKS_APART_MAX: Final = timedelta(minutes=5)
_ANSWER_ID: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """What a login file says. Without `renewed_at` there is nothing that could be renewed: it is a key."""

    account: str | None
    renewed_at: datetime | None
    expires_at: datetime | None
    secrets: tuple[bytes, ...] = field(repr=False)

    def is_due(self, now: datetime) -> bool:
        """Tell whether its tokens should be renewed before anybody starts with them."""
        if self.renewed_at is None:
            return False
        expires = self.expires_at is not None and self.expires_at - now < DUE_BEFORE_EXPIRY
        return expires or now - self.renewed_at > DUE_AFTER

    def has_expired(self, now: datetime) -> bool:
        """Tell whether nobody could work with it."""
        return self.expires_at is not None and self.expires_at <= now

    def follows(self, other: Login, now: datetime) -> bool:
        """Tell whether it was renewed after another one of the same account: only then may it take that one's place.

        A moment that has not come yet would keep all later ones out.
        """
        if self.renewed_at is None or other.renewed_at is None or self.account != other.account:
            return False
        return other.renewed_at < self.renewed_at <= now + CLOCKS_APART_MAX


class CodexLogin:
    """How Codex keeps a login: `auth.json`, written anew in place each time its tokens are renewed."""

    file_name = LOGIN_FILE

    def __init__(self, program: str) -> None:
        self._program = program

    def read(self, content: bytes) -> Login:
        """Read a login file.

        Raises:
            ValueError: it is none, or nobody is signed in.
        """
        try:
            value = json.loads(content)
            tokens = value.get("tokens") or {}
            texts = [value.get("OPENAI_API_KEY"), *(tokens.get(name) for name in _TOKENS)]
            secrets = tuple(text.encode() for text in texts if isinstance(text, str) and text)
            renewed_at = value.get("last_refresh") if tokens else None
            login = Login(
                account=tokens.get("account_id"),
                renewed_at=None if renewed_at is None else datetime.fromisoformat(renewed_at).astimezone(UTC),
                expires_at=_expiry(tokens.get("access_token")),
                secrets=secrets,
            )
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"is not a login file of Codex: {type(error).__name__}") from error
        if not secrets:
            raise ValueError("holds no token: nobody is signed in")
        return login

    @property
    def renew_argv(self) -> tuple[str, ...]:
        """The call that renews the tokens of its home: the program's own way, told by its standard input."""
        return (self._program, "app-server")

    @property
    def renew_input(self) -> bytes:
        """What it is told. It must not see the end of it before it has answered: it would go in the middle."""
        client = {"name": "teamster", "version": "1"}
        calls: tuple[dict[str, Any], ...] = (
            {"method": "initialize", "id": 1, "params": {"clientInfo": client}},
            {"method": "initialized"},
            {"method": "account/read", "id": _ANSWER_ID, "params": {"refreshToken": True}},
        )
        return b"".join(json.dumps(call).encode() + b"\n" for call in calls)

    def has_answered(self, output: bytes) -> bool:
        """Tell whether it has done what it was told, or couldn't: the file says which."""
        return any(_answers(line) for line in output.split(b"\n"))


_TOKENS: Final = ("id_token", "access_token", "refresh_token")


def _expiry(token: object) -> datetime | None:
    """Read when a token expires, where it says so: it is signed for others, and we only look."""
    if not isinstance(token, str) or token.count(".") != 2:  # noqa: PLR2004 - head, claims, signature
        return None
    claims = token.split(".")[1]
    try:
        value = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
        return datetime.fromtimestamp(value["exp"], UTC)
    except (binascii.Error, ValueError, KeyError, TypeError, OverflowError, OSError):
        return None


def _answers(line: bytes) -> bool:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and value.get("id") == _ANSWER_ID
