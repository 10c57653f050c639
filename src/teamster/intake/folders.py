"""Working directories, and the files that a table names: found, checked, each read once."""

from __future__ import annotations

import difflib
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from teamster.intake.fields import Fields, text_fact
from teamster.intake.files import Unreadable, as_text, read_within
from teamster.intake.limits import Limits
from teamster.intake.parsed import FieldPath, Hint, Problems

# What Teamster keeps below its root; an agent that works in there would rewrite its own records.
KEPT_FOLDERS = ("runs", "runners", "incoming", "db")
NAMES_MAX = 1000


@dataclass(frozen=True, slots=True)
class _Found:
    """What became of a name: a path, or why there is none."""

    path: Path | None = None
    fact: str = ""
    hint: Hint = ""


@dataclass(slots=True, kw_only=True)
class Folders:
    """Where names in a table lead. A name that was looked up once is not looked up again."""

    table_folder: Path
    root: Path | None
    limits: Limits
    problems: Problems
    working_root: Path | None = None
    _folders: dict[tuple[Path, str], _Found] = field(default_factory=dict)
    _texts: dict[tuple[Path, ...], str | Unreadable] = field(default_factory=dict)

    def set_working_root(self, fields: Fields) -> None:
        """Read `working_root`: absolute, or relative to the table's folder, which it is by default."""
        text = fields.word("working_root", characters_max=self.limits.text_characters_max)
        if text is not None:
            self.working_root = self.folder(text, fields.at("working_root"), base=self.table_folder)
        elif not fields.has("working_root"):
            self.working_root = self.table_folder

    def of_job(self, fields: Fields) -> Path | None:
        """Read a job's `working_directory`: absolute, or relative to `working_root`, which it is by default."""
        text = fields.word("working_directory", characters_max=self.limits.text_characters_max)
        if self.working_root is None or (text is None and fields.has("working_directory")):
            return None  # noted already
        return self.folder(text or ".", fields.at("working_directory"), base=self.working_root)

    def folder(self, text: str, path: FieldPath, *, base: Path) -> Path | None:
        """Return a folder that exists and is not one of Teamster's own."""
        found = self._folders.get((base, text))
        if found is None:
            found = self._folders[base, text] = self._find(base, text)
        if found.path is None:
            self.problems.add(path, found.fact, found.hint)
        return found.path

    def text(self, ref: str, path: FieldPath, *, job_folder: Path | None, bytes_max: int) -> str | None:
        """Read a file that a table names: relative to the job's directory, else to the table's folder."""
        bases = [folder for folder in (job_folder, self.table_folder) if folder is not None]
        candidates = [Path(os.path.realpath(base / ref)) for base in bases if os.path.lexists(base / ref)]
        if not candidates:
            looked = " or ".join(str(base) for base in dict.fromkeys(bases))
            hint = partial(_nearest_name, [base / ref for base in bases])
            self.problems.add(path, f"there is no file {ref!r} in {looked}", hint)
            return None
        found = self._text(candidates[0], job_folder, bytes_max=bytes_max)
        if isinstance(found, str):
            return found
        self.problems.add(path, str(found), "name a UTF-8 file below the job's directory or the table's folder")
        return None

    def _text(self, path: Path, job_folder: Path | None, *, bytes_max: int) -> str | Unreadable:
        allowed = (job_folder, self.working_root, self.table_folder)
        folders = tuple(dict.fromkeys(folder for folder in allowed if folder is not None))
        key = (path, *folders)
        if key not in self._texts:
            try:
                text = as_text(read_within(path, folders, bytes_max=bytes_max), path)
            except Unreadable as error:
                return error
            self._texts[key] = Unreadable(f"{path} holds a NUL character") if "\0" in text else text
        return self._texts[key]

    def _find(self, base: Path, text: str) -> _Found:
        path = Path(os.path.realpath(base / text))
        mode = _mode(path)
        if mode is None or not stat.S_ISDIR(mode):
            what = "not there" if mode is None else "no folder"
            hint: Hint = partial(_nearest_name, [base / text])
            if text.startswith("~"):
                hint = "write the path out: `~` is not expanded"
            return _Found(fact=f"{path} is {what}", hint=hint)
        unwritable = text_fact(str(path), characters_max=self.limits.text_characters_max)
        if unwritable is not None:
            return _Found(fact=f"the path {path} can't be kept: {unwritable}")
        if self.root is not None:
            root = Path(os.path.realpath(self.root))
            own = next((name for name in KEPT_FOLDERS if path.is_relative_to(root / name)), None)
            if own is not None:
                return _Found(fact=f"{path} lies within {root / own}, where Teamster keeps its records")
        return _Found(path=path)


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except OSError:
        return None


def _nearest_name(paths: Sequence[Path]) -> str:
    """Return a hint at the name in the same folder that a person probably meant."""
    for path in paths:
        try:
            with os.scandir(path.parent) as entries:
                names = [entry.name for entry, _ in zip(entries, range(NAMES_MAX), strict=False)]
        except OSError:
            continue
        for match in difflib.get_close_matches(path.name, names, n=1):
            return f"did you mean `{match}`?"
    return ""
