"""Plays tables on the scripted model, in a folder of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from acceptance.playing import TEAMSTER, Played, play

GOAL = " ".join(["This batch shows what becomes of a base when others go on from it."] * 12)


class Rehearse:
    """Plays a table in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "root.rehearsal"

    def __call__(self, jobs: list[Any], rules: list[Any], **policy: Any) -> Played:
        """Play it to its end; `policy` is what the table says for all its steps."""
        (self.folder / "work").mkdir()
        policy = {"skip_git_repo_check": True, "sandbox": "read-only", **policy}
        table = {"batch_goal_summary": GOAL, "working_root": "work", "execution_policy": policy, "jobs": jobs}
        (self.folder / "table.json").write_text(json.dumps(table), encoding="utf-8")
        return self.again(rules)

    def again(self, rules: list[Any]) -> Played:
        """Go on with it, as other rules may say."""
        (self.folder / "scenario.yaml").write_text(json.dumps({"rules": rules}), encoding="utf-8")
        argv = [*TEAMSTER, "rehearse", "table.json", "--scenario", "scenario.yaml", "--root", "root"]
        return play(argv, cwd=self.folder, root=self.root)
