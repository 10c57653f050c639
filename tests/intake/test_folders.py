from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from intake.writing import accept, only, refuse, step_of, table
from teamster.model import TableDefaults


def working_in(folder: object, **fields: Any) -> dict[str, Any]:
    """Return a table of one job that works in a folder."""
    content = table(**fields)
    content["jobs"][0]["working_directory"] = folder
    return content


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a folder with two checkouts, and a link to one."""
    (tmp_path / "code" / "app").mkdir(parents=True)
    (tmp_path / "code" / "lib").mkdir()
    (tmp_path / "code" / "link").symlink_to("app")
    (tmp_path / "file").write_text("x", encoding="utf-8")
    return tmp_path.resolve()


@pytest.mark.req("PH-6.2d")
@pytest.mark.parametrize(
    ("root", "folder", "expected"),
    [
        (None, None, "."),
        (None, "code/app", "code/app"),
        ("code", "app", "code/app"),
        ("code", None, "code"),
        ("code", "../code/./lib/", "code/lib"),
        ("code", "link", "code/app"),
        ("{home}/code", "app", "code/app"),
        ("code", "{home}/code/lib", "code/lib"),
    ],
)
def test_a_job_works_where_it_says_relative_to_the_working_root(
    home: Path, root: str | None, folder: str | None, expected: str
) -> None:
    """Kept is the real path: the agent's session is bound to it."""
    root, folder = (text and text.format(home=home) for text in (root, folder))
    read = accept(home, working_in(folder, working_root=root))

    assert read.jobs[0].working_directory == os.path.normpath(home / expected)
    assert step_of(read).working_directory == read.jobs[0].working_directory


@pytest.mark.parametrize(
    ("content", "field", "fact", "hint"),
    [
        (working_in("code/ap"), "jobs[0].working_directory", "/code/ap is not there", "did you mean `app`?"),
        (working_in("file"), "jobs[0].working_directory", "/file is no folder", "did you mean `file`?"),
        (working_in("~/app"), "jobs[0].working_directory", "/~/app is not there", "`~` is not expanded"),
        (working_in(" "), "jobs[0].working_directory", "it is blank", ""),
        (working_in(7), "jobs[0].working_directory", "7 is not text", "quote it"),
        (working_in("a\0b"), "jobs[0].working_directory", "it holds a NUL character", ""),
        (working_in("x" * 3000), "jobs[0].working_directory", "is not there", ""),
        (working_in(".", working_root="cdoe"), "working_root", "/cdoe is not there", "did you mean `code`?"),
    ],
)
def test_a_folder_that_is_none_is_told_with_the_nearest(
    home: Path, content: dict[str, Any], field: str, fact: str, hint: str
) -> None:
    problem = only(refuse(home, content))

    assert problem.field == field
    assert fact in problem.fact or fact.endswith("is not there")
    assert hint in problem.hint


@pytest.mark.parametrize("kept", ["runs", "runs/batch", "runners", "db", "incoming"])
def test_no_job_works_among_the_records(home: Path, kept: str) -> None:
    """An agent in there would rewrite what is known of it."""
    (home / kept).mkdir(parents=True)

    problem = only(refuse(home, working_in(kept), root=home))

    assert "where Teamster keeps its records" in problem.fact


def test_a_root_within_a_repository_does_not_lock_the_repository_out(home: Path) -> None:
    """`teamster.toml` may lie in the very folder that agents work in."""
    (home / "runs").mkdir()

    assert accept(home, working_in("code/app"), root=home).jobs
    assert accept(home, working_in("."), root=home).jobs


def test_a_link_into_the_records_is_seen_through(home: Path) -> None:
    (home / "runs").mkdir()
    (home / "innocent").symlink_to("runs")

    assert "keeps its records" in only(refuse(home, working_in("innocent"), root=home)).fact


