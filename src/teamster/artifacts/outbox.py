"""The outbox: promised files, written at once, flushed behind our back, and told when they are safe."""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from teamster.artifacts.folders import open_child
from teamster.artifacts.journals import keeps_order
from teamster.artifacts.layout import AttemptFile, kept
from teamster.artifacts.root import Root, sweep_open_folder
from teamster.kit import OutsideRoot, flush, open_folder_at_once
from teamster.model import FINAL_ATTEMPT_STATUSES, FileClass, OutboxRow, WorldError

FLUSH_THREADS: Final = 2
FILES_PER_FLUSH_MAX: Final = 96  # one descriptor each while they are flushed together
FOLDERS_OPEN_MAX: Final = 64
PARENTS_KNOWN_MAX: Final = 10_000
ROUNDS_MAX: Final = 8  # calls of `flushed` that a file waits for company; a single quiet one ends the wait
FILES_UNFLUSHED_MAX: Final = 4096  # beyond it writing waits for the disk
FILE_MODE: Final = 0o600
FROZEN_MODE: Final = 0o444
Flush = Callable[[Iterable[Path | str]], None]


@dataclass(slots=True)
class _Promise:
    """What is owed for one path: the rows that may go once its newest content is safe."""

    newest: int
    seqs: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Written:
    """A file that is being flushed: with it go all rows of its path up to this one."""

    path: str
    seq: int


class Outbox:
    """Delivers rows of the store's outbox. One thread calls it; others flush.

    A file appears whole under its name before `write` returns, a row may go once `flushed` has named it. Whatever
    goes wrong is raised, by `write` itself or by the next call, and its rows stay: write them again, since a file
    whose flush failed may be anything.
    """

    def __init__(
        self,
        root: Root,
        *,
        parents_flushed: bool | None = None,
        flush_paths: Flush = flush,
        at_close: Callable[[], None] = lambda: None,
    ) -> None:
        """Deliver beneath `root`. `parents_flushed`: flush each new parent too, by default where the disk needs it.

        `flush_paths` is called by several threads at once, and `at_close` once nobody will call it any more.
        """
        self._root = root
        self._flushes_parents = not keeps_order(root.path) if parents_flushed is None else parents_flushed
        self._flush_paths = flush_paths
        self._at_close = at_close
        self._threads = ThreadPoolExecutor(FLUSH_THREADS, thread_name_prefix="outbox")
        self._promises: dict[str, _Promise] = {}
        self._flying: dict[Future[None], list[_Written]] = {}
        self._waiting: dict[str, _Written] = {}
        self._rounds = 0
        self._is_calm = True
        self._safe: list[int] = []
        self._failures: list[str] = []
        self._parents: set[str] = set()  # that were flushed before

    def write(self, rows: Sequence[OutboxRow], *, inherited: bool = False) -> None:
        """Write promised files in row order, only the newest per path, and have them flushed soon.

        `inherited` rows were promised by somebody who may have died while writing: what that left is swept.

        Raises:
            WorldError: a file could not be written: those before it were, those after it were not. Or an earlier
                flush failed; then nothing was written.
        """
        self._land()
        self._raise_failures()
        written: list[_Written] = []
        folders = _Folders(self._root.path, sweeping=inherited)
        try:
            for row in self._newest(rows):
                _deliver(row, folders.at(row.path.rpartition("/")[0]))
                written.append(_Written(row.path, row.seq))
        except (OSError, OutsideRoot) as error:
            raise WorldError(
                f"{row.path} can't be written: {error}", hint="its promise is kept, to be tried again"
            ) from error
        finally:
            folders.close()
            self._await_flush(written)
        while sum(len(files) for files in self._flying.values()) > FILES_UNFLUSHED_MAX:
            wait(self._flying, return_when="FIRST_COMPLETED")
            self._land()

    def flushed(self) -> tuple[int, ...]:
        """Return the rows that became safe since the last call: the next transaction may drop them.

        Raises:
            WorldError: a flush failed. What became safe meanwhile is told by the next call.
        """
        self._land()
        self._raise_failures()
        self._rounds += 1
        if self._is_calm or self._rounds >= ROUNDS_MAX:
            self._start_flushing()
        self._is_calm = True
        safe, self._safe = self._safe, []
        return tuple(sorted(safe))

    def settle(self) -> tuple[int, ...]:
        """Wait until everything is flushed, as long as the disk takes, and return like `flushed`.

        Raises:
            WorldError: a flush failed.
        """
        self._start_flushing()
        wait(self._flying)
        return self.flushed()

    def close(self) -> None:
        """Wait for what is being flushed and let the threads go. Rows that nobody asked for stay in the store.

        Raises:
            WorldError: a flush failed and no other call has told it.
        """
        self._start_flushing()
        self._threads.shutdown()
        self._at_close()
        self._land()
        self._raise_failures()

    def __enter__(self) -> Self:
        """Deliver for a block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def _newest(self, rows: Sequence[OutboxRow]) -> list[OutboxRow]:
        """Note every row and return those to write, in row order: an older row never replaces a newer file."""
        for row in rows:
            rule = kept(row.path)
            if rule is None or rule.file_class is FileClass.APPEND_ONLY:
                raise WorldError(f"{row.path!r} was promised, and nothing may lie there")
            promise = self._promises.setdefault(row.path, _Promise(row.seq))
            promise.seqs.add(row.seq)
            promise.newest = max(promise.newest, row.seq)
        chosen = {row.seq: row for row in rows if row.seq == self._promises[row.path].newest}
        return [chosen[seq] for seq in sorted(chosen)]

    def _await_flush(self, written: list[_Written]) -> None:
        """Let files wait for others: what is flushed together commits the disk's journal once, and each folder once."""
        for file in written:
            self._waiting.pop(file.path, None)  # its newest content is flushed, with the newest row
            self._waiting[file.path] = file
        self._is_calm = self._is_calm and not written
        if len(self._waiting) >= FILES_PER_FLUSH_MAX:
            self._start_flushing()

    def _start_flushing(self) -> None:
        written = list(self._waiting.values())
        self._waiting.clear()
        self._rounds = 0
        for start in range(0, len(written), FILES_PER_FLUSH_MAX):
            files = written[start : start + FILES_PER_FLUSH_MAX]
            folders = dict.fromkeys(file.path.rpartition("/")[0] for file in files)
            if self._flushes_parents:
                folders |= dict.fromkeys(self._new_parents(folders))
            paths = [f"{self._root.path}/{name}" for name in (*(file.path for file in files), *folders)]
            self._flying[self._threads.submit(self._flush_paths, paths)] = files

    def _new_parents(self, folders: Iterable[str]) -> list[str]:
        """Return the folders above these that were not flushed before, the root's own (`.`) included."""
        if len(self._parents) > PARENTS_KNOWN_MAX:
            self._parents.clear()
        new = set[str]()
        for folder in folders:
            above = folder.rpartition("/")[0] or "."
            while above not in self._parents and above not in new:
                new.add(above)
                above = above.rpartition("/")[0] or "."
        self._parents |= new
        return sorted(new)

    def _land(self) -> None:
        """Take in what was flushed."""
        for future in [future for future in self._flying if future.done()]:
            files = self._flying.pop(future)
            error = future.exception()
            if error is None:
                for file in files:
                    self._keep(file)
            else:
                self._parents.clear()
                self._failures.append(f"{files[0].path} and {len(files) - 1} other files can't be flushed: {error}")

    def _keep(self, file: _Written) -> None:
        promise = self._promises.get(file.path)
        if promise is None:  # an earlier flush of the same row was told already
            return
        safe = {seq for seq in promise.seqs if seq <= file.seq}
        self._safe += safe
        promise.seqs -= safe
        if not promise.seqs:
            del self._promises[file.path]

    def _raise_failures(self) -> None:
        if self._failures:
            failures, self._failures = self._failures, []
            raise WorldError("; ".join(failures), hint="the disk may be full or broken; the rows stay in the store")


