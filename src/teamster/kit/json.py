"""JSON as bytes: one way to write it, one way to hash it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

_encode_lines: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",\n ", ": ")).encode
_encode_canonical: Final = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
).encode


def canonical(value: Any) -> bytes:
    """Write JSON with sorted keys and without spaces: equal values give equal bytes."""
    return _encode_canonical(value).encode("utf-8", "surrogatepass")


def document(value: Mapping[str, Any]) -> bytes:
    """Write JSON for a file that people read too: in the order given, a line for each value, with a last newline.

    Not indented: that takes the slow encoder, at a tenth of what a short attempt costs.
    """
    return f"{_encode_lines(value)}\n".encode()


def sha256(content: bytes) -> str:
    """Return the SHA-256 of some bytes in hex."""
    return hashlib.sha256(content).hexdigest()


def digest(value: Any) -> str:
    """Return the SHA-256 of a value's canonical JSON."""
    return sha256(canonical(value))
