"""Files that are too large to be held are read in pieces, and judged all the same."""

from __future__ import annotations

import hashlib

import pytest

from artifacts.samples import Writer
from teamster.artifacts import AttemptFile, Rule, attempt_file
from teamster.artifacts.attempt_rules import AttemptRules
from teamster.artifacts.findings import Tally
from teamster.artifacts.standing import PIECE_BYTES, Standing
from teamster.kit import append

SECRET = b"correct-horse-battery"


def in_pieces(writer: Writer) -> Standing:
    return Standing(writer.root, promised={}, secrets=(SECRET,), whole_bytes_max=4096)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param(SECRET, "a secret that the run was given", id="given"),
        pytest.param(b"sk-" + b"a1B2" * 10, "what looks like an API key", id="by-its-form"),
        pytest.param(b"sk-no-key", None, id="no-key"),
    ],
)
def test_a_secret_across_two_pieces_is_seen(writer: Writer, text: bytes, told: str | None) -> None:
    path = attempt_file(writer.attempts[0].directory, AttemptFile.EVENTS)
    before = writer.root.at(path).read_bytes()
    content = before + b'{"text": "' + b" " * (PIECE_BYTES - len(before) - 20) + text + b'"}\n'
    writer.root.at(path).chmod(0o600)
    writer.root.at(path).write_bytes(content)
    examined = in_pieces(writer).examine(path)

    assert examined is not None
    assert examined.secret == told
    assert examined.content is None
    assert examined.entry == {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}


@pytest.mark.parametrize(("line", "rules"), [(b'{"type": "x"}\n', set()), (b"hello\n", {Rule.EVENTS})])
def test_a_large_log_is_read_line_by_line(writer: Writer, line: bytes, rules: set[Rule]) -> None:
    directory = writer.attempts[0].directory
    append(writer.root.at(attempt_file(directory, AttemptFile.EVENTS)), line * 1000)
    tally = Tally()
    AttemptRules(standing=in_pieces(writer), tally=tally, directory=directory, is_live=False).check()

    assert {finding.rule for finding in tally.found} - {Rule.MANIFEST} == rules


def test_a_document_of_any_size_is_not_taken_for_one(writer: Writer) -> None:
    """What doesn't fit into memory is none of ours."""
    directory = writer.attempts[0].directory
    place = writer.root.at(attempt_file(directory, AttemptFile.META))
    place.chmod(0o600)
    place.write_bytes(b"{}" + b" " * 5000)
    tally = Tally()
    AttemptRules(standing=in_pieces(writer), tally=tally, directory=directory, is_live=False).check()

    assert Rule.UNREADABLE in {finding.rule for finding in tally.found}
