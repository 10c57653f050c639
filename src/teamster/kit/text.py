"""Text that somebody else wrote, made safe to show."""

from __future__ import annotations

import unicodedata

_KEPT = {"\n", "\t"}
_HIDDEN_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Cn"}
REDACTED = "[redacted]"
SECRET_CHARACTERS_MIN = 8


def printable(text: str) -> str:
    """Replace what could steer a terminal or hide text (escapes, bidi, zero width) by a visible mark."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character
        if character in _KEPT or unicodedata.category(character) not in _HIDDEN_CATEGORIES
        else f"\\u{ord(character):04x}"
        for character in text
    )


def one_line(text: str, *, characters_max: int) -> str:
    """Return the text on one line, printable, cut with an ellipsis at `characters_max`."""
    flat = printable(" ".join(text.split()))
    return flat if len(flat) <= characters_max else flat[: characters_max - 1] + "…"


def redact(content: bytes, secrets: tuple[bytes, ...]) -> bytes:
    """Replace each secret; one shorter than `SECRET_CHARACTERS_MIN` would ruin the text and is left."""
    # The longest first: one that begins with another would leave its end behind.
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SECRET_CHARACTERS_MIN:
            content = content.replace(secret, REDACTED.encode())
    return content
