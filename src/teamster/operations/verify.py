"""Checks every promise of a root: what its files say by themselves, and whether the database says the same."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from teamster.artifacts import Report
from teamster.artifacts import verify as verify_files
from teamster.model import OWNED_STATUSES, RootId
from teamster.operations.agreement import ROWS_MAX, Agreement, has_come_here
from teamster.operations.harness import Harness
from teamster.store import Store

LOOKS_MAX: Final = 4
PAUSE_SECONDS: Final = 0.25  # between looks while somebody works: longer than a delivery of one tick


def verify(harness: Harness) -> Report:
    """Walk the runs store and the database, change nothing, and return what is not as promised.

    Files that a commit has promised and nobody has written yet count as written; attempts that run may be unfinished.
    Harnesses may work meanwhile, and files and database are never read in one moment. So a finding counts when the
    next look shows the very same one: what is broken stays as it is, what was on its way has moved on.
    """
    store = harness.open_store()
    try:
        report = _look(harness, store)
        for _ in range(LOOKS_MAX - 1):
            if report.is_clean:
                break
            if any(shift.ended_at is None for shift in store.shifts()):
                threading.Event().wait(PAUSE_SECONDS)
            again = _look(harness, store)
            seen_twice = frozenset(report.findings) & frozenset(again.findings)
            is_steady = len(seen_twice) == len(report.findings)
            report = replace(again, findings=tuple(sorted(seen_twice)))
            if is_steady:
                break
        return report
    finally:
        store.close()


def _look(harness: Harness, store: Store) -> Report:
    """Look once. Directories are listed first, then the database is read: whatever lies there was committed before."""
    agreement = Agreement.begin(harness.root)
    promised = {row.path: row.content for row in store.outbox(limit=ROWS_MAX)}
    live = frozenset(_live(store, harness.root.root_id))
    elsewhere = frozenset(batch.batch_id for batch in store.batches() if not has_come_here(batch, harness.root))
    secrets = (*harness.settings.keys, *(harness.logins.secrets() if harness.settings.key is None else ()))
    report = verify_files(harness.root, promised=promised, live=live, secrets=secrets, elsewhere=elsewhere)
    found = sorted({*report.findings, *agreement.findings(store, promised)})
    return replace(report, findings=tuple(found))


def _live(store: Store, root_id: RootId) -> Iterator[str]:
    for status in OWNED_STATUSES:
        for item in store.items(status=status.value, limit=ROWS_MAX):
            for attempt in store.attempts(item_id=item.item_id):
                if attempt.ended_at is None and attempt.lies_in(root_id):
                    yield attempt.directory
