"""Shell commands that change files: plain to read in an agent's log, and exact."""

from __future__ import annotations

import shlex
from pathlib import PurePosixPath

from teamster.rehearsal.diffs import recounted


def writing(path: str, content: str) -> str:
    """Write the command that makes a file."""
    folder = str(PurePosixPath(path).parent)
    begin = "" if folder == "." else f"mkdir -p -- {shlex.quote(folder)} && "
    return f"{begin}printf %s {shlex.quote(content)} > {shlex.quote(f'./{path}')}"


def patching(diff: str) -> str:
    """Write the command that applies a diff. A repository further up must not make its paths mean something else."""
    apply = 'GIT_CEILING_DIRECTORIES="$(dirname "$PWD")" git apply --whitespace=nowarn -'
    return f"printf %s {shlex.quote(recounted(diff))} | {apply}"