class _Folders:
    """The folders of one delivery, each opened once."""

    def __init__(self, base: Path, *, sweeping: bool) -> None:
        self._base = base
        self._sweeping = sweeping
        self._open: dict[str, int] = {}
        self._swept: set[str] = set()

    def at(self, relative: str) -> int:
        """Return the descriptor of a folder beneath the root, made if it is missing."""
        found = self._open.get(relative)
        if found is None:
            found = open_folder_at_once(self._top(), relative)
            if found is None:
                found = self._made(relative)
            self._open[relative] = found
        if self._sweeping and relative not in self._swept:
            self._swept.add(relative)
            sweep_open_folder(found)
        return found

    def _top(self) -> int:
        if len(self._open) >= FOLDERS_OPEN_MAX:
            self.close()
        if "" not in self._open:
            self._open[""] = os.open(self._base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        return self._open[""]

    def _made(self, relative: str) -> int:
        """Open a folder step by step: the folders of one delivery have their parents in common, and these stay open."""
        found = self._open.get(relative)
        if found is None:
            parent, _, name = relative.rpartition("/")
            found = open_child(self._made(parent), name)
            self._open[relative] = found
        return found

    def close(self) -> None:
        """Let all of them go."""
        for descriptor in self._open.values():
            os.close(descriptor)
        self._open.clear()


def _deliver(row: OutboxRow, folder: int) -> None:
    """Write one file under a temporary name and rename it: readers see the old or the new one.

    A write-once file that lies there already, as a shim's record does, is flushed and not written again.
    """
    name = row.path.rpartition("/")[2]
    if row.file_class is FileClass.WRITE_ONCE and _holds(name, folder, row.content):
        return
    temporary = f"{name}.{os.getpid()}.tmp"
    try:
        descriptor = _create(temporary, folder)
        try:
            view = memoryview(row.content)
            while view:
                view = view[os.write(descriptor, view) :]
            if _is_closed(row):
                os.fchmod(descriptor, FROZEN_MODE)
        finally:
            os.close(descriptor)
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise


def _holds(name: str, folder: int, content: bytes) -> bool:
    """Tell whether a name is a frozen file with these bytes, and has no other name by which it could be changed."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except OSError:
        return False
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1 or stat.S_IMODE(found.st_mode) != FROZEN_MODE:
            return False
        return found.st_size == len(content) and os.read(descriptor, len(content) + 1) == content
    finally:
        os.close(descriptor)


def _create(name: str, folder: int) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(name, flags, FILE_MODE, dir_fd=folder)
    except FileExistsError:  # an earlier process with our number left it, perhaps closed for writing
        os.unlink(name, dir_fd=folder)
        return os.open(name, flags, FILE_MODE, dir_fd=folder)


def _is_closed(row: OutboxRow) -> bool:
    """Tell whether nothing may follow under this name: a write-once file, or the last state of an attempt."""
    if row.file_class is FileClass.WRITE_ONCE:
        return True
    if not row.path.endswith(f"/{AttemptFile.STATE.value}"):
        return False
    try:
        return json.loads(row.content).get("status") in FINAL_ATTEMPT_STATUSES
    except (ValueError, AttributeError, TypeError, RecursionError):
        return False
