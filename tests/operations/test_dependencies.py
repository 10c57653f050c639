"""Steps that wait for steps of other jobs: in order, told why, and released by a retry."""

from __future__ import annotations

import json

import pytest

from operations.place import Place, step
from teamster.model import JobId
from teamster.operations import retry, verify

LOG = "echo {job_id}.{step_id} >> order.txt"
FAN = {
    "last": [step("join", LOG, depends_on=["part-*.make", "build.check"])],
    "part-1": [step("make", LOG, depends_on=["build.compile"])],
    "part-2": [step("make", LOG, depends_on="build.compile")],
    "build": [step("compile", LOG), step("check", LOG, depends_on=["compile"])],
}


@pytest.mark.req("PH-7.2", "PH-6.2e")
def test_jobs_wait_for_the_steps_of_other_jobs(place: Place) -> None:
    """No agent has to poll for a file of another job."""
    batch_id = place.submit(FAN)

    assert place.statuses(batch_id)["last.join"] == "blocked"
    place.work(batch_id)

    order = (place.folder / "work" / "order.txt").read_text(encoding="utf-8").split()
    assert set(place.statuses(batch_id).values()) == {"succeeded"}
    assert order[0] == "build.compile"
    assert order[-1] == "last.join"
    assert sorted(order) == ["build.check", "build.compile", "last.join", "part-1.make", "part-2.make"]
    assert verify(place.harness).findings == ()


@pytest.mark.req("PH-7.1.1")
def test_the_record_of_a_batch_tells_what_waits_for_what(place: Place) -> None:
    """Whoever has the files alone can say why a step waits; a `*` stands there written out."""
    batch_id = place.submit(FAN)
    record = json.loads((place.root / "runs" / batch_id / "batch_meta.json").read_bytes())

    assert record["jobs"][0]["steps"][0]["depends_on"] == ["part-1.make", "part-2.make", "build.check"]


def test_who_waits_for_a_failure_in_another_job_says_so_and_goes_on_after_its_retry(place: Place) -> None:
    """What will never come by itself stands first; of many reasons some are shown, and all are counted."""
    jobs = {
        "last": [step("join", "true", depends_on=["p*.make"])],
        "p0": [step("make", "true")],
        "p1": [step("make", "test -f mended")],
        **{f"pp{n}": [step("make", "true", depends_on=["p1.make"])] for n in range(8)},
    }
    batch_id = place.submit(jobs)
    place.work(batch_id)
    (row,) = (row for row in place.board(batch_id).steps if str(row.step) == "last.join")

    assert row.note == ("waits for p1.make (failed), pp0.make, pp1.make, pp2.make, pp3.make, pp4.make and 3 more")

    (place.folder / "work" / "mended").touch()
    retry(place.harness, batch_id, job_id=JobId("p1"))
    place.work(batch_id)
    assert set(place.statuses(batch_id).values()) == {"succeeded"}
