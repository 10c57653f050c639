"""Single damages to a full store, each with the promise that it breaks."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from artifacts.samples import BATCH, FIRST, ROLLOUT, Writer
from teamster.artifacts import Rule, current_path, inputs_path
from teamster.kit import append, make_folder, sha256

SECRET = b"correct-horse-battery"
GONE_PID = 4_194_305  # above what the kernel gives out


def edit(path: Path, **changes: Any) -> None:
    """Change fields of a document, modes and all else aside."""
    mode = path.stat().st_mode
    value = json.loads(path.read_bytes())
    path.unlink()
    path.write_text(json.dumps({**value, **changes}), encoding="utf-8")
    path.chmod(mode)


class Damage:
    """The places of a full store, by what the tests call them."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.root = writer.root.path
        self.first, self.second, self.failed, self.retry = (
            writer.root.at(attempt.directory) for attempt in writer.attempts
        )
        self.batch = writer.root.at("runs/b1")
        self.pointers = writer.root.at(current_path(BATCH, FIRST.job_id))

    def keep_input(self, line: Any) -> None:
        """Keep a line among the prompts and schemas of the batch."""
        path = self.writer.root.at(inputs_path(BATCH))
        make_folder(path.parent)
        append(path, json.dumps(line).encode() + b"\n")

    def point(self, change: Callable[[dict[str, Any]], None]) -> None:
        """Change the steps of the first job's pointers."""
        steps = json.loads(self.pointers.read_bytes())["steps"]
        change(steps)
        edit(self.pointers, steps=steps)


