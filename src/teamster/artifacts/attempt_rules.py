"""The promises of one attempt's directory."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from teamster.artifacts.document_rules import JUDGES, line_fault, parse
from teamster.artifacts.findings import Rule, Tally
from teamster.artifacts.frozen import writable_name
from teamster.artifacts.layout import CODEX_HOME, STAGING, AttemptFile, attempt_name, kept
from teamster.artifacts.root import is_being_written, is_temporary
from teamster.artifacts.sessions import Sealed
from teamster.artifacts.standing import Examined, Standing
from teamster.artifacts.walking import Entry, Kind
from teamster.model import FINAL_ATTEMPT_STATUSES, JsonObject, StepKey

LINE_BYTES_MAX: Final = 32 << 20
CREDENTIALS: Final = f"{CODEX_HOME}/auth.json"
_DOCUMENTS: Final = frozenset(name.value for name in AttemptFile if name.value.endswith(".json"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the rest of the store needs to know about an attempt."""

    directory: str
    step: StepKey
    run_id: str
    started: str
    status: str | None
    ended_at: str | None
    session_sha256: str | None
    resume_from: Mapping[str, Any] | None
    is_live: bool

    @property
    def is_final(self) -> bool:
        """It has ended, by its own `state.json`."""
        return self.status in FINAL_ATTEMPT_STATUSES


