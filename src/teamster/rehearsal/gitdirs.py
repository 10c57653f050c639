"""Give a copied working tree a git directory of its own: the original's is never written through it."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Final

from teamster.rehearsal.copying import GIT_NAME, WORKTREES_NAME, copy_tree

WORKING_TREE_FILES: Final = ("HEAD", "index", "ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD")
"""What a linked working tree has of its own beside the repository that it shares."""

_POINTER: Final = re.compile(r"gitdir:\s*(.+)")
_WORKTREE_LINE: Final = re.compile(rb"^[ \t]*worktree[ \t]*=.*\n?", re.MULTILINE | re.IGNORECASE)
_ABSOLUTE_WORKTREE_LINE: Final = re.compile(rb'^[ \t]*worktree[ \t]*=[ \t]*"?/.*\n?', re.MULTILINE | re.IGNORECASE)


def own_git_directory(top: Path, copy: Path) -> tuple[str, ...]:
    """Mend the git directory of a copied working tree, and return what of it had to stay behind.

    The `.git` file of a linked working tree or a submodule becomes a repository of its own. Settings that name
    another working tree go; borrowed objects stay borrowed, as git never writes to them.
    """
    git_directory = _git_directory(top)
    if git_directory is None:
        return ()
    own = copy / GIT_NAME
    shared = _common(git_directory)
    dropped = () if git_directory == top / GIT_NAME else _take_over(git_directory, shared, own)
    for name in ("config", "config.worktree"):
        _rewrite(own / name, _WORKTREE_LINE)
    for config in own.glob("modules/**/config"):
        _rewrite(config, _ABSOLUTE_WORKTREE_LINE)
    _make_absolute(own, objects=shared / "objects")
    return dropped


def borrowed_repository(top: Path) -> Path | None:
    """Return the repository elsewhere that a linked working tree or a submodule is a part of."""
    git_directory = _git_directory(top)
    return None if git_directory is None or git_directory == top / GIT_NAME else _common(git_directory)


def _git_directory(top: Path) -> Path | None:
    """Return the git directory of a working tree, where there is one."""
    place = top / GIT_NAME
    if place.is_symlink():
        return None
    if place.is_file():
        found = _POINTER.match(place.read_text(encoding="utf-8", errors="replace"))
        if found is None:
            return None
        place = Path(os.path.normpath(top / found[1].strip()))
    return place if place.is_dir() else None


def _take_over(git_directory: Path, shared: Path, own: Path) -> tuple[str, ...]:
    """Make a repository from the one that is shared and what the working tree has of its own."""
    own.mkdir(mode=0o700)
    left_out = frozenset({shared / WORKTREES_NAME})
    dropped = tuple(f"{GIT_NAME}/{line}" for line in copy_tree(shared, own, leave_out=left_out))
    if shared != git_directory:
        for name in WORKING_TREE_FILES:
            (own / name).unlink(missing_ok=True)
            if (git_directory / name).is_file():
                shutil.copy2(git_directory / name, own / name)
    return dropped


def _common(git_directory: Path) -> Path:
    """Return the repository that a working tree's git directory shares, else itself."""
    try:
        text = (git_directory / "commondir").read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return git_directory
    return Path(os.path.normpath(git_directory / text))


def _rewrite(config: Path, line: re.Pattern[bytes]) -> None:
    if config.is_file() and not config.is_symlink():
        text = config.read_bytes()
        without = line.sub(b"", text)
        if without != text:
            config.write_bytes(without)


def _make_absolute(own: Path, *, objects: Path) -> None:
    """Name borrowed objects by absolute paths: relative ones were meant from another place."""
    alternates = own / "objects" / "info" / "alternates"
    if alternates.is_file():
        lines = os.fsdecode(alternates.read_bytes()).splitlines()
        alternates.write_bytes(os.fsencode("".join(f"{os.path.normpath(objects / line)}\n" for line in lines if line)))
