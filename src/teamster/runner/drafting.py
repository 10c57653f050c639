"""What a claim adds to the store so that claim, identity and start are one commit. Pure, but for fresh names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from teamster.artifacts import (
    AttemptFile,
    ResolvedResume,
    attempt_file,
    attempt_folder,
    codex_home,
    draft,
    meta,
    running,
)
from teamster.kit import Instant, Names, document, sha256
from teamster.model import (
    Attempt,
    AttemptStatus,
    FileDraft,
    Item,
    JsonObject,
    ProcessIdentity,
    RequestId,
    RootId,
    RunId,
    RunnerId,
    ShiftId,
    Step,
)
from teamster.runner.handing import Handed
from teamster.runner.source import NO_BASE, Source, choose_source
from teamster.store import Begin, Claimed


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What is the same for all attempts of a shift."""

    runner_id: RunnerId
    shift_id: ShiftId
    root_id: RootId
    versions: Mapping[str, str | None]  # of the agent programs
    environment: Mapping[str, str]  # of the machine: what every `meta.json` says


def begin(
    claimed: Claimed,
    step: Step,
    *,
    shim: ProcessIdentity,
    at: Instant,
    names: Names,
    circumstances: Circumstances,
    handed: Handed | None = None,
) -> Begin:
    """Draft the attempt, its `meta.json` and its first `state.json`."""
    item = claimed.item
    assert item.step is not None
    source = None
    if step.resume is not None:
        source = choose_source(step.resume, claimed.parents[replace(item.step, step_id=step.resume.step_id)])
    run_id = RunId(names.fresh("run"))
    attempt = Attempt(
        run_id=run_id,
        item_id=item.item_id,
        step=item.step,
        number=item.attempt,
        directory=attempt_folder(item.step, run_id, at.wall),
        status=AttemptStatus.RUNNING,
        started_at=at.wall,
        facts={
            "root_id": circumstances.root_id,
            "nonce": names.token(),
            "shim": shim.to_json(),
            "source": None if source is None else source.to_json(),
        },
    )
    return Begin(
        request_id=RequestId(f"begin_{run_id}"),
        attempt=attempt,
        files=_files(item, step, attempt, source=source, circumstances=circumstances, handed=handed),
    )


def _files(
    item: Item,
    step: Step,
    attempt: Attempt,
    *,
    source: Source | None,
    circumstances: Circumstances,
    handed: Handed | None,
) -> tuple[FileDraft, ...]:
    record = meta(
        step=attempt.step,
        run_id=attempt.run_id,
        runner_id=circumstances.runner_id,
        created_at=attempt.started_at,
        prompt_sha256=step.prompt_sha256 if handed is None else sha256(handed.prompt.encode("utf-8", "surrogatepass")),
        policy=step.policy.to_json(),
        environment={
            **circumstances.environment,
            "agent": step.agent.agent,
            "agent_version": circumstances.versions.get(step.agent.agent),
            "working_directory": step.working_directory,
        },
        workspace_policy={"mode": step.workspace_mode},
        resume=None if source is None else _resolved(source),
        extra={
            **_extra(item, attempt, circumstances),
            **({} if handed is None else {"prompt_template_sha256": step.prompt_sha256, **handed.record}),
        },
    )
    state = running(started_at=attempt.started_at)
    return (
        draft(attempt_file(attempt.directory, AttemptFile.META), document(record)),
        draft(attempt_file(attempt.directory, AttemptFile.STATE), document(state)),
    )


def _resolved(source: Source) -> ResolvedResume:
    return ResolvedResume(
        step_id=source.step_id,
        run_id=source.run_id,
        resume_base_dir=f"{codex_home(source.directory)}/",
        source_session_sha256=source.session_sha256 or NO_BASE,
        codex_thread_id=source.thread_id,
    )


def _extra(item: Item, attempt: Attempt, circumstances: Circumstances) -> JsonObject:
    return {
        "item_id": item.item_id,
        "attempt": attempt.number,
        "generation": item.generation,
        "shift_id": circumstances.shift_id,
        "fence": item.fence,
    }
