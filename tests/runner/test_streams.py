"""An agent's output is read once, whatever it prints, and kept so that anybody can go on from there."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamster.agents import CommandAgent
from teamster.runner.streams import LINE_BYTES_MAX, Stream, as_event, is_readable

SECRET = b"key-0123456789abcdef"


class Spool:
    """A spool and a log in a folder."""

    def __init__(self, folder: Path) -> None:
        self.stdout, self.log = folder / "stdout", folder / "log"

    def write(self, content: bytes) -> None:
        """Print something."""
        with self.stdout.open("ab") as file:
            file.write(content)

    def stream(self, *, lines_kept: int = 0, is_kept: bool = True) -> Stream:
        """Return a reader."""
        return Stream(
            source=self.stdout,
            log=self.log if is_kept else None,
            decoder=CommandAgent().decoder(),
            secrets=(SECRET,),
            lines_kept=lines_kept,
        )

    def kept(self) -> list[dict[str, object]]:
        """Return the lines of the log."""
        return [json.loads(line) for line in self.log.read_bytes().splitlines()]


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    """Give a spool."""
    return Spool(tmp_path)


def test_nothing_was_printed_yet(spool: Spool) -> None:
    """The shim makes the file when the agent starts."""
    stream = spool.stream()

    assert (stream.read(), stream.has_log, stream.reading.events) == (False, False, 0)
    assert not spool.log.exists()


@pytest.mark.req("PH-8.2.1e")
def test_a_line_counts_once_it_is_whole(spool: Spool) -> None:
    """Half a line means something else than the line."""
    stream = spool.stream()
    spool.write(b'{"type": "one"}\n{"type": ')
    assert stream.read()
    assert spool.kept() == [{"type": "one"}]

    spool.write(b'"two"}\n')
    stream.read()

    assert spool.kept() == [{"type": "one"}, {"type": "two"}]
    assert not stream.read()


def test_a_last_line_without_its_end_counts_at_the_end(spool: Spool) -> None:
    """Programs forget the last newline; the log has it, so that the lines can be counted."""
    stream = spool.stream()
    spool.write(b"one\ntwo")

    stream.finish()

    assert [line["text"] for line in spool.kept()] == ["one", "two"]
    assert spool.log.read_bytes().endswith(b"\n")
    assert stream.last_line == b"two"


def test_who_is_no_longer_the_owner_reads_and_keeps_nothing(spool: Spool) -> None:
    """The log is somebody else's by now."""
    stream = spool.stream()
    spool.write(b"one\ntwo\n")

    stream.finish(keeping=False)

    assert stream.reading.events == 2
    assert not spool.log.exists()


def test_without_a_log_the_words_are_heard_all_the_same(spool: Spool) -> None:
    """Orchestration never depends on the event log."""
    stream = spool.stream(is_kept=False)
    spool.write(b"one\n")

    stream.finish()

    assert (stream.reading.last_message, stream.has_log) == ("one", False)


def test_secrets_are_not_kept(spool: Spool) -> None:
    """An agent that prints its environment must not publish the key."""
    spool.write(b'{"env": "%s"}\nplain %s\n' % (SECRET, SECRET))

    spool.stream().finish()

    assert SECRET not in spool.log.read_bytes()
    assert len(spool.kept()) == 2


@pytest.mark.req("PH-8.2.1e")
@pytest.mark.parametrize("length", [LINE_BYTES_MAX - 1, LINE_BYTES_MAX, LINE_BYTES_MAX + 1, 2 * LINE_BYTES_MAX])
def test_a_line_longer_than_any_buffer_is_cut_at_the_same_places_however_it_was_read(spool: Spool, length: int) -> None:
    """An adopter counts the lines that were kept: read in other pieces, they must be the same lines."""
    spool.write(b"x" * length + b"\nlast\n")
    at_once, in_pieces = spool.stream(), spool.stream(is_kept=False)
    while at_once.read(bytes_max=3 * LINE_BYTES_MAX):
        pass
    while in_pieces.read(bytes_max=777_777):
        pass

    assert at_once._lines_read == in_pieces._lines_read == len(spool.kept())
    assert spool.kept()[-1]["text"] == "last"
    assert sum(len(str(line["text"])) for line in spool.kept()[:-1]) == length


@given(st.lists(st.binary(max_size=40), max_size=12), st.integers(1, 50))
def test_an_adopter_goes_on_where_the_log_ends(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], at: int
) -> None:
    """Wherever the first reader died, each line is kept once, in its order."""
    whole = Spool(tmp_path_factory.mktemp("whole"))
    whole.write(b"\n".join(lines))
    whole.stream().finish()
    torn = Spool(tmp_path_factory.mktemp("torn"))
    torn.write(b"\n".join(lines))
    first = torn.stream()
    first.read(bytes_max=at)
    kept = len(torn.kept()) if torn.log.exists() else 0

    torn.stream(lines_kept=kept).finish()

    assert torn.log.exists() == whole.log.exists()
    if whole.log.exists():
        assert torn.log.read_bytes() == whole.log.read_bytes()


@pytest.mark.parametrize(
    "line",
    [
        b"plain",
        b"",
        b"[1, 2]",
        b'"text"',
        b'{"torn": ',
        b"\xff\xfe",
        b"{" * 100_000,
        b'{\x00"\x00a\x00"\x00:\x001\x00}\x00',
    ],
    ids=["plain", "empty", "list", "string", "torn", "no utf-8", "nested too deeply", "utf-16"],
)
def test_what_is_no_json_object_is_quoted(line: bytes) -> None:
    """The log is JSON Lines for every reader, whatever a program prints."""
    event = as_event(line)

    assert event.count(b"\n") == 1
    value = json.loads(event.decode())
    assert value["type"] == "teamster.output"


def test_an_event_is_kept_as_it_came() -> None:
    """The agent's own words are never edited."""
    line = b'{ "type":"item",  "n": 1.50 }'

    assert as_event(line) == line + b"\n"


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_an_agent_put_in_the_place_of_its_output_is_not_read(spool: Spool, kind: str) -> None:
    """A pipe would hold the harness for ever, a link would show it somebody else's file."""
    (spool.stdout.parent / "secret").write_bytes(b"secret\n")
    if kind == "link":
        spool.stdout.symlink_to("secret")
    elif kind == "pipe":
        os.mkfifo(spool.stdout)
    else:
        spool.stdout.mkdir()

    stream = spool.stream()
    stream.finish()

    assert stream.reading.events == 0
    assert not is_readable(spool.stdout)
