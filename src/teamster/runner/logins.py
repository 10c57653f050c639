"""Login files lent to attempts: renewed by one at a time, never shared, and taken back if an agent renewed its own.

A refresh token is good for one use. Agents that share a file write over each other; agents with copies of one that is
due all use the same token, and all but the first are signed out. So whoever is first renews it for all, with the
agent's own program and under the account's lock, before anybody starts with it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

import structlog

from teamster.agents import CodexLogin, Login
from teamster.artifacts import Credentials, read_login
from teamster.kit import Clock, make_folder
from teamster.model import RunId, UsageError, WorldError
from teamster.process import run_tool
from teamster.runner.carried import Carried

_log = structlog.get_logger(__name__)

RENEWAL: Final = "renewal"  # no run id: those begin with `run_`
RENEW_SECONDS_MAX: Final = 30.0
RENEW_OUTPUT_BYTES_MAX: Final = 1 << 20
RENEW_AGAIN_SECONDS: Final = 300.0  # a try that brings nothing may take long, and each attempt would wait for its own
SIGN_IN: Final = "sign in again: codex login; or set CODEX_API_KEY"

Renew = Callable[[Path], None]
"""Lets the program renew the login of a home."""


class LoginBroker:
    """One account's login file: the only one who lends it, renews it, and takes it back."""

    def __init__(self, credentials: Credentials, *, dialect: CodexLogin, renew: Renew, clock: Clock) -> None:
        self._credentials = credentials
        self._dialect = dialect
        self._renew = renew
        self._clock = clock
        self._failed_at: float | None = None  # boot seconds of a renewal that brought nothing

    @property
    def file_name(self) -> str:
        """The name under which an agent looks for it in its home."""
        return self._dialect.file_name

    def lend(self, run_id: RunId) -> Path:
        """Return a private copy that is fresh enough to start with.

        Raises:
            WorldError: nobody is signed in, or the login can't be renewed.
            OSError: the disk failed.
        """
        return self._credentials.lend(run_id, self._fresh())

    def check(self) -> None:
        """See that somebody is signed in, before the first attempt.

        Raises:
            UsageError: nobody is, or the login can't be renewed.
        """
        try:
            self._fresh()
        except (WorldError, OSError) as error:
            raise UsageError(str(error), hint=SIGN_IN) from error

    def take_back(self, name: str, home: Path | None = None) -> None:
        """Remove a copy whose agent is gone. If the agent renewed it, it takes the place of the one it was made of.

        It may have put a file into its `home` where the link was. A copy that can't be taken back now stays, and the
        next look at what was lent tries again: its token may be the only one that is still good.
        """
        try:
            left = None if home is None else read_login(home / self._dialect.file_name)
            if self._is_as_lent(name, left):
                self._credentials.drop(name)
            else:
                with self._credentials.alone():
                    for returned in filter(None, (self._credentials.copy(name), left)):
                        self._keep(returned)
                    self._credentials.drop(name)
        except (WorldError, OSError) as error:
            _log.warning("a login can't be taken back yet", run_id=name, fact=str(error))

    def _is_as_lent(self, name: str, left: bytes | None) -> bool:
        """Tell whether nothing has to be kept of a copy, as is so for nearly all.

        Where the user signed out meanwhile, nobody signs them in again behind their back. A renewal goes on under the
        lock, with a copy that is no other than its source until it is done.
        """
        if not self._credentials.source.exists():
            return True
        return left is None and name != RENEWAL and self._credentials.copy(name) in {None, self._credentials.read()}

    def settle(self, lent: Iterable[str], live: Iterable[RunId]) -> None:
        """Take back what a death left: of `lent` all copies whose attempts are not alive."""
        for name in set(lent) - set(live):
            self.take_back(name)

    def lent(self) -> tuple[str, ...]:
        """Return whose copies there are."""
        return self._credentials.lent()

    def secrets(self, name: str | None = None) -> tuple[bytes, ...]:
        """Return what must not be kept of a copy, or of the login itself."""
        try:
            content = self._credentials.read() if name is None else self._credentials.copy(name)
            return () if content is None else self._dialect.read(content).secrets
        except (WorldError, ValueError):
            return ()  # no login: it holds nothing that we lent

    def _fresh(self) -> bytes:
        content = self._credentials.read()
        if self._wants_renewal(content):
            with self._credentials.alone():
                content = self._credentials.read()
                if self._wants_renewal(content):  # nobody was quicker
                    content = self._renewed(content)
        if self._read(content).has_expired(self._clock.now().wall):
            raise WorldError(f"the login {self._credentials.source} has expired and can't be renewed", hint=SIGN_IN)
        return content

    def _wants_renewal(self, content: bytes) -> bool:
        now = self._clock.now()
        failed = self._failed_at is not None and now.boot_seconds - self._failed_at < RENEW_AGAIN_SECONDS
        return not failed and self._read(content).is_due(now.wall)

    def _renewed(self, content: bytes) -> bytes:
        """Let the program renew a copy, and put that in the file's place. Hold the lock.

        What lies under the copy's name is of one who died at it: it may hold the only token that is still good.
        """
        if RENEWAL in self._credentials.lent():
            content = self._keep(self._credentials.copy(RENEWAL) or b"")
            if not self._wants_renewal(content):
                self._credentials.drop(RENEWAL)
                return content
        copy = self._credentials.lend(RENEWAL, content)
        home = copy.with_suffix("")
        shutil.rmtree(home, ignore_errors=True)  # of one who died at it
        make_folder(home)
        (home / self._dialect.file_name).symlink_to(copy)
        self._renew(home)
        shutil.rmtree(home)
        content = self._keep(self._credentials.copy(RENEWAL) or b"")
        self._credentials.drop(RENEWAL)
        now = self._clock.now()
        self._failed_at = now.boot_seconds if self._read(content).is_due(now.wall) else None
        return content

    def _keep(self, returned: bytes) -> bytes:
        """Let the newer one hold, and return it. Hold the lock."""
        current = self._credentials.read()
        try:
            follows = self._dialect.read(returned).follows(self._read(current), self._clock.now().wall)
        except ValueError:
            return current  # torn, or no login at all
        if not follows:
            return current
        self._credentials.replace(returned)
        return returned

    def _read(self, content: bytes) -> Login:
        try:
            return self._dialect.read(content)
        except ValueError as error:
            raise WorldError(f"{self._credentials.source} {error}", hint=SIGN_IN) from error


