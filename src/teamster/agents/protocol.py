"""What an agent dialect promises: text in, values out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from teamster.policy import AgentError, Terminal


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One attempt, as an agent needs to know it. All paths are absolute.

    `home` is the attempt's own session store. `scratch` is a private folder outside the runs store, gone after the
    end. `staging` takes the agent's own last message. `session` is the thread to resume. `command` is the template
    of a `command` agent. `base_env` is the user's environment, of which little passes. `key` reaches the agent as
    `key_variable`, and not the agent's tools where it can be helped. `extra_arguments` stand before ours, so that ours
    win. `variables` are added to its environment; in them `${TEAMSTER_JOB_ID}` and its kin stand for the attempt's own.
    `linked` are the names, relative to the home, under which the user's own files lie there.
    """

    prompt: str
    working_directory: Path
    home: Path
    scratch: Path
    staging: Path
    run_id: str
    job_id: str
    step_id: str
    attempt: int
    schema: Mapping[str, Any]
    sandbox: str = "workspace-write"
    approval_policy: str = "never"
    model: str | None = None
    effort: str | None = None
    web_search: bool = False
    add_dirs: tuple[Path, ...] = ()
    skip_git_repo_check: bool = False
    session: str | None = None
    command: tuple[str, ...] = ()
    extra_arguments: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    linked: frozenset[str] = frozenset()
    key_variable: str | None = None
    key: str | None = field(default=None, repr=False)
    base_env: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for path in (self.working_directory, self.home, self.scratch, self.staging, *self.add_dirs):
            if not path.is_absolute():
                raise ValueError(f"{str(path)!r} is not absolute")
        if self.key is not None and not self.key_variable:
            raise ValueError("a key needs the name of its variable")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A process to start, and what must be there before. `env` is the whole environment.

    `folders` and `files` are relative to the request's scratch folder, and private (0700, 0600). `stdin_file` is one
    of the files; None means the null device. `staged_report` is the file below staging that may hold the report.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    folders: tuple[str, ...]
    files: tuple[tuple[str, bytes], ...] = field(repr=False)
    stdin_file: str | None
    staged_report: str

    def __post_init__(self) -> None:
        if any("\0" in word for word in (*self.argv, *self.env, *self.env.values())):
            raise ValueError("an argument or a variable holds a NUL, which no program can be given")
        if self.stdin_file is not None and self.stdin_file not in {name for name, _ in self.files}:
            raise ValueError(f"{self.stdin_file!r} is none of the files that are made")

    @property
    def program(self) -> str:
        """The program that is started."""
        return self.argv[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The tokens of an attempt so far, or of its whole thread. `cached` is a part of `input`, `reasoning` of `output`.

    `cost_usd` is what the program itself says that it cost; None where it doesn't say.
    """

    input: int
    cached: int
    output: int
    reasoning: int
    cost_usd: float | None = None

    def __add__(self, other: Usage) -> Usage:
        """Return both together."""
        costs = [cost for cost in (self.cost_usd, other.cost_usd) if cost is not None]
        return Usage(
            input=self.input + other.input,
            cached=self.cached + other.cached,
            output=self.output + other.output,
            reasoning=self.reasoning + other.reasoning,
            cost_usd=sum(costs) if costs else None,
        )

    def since(self, base: Usage) -> Usage:
        """Return what came after a base; never less than nothing, since a program may count anew."""
        return Usage(
            input=max(0, self.input - base.input),
            cached=max(0, self.cached - base.cached),
            output=max(0, self.output - base.output),
            reasoning=max(0, self.reasoning - base.reasoning),
            cost_usd=self.cost_usd,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a decoder has learned so far. Texts are cut: no line can fill the memory.

    `activity` is one short printable line for `current_item`. `last_message` is kept as it came, for `final.txt`.
    `errors` are the newest. `events` counts what was understood, `unknown_events` what was not.
    """

    thread_id: str | None = None
    activity: str | None = None
    last_message: str | None = None
    usage: Usage | None = None
    terminal: Terminal | None = None
    errors: tuple[AgentError, ...] = ()
    events: int = 0
    unknown_events: int = 0


class Decoder(Protocol):
    """Reads what an agent prints, line by line."""

    def feed(self, line: bytes) -> None:
        """Take one line, with or without its end. No line is refused: what makes no sense is counted."""
        ...

    @property
    def reading(self) -> Reading:
        """What was learned so far."""
        ...


class Agent(Protocol):
    """A CLI program that does the work: how to start it, how to read it, what makes up its session."""

    @property
    def name(self) -> str:
        """What a table calls it."""
        ...

    @property
    def sessions(self) -> bool:
        """It can resume a conversation."""
        ...

    @property
    def announces_end(self) -> bool:
        """It prints events, and the last one says that it is done."""
        ...

    @property
    def requires_report(self) -> bool:
        """Without a report nobody knows whether it did its work."""
        ...

    @property
    def counts_thread(self) -> bool:
        """The usage that it states is that of the whole thread, its base included."""
        ...

    @property
    def key_variables(self) -> tuple[str, ...]:
        """The variables in which its key may stand, the first that is set wins; none where it needs no key."""
        ...

    @property
    def tested_versions(self) -> tuple[str, ...]:
        """The versions on which the tests of this adapter passed."""
        ...

    def own_files(self, env: Mapping[str, str]) -> Mapping[str, Path]:
        """Say where the user's own set-up may lie, by the names under which a private home links to it."""
        ...

    def needed_programs(self, sandbox: str) -> tuple[str, ...]:
        """Return the programs that must be on the PATH beside its own, where a sandbox needs some."""
        ...

    def plan(self, request: Request) -> Plan:
        """Say how to start an attempt.

        Raises:
            ValueError: the request asks for something that this agent can't do.
        """
        ...

    def decoder(self) -> Decoder:
        """Return a decoder for one attempt's standard output."""
        ...

    def report_text(self, reading: Reading, staged: str | None) -> str | None:
        """Choose the report: from the staged file's text, or else from what was printed; None where there is none."""
        ...

    def is_session_file(self, name: str) -> bool:
        """Tell whether a path, relative to a home, is part of some session."""
        ...

    def closure(self, names: Sequence[str], thread_id: str) -> tuple[str, ...]:
        """Choose the paths, relative to a home, that hold what was said in a thread, without what it was forked from.

        What `session_parent` returns is understood here too.
        """
        ...

    def session_parent(self, first_line: bytes) -> str | None:
        """Read a session file's first line (decompressed): where the history before it stands, None if nowhere."""
        ...

    def session_usage(self, lines: Iterable[bytes]) -> Usage | None:
        """Read a session file's lines for what a run had used that was ended before it could say so."""
        ...

    @property
    def help_argvs(self) -> tuple[tuple[str, ...], ...]:
        """Calls whose output `check_help` reads; none where nothing can be checked."""
        ...

    def check_help(self, texts: Sequence[str]) -> tuple[str, ...]:
        """Return the flags that we need and the program's own help, one text per call, doesn't name."""
        ...

    @property
    def version_argv(self) -> tuple[str, ...] | None:
        """The call whose output `parse_version` reads."""
        ...

    def parse_version(self, text: str) -> str | None:
        """Read the version that the program states."""
        ...
