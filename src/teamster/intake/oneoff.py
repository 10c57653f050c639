"""A batch of one job, for the moment when nobody wants to write a table."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from teamster.intake.fields import text_fact
from teamster.intake.folders import Folders
from teamster.intake.limits import LIMITS
from teamster.intake.names import batch_id_of, check_suffix, slug
from teamster.intake.parsed import Problems
from teamster.kit import one_line
from teamster.model import BatchId, Job, JobId, Step, StepId, Table, TableDefaults, UsageError

SOURCE = "teamster run -p"
JOB_ID = JobId("job1")
STEP_ID = StepId("step1")
PROMPT_SHOWN_CHARACTERS_MAX = 2000
# A true description of any such batch; with its gaps filled it has more than the 150 words that a goal needs.
GOAL = """\
This batch was not written as a launch table. Somebody typed one prompt on the command line, with `teamster run -p`, \
and Teamster made a batch of one job with one step of it, so that this piece of work is queued, recorded, retried and \
kept exactly as the steps of a larger batch are. Nobody wrote down a goal beyond the prompt itself, which is quoted at \
the end of this description; the full text is kept with the step.

The step is done by the agent `{agent}` in the directory {folder}, which it shares with whoever else works there: \
nothing is copied beforehand, and nothing is committed afterwards. The agent's sandbox is `{sandbox}`, and its \
approval policy is `{approval}`. An attempt may take up to {timeout:g} seconds, and at most {attempts} of them are \
made before the step counts as failed. The step depends on no other step and resumes no earlier conversation.

The batch has succeeded when the agent ends by itself and reports the status `ok` in the form that Teamster asks for. \
It needs a person when the report is missing or not valid, or says so itself. Its result is for whoever typed the \
prompt, and no other batch waits for it. The prompt was:

{prompt}
"""


def one_job(
    prompt: str,
    working_directory: Path,
    defaults: TableDefaults,
    *,
    new: str | None = None,
    root: Path | None = None,
) -> Table:
    """Make a batch of one job with one step. The same prompt in the same place gives the same id, unless `new` ends it.

    Raises:
        UsageError: the prompt is blank, too large or no text; the directory is none; or `new` can't end an id.
    """
    check_suffix(new)
    _check_prompt(prompt)
    folder = _folder(working_directory, root)
    step = Step(
        step_id=STEP_ID,
        working_directory=str(folder),
        prompt=prompt,
        agent=defaults.agent,
        policy=defaults.policy,
        timeout_seconds=float(defaults.timeout_seconds),
        retry=defaults.retry,
    )
    table = Table(
        batch_id=BatchId("unnamed"),
        goal_summary=_goal(prompt, folder, defaults),
        jobs=(Job(job_id=JOB_ID, working_directory=str(folder), steps=(step,)),),
        concurrency=defaults.concurrency,
        source=SOURCE,
    )
    return replace(table, batch_id=batch_id_of(None, stem=slug(prompt, otherwise="prompt"), table=table, new=new))


def _goal(prompt: str, folder: Path, defaults: TableDefaults) -> str:
    return GOAL.format(
        agent=defaults.agent.agent,
        folder=one_line(str(folder), characters_max=PROMPT_SHOWN_CHARACTERS_MAX),
        sandbox=defaults.policy.sandbox,
        approval=defaults.policy.approval_policy,
        timeout=defaults.timeout_seconds,
        attempts=defaults.retry.attempts_max,
        prompt=one_line(prompt, characters_max=PROMPT_SHOWN_CHARACTERS_MAX),
    ).strip()


def _check_prompt(prompt: str) -> None:
    if not prompt.strip():
        raise UsageError("the prompt is blank", hint='say what is to be done: teamster run -p "mend the failing test"')
    fact = text_fact(prompt, characters_max=LIMITS.prompt_bytes_max)
    if fact is None and len(prompt.encode()) > LIMITS.prompt_bytes_max:
        fact = f"it has {len(prompt.encode())} bytes, the limit is {LIMITS.prompt_bytes_max}"
    if fact is not None:
        raise UsageError(f"the prompt can't be taken: {fact}", hint="put it into a file and name that in the prompt")


def _folder(working_directory: Path, root: Path | None) -> Path:
    problems = Problems(SOURCE, lambda _: SOURCE)
    base = Path(os.path.realpath(working_directory))
    folders = Folders(table_folder=base, root=root, limits=LIMITS, problems=problems)
    folder = folders.folder(str(base), (), base=base)
    if folder is None:
        problem = problems.found()[0]
        raise UsageError(problem.fact, hint=problem.hint or "choose another with -C")
    return folder
