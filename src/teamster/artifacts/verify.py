"""Walks a runs store and checks every promise that files alone can show. Reads, and changes nothing."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import Final

from teamster.artifacts.attempt_rules import LINE_BYTES_MAX, AttemptRules, Seen
from teamster.artifacts.configuration import config_faults
from teamster.artifacts.document_rules import line_fault, parse
from teamster.artifacts.faults import batch_meta_faults
from teamster.artifacts.findings import Report, Rule, Tally
from teamster.artifacts.frozen import writable_name
from teamster.artifacts.job_rules import JobRules
from teamster.artifacts.layout import (
    EVIDENCE,
    RUNS,
    SYSTEM,
    batch_folder,
    batch_meta_path,
    control_path,
    inputs_path,
    job_folder,
    kept,
)
from teamster.artifacts.root import Root, is_being_written, is_temporary
from teamster.artifacts.standing import Examined, Standing
from teamster.artifacts.walking import Entry, Kind
from teamster.kit import sha256
from teamster.model import BatchId, JobId, JsonObject

REMOVED: Final = "removed"


def verify(
    root: Root,
    *,
    promised: Mapping[str, bytes] | None = None,
    live: frozenset[str] = frozenset(),
    secrets: tuple[bytes, ...] = (),
    elsewhere: frozenset[BatchId] = frozenset(),
) -> Report:
    """Check what lies under `runs/`.

    `promised` are rows of the outbox that may not be delivered, by path the newest content: they count as if they lay
    on the disk. `live` are the directories of attempts that the store says run now: their files may be incomplete.
    `secrets` must occur in no kept file, sealed sessions aside. `elsewhere` are batches whose record lies beneath
    another root that shares the queue.

    Raises:
        WorldError: a folder can't be read.
    """
    return _Verification(root, promised=promised or {}, live=live, secrets=secrets, elsewhere=elsewhere).run()


class _Verification:
    """One walk. It holds the attempts of one job at a time."""

    def __init__(
        self,
        root: Root,
        *,
        promised: Mapping[str, bytes],
        live: frozenset[str],
        secrets: tuple[bytes, ...],
        elsewhere: frozenset[BatchId],
    ) -> None:
        self._elsewhere = elsewhere
        self._standing = Standing(root, promised=promised, secrets=secrets)
        self._live = frozenset(directory.rstrip("/") for directory in live)
        self._met: set[str] = set()
        self._config_versions: set[str] = set()
        self._tally = Tally()

    def run(self) -> Report:
        """Go through all batches."""
        self._check_system(f"{RUNS}/{SYSTEM}")
        for entry in self._lawful(RUNS):
            if entry.kind is Kind.FOLDER and entry.name != SYSTEM:
                self._check_batch(BatchId(entry.name))
        for directory in sorted(self._live - self._met):
            self._tally.add(directory, Rule.MISSING, "the store says that it runs, and its directory is not there")
        return self._tally.report()

    def _check_system(self, folder: str) -> None:
        """Check what a harness was set to, and note the versions that batches may name."""
        for entry in self._standing.walk(folder):
            path = f"{folder}/{entry.name}"
            if not self._is_lawful(path, entry.kind) or entry.kind is not Kind.FILE:
                continue
            examined = self._examine(path)
            value = None if examined is None else self._parse(path, examined)
            if value is None:
                continue
            for fault in config_faults(value):
                self._tally.add(path, Rule.DOCUMENT, fault)
            version = str(value.get("harness_config_version"))
            if "/" in entry.name and entry.name.rpartition("/")[2] == f"{version}.json":
                self._config_versions.add(version)
            elif "/" in entry.name:
                self._tally.add(path, Rule.IDENTITY, f"harness_config_version is {version}")

    def _check_batch(self, batch_id: BatchId) -> None:
        folder = batch_folder(batch_id)
        planned = self._check_batch_meta(batch_id)
        removed = self._check_evidence(batch_id)
        rules = JobRules(standing=self._standing, tally=self._tally, removed=removed)
        for entry in self._lawful(folder):
            if entry.kind is Kind.FOLDER and entry.name != EVIDENCE:
                job_id = JobId(entry.name)
                if planned is not None and job_id not in planned:
                    self._tally.add(f"{folder}/{job_id}", Rule.IDENTITY, "batch_meta.json has no such job")
                steps = None if planned is None else planned.get(job_id)
                rules.check(batch_id, job_id, self._attempts(batch_id, job_id, steps))

    def _check_batch_meta(self, batch_id: BatchId) -> dict[str, set[str]] | None:
        """Check the record of a submission, and return its jobs with their steps."""
        path = batch_meta_path(batch_id)
        examined = self._examine(path)
        if examined is None:
            if batch_id not in self._elsewhere:
                self._tally.add(path, Rule.MISSING, "every batch has it")
            return None
        value = self._parse(path, examined)
        if value is None:
            return None
        faults = batch_meta_faults(value)
        for fault in faults:
            self._tally.add(path, Rule.DOCUMENT, fault)
        if value.get("batch_id") != batch_id:
            self._tally.add(path, Rule.IDENTITY, f"batch_id is {value.get('batch_id')}, and it lies under {batch_id}")
        if faults:
            return None
        if value["harness_config_version"] not in self._config_versions:
            self._tally.add(path, Rule.MISSING, f"configuration {value['harness_config_version']} is not kept")
        return {str(job["job_id"]): {str(step["step_id"]) for step in job["steps"]} for job in value["jobs"]}

    def _check_evidence(self, batch_id: BatchId) -> frozenset[str]:
        """Check what lies beside the jobs, and return what retention has removed."""
        folder = f"{batch_folder(batch_id)}/{EVIDENCE}"
        for entry in self._standing.walk(folder):
            path = f"{folder}/{entry.name}"
            if self._is_lawful(path, entry.kind) and entry.kind is Kind.FILE:
                examined = self._examine(path)
                if examined is not None and path.endswith(".jsonl") and "/" not in entry.name:
                    self._check_lines(path, examined)
                if examined is not None and path == inputs_path(batch_id):
                    self._check_inputs(path, examined.content or b"")
        return self._removed(control_path(batch_id))

    def _check_inputs(self, path: str, content: bytes) -> None:
        """Look at prompts and schemas: each lies under the hash of its text, by which attempts name it."""
        for number, line in enumerate(content.splitlines(), 1):
            try:
                value = parse(line)
            except ValueError:
                continue  # told already
            if value.get("sha256") != sha256(str(value.get("text")).encode("utf-8", "surrogatepass")):
                self._tally.add(path, Rule.DOCUMENT, f"line {number}: its text doesn't have the digest sha256")

    def _removed(self, path: str) -> frozenset[str]:
        try:
            examined = self._standing.examine(path)
        except OSError:
            return frozenset()  # told already
        content = b"" if examined is None or examined.content is None else examined.content
        removed = set()
        for line in content.splitlines():
            try:
                value = parse(line)
            except ValueError:
                continue  # told already
            if value.get("event") == REMOVED and isinstance(value.get("path"), str):
                removed.add(value["path"].rstrip("/"))
        return frozenset(removed)

    def _attempts(self, batch_id: BatchId, job_id: JobId, planned: set[str] | None) -> list[Seen]:
        """Check the attempts of one job."""
        seen: list[Seen] = []
        for _ in self._lawful(job_folder(batch_id, job_id)):
            pass  # `current.json` is read with the attempts
        steps = f"{job_folder(batch_id, job_id)}/steps"
        for step in self._lawful(steps):
            if step.kind is not Kind.FOLDER:
                continue
            if planned is not None and step.name not in planned:
                self._tally.add(f"{steps}/{step.name}", Rule.IDENTITY, "batch_meta.json has no such step")
            for _ in self._lawful(f"{steps}/{step.name}"):
                pass
            attempts = f"{steps}/{step.name}/attempts"
            folders = [entry.name for entry in self._lawful(attempts) if entry.kind is Kind.FOLDER]
            seen += [self._check_attempt(f"{attempts}/{name}") for name in folders]
        return seen

    def _check_attempt(self, directory: str) -> Seen:
        self._met.add(directory)
        self._tally.attempts += 1
        rules = AttemptRules(
            standing=self._standing, tally=self._tally, directory=directory, is_live=directory in self._live
        )
        return rules.check()

    def _lawful(self, folder: str) -> Iterator[Entry]:
        """Yield what may lie in a folder; the rest is noted."""
        for entry in self._standing.listing(folder):
            if self._is_lawful(f"{folder}/{entry.name}", entry.kind):
                yield entry

    def _is_lawful(self, path: str, kind: Kind) -> bool:
        if kind is Kind.OTHER:
            self._tally.add(writable_name(path), Rule.LINK, "is neither a file nor a folder")
        elif kind is Kind.FILE and is_temporary(path):
            if not is_being_written(path):
                self._tally.add(writable_name(path), Rule.LEFTOVER, "was left by a process that is gone")
        elif kept(f"{path}/" if kind is Kind.FOLDER else path) is None:
            self._tally.add(writable_name(path), Rule.FOREIGN, "nothing of that name may lie there")
        else:
            return True
        return False

    def _examine(self, path: str) -> Examined | None:
        try:
            examined = self._standing.examine(path)
        except OSError as error:
            self._tally.add(path, Rule.UNREADABLE, f"can't be read: {error.strerror}")
            return None
        if examined is not None:
            self._tally.files += 1
            self._tally.bytes += examined.size_bytes
            if examined.secret is not None:
                self._tally.add(path, Rule.SECRET, f"holds {examined.secret}")
        return examined

    def _parse(self, path: str, examined: Examined) -> JsonObject | None:
        try:
            return parse(examined.content)
        except ValueError as error:
            self._tally.add(path, Rule.UNREADABLE, f"is no document: {error}")
            return None

    def _check_lines(self, path: str, examined: Examined) -> None:
        content = examined.content
        try:
            lines = self._standing.lines(path, bytes_max=LINE_BYTES_MAX) if content is None else io.BytesIO(content)
            fault = line_fault(lines)
        except OSError as error:
            fault = f"can't be read: {error.strerror}"
        if fault is not None:
            self._tally.add(path, Rule.EVENTS, fault)
