"""What the harness adds to a real Codex turn: wall time and processor time of a step beside the bare `codex exec`.

Codex takes its turns on the scripted model, 4 at a time: called by `xargs` with the very arguments, homes and input of
an attempt, then as steps that come to a `teamster up` that has nothing to do; by turns, in several rounds. Once in a
folder without git, once in a repository, where the harness looks at the state of the work before and after. Processor
time is that of all processes of either side, by the kernel's account of a group, which only root can make; the model is
in neither.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # this program is run by its path

from bench.parts.figures import Figure, publish, read_options
from codex_cli_bin import bundled_codex_path

from teamster.agents import CodexAgent, Request
from teamster.kit import from_iso
from teamster.model import RUN_REPORT_SCHEMA
from teamster.process import spawn_daemon
from teamster.rehearsal import Model, start_model, stop_model

TURNS: Final = 20  # in each round, on each side
ROUNDS_FULL: Final = 5
TURNS_QUICK: Final = 6
ROUNDS_QUICK: Final = 2
WARM_TURNS: Final = 4
CONCURRENCY: Final = 4
SECONDS_MAX: Final = 900.0
LOOK_SECONDS: Final = 0.2
MODEL_IDLE_SECONDS_MAX: Final = 900.0
TARGET: Final = 0.87  # at most 1.15 times as much
ACCOUNTS: Final = Path("/sys/fs/cgroup/cpuacct")
TEAMSTER: Final = Path(sys.executable).with_name("teamster")
KEY: Final = "key-that-opens-nothing"
PROMPT: Final = "Say that all is well."
GOAL: Final = " ".join(
    ["Measure what the harness adds to a turn of a real agent: each step takes one turn on a scripted model."] * 10
)
PROVIDER: Final = """
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "{url}"
wire_api = "responses"
env_key = "CODEX_API_KEY"
"""


class RunFailed(Exception):
    """A turn was not taken, so there is nothing to measure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What so many turns took, per turn. Without an account of the kernel nobody knows the processor time."""

    wall_seconds: float
    cpu_seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a user works: a home, a working directory, a model."""

    folder: Path
    work: Path
    model: Model

    @property
    def env(self) -> dict[str, str]:
        """Return the user's environment."""
        env = {"HOME": str(self.folder), "PATH": os.environ["PATH"], "CODEX_API_KEY": KEY}
        return dict(self.model.agent_env(env))


class Account:
    """The kernel's account of the processor time of a process and all that it starts."""

    def __init__(self, name: str) -> None:
        self._folder = ACCOUNTS / f"bench-{os.getpid()}-{name}"
        try:
            self._folder.mkdir()
        except OSError:
            print("bench/agents.py: no processor time: that takes root and control groups", file=sys.stderr)
            self._folder = Path(os.devnull)

    @property
    def seconds(self) -> float | None:
        """What was used so far."""
        usage = self._folder / "cpuacct.usage"
        return int(usage.read_text()) / 1e9 if self._folder.is_dir() else None

    def enter(self, argv: Sequence[str | Path]) -> list[str]:
        """Return what runs a program on this account."""
        line = shlex.join(map(str, argv))
        enter = f"echo $$ >{self._folder}/cgroup.procs; " if self._folder.is_dir() else ""
        return ["sh", "-c", f"{enter}exec {line}"]

    def close(self) -> None:
        """Give the account back, once nobody is on it any more."""
        with contextlib.suppress(OSError):
            self._folder.rmdir()

    def since(self, before: float | None, *, turns: int) -> float | None:
        """Return what each turn used since then."""
        now = self.seconds
        return None if now is None or before is None else (now - before) / turns


def mean(costs: Sequence[Cost]) -> Cost:
    """Return what a turn took over all rounds."""
    cpu = [cost.cpu_seconds for cost in costs if cost.cpu_seconds is not None]
    return Cost(
        wall_seconds=sum(cost.wall_seconds for cost in costs) / len(costs),
        cpu_seconds=sum(cpu) / len(costs) if len(cpu) == len(costs) else None,
    )


