"""JSON from outside, read exactly: what does not mean the same to every program is told, each with its path."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

INTEGER_MAX: Final = 2**53 - 1  # beyond it, programs that count in doubles read another number
FAULTS_MAX: Final = 50
NUMBER_CHARACTERS_SHOWN_MAX: Final = 40
KEY_CHARACTERS_SHOWN_MAX: Final = 80
ROOT_PATH: Final = "$"
_PLAIN_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing wrong with a JSON value: where, what, and the way out."""

    path: str
    fact: str
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonLimits:
    """How much one document may hold."""

    bytes_max: int = 16 * 1024 * 1024
    depth_max: int = 64
    values_max: int = 500_000


JSON_LIMITS: Final = JsonLimits()


class _Twins(dict[str, Any]):
    """An object in which keys stand more than once; where it lies is known only after the parse."""

    repeated: tuple[str, ...] = ()


class _BadNumber(str):
    """A number that JSON does not have, or that no two programs agree on."""

    __slots__ = ()


def below(path: str, name: str | int) -> str:
    """Return the path of a member: `$.lease.expires_at`, `$.events[2]`, `$["a key"]`."""
    if isinstance(name, int):
        return f"{path}[{name}]"
    if _PLAIN_KEY.fullmatch(name) and len(name) <= KEY_CHARACTERS_SHOWN_MAX:
        return f"{path}.{name}"
    return f"{path}[{json.dumps(name[:KEY_CHARACTERS_SHOWN_MAX])}]"


def parse_exactly(content: str | bytes, *, limits: JsonLimits = JSON_LIMITS) -> tuple[Any, tuple[Fault, ...]]:
    """Parse a document. The value means something only where there is no fault; nothing is raised, whatever comes."""
    if len(content) > limits.bytes_max:
        return None, (Fault(path=ROOT_PATH, fact=f"it has more than {limits.bytes_max} bytes", hint="leave some out"),)
    try:
        text = content if isinstance(content, str) else content.decode("utf-8")
        value = json.loads(
            text, object_pairs_hook=_object, parse_int=_integer, parse_float=_real, parse_constant=_BadNumber
        )
    except UnicodeDecodeError as error:
        return None, (Fault(path=ROOT_PATH, fact=f"byte {error.start} is no UTF-8", hint="write it in UTF-8"),)
    except json.JSONDecodeError as error:
        fact = f"it is not JSON: {error.msg} (line {error.lineno}, column {error.colno})"
        return None, (Fault(path=ROOT_PATH, fact=fact, hint="check commas, quotes and brackets there"),)
    except RecursionError:
        return None, (_too_deep(ROOT_PATH, limits),)
    return value, exact_faults(value, limits=limits)


def exact_faults(value: Any, *, limits: JsonLimits = JSON_LIMITS) -> tuple[Fault, ...]:
    """Tell what in a value every program would not read alike: at most `FAULTS_MAX`, in the order of the text."""
    found: list[Fault] = []
    for fault in _walk(value, limits):
        found.append(fault)
        if len(found) == FAULTS_MAX:
            break
    return tuple(found)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) == len(pairs):
        return value
    twins = _Twins(value)
    times = Counter(name for name, _ in pairs)
    twins.repeated = tuple(name for name, count in times.items() if count > 1)
    return twins


def _integer(text: str) -> int | _BadNumber:
    # Counted before it is read: a text of many digits would cost more than the rest.
    number = int(text) if len(text.lstrip("-")) <= len(str(INTEGER_MAX)) else INTEGER_MAX + 1
    return number if abs(number) <= INTEGER_MAX else _BadNumber(text)


def _real(text: str) -> float | _BadNumber:
    number = float(text)
    return number if math.isfinite(number) else _BadNumber(text)


def _walk(root: Any, limits: JsonLimits) -> Iterator[Fault]:
    """Visit all values once, without recursion."""
    waiting: list[tuple[str, int, Any]] = [(ROOT_PATH, 0, root)]
    count = 0
    while waiting:
        path, depth, value = waiting.pop()
        count += 1
        if count > limits.values_max:
            yield Fault(path=ROOT_PATH, fact=f"it has more than {limits.values_max} values", hint="leave some out")
            return
        if depth > limits.depth_max:
            yield _too_deep(path, limits)
        elif isinstance(value, dict):
            yield from _key_faults(value, path)
            members = [(below(path, name), depth + 1, child) for name, child in value.items() if isinstance(name, str)]
            waiting.extend(reversed(members))
        elif isinstance(value, list):
            waiting.extend((below(path, index), depth + 1, value[index]) for index in reversed(range(len(value))))
        elif (fault := _scalar_fault(value, path)) is not None:
            yield fault


def _key_faults(value: dict[Any, Any], path: str) -> Iterator[Fault]:
    for name in value.repeated if isinstance(value, _Twins) else ():
        yield Fault(path=below(path, name), fact="the key stands more than once", hint="keep one of them")
    for name in value:
        if not isinstance(name, str):
            yield Fault(path=path, fact=f"a key is {type(name).__name__}, not text", hint="keys of JSON are text")
        elif not _is_unicode(name):
            yield Fault(
                path=below(path, name), fact="the key holds half a surrogate pair", hint="write whole characters"
            )


def _scalar_fault(value: Any, path: str) -> Fault | None:
    match value:
        case _BadNumber():
            shown = value[:NUMBER_CHARACTERS_SHOWN_MAX]
            return Fault(path=path, fact=f"{shown} is no number that is read alike everywhere", hint="write it as text")
        case str():
            if _is_unicode(value):
                return None
            return Fault(path=path, fact="the text holds half a surrogate pair", hint="write whole characters")
        case None | bool():
            return None
        case int() if abs(value) <= INTEGER_MAX:
            return None
        case float() if math.isfinite(value):
            return None
        case int() | float():
            return Fault(path=path, fact="it is no number that is read alike everywhere", hint="write it as text")
        case _:
            return Fault(path=path, fact=f"{type(value).__name__} is no kind of JSON value", hint="write it as text")


def _is_unicode(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def _too_deep(path: str, limits: JsonLimits) -> Fault:
    return Fault(path=path, fact=f"it is nested deeper than {limits.depth_max} levels", hint="flatten it")
