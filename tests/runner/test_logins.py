"""Who lends a login, renews it, and takes it back."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from agents.test_login import token
from runner.codex_words import codex_did
from runner.parts import step
from runner.scene import Scene
from teamster.agents import CodexLogin
from teamster.artifacts import CREDENTIALS, Credentials, codex_home
from teamster.kit import ManualClock, iso
from teamster.model import AgentChoice, Exited, ItemStatus, RunId, UsageError, WorldError
from teamster.runner import LoginBroker, Logins
from teamster.runner.logins import RENEWAL

RUN, OTHER = RunId("run_1"), RunId("run_2")
PROCESSES = 16
DIALECT = CodexLogin("codex")
RENEW_AT_ONCE = """
import os, sys
from pathlib import Path
sys.path[:0] = sys.argv[4:]
from runner.test_logins import Account
gate, opened = os.pipe()
for number in range(1, int(sys.argv[3]) + 1):
    if os.fork() == 0:
        os.close(opened)
        account = Account(Path(sys.argv[1]), copies=Path(sys.argv[2]))
        copy = account.broker.lend(f"run_{number}")
        account.renew_copy(copy, number=number)
        os.read(gate, 1)
        account.broker.take_back(f"run_{number}")
        os._exit(0)
os.close(opened)
sys.exit(max(os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(int(sys.argv[3]))))
"""


class Account:
    """A user who is signed in, and the service that renews tokens: each is good for one use."""

    def __init__(self, folder: Path, *, copies: Path | None = None) -> None:
        self.clock = ManualClock()
        self.folder = folder
        self.source = folder / "codex" / "auth.json"
        self.copies = copies or folder / CREDENTIALS
        self.renewals: list[str] = []
        self.answers = True
        self.broker = LoginBroker(
            Credentials(self.source, self.copies), dialect=DIALECT, renew=self._renew, clock=self.clock
        )

    @property
    def now(self) -> datetime:
        """The present moment."""
        return self.clock.now().wall

    def sign_in(self, held: str = "R0", *, days_old: float = 0.0, account: str = "me") -> bytes:
        """Write the login file."""
        content = self.content(held, self.now - timedelta(days=days_old), account=account)
        self.source.parent.mkdir(parents=True, exist_ok=True)
        self.source.write_bytes(content)
        return content

    @staticmethod
    def content(held: str, renewed_at: datetime, *, account: str = "me", access: str | None = None) -> bytes:
        """Write a login as Codex would."""
        tokens = {"access_token": access or f"access-{held}-of-me", "refresh_token": held, "account_id": account}
        return json.dumps({"tokens": tokens, "last_refresh": iso(renewed_at)}).encode()

    def renew_copy(self, copy: Path, *, number: int) -> None:
        """Do what an agent does that renews its own: write over the file where it lies."""
        copy.write_bytes(self.content(f"R-by-{number}", self.now + timedelta(seconds=number)))

    @property
    def held(self) -> str:
        """The token that the login file holds."""
        return str(json.loads(self.source.read_bytes())["tokens"]["refresh_token"])

    def _renew(self, home: Path) -> None:
        place = home / "auth.json"
        assert place.is_symlink()
        used = str(json.loads(place.read_bytes())["tokens"]["refresh_token"])
        assert used not in self.renewals, "a token is good for one use"
        self.renewals.append(used)
        if self.answers:
            place.write_bytes(self.content(f"after-{used}", self.now))


@pytest.fixture
def account(tmp_path: Path) -> Account:
    """Return a user who is about to sign in."""
    return Account(tmp_path)


class TestLending:
    """A copy for each attempt, fresh enough to start with."""

    def test_one_that_is_not_due_is_copied_and_nobody_is_asked(self, account: Account) -> None:
        content = account.sign_in(days_old=1)

        copy = account.broker.lend(RUN)

        assert (copy.read_bytes(), account.renewals) == (content, [])
        assert account.broker.secrets(RUN) == (b"access-R0-of-me", b"R0")

    def test_one_that_is_due_is_renewed_once_for_all(self, account: Account) -> None:
        """Each by itself would use the same token, and all but the first would be signed out."""
        account.sign_in(days_old=8)

        copies = [account.broker.lend(run) for run in (RUN, OTHER)]

        assert account.renewals == ["R0"]
        assert account.held == "after-R0"
        assert {copy.read_bytes() for copy in copies} == {account.source.read_bytes()}
        assert account.broker.lent() == (RUN, OTHER)

    def test_a_renewal_that_brings_nothing_holds_nobody_up(self, account: Account) -> None:
        """An agent may still work with it; to ask for each attempt would cost each tick a wait."""
        account.sign_in(days_old=8)
        account.answers = False
        account.broker.lend(RUN)
        account.broker.lend(OTHER)
        assert account.renewals == ["R0"]

        account.renewals.clear()
        account.clock.advance(301)
        account.broker.lend(OTHER)
        assert account.renewals == ["R0"]

    def test_one_that_has_expired_and_can_not_be_renewed_is_refused_at_once(self, account: Account) -> None:
        """Five hundred attempts would each wait for a service that does not answer."""
        expired = token(account.now - timedelta(hours=1))
        account.source.parent.mkdir()
        account.source.write_bytes(account.content("R0", account.now, access=expired))
        account.answers = False

        for run in (RUN, OTHER):
            with pytest.raises(WorldError, match="has expired and can't be renewed"):
                account.broker.lend(run)
        assert account.renewals == ["R0"]
        assert account.broker.lent() == ()

    def test_what_a_death_left_in_the_middle_of_a_renewal_is_used(self, account: Account) -> None:
        """The service has renewed it, and the file was not replaced yet: the old token is used up."""
        account.sign_in(days_old=8)
        Credentials(account.source, account.copies).lend(RENEWAL, account.content("renewed", account.now))

        account.broker.lend(RUN)

        assert (account.held, account.renewals) == ("renewed", [])
        assert account.broker.lent() == (RUN,)

    def test_nobody_who_is_signed_in_is_one_clear_error(self, account: Account) -> None:
        account.sign_in()
        account.source.write_bytes(b"{}")
        with pytest.raises(UsageError, match="nobody is signed in") as caught:
            account.broker.check()
        assert "codex login" in caught.value.hint
        account.source.unlink()
        with pytest.raises(WorldError, match="is gone"):
            account.broker.lend(RUN)


class TestTakingBack:
    """What an agent renewed is not lost, and nothing older ever takes the place of something newer."""

    def test_a_copy_that_was_renewed_takes_the_place_of_its_source(self, account: Account) -> None:
        account.sign_in(days_old=1)
        account.renew_copy(account.broker.lend(RUN), number=1)

        account.broker.take_back(RUN)

        assert (account.held, account.broker.lent()) == ("R-by-1", ())

    @pytest.mark.parametrize("back", [b"", b"{", b"torn", b"{}"])
    def test_a_torn_copy_takes_no_place(self, account: Account, back: bytes) -> None:
        """Codex writes in place: a kill in the middle leaves half a file."""
        account.sign_in(days_old=1)
        account.broker.lend(RUN).write_bytes(back)

        account.broker.take_back(RUN)

        assert (account.held, account.broker.lent()) == ("R0", ())

    def test_an_older_one_never_takes_the_place_of_a_newer_one(self, account: Account) -> None:
        account.sign_in(days_old=1)
        first, second = account.broker.lend(RUN), account.broker.lend(OTHER)
        account.renew_copy(first, number=2)
        account.renew_copy(second, number=1)

        account.broker.take_back(RUN)
        account.broker.take_back(OTHER)

        assert account.held == "R-by-2"

    def test_who_signed_in_as_another_meanwhile_or_out_stays_so(self, account: Account) -> None:
        account.sign_in(days_old=1)
        first, second = account.broker.lend(RUN), account.broker.lend(OTHER)
        for copy in (first, second):
            account.renew_copy(copy, number=1)
        account.sign_in("theirs", days_old=2, account="somebody else")
        account.broker.take_back(RUN)
        assert account.held == "theirs"

        account.source.unlink()
        account.broker.take_back(OTHER)
        assert not account.source.exists()
        assert account.broker.lent() == ()

    def test_a_file_in_place_of_the_link_is_taken_back_too(self, account: Account, tmp_path: Path) -> None:
        """A program that replaces the file as a whole breaks the link."""
        account.sign_in(days_old=1)
        account.broker.lend(RUN)
        account.renew_copy(tmp_path / "auth.json", number=3)

        account.broker.take_back(RUN, tmp_path)

        assert account.held == "R-by-3"

    def test_a_copy_that_can_not_be_taken_back_waits(self, account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
        """Its token may be the only one that is still good."""
        account.sign_in(days_old=1)
        account.renew_copy(account.broker.lend(RUN), number=1)

        def fail(*_: object) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr(Credentials, "replace", fail)
            account.broker.take_back(RUN)
        assert (account.held, account.broker.lent()) == ("R0", (RUN,))

        account.broker.settle(account.broker.lent(), live=[])
        assert (account.held, account.broker.lent()) == ("R-by-1", ())

    def test_what_lives_keeps_its_copy(self, account: Account) -> None:
        account.sign_in()
        account.broker.lend(RUN)
        account.broker.lend(OTHER)

        account.broker.settle(account.broker.lent(), live=[OTHER])

        assert account.broker.lent() == (OTHER,)

    def test_sixteen_processes_that_renew_at_once_leave_the_newest_whole(self, account: Account) -> None:
        """As many writers as a file in place would not survive: real processes, each with its copy."""
        account.sign_in(days_old=1)
        arguments = [str(account.folder), str(account.copies), str(PROCESSES), *sys.path]
        done = subprocess.run([sys.executable, "-c", RENEW_AT_ONCE, *arguments], check=False, timeout=60)

        assert done.returncode == 0
        assert account.held == f"R-by-{PROCESSES}"
        assert account.broker.lent() == ()
        assert [path.name for path in account.source.parent.iterdir()] == ["auth.json"]


class TestAttempts:
    """A login on its way through an attempt."""

    @pytest.fixture
    def signed_in(self, scene: Scene, account: Account) -> Scene:
        """Return a scene whose user is signed in."""
        account.clock = scene.clock
        account.sign_in(days_old=1)
        broker = LoginBroker(
            Credentials(account.source, scene.root.at(CREDENTIALS)),
            dialect=DIALECT,
            renew=account._renew,
            clock=scene.clock,
        )
        scene.logins = Logins({"codex": broker})
        return scene

    @pytest.mark.req("PH-8.2.1c")
    def test_it_is_linked_while_the_agent_runs_and_renewed_tokens_come_back(
        self, signed_in: Scene, account: Account
    ) -> None:
        """Nothing of it stays in the attempt, and no token in anything that is kept."""
        scene = signed_in
        scene.scripts["main"] = replace(codex_did(), outcome=None, stdout=codex_did().stdout + b"access-R0-of-me\n")
        scene.submit(step(agent=AgentChoice(agent="codex")))
        harness = scene.harness()
        harness.tick()
        link = scene.root.at(codex_home(scene.attempts()[0].directory)) / "auth.json"
        assert link.is_symlink()
        assert link.resolve().parent == scene.root.at(CREDENTIALS)
        account.renew_copy(link, number=9)
        scene.machine.orders[0].places.stderr.write_bytes(b"access-R-by-9-of-me was refused\n")
        scene.machine.finish(scene.run_id(), Exited(0))
        harness.tick()

        assert scene.item().status is ItemStatus.SUCCEEDED
        assert account.held == "R-by-9"
        assert not link.is_symlink()
        assert list(scene.root.at(CREDENTIALS).iterdir()) == []
        assert [name for name, kept in scene.snapshot().items() if b"-of-me" in kept] == []
        assert scene.faults() == []

    def test_a_harness_that_died_leaves_no_copy_and_loses_no_token(self, signed_in: Scene, account: Account) -> None:
        """Who adopts the agent takes its login back; what belongs to nobody is settled at the next start."""
        scene = signed_in
        scene.scripts["main"] = replace(codex_did(), outcome=None)
        scene.submit(step(agent=AgentChoice(agent="codex")))
        first = scene.harness()
        first.tick()
        copies = Credentials(account.source, scene.root.at(CREDENTIALS))
        account.renew_copy(copies.lend("run_forgotten", b"x"), number=1)
        first.die()
        second = scene.harness()
        second.tick()
        assert account.held == "R-by-1"
        account.renew_copy(scene.root.at(CREDENTIALS) / f"{scene.run_id()}.json", number=2)
        scene.machine.finish(scene.run_id(), Exited(0))
        second.tick()

        assert account.held == "R-by-2"
        assert copies.lent() == ()

    @pytest.mark.parametrize("harm", [Path.unlink, lambda path: path.write_bytes(b"{}")], ids=["gone", "signed out"])
    def test_who_is_signed_out_is_told_and_no_agent_starts(
        self, signed_in: Scene, account: Account, harm: Callable[[Path], object]
    ) -> None:
        scene = signed_in
        harm(account.source)
        scene.submit(step(agent=AgentChoice(agent="codex")))
        harness = scene.harness()
        harness.tick()
        harness.tick()

        assert scene.attempts()[0].facts["failure_class"] == "auth"
        assert scene.machine.orders == []
        assert scene.faults() == []
