"""Bases of the real Codex: what must lie in one, where it may be gone on with, and what goes wrong in silence."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from backports import zstd

from acceptance.bare_codex import BareCodex
from acceptance.filed import batch_under
from acceptance.playing import teamster
from acceptance.rehearsing import Rehearse
from teamster.agents import CodexAgent
from teamster.artifacts import Sealed, first_line, is_unchanged, restore, seal, session_files
from teamster.rehearsal import stop_model
from teamster.runner.lineage import BrokenLineage, lineage

AGENT = CodexAgent("codex")


def sealed_thread(home: Path, thread: str) -> Sealed:
    """Seal what makes up a thread, as a runner does at an attempt's end."""
    names = lineage(
        session_files(home), thread, agent=AGENT, first_line=lambda name: first_line(home, name, bytes_max=1 << 20)
    )
    return seal(home, names)


def told(codex: BareCodex) -> list[int]:
    """Return how many turns the model was told, request by request."""
    return [request.prompts for request in codex.model.requests]


@pytest.mark.req("PH-10.1")
def test_a_fork_of_a_fork_is_gone_on_with_elsewhere(codex: BareCodex) -> None:
    """Its own rollout alone is worth nothing; the base holds the chain, and nothing of other threads."""
    home, databases = codex.folder / "home", codex.folder / "databases"
    trunk = codex.run("Begin.", home=home, databases=databases)
    fork = codex.run("Fork.", home=home, session=trunk, databases=databases, how="fork")
    codex.run("Another fork.", home=home, session=trunk, databases=databases, how="fork")
    leaf = codex.run("Fork again.", home=home, session=fork, databases=databases, how="fork")

    alone = codex.folder / "alone"
    restore(home, seal(home, AGENT.closure(session_files(home), leaf)), alone)
    naive = codex.call("Go on.", home=alone, session=leaf, databases=codex.folder / "databases-alone")
    sealed = sealed_thread(home, leaf)
    restore(home, sealed, codex.folder / "elsewhere")
    after = codex.run(
        "Go on.", home=codex.folder / "elsewhere", session=leaf, databases=codex.folder / "databases-elsewhere"
    )

    assert (naive.returncode, "missing source rollout" in naive.stderr) == (1, True)
    assert len({trunk, fork, leaf}) == len(sealed.files) == 3
    assert after == leaf
    assert told(codex) == [1, 2, 2, 3, 4]
    assert is_unchanged(home, sealed)


@pytest.mark.req("PH-10.1")
def test_packed_rollouts_belong_to_a_base(codex: BareCodex) -> None:
    """Codex packs what nobody used for a week: its first line says what it goes back to all the same."""
    home, databases = codex.folder / "home", codex.folder / "databases"
    trunk = codex.run("Begin.", home=home, databases=databases)
    fork = codex.run("Fork.", home=home, session=trunk, databases=databases, how="fork")
    leaf = codex.run("Fork again.", home=home, session=fork, databases=databases, how="fork")
    for name in session_files(home):
        if trunk in name or fork in name:
            (home / f"{name}.zst").write_bytes(zstd.compress((home / name).read_bytes()))
            (home / name).unlink()

    sealed = sealed_thread(home, leaf)
    restore(home, sealed, codex.folder / "elsewhere")
    codex.run("Go on.", home=codex.folder / "elsewhere", session=leaf, databases=codex.folder / "databases-elsewhere")

    assert [file.name.endswith(".zst") for file in sealed.files] == [True, True, False]
    assert told(codex) == [1, 2, 3, 4]
    assert is_unchanged(home, sealed)
    (home / sealed.files[0].name).unlink()
    with pytest.raises(BrokenLineage, match="of which there is no file"):
        sealed_thread(home, leaf)


def test_what_codex_takes_for_the_last_session_depends_on_where_it_is_asked(codex: BareCodex) -> None:
    """The trap: from another directory, in another home, or by a name, it begins anew, exits 0 and says nothing."""
    home, databases = codex.folder / "home", codex.folder / "databases"
    thread = codex.run("Begin.", home=home, databases=databases)

    same = codex.run("Go on.", home=home, session="--last", databases=databases)
    elsewhere = codex.run("Go on.", home=home, session="--last", databases=databases, work="elsewhere")
    empty = codex.run("Go on.", home=codex.folder / "empty", session="--last", databases=codex.folder / "fresh")
    by_name = codex.run("Go on.", home=home, session="the-thread", databases=databases)
    unknown = codex.call("Go on.", home=home, session=thread[:-4] + "0000", databases=databases)

    assert same == thread
    assert thread not in {elsewhere, empty, by_name}
    assert told(codex) == [1, 2, 1, 1, 1]
    assert (unknown.returncode, unknown.stdout) == (1, "")
    assert "no rollout found for thread id" in unknown.stderr


