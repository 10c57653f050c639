"""What this harness is set to, told in the runs store: readers of files need not ask it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Final

from teamster import __version__
from teamster.artifacts import HarnessConfig, draft, harness_config_path, harness_config_version_path
from teamster.intake import LIMITS
from teamster.kit import Instant, document, make_folder, write_snapshot
from teamster.model import FileDraft, JsonObject, RunnerId
from teamster.operations.harness import Harness
from teamster.policy import TREATMENTS, Treatment
from teamster.store import Store

# PH-14: what the original left open, decided.
CHOICES: Final[JsonObject] = {
    "workspace_mode": "shared",
    "retry_thread": {failure.value: "fresh" for failure, how in TREATMENTS.items() if how is not Treatment.STOP},
    "retention_days": None,
    "artifact_index": None,
}


def harness_config(harness: Harness) -> HarnessConfig:
    """Gather what is set."""
    defaults, settings = harness.defaults, harness.settings
    return HarnessConfig.of(
        program_version=__version__,
        execution_policy=defaults.policy.to_json(),
        timeouts={"step_timeout_seconds": defaults.timeout_seconds},
        retries=defaults.retry.to_json(),
        heartbeat_stale_after_seconds=settings.heartbeat_stale_after_seconds,
        limits={**asdict(LIMITS), "slots": settings.slots, "output_bytes_max": settings.output_bytes_max},
        choices=CHOICES,
    )


def config_draft(config: HarnessConfig) -> FileDraft:
    """Promise the version that a batch names, with the batch itself."""
    return draft(harness_config_version_path(config.version), document(config.version_document()))


def tell_configuration(harness: Harness, store: Store) -> None:
    """Write the snapshot, which is derived: a promise of it that is played late would bring old settings back."""
    path = harness.root.at(harness_config_path())
    make_folder(path.parent)
    write_snapshot(path, document(_snapshot(harness_config(harness), store, at=harness.clock.now())))


def _snapshot(config: HarnessConfig, store: Store, *, at: Instant) -> JsonObject:
    runners: dict[RunnerId, bool] = {}
    for shift in store.shifts():
        runners[shift.runner_id] = runners.get(shift.runner_id, False) or shift.ended_at is None
    return config.snapshot(written_at=at.wall, runners=sorted(runners.items()))
