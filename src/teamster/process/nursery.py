"""The nursery and its shims: one file of standard library, run by its path with `python -I -S`.

The nursery is started once per host by `exec`, holds no database and no thread, and forks shims: nothing else forks.
A shim owns one agent at a time: it takes the attempt's lock, starts the agent in a session of its own, ends it where
a limit says so, sees its tree empty, writes `exit.json`, reports, and parks again. Its memory is why this file imports
so little: our package, `json` or `subprocess` would double it.

Frames on a shim's link are a length and a marshalled tuple: `("run", order)`, `("stop", run_id)`; back comes
`("ended", run_id, record)`. On the control socket, one datagram each: `fork`; back come `("shim", pid, start_ticks)`
with the link attached, `("gone", pid)` once whatever a dead shim left behind is gone too, `("failed", fact)`.
"""
# pathlib would double a shim's memory:
# ruff: noqa: PTH102, PTH104, PTH108, PTH110, PTH112, PTH114, PTH113, PTH120, PTH208

from __future__ import annotations

import _socket
import contextlib
import errno
import fcntl
import gc
import marshal
import math
import os
import resource
import select
import signal
import struct
import sys
import time

TYPE_CHECKING = False  # as `typing` has it, without its memory
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
FRAME_HEADER = struct.Struct("!I")
READ_BYTES_MAX = 256 * 1024
LOOK_SECONDS = 1.0  # between looks at limits and lease; also the longest sleep, since sleeps ignore suspension
LOOK_SECONDS_YOUNG = 0.1  # before the first look: most floods begin at once
LOOK_SECONDS_NEAR_LIMIT = 0.1  # where the output nears its cap
LOCK_SECONDS_MAX = 1.0  # a probe holds a shared lock for microseconds; a second owner holds it for good
LOCK_RETRY_SECONDS = 0.002
EXEC_SECONDS_MAX = 1.0  # of waiting for an exec: its memory has no environment for microseconds
EXEC_LOOK_SECONDS = 0.0005
KERNEL_THREAD = 0x00200000  # PF_KTHREAD: it has no memory at all
KILL_PAUSE_SECONDS = 0.005  # grows to LOOK_SECONDS: a process in an uninterruptible sleep may take for ever
RECORD_SECONDS_MAX = 60.0  # of trying to write the record where something is in the way
FULL_SECONDS_MAX = 24 * 3600.0  # where it is the room that is missing
FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
POINTER_BYTES_MAX = 4096
CHILDREN_BYTES_MAX = 1 << 20
FORK = b"fork"

Facts = dict[str, object]
Order = dict[str, "Any"]  # made by `links.write_order`: what the system takes is bytes, ids are texts


def boot_seconds() -> float:
    """Read the clock that counts suspended time and never steps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def iso_now() -> str:
    """Write the present moment as contract v1 wants it."""
    nanoseconds = time.clock_gettime_ns(time.CLOCK_REALTIME)
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{rest // 1000:06d}Z"


def quote(text: str) -> str:
    """Write a JSON string in ASCII."""

    def escape(character: str) -> str:
        code = ord(character)
        if character in '"\\' or code < 0x20 or 0x7F <= code < 0xD800 or 0xE000 <= code < 0x10000:  # noqa: PLR2004 - code points
            return f"\\u{code:04x}"
        return character if code < 0x7F else "?"  # noqa: PLR2004 - DEL

    return f'"{"".join(map(escape, text))}"'


def write_json(facts: Facts) -> bytes:
    """Write a flat object of numbers and texts, a line for each, as all our documents are."""
    parts = (f"{quote(key)}: {quote(value) if isinstance(value, str) else value}" for key, value in facts.items())
    return ("{" + ",\n ".join(parts) + "}\n").encode()


def read_fields(pid: int) -> list[bytes] | None:
    """Return what the kernel says of a process from its state on, or None where there is none."""
    try:
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.read(descriptor, 4096).rpartition(b")")[2].split()  # a program's name may hold spaces and brackets
    except ProcessLookupError:
        return None
    finally:
        os.close(descriptor)


def read_stat(pid: int) -> tuple[str, int, int] | None:
    """Return state, parent and start ticks of a process, or None where there is none."""
    fields = read_fields(pid)
    return None if fields is None else (fields[0].decode(), int(fields[1]), int(fields[19]))


def children_of(pid: int) -> list[int]:
    """Return the children of all threads of a process; fast forks may be missed, so callers look again."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            descriptor = os.open(f"/proc/{pid}/task/{thread}/children", os.O_RDONLY | os.O_CLOEXEC)
            try:
                while chunk := os.read(descriptor, CHILDREN_BYTES_MAX):
                    found += map(int, chunk.split())
            finally:
                os.close(descriptor)
    return found


