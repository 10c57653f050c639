"""Hosts in network namespaces, each with a cable to this one that can be cut, and with a machine id of its own."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Interface
from pathlib import Path
from typing import Final

MACHINE_ID: Final = Path("/etc/machine-id")
NEEDED: Final = ("ip", "unshare", "mount")
ENDS_SECONDS_MAX: Final = 60.0


def why_not() -> str:
    """Say why there can be no such hosts here; nothing where there can."""
    if os.geteuid() != 0:
        return "only root may make network namespaces"
    if missing := [program for program in NEEDED if shutil.which(program) is None]:
        return f"missing here: {', '.join(missing)} (Debian: iproute2, util-linux, mount)"
    if not MACHINE_ID.exists():
        return f"there is no {MACHINE_ID} to give each host one of its own"
    tried = subprocess.run(["unshare", "--net", "--mount", "true"], capture_output=True, text=True, check=False)
    return "" if tried.returncode == 0 else f"no network namespace can be made here: {tried.stderr.strip()}"


@dataclass(frozen=True, kw_only=True)
class CutOffHost:
    """A network namespace, and our end of the cable to it."""

    name: str
    number: int
    machine_id: Path
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def near(self) -> IPv4Interface:
        """Return the address of our end: from the range for tests of networks."""
        return IPv4Interface(f"198.18.{os.getpid() % 256}.{4 * self.number + 1}/30")

    @property
    def far(self) -> IPv4Interface:
        """Return the address of its end."""
        return IPv4Interface(f"{self.near.ip + 1}/30")

    @property
    def _cable(self) -> str:
        return f"{self.name}-near"

    def make(self) -> None:
        """Make the namespace and the cable."""
        far = f"{self.name}-far"
        _run("ip", "netns", "add", self.name)
        _run("ip", "link", "add", self._cable, "type", "veth", "peer", "name", far, "netns", self.name)
        _run("ip", "address", "add", str(self.near), "dev", self._cable)
        _run("ip", "-n", self.name, "address", "add", str(self.far), "dev", far)
        _run("ip", "-n", self.name, "link", "set", far, "up")
        self.mend()

    def cut(self) -> None:
        """Let nothing through any more, without a word to anybody."""
        _run("ip", "link", "set", self._cable, "down")

    def mend(self) -> None:
        """Let everything through."""
        _run("ip", "link", "set", self._cable, "up")

    def start(self, *command: str, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Start a program that sees its own network and its own machine id."""
        script = f'mount --bind "$0" {MACHINE_ID} && exec ip netns exec {self.name} "$@"'
        process = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", script, str(self.machine_id), *command],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, **env},
        )
        self.processes.append(process)
        return process

    def remove(self) -> None:
        """Take all of it away: the namespace goes when nobody is left in it."""
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait(ENDS_SECONDS_MAX)
        for command in (["ip", "link", "del", self._cable], ["ip", "netns", "del", self.name]):
            subprocess.run(command, check=False, capture_output=True)


@contextlib.contextmanager
def two_hosts(folder: Path) -> Iterator[tuple[CutOffHost, CutOffHost]]:
    """Make two hosts and take them away at the end."""
    hosts = []
    for number, letter in enumerate("ab"):
        machine_id = folder / f"machine-id-{letter}"
        machine_id.write_text(f"{letter * 32}\n", encoding="ascii")
        hosts.append(CutOffHost(name=f"t{os.getpid()}{letter}", number=number, machine_id=machine_id))
    try:
        for host in hosts:
            host.make()
        yield hosts[0], hosts[1]
    finally:
        for host in hosts:
            host.remove()


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=ENDS_SECONDS_MAX)
    assert done.returncode == 0, (command, done.stderr)