def figures(name: str, *, bare: Cost, ours: Cost) -> Iterator[Figure]:
    """Set both sides beside each other: turns for each second of wall or processor time."""
    rate, floor = 1 / ours.wall_seconds, 1 / bare.wall_seconds
    yield Figure(name=f"{name}_wall", value=rate, unit="turns/s", floor=floor, target=TARGET)
    if bare.cpu_seconds is not None and ours.cpu_seconds is not None:
        rate, floor = 1 / ours.cpu_seconds, 1 / bare.cpu_seconds
        yield Figure(name=f"{name}_cpu", value=rate, unit="turns/s", floor=floor, target=TARGET)


def measure_bare(place: Place, *, turns: int, name: str) -> Cost:
    """Let `xargs` call Codex with what an attempt gives it, each time in a home of its own."""
    folder = place.folder / name
    scripts = [_turn(folder / f"turn-{number}", place) for number in range(turns)]
    account = Account(name)
    argv = account.enter(["xargs", "-P", str(CONCURRENCY), "-n", "1", "sh"])
    before, began = account.seconds, time.monotonic()
    done = subprocess.run(
        argv, input="\n".join(map(str, scripts)).encode(), capture_output=True, timeout=SECONDS_MAX, check=False
    )
    seconds = time.monotonic() - began
    used = account.since(before, turns=turns)
    account.close()
    if done.returncode != 0 or len(list(folder.glob("turn-*/last_message.txt"))) != turns:
        raise RunFailed(f"xargs ended with {done.returncode}: {done.stderr.decode()[-500:]}")
    return Cost(wall_seconds=seconds / turns, cpu_seconds=used)


def _turn(folder: Path, place: Place) -> Path:
    """Lay out what an attempt is given, and return a script that takes its turn."""
    home, scratch = folder / "home", folder / "scratch"
    plan = CodexAgent(str(bundled_codex_path())).plan(
        Request(
            prompt=PROMPT,
            working_directory=place.work,
            home=home,
            scratch=scratch,
            staging=folder,
            run_id="run",
            job_id="job",
            step_id="step",
            attempt=1,
            schema=RUN_REPORT_SCHEMA,
            skip_git_repo_check=True,
            key_variable="CODEX_API_KEY",
            key=KEY,
            base_env=place.env,
        )
    )
    for made in (home, *(scratch / name for name in plan.folders)):
        made.mkdir(parents=True)
    for name, content in plan.files:
        (scratch / name).write_bytes(content)
    (home / "config.toml").symlink_to(place.folder / ".codex" / "config.toml")
    env = [f"{variable}={value}" for variable, value in plan.env.items()]
    call = shlex.join(["env", "-i", *env, *plan.argv])
    script = folder / "turn.sh"
    script.write_text(f"cd {place.work} && exec {call} <{scratch}/prompt.md >{folder}/events 2>{folder}/errors\n")
    return script


