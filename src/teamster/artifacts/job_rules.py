"""The promises of a job: one live attempt per step, pointers that resolve, bases that are what was resumed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from teamster.artifacts.attempt_rules import Seen
from teamster.artifacts.current import pointers_faults
from teamster.artifacts.document_rules import is_relative, parse
from teamster.artifacts.findings import Rule, Tally
from teamster.artifacts.layout import AttemptFile, attempt_file, attempt_name, codex_home, current_path, job_folder
from teamster.artifacts.sessions import Sealed
from teamster.artifacts.standing import Standing
from teamster.model import BatchId, JobId, JsonObject

DIGESTS_KNOWN_MAX: Final = 4096


@dataclass(slots=True, kw_only=True)
class JobRules:
    """Checks jobs, one after the other. `removed` are the directories that retention took away."""

    standing: Standing
    tally: Tally
    removed: frozenset[str]
    _digests: dict[str, str | None] = field(default_factory=dict)

    def check(self, batch_id: BatchId, job_id: JobId, attempts: Sequence[Seen]) -> None:
        """Judge the attempts of one job together, and against its `current.json`."""
        steps: dict[str, list[Seen]] = {}
        for seen in attempts:
            steps.setdefault(seen.step.step_id, []).append(seen)
        for found in steps.values():
            self._check_one_live(found)
            for seen in found:
                if seen.resume_from is not None:
                    self._check_base(seen, seen.resume_from)
        if attempts:
            self._check_pointers(batch_id, job_id, steps)

    def _check_one_live(self, attempts: Sequence[Seen]) -> None:
        """Look for attempts that have not ended: at most one, the newest."""
        open_ones = [seen for seen in attempts if seen.status is not None and not seen.is_final]
        newest = max(seen.started for seen in attempts)
        for seen in open_ones:
            if len(open_ones) > 1:
                self.tally.add(seen.directory, Rule.LIVE, f"is one of {len(open_ones)} that have not ended")
            elif seen.started < newest:
                self.tally.add(seen.directory, Rule.LIVE, "has not ended, and a newer one was started")

    def _check_base(self, seen: Seen, source: Mapping[str, Any]) -> None:
        """Compare what `meta.json` says was resumed with what its own attempt sealed."""
        path = attempt_file(seen.directory, AttemptFile.META)
        place = source.get("resume_base_dir")
        if not is_relative(place):
            return  # told already
        directory = str(place).rstrip("/").removesuffix("/codex_home")
        try:
            name = attempt_name(directory)
        except ValueError:
            self.tally.add(path, Rule.BASE, f"resume_base_dir {place!r} is not the session store of an attempt")
            return
        if (name.step.step_id, name.run_id) != (source.get("step_id"), source.get("run_id")):
            self.tally.add(path, Rule.BASE, f"resume_base_dir is not of run {source.get('run_id')}")
        if directory in self.removed:
            return
        if not self.standing.is_folder(directory):
            self.tally.add(path, Rule.BASE, f"{directory} is gone, and nothing says that it was removed")
        elif self._digest(directory) != source.get("source_session_sha256") and seen.status == "succeeded":
            self.tally.add(path, Rule.BASE, f"source_session_sha256 is not what {name.run_id} sealed")

    def _digest(self, directory: str) -> str | None:
        """Return the digest of the session that an attempt sealed; its own files are checked where it is visited."""
        if directory not in self._digests:
            if len(self._digests) >= DIGESTS_KNOWN_MAX:
                self._digests.clear()
            self._digests[directory] = self._read_digest(directory)
        return self._digests[directory]

    def _read_digest(self, directory: str) -> str | None:
        try:
            examined = self.standing.examine(attempt_file(directory, AttemptFile.SESSION), forms=False, given=False)
            return None if examined is None else Sealed.from_json(parse(examined.content)).session_sha256
        except (OSError, ValueError):
            return None

    def _check_pointers(self, batch_id: BatchId, job_id: JobId, steps: Mapping[str, Sequence[Seen]]) -> None:
        path = current_path(batch_id, job_id)
        value = self._current(path)
        if value is None:
            return
        if (value.get("batch_id"), value.get("job_id")) != (batch_id, job_id):
            self.tally.add(path, Rule.IDENTITY, f"is of job {value.get('job_id')} of batch {value.get('batch_id')}")
        if self.standing.has_promises(job_folder(batch_id, job_id)) and not self.standing.is_promised(path):
            return  # it is derived from the store, after the promised files were delivered
        for step_id in sorted(value["steps"].keys() - steps.keys()):
            runs = value["steps"][step_id]["by_run_id"].values()
            self._check_gone(path, (str(run["attempt_dir"]) for run in runs))
        for step_id, attempts in steps.items():
            if step_id in value["steps"]:
                self._check_step(path, value["steps"][step_id], attempts)
            elif any(not seen.is_live for seen in attempts):
                self.tally.add(path, Rule.POINTER, f"lacks step {step_id}, which has attempts")

    def _current(self, path: str) -> JsonObject | None:
        try:
            examined = self.standing.examine(path)
            if examined is None:
                if not self.standing.has_promises(path.rpartition("/")[0]):
                    self.tally.add(path, Rule.MISSING, "every job with an attempt has it")
                return None
            self.tally.files += 1
            self.tally.bytes += examined.size_bytes
            value = parse(examined.content)
        except (OSError, ValueError) as error:
            self.tally.add(path, Rule.UNREADABLE, f"is no document: {error}")
            return None
        faults = pointers_faults(value)
        for fault in faults:
            self.tally.add(path, Rule.DOCUMENT, fault)
        return None if faults else value

    def _check_step(self, path: str, step: JsonObject, attempts: Sequence[Seen]) -> None:
        by_run_id, found = step["by_run_id"], {seen.run_id: seen for seen in attempts}
        for seen in attempts:
            if seen.run_id in by_run_id:
                self._check_run(path, by_run_id[seen.run_id], seen)
            elif not seen.is_live:
                self.tally.add(path, Rule.POINTER, f"by_run_id lacks {seen.run_id}")
        self._check_gone(path, (str(by_run_id[run_id]["attempt_dir"]) for run_id in by_run_id.keys() - found.keys()))
        self._check_newest(path, "latest", step["latest"], [seen for seen in attempts if seen.run_id in by_run_id])
        successes = [seen for seen in attempts if seen.status == "succeeded" and not seen.is_live]
        if "latest_successful" in step and step["latest_successful"]["run_id"] in by_run_id:
            self._check_newest(path, "latest_successful", step["latest_successful"], successes)
        elif "latest_successful" in step or successes:
            self.tally.add(path, Rule.POINTER, "latest_successful and by_run_id disagree")

    def _check_run(self, path: str, run: JsonObject, seen: Seen) -> None:
        self._check_place(path, run, seen)
        if not seen.is_live and (run["status"], run["ended_at"]) != (seen.status, seen.ended_at):
            fact = f"says that {seen.run_id} is {run['status']} since {run['ended_at']}, state.json {seen.status}"
            self.tally.add(path, Rule.POINTER, fact)

    def _check_newest(self, path: str, name: str, pointer: JsonObject, attempts: Sequence[Seen]) -> None:
        """Compare a pointer with the newest attempts; those of the same second have no order in their names."""
        newest = max((seen.started for seen in attempts), default=None)
        pointed = next((seen for seen in attempts if seen.run_id == pointer["run_id"]), None)
        if pointed is not None:
            self._check_place(path, pointer, pointed)
        if attempts and (pointed is None or pointed.started != newest):
            self.tally.add(path, Rule.POINTER, f"{name} is {pointer['run_id']}, which is not the newest")

    def _check_place(self, path: str, pointer: JsonObject, seen: Seen) -> None:
        for name, place in (
            ("attempt_dir", f"{seen.directory}/"),
            ("resume_base_dir", f"{codex_home(seen.directory)}/"),
        ):
            if not is_relative(pointer[name]):
                self.tally.add(path, Rule.PATH, f"{name} {pointer[name]!r} is not relative to the root")
            elif pointer[name] != place:
                self.tally.add(path, Rule.POINTER, f"{name} of {seen.run_id} is {pointer[name]}, it lies in {place}")

    def _check_gone(self, path: str, places: Iterable[str]) -> None:
        for place in sorted(places):
            if place.rstrip("/") not in self.removed:
                self.tally.add(path, Rule.POINTER, f"{place} is not there")
