"""What git prints, as values: text in, values out. Names are bytes, since a name may be any bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from teamster.workspace.values import ChangeKind, FileChange

FIELDS_BEFORE_PATH: Final[Mapping[bytes, int]] = {b"1": 8, b"u": 10}
CHANGES: Final[Mapping[bytes, ChangeKind]] = {
    b"A": ChangeKind.ADDED,
    b"D": ChangeKind.DELETED,
    b"M": ChangeKind.MODIFIED,
    b"T": ChangeKind.TYPE_CHANGED,
}
STATUS_MARKS: Final[Mapping[ChangeKind, str]] = {
    ChangeKind.ADDED: "??",
    ChangeKind.DELETED: " D",
    ChangeKind.MODIFIED: " M",
    ChangeKind.TYPE_CHANGED: " T",
}
UNCHANGED: Final = b"."
_ESCAPES: Final = {
    0x22: '\\"',
    0x5C: "\\\\",
    0x07: "\\a",
    8: "\\b",
    9: "\\t",
    10: "\\n",
    11: "\\v",
    12: "\\f",
    13: "\\r",
}
_PRINTABLE: Final = range(0x20, 0x7F)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One path of `git status`: how our index differs from the head, and the working tree from our index."""

    path: bytes
    index: bytes  # a letter of CHANGES, or UNCHANGED
    tree: bytes  # as above; `?` for a file that our index doesn't have, `u` for an unfinished merge

    @property
    def is_untracked(self) -> bool:
        """Whether our index doesn't know it."""
        return self.tree == b"?"


def read_status(listing: bytes) -> list[Seen]:
    """Read `git status --porcelain=v2 -z --no-renames`. A record without its end is passed over, so are folders.

    An untracked folder stands for a repository within this one: whose files are its own business.
    """
    seen = []
    for record in listing.split(b"\0")[:-1]:
        kind, _, rest = record.partition(b" ")
        if kind == b"?":
            if not rest.endswith(b"/"):
                seen.append(Seen(path=rest, index=UNCHANGED, tree=b"?"))
        elif kind in FIELDS_BEFORE_PATH:
            state = rest[:2]
            path = rest.split(b" ", FIELDS_BEFORE_PATH[kind] - 1)[-1]
            index, tree = (UNCHANGED, b"u") if kind == b"u" else (state[:1], state[1:])
            seen.append(Seen(path=path, index=index, tree=tree))
    return seen


def read_differences(listing: bytes) -> tuple[dict[bytes, ChangeKind], bytes]:
    """Read `git diff-tree -z --raw`, and return the patch that follows it, if any."""
    changes: dict[bytes, ChangeKind] = {}
    position = 0
    while listing.startswith(b":", position):
        end = listing.find(b"\0", position)
        path_end = listing.find(b"\0", end + 1)
        if end < 0 or path_end < 0:
            return changes, b""
        letter = listing[position:end].rsplit(b" ", 1)[-1][:1]
        changes[listing[end + 1 : path_end]] = CHANGES.get(letter, ChangeKind.MODIFIED)
        position = path_end + 1
    return changes, listing[position:].removeprefix(b"\0")


def against_head(seen: Iterable[Seen]) -> dict[bytes, ChangeKind]:
    """Return how our index differs from the head, as a status told it."""
    return {one.path: CHANGES[one.index] for one in seen if one.index in CHANGES}


def status_text(changes: Mapping[bytes, ChangeKind], *, lines_max: int) -> str:
    """Write changes against the head as `git status --porcelain` would."""
    return "".join(f"{STATUS_MARKS[changes[path]]} {quoted(path)}\n" for path in sorted(changes)[:lines_max])


def file_changes(changes: Mapping[bytes, ChangeKind], *, files_max: int) -> tuple[FileChange, ...]:
    """Return changes as facts; bytes of a name that are no text show as escapes."""
    return tuple(
        FileChange(path.decode("utf-8", "backslashreplace"), changes[path]) for path in sorted(changes)[:files_max]
    )


def quoted(path: bytes) -> str:
    """Write a name as `git status` does: plain where it can be, else in quotes with escapes."""
    plain = "".join(_ESCAPES.get(byte) or (chr(byte) if byte in _PRINTABLE else f"\\{byte:03o}") for byte in path)
    return f'"{plain}"' if "\\" in plain or " " in plain else plain


def cut_patch(patch: bytes, *, bytes_max: int) -> bytes:
    """Shorten a patch to whole lines."""
    return patch if len(patch) <= bytes_max else patch[: patch.rfind(b"\n", 0, bytes_max) + 1]
