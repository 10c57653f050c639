"""What to do next: each act by its weight, with whatever would be worth a try just now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from types import MappingProxyType
from typing import Any, Final

from simulation.player import SHIFTS
from teamster.store import Needs

Act = tuple[Any, ...]
Dies = int | str  # at which statement, "after a commit", or "nowhere"
VERBS: Final = ("start", "start", "beat", "beat", "complete", "complete", "fail", "stall", "requeue")
MODES: Final = ("right", "right", "right", "right", "stale", "guess", "guess")
# To the very end of a lease (90) and of a heartbeat (120), and to either side of it.
SECONDS: Final = (1, 10, 40, 50, 80, 89.5, 90, 90, 90.5, 120)
SMALL_MAX: Final = 5
KINDS: Final = ("any", "any", "any", "labelled", "early", "stalled", "stalled", "plans")
LIMITED: Final = ("*", "key:*", "key:0", "key:1")
MAXIMA: Final = (None, None, 0, 1, 2, 9)


def _small(random: Random) -> int:
    return random.randint(0, SMALL_MAX)


def _flag(random: Random) -> bool:
    return random.random() < 0.5


def _shift(random: Random) -> str:
    return random.choice(SHIFTS)


def _batch(random: Random) -> str:
    return random.choice(("early", "early", "late"))


def _claim(random: Random) -> Act:
    return ("claim", _shift(random), random.randint(1, 4), _flag(random), random.choice(KINDS))


def _owner(random: Random) -> Act:
    return ("owner", random.choice(VERBS), _small(random), random.choice(MODES), _flag(random))


def _again(random: Random) -> Act:
    return ("again", random.randint(0, 2), random.choice(("the same", "the same", "other payload", "other id")))


def _submit(random: Random) -> Act:
    links = [(_small(random), random.choice(list(Needs))) for _ in range(random.randint(0, 4))]
    return ("submit", _batch(random), links, _small(random))


def _steer(random: Random) -> Act:
    verb, seconds = random.choice(("requeue", "abandon")), _small(random)
    return ("steer", verb, _small(random), seconds, random.random() < 0.2, random.random() < 0.3)


WEIGHTS: Final[Mapping[Callable[[Random], Act], int]] = MappingProxyType(
    {
        _claim: 14,
        _owner: 24,
        _again: 8,
        _submit: 2,
        _steer: 6,
        lambda random: ("enqueue", _small(random), random.randint(1, 3), _batch(random)): 3,
        lambda random: (random.choice(("begin", "end", "renew", "renew")), _shift(random)): 4,
        lambda random: ("wait", random.choice(SECONDS)): 8,
        lambda random: ("reboot",): 2,  # noqa: ARG005 - one shape for all
        lambda random: ("lost", _small(random), _flag(random), random.random() < 0.2): 8,
        lambda random: ("adopt", _small(random), _shift(random)): 6,
        lambda random: ("limit", random.choice(LIMITED), random.choice(MAXIMA)): 2,
        lambda random: ("plan", _small(random), random.randint(1, 2)): 2,
        lambda random: ("adopt_again", _small(random)): 2,
        lambda random: ("cancel", _small(random), random.choice(("early", "late", "owned", "owned"))): 6,
        lambda random: ("delivered", _small(random), random.randint(1, 3)): 3,
        lambda random: ("reopen",): 1,  # noqa: ARG005 - as above
    }
)
CRASHES: Final = 0.2  # of the acts that write more than one row
STATEMENTS_MAX: Final = 30
_CAN_CRASH: Final = frozenset({"claim", "owner", "lost", "adopt", "cancel", "submit", "steer"})
_OVERSLEEPS: Final = 0.15
_NEEDS_A_SHIFT: Final = {"claim": 1, "adopt": 2}


def choose(random: Random, *, lives: Callable[[str], bool]) -> list[tuple[Act, Dies]]:
    """Return acts in their order, each with where it dies.

    Who claims or adopts begins a shift first where its own is over, unless it overslept.
    """
    act = random.choices(list(WEIGHTS), weights=list(WEIGHTS.values()))[0](random)
    acts: list[tuple[Act, Dies]] = []
    place = _NEEDS_A_SHIFT.get(act[0])
    if place is not None and not lives(act[place]) and random.random() > _OVERSLEEPS:
        acts.append((("begin", act[place]), "nowhere"))
    dies: Dies = "nowhere"
    if act[0] in _CAN_CRASH and random.random() < CRASHES:
        dies = random.choice((random.randint(0, STATEMENTS_MAX), "after a commit"))
    return [*acts, (act, dies)]
