"""What holds for a harness: what an operator can set, and what was found of keys, programs and the environment."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Final

from teamster.model import ApprovalPolicy, Sandbox
from teamster.settings.options import HEARTBEAT_SECONDS_MAX, SLOTS_MAX, STALE_SECONDS_MIN

CODEX_CONFIGURATION: Final = "config.toml"
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
class AgentSettings:
    """What one agent program is given beside what the table says. `own_files` are the user's, linked into each home."""

    arguments: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    model: str | None = None
    own_files: Mapping[str, Path] = field(default_factory=dict)
    key_variable: str | None = None
    key: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.key is not None and not self.key_variable:
            raise ValueError("a key needs the name of its variable")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that may differ between two installations; a batch records what it ran with.

    `codex_configuration` is the user's own file, linked into each private home; of `codex_login` each attempt gets a
    copy, where there is no key. `agents` says what the other agents are given; one that it doesn't name gets the key of
    Codex. A TTL below `SHIFT_TTL_SECONDS_MIN` is for tests alone: `settings_from` refuses it.
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
    codex_login: Path | None = None
    key_variable: str | None = None
    key: str | None = field(default=None, repr=False)
    agent_env: Mapping[str, str] = field(default_factory=dict, repr=False)
    store_url: str | None = field(default=None, repr=False)  # it may hold a password; None is SQLite beneath the root
    store_connect_seconds: float = 5.0
    store_statement_seconds: float = 30.0
    store_lock_seconds: float = 10.0
    store_idle_seconds: float = 30.0
    own_configuration: str = "yes"
    agents: Mapping[str, AgentSettings] = field(default_factory=dict)

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

    @property
    def store_limits(self) -> StoreLimits:
        """Return how long one may wait for a database server."""
        return StoreLimits(
            connect_seconds=self.store_connect_seconds,
            statement_seconds=self.store_statement_seconds,
            lock_seconds=self.store_lock_seconds,
            idle_seconds=self.store_idle_seconds,
        )

    def of(self, agent: str) -> AgentSettings:
        """Return what an agent program is given."""
        if agent in self.agents:
            return self.agents[agent]
        is_codex = agent == "codex"
        own_files: dict[str, Path] = {}
        if is_codex and self.codex_configuration is not None:
            own_files[CODEX_CONFIGURATION] = self.codex_configuration
        return AgentSettings(
            arguments=self.codex_arguments if is_codex else (),
            own_files=own_files,
            key_variable=self.key_variable,
            key=self.key,
        )

    @property
    def keys(self) -> tuple[bytes, ...]:
        """Every key that some agent may be given: none of them may be kept."""
        keys = {self.key, *(agent.key for agent in self.agents.values())}
        return tuple(sorted(key.encode() for key in keys if key))


_SPANS: Final = (
    "shift_ttl_seconds",
    "orphan_seconds_max",
    "step_timeout_seconds",
    "terminal_grace_seconds",
    "heartbeat_seconds",
    "observe_seconds",
    "recover_seconds",
)
