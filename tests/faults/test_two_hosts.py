"""Two hosts share one queue over a network, and one is cut off in the middle: nothing runs twice at one moment."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from faults.cut_cables import CutOffHost, two_hosts, why_not
from faults.program import ENDS_SECONDS_MAX, command_step, wait_until, write_table
from store.postgres_stage import private_server
from teamster.model import AttemptStatus, ItemStatus
from teamster.store import Store
from teamster.store.postgres import open_store
from teamster.store.postgres_pool import PostgresPool

PROGRAM = Path(__file__).with_name("shared_shift.py")
PASSWORD = "between-two-hosts"  # noqa: S105 - of a server that lives as long as this test
JOBS = 4
# Each line says who is at work on which step: an agent that lives can't keep quiet about it.
TELLS = """
read -r host < /etc/machine-id
echo "begins $TEAMSTER_JOB_ID $host $TEAMSTER_RUN_ID" >> {log}
until [ -e {folder}/go-$host ]; do echo "lives $TEAMSTER_JOB_ID $host $TEAMSTER_RUN_ID" >> {log}; sleep 0.05; done
echo "ends $TEAMSTER_JOB_ID $host $TEAMSTER_RUN_ID" >> {log}
echo done
"""


@dataclass(frozen=True, kw_only=True)
class Word:
    """One line of an agent."""

    verb: str
    job: str
    host: str
    run: str


@dataclass(frozen=True, kw_only=True)
class Stage:
    """Two hosts, a server between them, and what their agents say."""

    folder: Path
    hosts: tuple[CutOffHost, CutOffHost]
    urls: tuple[str, str]
    store: Store

    def root(self, number: int) -> Path:
        """Return the root of a host."""
        return self.folder / f"root-{'ab'[number]}"

    def harness(self, number: int, *more: str) -> subprocess.Popen[bytes]:
        """Start a harness on a host."""
        command = (sys.executable, str(PROGRAM), str(self.root(number)), *more)
        return self.hosts[number].start(*command, env=self.env(number))

    def env(self, number: int) -> dict[str, str]:
        """Return what tells a host of its database."""
        return {"TEAMSTER_STORE": self.urls[number], "PYTHONPATH": str(PROGRAM.parents[1])}

    def verify(self, number: int) -> None:
        """See that a root keeps what it promises."""
        command = (sys.executable, "-m", "teamster", "verify", "--root", str(self.root(number)))
        assert self.hosts[number].start(*command, env=self.env(number)).wait(ENDS_SECONDS_MAX) == 0

    def words(self) -> Sequence[Word]:
        """Return what the agents have said so far."""
        log = self.folder / "said"
        lines = log.read_text(encoding="ascii").splitlines() if log.exists() else []
        return [Word(verb=v, job=j, host=h, run=r) for v, j, h, r in (line.split() for line in lines)]

    def table(self) -> Path:
        """Write a table of jobs whose agents work until their host lets them end."""
        script = TELLS.format(folder=self.folder, log=self.folder / "said")
        names = [f"job-{number}" for number in range(JOBS)]
        jobs = [
            {"job_id": name, "working_directory": str(self.folder), "steps": [command_step("step", script)]}
            for name in names
        ]
        return write_table(self.folder / "table.json", jobs)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """Build two hosts and a server that both reach, each over a cable of its own."""
    if reason := why_not():
        pytest.skip(reason)
    with ExitStack() as stack:
        hosts = stack.enter_context(two_hosts(tmp_path))
        addresses = [host.near for host in hosts]
        server = stack.enter_context(private_server(addresses=addresses, password=PASSWORD))
        pool = stack.enter_context(closing(PostgresPool(server.url())))
        store = open_store(pool, host="host-of-the-test", root="root-of-the-test")
        first, second = (server.url_at(address) for address in addresses)
        yield Stage(folder=tmp_path, hosts=hosts, urls=(first, second), store=store)


@pytest.mark.req("DC-lease", "DC-own", "DC-stall")
def test_items_of_a_host_that_was_cut_off_end_up_on_the_other_and_never_run_in_two_places(stage: Stage) -> None:
    """Nobody can end its agents from here: they end themselves before anybody else may begin."""
    a, b = (host.machine_id.read_text(encoding="ascii").strip() for host in stage.hosts)
    (stage.folder / f"go-{b}").touch()  # those of the other one work until they are ended
    cut_off = stage.harness(0, str(stage.table()))
    wait_until(lambda: sum(word.verb == "begins" for word in stage.words()) == 2)

    stage.hosts[0].cut()
    other = stage.harness(1)
    assert other.wait(ENDS_SECONDS_MAX) == 0

    lost = {word.job: word.run for word in stage.words() if word.host == a}
    assert len(lost) == 2
    for job in (f"job-{number}" for number in range(JOBS)):
        said = [word for word in stage.words() if word.job == job]
        taken_over = next(place for place, word in enumerate(said) if word.host == b)
        assert {word.host for word in said[taken_over:]} == {b}, "two hosts were at it at once"
        assert [word.verb for word in said if word.verb != "lives" and word.host == b] == ["begins", "ends"]
    assert_each_ended_once(stage, lost)
    stage.verify(1)
    before = [stage.store.events(item.item_id) for item in stage.store.items()]

    assert cut_off.poll() is None, "it waits for the network"
    stage.hosts[0].mend()
    assert cut_off.wait(ENDS_SECONDS_MAX) == 0

    assert [stage.store.events(item.item_id) for item in stage.store.items()] == before
    assert_each_ended_once(stage, lost)
    late = {path.parent.name for path in stage.root(0).glob("runs/*/.teamster/superseded/*/verdict.json")}
    assert {run for run in lost.values() if any(run in name for name in late)} == set(lost.values())
    stage.verify(0)
    stage.verify(1)


def assert_each_ended_once(stage: Stage, lost: dict[str, str]) -> None:
    """Check what the queue says of each step: what was lost is told, and what came after it succeeded."""
    for item in stage.store.items():
        assert item.step is not None
        attempts = stage.store.attempts(item_id=item.item_id)
        runs = [attempt.run_id for attempt in attempts]
        assert (item.status, item.attempts_consumed) == (ItemStatus.SUCCEEDED, 1)
        assert runs[:-1] == [run for job, run in lost.items() if job == item.step.job_id]
        assert [attempt.status for attempt in attempts[:-1]] == [AttemptStatus.FAILED] * len(runs[:-1])
        assert all(attempt.facts["failure_class"] == "lost" for attempt in attempts[:-1])
        assert attempts[-1].status is AttemptStatus.SUCCEEDED
