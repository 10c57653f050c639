"""How fast a batch of jobs goes through that do nothing: all that is measured is the harness.

2,000 `command` jobs that run `/bin/true`, 8 at a time (10,000 without `--quick`), through the installed `teamster run`.
The floor is `xargs -P 8` with the same program, before and after. Rates within the batch come from the moments in the
attempts' `state.json`.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # this program is run by its path

from bench.parts.figures import Figure, publish, read_options

from teamster.kit import from_iso

JOBS_QUICK: Final = 2_000
JOBS_FULL: Final = 10_000
CONCURRENCY: Final = 8
PROGRAM: Final = "/bin/true"
QUARTERS: Final = 4
RUN_SECONDS_MAX_QUICK: Final = 44.0
RUN_SECONDS_MAX_FULL: Final = 1800.0
CLOCK_STEP_SECONDS: Final = 1e-6  # recorded moments have microseconds
FLOOR_SECONDS_MAX: Final = 120.0
OUTPUT_CHARACTERS_MAX: Final = 2_000
OF_FLOOR_TARGET: Final = 0.15
LAST_OF_SECOND_QUARTER_TARGET: Final = 0.9
TEAMSTER: Final = Path(sys.executable).with_name("teamster")
GOAL: Final = " ".join(
    ["Measure what the harness costs by itself: every job runs a program that does nothing and ends at once."] * 10
)


class RunFailed(Exception):
    """The batch did not go through, so there is nothing to measure."""


def table(*, jobs: int, folder: Path) -> dict[str, Any]:
    """Return a launch table of jobs that do nothing."""
    return {
        "spec_version": "1.0.0",
        "batch_goal_summary": GOAL,
        "working_root": str(folder),
        "concurrency": CONCURRENCY,
        "agent": "command",
        "command": [PROGRAM],
        "jobs": [
            {
                "job_id": f"job{number:05}",
                "working_directory": ".",
                "steps": [{"step_id": "only", "prompt": "Do nothing."}],
            }
            for number in range(jobs)
        ],
    }


def figures(
    *, jobs: int, run_seconds: float, floors: Sequence[float], states: Sequence[Mapping[str, Any]]
) -> list[Figure]:
    """Make the figures from what was measured and what the attempts recorded.

    Raises:
        RunFailed: a job has not succeeded exactly once.
    """
    succeeded = [state for state in states if state["status"] == "succeeded"]
    if not len(succeeded) == len(states) == jobs:
        raise RunFailed(f"{len(succeeded)} of {len(states)} attempts succeeded, {jobs} were expected to")
    ended = sorted(from_iso(state["ended_at"]) for state in states)
    first_start = min(from_iso(state["started_at"]) for state in states)
    floor = sum(floors) / len(floors)
    quarters = quarter_rates(ended, began_at=first_start)
    return [
        Figure(name="jobs_per_second", value=jobs / run_seconds, unit="1/s", floor=floor, target=OF_FLOOR_TARGET),
        Figure(
            name="running_jobs_per_second",
            value=jobs / (ended[-1] - first_start).total_seconds(),
            unit="1/s",
            floor=floor,
        ),
        Figure(
            name="last_quarter_per_second",
            value=quarters[-1],
            unit="1/s",
            floor=quarters[1],
            target=LAST_OF_SECOND_QUARTER_TARGET,
        ),
        Figure(
            name="start_and_end_seconds",
            value=run_seconds - (ended[-1] - first_start).total_seconds(),
            unit="s",
        ),
    ]


def quarter_rates(ended: Sequence[datetime], *, began_at: datetime) -> list[float]:
    """Return how many jobs ended per second in each quarter of the jobs. `ended` is sorted."""
    count = len(ended) // QUARTERS
    borders = [began_at, *(ended[count * (number + 1) - 1] for number in range(QUARTERS))]
    return [
        count / max((after - before).total_seconds(), CLOCK_STEP_SECONDS)
        for before, after in itertools.pairwise(borders)
    ]


def measure_floor(jobs: int) -> float:
    """Return how many times per second the same program is run by `xargs`."""
    names = "".join(f"{number}\n" for number in range(jobs))
    began = time.monotonic()
    subprocess.run(
        ["xargs", "-P", str(CONCURRENCY), "-n", "1", PROGRAM],
        input=names.encode(),
        check=True,
        timeout=FLOOR_SECONDS_MAX,
    )
    return jobs / (time.monotonic() - began)


def run_batch(place: Path, *, work: Path, jobs: int, seconds_max: float) -> float:
    """Run the batch in a root of its own and return how many seconds that took.

    `work` lies outside of `place`, which may be part of a repository: looking at one is not what is measured here.

    Raises:
        RunFailed: the harness ended with an error, or not in time.
    """
    (place / "batch.json").write_text(json.dumps(table(jobs=jobs, folder=work)), encoding="utf-8")
    began = time.monotonic()
    try:
        result = subprocess.run(
            [TEAMSTER, "run", place / "batch.json", "--root", place / "root", "--json"],
            cwd=place,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds_max,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise RunFailed(f"the batch was not through after {seconds_max} s") from error
    seconds = time.monotonic() - began
    if result.returncode != 0:
        raise RunFailed(f"teamster ended with {result.returncode}: {result.stderr[-OUTPUT_CHARACTERS_MAX:]}")
    return seconds


def read_states(root: Path) -> list[dict[str, Any]]:
    """Read the `state.json` of every attempt below a root."""
    return [json.loads(place.read_bytes()) for place in (root / "runs").rglob("state.json")]


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and return the exit code: 1 where there is nothing to measure."""
    options = read_options((__doc__ or "").partition("\n")[0], arguments)
    jobs, seconds_max = (JOBS_QUICK, RUN_SECONDS_MAX_QUICK) if options.quick else (JOBS_FULL, RUN_SECONDS_MAX_FULL)
    options.folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(dir=options.folder, prefix="batch-", ignore_cleanup_errors=True) as name,
        tempfile.TemporaryDirectory(prefix="batch-work-") as work,
    ):
        try:
            before = measure_floor(jobs)
            run_seconds = run_batch(Path(name), work=Path(work), jobs=jobs, seconds_max=seconds_max)
            floors = (before, measure_floor(jobs))
            found = figures(jobs=jobs, run_seconds=run_seconds, floors=floors, states=read_states(Path(name) / "root"))
        except RunFailed as error:
            print(f"bench/batch.py: {error}", file=sys.stderr)
            return 1
    publish("batch", found, options=options)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
