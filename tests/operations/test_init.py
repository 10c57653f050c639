"""The table to start from: good as it is, never over anything, all of it or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from jsonschema import Draft7Validator

from teamster.intake import SCHEMA_FILE, launch_table_schema, read_table
from teamster.model import TableDefaults, UsageError, WorldError
from teamster.operations import init
from teamster.operations.init import FILES


def files(folder: Path) -> list[str]:
    """List all files below a folder."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_what_it_writes_is_a_good_table_for_the_reader_and_for_an_editor(tmp_path: Path) -> None:
    """In any folder, also outside a git repository; and it shows what tables can do."""
    folder = tmp_path / "new" / "deep"
    made = init(folder)
    text = (folder / "table.yaml").read_text(encoding="utf-8")
    read = read_table(folder / "table.yaml", defaults=TableDefaults())

    assert files(folder) == sorted(made.files) == sorted(FILES)
    assert text.splitlines()[0] == f"# yaml-language-server: $schema={SCHEMA_FILE}"
    assert made.schema.is_file()
    assert [error.message for error in Draft7Validator(launch_table_schema()).iter_errors(yaml.safe_load(text))] == []
    assert [job.job_id for job in read.jobs] == ["list", "look-purpose", "look-risks", "summary"]
    assert {step.agent.agent for job in read.jobs for step in job.steps} == {"command", "codex"}
    assert [str(need) for need in read.jobs[3].steps[0].depends_on] == ["look-purpose.shorten", "look-risks.shorten"]
    assert len(read.jobs[3].steps[0].references) == 2


@pytest.mark.parametrize("taken", FILES)
def test_nothing_is_written_where_one_of_the_files_lies(tmp_path: Path, taken: str) -> None:
    """Not the other one either: half an example is none."""
    path = tmp_path / taken
    path.parent.mkdir(exist_ok=True)
    path.symlink_to("nowhere")

    with pytest.raises(UsageError, match="already, and nothing is written over"):
        init(tmp_path)
    assert files(tmp_path) == []
    assert path.is_symlink()


def test_a_file_in_the_way_of_the_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "prompts").touch()

    for folder in (tmp_path / "file", tmp_path / "file" / "deeper", tmp_path):
        with pytest.raises(UsageError, match="a file lies there"):
            init(folder)
    assert files(tmp_path) == ["file", "prompts"]


def test_a_disk_that_takes_nothing_is_the_world_s_fault() -> None:
    """A file system that nobody can write to, root neither."""
    with pytest.raises(WorldError):
        init(Path("/proc/teamster"))
