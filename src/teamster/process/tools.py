"""Short programs that are run to their end: git, version probes. Agents are not run here."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from teamster.model import WorldError
from teamster.process.nursery import boot_seconds

CHUNK_BYTES: Final = 64 * 1024
DRAIN_CHUNKS_MAX: Final = 17  # a pipe holds 1 MiB at most; more than that comes from a child that outlives the program
SLEEP_SECONDS_MAX: Final = 1.0  # as everywhere: sleeps don't count suspended time, deadlines do


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """How a tool ended: `exit_code` is negative where a signal did it; `truncated`: not all output was kept."""

    exit_code: int
    stdout: bytes
    stderr: bytes
    truncated: bool
    timed_out: bool


def run_tool(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout_seconds: float,
    output_bytes_max: int,
    stdin: bytes = b"",
    until: Callable[[bytes], bool] | None = None,
) -> ToolResult:
    """Run a program to its end, in a session of its own, and keep `output_bytes_max` of each of its outputs.

    It is over when the program has ended, even if a child of it holds an output open; what is left of its group is
    killed then. At the timeout the whole group is killed. With `until` its standard input stays open until that says
    that what it has written so far will do: some programs go at the end of their input, whatever they are at.

    Raises:
        WorldError: the program can't be started.
    """
    try:
        process = subprocess.Popen(  # noqa: S603 - the caller says what to run: that is the point
            list(argv),
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise _not_started(argv[0], cwd=cwd, error=error) from error
    with process:
        talk = _Talk(process, stdin=stdin, output_bytes_max=output_bytes_max, until=until)
        try:
            timed_out = not talk.until_ended(boot_seconds() + timeout_seconds)
        finally:
            talk.close()
    return ToolResult(
        exit_code=process.returncode,
        stdout=bytes(talk.stdout),
        stderr=bytes(talk.stderr),
        truncated=talk.truncated,
        timed_out=timed_out,
    )


class _Talk:
    """What goes in and out while a tool runs."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        *,
        stdin: bytes,
        output_bytes_max: int,
        until: Callable[[bytes], bool] | None,
    ) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self.stdout, self.stderr = bytearray(), bytearray()
        self.truncated = False
        self._process = process
        self._output_bytes_max = output_bytes_max
        self._until = until
        self._input = memoryview(stdin)
        self._pidfd = os.pidfd_open(process.pid)
        self._kept: dict[IO[bytes], bytearray] = {process.stdout: self.stdout, process.stderr: self.stderr}
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._pidfd, selectors.EVENT_READ)
        for pipe in self._kept:
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ)
        os.set_blocking(process.stdin.fileno(), False)
        self._selector.register(process.stdin, selectors.EVENT_WRITE)

    def until_ended(self, deadline: float) -> bool:
        """Talk until the program has ended, then take what its outputs still hold; False at the deadline."""
        while (rest := deadline - boot_seconds()) > 0:
            ready = [key.fileobj for key, _ in self._selector.select(min(rest, SLEEP_SECONDS_MAX))]
            for source in ready:
                if source is self._process.stdin:
                    self._write(self._process.stdin)
                elif not isinstance(source, int):
                    self._read(source)  # type: ignore[arg-type] # what we registered: a pipe
            if self._pidfd in ready:
                for pipe in self._kept:
                    for _ in range(DRAIN_CHUNKS_MAX):
                        if not self._read(pipe):
                            break
                return True
        return False

    def close(self) -> None:
        """Kill what is left of the group: its leader was not waited for, so the group is still its own."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._selector.close()
        os.close(self._pidfd)

    def _write(self, pipe: IO[bytes]) -> None:
        with contextlib.suppress(BlockingIOError):
            try:
                self._input = self._input[os.write(pipe.fileno(), self._input) :]
            except BrokenPipeError:  # it does not want to know
                self._input = self._input[:0]
        if not self._input:
            self._selector.unregister(pipe)
            if self._until is None:
                pipe.close()

    def _read(self, pipe: IO[bytes]) -> bool:
        """Take a chunk; False where there is none now."""
        if pipe.closed:
            return False
        try:
            chunk = os.read(pipe.fileno(), CHUNK_BYTES)
        except BlockingIOError:
            return False
        if not chunk:
            self._selector.unregister(pipe)
            pipe.close()
            return False
        kept = self._kept[pipe]
        room = self._output_bytes_max - len(kept)
        self.truncated |= len(chunk) > room
        kept += chunk[: max(0, room)]
        if self._until is not None and self._until(bytes(self.stdout)):
            self._until = None
            if not self._input and self._process.stdin is not None:
                self._process.stdin.close()
        return True


def _not_started(program: str, *, cwd: Path, error: OSError | ValueError) -> WorldError:
    match error:
        case FileNotFoundError() | NotADirectoryError() if not cwd.is_dir():
            return WorldError(f"{program} can't be run in {cwd}: there is no such folder")
        case FileNotFoundError():
            return WorldError(f"there is no program {program}", hint="install it, or put its folder on the PATH")
        case PermissionError():
            return WorldError(
                f"{program} may not be run in {cwd}", hint="look at the modes of the program and the folder"
            )
        case OSError():
            return WorldError(f"{program} can't be started: {error.strerror}")
        case _:
            return WorldError(f"{program} can't be started: {error}")
