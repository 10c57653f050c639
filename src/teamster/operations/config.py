"""The operator's own configuration: which file it is, and what it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from teamster.model import UsageError
from teamster.operations.paths import straight
from teamster.settings import FILE_BYTES_MAX, ConfigText, Origin, layers

VARIABLE: Final = "TEAMSTER_CONFIG"
NAME: Final = Path("teamster", "teamster.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """What holds, who said so, and the file that was looked for; `is_there` tells whether there is one."""

    path: Path | None
    is_there: bool
    origins: Mapping[str, Origin]


def find_config(*, env: Mapping[str, str], cwd: Path) -> Path | None:
    """Say where the operator's file is, or would be.

    It is never looked for in a project: who clones a repository must not be told by it which programs to run, nor
    what agents may touch.
    """
    if named := env.get(VARIABLE):
        return straight(cwd / Path(named).expanduser())
    if base := env.get("XDG_CONFIG_HOME"):
        return Path(base) / NAME
    return Path(env["HOME"], ".config") / NAME if env.get("HOME") else None


def read_config(*, env: Mapping[str, str], cwd: Path) -> ConfigText | None:
    """Read the operator's file; None where there is none, and none was named.

    Raises:
        UsageError: the one that was named isn't there, or it can't be read.
    """
    path = find_config(env=env, cwd=cwd)
    if path is None or (not env.get(VARIABLE) and not path.exists()):
        return None
    try:
        with path.open("rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise UsageError(
            f"the configuration {path} can't be read: {(error.strerror or str(error)).lower()}",
            hint=f"look at the file, or at {VARIABLE}",
        ) from error
    if len(content) > FILE_BYTES_MAX:
        raise UsageError(f"the configuration {path} has more than {FILE_BYTES_MAX} bytes", hint="is it another file?")
    return ConfigText(path=str(path), content=content)


def configuration(*, env: Mapping[str, str], cwd: Path, flags: Mapping[str, Any]) -> Configuration:
    """Return what holds for each option.

    Raises:
        ConfigProblems: the file can't be taken; every problem is listed.
        UsageError: it can't be read, or a variable or a flag has no usable value.
    """
    file = read_config(env=env, cwd=cwd)
    return Configuration(
        path=find_config(env=env, cwd=cwd), is_there=file is not None, origins=layers(env, file=file, flags=flags)
    )
