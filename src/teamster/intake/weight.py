"""What all steps of a table weigh together, with what they inherit: a pack of a megabyte is repeated in each."""

from __future__ import annotations

from dataclasses import dataclass

from teamster.intake.fields import Fields


@dataclass(slots=True, kw_only=True)
class Scale:
    """Counts bytes, and notes the first step that is too much. Nothing may be put together for those after it."""

    bytes_max: int
    _bytes: int = 0

    @property
    def is_full(self) -> bool:
        """Nothing may be put together any more; that was noted."""
        return self._bytes > self.bytes_max

    def takes(self, step: Fields, size: int) -> bool:
        """Count some bytes of a step; tell whether there was room for them."""
        had_room = self._bytes <= self.bytes_max
        self._bytes += size
        if self._bytes <= self.bytes_max:
            return True
        if had_room:
            fact = f"from here on the steps have more than {self.bytes_max} bytes together, with all that they inherit"
            step.problems.add(step.path, fact, "split the batch into several tables")
        return False


def size_of(text: str) -> int:
    """Return how many bytes a text has."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
