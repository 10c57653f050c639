"""What an operator can set: one table, from which the file, the environment, the docs and the checks are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from teamster.model import APPROVAL_POLICIES, SANDBOXES

SHIFT_TTL_SECONDS_MIN: Final = 30.0
SHIFT_TTL_SECONDS_MAX: Final = 3600.0
SLOTS_MAX: Final = 512
HEARTBEAT_SECONDS_MAX: Final = 15 * 60.0
STALE_SECONDS_MIN: Final = 1800.0
STORE_SECONDS_MAX: Final = 600.0
DAY_SECONDS: Final = 24 * 3600.0
TEXT_CHARACTERS_MAX: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One thing that can be set. With `low` it is a number; with `choices` one of them; else a text.

    `reloads`: a harness that runs takes a new value from the file at its next look; else at its next start.
    """

    name: str
    about: str
    variable: str
    low: float | None = None
    high: float = 0.0
    is_whole: bool = False
    choices: tuple[str, ...] = ()
    reloads: bool = True

    @property
    def range(self) -> str:
        """Say what it may be."""
        if self.low is not None:
            return f"{self.low:g} to {self.high:g}" if self.high < 1e6 else f"{self.low:.0f} to {self.high:.0f}"  # noqa: PLR2004 - where `g` turns to powers
        return ", ".join(self.choices) if self.choices else "a text"

    def fault(self, value: Any) -> str:
        """Say what is wrong with a value; nothing where it will do."""
        if self.low is None:
            return self._text_fault(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return "is not a number"
        if not self.low <= value <= self.high:
            return f"is not within {self.range.replace(' to ', ' and ')}"
        return "is not a whole number" if self.is_whole and value != int(value) else ""

    def taken(self, value: Any) -> Any:
        """Return a value that has no fault, in its own type."""
        if self.low is None:
            return value
        return int(value) if self.is_whole else float(value)

    def from_text(self, text: str) -> Any:
        """Read what stands in a variable: a number where one is wanted; what is none stays a text, for `fault`."""
        if self.low is None:
            return text
        try:
            return float(text)
        except ValueError:
            return text

    def _text_fault(self, value: Any) -> str:
        if not isinstance(value, str) or not value.isprintable() or len(value) > TEXT_CHARACTERS_MAX:
            return "is not a text of one line"
        return f"is none of {self.range}" if self.choices and value not in self.choices else ""


def _number(name: str, low: float, high: float, about: str, *, is_whole: bool = False, reloads: bool = True) -> Option:
    variable = f"TEAMSTER_{name.upper()}"
    return Option(name=name, about=about, variable=variable, low=low, high=high, is_whole=is_whole, reloads=reloads)


OPTIONS: Final = (
    _number("slots", 1, SLOTS_MAX, "agents that run at once", is_whole=True),
    Option(
        name="own_configuration",
        about="whether agents see your own settings, instructions and MCP servers",
        variable="TEAMSTER_OWN_CONFIGURATION",
        choices=("yes", "no"),
        reloads=False,
    ),
    Option(
        name="sandbox",
        about="what an agent may touch, where a table says nothing",
        variable="TEAMSTER_SANDBOX",
        choices=SANDBOXES,
    ),
    Option(
        name="approval_policy",
        about="when an agent asks first, where a table says nothing",
        variable="TEAMSTER_APPROVAL_POLICY",
        choices=APPROVAL_POLICIES,
    ),
    _number("attempts_max", 1, 100, "how often a step is tried, where a table says nothing", is_whole=True),
    _number("step_timeout_seconds", 1, 30 * DAY_SECONDS, "how long a step may take, where a table says nothing"),
    _number("output_bytes_max", 1024, 1 << 40, "what one attempt may print", is_whole=True),
    _number("terminal_grace_seconds", 0, 3600, "how long an agent may stay after its last word"),
    _number("heartbeat_seconds", 1, HEARTBEAT_SECONDS_MAX, "between two heartbeats of an attempt"),
    _number("heartbeat_stale_after_seconds", STALE_SECONDS_MIN, 7 * DAY_SECONDS, "silence after which it is stuck"),
    _number("orphan_seconds_max", 30, DAY_SECONDS, "how long agents live on without a harness", reloads=False),
    _number(
        "shift_ttl_seconds",
        SHIFT_TTL_SECONDS_MIN,
        SHIFT_TTL_SECONDS_MAX,
        "how long a silent harness keeps its items",
        reloads=False,
    ),
    _number("store_connect_seconds", 1, STORE_SECONDS_MAX, "how long connecting to PostgreSQL may take", reloads=False),
    _number("store_statement_seconds", 1, STORE_SECONDS_MAX, "how long PostgreSQL may take to answer", reloads=False),
    _number("store_lock_seconds", 1, STORE_SECONDS_MAX, "the wait for a row that somebody else holds", reloads=False),
    _number("store_idle_seconds", 1, STORE_SECONDS_MAX, "how long a stopped process may hold rows", reloads=False),
    Option(name="codex_program", about="the Codex to run", variable="TEAMSTER_CODEX", reloads=False),
)
BY_NAME: Final = {option.name: option for option in OPTIONS}
