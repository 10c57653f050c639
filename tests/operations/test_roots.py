"""Which root a command works on: the flag, the variable, the nearest marker, the user's state folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from operations.place import Place, step
from teamster.artifacts import ROOT_RECORD
from teamster.model import UsageError
from teamster.operations import RootChoice, choose_root, require_root


def test_the_nearer_the_word_the_stronger(tmp_path: Path) -> None:
    project = tmp_path / "project"
    inner = project / "deep" / "deeper"
    inner.mkdir(parents=True)
    env = {"TEAMSTER_ROOT": "/of/variable", "XDG_STATE_HOME": "/xdg", "HOME": "/of/home"}

    assert choose_root(Path("flag"), env=env, cwd=inner).path == inner / "flag"
    assert choose_root(None, env=env, cwd=inner).path == Path("/of/variable")
    del env["TEAMSTER_ROOT"]
    assert choose_root(None, env=env, cwd=inner).path == Path("/xdg/teamster")
    (project / "teamster.toml").touch()
    found = choose_root(None, env=env, cwd=inner)
    assert found.path == project / ".teamster-root"
    assert str(project / "teamster.toml") in found.why
    (project / "teamster.toml").unlink()
    del env["XDG_STATE_HOME"]
    assert choose_root(None, env=env, cwd=inner).path == Path("/of/home/.local/state/teamster")


def test_without_a_home_the_way_out_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no root") as caught:
        choose_root(None, env={}, cwd=tmp_path)

    assert caught.value.hint == "name one with --root or TEAMSTER_ROOT"


def test_another_command_is_told_the_root_only_where_it_would_not_find_it(tmp_path: Path) -> None:
    """A command that is copied from a hint must work."""
    assert RootChoice(path=tmp_path, why="TEAMSTER_ROOT").option == ""
    assert RootChoice(path=Path("/a b"), why="--root").option == " --root '/a b'"
    rehearsed = RootChoice(path=Path("/a/root.rehearsal"), why="rehearsal; TEAMSTER_ROOT")
    assert rehearsed.option == " --root /a/root.rehearsal"
    assert rehearsed.rehearses == Path("/a/root")
    assert RootChoice(path=tmp_path, why="--root").rehearses is None


def test_looking_makes_no_root(place: Place) -> None:
    """A typo in a path must not leave folders behind."""
    choice = RootChoice(path=place.root, why="--root")
    with pytest.raises(UsageError, match="nothing has run under"):
        require_root(choice)
    assert not place.root.exists()

    place.submit({"a": [step("only", "true")]})
    require_root(choice)


def test_a_rehearsal_beside_an_empty_root_is_offered(place: Place) -> None:
    """Whoever has only rehearsed yet looks for that, with the command that was copied from somewhere."""
    choice = RootChoice(path=place.root, why="TEAMSTER_ROOT")
    rehearsal = place.root.with_name("root.rehearsal")
    rehearsal.mkdir()
    with pytest.raises(UsageError) as without:
        require_root(choice)
    assert "rehearsal" not in without.value.hint

    place.submit({"a": [step("only", "true")]})
    (place.root / ROOT_RECORD).rename(rehearsal / ROOT_RECORD)
    with pytest.raises(UsageError) as caught:
        require_root(choice)

    assert (
        caught.value.hint == f"a rehearsal lies beside it, add --root {rehearsal}; or run a table: teamster run TABLE"
    )
    require_root(RootChoice(path=rehearsal, why="--root"))
