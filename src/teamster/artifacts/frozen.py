"""The end of an attempt's directory: no file may be written any more, and a manifest says what each holds."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from teamster.artifacts.documents import manifest, manifest_entry
from teamster.artifacts.homes import remove_links
from teamster.artifacts.layout import CODEX_HOME, AttemptFile, attempt_file, draft
from teamster.artifacts.root import Root, is_being_written, is_temporary
from teamster.artifacts.walking import Kind, walk
from teamster.kit import OutsideRoot, document, open_beneath
from teamster.model import FileDraft, RunId, WorldError

FROZEN_MODE: Final = 0o444
SESSION_MODE: Final = 0o400  # may hold what an agent was told in confidence: never served, readable by its owner alone


def freeze_attempt(root: Root, directory: str) -> None:
    """Take the right to write away from each file of an attempt: 0444, in its session store 0400.

    What a death between write and rename left there is removed. Folders stay writable, links are left alone. Call it
    when the manifest is there, and again when it is delivered again: what was frozen already costs one look at each
    file.

    Raises:
        WorldError: a mode can't be changed.
    """
    place = root.at(directory)
    try:
        for entry in walk(place):
            if entry.kind is not Kind.FILE:
                continue
            if not _is_ours(entry.name):
                in_home = entry.name.startswith(f"{CODEX_HOME}/")
                _close_for_writing(f"{place}/{entry.name}", SESSION_MODE if in_home else FROZEN_MODE)
            elif not is_being_written(entry.name):
                (place / entry.name).unlink(missing_ok=True)
    except OSError as error:
        raise WorldError(f"{directory} can't be frozen: {error}") from error


def inventory(
    root: Root,
    directory: str,
    promised: Mapping[str, bytes] | Iterable[FileDraft] = (),
    *,
    known: Mapping[str, tuple[str, int]] | None = None,
    but: frozenset[str] = frozenset(),
) -> dict[str, tuple[str, int]]:
    """List an ended attempt's files for its manifest: name to digest and size, the manifest itself left out.

    `promised` are files that the finishing commit brings, by path relative to the root: they count instead of what
    lies under their names. `known` are digests that the caller has made already: those files are not read again.
    `but` are names that the caller will list itself.

    Raises:
        WorldError: a file can't be read.
    """
    drafts = promised if isinstance(promised, Mapping) else {file.path: file.content for file in promised}
    prefix = f"{directory}/"
    found = {
        path.removeprefix(prefix): manifest_entry(content)
        for path, content in drafts.items()
        if path.startswith(prefix)
    }
    found = {**(known or {}), **found}
    place = root.at(directory)
    for entry in walk(place):
        if entry.kind is not Kind.FILE or entry.name in found or entry.name in but or _is_ours(entry.name):
            continue
        try:
            found[entry.name] = _measure(root.path, prefix + entry.name)
        except (OSError, OutsideRoot) as error:
            raise WorldError(f"{prefix}{entry.name} can't be read: {error}") from error
    found.pop(AttemptFile.MANIFEST.value, None)
    return {writable_name(name): found[name] for name in sorted(found)}


def made_whole(root: Root, directory: str, content: bytes, promised: Mapping[str, bytes]) -> bytes:
    """Return a manifest with all that lies in its directory, where another host promised it and could not look.

    Links to a user's own files go first, as at each end. Made again it is the same.

    Raises:
        WorldError: a file can't be read.
    """
    value = json.loads(content)
    if not value.get("partial"):
        return content
    remove_links(root.at(f"{directory}/{CODEX_HOME}"))
    listed = {name: (entry["sha256"], entry["bytes"]) for name, entry in value["files"].items()}
    found = inventory(root, directory, promised, but=frozenset(listed))
    return document(manifest(value["run_id"], {**found, **listed}))


def manifest_draft(
    root: Root,
    directory: str,
    run_id: RunId,
    drafts: Iterable[FileDraft],
    *,
    known: Mapping[str, tuple[str, int]] | None = None,
) -> FileDraft:
    """Draft the manifest of an attempt from what lies in its directory and what its last commit brings.

    Raises:
        WorldError: a file can't be read.
    """
    files = inventory(root, directory, drafts, known=known)
    return draft(attempt_file(directory, AttemptFile.MANIFEST), document(manifest(run_id, files)))


def writable_name(name: str) -> str:
    """Write a name that is no UTF-8 so that JSON can hold it."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _is_ours(name: str) -> bool:
    """Tell whether a file is one of ours between write and rename; an agent's own are never taken for that."""
    return not name.startswith(f"{CODEX_HOME}/") and is_temporary(name)


def _close_for_writing(path: str, mode: int) -> None:
    """Change a mode without opening the file: an agent may have left one that even its owner can't read."""
    with contextlib.suppress(FileNotFoundError):
        if stat.S_IMODE(os.lstat(path).st_mode) == mode:
            return  # as most are: they were delivered so
        descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if stat.S_IMODE(os.fstat(descriptor).st_mode) != mode:
                Path(f"/proc/self/fd/{descriptor}").chmod(mode)
        finally:
            os.close(descriptor)


def _measure(base: Path, relative: str) -> tuple[str, int]:
    with os.fdopen(open_beneath(base, relative), "rb") as file:
        digested = hashlib.file_digest(file, "sha256")
        return digested.hexdigest(), file.tell()