@contextmanager
def harness(place: Place, root: Path, account: Account) -> Iterator[None]:
    """Run `teamster up` until it is no longer needed."""
    argv = account.enter([TEAMSTER, "up", "--root", root, "--slots", str(CONCURRENCY)])
    with subprocess.Popen(
        argv,
        cwd=place.folder,
        env=place.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield
        finally:
            process.terminate()
            process.wait(timeout=SECONDS_MAX)


def measure_ours(place: Place, root: Path, account: Account, *, turns: int, name: str) -> Cost:
    """Submit a batch to the harness that is up, wait for its end, and read what it took from the records."""
    table = place.folder / f"{name}.json"
    table.write_text(json.dumps(_table(place, turns=turns)), encoding="utf-8")
    before = account.seconds
    done = subprocess.run(
        [TEAMSTER, "submit", table, "--root", root, "--json"],
        cwd=place.folder,
        env=place.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        raise RunFailed(f"nothing was submitted: {done.stderr.decode()[-500:]}")
    states = _settled(root / "runs" / json.loads(done.stdout)["batch_id"], turns=turns)
    began = min(from_iso(state["started_at"]) for state in states)
    ended = max(from_iso(state["ended_at"]) for state in states)
    return Cost(wall_seconds=(ended - began).total_seconds() / turns, cpu_seconds=account.since(before, turns=turns))


def _table(place: Place, *, turns: int) -> dict[str, Any]:
    steps = [{"step_id": "only", "prompt": PROMPT}]
    return {
        "batch_goal_summary": GOAL,
        "working_root": str(place.work),
        "concurrency": CONCURRENCY,
        "execution_policy": {"skip_git_repo_check": True},
        "jobs": [{"job_id": f"job{number:03}", "steps": steps} for number in range(turns)],
    }


def _settled(batch: Path, *, turns: int) -> list[Mapping[str, Any]]:
    """Wait until every step has ended, and return how."""
    ends_at = time.monotonic() + SECONDS_MAX
    while time.monotonic() < ends_at:
        states = [json.loads(path.read_bytes()) for path in batch.glob("*/steps/*/attempts/*/state.json")]
        if len(states) == turns and all(state["ended_at"] for state in states):
            if any(state["status"] != "succeeded" for state in states):
                raise RunFailed(f"not every step succeeded: {[state['reason'] for state in states]}")
            return states
        time.sleep(LOOK_SECONDS)
    raise RunFailed(f"the batch was not through after {SECONDS_MAX} s")


def measure(folder: Path, work: Path, model: Model, *, turns: int, rounds: int) -> Iterator[Figure]:
    """Measure both sides by turns, without and with git; `work` lies outside of any repository."""
    (folder / ".codex").mkdir()
    (folder / ".codex" / "config.toml").write_text(PROVIDER.format(url=model.base_url), encoding="utf-8")
    root = folder / "root"
    account = Account("harness")
    places = {name: Place(folder=folder, work=work / name, model=model) for name in ("without_git", "with_git")}
    for place in places.values():
        place.work.mkdir()
    _make_repository(places["with_git"].work)
    with harness(places["without_git"], root, account):
        measure_ours(places["without_git"], root, account, turns=WARM_TURNS, name="warm")
        for name, place in places.items():
            bare, ours = [], []
            for number in range(rounds):
                bare.append(measure_bare(place, turns=turns, name=f"bare-{name}-{number}"))
                ours.append(measure_ours(place, root, account, turns=turns, name=f"ours-{name}-{number}"))
            yield from figures(name, bare=mean(bare), ours=mean(ours))
    account.close()


def _make_repository(work: Path) -> None:
    """Make a small repository with one commit."""
    (work / "README.md").write_text("A place to work.\n", encoding="utf-8")
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "begin"]):
        author = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"]
        subprocess.run(["git", *author, *words], cwd=work, check=True, capture_output=True)


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and return the exit code: 1 where there is nothing to measure."""
    options = read_options((__doc__ or "").partition("\n")[0], arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    turns, rounds = (TURNS_QUICK, ROUNDS_QUICK) if options.quick else (TURNS, ROUNDS_FULL)
    with (
        tempfile.TemporaryDirectory(dir=options.folder, prefix="agents-", ignore_cleanup_errors=True) as name,
        tempfile.TemporaryDirectory(prefix="agents-work-") as work,
    ):
        folder = Path(name)
        model = start_model(
            folder=folder / "model", scenario=None, spawn=spawn_daemon, idle_seconds_max=MODEL_IDLE_SECONDS_MAX
        )
        try:
            found = list(measure(folder, Path(work), model, turns=turns, rounds=rounds))
        except RunFailed as error:
            print(f"bench/agents.py: {error}", file=sys.stderr)
            return 1
        finally:
            stop_model(folder / "model")
    publish("agents", found, options=options)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
