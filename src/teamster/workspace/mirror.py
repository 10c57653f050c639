"""Our own git directory for one working tree: its index follows the files there, its objects are ours.

It holds a configuration that we wrote, no hooks, the user's objects as alternates, and an index that starts as a copy
of the user's (so that a large tree need not be read) and from then on mirrors the working tree. It is a cache: what is
wrong with it is mended by making it again. All of this happens under the workspace's lock.
"""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from teamster.kit import make_folder, write_snapshot
from teamster.workspace.changed import Sorted, sort_changed
from teamster.workspace.git import Git, GitFailed, OutOfTime
from teamster.workspace.reading import Seen, quoted, read_differences, read_status
from teamster.workspace.repository import SMALL_FILE_BYTES_MAX, Repository, read_data, settings_of
from teamster.workspace.values import ChangeKind, Limits

INDEX_BYTES_MAX: Final = 512 << 20
COPY_BYTES: Final = 1 << 20
UNBORN: Final = "ref: refs/heads/unborn"
EMPTY_TREE: Final = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
STATUS: Final = ("status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignore-submodules=all", "--no-renames")
COMPARE: Final = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--ignore-submodules=all")
PATCH: Final = ("-p", "--binary", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv")
# Ours come last, so nothing that was taken over from the user's configuration can undo them.
_OWN_SETTINGS: Final = """[core]
\tbare = false
\thooksPath = /dev/null
\tfsmonitor = false
\tattributesFile = /dev/null
\tlogAllRefUpdates = false
\tprotectHFS = false
\tprotectNTFS = false
\tsafecrlf = false
\tlooseCompression = 1
\tfsync = none
[gc]
\tauto = 0
[protocol]
\tallow = never
"""

Sign: TypeAlias = tuple[int, int, int]  # inode, size, time: another one is another file


@dataclass(slots=True)
class Memory:
    """What this process knows about a mirror, so that an unchanged tree costs one git process. May be lost."""

    seed: Sign | None = None  # the user's index that ours was made from
    index: Sign | None = None  # our index when `tree` was written from it
    tree: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A mirror that matches its working tree, but for what was not read."""

    tree: str
    seen: list[Seen]
    is_as_seen: bool  # nothing had to be read: what the status said of our index holds
    sorted: Sorted
    is_cut: bool  # there were more changed paths than git was asked to list

    @property
    def has_unread_untracked(self) -> bool:
        """Whether there may be new files that the tree doesn't hold."""
        return self.is_cut or ChangeKind.ADDED in self.sorted.unread.values()


class Mirror:
    """One working tree's mirror, for the time of one observation."""

    def __init__(self, *, folder: Path, repository: Repository, memory: Memory, git: Git, limits: Limits) -> None:
        self._folder = folder
        self._repository = repository
        self._memory = memory
        self._git = git
        self._limits = limits
        self._settings = settings_of(repository)

    @property
    def empty_tree(self) -> str:
        """The tree without files, which git knows without having it."""
        return EMPTY_TREE[self._settings.get("extensions.objectformat", "sha1")]

    def prepare(self, *, head: str | None, fresh: bool) -> None:
        """Make the git directory, or bring it up to date; `fresh` also takes over an index that the user changed."""
        (self._folder / "index.lock").unlink(missing_ok=True)  # of a git that was ended; the workspace's lock is ours
        config = _configuration(self._settings, excludes=self._repository.excludes)
        alternates = f"{quoted(os.fsencode(self._repository.objects))}\n"
        for name in ("objects/info", "refs"):
            make_folder(self._folder / name)
        self._keep("config", config)
        self._keep("objects/info/alternates", alternates)
        self._keep("HEAD", f"{head or UNBORN}\n")
        if fresh or not (self._folder / "index").exists():
            self._seed()

    def settle(self, *, head: str | None, read_untracked: bool = True) -> Settled:
        """Bring our index up to the working tree and return the tree of it.

        Raises:
            GitFailed: it can't be done; a broken index was made again once.
        """
        try:
            return self._settle(read_untracked=read_untracked)
        except OutOfTime:
            raise
        except GitFailed:
            self._start_over(head)
            return self._settle(read_untracked=read_untracked)

    def compare(self, old: str, new: str) -> tuple[dict[bytes, ChangeKind], bool]:
        """Return what differs between two trees, and whether there is more of it."""
        listing, more = self._git.listing(*COMPARE, old, new, bytes_max=self._limits.list_bytes_max, with_index=False)
        return read_differences(listing)[0], more

    def patch(self, old: str, new: str) -> tuple[dict[bytes, ChangeKind], bytes, bool]:
        """Return what differs between two trees, the patch from one to the other, and whether there is more of it."""
        bytes_max = self._limits.list_bytes_max + self._limits.diff_bytes_max
        listing, more = self._git.listing(*COMPARE, *PATCH, old, new, bytes_max=bytes_max, with_index=False)
        changes, patch = read_differences(listing)
        return changes, patch, more

    def _keep(self, name: str, text: str) -> None:
        """Have a file with this text; what lies on the disk counts, since other harnesses write it too."""
        content = text.encode("utf-8", "surrogateescape")
        if read_data(self._folder / name, bytes_max=SMALL_FILE_BYTES_MAX) != content:
            write_snapshot(self._folder / name, content)

    def _settle(self, *, read_untracked: bool) -> Settled:
        before = _sign(self._folder / "index")
        listing, more = self._git.listing(*STATUS, bytes_max=self._limits.list_bytes_max)
        seen = read_status(listing)
        # A list that was cut can't tell which of the new files were there before.
        found = sort_changed(
            seen, top=self._repository.top, limits=self._limits, read_untracked=read_untracked and not more
        )
        if found.drop:
            self._git.run("update-index", "--force-remove", "-z", "--stdin", stdin=_lines(found.drop))
        if found.add:
            self._git.run("update-index", "--add", "--remove", "--replace", "-z", "--stdin", stdin=_lines(found.add))
        is_as_seen = not found.drop and not found.add
        if not is_as_seen or self._memory.tree is None or self._memory.index != before:
            self._memory.tree = self._git.run("write-tree").decode("ascii").strip()
        self._memory.index = _sign(self._folder / "index")
        return Settled(tree=self._memory.tree, seen=seen, is_as_seen=is_as_seen, sorted=found, is_cut=more)

    def _seed(self) -> None:
        """Start from the user's index if it is another one than the last time; without one, from nothing."""
        sign = _sign(self._repository.index)
        if sign == self._memory.seed and (self._folder / "index").exists():
            return
        self._memory.tree = None
        if not _copy(self._repository.index, self._folder / "index"):
            (self._folder / "index").unlink(missing_ok=True)
        self._memory.seed = sign

    def _start_over(self, head: str | None) -> None:
        """Make the index again from the head alone: the user's may need files that we don't copy."""
        self._memory.tree = None
        for name in ("index", "index.lock"):
            (self._folder / name).unlink(missing_ok=True)
        if head is not None:
            self._git.run("read-tree", head)


def _configuration(settings: dict[str, str], *, excludes: Path) -> str:
    version = 1 if "extensions.objectformat" in settings else 0
    taken = [
        f"[{name.partition('.')[0]}]\n\t{name.partition('.')[2]} = {settings[name]}\n" for name in sorted(settings)
    ]
    place = os.fsencode(excludes).decode("utf-8", "surrogateescape")
    ignored = "/dev/null" if any(character in place for character in '"\\\n') or not excludes.is_file() else place
    return (
        f'[core]\n\trepositoryformatversion = {version}\n\texcludesFile = "{ignored}"\n{"".join(taken)}{_OWN_SETTINGS}'
    )


def _copy(source: Path, target: Path) -> bool:
    """Copy an index with its time: git takes a file that is as young as its index for possibly changed."""
    try:
        descriptor = os.open(source, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    with os.fdopen(descriptor, "rb") as file:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > INDEX_BYTES_MAX:
            return False
        write_snapshot(target, file.read(INDEX_BYTES_MAX))
    os.utime(target, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    return True


def _sign(path: Path) -> Sign | None:
    with contextlib.suppress(OSError):
        facts = path.lstat()
        return (facts.st_ino, facts.st_size, facts.st_mtime_ns)
    return None


def _lines(paths: list[bytes]) -> bytes:
    return b"".join(path + b"\0" for path in paths)