def kill_exactly(pid: int, *, parent: int) -> bool:
    """Send SIGKILL to a process that still is the child of `parent`; a pid that was used again is left alone."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        stat = read_stat(pid)
        if stat is None or stat[0] in "ZX" or stat[1] != parent:
            return False
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def kill_beneath(pid: int, *, spare: frozenset[int] = frozenset()) -> set[int]:
    """Send SIGKILL to all descendants of a process, but for spared children and theirs; return whom it met alive.

    The deepest die first. What they fork meanwhile comes to the subreaper above, where the next look finds it.
    """
    families = [(child, pid) for child in children_of(pid) if child not in spare]
    for parent, _ in families:  # grows as it goes: no recursion, a tree may be deep
        families += [(child, parent) for child in children_of(parent)]
    return {child for child, parent in reversed(families) if kill_exactly(child, parent=parent)}


def read_environment(pid: int) -> bytes:
    """Return a process's environment; one that is gone, or not ours to look at, has none."""
    content = b""
    with contextlib.suppress(OSError):
        descriptor = os.open(f"/proc/{pid}/environ", os.O_RDONLY | os.O_CLOEXEC)
        try:
            while chunk := os.read(descriptor, READ_BYTES_MAX):
                content += chunk
        finally:
            os.close(descriptor)
    return content


def is_in_exec(pid: int) -> bool:
    """Tell whether a process has given up its old memory and not yet laid out the new one's environment."""
    fields = read_fields(pid)
    return fields is not None and fields[0] not in b"ZX" and not int(fields[6]) & KERNEL_THREAD and fields[48] == b"0"


def carries(pid: int, mark: bytes) -> bool:
    """Tell whether a process's environment holds an entry.

    In the middle of an exec it shows none for a moment: an empty one counts once a look before it saw no exec.
    """
    give_up_at = boot_seconds() + EXEC_SECONDS_MAX
    is_settled = False
    while not (content := read_environment(pid)) and not is_settled and boot_seconds() < give_up_at:
        is_settled = not is_in_exec(pid)
        if not is_settled:
            select.select([], [], [], EXEC_LOOK_SECONDS)
    return b"\0" + mark + b"\0" in b"\0" + content


def open_carriers(nonce: str) -> dict[int, int]:
    """Return all processes that carry the nonce in their environment, each with a pidfd that the caller closes."""
    mark = f"TEAMSTER_NONCE={nonce}".encode()
    found: dict[int, int] = {}
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        if carries(pid, mark):
            with contextlib.suppress(OSError):
                found[pid] = os.pidfd_open(pid)
            if pid in found and not carries(pid, mark):  # the pid was used again before we had hold of it
                os.close(found.pop(pid))
    return found


def kill_by_nonce(nonce: str) -> set[int]:
    """Send SIGKILL to every process that carries the nonce; return whom it met alive."""
    found = open_carriers(nonce)
    for descriptor in found.values():
        with contextlib.suppress(OSError):
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        os.close(descriptor)
    return set(found)


class Wakeup:
    """Turns SIGCHLD and SIGTERM into something that `poll` sees."""

    def __init__(self) -> None:
        self.descriptor, self._writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.terminated = False
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, self._note)
        signal.signal(signal.SIGTERM, self._note)

    def _note(self, number: int, _frame: object) -> None:
        self.terminated |= number == signal.SIGTERM

    def drain(self) -> None:
        """Forget what woke us."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self.descriptor, 512):
                pass

    def close(self) -> None:
        """Let go of the descriptors, in a fork that makes its own."""
        signal.set_wakeup_fd(-1)
        os.close(self.descriptor)
        os.close(self._writer)


def pack(frame: tuple[Any, ...]) -> bytes:
    """Write a frame."""
    content = marshal.dumps(frame)
    return FRAME_HEADER.pack(len(content)) + content


class Link:
    """A shim's socket: frames in, frames out. Its end of file means that the harness is gone."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.is_open = True
        self._buffer = b""

    def receive(self) -> None:
        """Take what is there; call only where `poll` said so."""
        try:
            chunk = os.read(self.descriptor, READ_BYTES_MAX)
        except ConnectionResetError:
            chunk = b""
        self._buffer += chunk
        self.is_open = bool(chunk)

    def next_frame(self) -> tuple[Any, ...] | None:
        """Return the next whole frame."""
        if len(self._buffer) < FRAME_HEADER.size:
            return None
        (size,) = FRAME_HEADER.unpack_from(self._buffer)
        end = FRAME_HEADER.size + size
        if len(self._buffer) < end:
            return None
        frame: tuple[Any, ...] = marshal.loads(self._buffer[FRAME_HEADER.size : end])  # noqa: S302 - from our harness
        self._buffer = self._buffer[end:]
        return frame

    @property
    def has_news(self) -> bool:
        """Something was received that nobody has taken yet."""
        return bool(self._buffer)

    def send(self, frame: tuple[Any, ...]) -> None:
        """Send a frame; a harness that is gone shows in `is_open`."""
        view = memoryview(pack(frame))
        try:
            while view:
                view = view[os.write(self.descriptor, view) :]
        except OSError:
            self.is_open = False


