"""How the tests of pages read pages."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = (
    README,
    ROOT / "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(DOCS.glob("*.md")),
    *sorted(DOCS.glob("decisions/*.md")),
)
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
_LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")


def text_of(page: Path) -> str:
    """Read a page."""
    return page.read_text(encoding="utf-8")


def prose(page: Path) -> str:
    """Return a page without its blocks of code."""
    return _FENCE.sub("", text_of(page))


def blocks(page: Path, language: str) -> list[str]:
    """Return the blocks of one language, in order."""
    return [content for found, content in _FENCE.findall(text_of(page)) if found == language]


def links(page: Path) -> list[str]:
    """Return where a page points, addresses on other machines left out."""
    return [target for target in _LINK.findall(prose(page)) if "://" not in target]


def anchors(page: Path) -> set[str]:
    """Return the names of a page's headings, as a link writes them."""
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in _HEADING.findall(prose(page)))
    return {heading.strip().replace(" ", "-") for heading in kept}


def rows(page: Path, head: str) -> list[list[str]]:
    """Return the cells of the first table whose first column is called so."""
    _, _, rest = text_of(page).partition(f"\n| {head} |")
    lines = rest.split("\n\n", 1)[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
