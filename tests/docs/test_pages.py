"""Pages hold together: links lead somewhere, every page can be found, every name on them is one."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from docs.reading import DOCS, PAGES, README, ROOT, anchors, links, prose, rows, text_of
from teamster.settings import KEY_VARIABLES, Settings

INDEX = DOCS / "README.md"
ARCHITECTURE = DOCS / "architecture.md"
GLOSSARY = DOCS / "glossary.md"
FUNCTIONS_SHOWN_MIN = 15
COMMAND_SECONDS_MAX = 60.0


def named(page: Path) -> str:
    """Return a page's path as a test id."""
    return page.relative_to(ROOT).as_posix()


def source_text() -> str:
    """Return all code and all pages but the glossary."""
    files = [*(ROOT / "src").rglob("*.py"), *(page for page in PAGES if page != GLOSSARY)]
    return "\n".join(text_of(path) for path in files).lower()


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_link_between_pages_leads_somewhere(page: Path) -> None:
    """A file that was renamed leaves its readers behind."""
    broken = []
    for link in links(page):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)

    assert broken == []


def test_the_index_links_every_page() -> None:
    """A page that is linked from nowhere is read by nobody."""
    linked = {(INDEX.parent / link.partition("#")[0]).resolve() for link in links(INDEX)}

    assert sorted(named(page) for page in PAGES if page != INDEX and page.resolve() not in linked) == []


def test_the_index_calls_decisions_by_their_titles() -> None:
    """And numbers them as their files do."""
    listed = re.findall(r"^(\d+)\. \[(.*?)\]\((.*?)\)$", text_of(INDEX), re.MULTILINE)

    assert [f"# {number}. {title}" for number, title, _ in listed] == [
        text_of(DOCS / link).splitlines()[0] for _, _, link in listed
    ]


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_files_that_a_page_names_by_their_path_are_there(page: Path) -> None:
    """Names with a placeholder, and those below a root, are not files of ours."""
    folders = ("bench/", "docs/", "examples/", "schemas/", "scripts/", "src/", "tests/")
    paths = [
        word for word in re.findall(r"`([^`\s]+)`", prose(page)) if word.startswith(folders) and "NNNN" not in word
    ]

    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_tests_that_the_map_names_exist() -> None:
    """Who reads that a death is mended wants to see it mended."""
    known = set(re.findall(r"def (test_\w+)\(", "\n".join(text_of(path) for path in (ROOT / "tests").rglob("*.py"))))
    shown = re.findall(r"`(test_\w+)`", text_of(ARCHITECTURE))

    assert shown
    assert sorted(set(shown) - known) == []
    assert [row[0] for row in rows(ARCHITECTURE, "who dies") if "`test_" not in row[-1]] == []


def test_the_functions_that_the_map_names_exist() -> None:
    """An attempt is followed function by function; a renamed one breaks the thread."""
    cells = " ".join(" ".join(row) for row in rows(ARCHITECTURE, "line"))
    words = re.findall(r"`([^`]+)`", cells)
    pairs = [
        (path, name.rpartition(".")[2])
        for path, name in pairwise(words)
        if path.endswith(".py") and re.fullmatch(r"(?:[A-Z]\w+\.)?[a-z_]+", name)
    ]

    assert len(pairs) >= FUNCTIONS_SHOWN_MIN
    assert [pair for pair in pairs if f"def {pair[1]}(" not in text_of(ROOT / "src/teamster" / pair[0])] == []


def test_the_glossary_is_sorted_and_its_words_are_used() -> None:
    """A word that nobody uses is no word of ours."""
    words = [row[0] for row in rows(GLOSSARY, "word")]
    text = source_text()

    assert words == sorted(words)
    assert [word for word in words if not re.search(rf"\b{re.escape(word.lower())}", text)] == []


def test_the_readme_lists_the_commands_that_there_are() -> None:
    """With the program's own help as the witness."""
    shown = [re.findall(r"teamster (\w+)", row[0])[0] for row in rows(README, "command")]
    answer = subprocess.run(
        [sys.executable, "-m", "teamster", "--help"],
        capture_output=True,
        text=True,
        check=True,
        timeout=COMMAND_SECONDS_MAX,
    )
    offered = re.findall(r"^│ ([a-z]+) ", answer.stdout, re.MULTILINE)

    assert sorted(shown) == sorted(offered)


def test_the_readme_says_what_the_settings_say() -> None:
    """A name or a bound in prose goes stale first."""
    text = text_of(README)

    assert f"taken from `{KEY_VARIABLES[0]}`, else from `{KEY_VARIABLES[1]}`." in text
    assert f"nobody comes back for {Settings().orphan_seconds_max:g} seconds" in text
    assert f"At most {Settings().slots} agents run at once (`--slots`)" in text
    assert len(KEY_VARIABLES) == 2


def test_pages_state_no_measured_figure_without_its_results() -> None:
    """Figures come from `bench/results`; where there are none, the README states none."""
    stated = re.findall(r"\b[\d.,]+ (?:jobs|steps|attempts) (?:per|a) second\b|\b[\d.]+ ms\b", text_of(README))

    assert stated == [] or (ROOT / "bench" / "results").is_dir()
