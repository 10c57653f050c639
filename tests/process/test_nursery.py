"""What a shim decides and writes, without a process; the rest is seen from outside, in the tests of the host."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from process.stage import until
from teamster.kit import from_iso
from teamster.process import nursery
from teamster.process.nursery import (
    Lease,
    Link,
    carries,
    children_of,
    iso_now,
    open_carriers,
    pack,
    read_stat,
    write_json,
)

EXECS = 200


@given(st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"])))
def test_texts_are_written_as_json(text: str) -> None:
    """The record of a failed start quotes what the system said, about names that anybody may choose."""
    written = write_json({"fact": text, "count": 3, "seconds": 1.5})

    assert json.loads(written) == {"fact": text, "count": 3, "seconds": 1.5}
    assert written.isascii()
    assert written.endswith(b"}\n")


def test_what_json_cannot_hold_becomes_a_question_mark() -> None:
    """A name with bytes that are no UTF-8 must not cost the record."""
    assert json.loads(write_json({"fact": os.fsdecode(b"a\xffb\xf0\x9f\x90\x91")})) == {"fact": "a?b?"}


def test_moments_are_written_as_the_contract_wants_them() -> None:
    """UTC, microseconds, `Z`: without the modules that know how."""
    now = iso_now()

    assert from_iso(now).tzinfo is not None
    assert len(now) == len("2026-01-14T17:30:00.000000Z")
    assert now.endswith("Z")


@pytest.fixture
def control(tmp_path: Path) -> Path:
    """Return a control file that names the deadline file `mine`."""
    (tmp_path / "mine").write_text("100.0\n")
    control = tmp_path / "control"
    control.write_text(f"{tmp_path}/mine\n")
    return control


def test_a_lease_is_over_at_its_deadline(control: Path) -> None:
    """The deadline moves on as long as somebody renews."""
    lease = Lease(bytes(control))

    assert not lease.is_over(99.9)
    assert lease.is_over(100.0)
    control.with_name("mine").write_text("200.0")
    assert not lease.is_over(199.0)


@pytest.mark.parametrize("content", [None, "", "soon", "nan"], ids=["missing", "empty", "no-number", "nan"])
def test_an_unreadable_deadline_leaves_the_last_one(control: Path, content: str | None) -> None:
    """A disk that fails for a moment kills nobody, and a file that was removed makes nobody immortal."""
    lease = Lease(bytes(control))
    before = lease.is_over(50.0)

    control.with_name("mine").unlink()
    if content is not None:
        control.with_name("mine").write_text(content)

    assert not before
    assert not lease.is_over(99.0)
    assert lease.is_over(101.0)


def test_without_any_deadline_nobody_is_ended(tmp_path: Path) -> None:
    """The hard deadline of the attempt still holds."""
    assert not Lease(bytes(tmp_path / "control")).is_over(1e12)


def test_a_replaced_control_file_names_another_deadline(control: Path) -> None:
    """That is how an adopter takes over: the old deadline may have passed."""
    lease = Lease(bytes(control))
    before = lease.is_over(150.0)
    control.with_name("yours").write_text("200.0")

    control.write_bytes(bytes(control.with_name("yours")))

    assert before
    assert not lease.is_over(150.0)


@given(st.lists(st.binary(max_size=300), max_size=6), st.integers(min_value=1, max_value=64))
def test_frames_arrive_however_they_are_cut(contents: list[bytes], size: int) -> None:
    """A socket knows no messages; orders with long prompts come in pieces."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        link = Link(theirs.fileno())
        stream = b"".join(pack(("run", content)) for content in contents)
        found = []
        for start in range(0, len(stream), size):
            ours.sendall(stream[start : start + size])
            link.receive()
            while (frame := link.next_frame()) is not None:
                found.append(frame)
        ours.close()
        link.receive()

    assert found == [("run", content) for content in contents]
    assert not link.is_open


def test_a_report_to_nobody_is_noticed() -> None:
    """Then the record has to be flushed: it is the only one who tells."""
    ours, theirs = socket.socketpair()
    ours.close()
    with theirs:
        link = Link(theirs.fileno())
        link.send(("ended", "a", b""))

    assert not link.is_open


def test_a_programs_name_cannot_forge_its_facts(tmp_path: Path) -> None:
    """The line in /proc quotes nothing."""
    program = tmp_path / "x) R 1 1"
    nonce = f"forged-{os.getpid()}"
    program.symlink_to("/bin/sleep")
    pid = os.posix_spawn(program, [str(program), "1000"], {"TEAMSTER_NONCE": nonce})

    stat = read_stat(pid)

    assert stat is not None
    assert stat[1] == os.getpid()
    assert pid in children_of(os.getpid())
    carriers = open_carriers(nonce)
    assert list(carriers) == [pid]
    os.close(carriers[pid])
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    assert read_stat(pid) is None


def test_a_process_in_the_middle_of_an_exec_is_seen_to_carry() -> None:
    """A vfork's parent goes on before the new memory has an environment: an empty one there proves nothing."""
    missed = 0
    for number in range(EXECS):
        mark = f"TEAMSTER_NONCE=exec-{os.getpid()}-{number}"
        pid = os.posix_spawn("/bin/sleep", ["sleep", "1000"], dict([mark.split("=")]))
        missed += not carries(pid, mark.encode())
        os.kill(pid, 9)
        os.waitpid(pid, 0)

    assert missed == 0


def test_an_empty_environment_carries_nothing() -> None:
    """Nor does a process that is gone."""
    pid = os.posix_spawn("/bin/sleep", ["sleep", "1000"], {})

    assert not carries(pid, b"TEAMSTER_NONCE=a")
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    assert not carries(pid, b"TEAMSTER_NONCE=a")


def test_a_nursery_without_shims_leaves_when_it_is_told_to() -> None:
    """SIGTERM is how a service manager ends what is left of a unit."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", nursery.__file__, str(theirs.fileno())], pass_fds=[theirs.fileno()]
        )
        until(lambda: caught(process.pid, 15), "the nursery listens")
        process.terminate()

        assert process.wait() == 0


def caught(pid: int, number: int) -> bool:
    """Tell whether a process has a handler for a signal."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    return False
