from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from intake.writing import accept, only, refuse, step_of, table
from teamster.model import ExpectedArtifact, RetentionPolicy, RunnerAffinity, RunnerId, StepId, Table


@pytest.mark.req("PH-6.2e")
@pytest.mark.parametrize(
    ("written", "path", "kind"),
    [
        ("a.txt", "a.txt", "file"),
        ("./dist//a b.txt", "dist/a b.txt", "file"),
        ("dist/", "dist", "directory"),
        ({"path": "p.patch", "kind": "patch"}, "p.patch", "patch"),
        ({"name": "log", "type": "log"}, "log", "log"),
        ({"path": "dist", "kind": "directory"}, "dist", "directory"),
    ],
)
def test_expected_artifacts_are_paths_with_kinds(tmp_path: Path, written: object, path: str, kind: str) -> None:
    """Names and types, as the originals write them too; twice the same is once."""
    step = step_of(accept(tmp_path, table({"artifacts_expected": [written, written]})))

    assert step.artifacts_expected == (ExpectedArtifact(path=path, kind=kind),)


@pytest.mark.parametrize(
    ("written", "field", "fact"),
    [
        ("/etc/passwd", "", "'/etc/passwd' is no path below the job's directory"),
        ("a/../../b", "", "'a/../../b' is no path below the job's directory"),
        (".", "", "'.' is no path below the job's directory"),
        ({"path": "../x"}, ".path", "'../x' is no path below the job's directory"),
        ({"path": "x", "kind": "image"}, ".kind", "'image' is none of file, directory"),
        ({"path": "x", "name": "y"}, ".name", "`path` and `name` both stand here"),
        ({"kind": "file"}, ".path", "it is missing"),
        ({"path": "x", "size": 5}, ".size", "an artifact has no such key"),
        (7, "", "7 is not a mapping"),
    ],
)
def test_an_artifact_that_is_none_is_told(tmp_path: Path, written: object, field: str, fact: str) -> None:
    problem = only(refuse(tmp_path, table({"artifacts_expected": [written]})))

    assert problem.field == f"jobs[0].steps[0].artifacts_expected[0]{field}"
    assert problem.fact.startswith(fact)


@pytest.mark.req("PH-6.2e")
@pytest.mark.parametrize("written", ["step1", {"step_id": "step1"}])
def test_a_step_may_run_where_an_earlier_one_ran(tmp_path: Path, written: object) -> None:
    """On a job it holds for all of its steps, but for the one that the others follow."""
    here = accept(tmp_path, table({}, {"depends_on": "step1"}, {"depends_on": "step2", "runner_affinity": written}))
    content = table({}, {"depends_on": "step1"}, {"depends_on": "step2"})
    content["jobs"][0]["runner_affinity"] = written
    job = accept(tmp_path, content).jobs[0]

    pinned = RunnerAffinity(step_id=StepId("step1"))
    assert [step.affinity for step in here.jobs[0].steps] == [None, None, pinned]
    assert [step.affinity for step in job.steps] == [None, pinned, pinned]


def test_a_table_may_name_its_runner_and_a_step_another_one(tmp_path: Path) -> None:
    content = table({}, {"runner_affinity": {"runner_id": "other"}}, runner_affinity={"runner_id": "big"})

    assert [step.affinity for step in accept(tmp_path, content).jobs[0].steps] == [
        RunnerAffinity(runner_id=RunnerId("big")),
        RunnerAffinity(runner_id=RunnerId("other")),
    ]


@pytest.mark.parametrize(
    ("written", "field", "fact"),
    [
        ("step3", "", "step2 does not wait for a step 'step3' of its job"),
        ({"step_id": "nowhere"}, ".step_id", "step2 does not wait for a step 'nowhere' of its job"),
        ("other.step", "", "'other.step' is no id of a step"),
        ({"runner_id": "a b"}, ".runner_id", "'a b' is no id"),
        ({"runner_id": "a", "step_id": "step1"}, ".runner_id", "`step_id` and `runner_id` both stand here"),
        ({}, ".step_id", "it is missing"),
        (["a"], "", "a list is not a mapping"),
    ],
)
def test_an_affinity_that_nobody_could_keep_is_told(tmp_path: Path, written: object, field: str, fact: str) -> None:
    """Where a step ran is known only once it has."""
    problem = only(refuse(tmp_path, table({}, {"depends_on": "step1", "runner_affinity": written}, {})))

    assert problem.field == f"jobs[0].steps[1].runner_affinity{field}"
    assert problem.fact.startswith(fact)


@pytest.mark.req("PH-6.2a")
def test_retention_is_kept_for_the_batch_and_for_each_job(tmp_path: Path) -> None:
    content = table(retention_policy={"raw_logs_days": 14, "outputs_days": 365, "compress_raw_logs": True})
    content["jobs"][0]["retention_policy"] = {"diffs_days": 0}
    read = accept(tmp_path, content)

    assert read.retention == RetentionPolicy(raw_logs_days=14, outputs_days=365, compress_raw_logs=True)
    assert read.jobs[0].retention == RetentionPolicy(diffs_days=0)
    assert Table.from_json(json.loads(json.dumps(read.to_json()))) == read


def test_outputs_are_kept_at_least_as_long_as_the_rest(tmp_path: Path) -> None:
    problem = only(refuse(tmp_path, table(retention_policy={"raw_logs_days": 14, "diffs_days": 9, "outputs_days": 10})))

    assert (problem.field, problem.fact) == (
        "retention_policy.outputs_days",
        "10 days are less than raw_logs_days has, 14",
    )


def test_what_is_not_said_changes_no_digest(tmp_path: Path) -> None:
    """A batch of an earlier version goes on: its table still has the digest that it was taken with."""
    kept = accept(tmp_path, table({})).to_json()
    step: dict[str, Any] = kept["jobs"][0]["steps"][0]

    assert "retention_policy" not in kept
    assert "retention_policy" not in kept["jobs"][0]
    assert {"runner_affinity", "artifacts_expected"}.isdisjoint(step)
    assert "retry_on_statuses" not in step["retry_policy"]


@pytest.mark.req("PH-7.5")
@pytest.mark.parametrize("statuses", [[], ["failed"], ["needs_attention"], ["needs_attention", "failed"]])
def test_a_retry_policy_says_after_which_ends(tmp_path: Path, statuses: list[str]) -> None:
    read = accept(tmp_path, table({"retries": {"retry_on_statuses": statuses}}))

    assert step_of(read).retry.on_statuses == tuple(sorted(statuses))
    assert Table.from_json(json.loads(json.dumps(read.to_json()))) == read


@pytest.mark.parametrize("statuses", [["ok"], ["canceled"], "failed", [7], [["failed"]]])
def test_other_ends_are_never_tried_again(tmp_path: Path, statuses: object) -> None:
    problem = only(refuse(tmp_path, table({"retries": {"retry_on_statuses": statuses}})))

    assert problem.field.startswith("jobs[0].steps[0].retries.retry_on_statuses")