class Lease:
    """The dead-man switch: `control` names a file that holds the boot second after which nobody watches any more."""

    def __init__(self, control: bytes) -> None:
        self._control = control
        self._until: float | None = None

    def is_over(self, now: float) -> bool:
        """Look at the files. What is missing or unreadable leaves the last known value."""
        with contextlib.suppress(OSError, ValueError):
            until = float(self._read(self._read(self._control).removesuffix(b"\n")))
            self._until = self._until if math.isnan(until) else until
        return self._until is not None and now >= self._until

    @staticmethod
    def _read(path: bytes) -> bytes:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            return os.pread(descriptor, POINTER_BYTES_MAX, 0)
        finally:
            os.close(descriptor)


class NotStartedError(Exception):
    """The agent could not be started; says why."""


class Agent:
    """One agent: its files, its process, its limits."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.pid = 0
        self.status: int | None = None
        self.ended: set[int] = set()
        self.stop_asked = False
        self._cause: Facts | None = None
        self._rung = 0
        self._rung_until = 0.0
        self._outputs: list[int] = []
        self._lease = Lease(order["spool"] + b"/control")
        self._lock = -1
        self.started_at = iso_now()
        now = boot_seconds()
        self._deadline = now + order["timeout_seconds"]
        self._look_at = now + LOOK_SECONDS_YOUNG
        self._lease.is_over(now)  # know a deadline before anything runs, should its file go away

    def take_lock(self) -> None:
        """Become the attempt's owner.

        Raises:
            NotStartedError: another process is, or there is no place for the lock.
        """
        path = self.order["spool"] + b"/lock"
        give_up_at = boot_seconds() + LOCK_SECONDS_MAX
        try:
            self._lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            while boot_seconds() < give_up_at:
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return
                select.select([], [], [], LOCK_RETRY_SECONDS)
        except OSError as error:
            raise NotStartedError(f"{os.fsdecode(path)}: {error.strerror}") from error
        raise NotStartedError(f"{os.fsdecode(path)}: another process holds it")

    def spawn(self) -> None:
        """Start the program, in the order's folder, with three descriptors and nothing of ours.

        Raises:
            NotStartedError: says what was in the way.
        """
        order = self.order
        flags = os.O_CLOEXEC | os.O_NOFOLLOW
        stdin = -1
        try:
            for name in (b"/stdout", b"/stderr"):
                path = order["spool"] + name
                self._outputs.append(os.open(path, flags | os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
            stdin = os.open(order["stdin"] or b"/dev/null", os.O_RDONLY | os.O_CLOEXEC)
            os.chdir(order["cwd"])  # ours too, for a moment: then no code runs between fork and exec
            self.pid = os.posix_spawn(  # noqa: TID251 - the one place that starts agents
                self._program(),
                order["argv"],
                {**order["env"], b"TEAMSTER_NONCE": order["nonce"].encode()},
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, stdin, 0),
                    (os.POSIX_SPAWN_DUP2, self._outputs[0], 1),
                    (os.POSIX_SPAWN_DUP2, self._outputs[1], 2),
                ],
                setsid=True,
                setsigmask=(),
                setsigdef=(signal.SIGPIPE, signal.SIGXFSZ),  # the interpreter ignores them; all others are default
            )
        except OSError as error:
            subject = os.fsdecode(error.filename or order["argv"][0])
            raise NotStartedError(f"{subject}: {error.strerror}") from error
        except ValueError as error:  # a null byte, or a name that no environment can hold
            raise NotStartedError(f"{os.fsdecode(order['argv'][0])}: {error}") from error
        finally:
            if stdin >= 0:
                os.close(stdin)
            os.chdir("/")

    def _program(self) -> bytes:
        name: bytes = self.order["argv"][0]
        if b"/" in name:
            return name
        for folder in self.order["env"].get(b"PATH", b"/usr/bin:/bin").split(b":"):
            path: bytes = folder + b"/" + name
            if folder.startswith(b"/") and os.path.isfile(path) and os.access(path, os.X_OK):
                return path
        raise FileNotFoundError(errno.ENOENT, "no such program on the PATH that agents get", name)

    def output_bytes(self) -> int:
        """Return how much the agent wrote."""
        return sum(os.fstat(descriptor).st_size for descriptor in self._outputs)

    def press(self, now: float) -> bool:
        """Look at the limits, send the next signal of the ladder where one is due; True once the tree must die."""
        if self._cause is None or now >= self._look_at:
            self._look(now)
        if self._cause is None:
            return False
        ladder = self.order["ladder"]
        while now >= self._rung_until and self._rung < len(ladder):
            number, seconds = ladder[self._rung]
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, number)  # a session's leader that was not waited for: the group is its own
            self._rung += 1
            self._rung_until = now + seconds
        return now >= self._rung_until

    def _look(self, now: float) -> None:
        bytes_max = self.order["output_bytes_max"]
        if now >= self._look_at:
            written = self.output_bytes()
            self._look_at = now + (LOOK_SECONDS_NEAR_LIMIT if written * 4 > bytes_max else LOOK_SECONDS)
            if self._lease.is_over(now):
                self._end_at_once({"kind": "orphaned"})
            elif written > bytes_max:
                self._end_at_once({"kind": "output_limit", "bytes_max": bytes_max})
        if self._cause is None and now >= self._deadline:
            self._cause = {"kind": "timed_out", "after_seconds": self.order["timeout_seconds"]}
        elif self._cause is None and self.stop_asked:
            self._cause = {"kind": "stopped"}

    def _end_at_once(self, cause: Facts) -> None:
        self._cause = self._cause or cause
        self._rung = len(self.order["ladder"])
        self._rung_until = 0.0

    def sleep_seconds(self, now: float) -> float:
        """Return how long nothing can be due."""
        due = self._rung_until if self._cause else self._deadline
        return max(0.0, min(self._look_at, due) - now)

    def reap(self) -> bool:
        """Wait for whoever ended; False once there is nobody left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.pid:
                self.status = status

    def record(self, not_started: str = "") -> bytes:
        """Write how it ended, as `model.exit_record_to_json` would."""
        facts: Facts = {"run_id": self.order["run_id"]}
        if not_started:
            facts |= {"kind": "not_started", "fact": not_started}
        elif self._cause is not None:
            facts |= self._cause
        else:
            code = os.waitstatus_to_exitcode(self.status or 0)
            facts |= {"kind": "exited", "exit_code": code} if code >= 0 else {"kind": "signalled", "signal": -code}
        facts |= {"started_at": self.started_at, "ended_at": iso_now(), "stragglers_ended": len(self.ended)}
        return write_json(facts)

    def close(self) -> None:
        """Release the lock; its file stays, since a missing one proves nothing."""
        for descriptor in (*self._outputs, self._lock):
            if descriptor >= 0:
                os.close(descriptor)
        self._outputs, self._lock = [], -1


