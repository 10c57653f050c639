"""Text that somebody else wrote: safe on a terminal, on one line, without secrets."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamster.kit import one_line, printable, redact
from teamster.kit.text import REDACTED, SECRET_CHARACTERS_MIN


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("Grüße, 世界 🙂", "Grüße, 世界 🙂"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("\x1b[2Jgone", "\\u001b[2Jgone"),
        ("over\rwritten\x08", "over\\u000dwritten\\u0008"),
        ("a\u202eb\u200bc", "a\\u202eb\\u200bc"),
        ("\x9b31m", "\\u009b31m"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\ue0041"),
    ],
    ids=["ascii", "words", "kept", "escape", "overwrite", "bidi", "c1", "surrogate", "tag"],
)
def test_what_could_steer_a_terminal_is_shown_as_a_mark(text: str, shown: str) -> None:
    """What an agent prints must not rewrite what a person reads."""
    assert printable(text) == shown


@given(st.text())
def test_no_text_hides_anything(text: str) -> None:
    """And what is safe already stays as it is."""
    shown = printable(text)

    assert not any(
        unicodedata.category(character).startswith("C") for character in shown.replace("\n", "").replace("\t", "")
    )
    assert printable(shown) == shown
    shown.encode()


@given(st.text(), st.integers(1, 40))
def test_one_line_is_one_line_within_its_bound(text: str, characters_max: int) -> None:
    """It stands in tables."""
    line = one_line(text, characters_max=characters_max)

    assert len(line) <= characters_max
    assert len(line.splitlines()) <= 1
    assert line == line.strip() or len(line) == characters_max


def test_a_cut_is_seen() -> None:
    """A person must know that there is more."""
    assert one_line("one\n  two\tthree", characters_max=13) == "one two three"
    assert one_line("one\n  two\tthree", characters_max=8) == "one two…"


SECRET = b"sk-12345678"


@pytest.mark.parametrize(
    ("content", "secrets", "kept"),
    [
        (b"key=" + SECRET + b", again " + SECRET, (SECRET,), b"key=[redacted], again [redacted]"),
        (b"nothing", (SECRET,), b"nothing"),
        (SECRET + b"-and-more", (SECRET, SECRET + b"-and-more"), b"[redacted]"),
        (b"the cat", (b"cat", b""), b"the cat"),
        (b"\xff" + SECRET + b"\xfe", (SECRET,), b"\xff[redacted]\xfe"),
    ],
    ids=["twice", "none", "one-begins-with-another", "too-short", "no-text"],
)
def test_secrets_are_replaced(content: bytes, secrets: tuple[bytes, ...], kept: bytes) -> None:
    """What is kept is read by many."""
    assert redact(content, secrets) == kept


@given(st.binary(max_size=60), st.binary(min_size=SECRET_CHARACTERS_MIN, max_size=12), st.binary(max_size=60))
def test_no_secret_stays(before: bytes, secret: bytes, after: bytes) -> None:
    """Wherever it stands; unless the mark itself makes it up again."""
    if secret in REDACTED.encode() or REDACTED.encode()[:1] in secret or REDACTED.encode()[-1:] in secret:
        return

    assert secret not in redact(before + secret + after, (secret,))