def test_a_folder_whose_name_is_no_text_is_refused(home: Path) -> None:
    """It could not be written into any record."""
    os.mkdir(os.fsencode(home) + b"/\xff")  # noqa: PTH102
    (home / "link").symlink_to(os.fsdecode(b"\xff"))

    assert "can't be kept" in only(refuse(home, working_in("link"))).fact


def test_a_prompt_file_is_looked_for_in_the_job_and_then_beside_the_table(home: Path) -> None:
    (home / "code" / "app" / "p.md").write_text("from the job", encoding="utf-8")
    (home / "q.md").write_text("\ufefffrom the table", encoding="utf-8")
    content = working_in("code/app")
    content["jobs"][0]["steps"] = [{"prompt_ref": "p.md"}, {"prompt_ref": "q.md"}, {"prompt_ref": f"{home}/q.md"}]

    assert [step.prompt for step in accept(home, content).jobs[0].steps] == [
        "from the job",
        "from the table",
        "from the table",
    ]


@pytest.mark.parametrize(
    ("make", "fact"),
    [
        (lambda _: None, "there is no file 'p.md' in"),
        (lambda path: path.mkdir(), "is no regular file"),
        (os.mkfifo, "is no regular file"),
        (lambda path: path.symlink_to("/etc/hostname"), "lies outside"),
        (lambda path: path.symlink_to(path.name), "there is no file"),
        (lambda path: path.write_bytes(b"\xff\xfe"), "is not UTF-8 text: byte 0 is wrong"),
        (lambda path: path.write_bytes(b"a\0b"), "holds a NUL character"),
        (lambda path: path.write_bytes(b" \n"), "it is blank"),
        (lambda path: path.write_bytes(b"x" * 1_048_577), "has 1048577 bytes, the limit is 1048576"),
    ],
    ids=["missing", "folder", "pipe", "outside", "loop", "binary", "nul", "blank", "large"],
)
def test_a_prompt_file_that_cannot_be_taken_is_told(home: Path, make: Any, fact: str) -> None:
    """A named pipe would wait for ever; a link may lead to a secret, which the agent would be shown."""
    make(home / "p.md")
    content = table()
    content["jobs"][0]["steps"] = [{"prompt_ref": "p.md"}]

    problem = only(refuse(home, content))

    assert problem.field == "jobs[0].steps[0].prompt_ref"
    assert fact in problem.fact or (fact == "there is no file" and "p.md" in problem.fact)


def test_climbing_out_by_dots_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("key", encoding="utf-8")
    (tmp_path / "tables").mkdir()
    content = table()
    content["jobs"][0]["steps"] = [{"prompt_ref": "../secret"}]

    assert "lies outside" in only(refuse(tmp_path / "tables", content)).fact


def test_what_one_job_may_read_another_may_not(home: Path) -> None:
    """A file that was read once is not thereby open to everybody."""
    (home / "tables").mkdir()
    (home / "code" / "app" / "p.md").write_text("mine", encoding="utf-8")
    ref = f"{home}/code/app/p.md"
    jobs = [{"working_directory": f"{home}/code/{name}", "steps": [{"prompt_ref": ref}]} for name in ("app", "lib")]

    problem = only(refuse(home / "tables", {**table(), "jobs": jobs}))

    assert problem.field == "jobs[1].steps[0].prompt_ref"


def test_a_missing_file_is_answered_with_the_nearest_name(home: Path) -> None:
    (home / "prompt.md").write_text("x", encoding="utf-8")
    content = table()
    content["jobs"][0]["steps"] = [{"prompt_ref": "promt.md"}]

    assert only(refuse(home, content)).hint == "did you mean `prompt.md`?"


def test_many_steps_share_what_was_read_once(home: Path) -> None:
    (home / "p.md").write_text("shared", encoding="utf-8")
    content = table()
    content["jobs"][0]["steps"] = [{"prompt_ref": "p.md"}] * 100

    read = accept(home, content, defaults=TableDefaults())

    assert {step.prompt for step in read.jobs[0].steps} == {"shared"}