@dataclass(slots=True, kw_only=True)
class AttemptRules:
    """Checks one attempt. `is_live`: somebody runs it, so files may be missing and change while we look."""

    standing: Standing
    tally: Tally
    directory: str
    is_live: bool
    files: dict[str, Examined] = field(default_factory=dict)
    documents: dict[str, JsonObject] = field(default_factory=dict)

    def check(self) -> Seen:
        """Read each file once, then judge what they say together."""
        name = attempt_name(self.directory)
        self._read()
        for file, judge in JUDGES.items():
            if file.value in self.documents:
                for rule, fact in judge(self.documents[file.value], name.step, name.run_id):
                    self._add(file.value, rule, fact)
        state, meta = self._document(AttemptFile.STATE), self._document(AttemptFile.META)
        seen = Seen(
            directory=self.directory,
            step=name.step,
            run_id=name.run_id,
            started=name.started,
            status=state.get("status"),
            ended_at=state.get("ended_at"),
            session_sha256=state.get("session_sha256"),
            resume_from=meta["resume_from"] if isinstance(meta.get("resume_from"), Mapping) else None,
            is_live=self.is_live,
        )
        if not self.is_live:
            self._check_end(seen)
        return seen

    def _read(self) -> None:
        """Examine what lies there, and say what may not."""
        session = AttemptFile.SESSION.value
        entries = [entry for entry in self.standing.walk(self.directory) if self._is_kept(entry)]
        # Sealed files must stay byte-identical to be resumed, secrets included: nobody but their owner reads them.
        sealed: set[str] = set()
        for name in sorted((entry.name for entry in entries), key=lambda name: name != session):
            self._examine(name, is_sealed=name in sealed)
            if name == session:
                files = self.documents.get(session, {}).get("files")
                sealed = {f"{CODEX_HOME}/{file}" for file in files} if isinstance(files, Mapping) else set()

    def _is_kept(self, entry: Entry) -> bool:
        """Tell whether an entry is a file to examine; what may not lie there is noted."""
        in_home = entry.name.startswith(f"{CODEX_HOME}/")
        if self.is_live and (in_home or entry.name.startswith(f"{STAGING}/")):
            return False  # the agent's own while it runs: its links to a user's files are removed at the end
        if entry.kind is Kind.OTHER:
            self._add(entry.name, Rule.LINK, "is neither a file nor a folder")
        elif entry.kind is Kind.FILE and not in_home and is_temporary(entry.name):
            if not is_being_written(entry.name):
                self._add(entry.name, Rule.LEFTOVER, "was left by a process that is gone")
        elif kept(f"{self.directory}/{entry.name}" + ("/" if entry.kind is Kind.FOLDER else "")) is None:
            self._add(entry.name, Rule.FOREIGN, "nothing of that name may lie there")
        else:
            return entry.kind is Kind.FILE
        return False

    def _examine(self, name: str, *, is_sealed: bool) -> None:
        in_home = name.startswith(f"{CODEX_HOME}/")
        try:
            examined = self.standing.examine(f"{self.directory}/{name}", forms=not in_home, given=not is_sealed)
        except OSError as error:
            self._add(name, Rule.UNREADABLE, f"can't be read: {error.strerror}")
            return
        if examined is None:
            return
        self.files[name] = replace(examined, content=None)  # one attempt may hold many large files
        self.tally.files += 1
        self.tally.bytes += examined.size_bytes
        if examined.secret is not None:
            self._add(name, Rule.SECRET, f"holds {examined.secret}")
        if name == CREDENTIALS:
            self._add(name, Rule.SECRET, "is a copy of credentials, which never go into a home")
        if name == AttemptFile.EVENTS.value and not self.is_live:
            self._check_events(name, examined)
        if name in _DOCUMENTS:
            try:
                self.documents[name] = parse(examined.content)
            except ValueError as error:
                if not (self.is_live and name == AttemptFile.EXIT.value):  # a shim may be writing it
                    self._add(name, Rule.UNREADABLE, f"is no document: {error}")

    def _check_end(self, seen: Seen) -> None:
        for file in (AttemptFile.META, AttemptFile.STATE):
            if file.value not in self.files:
                self._add(file.value, Rule.MISSING, "every attempt has it")
        if seen.status is not None and not seen.is_final:
            self._add(AttemptFile.STATE.value, Rule.UNENDED, f"says {seen.status}, and nobody runs it")
        if seen.is_final:
            self._check_manifest()
            self._check_modes()
            self._check_report(str(seen.status))
            self._check_session(seen)

    def _check_manifest(self) -> None:
        manifest = AttemptFile.MANIFEST.value
        if manifest not in self.files:
            self._add(manifest, Rule.MISSING, "every attempt that has ended has it")
            return
        listed = self._document(AttemptFile.MANIFEST).get("files")
        if not isinstance(listed, Mapping):
            if manifest in self.documents:
                self._add(manifest, Rule.DOCUMENT, "lists no files")
            return
        found = {writable_name(name): examined for name, examined in self.files.items() if name != manifest}
        for name in sorted(listed.keys() - found.keys()):
            self._add(name, Rule.MANIFEST, "is gone: the manifest lists it")
        is_partial = self._document(AttemptFile.MANIFEST).get("partial") is True and self.standing.is_promised(
            f"{self.directory}/{manifest}"
        )
        for name in () if is_partial else sorted(found.keys() - listed.keys()):
            self._add(name, Rule.MANIFEST, "came after the end: the manifest doesn't list it")
        for name in sorted(listed.keys() & found.keys()):
            if listed[name] != found[name].entry:
                self._add(name, Rule.MANIFEST, "was changed after the end: it doesn't have its digest")

    def _check_modes(self) -> None:
        if self.standing.has_promises(self.directory):
            return  # its files are being delivered, and closed after it
        for name, examined in self.files.items():
            if examined.is_writable:
                self._add(name, Rule.WRITABLE, "can be written, though the attempt has ended")

    def _check_report(self, status: str) -> None:
        verdict, final = self._document(AttemptFile.VERDICT), self._document(AttemptFile.FINAL)
        has_final = AttemptFile.FINAL.value in self.files
        if verdict and verdict.get("status") != status:
            self._add(AttemptFile.VERDICT.value, Rule.VERDICT, f"says {verdict.get('status')}, state.json {status}")
        if "report_status" in verdict:
            said = verdict["report_status"]
            if (said is not None) != has_final:
                fact = f"is {'there' if has_final else 'missing'}, and the verdict says that the report is {said}"
                self._add(AttemptFile.FINAL.value, Rule.VERDICT, fact)
            elif has_final and final.get("status") != said:
                self._add(AttemptFile.FINAL.value, Rule.VERDICT, f"says {final.get('status')}, the verdict {said}")
        if final and status == "succeeded" and final.get("status") != "ok":
            self._add(AttemptFile.FINAL.value, Rule.VERDICT, f"says {final.get('status')}, state.json succeeded")

    def _check_session(self, seen: Seen) -> None:
        name = AttemptFile.SESSION.value
        if seen.session_sha256 is not None and name not in self.files:
            self._add(name, Rule.SESSION, "is missing: state.json names its digest")
        if name not in self.documents:
            return
        try:
            sealed = Sealed.from_json(self.documents[name])
        except ValueError as error:
            self._add(name, Rule.SESSION, str(error))
            return
        if seen.session_sha256 not in {None, sealed.session_sha256}:
            self._add(name, Rule.SESSION, "doesn't have the digest that state.json names")
        for file, entry in sealed.inventory(CODEX_HOME).items():
            found = self.files.get(file)
            if found is None or (found.sha256, found.size_bytes) != entry:
                self._add(file, Rule.SESSION, "is gone" if found is None else "is not what was sealed")

    def _check_events(self, name: str, examined: Examined) -> None:
        content = examined.content
        place = f"{self.directory}/{name}"
        try:
            lines = self.standing.lines(place, bytes_max=LINE_BYTES_MAX) if content is None else io.BytesIO(content)
            fault = line_fault(lines)
        except OSError as error:
            fault = f"can't be read: {error.strerror}"
        if fault is not None:
            self._add(name, Rule.EVENTS, fault)

    def _document(self, file: AttemptFile) -> JsonObject:
        return self.documents.get(file.value, {})

    def _add(self, name: str, rule: Rule, fact: str) -> None:
        self.tally.add(f"{self.directory}/{writable_name(name)}", rule, fact)
