"""What `verify` found: which promise is broken, where, and the fact that shows it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from teamster.model import JsonObject

FINDINGS_MAX: Final = 1000


class Rule(StrEnum):
    """The promises that files alone can show."""

    FOREIGN = "foreign"  # only names of KEPT lie in the store
    LINK = "link"  # only regular files and folders do
    LEFTOVER = "leftover"  # what a death between write and rename left is swept
    MISSING = "missing"  # what must be there is there
    UNREADABLE = "unreadable"  # a document is JSON, and can be read
    DOCUMENT = "document"  # it says what it must, and nothing that contradicts it
    IDENTITY = "identity"  # it names the batch, job, step and run of the place where it lies
    UNENDED = "unended"  # an attempt that nobody runs has ended
    LIVE = "live"  # one attempt of a step at a time, the newest
    WRITABLE = "writable"  # terminal means closed for writing
    MANIFEST = "manifest"  # each file of an ended attempt is listed, and has the digest of its list
    VERDICT = "verdict"  # `final.json` is there when the verdict says so, and agrees with `state.json`
    EVENTS = "events"  # a log is JSON Lines
    SESSION = "session"  # a sealed session still has its digests
    BASE = "base"  # what was resumed is what its source sealed
    POINTER = "pointer"  # `current.json` resolves and agrees with the attempts
    AGREEMENT = "agreement"  # a database of the same store says the same; checked by who knows both
    PATH = "path"  # kept paths are relative to the root
    SECRET = "secret"  # noqa: S105 - a rule's name


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Finding:
    """One broken promise. `path` is relative to the root."""

    path: str
    rule: Rule
    fact: str

    def __str__(self) -> str:
        """Write it as one line."""
        return f"{self.path}: {self.rule}: {self.fact}"

    def to_json(self) -> JsonObject:
        """Write it for programs."""
        return {"path": self.path, "rule": self.rule.value, "fact": self.fact}


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a runs store holds, and which promises it breaks. `findings_more` were found and left out."""

    findings: tuple[Finding, ...]
    attempts: int
    files: int
    bytes: int
    findings_more: int = 0

    @property
    def is_clean(self) -> bool:
        """Every promise that was checked holds."""
        return not self.findings

    def to_json(self) -> JsonObject:
        """Write it for programs."""
        return {
            "clean": self.is_clean,
            "attempts": self.attempts,
            "files": self.files,
            "bytes": self.bytes,
            "findings": [finding.to_json() for finding in self.findings],
            "findings_more": self.findings_more,
        }


@dataclass(slots=True)
class Tally:
    """Collects what is found: all counted, at most `FINDINGS_MAX` kept."""

    found: list[Finding] = field(default_factory=list)
    more: int = 0
    attempts: int = 0
    files: int = 0
    bytes: int = 0

    def add(self, path: str, rule: Rule, fact: str) -> None:
        """Note a broken promise."""
        if len(self.found) < FINDINGS_MAX:
            self.found.append(Finding(path=path, rule=rule, fact=fact))
        else:
            self.more += 1

    def report(self) -> Report:
        """Say what was found."""
        return Report(
            findings=tuple(sorted(self.found)),
            attempts=self.attempts,
            files=self.files,
            bytes=self.bytes,
            findings_more=self.more,
        )
