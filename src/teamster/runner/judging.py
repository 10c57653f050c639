"""From an ended tree to a judged end. What an agent did to its own attempt spoils that one alone, never its harness."""

from __future__ import annotations

from typing import Final

from teamster.artifacts import CODEX_HOME, AttemptFile, Root, blames_disk, inventory, make_whole
from teamster.kit import Instant
from teamster.model import ExitRecord, WorldError
from teamster.runner.carried import Carried
from teamster.runner.ending import Ending, conclude
from teamster.runner.evidence import gather, lost_evidence
from teamster.workspace import Workspaces

_PROMISED: Final = frozenset({AttemptFile.STATE.value})
_PROMISED_WITH_RECORD: Final = _PROMISED | {AttemptFile.EXIT.value}


def judge(
    carried: Carried,
    record: ExitRecord | None,
    *,
    root: Root,
    workspaces: Workspaces,
    keeping: bool,
    now: Instant,
    jitter: float,
) -> Ending:
    """Gather the evidence of an attempt and judge it. Places that were tampered with are put right and looked at again.

    Raises:
        WorldError: the disk failed.
        OSError: so did it.
    """
    try:
        evidence = gather(carried, record, root=root, workspaces=workspaces, keeping=keeping)
        on_disk = inventory(
            root,
            carried.attempt.directory,
            known=None if evidence.sealed is None else evidence.sealed.inventory(CODEX_HOME),
            but=_PROMISED if record is None else _PROMISED_WITH_RECORD,
        )
    except (WorldError, OSError) as error:
        if blames_disk(error):
            raise
        if not carried.tampered and keeping:
            carried.tampered = str(error)
            make_whole(root, carried.attempt.directory)
            return judge(carried, record, root=root, workspaces=workspaces, keeping=keeping, now=now, jitter=jitter)
        evidence, on_disk = lost_evidence(carried, record, root, why=str(error)), {}
    return conclude(carried, record, evidence, on_disk=on_disk, now=now, jitter=jitter)
