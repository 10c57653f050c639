"""Paths stay beneath their root: what an agent names is never followed out of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamster.kit import OutsideRoot, open_beneath, paths, read_beneath


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a root with a file, a secret beside it, and every kind of trap."""
    root = tmp_path / "root"
    (root / "folder").mkdir(parents=True)
    (root / "folder" / "file").write_bytes(b"inside")
    (tmp_path / "secret").write_bytes(b"outside")
    (root / "link").symlink_to("folder/file")
    (root / "link-out").symlink_to(tmp_path / "secret")
    (root / "folder-link").symlink_to("folder")
    (root / "folder-out").symlink_to(tmp_path)
    os.mkfifo(root / "fifo")
    return root


@pytest.fixture(params=["at once", "step by step"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Open with the kernel's one call, and as a kernel without it has to."""
    if request.param == "step by step":
        monkeypatch.setattr(paths, "_open_parts", paths.open_step_by_step)


@pytest.mark.parametrize("relative", ["folder/file", "./folder/file", "folder//file", "folder/./file"])
def test_a_file_beneath_is_read(root: Path, relative: str) -> None:
    """However its path is written."""
    assert read_beneath(root, relative, bytes_max=100) == b"inside"


@pytest.mark.parametrize(
    "relative",
    [
        "",
        ".",
        "/",
        "/etc/passwd",
        "//etc/passwd",
        "..",
        "../secret",
        "folder/../../secret",
        "folder/../folder/file",
        "link",
        "link-out",
        "folder-link/file",
        "folder-out/secret",
        "fifo",
        "folder",
        "folder/file/more",
        "folder/file\0",
        "folder/\ud800",
        "folder/" + "x" * 300,
    ],
)
def test_what_leaves_or_is_no_file_is_refused(root: Path, relative: str) -> None:
    """Links within the root too: what they point at may change between look and open. A FIFO would hang us."""
    with pytest.raises(OutsideRoot) as refused:
        open_beneath(root, relative)

    assert refused.value.path == relative


def test_what_is_not_there_is_not_there(root: Path) -> None:
    """Missing is another fact than forbidden."""
    with pytest.raises(FileNotFoundError):
        open_beneath(root, "folder/nothing")
    with pytest.raises(FileNotFoundError):
        open_beneath(root, "nothing/file")


def test_a_device_is_no_file() -> None:
    """Reading it never ends."""
    with pytest.raises(OutsideRoot, match="no regular file"):
        open_beneath(Path("/dev"), "zero")


def test_the_root_itself_may_be_reached_by_a_link(root: Path, tmp_path: Path) -> None:
    """Where the root lies is the operator's choice."""
    (tmp_path / "way").symlink_to(root)

    assert read_beneath(tmp_path / "way", "folder/file", bytes_max=100) == b"inside"


def test_a_file_is_read_up_to_its_bound(root: Path) -> None:
    """One byte more is refused, and said."""
    assert read_beneath(root, "folder/file", bytes_max=6) == b"inside"
    with pytest.raises(OutsideRoot, match="larger than 5 bytes"):
        read_beneath(root, "folder/file", bytes_max=5)


def test_no_descriptor_is_left_open(root: Path) -> None:
    """Neither by a success nor by a refusal."""
    before = len(list(Path("/proc/self/fd").iterdir()))
    os.close(open_beneath(root, "folder/file"))
    for relative in ("link", "fifo", "folder-link/file", "folder/file/more"):
        with pytest.raises(OutsideRoot):
            open_beneath(root, relative)

    assert len(list(Path("/proc/self/fd").iterdir())) == before


@given(relative=st.text(alphabet=st.sampled_from("./a\0é"), max_size=12) | st.text(max_size=12))
def test_no_text_opens_anything_outside(tmp_path_factory: pytest.TempPathFactory, relative: str) -> None:
    """An empty root has nothing to open: whatever the text says, nothing is found."""
    root = tmp_path_factory.getbasetemp() / "empty-root"
    root.mkdir(exist_ok=True)

    with pytest.raises((OutsideRoot, FileNotFoundError)):
        open_beneath(root, relative)
