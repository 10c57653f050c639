"""What a harness is set to can be read from its files, and each version is kept once."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from teamster.artifacts import HarnessConfig, harness_config_version_path
from teamster.artifacts.configuration import config_faults
from teamster.kit import document
from teamster.model import RunnerId

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def made(**changed: Any) -> HarnessConfig:
    """Make a configuration."""
    parts: dict[str, Any] = {
        "program_version": "1.2.3",
        "execution_policy": {"sandbox": "read-only"},
        "timeouts": {"step_timeout_seconds": 3600.0},
        "retries": {"max_attempts": 1},
        "heartbeat_stale_after_seconds": 2700.0,
        "limits": {"jobs_max": 10},
        "choices": {"workspace_mode": "shared"},
    }
    return HarnessConfig.of(**{**parts, **changed})


@pytest.mark.req("PH-6.4b")
def test_equal_settings_have_one_version_and_the_same_bytes() -> None:
    """A version is written whenever a batch comes; the file must never change."""
    first, again, other = made(), made(), made(heartbeat_stale_after_seconds=3600.0)

    assert first.version == again.version != other.version
    assert document(first.version_document()) == document(again.version_document())
    assert harness_config_version_path(first.version).endswith(f"/{first.version}.json")


@pytest.mark.req("PH-6.4a")
def test_the_snapshot_says_when_and_who_works_and_the_version_does_not_change_with_them() -> None:
    """The live pool is outside the hash."""
    config = made()

    value = config.snapshot(written_at=NOON, runners=[(RunnerId("runner_1"), True)])

    assert value["harness_config_version"] == config.version
    assert value["written_at"] == "2026-01-01T12:00:00.000000Z"
    assert value["runners"] == [{"runner_id": "runner_1", "accepts_work": True}]
    assert value["interfaces"] == {
        "api_mode": {"enabled": False, "auth_mode": "none"},
        "filesystem_queue_mode": {"enabled": False, "roots": ["incoming"]},
    }
    assert config_faults(json.loads(document(value))) == []


def test_a_document_that_was_changed_is_told() -> None:
    """Its name is the digest of what it says."""
    value = json.loads(document(made().version_document()))

    assert config_faults(value) == []
    assert config_faults({**value, "limits": {"jobs_max": 11}}) == [
        f"{value['harness_config_version']} is not the version of these settings"
    ]
    assert config_faults({**value, "retries": None}) == ["lacks retries"]


@pytest.mark.parametrize("version", ["", "../evil", "a/b", ".hidden", "x" * 200])
def test_what_is_no_version_names_no_file(version: str) -> None:
    with pytest.raises(ValueError, match="is not the version of a configuration"):
        harness_config_version_path(version)
