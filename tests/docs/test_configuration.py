"""The page of the configuration lists what can be set, with the bounds and defaults that hold."""

from __future__ import annotations

import re
from pathlib import Path

from teamster.settings import OPTIONS, ConfigText, Option, Settings, config_problems

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "configuration.md").read_text(encoding="utf-8")


def row(option: Option) -> str:
    """Write an option as a row of the page."""
    usual = getattr(Settings(), option.name)
    shown = "" if usual is None else f"{usual:g}" if isinstance(usual, float) else str(usual)
    taken = "while it runs" if option.reloads else "at the next start"
    return f"| `{option.name}` | {option.range} | {shown} | `{option.variable}` | {option.about} | {taken} |"


def test_each_setting_has_its_row() -> None:
    """And there is no row without a setting."""
    assert re.findall(r"^\| `.*$", PAGE, re.MULTILINE) == [row(option) for option in OPTIONS]


def test_the_example_can_be_taken() -> None:
    """People begin by copying it."""
    (example,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)

    assert config_problems(ConfigText(path="example", content=example.encode())) == ()
