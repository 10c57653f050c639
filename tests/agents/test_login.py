"""What a login file says, and which of two may take the other's place."""

from __future__ import annotations

import base64
import contextlib
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamster.agents import CodexLogin, Login

CODEX = CodexLogin("codex")
NOW = datetime(2026, 11, 19, 12, tzinfo=UTC)


def token(expires_at: datetime) -> str:
    """Return a token as the service signs it."""
    parts = ({"alg": "none"}, {"exp": int(expires_at.timestamp())}, {"signed": True})
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts)


def content(**changes: Any) -> bytes:
    """Return a login file as Codex writes it."""
    tokens = {
        "id_token": "id",
        "access_token": token(NOW + timedelta(days=9)),
        "refresh_token": "R1",
        "account_id": "me",
    }
    value = {"OPENAI_API_KEY": None, "tokens": tokens, "last_refresh": "2026-11-18T12:00:00.123456789Z"}
    return json.dumps({**value, **changes}).encode()


def login(renewed: float = 0.0, *, account: str | None = "me") -> Login:
    """Return a login that was renewed so many hours ago."""
    return Login(account=account, renewed_at=NOW - timedelta(hours=renewed), expires_at=None, secrets=(b"R1",))


def test_a_login_says_whose_it_is_and_until_when() -> None:
    found = CODEX.read(content())

    assert found.account == "me"
    assert found.renewed_at == datetime(2026, 11, 18, 12, 0, 0, 123456, tzinfo=UTC)
    assert found.expires_at == NOW + timedelta(days=9)
    assert b"R1" in found.secrets
    assert "R1" not in repr(found)


def test_a_key_that_was_signed_in_with_is_never_due() -> None:
    """There is nothing to renew."""
    found = CODEX.read(json.dumps({"OPENAI_API_KEY": "sk-1", "tokens": None, "last_refresh": None}).encode())

    assert (found.renewed_at, found.secrets, found.is_due(NOW)) == (None, (b"sk-1",), False)


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"null", b"{", b"{}", b'{"tokens": 3}', content(last_refresh="soon"), b"[" * 99_999]
)
def test_what_is_no_login_is_refused(text: bytes) -> None:
    """A torn copy must never take the place of a whole one."""
    with pytest.raises(ValueError, match=r"login file|nobody is signed in"):
        CODEX.read(text)


@given(
    st.binary(max_size=300)
    | st.builds(
        lambda value: json.dumps(value).encode(),
        st.recursive(
            st.none() | st.text() | st.integers(),
            lambda inner: st.dictionaries(st.sampled_from(["tokens", "last_refresh", "access_token"]), inner),
        ),
    )
)
def test_no_bytes_end_in_another_error(text: bytes) -> None:
    """An agent may have written anything there."""
    with contextlib.suppress(ValueError):
        CODEX.read(text)


@pytest.mark.parametrize(
    ("hours_left", "days_old", "due"),
    [(200, 1, False), (1, 1, True), (-1, 1, True), (200, 7.1, True), (200, 6.9, False)],
)
def test_it_is_due_before_an_agent_would_renew_it_by_itself(hours_left: float, days_old: float, *, due: bool) -> None:
    """Sixteen agents would do so at the same time, with the same token."""
    found = Login(
        account="me",
        renewed_at=NOW - timedelta(days=days_old),
        expires_at=NOW + timedelta(hours=hours_left),
        secrets=(),
    )

    assert found.is_due(NOW) is due
    assert found.has_expired(NOW) is (hours_left < 0)


@pytest.mark.parametrize(
    ("newer", "older", "follows"),
    [
        (login(1), login(2), True),
        (login(2), login(1), False),
        (login(1), login(1), False),
        (login(1, account="other"), login(2), False),
        (login(-1), login(2), False),
        (login(-0.01), login(2), True),
    ],
    ids=["newer", "older", "the same", "another account", "from the future", "clocks apart"],
)
def test_only_a_newer_one_of_the_same_account_takes_its_place(newer: Login, older: Login, *, follows: bool) -> None:
    """The older one's token is used up: with it everybody would be signed out."""
    assert newer.follows(older, NOW) is follows


def test_an_answer_is_known_among_other_lines() -> None:
    """The program says much else meanwhile."""
    lines = [b'{"id":1,"result":{}}', b"noise", b'{"method":"x"}', b'{"id":2,"error":{"message":"late"}}']

    assert not CODEX.has_answered(b"\n".join(lines[:3]))
    assert CODEX.has_answered(b"\n".join(lines))
    assert CODEX.renew_argv == ("codex", "app-server")
