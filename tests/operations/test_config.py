"""Which file is the operator's, and what is said when it can't be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from teamster.model import UsageError
from teamster.operations import configuration, read_config
from teamster.operations.config import find_config


@pytest.mark.parametrize(
    ("env", "found"),
    [
        ({"TEAMSTER_CONFIG": "own.toml", "XDG_CONFIG_HOME": "/x", "HOME": "/h"}, "here/own.toml"),
        ({"XDG_CONFIG_HOME": "/x", "HOME": "/h"}, "/x/teamster/teamster.toml"),
        ({"HOME": "/h"}, "/h/.config/teamster/teamster.toml"),
        ({}, None),
    ],
    ids=["named", "XDG", "home", "nobody's"],
)
def test_the_file_is_the_users_own(tmp_path: Path, env: dict[str, str], found: str | None) -> None:
    assert find_config(env=env, cwd=tmp_path / "here") == (None if found is None else tmp_path / found)


def test_a_projects_file_sets_nothing(tmp_path: Path) -> None:
    """Who clones a repository must not be told by it which programs to run."""
    (tmp_path / "teamster.toml").write_text('codex_program = "./evil"\nsandbox = "danger-full-access"\n')

    found = configuration(env={"HOME": str(tmp_path / "home")}, cwd=tmp_path, flags={})

    assert not found.is_there
    assert {origin.source for origin in found.origins.values()} == {"default"}


def test_none_is_needed_but_one_that_is_named_is(tmp_path: Path) -> None:
    """A slip in its name must not run a batch with other settings than were meant."""
    assert read_config(env={"HOME": str(tmp_path)}, cwd=tmp_path) is None

    with pytest.raises(UsageError, match=r"gone\.toml can't be read: no such file"):
        read_config(env={"TEAMSTER_CONFIG": "gone.toml"}, cwd=tmp_path)


def test_a_folder_and_a_file_without_end_are_refused(tmp_path: Path) -> None:
    """Neither is read for long."""
    with pytest.raises(UsageError, match="can't be read"):
        read_config(env={"TEAMSTER_CONFIG": str(tmp_path)}, cwd=tmp_path)
    with pytest.raises(UsageError, match="has more than"):
        read_config(env={"TEAMSTER_CONFIG": "/dev/zero"}, cwd=tmp_path)
