"""Settings: what the environment says is taken, or refused with the way out."""

from __future__ import annotations

from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamster.agents import CODEX_KEY_VARIABLE
from teamster.model import UsageError
from teamster.settings import KEY_VARIABLES, PASSED_VARIABLES, Settings, StoreLimits, is_passed, settings_from
from teamster.settings.options import SHIFT_TTL_SECONDS_MAX, SHIFT_TTL_SECONDS_MIN, SLOTS_MAX

KEY: Final = "sk-a-key-that-nobody-may-see"


def test_an_empty_environment_gives_the_defaults() -> None:
    """What the docs state as default is what runs."""
    settings = settings_from({})

    assert settings == Settings()
    assert (settings.slots, settings.sandbox, settings.approval_policy) == (8, "workspace-write", "never")
    assert settings.attempts_max == 1


def test_the_environment_overlays_the_defaults() -> None:
    """Each variable reaches its setting."""
    settings = settings_from(
        {"TEAMSTER_SLOTS": "3", "TEAMSTER_SHIFT_TTL_SECONDS": "45.5", "TEAMSTER_CODEX": "/programs/codex"}
    )

    assert (settings.slots, settings.shift_ttl_seconds, settings.codex_program) == (3, 45.5, "/programs/codex")


def test_a_flag_overrides_the_environment() -> None:
    """The nearer word counts; the farther one is not even read."""
    assert settings_from({"TEAMSTER_SLOTS": "nonsense"}, flags={"slots": 5}).slots == 5


def test_one_setting_turns_a_harness_to_another_store() -> None:
    """Nothing else differs; where it is unset, or says so, the store is the file beneath the root."""
    url = "postgresql://me:s3cret@db.example/queue"

    settings = settings_from({"TEAMSTER_STORE": url, "TEAMSTER_STORE_LOCK_SECONDS": "3"})

    assert settings.store_url == url
    assert settings.store_limits.lock_seconds == 3
    assert "s3cret" not in repr(settings)
    assert settings_from({"TEAMSTER_STORE": "sqlite"}).store_url is None


@pytest.mark.parametrize("text", ["mysql://me:s3cret@db.example/queue", "s3cret", "/s3cret/teamster.sqlite"])
def test_a_store_of_another_kind_is_refused_without_being_repeated(text: str) -> None:
    """It may hold a password."""
    with pytest.raises(UsageError, match="TEAMSTER_STORE is neither") as refusal:
        settings_from({"TEAMSTER_STORE": text})

    assert "s3cret" not in f"{refusal.value} {refusal.value.hint}"


@pytest.mark.parametrize("text", ["0", "-1", "601", "nan", "soon"])
@pytest.mark.parametrize("limit", ["CONNECT", "STATEMENT", "LOCK", "IDLE"])
def test_a_wait_for_the_store_has_an_end(limit: str, text: str) -> None:
    """A harness that waits for ever can't even end its own agents."""
    with pytest.raises(UsageError, match=f"TEAMSTER_STORE_{limit}_SECONDS"):
        settings_from({f"TEAMSTER_STORE_{limit}_SECONDS": text})


def test_limits_of_the_store_are_more_than_nothing() -> None:
    """Zero means no limit to PostgreSQL."""
    with pytest.raises(ValueError, match="lock_seconds"):
        StoreLimits(lock_seconds=0)


@pytest.mark.parametrize("name", ["TEAMSTER_SLOTS", "TEAMSTER_SHIFT_TTL_SECONDS", "TEAMSTER_CODEX", *KEY_VARIABLES])
def test_an_empty_variable_is_unset(name: str) -> None:
    """`X= command` is how people unset a variable for one call."""
    assert settings_from({name: ""}) == Settings()


@pytest.mark.parametrize(
    ("name", "text", "hint"),
    [
        ("TEAMSTER_SLOTS", "many", "unset it, or give it 1 to 512"),
        ("TEAMSTER_SLOTS", "0", "unset it, or give it 1 to 512"),
        ("TEAMSTER_SLOTS", "-1", "unset it, or give it 1 to 512"),
        ("TEAMSTER_SLOTS", "513", "unset it, or give it 1 to 512"),
        ("TEAMSTER_SLOTS", "2.5", "unset it, or give it 1 to 512"),
        ("TEAMSTER_SLOTS", "inf", "unset it, or give it 1 to 512"),
        ("TEAMSTER_SLOTS", "nan", "unset it, or give it 1 to 512"),
        ("TEAMSTER_SHIFT_TTL_SECONDS", "29.9", "unset it, or give it 30 to 3600"),
        ("TEAMSTER_SHIFT_TTL_SECONDS", "inf", "unset it, or give it 30 to 3600"),
        ("TEAMSTER_SHIFT_TTL_SECONDS", "1e300", "unset it, or give it 30 to 3600"),
        ("TEAMSTER_SHIFT_TTL_SECONDS", "soon", "unset it, or give it 30 to 3600"),
    ],
)
def test_a_value_that_can_not_be_used_is_named_with_the_way_out(name: str, text: str, hint: str) -> None:
    """Exit 2 with a sentence, never a stack trace an hour later."""
    with pytest.raises(UsageError) as refused:
        settings_from({name: text})

    assert name in refused.value.fact
    assert text in refused.value.fact
    assert refused.value.hint == hint


