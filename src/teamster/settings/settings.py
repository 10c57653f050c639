"""What an operator can set, its defaults, and what the environment says about it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Final

from teamster.model import ApprovalPolicy, Sandbox, UsageError
from teamster.settings.environment import is_passed

SHIFT_TTL_SECONDS_MIN: Final = 30.0
SHIFT_TTL_SECONDS_MAX: Final = 3600.0
SLOTS_MAX: Final = 512
HEARTBEAT_SECONDS_MAX: Final = 15 * 60.0
STALE_SECONDS_MIN: Final = 1800.0
EMBEDDED_STORE: Final = "sqlite"
STORE_SCHEMES: Final = ("postgresql://", "postgres://")
STORE_SECONDS_MIN: Final = 1.0
STORE_SECONDS_MAX: Final = 600.0
KEY_VARIABLES: Final = ("CODEX_API_KEY", "OPENAI_API_KEY")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreLimits:
    """How long one may wait for a database server, and how many connections a process may hold."""

    connect_seconds: float = 5.0
    statement_seconds: float = 30.0
    lock_seconds: float = 10.0  # for a row that another transaction holds
    idle_seconds: float = 30.0  # in the middle of a transaction: a stopped process lets go of its rows then
    connections_max: int = 16

    def __post_init__(self) -> None:
        for each in fields(self):
            if not 0 < getattr(self, each.name) < math.inf:
                raise ValueError(f"{each.name} is {getattr(self, each.name)}: a limit is more than nothing, and ends")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that may differ between two installations; a batch records what it ran with.

    `codex_configuration` is the user's own file, linked into each private home. A TTL below `SHIFT_TTL_SECONDS_MIN` is
    for tests alone: `settings_from` refuses it.
    """

    slots: int = 8
    shift_ttl_seconds: float = 90.0
    orphan_seconds_max: float = 600.0
    step_timeout_seconds: float = 3600.0
    output_bytes_max: int = 256 * 1024 * 1024
    terminal_grace_seconds: float = 10.0
    heartbeat_seconds: float = 60.0
    heartbeat_stale_after_seconds: float = 2700.0
    observe_seconds: float = 0.5
    recover_seconds: float = 2.0
    sandbox: Sandbox = "workspace-write"
    approval_policy: ApprovalPolicy = "never"
    attempts_max: int = 1
    codex_program: str | None = None
    codex_arguments: tuple[str, ...] = ()
    codex_configuration: Path | None = None
    key_variable: str | None = None
    key: str | None = field(default=None, repr=False)
    agent_env: Mapping[str, str] = field(default_factory=dict, repr=False)
    store_url: str | None = field(default=None, repr=False)  # it may hold a password; None is SQLite beneath the root
    store_limits: StoreLimits = field(default_factory=StoreLimits)

    def __post_init__(self) -> None:
        if not 1 <= self.slots <= SLOTS_MAX:
            raise ValueError(f"slots is {self.slots}, not 1 to {SLOTS_MAX}")
        for name in _SPANS:
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name} is {getattr(self, name)}: a time is not negative, and ends")
        if self.heartbeat_seconds > HEARTBEAT_SECONDS_MAX:
            raise ValueError(f"heartbeat_seconds is {self.heartbeat_seconds}, over {HEARTBEAT_SECONDS_MAX:g}")
        if not self.heartbeat_stale_after_seconds >= STALE_SECONDS_MIN:
            raise ValueError(
                f"heartbeat_stale_after_seconds is {self.heartbeat_stale_after_seconds}, under {STALE_SECONDS_MIN:g}"
            )
        if self.output_bytes_max < 1 or self.attempts_max < 1:
            raise ValueError("output_bytes_max and attempts_max leave nothing to do")
        if self.key is not None and not self.key_variable:
            raise ValueError("a key needs the name of its variable")


_SPANS: Final = (
    "shift_ttl_seconds",
    "orphan_seconds_max",
    "step_timeout_seconds",
    "terminal_grace_seconds",
    "heartbeat_seconds",
    "observe_seconds",
    "recover_seconds",
)


def settings_from(env: Mapping[str, str], *, slots: int | None = None) -> Settings:
    """Return the defaults, overlaid by the environment and by flags. A variable that is empty counts as unset.

    Raises:
        UsageError: a variable has no usable value.
    """
    settings = Settings(
        codex_program=env.get("TEAMSTER_CODEX") or None,
        agent_env={name: value for name, value in env.items() if is_passed(name)},
        shift_ttl_seconds=_number(
            env,
            "TEAMSTER_SHIFT_TTL_SECONDS",
            Settings().shift_ttl_seconds,
            at_least=SHIFT_TTL_SECONDS_MIN,
            at_most=SHIFT_TTL_SECONDS_MAX,
        ),
        slots=_slots(env) if slots is None else _in_range("--slots", slots),
        store_url=_store_url(env),
        store_limits=_store_limits(env),
    )
    for name in KEY_VARIABLES:
        if key := env.get(name, "").strip():
            return replace(settings, key_variable=name, key=key)
    return settings


def _store_url(env: Mapping[str, str]) -> str | None:
    """Return where the store is. The value is never repeated: it may hold a password."""
    text = env.get("TEAMSTER_STORE", "").strip()
    if not text or text == EMBEDDED_STORE:
        return None
    if not text.startswith(STORE_SCHEMES):
        raise UsageError(
            f"TEAMSTER_STORE is neither `{EMBEDDED_STORE}` nor a URL of PostgreSQL",
            hint="unset it, or give it postgresql://USER@HOST:PORT/DATABASE",
        )
    return text


def _store_limits(env: Mapping[str, str]) -> StoreLimits:
    def seconds(name: str, usual: float) -> float:
        return _number(env, name, usual, at_least=STORE_SECONDS_MIN, at_most=STORE_SECONDS_MAX)

    usual = StoreLimits()
    return StoreLimits(
        connect_seconds=seconds("TEAMSTER_STORE_CONNECT_SECONDS", usual.connect_seconds),
        statement_seconds=seconds("TEAMSTER_STORE_STATEMENT_SECONDS", usual.statement_seconds),
        lock_seconds=seconds("TEAMSTER_STORE_LOCK_SECONDS", usual.lock_seconds),
        idle_seconds=seconds("TEAMSTER_STORE_IDLE_SECONDS", usual.idle_seconds),
    )


def _slots(env: Mapping[str, str]) -> int:
    name = "TEAMSTER_SLOTS"
    number = _number(env, name, Settings().slots, at_least=1, at_most=SLOTS_MAX)
    if number != int(number):
        raise UsageError(f"{name} is {env[name]!r}, not a whole number", hint=f"give it 1 to {SLOTS_MAX}")
    return int(number)


def _in_range(name: str, slots: int) -> int:
    if not 1 <= slots <= SLOTS_MAX:
        raise UsageError(f"{name} is {slots}", hint=f"choose 1 to {SLOTS_MAX}")
    return slots


def _number(env: Mapping[str, str], name: str, default: float, *, at_least: float, at_most: float) -> float:
    text = env.get(name)
    if not text:
        return default
    hint = f"unset it, or give it {at_least:g} to {at_most:g}"
    try:
        value = float(text)
    except ValueError:
        raise UsageError(f"{name} is {text!r}, not a number", hint=hint) from None
    if not at_least <= value <= at_most:
        raise UsageError(f"{name} is {text}, not within {at_least:g} and {at_most:g}", hint=hint)
    return value