class Shim:
    """Serves one slot: one attempt after the other, until its harness is gone."""

    def __init__(self, descriptor: int) -> None:
        self._link = Link(descriptor)
        self._wakeup = Wakeup()
        self._poll = select.poll()
        self._poll.register(self._wakeup.descriptor, select.POLLIN)
        self._poll.register(descriptor, select.POLLIN)

    def serve(self) -> None:
        """Carry out orders. Whoever closes the link without one makes us leave."""
        while True:
            frame = self._link.next_frame()
            if frame is not None and frame[0] == "run":
                self._carry_out(frame[1])
            elif frame is None:
                if not self._link.is_open or self._wakeup.terminated:
                    return
                self._sleep(None)

    def _sleep(self, seconds: float | None) -> None:
        milliseconds = None if seconds is None else int(seconds * 1000) + 1
        for descriptor, _ in self._poll.poll(milliseconds):
            if descriptor == self._wakeup.descriptor:
                self._wakeup.drain()
            else:
                self._link.receive()
                if not self._link.is_open:
                    self._poll.unregister(descriptor)

    def _carry_out(self, order: Order) -> None:
        agent = Agent(order)
        try:
            agent.take_lock()
        except NotStartedError as error:  # what lies there is the owner's: only the report may tell
            self._link.send(("ended", order["run_id"], agent.record(not_started=str(error))))
        else:
            record = self._run(agent)
            is_kept = try_record(order["record"], record) is None
            agent.close()  # first: who hears the report finds the lock free
            self._link.send(("ended", order["run_id"], record))
            if not is_kept:
                self._keep_trying(order, record)
            if not self._link.is_open:
                self._flush(order["record"])
        finally:
            agent.close()

    def _run(self, agent: Agent) -> bytes:
        try:
            agent.spawn()
        except NotStartedError as error:
            return agent.record(not_started=str(error))
        self._watch(agent)
        self._empty(agent)
        return agent.record()

    def _watch(self, agent: Agent) -> None:
        while agent.reap() and agent.status is None:
            while (frame := self._link.next_frame()) is not None:
                agent.stop_asked |= frame == ("stop", agent.order["run_id"])
            agent.stop_asked |= self._wakeup.terminated
            if agent.press(boot_seconds()):
                return
            self._sleep(agent.sleep_seconds(boot_seconds()))

    def _empty(self, agent: Agent) -> None:
        """End whatever is left and see the tree empty. A process that can't be killed keeps us, and the lock, here."""
        pause = KILL_PAUSE_SECONDS
        mine = os.getpid()
        killed: set[int] = set()
        while agent.reap() or (killed and self._sweep(agent, killed)):
            killed |= kill_beneath(mine)
            self._wakeup.drain()
            agent.reap()
            select.select([self._wakeup.descriptor], [], [], pause)
            pause = min(pause * 2, LOOK_SECONDS)
        agent.ended = killed - {agent.pid}

    @staticmethod
    def _sweep(agent: Agent, killed: set[int]) -> bool:
        """Look for whoever got away from beneath us; only where there was more than the agent itself to end."""
        found = kill_by_nonce(agent.order["nonce"])
        killed |= found
        return bool(found)

    def _keep_trying(self, order: Order, record: bytes) -> None:
        """Once the harness that heard the report is gone, try until the record lies there: else the agent runs again.

        A full disk may take its owner a day. A next order, or a spool that is gone, says that the end was committed.
        """
        began = boot_seconds()
        while not self._link.has_news and not self._wakeup.terminated and os.path.isdir(order["spool"]):
            if not self._link.is_open:
                error = try_record(order["record"], record)
                waited = boot_seconds() - began
                if error is None or waited >= (FULL_SECONDS_MAX if error in FULL else RECORD_SECONDS_MAX):
                    return
            self._sleep(LOOK_SECONDS)
            self._wakeup.drain()

    @staticmethod
    def _flush(path: bytes) -> None:
        for name in (path, os.path.dirname(path)):
            with contextlib.suppress(OSError):
                descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
                try:
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)


