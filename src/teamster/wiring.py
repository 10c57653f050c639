"""Builds the concrete objects: the only place that knows every room, and the only one that reads the environment."""

from __future__ import annotations

import logging
import os
import platform
import random
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import structlog

from teamster import __version__
from teamster.agents import (
    ENTRY_POINT_GROUP,
    LOGIN_FILE,
    PROGRAMS,
    Agent,
    BrokenAgent,
    CodexLogin,
    agents_by_name,
    plugged_in,
)
from teamster.artifacts import CREDENTIALS, DATABASES, WORKSPACES, Credentials, Outbox, Root, open_root
from teamster.cli import Desk, Rehearsal, Site
from teamster.kit import Clock, Names, RandomNames, SystemClock
from teamster.model import HostId, RunnerId, UsageError
from teamster.operations import (
    AgentView,
    Configuration,
    Harness,
    Reloading,
    RootChoice,
    choose_root,
    configuration,
    defaults_of,
    find_config,
    list_agents,
    read_config,
    require_root,
)
from teamster.process import (
    Flushers,
    end_harness,
    host_id,
    open_host,
    open_liveliness,
    own_identity,
    require_linux,
    run_tool,
    spawn_daemon,
)
from teamster.rehearsal import Pointing, start_model
from teamster.runner import LoginBroker, Logins, renew_by_program
from teamster.settings import AgentSettings, Settings, settings_from
from teamster.store import Store, open_postgres, open_sqlite
from teamster.workspace import Workspaces

DATABASE: Final = f"{DATABASES}/teamster.sqlite"
NURSERY_LOG: Final = f"{DATABASES}/nursery.log"
AWAY_OF_TTL: Final = 0.8  # the rest is for a slow answer, the kill, and clocks that drift
SCHEMA: Final = "teamster"  # on a database that many roots share
MODEL_FOLDER: Final = "model"
CODEX_HOME_VARIABLE: Final = "CODEX_HOME"


