"""All that must lie on the disk before an agent starts: folders, its session, its input, the state of its workspace."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from teamster.agents import Plan
from teamster.artifacts import (
    AttemptFile,
    BaseChanged,
    Root,
    Sealed,
    attempt_file,
    codex_home,
    restore,
    staging,
)
from teamster.kit import OutsideRoot, append, document, make_folder, read_beneath
from teamster.model import WorldError
from teamster.policy import FailureClass
from teamster.process import Order
from teamster.runner.carried import Carried
from teamster.runner.logins import Logins
from teamster.runner.source import Source
from teamster.runner.spools import BASELINE, Spools
from teamster.settings import AgentSettings, Settings
from teamster.workspace import Workspaces

SESSION_RECORD_BYTES_MAX: Final = 16 << 20


class CannotStart(WorldError):
    """An attempt can't be started as asked; its class says what follows."""

    def __init__(self, fact: str, failure_class: FailureClass) -> None:
        super().__init__(fact)
        self.failure_class = failure_class


def prepare(
    carried: Carried,
    *,
    root: Root,
    spools: Spools,
    workspaces: Workspaces,
    settings: Settings,
    deadline: Path,
    logins: Logins,
) -> Order:
    """Make the attempt's places and return the order for its shim.

    The spool is empty and nobody else's: its files are simply written.

    Raises:
        CannotStart: the base of a resume is gone or was changed, nobody is signed in, or what its prompt refers to is
            not there.
        WorldError: the disk or git failed.
    """
    plan = carried.plan
    if plan is None:
        raise CannotStart(carried.problem, carried.problem_class)
    make_folder(root.at(staging(carried.attempt.directory)))
    spools.lay_out(carried.places.spool, folders=plan.folders, files=plan.files)
    if carried.agent.sessions:
        make_folder(carried.home)
        _link_configuration(carried.home, settings.of(carried.agent.name))
        _sign_in(carried, logins)
    if carried.step.resume is not None:
        _seed(carried, root)
    baseline = workspaces.observe_start(Path(carried.step.working_directory))
    if baseline.top is not None:
        append(carried.places.spool / BASELINE, document(baseline.to_json()))
    append(carried.places.control, os.fsencode(deadline))
    return _order(carried, plan)


def sealed_base(source: Source, root: Root) -> Sealed:
    """Read the manifest of a base and check that it is the one that was chosen.

    Raises:
        CannotStart: there is none, or it is another one.
    """
    name = attempt_file(source.directory, AttemptFile.SESSION)
    try:
        sealed = Sealed.from_bytes(read_beneath(root.path, name, bytes_max=SESSION_RECORD_BYTES_MAX))
    except (OSError, OutsideRoot, ValueError) as error:
        raise CannotStart(f"the base of {source.run_id} can't be read: {error}", FailureClass.BASE_TOUCHED) from error
    if sealed.session_sha256 != source.session_sha256:
        raise CannotStart(f"the base of {source.run_id} is not the one that was sealed", FailureClass.BASE_TOUCHED)
    return sealed


def _seed(carried: Carried, root: Root) -> None:
    """Copy the base into the attempt's own session store."""
    source = carried.source
    if source is None or source.session_sha256 is None or source.thread_id is None:
        whose = "the step that it resumes" if source is None else source.run_id
        raise CannotStart(f"{whose} left no session to resume", FailureClass.EVIDENCE_LOST)
    sealed = sealed_base(source, root)
    if not carried.agent.closure([file.name for file in sealed.files], source.thread_id):
        fact = f"the base of {source.run_id} does not hold the thread {source.thread_id:.64}"
        raise CannotStart(fact, FailureClass.REFUSED_INPUT)
    try:
        restore(root.at(codex_home(source.directory)), sealed, carried.home)
    except BaseChanged as error:
        fact = f"the base of {source.run_id} is not what was sealed: {error.fact}"
        raise CannotStart(fact, FailureClass.BASE_TOUCHED) from error


def _link_configuration(home: Path, own: AgentSettings) -> None:
    """Let the agent see the user's own providers and tools, without a copy of them in what is kept."""
    for name, file in own.own_files.items():
        place = home / name
        make_folder(place.parent)
        place.symlink_to(file)


def _sign_in(carried: Carried, logins: Logins) -> None:
    try:
        logins.start(carried)
    except WorldError as error:
        raise CannotStart(error.fact, FailureClass.AUTH) from error


def _order(carried: Carried, plan: Plan) -> Order:
    return Order(
        run_id=carried.attempt.run_id,
        nonce=carried.attempt.facts["nonce"],
        argv=plan.argv,
        env=plan.env,
        cwd=Path(carried.step.working_directory),
        stdin=None if plan.stdin_file is None else carried.scratch / plan.stdin_file,
        places=carried.places,
        timeout_seconds=carried.step.timeout_seconds,
        output_bytes_max=carried.output_bytes_max,
    )
