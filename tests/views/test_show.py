"""One attempt with all that is kept of it, and one step with all of its attempts."""

from __future__ import annotations

import json

import pytest

from operations.place import Place, step
from teamster.model import JobId, StepId, StepKey, UsageError
from teamster.operations import retry
from teamster.views import find_run, show_attempt, show_step, step_of

REPORT = {
    "schema_version": "1.0.0",
    "status": "ok",
    "summary": "It is done.",
    "files_read": [],
    "files_written": [],
    "artifacts": [],
}


def test_an_attempt_is_shown_from_its_files_alone(place: Place) -> None:
    """The database may be gone: what an agent did must be readable all the same."""
    script = f"""echo hm >&2; printf %s '{json.dumps(REPORT)}' > "$TEAMSTER_REPORT_FILE" """
    batch_id = place.submit({"a": [step("only", script)]})
    place.work(batch_id)
    (path,) = place.attempts(batch_id, "a", "only")
    run_id, directory = find_run(place.harness.root, path.name.partition("_")[2])

    view = show_attempt(place.harness.root, run_id, directory)
    value = view.to_json()

    assert value["final"] == REPORT
    assert (value["state"]["status"], value["meta"]["job_id"]) == ("succeeded", "a")
    assert value["verdict"] is not None
    assert (value["path"], value["attempt_dir"]) == (str(path), f"{directory}/")
    assert view.texts[".teamster/stderr.txt"] == "hm\n"
    assert ".teamster/stderr.txt" in value["files"]
    assert value["superseded"] == []
    assert step_of(directory) == StepKey(batch_id, JobId("a"), StepId("only"))


def test_a_step_shows_all_of_its_attempts(place: Place) -> None:
    """A retry rewrites no history, so the history must be found."""
    batch_id = place.submit({"a": [step("only", "test -f mended"), step("next", "true", depends_on=["only"])]})
    place.work(batch_id)
    retry(place.harness, batch_id)
    (place.folder / "work" / "mended").touch()
    store = place.harness.open_store()
    try:
        with pytest.raises(UsageError, match=r"a\.next was never started") as caught:
            show_step(store, StepKey(batch_id, JobId("a"), StepId("next")))
        place.work(batch_id)
        attempts = show_step(store, StepKey(batch_id, JobId("a"), StepId("only"))).to_json()["attempts"]
    finally:
        store.close()

    assert batch_id in caught.value.hint
    assert [(value["status"], value["reason"]) for value in attempts] == [
        ("failed", "exit code 1"),
        ("succeeded", attempts[1]["reason"]),
    ]
    assert attempts[0]["failure_class"] == "agent_failed"
    assert all((place.root / value["attempt_dir"]).is_dir() for value in attempts)
