"""Which root a command works on, and how that was found out."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from teamster.artifacts import ROOT_RECORD
from teamster.model import UsageError
from teamster.operations.paths import straight

MARKER: Final = "teamster.toml"
VARIABLE: Final = "TEAMSTER_ROOT"
FOLDER_BESIDE_MARKER: Final = ".teamster-root"
REHEARSAL_SUFFIX: Final = ".rehearsal"


@dataclass(frozen=True, slots=True, kw_only=True)
class RootChoice:
    """The place of a root, and the reason in a few words."""

    path: Path
    why: str

    @property
    def rehearses(self) -> Path | None:
        """The root beside which this one is a rehearsal's, if it is one."""
        name = self.path.name.removesuffix(REHEARSAL_SUFFIX)
        return None if name in {"", self.path.name} else self.path.with_name(name)

    def for_rehearsal(self) -> RootChoice:
        """Return the root beside this one in which its tables are rehearsed; a rehearsal's own stays."""
        if self.rehearses is not None:
            return self
        return replace(self, path=self.path.with_name(self.path.name + REHEARSAL_SUFFIX), why=f"rehearsal; {self.why}")

    @property
    def option(self) -> str:
        """What another command must add to find this root; nothing where it finds it by itself."""
        is_found = self.why != "--root" and self.rehearses is None
        return "" if is_found else f" --root {shlex.quote(str(self.path))}"


def choose_root(option: Path | None, *, env: Mapping[str, str], cwd: Path) -> RootChoice:
    """Choose the root: the flag, the variable, the nearest `teamster.toml` upwards, the user's state folder.

    Raises:
        UsageError: there is no home folder to fall back on.
    """
    if option is not None:
        return RootChoice(path=straight(cwd / option.expanduser()), why="--root")
    if env.get(VARIABLE):
        return RootChoice(path=straight(cwd / Path(env[VARIABLE]).expanduser()), why=VARIABLE)
    for folder in (cwd, *cwd.parents):
        if (folder / MARKER).is_file():
            return RootChoice(path=folder / FOLDER_BESIDE_MARKER, why=f"beside {folder / MARKER}")
    if env.get("XDG_STATE_HOME"):
        return RootChoice(path=Path(env["XDG_STATE_HOME"]) / "teamster", why="XDG_STATE_HOME")
    if env.get("HOME"):
        return RootChoice(path=Path(env["HOME"], ".local", "state", "teamster"), why="the user's state folder")
    raise UsageError("no root: neither XDG_STATE_HOME nor HOME is set", hint=f"name one with --root or {VARIABLE}")


def require_root(choice: RootChoice) -> None:
    """Refuse to look into a root where nothing has ever run; looking must not make one.

    Raises:
        UsageError: there is none.
    """
    if (choice.path / ROOT_RECORD).is_file():
        return
    hint = "run a table first: teamster run TABLE; or name another root with --root"
    rehearsal = choice.for_rehearsal()
    if rehearsal.path != choice.path and (rehearsal.path / ROOT_RECORD).is_file():
        hint = f"a rehearsal lies beside it, add{rehearsal.option}; or run a table: teamster run TABLE"
    raise UsageError(f"nothing has run under {choice.path} yet ({choice.why})", hint=hint)
