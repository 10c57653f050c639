"""The command line as a real process, watched from outside while it works."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
TEAMSTER = (sys.executable, "-m", "teamster")
PLAY_SECONDS_MAX = 300.0
LOOK_SECONDS = 0.05
TERMINAL = frozenset({"succeeded", "failed", "canceled", "needs_attention"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a watcher saw of one attempt: its statuses in order, its event log, and its files when it had ended.

    `appended` says that the log only ever grew at its end.
    """

    statuses: tuple[str, ...] = ()
    log: str = ""
    appended: bool = True
    files: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """A command that ended, the root it worked on, and what was seen of each attempt meanwhile, by its path."""

    root: Path
    exit_code: int
    output: str
    seen: dict[str, Seen]

    def to_json(self) -> str:
        """Write it, for another process of the tests."""
        return json.dumps({**asdict(self), "root": str(self.root)})

    @classmethod
    def from_json(cls, text: str) -> Played:
        """Read what `to_json` wrote."""
        value = json.loads(text)
        seen = {
            name: Seen(
                statuses=tuple(one["statuses"]),
                log=one["log"],
                appended=one["appended"],
                files=tuple((path, digest) for path, digest in one["files"]),
            )
            for name, one in value["seen"].items()
        }
        return cls(root=Path(value["root"]), exit_code=value["exit_code"], output=value["output"], seen=seen)


def environment(home: Path) -> dict[str, str]:
    """Return as little of an environment as a newcomer has: a home that isn't there yet, and no key."""
    return {"HOME": str(home), "PATH": os.environ["PATH"]}


def teamster(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run one command to its end."""
    return subprocess.run(
        [*TEAMSTER, *map(str, arguments)],
        cwd=cwd,
        env=environment(cwd / "home"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PLAY_SECONDS_MAX,
        check=False,
    )


def play(argv: Sequence[str | Path], *, cwd: Path, root: Path) -> Played:
    """Run a command to its end, and look at the attempts under a root all the while, as any reader might."""
    seen: dict[str, Seen] = {}
    with (cwd / "output.txt").open("wb+") as output:
        process = subprocess.Popen(
            list(map(str, argv)),
            cwd=cwd,
            env=environment(cwd / "home"),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        _watch(process, root, seen)
        output.seek(0)
        text = output.read().decode()
    return Played(root=root, exit_code=process.returncode, output=text, seen=seen)


def files_of(folder: Path) -> tuple[tuple[str, str], ...]:
    """Return the files of a folder, each with its digest."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()]
    return tuple((str(path.relative_to(folder)), hashlib.sha256(path.read_bytes()).hexdigest()) for path in paths)


def _watch(process: subprocess.Popen[bytes], root: Path, seen: dict[str, Seen]) -> None:
    ends_at = time.monotonic() + PLAY_SECONDS_MAX
    while _is_running(process):
        if time.monotonic() > ends_at:
            process.kill()
            process.wait()
            raise AssertionError(f"not done after {PLAY_SECONDS_MAX:g} s")
        _look(root, seen)
    _look(root, seen)


def _is_running(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(timeout=LOOK_SECONDS)
    except subprocess.TimeoutExpired:
        return True
    return False


def _look(root: Path, seen: dict[str, Seen]) -> None:
    for state in root.glob("runs/*/*/steps/*/attempts/*/state.json"):
        name = str(state.parent.relative_to(root))
        before = seen.get(name, Seen())
        status, log = str(json.loads(state.read_bytes())["status"]), _text(state.with_name("codex.events.jsonl"))
        is_news = before.statuses[-1:] != (status,)
        seen[name] = Seen(
            statuses=(*before.statuses, status) if is_news else before.statuses,
            log=log,
            appended=before.appended and log.startswith(before.log),
            files=files_of(state.parent) if is_news and status in TERMINAL else before.files,
        )


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""
