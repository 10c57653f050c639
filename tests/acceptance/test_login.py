"""Many agents with one login: the trap of a shared file, and the way around it, on the real Codex."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest
from codex_cli_bin import bundled_codex_path

from acceptance.bare_codex import CODEX_SECONDS_MAX, BareCodex
from acceptance.filed import batch_under
from acceptance.playing import PLAY_SECONDS_MAX, TEAMSTER
from acceptance.rehearsing import GOAL
from acceptance.signing_in import held, login, token_service
from teamster.rehearsal import Model

NAIVE = 4
AGENTS = 16
PROVIDER = """
model_provider = "signed-in"
[model_providers.signed-in]
name = "signed-in"
base_url = "{url}"
wire_api = "responses"
requires_openai_auth = true
"""


def sign_in(folder: Path, model: Model) -> Path:
    """Make the home of a user who signed in some time ago, with a provider of their own; return the login file."""
    home = folder / ".codex"
    home.mkdir()
    (home / "config.toml").write_text(PROVIDER.format(url=model.base_url), encoding="utf-8")
    (home / "auth.json").write_bytes(login(days=-1))
    (home / "auth.json").chmod(0o600)
    return home / "auth.json"


def environment(folder: Path, model: Model, url: str) -> dict[str, str]:
    """Return a user's environment, without a key."""
    env = {"HOME": str(folder), "PATH": os.environ["PATH"], "CODEX_REFRESH_TOKEN_URL_OVERRIDE": url}
    return dict(model.agent_env(env))


def test_agents_that_share_a_login_file_use_the_same_token(codex: BareCodex) -> None:
    """The trap: each home has a link to the file; whoever comes second with a used token is refused."""
    source = sign_in(codex.folder, codex.model)
    (codex.folder / "work").mkdir()
    with token_service(together=NAIVE) as service:
        env = environment(codex.folder, codex.model, service.url)
        processes = []
        for number in range(NAIVE):
            home = codex.folder / f"home-{number}"
            home.mkdir()
            for name in ("auth.json", "config.toml"):
                (home / name).symlink_to(source.with_name(name))
            processes.append(
                subprocess.Popen(
                    [str(bundled_codex_path()), "exec", "--json", "--skip-git-repo-check", "Go."],
                    cwd=codex.folder / "work",
                    env={**env, "CODEX_HOME": str(home)},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            )
        for process in processes:
            process.wait(timeout=CODEX_SECONDS_MAX)

        assert "first" in service.reused


@pytest.mark.req("PH-8.2.1c")
def test_sixteen_agents_share_an_account_whose_token_is_renewed_once(codex: BareCodex) -> None:
    """Nobody is signed out, the user's file is whole, and no token is kept anywhere."""
    source = sign_in(codex.folder, codex.model)
    (codex.folder / "work").mkdir()
    steps = [{"step_id": "only", "prompt": "Go."}]
    table = {
        "batch_goal_summary": GOAL,
        "working_root": "work",
        "execution_policy": {"skip_git_repo_check": True, "sandbox": "read-only"},
        "jobs": [{"job_id": f"job{number}", "steps": steps} for number in range(AGENTS)],
    }
    (codex.folder / "table.json").write_text(json.dumps(table), encoding="utf-8")
    with token_service() as service:
        done = subprocess.run(
            [*TEAMSTER, "run", "table.json", "--root", "root", "--slots", str(AGENTS)],
            cwd=codex.folder,
            env=environment(codex.folder, codex.model, service.url),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PLAY_SECONDS_MAX,
            check=False,
        )

        assert done.returncode == 0, done.stdout + done.stderr
        assert service.reused == []
    batch = batch_under(codex.folder / "root")
    assert [attempt.state["status"] for attempt in batch.attempts] == ["succeeded"] * AGENTS
    assert not held(source).startswith("first")
    assert stat.S_IMODE(source.stat().st_mode) == 0o600
    assert sorted(path.name for path in source.parent.iterdir()) == ["auth.json", "config.toml"]
    tokens = [text.encode() for text in json.loads(source.read_bytes())["tokens"].values() if text != "me"]
    kept = [path for path in (codex.folder / "root").rglob("*") if path.is_file() and not path.is_symlink()]
    assert [path for path in kept if any(text in path.read_bytes() for text in tokens)] == []
    assert not any(path.name == "auth.json" for path in (codex.folder / "root").rglob("*"))


def test_a_login_that_can_not_be_renewed_is_told_before_the_first_attempt(codex: BareCodex) -> None:
    """Sixteen agents that are refused one after the other say no more."""
    sign_in(codex.folder, codex.model)
    (codex.folder / "work").mkdir()
    with token_service() as service:
        service.answer("first")  # somebody else has used it
        done = subprocess.run(
            [*TEAMSTER, "run", "-p", "Go.", "-C", "work", "--root", "root"],
            cwd=codex.folder,
            env=environment(codex.folder, codex.model, service.url),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PLAY_SECONDS_MAX,
            check=False,
        )

    assert done.returncode == 2
    assert "has expired and can't be renewed" in done.stderr
    assert "codex login" in done.stderr
    assert not list((codex.folder / "root").glob("runs/*/*/steps/*/attempts/*"))
