"""The PostgreSQL store and the reference model agree about whatever is done to them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contracts.store_world import World
from store.postgres_stage import at_boot_time, empty
from store.tallies import require_true
from store.test_agreement import FIRST, Act, Player, acts
from teamster.kit import CountedNames
from teamster.store import MemoryStore
from teamster.store.postgres import PostgresStore
from teamster.store.postgres_connection import PostgresDatabase
from teamster.store.postgres_pool import PostgresPool

EXAMPLES = 12  # each message to a server takes its time; SQLite runs five times as many of the same
STEPS_MIN = 30
STEPS_MAX = 60


@pytest.mark.req("DC-cas", "DC-life", "DC-own")
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(steps=st.lists(acts, min_size=STEPS_MIN, max_size=STEPS_MAX))
def test_both_stores_answer_alike_whatever_is_done(steps: Sequence[Act], postgres_pool: PostgresPool) -> None:
    """Dictionaries are plainly right; whatever PostgreSQL answers otherwise is wrong."""
    database = PostgresDatabase(postgres_pool, root="root", host="host")
    postgres = PostgresStore(database, names=CountedNames(), host="host", clock=at_boot_time)
    model, real = Player(World(MemoryStore)), Player(World(lambda: postgres))
    try:
        for act in [*FIRST, *steps]:
            assert real.play(act) == model.play(act), act
        assert real.state() == model.state()
        require_true(database.rows)
    finally:
        empty(database)
