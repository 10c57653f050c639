"""The limits that a table sets for itself: how many steps may run at once in a job, a directory, a repository."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from teamster.kit import sha256
from teamster.model import BatchId, Job, Table

# Kinds of keys of the store. A batch has kinds of its own, so that no table limits another one.
JOB: Final = "job"
DIRECTORY: Final = "directory"
REPOSITORY: Final = "repository"
BATCH_DIGITS: Final = 24
NAME_CHARACTERS_MAX: Final = 400


def limits_of(table: Table) -> Mapping[str, int]:
    """Return the keys that the store must know before the first step of a table may run."""
    limits = {
        _kind(DIRECTORY, table.batch_id) + ":*": table.concurrency_per_directory,
        _kind(REPOSITORY, table.batch_id) + ":*": table.concurrency_per_repository,
        **{_key(JOB, table.batch_id, job.job_id): job.concurrency for job in table.jobs},
    }
    return {key: maximum for key, maximum in limits.items() if maximum is not None}


def limit_keys_of(table: Table, job: Job) -> frozenset[str]:
    """Return the keys that the steps of a job hold while they run; none where the table sets no limit."""
    folder = Path(job.working_directory)
    keys = set()
    if job.concurrency is not None:
        keys.add(_key(JOB, table.batch_id, job.job_id))
    if table.concurrency_per_directory is not None:
        keys.add(_key(DIRECTORY, table.batch_id, str(folder)))
    if table.concurrency_per_repository is not None:
        keys.add(_key(REPOSITORY, table.batch_id, str(_repository(folder))))
    return frozenset(keys)


def _repository(folder: Path) -> Path:
    """Return the folder whose repository holds another one; where none does, each folder stands for itself."""
    return next((top for top in (folder, *folder.parents) if (top / ".git").exists()), folder)


def _kind(kind: str, batch_id: BatchId) -> str:
    return f"{kind}-{sha256(batch_id.encode())[:BATCH_DIGITS]}"


def _key(kind: str, batch_id: BatchId, name: str) -> str:
    plain = name.isprintable() and len(name) <= NAME_CHARACTERS_MAX and name != "*"
    return f"{_kind(kind, batch_id)}:{name if plain else sha256(name.encode())}"
