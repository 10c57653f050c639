"""An account's login file, and private copies of it: each has one writer, and none lies in the runs store."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from teamster.kit import flush, make_folder
from teamster.model import WorldError

LOGIN_BYTES_MAX: Final = 1 << 20
LOCK_SECONDS_MAX: Final = 60.0
LOOK_SECONDS: Final = 0.05
COPY_SUFFIX: Final = ".json"
COPY_MODE: Final = 0o600


class Credentials:
    """The login file of one account, shared by all harnesses of a user, and the copies that this root has lent."""

    def __init__(self, source: Path, copies: Path) -> None:
        self.source = source
        self._copies = copies

    def read(self) -> bytes:
        """Return what the login file holds now; it is replaced as a whole, so no lock is needed.

        Raises:
            WorldError: it is gone or can't be read.
        """
        content = read_login(self.source.resolve())  # a user's own may be a link to where they keep such things
        if content is None:
            raise WorldError(f"the login {self.source} is gone")
        return content

    def replace(self, content: bytes) -> None:
        """Put another one in its place, whole and flushed. Hold the lock.

        Raises:
            OSError: the disk failed; the old one is still there.
        """
        place = self.source.resolve()
        temporary = place.with_name(f".{place.name}.{os.getpid()}.tmp")
        temporary.unlink(missing_ok=True)
        _write(temporary, content)
        flush([temporary])
        temporary.rename(place)
        flush([place.parent])

    @contextlib.contextmanager
    def alone(self, *, seconds_max: float = LOCK_SECONDS_MAX) -> Iterator[None]:
        """Hold the account's lock, which the kernel frees when its holder dies: whoever renews tokens is the only one.

        Raises:
            WorldError: somebody else holds it for too long, or its folder is gone.
        """
        waiting = threading.Event()
        try:
            folder = os.open(self.source.resolve().parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise WorldError(f"the folder of the login {self.source} can't be opened: {error.strerror}") from error
        try:
            for _ in range(1 + int(seconds_max / LOOK_SECONDS)):
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                waiting.wait(LOOK_SECONDS)
            else:
                raise WorldError(f"the login {self.source} was held by another process for {seconds_max:g} s")
            yield
        finally:
            os.close(folder)

    def lend(self, name: str, content: bytes) -> Path:
        """Make a private copy under a name of its own.

        Raises:
            OSError: the disk failed.
        """
        make_folder(self._copies)
        copy = self._place(name)
        copy.unlink(missing_ok=True)
        _write(copy, content)
        return copy

    def lent(self) -> tuple[str, ...]:
        """Return the names of all copies.

        Raises:
            OSError: the disk failed.
        """
        with contextlib.suppress(FileNotFoundError):
            return tuple(sorted(path.stem for path in self._copies.iterdir() if path.suffix == COPY_SUFFIX))
        return ()

    def copy(self, name: str) -> bytes | None:
        """Return what a copy holds now; None where there is none, or something that is no file of ours.

        Raises:
            WorldError: it can't be read.
        """
        return read_login(self._place(name))

    def drop(self, name: str) -> None:
        """Remove a copy.

        Raises:
            OSError: the disk failed.
        """
        self._place(name).unlink(missing_ok=True)

    def _place(self, name: str) -> Path:
        return self._copies / f"{name}{COPY_SUFFIX}"


def read_login(path: Path) -> bytes | None:
    """Read a file; None where there is none, or a link, or something that is no file.

    Raises:
        WorldError: it can't be read.
    """
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return None
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise WorldError(f"the login {path} can't be read: {error.strerror}") from error
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(LOGIN_BYTES_MAX + 1)
    if len(content) > LOGIN_BYTES_MAX:
        raise WorldError(f"the login {path} is larger than {LOGIN_BYTES_MAX} bytes")
    return content


def _write(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, COPY_MODE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
