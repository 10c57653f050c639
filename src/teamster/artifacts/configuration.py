"""`harness_config.json`: what a harness is set to, for whoever reads the runs store without asking it.

Pure. The version is made from all that an operator sets: equal settings have equal versions, and equal bytes. What
changes all the time, who works now above all, stands in the snapshot alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from teamster.artifacts.layout import INCOMING, RUNNERS, RUNS
from teamster.kit import digest, iso
from teamster.model import JsonObject, RunnerId

DIGEST_CHARACTERS: Final = 12
CONFIG_KEYS: Final = (
    "harness_config_version",
    "interfaces",
    "runs_root",
    "runners_root",
    "execution_policy",
    "timeouts",
    "retries",
    "retention_policy",
    "heartbeat_stale_after_seconds",
    "auto_remediation",
    "limits",
    "choices",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessConfig:
    """What an operator has set, with its version. It holds no secret, and no key's name."""

    version: str
    settings: JsonObject

    @classmethod
    def of(
        cls,
        *,
        program_version: str,
        execution_policy: Mapping[str, Any],
        timeouts: Mapping[str, Any],
        retries: Mapping[str, Any],
        heartbeat_stale_after_seconds: float,
        limits: Mapping[str, Any],
        choices: Mapping[str, Any],
    ) -> HarnessConfig:
        """Gather what is set and name it."""
        settings: JsonObject = {
            "interfaces": {
                "api_mode": {"enabled": False, "auth_mode": "none"},
                "filesystem_queue_mode": {"enabled": False, "roots": [INCOMING]},
            },
            "runs_root": RUNS,
            "runners_root": RUNNERS,
            "execution_policy": dict(execution_policy),
            "timeouts": dict(timeouts),
            "retries": dict(retries),
            "retention_policy": {"raw_logs_days": None, "attempts_days": None},  # nothing is ever removed by itself
            "heartbeat_stale_after_seconds": heartbeat_stale_after_seconds,
            "auto_remediation": {"enabled": False},
            "limits": dict(limits),
            "choices": dict(choices),
        }
        return cls(version=f"teamster-{program_version}-{digest(settings)[:DIGEST_CHARACTERS]}", settings=settings)

    def version_document(self) -> JsonObject:
        """Build the file of this version: the same bytes whenever it is written."""
        return {"harness_config_version": self.version, **self.settings}

    def snapshot(self, *, written_at: datetime, runners: Sequence[tuple[RunnerId, bool]]) -> JsonObject:
        """Build `harness_config.json`; of each runner that is known it says whether it takes work."""
        return {
            "harness_config_version": self.version,
            "written_at": iso(written_at),
            **self.settings,
            "runners": [{"runner_id": runner_id, "accepts_work": accepts} for runner_id, accepts in runners],
        }


def config_faults(value: Mapping[str, Any]) -> list[str]:
    """Say what is wrong with one version of a configuration, or with the snapshot of it."""
    faults = [f"lacks {name}" for name in CONFIG_KEYS if value.get(name) is None]
    version = value.get("harness_config_version")
    settings = {name: value.get(name) for name in CONFIG_KEYS[1:]}
    if not faults and not str(version).endswith(f"-{digest(settings)[:DIGEST_CHARACTERS]}"):
        faults.append(f"{version} is not the version of these settings")
    return faults
