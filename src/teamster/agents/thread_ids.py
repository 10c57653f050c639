"""What the names of conversations look like."""

from __future__ import annotations

from uuid import UUID


def is_uuid(text: str) -> bool:
    """Tell whether a text is a UUID in lower case: some programs take anything else for a name."""
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False