def refuse_unchecked() -> None:
    """Refuse to run without assertions: they state our own promises."""
    if not __debug__:
        sys.exit("teamster: python -O switches its own checks off; start it without -O and PYTHONOPTIMIZE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiring:
    """What one process needs to build a harness."""

    env: Mapping[str, str]
    cwd: Path
    clock: Clock
    names: Names

    @classmethod
    def of_this_process(cls) -> Wiring:
        """Take the environment, the folder and the clock of this process.

        Raises:
            UsageError: it runs where agents can't be run, or in a folder that is gone.
        """
        require_linux(sys.platform)
        structlog.configure(
            wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
            logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        )
        try:
            cwd = Path.cwd()
        except FileNotFoundError as error:
            raise UsageError("the folder that you are in is gone", hint="cd to another one") from error
        return cls(env=dict(os.environ), cwd=cwd, clock=SystemClock(), names=RandomNames())

    def configuration(self, *, slots: int | None = None) -> Configuration:
        """Say what holds for each setting, and where its value comes from."""
        return configuration(env=self.env, cwd=self.cwd, flags={"slots": slots})

    def desk(self, root: Path | None, *, slots: int | None = None, rehearsal: bool = False) -> Desk:
        """Say what holds for a table under a root, or under the rehearsal beside it; open nothing."""
        choice = self._rehearsal_choice(root) if rehearsal else self._choice(root)
        settings = self._settings(slots)
        return Desk(
            choice=choice,
            defaults=defaults_of(settings, self._agents(settings)[0]),
            names=self.names,
            agent_env=settings.agent_env,
        )

    def open(self, root: Path | None, *, slots: int | None = None) -> Site:
        """Open a root to work on; one that isn't there is made."""
        choice = self._choice(root)
        if choice.rehearses is not None:
            raise UsageError(
                f"{choice.path} is a rehearsal's root: its steps are for the scripted model",
                hint=f"go on with it: teamster rehearse TABLE --root {choice.rehearses}",
            )
        return self._site(choice, self._settings(slots), slots=slots)

    def look(self, root: Path | None) -> Site:
        """Open a root to look at; one that isn't there is refused."""
        choice = self._choice(root)
        require_root(choice)
        return self._site(choice, self._settings())

    def agents(self) -> Sequence[AgentView]:
        """Look at every agent of this machine; no root is needed."""
        settings = self._settings()
        return list_agents(*self._agents(settings), settings)

    def rehearse(self, root: Path | None, *, scenario: Path | None, slots: int | None) -> Rehearsal:
        """Open the rehearsal beside a root and start its model, a process of its own."""
        choice = self._rehearsal_choice(root)
        settings = self._settings(slots)
        model = start_model(folder=choice.path / MODEL_FOLDER, scenario=scenario, spawn=spawn_daemon)
        settings = replace(
            settings,
            codex_arguments=model.codex_arguments(),
            codex_configuration=None,
            codex_login=None,
            key_variable=model.key_variable,
            key=model.key,
            agents={name: _pointed(model.pointing(name), settings.of(name)) for name in settings.agents},
            agent_env=model.agent_env(settings.agent_env),
        )
        return Rehearsal(site=self._site(choice, settings, slots=slots), model_url=model.base_url)

    def _settings(self, slots: int | None = None) -> Settings:
        """Take what the operator's file and the environment say, and the user's own files where there are some.

        A link to a file that isn't there would let an agent make it.
        """
        file = read_config(env=self.env, cwd=self.cwd)
        settings = settings_from(self.env, file=file, flags={"slots": slots})
        agents, _ = self._agents(settings)
        given = {name: self._agent_settings(agent, settings) for name, agent in agents.items()}
        codex = given.pop("codex")
        home = self.cwd / (self.env.get(CODEX_HOME_VARIABLE) or str(Path(self.env.get("HOME", "/"), ".codex")))
        login = home / LOGIN_FILE
        return replace(
            settings,
            agents=given,
            codex_configuration=codex.own_files.get("config.toml"),
            codex_login=login if settings.key is None and login.is_file() else None,
        )

    def _agent_settings(self, agent: Agent, settings: Settings) -> AgentSettings:
        wanted = agent.own_files(self.env) if settings.own_configuration == "yes" else {}
        own_files = {name: self.cwd / file for name, file in wanted.items() if (self.cwd / file).exists()}
        for name in agent.key_variables:
            if key := self.env.get(name, "").strip():
                return AgentSettings(own_files=own_files, key_variable=name, key=key)
        return AgentSettings(own_files=own_files)

    def _agents(self, settings: Settings) -> tuple[Mapping[str, Agent], tuple[BrokenAgent, ...]]:
        """Know every agent: our own, and those that other packages plug in."""
        plugged, broken = plugged_in(entry_points(group=ENTRY_POINT_GROUP))
        programs = {
            name: self.env.get(program.variable) or shutil.which(name, path=self.env.get("PATH")) or name
            for name, program in PROGRAMS.items()
        }
        programs["codex"] = _codex_program(settings, self.env)
        return agents_by_name(codex_program=programs["codex"], programs=programs, plugged=plugged), broken

    def _choice(self, root: Path | None) -> RootChoice:
        return choose_root(root, env=self.env, cwd=self.cwd)

    def _rehearsal_choice(self, root: Path | None) -> RootChoice:
        return self._choice(root).for_rehearsal()

    def _site(self, choice: RootChoice, settings: Settings, *, slots: int | None = None) -> Site:
        # What is rehearsed lies apart on a shared database too: a real harness would run it.
        schema = SCHEMA if choice.rehearses is None else f"{SCHEMA}_rehearsal"
        harness = self.harness(choice.path, shared(settings), slots=slots, schema=schema)
        return Site(harness=harness, choice=choice)

    def _store_opener(self, root: Root, settings: Settings, *, host: str, schema: str) -> Callable[[], Store]:
        if settings.store_url is None:
            return lambda: open_sqlite(root.at(DATABASE), names=self.names)
        return open_postgres(
            settings.store_url,
            host=host,
            root=root.root_id,
            schema=schema,
            names=self.names,
            limits=settings.store_limits,
        )

    def harness(self, path: Path, settings: Settings, *, slots: int | None = None, schema: str = SCHEMA) -> Harness:
        """Build everything that works on one root; `slots` was asked for by an option, which wins over the file."""
        root = open_root(path, names=self.names, clock=self.clock)
        host = host_id()
        git = shutil.which("git", path=self.env.get("PATH"))
        agents, broken = self._agents(settings)
        codex = _codex_program(settings, self.env)
        return Harness(
            root=root,
            settings=settings,
            clock=self.clock,
            names=self.names,
            host_id=HostId(host),
            runner_id=RunnerId(f"runner-{host}"[:64]),
            identity=own_identity(),
            agents=agents,
            broken_agents=broken,
            environment={
                "teamster_version": __version__,
                "python": platform.python_version(),
                "platform": platform.platform(),
            },
            open_store=self._store_opener(root, settings, host=host, schema=schema),
            open_host=lambda: open_host(clock=self.clock, log=root.at(NURSERY_LOG)),
            open_outbox=lambda: _outbox(root),
            workspaces=Workspaces(
                root.at(WORKSPACES),
                tools=run_tool,
                git=None if git is None else Path(git),
                clock=self.clock,
                names=self.names,
            ),
            liveliness=open_liveliness(),
            end_harness=end_harness,
            jitter=random.SystemRandom().random,
            reloading=Reloading(find_config(env=self.env, cwd=self.cwd), lambda: self.configuration(slots=slots)),
            logins=_logins(settings, root, codex_program=codex, clock=self.clock),
        )


def _pointed(pointing: Pointing | None, given: AgentSettings) -> AgentSettings:
    """Point an agent at the scripted model. One that asks no model keeps what it has, but for keys and own files."""
    if pointing is None:
        return replace(given, own_files={}, key_variable=None, key=None)
    return AgentSettings(
        arguments=pointing.arguments,
        variables=pointing.env,
        model=pointing.model,
        key_variable=pointing.key_variable,
        key=pointing.key,
    )


def _logins(settings: Settings, root: Root, *, codex_program: str, clock: Clock) -> Logins:
    """Lend the user's login, where there is one and no key."""
    if settings.codex_login is None:
        return Logins()
    dialect = CodexLogin(codex_program)
    broker = LoginBroker(
        Credentials(settings.codex_login, root.at(CREDENTIALS)),
        dialect=dialect,
        renew=renew_by_program(dialect, settings.agent_env),
        clock=clock,
    )
    return Logins({"codex": broker})


def _outbox(root: Root) -> Outbox:
    flushers = Flushers()
    return Outbox(root, flush_paths=flushers, at_close=flushers.close)


def shared(settings: Settings) -> Settings:
    """Return what holds where other hosts may take over: no agent outlives the lease under which it was started."""
    if settings.store_url is None:
        return settings
    return replace(
        settings, orphan_seconds_max=min(settings.orphan_seconds_max, AWAY_OF_TTL * settings.shift_ttl_seconds)
    )


def _codex_program(settings: Settings, env: Mapping[str, str]) -> str:
    """Find Codex: what was named, else the program of the wheel, else the one on the path."""
    if settings.codex_program is not None:
        return settings.codex_program
    if find_spec("codex_cli_bin") is not None:
        from codex_cli_bin import bundled_codex_path  # noqa: PLC0415 # an extra, and heavy

        return str(bundled_codex_path())
    return shutil.which("codex", path=env.get("PATH")) or "codex"