@pytest.mark.req("PH-10.1", "PH-10.2")
def test_a_base_is_gone_on_with_from_another_directory_and_another_root(
    rehearse: Rehearse, codex: BareCodex, tmp_path: Path
) -> None:
    """By its id it is found wherever it was copied to; neither the place nor the directory is part of it."""
    done = rehearse([{"job_id": "job", "steps": [{"step_id": "base", "prompt": "Begin."}]}], [])
    assert done.exit_code == 0, done.output
    shutil.copytree(rehearse.root / "runs", tmp_path / "another_host" / "runs")
    shutil.rmtree(rehearse.root / "runs")
    base = batch_under(tmp_path / "another_host").only("job.base")
    sealed = Sealed.from_bytes((base.path / ".teamster" / "session.json").read_bytes())
    thread = base.state["codex_thread_id"]
    for number in (1, 2):
        restore(base.home, sealed, tmp_path / f"home-{number}")
        went_on = codex.run(
            "Go on.",
            home=tmp_path / f"home-{number}",
            session=thread,
            databases=tmp_path / f"databases-{number}",
            work=f"directory-{number}",
        )
        assert went_on == thread

    assert sealed.session_sha256 == base.state["session_sha256"]
    assert told(codex) == [2, 2]
    assert base.turns == 1
    assert is_unchanged(base.home, sealed)


@pytest.mark.req("PH-10.1", "PH-10.2", "PH-7.4")
def test_a_root_that_was_restored_from_a_copy_goes_on_with_its_bases(rehearse: Rehearse) -> None:
    """Another disk, other inodes, other times: the digests hold, and the same conversation goes on."""
    steps = [
        {"step_id": "base", "prompt": "Begin."},
        {"step_id": "next", "prompt": "Go on.", "resume_from": "base"},
    ]
    refuse = {"match": "job.next", "moves": [{"fail": {"status": 401}}]}
    answer = {"moves": [{"say": "here speaks {this:step}"}, {"report": {"summary": "{remembered:here speaks base}"}}]}
    first = rehearse([{"job_id": "job", "steps": steps}], [refuse, answer])
    assert first.exit_code == 1, first.output
    stop_model(rehearse.root / "model")
    aside = rehearse.folder / "aside"
    rehearse.root.rename(aside)
    shutil.copytree(aside, rehearse.root)
    shutil.rmtree(aside)
    batch = batch_under(rehearse.root)
    retried = teamster("retry", batch.path.name, "job.next", "--root", rehearse.root, cwd=rehearse.folder)
    assert retried.returncode == 0, retried.stderr
    second = rehearse.again([answer])

    assert second.exit_code == 0, second.output
    base, (failed, went_on) = batch.only("job.base"), batch.tries("job.next")
    assert [failed.state["status"], went_on.state["status"]] == ["failed", "succeeded"]
    assert went_on.json("final.json")["summary"] == "here speaks base"
    assert went_on.meta["resume_from"]["resume_base_dir"] == f"{base.name}/codex_home/"
    assert [base.turns, went_on.turns] == [1, 2]


@pytest.mark.req("PH-10.1", "PH-7.4")
def test_an_attempt_that_was_killed_in_a_tool_call_is_gone_on_with(rehearse: Rehearse) -> None:
    """Its session is whole up to the kill; what it was told before is not lost with it."""
    steps = [
        {"step_id": "base", "prompt": "Begin."},
        {"step_id": "next", "prompt": "Go on.", "resume_from": {"step_id": "base", "selector": "latest"}},
    ]
    rules = [
        {"match": "job.base", "moves": [{"say": "The word is lantern."}, {"run": "kill -9 $PPID; sleep 60"}]},
        {"moves": [{"report": {"summary": r"It was {remembered:word is (\w+)}."}}]},
    ]
    done = rehearse([{"job_id": "job", "steps": steps}], rules, sandbox="danger-full-access")
    batch = batch_under(rehearse.root)
    base, went_on = batch.only("job.base"), batch.only("job.next")

    assert (base.state["status"], base.state["failure_class"]) == ("failed", "killed"), done.output
    assert went_on.state["status"] == "succeeded", went_on.state
    assert went_on.json("final.json")["summary"] == "It was lantern."
    assert [base.turns, went_on.turns] == [1, 2]
    assert went_on.rollout.read_bytes().startswith(base.rollout.read_bytes())
    assert went_on.meta["resume_from"]["source_session_sha256"] == base.state["session_sha256"]