@pytest.mark.parametrize("slots", [0, -3, SLOTS_MAX + 1])
def test_a_flag_has_the_same_bounds(slots: int) -> None:
    """Whoever says it."""
    with pytest.raises(UsageError, match=r"--slots is"):
        settings_from({}, flags={"slots": slots})


@given(st.text(max_size=12), st.text(max_size=12))
def test_no_text_ends_in_another_exception(slots: str, ttl: str) -> None:
    """What comes out is within its bounds, or is refused."""
    try:
        settings = settings_from({"TEAMSTER_SLOTS": slots, "TEAMSTER_SHIFT_TTL_SECONDS": ttl})
    except UsageError:
        return

    assert 1 <= settings.slots <= SLOTS_MAX
    assert SHIFT_TTL_SECONDS_MIN <= settings.shift_ttl_seconds <= SHIFT_TTL_SECONDS_MAX


@pytest.mark.parametrize(
    ("env", "variable"),
    [
        ({"CODEX_API_KEY": KEY, "OPENAI_API_KEY": "other"}, "CODEX_API_KEY"),
        ({"OPENAI_API_KEY": KEY}, "OPENAI_API_KEY"),
        ({"CODEX_API_KEY": " ", "OPENAI_API_KEY": f" {KEY}\n"}, "OPENAI_API_KEY"),
    ],
    ids=["codex-first", "openai", "blank-is-none"],
)
def test_the_first_key_is_taken(env: dict[str, str], variable: str) -> None:
    """A line break at its end, from a file, would be an error that nobody understands."""
    settings = settings_from(env)

    assert (settings.key_variable, settings.key) == (variable, KEY)


def test_codex_finds_its_key_under_a_name_that_is_looked_for() -> None:
    """Two rooms name it."""
    assert KEY_VARIABLES[0] == CODEX_KEY_VARIABLE


def test_settings_show_no_secret() -> None:
    """What is logged by accident holds none, nor the user's environment."""
    text = repr(settings_from({"CODEX_API_KEY": KEY, "HOME": "/home/somebody"}))

    assert KEY not in text
    assert "somebody" not in text


def test_of_the_environment_only_the_listed_names_pass() -> None:
    """Keys above all stay behind."""
    passed = dict.fromkeys((*PASSED_VARIABLES, "LC_ALL", "LC_TIME"), "x")
    kept_back = dict.fromkeys(("CODEX_API_KEY", "AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK", "LCX", "CODEX_HOME"), "x")

    assert settings_from({**passed, **kept_back}).agent_env == passed
    assert not any(is_passed(name) for name in kept_back)


@pytest.mark.parametrize(
    "broken",
    [
        {"slots": 0},
        {"slots": SLOTS_MAX + 1},
        {"heartbeat_seconds": 901.0},
        {"heartbeat_seconds": float("nan")},
        {"heartbeat_stale_after_seconds": 1799.0},
        {"heartbeat_stale_after_seconds": float("nan")},
        {"shift_ttl_seconds": -1.0},
        {"step_timeout_seconds": float("inf")},
        {"output_bytes_max": 0},
        {"attempts_max": 0},
        {"key": KEY},
    ],
    ids=lambda broken: "-".join(f"{name}-{value}" for name, value in broken.items()),
)
def test_settings_that_make_no_sense_are_not_made(broken: dict[str, Any]) -> None:
    """Illegal values cannot be built."""
    with pytest.raises(ValueError, match=r"is|leave|needs"):
        Settings(**broken)


def test_the_bounds_of_the_heartbeat_are_those_of_the_contract() -> None:
    """15 minutes at most between two, 45 before one is stale."""
    assert Settings(heartbeat_seconds=900.0).heartbeat_seconds == 900.0
    assert Settings().heartbeat_stale_after_seconds == 2700.0
