"""The digest of what a write asks for: the same request id with another digest is another request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, assert_never

from teamster.kit import canonical, digest, iso, sha256
from teamster.model import Attempt, ClaimToken, FileDraft, ItemId, ShiftId, UsageError, Verb
from teamster.store.values import Adoption, Begin, Change, Complete, Fail, Heartbeat, Stall, Start

NOT_JSON: Final = (ValueError, TypeError, RecursionError)  # what writing it raises: NaN, an object, a deep nest


def not_json(subject: str, wrong: Exception) -> UsageError:
    """Say that JSON can't say something."""
    return UsageError(f"{subject} is not JSON: {wrong}", hint="finite numbers, texts, lists and objects, not too deep")


def require_json(subject: str, value: Any) -> None:
    """Check that a value can be kept.

    Raises:
        UsageError: JSON can't say it.
    """
    try:
        canonical(value)
    except NOT_JSON as wrong:
        raise not_json(subject, wrong) from wrong


def digest_of_change(change: Change) -> str:
    """Return the digest of an owner's move; its rev and request id are no part of it."""
    match change:
        case Start():
            return _digest(Verb.START, change, [])
        case Heartbeat(ttl_seconds=seconds):
            return digest([Verb.HEARTBEAT, change.guard.item_id, change.guard.claim_token, seconds])
        case Complete(result=result):
            return _digest(Verb.COMPLETE, change, [result])
        case Fail(error=error, consumes_attempt=consumes):
            return _digest(Verb.FAIL, change, [error, consumes])
        case Stall(error=error, requeue_at=due, consumes_attempt=consumes, recovery=recovery):
            said = [error, None if due is None else iso(due), consumes, recovery]
            return _digest(Verb.STALL, change, said)
        case _:
            assert_never(change)


def digest_of_begin(begin: Begin, *, item_id: ItemId, claim_token: ClaimToken) -> str:
    """Return the digest of a start that is part of a claim: the same as that of the start alone."""
    return digest([Verb.START, item_id, claim_token, [], _attempt(begin.attempt), _files(begin.files)])


def digest_of_adoption(adoption: Adoption, *, shift_id: ShiftId) -> str:
    """Return the digest of a change of owner."""
    return digest(["adopt", adoption.item_id, adoption.rev, shift_id, dict(adoption.facts)])


def _digest(verb: Verb, change: Start | Complete | Fail | Stall, said: Sequence[Any]) -> str:
    guard = change.guard
    return digest([verb, guard.item_id, guard.claim_token, said, _attempt(change.attempt), _files(change.files)])


def _attempt(attempt: Attempt | None) -> list[Any] | None:
    if attempt is None:
        return None
    return [
        attempt.run_id,
        attempt.number,
        attempt.directory,
        attempt.status,
        iso(attempt.started_at),
        None if attempt.ended_at is None else iso(attempt.ended_at),
        dict(attempt.facts),
    ]


def _files(files: Sequence[FileDraft]) -> list[list[str]]:
    return [[file.path, file.file_class, sha256(file.content)] for file in files]