class Logins:
    """The brokers of all agents that have a login file, by the agent's name."""

    def __init__(self, brokers: Mapping[str, LoginBroker] | None = None) -> None:
        self._brokers = brokers or {}

    def of(self, agent: str) -> LoginBroker | None:
        """Return an agent's broker, where it is signed in by a file."""
        return self._brokers.get(agent)

    def start(self, carried: Carried) -> None:
        """Let an attempt's agent see a login of its own, by a link: the file lies outside of what is kept.

        Raises:
            WorldError: nobody is signed in, or the login can't be renewed.
            OSError: the disk failed.
        """
        broker = self.of(carried.agent.name)
        if broker is not None:
            (carried.home / broker.file_name).symlink_to(broker.lend(carried.attempt.run_id))
            carried.keep_secret(broker.secrets(carried.attempt.run_id))

    def adopt(self, carried: Carried) -> None:
        """Know what somebody else has lent."""
        broker = self.of(carried.agent.name)
        if broker is not None:
            carried.keep_secret(broker.secrets(carried.attempt.run_id))

    def end(self, carried: Carried) -> None:
        """Take the login back of an attempt whose tree was seen empty: nobody renews that copy any more."""
        broker = self.of(carried.agent.name)
        if broker is not None:
            carried.keep_secret(broker.secrets(carried.attempt.run_id))  # as the agent has renewed it
            broker.take_back(carried.attempt.run_id, carried.home)

    def secrets(self) -> tuple[bytes, ...]:
        """Return what is a secret of the logins as they are now."""
        return tuple(secret for broker in self._brokers.values() for secret in broker.secrets())

    def lent(self) -> tuple[str, ...]:
        """Return whose copies there are."""
        return tuple(name for broker in self._brokers.values() for name in broker.lent())

    def settle(self, lent: Iterable[str], live: Iterable[RunId]) -> None:
        """Take back what a death left."""
        for broker in self._brokers.values():
            broker.settle(lent, live)


def renew_by_program(dialect: CodexLogin, env: Mapping[str, str]) -> Renew:
    """Return what lets an agent's own program renew a login: the rules of the service are its business."""

    def renew(home: Path) -> None:
        run_tool(
            dialect.renew_argv,
            cwd=home,
            env={**env, "CODEX_HOME": str(home), "CODEX_SQLITE_HOME": str(home)},
            timeout_seconds=RENEW_SECONDS_MAX,
            output_bytes_max=RENEW_OUTPUT_BYTES_MAX,
            stdin=dialect.renew_input,
            until=dialect.has_answered,
        )

    return renew
