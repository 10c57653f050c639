"""Where each setting comes from: the default, the file, the environment, a flag; the nearer word counts."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any, Final

from teamster.model import ConfigProblems, Problem, UsageError
from teamster.settings.options import BY_NAME, OPTIONS, Option
from teamster.settings.settings import Settings

DEFAULT: Final = "default"
FILE_BYTES_MAX: Final = 1 << 20
VALUE_CHARACTERS_MAX: Final = 80
_PLACE: Final = re.compile(r"\(at line (\d+), column (\d+)\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigText:
    """A configuration file as it was read."""

    path: str
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """A value and who said so: `default`, `FILE:LINE`, a variable, a flag."""

    value: Any
    source: str


def layers(
    env: Mapping[str, str], *, file: ConfigText | None = None, flags: Mapping[str, Any] | None = None
) -> Mapping[str, Origin]:
    """Return what holds for each option. A variable that is empty, and a flag that is None, count as unset.

    Raises:
        ConfigProblems: the file can't be taken; every problem is listed.
        UsageError: a variable or a flag has no usable value.
    """
    usual = Settings()
    found = {option.name: Origin(value=getattr(usual, option.name), source=DEFAULT) for option in OPTIONS}
    found |= {} if file is None else _from_file(file)
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    for option in OPTIONS:
        if option.name in given:
            found[option.name] = _from_flag(option, given[option.name])
        elif text := env.get(option.variable):
            found[option.name] = _from_variable(option, text)
    return found


def config_problems(file: ConfigText) -> tuple[Problem, ...]:
    """List everything that is wrong with a file."""
    try:
        value = tomllib.loads(file.content.decode())
    except UnicodeDecodeError as error:
        return (Problem(place=file.path, field="-", fact=f"it is not UTF-8: {error}"),)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        place = _PLACE.search(str(error))
        where = file.path if place is None else f"{file.path}:{place[1]}:{place[2]}"
        return (Problem(place=where, field="-", fact=f"it is not TOML: {_PLACE.sub('', str(error)).strip()}"),)
    return tuple(_problems(file, value))


def _from_file(file: ConfigText) -> dict[str, Origin]:
    if problems := config_problems(file):
        raise ConfigProblems(file.path, problems)
    value = tomllib.loads(file.content.decode())
    return {name: Origin(value=BY_NAME[name].taken(given), source=_place(file, name)) for name, given in value.items()}


def _problems(file: ConfigText, value: Mapping[str, Any]) -> Iterator[Problem]:
    for name, given in value.items():
        place = _place(file, name)
        option = BY_NAME.get(name)
        if option is None:
            near = get_close_matches(name, BY_NAME, n=1)
            hint = f"did you mean `{near[0]}`?" if near else "teamster config show lists what can be set"
            yield Problem(place=place, field=name, fact="nothing of that name can be set", hint=hint)
        elif fault := option.fault(given):
            yield Problem(place=place, field=name, fact=f"{_shown(given)} {fault}", hint=f"give it {option.range}")


def _from_variable(option: Option, text: str) -> Origin:
    value = option.from_text(text)
    if fault := option.fault(value):
        raise UsageError(
            f"{option.variable} is {_shown(text)}, which {fault}", hint=f"unset it, or give it {option.range}"
        )
    return Origin(value=option.taken(value), source=option.variable)


def _from_flag(option: Option, value: Any) -> Origin:
    flag = f"--{option.name.replace('_', '-')}"
    if fault := option.fault(value):
        raise UsageError(f"{flag} is {_shown(value)}, which {fault}", hint=f"choose {option.range}")
    return Origin(value=option.taken(value), source=flag)


def _place(file: ConfigText, name: str) -> str:
    """Find the line of a key; one that stands in an unusual way is found in its file, at least."""
    written = re.compile(rf"""^\s*["']?{re.escape(name)}["']?\s*[.=]|^\s*\[+\s*["']?{re.escape(name)}\b""")
    for number, line in enumerate(file.content.decode("utf-8", "replace").splitlines(), 1):
        if written.match(line):
            return f"{file.path}:{number}"
    return file.path


def _shown(value: Any) -> str:
    return f"{value!r:.{VALUE_CHARACTERS_MAX}}"


_KNOWN: Final = {each.name for each in fields(Settings)}
assert set(BY_NAME) <= _KNOWN, "every option is a setting"
