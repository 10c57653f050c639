"""Writes a table to start from: good as it is, small enough to be read at once, and never over anything."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from teamster.intake import SCHEMA_FILE
from teamster.model import UsageError, WorldError

STARTER: Final = Path(__file__).with_name("starter")
TABLE: Final = "table.yaml"
FILES: Final = (TABLE, "prompts/look.md")
SCHEMA_MARK: Final = "SCHEMA_FILE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Initialised:
    """What was made, and the schema that an editor completes it with."""

    folder: Path
    files: tuple[str, ...]
    schema: Path


def init(folder: Path) -> Initialised:
    """Write a table and its prompt into a folder, which is made where it isn't there; all of it or nothing.

    Raises:
        UsageError: something lies there already.
        WorldError: the disk failed.
    """
    taken = [name for name in FILES if _is_taken(folder / name)]
    if taken:
        fact = f"{folder} has {' and '.join(taken)} already, and nothing is written over"
        raise UsageError(fact, hint="name another folder: teamster init DIR")
    made: list[Path] = []
    try:
        for name in FILES:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                made.append(path)
                file.write((STARTER / name).read_text(encoding="utf-8").replace(SCHEMA_MARK, str(SCHEMA_FILE)))
    except (OSError, ValueError) as error:
        for path in made:
            with suppress(OSError):
                path.unlink()
        raise _refusal(folder, error) from error
    return Initialised(folder=folder, files=FILES, schema=SCHEMA_FILE)


def _is_taken(path: Path) -> bool:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        raise _refusal(path, error) from error
    return True


def _refusal(path: Path, error: Exception) -> UsageError | WorldError:
    match error:
        case FileExistsError() | NotADirectoryError():
            return UsageError(f"{path} can't be a folder: a file lies there", hint="name another one")
        case OSError():
            reason = (error.strerror or str(error)).lower()
            return WorldError(f"{path} can't be written: {reason}", hint="name a folder that you may write")
        case _:
            return UsageError(f"{str(path)!r:.200} is no path", hint="name a folder")
