"""The clock: moments that a person reads and a lease counts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamster.kit import Clock, Instant, ManualClock, SystemClock, from_iso, iso

moments = st.datetimes(min_value=datetime(1000, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001  # hypothesis adds it


@pytest.mark.parametrize("clock", [SystemClock(), ManualClock()], ids=["system", "manual"])
def test_time_never_runs_back_and_stays_on_one_boot(clock: Clock) -> None:
    """Both clocks keep the same promise."""
    first, second = clock.now(), clock.now()

    assert first.boot_seconds <= second.boot_seconds
    assert first.boot_id == second.boot_id != ""
    assert first.wall.tzinfo is UTC


def test_a_manual_clock_moves_only_when_it_is_moved() -> None:
    """Tests move time; they don't wait for it."""
    clock = ManualClock()
    start = clock.now()
    moved = clock.advance(90.0)

    assert clock.now() == moved == start.after(90.0)
    assert moved.wall - start.wall == timedelta(seconds=90)
    assert moved.boot_seconds - start.boot_seconds == 90.0
    assert moved.boot_id == start.boot_id


@pytest.mark.parametrize("zone", [None, timezone(timedelta(hours=2))], ids=["naive", "elsewhere"])
def test_a_moment_is_in_utc(zone: timezone | None) -> None:
    """Two moments that can't be compared are no moments."""
    with pytest.raises(ValueError, match="UTC"):
        Instant(wall=datetime(2026, 1, 1, tzinfo=zone), boot_seconds=0.0, boot_id="boot")


@pytest.mark.req("DC-ver")
@given(moments)
def test_a_written_moment_reads_back(moment: datetime) -> None:
    """To the microsecond, and written texts sort as the moments do."""
    text = iso(moment)

    assert from_iso(text) == moment
    assert len(text) == len("2026-01-14T17:30:00.000000Z")
    assert text.endswith("Z")


def test_another_zone_is_written_as_utc() -> None:
    """Readers never have to compute."""
    assert iso(datetime(2026, 1, 14, 19, 30, tzinfo=timezone(timedelta(hours=2)))) == "2026-01-14T17:30:00.000000Z"
    assert from_iso("2026-01-14T19:30:00+02:00") == datetime(2026, 1, 14, 17, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["", "now", "2026-01-14T17:30:00", "2026-13-14T17:30:00Z", "0001-01-01T00:00:00+23:00"]
)
def test_what_is_no_moment_is_refused(text: str) -> None:
    """Always by the same exception: who reads a record catches one."""
    with pytest.raises(ValueError, match=r".+"):
        from_iso(text)
