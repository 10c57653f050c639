"""A runner tells how it is, and tells no more than it knows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from operations.place import Place, step
from teamster.artifacts import Root, health_path, open_root
from teamster.kit import CountedNames, ManualClock
from teamster.model import RunnerId
from teamster.operations.health import TELL_SECONDS, Health

ME = RunnerId("runner-1")
MEMINFO = "MemTotal:       24563112 kB\nMemFree:  1 kB\nMemAvailable:   20000000 kB\n"
PRESSURE = "some avg10=12.50 avg60=3.00 avg300=0.00 total=1\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return open_root(tmp_path / "root", names=CountedNames(), clock=ManualClock())


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """Write what a kernel says."""
    (tmp_path / "proc" / "pressure").mkdir(parents=True)
    (tmp_path / "proc" / "meminfo").write_text(MEMINFO, encoding="ascii")
    (tmp_path / "proc" / "pressure" / "memory").write_text(PRESSURE, encoding="ascii")
    return tmp_path / "proc"


def told(root: Root) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(root.at(health_path(ME)).read_bytes())
    return value


@pytest.mark.req("PH-9.2")
def test_it_tells_load_pressure_and_whether_it_takes_work(root: Root, proc: Path) -> None:
    clock = ManualClock()

    Health(root, ME, proc).tell(clock.now(), slots=8, running=3, draining=False)

    value = told(root)
    assert value.pop("disk_free_bytes") > 0
    assert value.pop("last_seen_at").endswith("Z")
    assert value == {
        "runner_id": ME,
        "capacity": 8,
        "running_steps": 3,
        "memory_available_bytes": 20000000 * 1024,
        "memory_total_bytes": 24563112 * 1024,
        "memory_pressure_percent": 12.5,
        "drain_mode": False,
    }


def test_it_tells_so_often_and_at_once_when_it_drains(root: Root, proc: Path) -> None:
    """A snapshot for each tick would be all that the disk does."""
    clock, health = ManualClock(), Health(root, ME, proc)
    health.tell(clock.now(), slots=8, running=3, draining=False)
    clock.advance(TELL_SECONDS / 2)

    health.tell(clock.now(), slots=8, running=4, draining=False)
    assert told(root)["running_steps"] == 3
    health.tell(clock.now(), slots=8, running=5, draining=True)
    assert (told(root)["running_steps"], told(root)["drain_mode"]) == (5, True)
    clock.advance(TELL_SECONDS)
    health.tell(clock.now(), slots=8, running=6, draining=True)
    assert told(root)["running_steps"] == 6


def test_what_the_kernel_does_not_tell_is_null(root: Root, tmp_path: Path) -> None:
    """Older kernels have no pressure, and containers hide what they like."""
    Health(root, ME, tmp_path / "nowhere").tell(ManualClock().now(), slots=1, running=0, draining=False)

    value = told(root)
    assert {name for name, found in value.items() if found is None} == {
        "memory_available_bytes",
        "memory_total_bytes",
        "memory_pressure_percent",
    }


@pytest.mark.req("PH-9.2")
def test_a_harness_at_work_tells_its_health(place: Place) -> None:
    batch_id = place.submit({"a": [step("only", "true")]})
    place.work(batch_id)

    (path,) = (place.root / "runners").glob("*/health.json")
    value = json.loads(path.read_bytes())

    assert (value["runner_id"], value["capacity"]) == (path.parent.name, place.harness.settings.slots)
    assert value["memory_total_bytes"] > 0