DAMAGES: dict[str, tuple[Rule, Callable[[Damage], object]]] = {
    "a-stranger-among-batches": (Rule.FOREIGN, lambda at: (at.root / "runs/.DS_Store").touch()),
    "a-stranger-in-a-batch": (Rule.FOREIGN, lambda at: (at.batch / "notes.txt").touch()),
    "a-stranger-in-an-attempt": (Rule.FOREIGN, lambda at: (at.first / "notes.txt").touch()),
    "a-folder-in-an-attempt": (Rule.FOREIGN, lambda at: (at.first / "more").mkdir()),
    "an-attempt-of-another-name": (Rule.FOREIGN, lambda at: (at.first.parent / "run_9").mkdir()),
    "a-link-in-a-home": (Rule.LINK, lambda at: (at.first / "codex_home/auth.json").symlink_to("/nowhere")),
    "a-job-that-is-a-link": (Rule.LINK, lambda at: (at.batch / "j9").symlink_to("j1")),
    "a-pipe": (Rule.LINK, lambda at: os.mkfifo(at.first / "codex.events.pipe")),
    "half-a-file": (Rule.LEFTOVER, lambda at: (at.first / f"state.json.{GONE_PID}.tmp").touch()),
    "half-a-pointer": (Rule.LEFTOVER, lambda at: (at.pointers.parent / f"current.json.{GONE_PID}.tmp").touch()),
    "no-meta": (Rule.MISSING, lambda at: (at.first / "meta.json").unlink()),
    "no-state": (Rule.MISSING, lambda at: (at.first / "state.json").unlink()),
    "no-batch-meta": (Rule.MISSING, lambda at: (at.batch / "batch_meta.json").unlink()),
    "no-pointers": (Rule.MISSING, lambda at: at.pointers.unlink()),
    "no-manifest": (Rule.MISSING, lambda at: (at.first / ".teamster/manifest.json").unlink()),
    "torn-state": (Rule.UNREADABLE, lambda at: (at.first / "state.json").write_bytes(b'{"status": "succ')),
    "torn-pointers": (Rule.UNREADABLE, lambda at: at.pointers.write_bytes(b"")),
    "torn-batch-meta": (Rule.UNREADABLE, lambda at: (at.batch / "batch_meta.json").write_bytes(b"[]")),
    "a-state-that-contradicts-itself": (Rule.DOCUMENT, lambda at: edit(at.first / "state.json", ended_at=None)),
    "a-meta-without-a-policy": (Rule.DOCUMENT, lambda at: edit(at.first / "meta.json", policy={})),
    "a-report-without-its-fields": (Rule.DOCUMENT, lambda at: edit(at.first / "final.json", status="great")),
    "a-manifest-without-files": (Rule.DOCUMENT, lambda at: edit(at.first / ".teamster/manifest.json", files=[])),
    "a-short-goal": (Rule.DOCUMENT, lambda at: edit(at.batch / "batch_meta.json", batch_goal_summary="soon")),
    "a-prompt-that-was-changed": (
        Rule.DOCUMENT,
        lambda at: at.keep_input({"sha256": sha256(b"do it"), "kind": "prompt", "text": "do something else"}),
    ),
    "an-exit-record-of-another-run": (
        Rule.IDENTITY,
        lambda at: (at.first / ".teamster/exit.json").write_text(
            json.dumps(
                {
                    "run_id": "run_9",
                    "kind": "exited",
                    "exit_code": 0,
                    "started_at": "2026-01-14T17:30:01Z",
                    "ended_at": "2026-01-14T17:30:02Z",
                    "stragglers_ended": 0,
                }
            )
        ),
    ),
    "an-exit-record-that-is-none": (
        Rule.DOCUMENT,
        lambda at: (at.first / ".teamster/exit.json").write_bytes(b'{"run_id": "run_1", "kind": "vanished"}'),
    ),
    "a-document-nested-too-deeply": (
        Rule.UNREADABLE,
        lambda at: (at.first / "handoff.json").write_bytes(b'{"a":' * 100_000),
    ),
    "a-number-that-is-none": (Rule.UNREADABLE, lambda at: (at.first / "handoff.json").write_bytes(b'{"a": NaN}')),
    "words-among-the-prompts": (
        Rule.EVENTS,
        lambda at: at.keep_input("hello"),
    ),
    "a-base-that-is-no-session-store": (
        Rule.BASE,
        lambda at: edit(
            at.second / "meta.json",
            resume_from={
                **json.loads((at.second / "meta.json").read_bytes())["resume_from"],
                "resume_base_dir": "runs/b1/j1/",
            },
        ),
    ),
    "a-step-that-nobody-planned": (
        Rule.IDENTITY,
        lambda at: (at.pointers.parent / "steps/s2").rename(at.pointers.parent / "steps/s9"),
    ),
    "results-in-the-record": (Rule.DOCUMENT, lambda at: edit(at.batch / "batch_meta.json", jobs=[{"job_id": "j1"}])),
    "words-in-the-pointers": (
        Rule.DOCUMENT,
        lambda at: at.point(lambda steps: steps["s1"].update({"blocked_by": "s2"})),
    ),
    "another-runs-meta": (Rule.IDENTITY, lambda at: edit(at.first / "meta.json", run_id="run_2")),
    "another-jobs-pointers": (Rule.IDENTITY, lambda at: edit(at.pointers, job_id="j2")),
    "another-batches-record": (Rule.IDENTITY, lambda at: edit(at.batch / "batch_meta.json", batch_id="b2")),
    "a-job-that-nobody-planned": (Rule.IDENTITY, lambda at: at.pointers.parent.rename(at.batch / "j9")),
    "nobody-runs-it": (
        Rule.UNENDED,
        lambda at: edit(at.retry / "state.json", status="running", ended_at=None, exit_code=None),
    ),
    "a-newer-one-was-started": (
        Rule.LIVE,
        lambda at: edit(at.failed / "state.json", status="running", ended_at=None, exit_code=None, reason=None),
    ),
    "it-can-be-written": (Rule.WRITABLE, lambda at: (at.first / "final.json").chmod(0o644)),
    "it-was-changed": (Rule.MANIFEST, lambda at: append(at.first / "codex.events.jsonl", b"{}\n")),
    "a-file-is-gone": (Rule.MANIFEST, lambda at: (at.first / "codex.events.jsonl").unlink()),
    "a-file-came-late": (Rule.MANIFEST, lambda at: (at.first / "final.txt").touch(0o444)),
    "the-report-is-gone": (Rule.VERDICT, lambda at: (at.first / "final.json").unlink()),
    "the-report-says-failed": (Rule.VERDICT, lambda at: edit(at.first / "final.json", status="failed")),
    "the-verdict-says-failed": (Rule.VERDICT, lambda at: edit(at.first / ".teamster/verdict.json", status="failed")),
    "a-report-that-was-not-valid": (
        Rule.VERDICT,
        lambda at: edit(at.first / ".teamster/verdict.json", report_status=None),
    ),
    "words-in-the-log": (Rule.EVENTS, lambda at: append(at.first / "codex.events.jsonl", b"hello\n")),
    "a-torn-line": (Rule.EVENTS, lambda at: append(at.first / "codex.events.jsonl", b"{}")),
    "a-session-that-grew": (Rule.SESSION, lambda at: append(at.first / "codex_home" / ROLLOUT, b"turn\n")),
    "a-session-that-is-gone": (Rule.SESSION, lambda at: (at.first / "codex_home" / ROLLOUT).unlink()),
    "a-seal-that-was-broken": (Rule.SESSION, lambda at: edit(at.first / ".teamster/session.json", files={})),
    "a-seal-that-is-gone": (Rule.SESSION, lambda at: (at.first / ".teamster/session.json").unlink()),
    "another-base": (
        Rule.BASE,
        lambda at: edit(
            at.second / "meta.json",
            resume_from={
                **json.loads((at.second / "meta.json").read_bytes())["resume_from"],
                "source_session_sha256": "0" * 64,
            },
        ),
    ),
    "a-base-of-another-run": (
        Rule.BASE,
        lambda at: edit(
            at.second / "meta.json",
            parent_run_id="run_3",
            resume_from={**json.loads((at.second / "meta.json").read_bytes())["resume_from"], "run_id": "run_3"},
        ),
    ),
    "the-source-is-gone": (Rule.BASE, lambda at: at.first.rename(at.root / "spool/taken")),
    "a-pointer-at-nothing": (
        Rule.POINTER,
        lambda at: at.point(lambda steps: steps["s1"].update(by_run_id={})),
    ),
    "a-pointer-at-another-place": (
        Rule.POINTER,
        lambda at: at.point(
            lambda steps: steps["s1"]["latest"].update(attempt_dir=steps["s2"]["latest"]["attempt_dir"])
        ),
    ),
    "a-pointer-that-is-behind": (Rule.POINTER, lambda at: at.point(lambda steps: steps.pop("s2"))),
    "a-success-that-is-not-pointed-at": (
        Rule.POINTER,
        lambda at: at.point(lambda steps: steps["s1"].pop("latest_successful")),
    ),
    "a-status-that-is-behind": (
        Rule.POINTER,
        lambda at: at.point(lambda steps: steps["s1"]["by_run_id"]["run_1"].update(status="running")),
    ),
    "an-absolute-pointer": (
        Rule.PATH,
        lambda at: at.point(lambda steps: steps["s1"]["latest"].update(attempt_dir=f"{at.first}/")),
    ),
    "an-absolute-base": (
        Rule.PATH,
        lambda at: edit(
            at.second / "meta.json",
            resume_from={
                **json.loads((at.second / "meta.json").read_bytes())["resume_from"],
                "resume_base_dir": f"{at.first}/codex_home/",
            },
        ),
    ),
    "a-secret-in-the-log": (
        Rule.SECRET,
        lambda at: append(at.first / "codex.events.jsonl", b'{"text": "%s"}\n' % SECRET),
    ),
    "a-secret-in-the-record": (Rule.SECRET, lambda at: edit(at.batch / "batch_meta.json", x_note=SECRET.decode())),
    "a-key-in-the-log": (
        Rule.SECRET,
        lambda at: append(at.first / "codex.events.jsonl", b'{"text": "ghp_%s"}\n' % (b"a1" * 18)),
    ),
    "credentials-in-a-home": (Rule.SECRET, lambda at: (at.first / "codex_home/auth.json").write_bytes(b"{}")),
    "a-secret-in-a-log-of-the-home": (
        Rule.SECRET,
        lambda at: (at.first / "codex_home/agent.log").write_bytes(b"key " + SECRET),
    ),
}
