"""What goes into a store refuses to be built wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from contracts.store_world import draft
from teamster.model import BatchId, ClaimToken, ItemId, RequestId
from teamster.store import BatchDraft, Guard


@pytest.mark.parametrize(
    ("change", "fact"),
    [
        ({"item_id": "no id"}, "not an id"),
        ({"dedupe_key": ""}, "dedupe key"),
        ({"dedupe_key": "a\nb"}, "dedupe key"),
        ({"dedupe_key": "half \ud800"}, "dedupe key"),
        ({"generation": 0}, "generation"),
        ({"step": None}, "one of the two"),
        ({"collection": "_plans"}, "one of the two"),
        ({"step": None, "collection": "plans"}, "name of a collection"),
        ({"step": None, "collection": "_a.b"}, "name of a collection"),
        ({"labels": frozenset({"a b"})}, "label"),
        ({"runner_affinity": "no/id"}, "id of a runner"),
        ({"target": {"workflow_command": 7}}, "target.workflow_command"),
        ({"target": {"role": ["coder"]}}, "target.role"),
        ({"limit_keys": frozenset({"directory"})}, "key of a limit"),
        ({"limit_keys": frozenset({"directory:*"})}, "key of a limit"),
        ({"limit_keys": frozenset({"directory:half \ud800"})}, "key of a limit"),
    ],
)
def test_a_draft_refuses(change: dict[str, Any], fact: str) -> None:
    """Checked once, where it is built: no store has to look again."""
    with pytest.raises(ValueError, match=fact):
        replace(draft("a"), **change)


@pytest.mark.parametrize(
    ("change", "fact"),
    [
        ({"batch_id": "no.id"}, "not an id"),
        ({"concurrency": 0}, "lets nothing run"),
        ({"items": (draft("a", batch="other"),)}, "belongs to batch other"),
        ({"items": (draft("a"), draft("b", item_id="batch-a-1"))}, "same item id"),
        ({"items": (draft("a"), replace(draft("b"), dedupe_key="batch/a#1"))}, "same dedupe key"),
    ],
)
def test_a_batch_refuses(change: dict[str, Any], fact: str) -> None:
    """A batch that contradicts itself never gets as far as a transaction."""
    made = BatchDraft(batch_id=BatchId("batch"), concurrency=None, meta={}, items=())

    with pytest.raises(ValueError, match=fact):
        replace(made, **change)


@pytest.mark.parametrize("request_id", ["", "a\nb", "half \ud800"])
def test_a_request_id_is_a_text_that_can_be_kept(request_id: str) -> None:
    """It is what makes a write repeatable; one that no database can hold would break the others beside it."""
    with pytest.raises(ValueError, match="id of a request"):
        Guard(item_id=ItemId("item"), claim_token=ClaimToken("token"), rev=1, request_id=RequestId(request_id))