def try_record(path: bytes, record: bytes) -> int | None:
    """Write the record; return the number of the error that was in the way."""
    try:
        try:
            write_record(path, record)
        except (FileNotFoundError, NotADirectoryError):
            make_place(path)
            write_record(path, record)
    except OSError as error:
        with contextlib.suppress(OSError):  # the log may lie on the same full disk
            sys.stderr.write(f"exit record {path!r}: {error}\n")
        return error.errno or 0
    return None


def make_place(path: bytes) -> None:
    """Make the record's folder again, and the one above, where an agent took them away."""
    folder = os.path.dirname(path)
    for place in (os.path.dirname(folder), folder):
        if os.path.islink(place) or not os.path.isdir(place):
            with contextlib.suppress(OSError):
                os.unlink(place)
            with contextlib.suppress(OSError):
                os.mkdir(place, 0o700)


def write_record(path: bytes, record: bytes) -> None:
    """Make the record appear whole."""
    temporary = path + b".%d.tmp" % os.getpid()
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        if os.write(descriptor, record) != len(record):
            raise OSError(errno.ENOSPC, "only a part of it was taken")
        os.fchmod(descriptor, 0o444)
    finally:
        os.close(descriptor)
    os.rename(temporary, path)


class Nursery:
    """Forks shims, and ends what a shim that died leaves behind."""

    def __init__(self, descriptor: int, prctl: Callable[..., int]) -> None:
        self._control = _socket.socket(fileno=descriptor)
        self._prctl = prctl
        self._wakeup = Wakeup()
        self._shims: set[int] = set()
        self._dead: list[int] = []
        self._poll = select.poll()
        self._poll.register(self._wakeup.descriptor, select.POLLIN)
        self._poll.register(descriptor, select.POLLIN)
        self._is_open = True

    def serve(self) -> None:
        """Fork on request; once the harness is gone, stay only until the last shim is."""
        pause = KILL_PAUSE_SECONDS
        while self._is_open or self._shims or self._dead:
            ready = {descriptor for descriptor, _ in self._poll.poll(pause * 1000 if self._dead else None)}
            self._wakeup.drain()
            if ready - {self._wakeup.descriptor}:
                self._take_request()
            if self._wakeup.terminated:
                self._leave()
            self._reap()
            pause = min(pause * 2, LOOK_SECONDS) if self._dead else KILL_PAUSE_SECONDS

    def _take_request(self) -> None:
        try:
            request = self._control.recv(len(FORK))
        except ConnectionResetError:
            request = b""
        if request != FORK:
            self._leave()
            return
        try:
            ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
        except OSError as error:
            self._tell(("failed", os.strerror(error.errno or 0)))
            return
        try:
            pid = os.fork()  # noqa: TID251 - the one place that forks
        except OSError as error:
            self._tell(("failed", os.strerror(error.errno or 0)))
        else:
            if pid == 0:
                self._become_shim(ours, theirs)
            self._shims.add(pid)
            stat = read_stat(pid)
            if stat is None:  # no descriptor was left to look with; without its link the shim leaves
                self._tell(("failed", os.strerror(errno.EMFILE)))
            else:
                self._tell(("shim", pid, stat[2]), ours.fileno())
        ours.close()
        theirs.close()

    def _become_shim(self, ours: _socket.socket, theirs: _socket.socket) -> None:
        status = 1
        try:
            self._control.close()
            self._wakeup.close()
            ours.close()
            os.setsid()
            make_subreaper(self._prctl)
            Shim(theirs.detach()).serve()
            status = 0
        except BaseException as error:  # noqa: BLE001 - a fork must not return into the nursery's loop
            sys.excepthook(type(error), error, error.__traceback__)
        finally:
            os._exit(status)

    def _tell(self, frame: tuple[Any, ...], descriptor: int | None = None) -> None:
        rights = [] if descriptor is None else [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, struct.pack("i", descriptor))]
        with contextlib.suppress(OSError):  # a harness that is gone shows at the next receive
            self._control.sendmsg([marshal.dumps(frame)], rights)

    def _leave(self) -> None:
        if self._is_open:
            self._is_open = False
            self._poll.unregister(self._control)
            self._control.close()

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while (pid := os.waitpid(-1, os.WNOHANG)[0]) != 0:
                if pid in self._shims:
                    self._shims.remove(pid)
                    self._dead.append(pid)
        if self._dead:
            mine = os.getpid()
            kill_beneath(mine, spare=frozenset(self._shims))
            if self._shims.issuperset(children_of(mine)):
                for pid in self._dead:
                    self._tell(("gone", pid))
                self._dead.clear()


def make_subreaper(prctl: Callable[..., int]) -> None:
    """Inherit the orphans among our descendants; a fork has to ask for it anew."""
    if prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError("this kernel has no child subreapers")


def main() -> None:
    """Be a nursery on the control socket whose descriptor is the one argument."""
    import ctypes  # noqa: PLC0415 - only a process that is a nursery needs it, once

    descriptor = int(sys.argv[1])
    if not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
        sys.exit("this kernel does not list a process's children in /proc")
    os.set_inheritable(descriptor, False)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGPIPE, signal.SIGXFSZ}:
        signal.signal(number, signal.SIG_DFL)  # `nohup` and shells leave some ignored, and an agent would inherit it
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    prctl = ctypes.CDLL(None).prctl
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)  # orders pass through here, and hold what no neighbour shall read
    make_subreaper(prctl)
    gc.freeze()  # a collector that looks at shared pages copies them
    Nursery(descriptor, prctl).serve()


if __name__ == "__main__":
    main()
