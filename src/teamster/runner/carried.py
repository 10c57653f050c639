"""One attempt under a runner's care: all that is known about it between its start and its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from teamster.agents import Agent, Plan, Request
from teamster.artifacts import AttemptFile, Root, attempt_file, blames_disk, codex_home, running, spool_folder, staging
from teamster.kit import make_folder, write_snapshot
from teamster.model import RUN_REPORT_SCHEMA, Attempt, Item, JsonObject, ProcessIdentity, Step
from teamster.policy import FailureClass
from teamster.process import Places, Trace
from teamster.runner.handing import Handed
from teamster.runner.source import Source
from teamster.runner.spools import SCRATCH
from teamster.runner.streams import Stream
from teamster.settings import Settings


@dataclass(slots=True, kw_only=True)
class Carried:
    """An attempt, its reader, and what was asked of it. `item` is what the owner's last write returned.

    Without a `plan` its agent can't do what the step asks for; `problem` says why, and `problem_class` what follows.
    """

    item: Item
    attempt: Attempt
    step: Step
    agent: Agent
    plan: Plan | None
    problem: str
    problem_class: FailureClass
    home: Path
    places: Places
    stream: Stream
    source: Source | None
    state: JsonObject
    output_bytes_max: int
    cancel_requested: bool = False
    ending: bool = False
    done_since: float | None = None  # boot seconds when it said its last word
    beat_at: float = 0.0  # boot seconds of the last heartbeat
    tampered: str = ""  # what its agent did to its places while it ran
    secrets: tuple[bytes, ...] = field(default=(), repr=False)

    @property
    def scratch(self) -> Path:
        """The attempt's private folder, gone after its end."""
        return self.places.spool / SCRATCH

    @property
    def scratch_files(self) -> frozenset[str]:
        """What its scratch folder held before the agent came."""
        return frozenset() if self.plan is None else frozenset(name for name, _ in self.plan.files)

    def keep_secret(self, secrets: tuple[bytes, ...]) -> None:
        """See that more is kept nowhere; call it before anything is read."""
        self.secrets += secrets
        self.stream.keep_secret(secrets)

    @property
    def trace(self) -> Trace:
        """Enough to find or end its process."""
        return trace_of(self.attempt, self.places)


def places_of(attempt: Attempt, root: Root) -> Places:
    """Say where an attempt's process leaves its traces."""
    return Places(
        spool=root.at(spool_folder(attempt.run_id)),
        exit_record=root.at(attempt_file(attempt.directory, AttemptFile.EXIT)),
    )


def point_at(places: Places, deadline: Path) -> str:
    """Name the deadline that a shim shall obey from now on; return what its agent did to its places, if it did.

    Where somebody removed the spool, the missing output is judged, not the folder.

    Raises:
        OSError: the disk failed.
    """
    try:
        make_folder(places.spool)
        write_snapshot(places.control, bytes(deadline))
    except OSError as error:
        if blames_disk(error):
            raise
        return str(error)
    return ""


def trace_of(attempt: Attempt, places: Places) -> Trace:
    """Say how an attempt's process is known."""
    return Trace(
        run_id=attempt.run_id,
        nonce=attempt.facts["nonce"],
        shim=ProcessIdentity.from_json(attempt.facts["shim"]),
        places=places,
    )


def carry(
    item: Item,
    attempt: Attempt,
    *,
    root: Root,
    agents: Mapping[str, Agent],
    settings: Settings,
    lines_kept: int = 0,
    handed: Handed | None = None,
) -> Carried:
    """Take an attempt under care: fresh from a claim, or of a lost runner whose reader kept `lines_kept` lines.

    `handed` is the prompt with what earlier steps left; an agent that runs has read its own already.
    """
    step = Step.from_json(item.spec)
    agent = agents[step.agent.agent]
    places = places_of(attempt, root)
    home = root.at(codex_home(attempt.directory))
    recorded = attempt.facts.get("source")
    source = None if recorded is None else Source.from_json(recorded)
    secrets = settings.keys
    prompt = step.prompt if handed is None else handed.prompt
    request = _request(attempt, step, prompt, root=root, places=places, source=source, settings=settings)
    plan, problem = _plan(agent, request)
    refused = None if handed is None else handed.problem
    if refused is not None:
        plan, problem = None, refused.fact
    log = root.at(attempt_file(attempt.directory, AttemptFile.EVENTS)) if step.capture_events else None
    return Carried(
        item=item,
        attempt=attempt,
        step=step,
        agent=agent,
        plan=plan,
        problem=problem,
        problem_class=FailureClass.REFUSED_INPUT if refused is None else refused.failure_class,
        home=home,
        places=places,
        stream=Stream(source=places.stdout, log=log, decoder=agent.decoder(), secrets=secrets, lines_kept=lines_kept),
        source=source,
        state=running(started_at=attempt.started_at),
        output_bytes_max=settings.output_bytes_max,
        secrets=secrets,
    )


def _plan(agent: Agent, request: Request) -> tuple[Plan | None, str]:
    try:
        return agent.plan(request), ""
    except ValueError as error:
        return None, str(error)


def _request(
    attempt: Attempt,
    step: Step,
    prompt: str,
    *,
    root: Root,
    places: Places,
    source: Source | None,
    settings: Settings,
) -> Request:
    own = settings.of(step.agent.agent)
    return Request(
        prompt=prompt,
        working_directory=Path(step.working_directory),
        home=root.at(codex_home(attempt.directory)),
        scratch=places.spool / SCRATCH,
        staging=root.at(staging(attempt.directory)),
        run_id=attempt.run_id,
        job_id=attempt.step.job_id,
        step_id=attempt.step.step_id,
        attempt=attempt.number,
        schema=RUN_REPORT_SCHEMA if step.schema is None else step.schema,
        sandbox=step.policy.sandbox,
        approval_policy=step.policy.approval_policy,
        model=step.policy.model or own.model,
        effort=step.policy.model_reasoning_effort,
        web_search=step.policy.web_search_enabled,
        add_dirs=tuple(Path(folder) for folder in step.policy.add_dirs),
        skip_git_repo_check=step.policy.skip_git_repo_check,
        session=None if source is None else source.thread_id,
        command=step.agent.command,
        extra_arguments=own.arguments,
        variables=own.variables,
        linked=frozenset(own.own_files),
        key_variable=own.key_variable,
        key=own.key,
        base_env=settings.agent_env,
    )
