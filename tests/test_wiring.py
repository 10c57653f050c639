"""Wiring builds the concrete objects; it is the only one that reads the environment."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from operations.place import Place
from teamster.model import UsageError
from teamster.operations import verify
from teamster.settings import settings_from
from teamster.wiring import Wiring, shared


def call(*arguments: str, cwd: Path, flags: tuple[str, ...] = (), **env: str) -> subprocess.CompletedProcess[str]:
    """Run the program."""
    return subprocess.run(
        [sys.executable, *flags, "-m", "teamster", *arguments],
        cwd=cwd,
        env={"PATH": os.environ["PATH"], **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=60.0,
    )


def test_a_root_is_made_by_work_and_never_by_a_look(tmp_path: Path) -> None:
    wiring = Place(tmp_path).wiring
    with pytest.raises(UsageError, match="nothing has run under"):
        wiring.look(None)
    assert wiring.desk(tmp_path / "root").choice.path == tmp_path / "root"
    assert list(tmp_path.iterdir()) == []

    site = wiring.open(tmp_path / "root", slots=3)

    assert site.harness.settings.slots == 3
    assert wiring.look(tmp_path / "root").harness.root.root_id == site.harness.root.root_id
    assert wiring.desk(tmp_path / "root", slots=3).defaults == site.harness.defaults


def test_a_rehearsal_has_a_root_beside_the_real_one(tmp_path: Path) -> None:
    """Whatever is tried there touches nothing that counts."""
    choice = Place(tmp_path).wiring.desk(tmp_path / "root", rehearsal=True).choice

    assert choice.path == tmp_path / "root.rehearsal"
    assert choice.rehearses == tmp_path / "root"


@pytest.mark.parametrize(("home", "linked"), [("with", True), ("without", False)])
def test_the_user_s_own_configuration_is_linked_where_there_is_one(tmp_path: Path, home: str, *, linked: bool) -> None:
    """A link to a file that isn't there would let Codex make it in the user's home."""
    configuration = tmp_path / "with" / ".codex" / "config.toml"
    configuration.parent.mkdir(parents=True)
    configuration.touch()
    place = Place(tmp_path, env={"PATH": os.environ["PATH"], "HOME": str(tmp_path / home)})

    assert place.harness.settings.codex_configuration == (configuration if linked else None)


def test_an_agent_sees_no_key_of_the_user_in_its_base_environment(tmp_path: Path) -> None:
    env = {"PATH": "/bin", "HOME": "/h", "CODEX_API_KEY": "sk-mine-and-mine-alone", "AWS_SECRET_ACCESS_KEY": "no"}
    settings = Place(tmp_path, env=env).harness.settings

    assert settings.agent_env == {"PATH": "/bin", "HOME": "/h"}
    assert settings.key == "sk-mine-and-mine-alone"
    assert "sk-mine" not in repr(settings)


def test_the_program_refuses_to_run_without_its_own_checks(tmp_path: Path) -> None:
    """Assertions state our own promises: without them a broken one would go on."""
    said = call("--version", cwd=tmp_path, flags=("-O",))

    assert said.returncode == 1
    assert "start it without -O" in said.stderr


def test_a_folder_that_is_gone_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    with pytest.raises(UsageError, match="the folder that you are in is gone"):
        Wiring.of_this_process()


def test_closed_standard_streams_are_filled_before_anything_is_opened(tmp_path: Path) -> None:
    """A database that got number 1 would be written over by the next line that somebody prints."""
    place = Place(tmp_path)
    place.submit({"a": [{"step_id": "only", "agent": "command", "command": ["true"], "prompt": "Do."}]})
    script = f"exec {shlex.quote(sys.executable)} -m teamster up --until-idle --root {place.root} 0<&- 1>&- 2>&-"
    closed = subprocess.run(["sh", "-c", script], env=place.env, cwd=tmp_path, check=False, timeout=60.0)

    assert closed.returncode == 0
    assert verify(place.harness).is_clean


def test_agents_end_before_another_host_may_take_their_items() -> None:
    """On one host they may stay for longer: the next harness of that host finds them."""
    settings = settings_from({"TEAMSTER_STORE": "postgresql://db.example/queue", "TEAMSTER_SHIFT_TTL_SECONDS": "60"})

    assert shared(settings).orphan_seconds_max == 48
    assert shared(settings_from({})) == settings_from({})


def test_a_server_that_is_away_is_named_without_its_password(tmp_path: Path) -> None:
    """Exit 3: the world failed, and a later try may do. Nothing is shown that opens the door."""
    away = "postgresql://me:s3cret@127.0.0.1:1/queue"

    ended = call(
        "run", "-p", "x", "--root", str(tmp_path / "root"), cwd=tmp_path, TEAMSTER_STORE=away, OPENAI_API_KEY="sk-x"
    )

    assert ended.returncode == 3, ended.stderr
    assert "postgresql://me@127.0.0.1:1/queue can't be reached" in ended.stderr.replace("\n", " ")
    assert "s3cret" not in ended.stdout + ended.stderr


def test_a_value_that_is_no_url_is_refused_without_being_repeated(tmp_path: Path) -> None:
    """Exit 2: it may be a password in the wrong place."""
    ended = call("run", "-p", "x", cwd=tmp_path, HOME=str(tmp_path), TEAMSTER_STORE="s3cret")

    assert ended.returncode == 2
    assert "TEAMSTER_STORE" in ended.stderr
    assert "s3cret" not in ended.stdout + ended.stderr
