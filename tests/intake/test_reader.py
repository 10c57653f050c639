from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from intake.writing import GOAL, only, table
from teamster.intake import LIMITS, read_table, table_from
from teamster.intake.limits import Limits
from teamster.model import Table, TableDefaults, TableProblems, UsageError

YAML_SECONDS_MAX = 12.0  # about 2 s on a free core; the tests share theirs
JSON_SECONDS_MAX = 5.0  # about 0.7 s


def read(path: Path, limits: Limits = LIMITS) -> Table:
    """Read a table with the usual settings."""
    return read_table(path, defaults=TableDefaults(), limits=limits)


def usage(path: Path) -> UsageError:
    """Return why a path can't be read as a table."""
    with pytest.raises(UsageError) as caught:
        read(path)
    assert not isinstance(caught.value, TableProblems)
    return caught.value


@pytest.mark.parametrize("name", ["t.yaml", "t.yml", "t.json", "T.YAML", "T.Json"])
def test_yaml_and_json_give_the_same_table(tmp_path: Path, name: str) -> None:
    """One table, two ways to write it."""
    content = table({"step_id": "a"}, {"depends_on": ["a"]})
    path = tmp_path / name
    path.write_text(json.dumps(content) if "son" in name else yaml.safe_dump(content), encoding="utf-8")

    result = read(path)

    assert (
        result.digest
        == table_from(json.dumps(content), path=path.with_suffix(".json"), defaults=TableDefaults()).digest
    )
    assert result.source == str(path.resolve())


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text("\ufeff" + json.dumps(table()), encoding="utf-8")

    assert read(tmp_path / "t.json").goal_summary == GOAL


def test_a_missing_file_is_answered_with_the_nearest_table(tmp_path: Path) -> None:
    (tmp_path / "nightly.yaml").write_text("x", encoding="utf-8")
    (tmp_path / "nightly.txt").write_text("x", encoding="utf-8")

    error = usage(tmp_path / "nightli.yaml")

    assert "nightli.yaml: no such file or directory" in error.fact
    assert error.hint == f"did you mean {tmp_path}/nightly.yaml?"
    assert usage(tmp_path / "zzz.yaml").hint == "tables there: nightly.yaml"
    assert usage(tmp_path / "no" / "folder.yaml").hint == "check the path"


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    """A pipe that nobody writes to would keep the command waiting."""
    (tmp_path / "folder.yaml").mkdir()
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe")

    assert "is a directory" in usage(tmp_path / "folder.yaml").fact
    assert "is no regular file" in usage(tmp_path / "pipe.yaml").fact
    assert "is not UTF-8 text: byte 0 is wrong" in usage(tmp_path / "binary.yaml").fact
    assert usage(tmp_path / "binary.yaml").hint
    assert usage(Path("a\0b.yaml")).fact


def test_a_file_of_another_form_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("a: 1", encoding="utf-8")

    assert usage(tmp_path / "t").hint == "name it .yaml, .yml, .json, .toml, as it is written"


@pytest.mark.req("PH-6.4d")
def test_a_table_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps(table()), encoding="utf-8")
    size = (tmp_path / "t.json").stat().st_size

    with pytest.raises(UsageError, match=f"has {size} bytes, the limit is {size - 1}"):
        read(tmp_path / "t.json", replace(LIMITS, table_bytes_max=size - 1))
    assert read(tmp_path / "t.json", replace(LIMITS, table_bytes_max=size))


def test_names_in_a_table_behind_a_link_are_relative_to_the_real_folder(tmp_path: Path) -> None:
    """The name that a person gave it names the batch."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "t.json").write_text(json.dumps(table()), encoding="utf-8")
    (tmp_path / "link").symlink_to("real")

    result = read(tmp_path / "link" / "t.json")

    assert result.jobs[0].working_directory == str(tmp_path.resolve() / "real")


def test_a_problem_names_the_file_as_it_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that an editor can jump to it from where the command was typed."""
    monkeypatch.chdir(tmp_path)
    Path("t.yaml").write_text(f"batch_goal_summary: {GOAL}\n\njobs: 1\n", encoding="utf-8")

    with pytest.raises(TableProblems) as caught:
        read(Path("t.yaml"))

    assert only(caught.value.problems).place == "t.yaml:3:1"


def test_ten_thousand_steps_are_read_while_one_waits(tmp_path: Path) -> None:
    """Large tables are written by programs, and submitted by people."""
    steps = [{"step_id": "a", "prompt": "First."}, {"step_id": "b", "prompt": "Then.", "depends_on": ["a"]}]
    content = {**table(), "jobs": [{"job_id": f"j{n}", "working_directory": ".", "steps": steps} for n in range(5000)]}
    (tmp_path / "t.json").write_text(json.dumps(content), encoding="utf-8")
    (tmp_path / "t.yaml").write_text(json.dumps(content, indent=1), encoding="utf-8")

    began = time.process_time()
    first = read(tmp_path / "t.json")
    between = time.process_time()
    second = read(tmp_path / "t.yaml")
    ended = time.process_time()

    assert first.batch_id == second.batch_id
    assert between - began < JSON_SECONDS_MAX
    assert ended - between < YAML_SECONDS_MAX
