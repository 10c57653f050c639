from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamster.kit import ManualClock
from teamster.workspace.reading import quoted
from teamster.workspace.repository import find_repository, head_of, repository_at, settings_of
from teamster.workspace.visits import VISIT_SECONDS_MAX, Visits
from workspace.conftest import Repo


def test_a_repository_is_found_upwards_and_through_links(repo: Repo, tmp_path: Path) -> None:
    """A workspace is known by where it really lies, so that two names of it share one index."""
    (tmp_path / "link").symlink_to(repo.path / "sub")

    found = find_repository(tmp_path / "link")

    assert found is not None
    assert found.top == repo.path.resolve()
    assert find_repository(tmp_path / "missing") is None


@pytest.mark.parametrize(
    "pointer", [b"gitdir: /nonexistent\n", b"gitdir: \0\n", b"nonsense", b"gitdir: .\n", b"", b"x" * 100_000]
)
def test_a_pointer_that_leads_nowhere_is_no_repository(tmp_path: Path, pointer: bytes) -> None:
    """An agent can write any bytes into `.git`."""
    (tmp_path / ".git").write_bytes(pointer)

    assert repository_at(tmp_path) is None


@pytest.mark.parametrize(
    "content",
    [
        b"ref: refs/heads/../../../../etc/passwd\n",
        b"ref: refs/heads/loop\n",
        b"ref: /etc/passwd\n",
        b"ref: refs/heads/\0\n",
        b"ref: refs/heads/missing\n",
        b"0123456789abcdef\n",
        b"\xff\xfe",
        b"",
    ],
)
def test_a_head_that_makes_no_sense_is_none(repo: Repo, content: bytes) -> None:
    """What is returned goes to git as an argument: it is an object id, or nothing."""
    (repo.path / ".git/refs/heads/loop").write_bytes(b"ref: refs/heads/loop\n")
    (repo.path / ".git/HEAD").write_bytes(content)
    found = repository_at(repo.path)

    assert found is not None
    assert head_of(found) is None


def test_only_settings_that_run_nothing_are_taken_over(repo: Repo) -> None:
    """How lines end matters for a comparison; everything else in a configuration can be a program."""
    with (repo.path / ".git/config").open("a", encoding="utf-8") as file:
        file.write(
            '[core]\n\tautocrlf = INPUT ; a comment\n\tfsmonitor = true\n\teol = lf\\\n[core "x"]\n\tsymlinks = false\n'
            "[include]\n\tpath = other\n[CORE]\n\tfileMode = false\n\tignorecase = maybe\n"
        )
    found = repository_at(repo.path)

    assert found is not None
    assert settings_of(found) == {"core.autocrlf": "input", "core.filemode": "false"}


@given(st.binary(min_size=1).filter(lambda name: b"\0" not in name))
def test_a_quoted_name_is_one_printable_line(name: bytes) -> None:
    """A name can't forge a line of the status, nor steer a terminal."""
    text = quoted(name)

    assert text.isascii()
    assert text.isprintable()


def test_whoever_never_left_is_forgotten_after_a_day(tmp_path: Path) -> None:
    """A harness that died with its attempts must not mark all later ones as shared."""
    clock = ManualClock()
    visits = Visits(tmp_path / "open")
    visits.arrive("dead", now=clock.now().wall)
    born = (tmp_path / "open/dead").stat().st_mtime
    moment = clock.advance(born - clock.now().wall.timestamp()).wall

    assert visits.arrive("soon", now=moment)
    assert visits.leave("dead")
    assert not visits.leave("dead")
    assert not visits.arrive("late", now=clock.advance(VISIT_SECONDS_MAX + 60).wall)
