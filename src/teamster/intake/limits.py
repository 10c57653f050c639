"""How much a table may ask for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds that are checked at submission; a refusal names the limit and the value."""

    table_bytes_max: int = 16 * 1024 * 1024
    nodes_max: int = 500_000
    depth_max: int = 32
    aliases_max: int = 10_000
    goal_characters_max: int = 64 * 1024
    jobs_max: int = 10_000
    steps_per_job_max: int = 100
    steps_max: int = 20_000
    depends_on_max: int = 1000
    dependencies_max: int = 200_000
    packs_max: int = 200
    csv_bytes_max: int = 16 * 1024 * 1024
    prompt_bytes_max: int = 1024 * 1024
    steps_bytes_max: int = 128 * 1024 * 1024
    schema_bytes_max: int = 64 * 1024
    labels_max: int = 64
    artifacts_expected_max: int = 64
    arguments_max: int = 256
    argument_characters_max: int = 16 * 1024
    folders_max: int = 64
    text_characters_max: int = 4096
    concurrency_max: int = 512
    attempts_max: int = 100
    seconds_max: int = 30 * 24 * 3600
    days_max: int = 36_500


LIMITS = Limits()
