"""What every benchmark program has in common: its options, its figures, and how they are shown and kept.

A figure stands beside a floor that was measured in the same run on the same machine, so that the ratio means
something on any machine. A target that is missed is reported; it fails nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from teamster.kit import document, iso, write_snapshot

ROOT: Final = Path(__file__).resolve().parents[2]
RESULTS: Final = ROOT / "bench" / "results"
SCRATCH: Final = ROOT / ".cache" / "bench"  # on a real disk: a temporary folder in memory would flatter us
RESULT_MODE: Final = 0o644  # results are read by anybody, unlike what a harness keeps


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured number. `floor` is what it is compared with; `target` is the least ratio that satisfies."""

    name: str
    value: float
    unit: str
    floor: float | None = None
    target: float | None = None

    def __post_init__(self) -> None:
        if self.target is not None and not self.floor:
            raise ValueError(f"{self.name}: a target is a ratio to a floor, and there is none")

    @property
    def ratio(self) -> float | None:
        """The value as a part of the floor."""
        return self.value / self.floor if self.floor else None

    @property
    def met(self) -> bool | None:
        """Whether the target is reached; None without one."""
        return None if self.target is None or self.ratio is None else self.ratio >= self.target

    def to_json(self) -> dict[str, Any]:
        """Write it for programs; numbers keep four digits that mean something."""
        return {
            "value": rounded(self.value),
            "unit": self.unit,
            "floor": rounded(self.floor),
            "ratio": rounded(self.ratio),
            "target": self.target,
            "met": self.met,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a benchmark program was asked for."""

    quick: bool
    json: bool
    write: bool
    folder: Path


def read_options(description: str, arguments: Sequence[str]) -> Options:
    """Read the options that every benchmark program has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="take under 50 seconds")
    parser.add_argument("--json", action="store_true", help="print one JSON object: figure name to its facts")
    parser.add_argument("--write", action="store_true", help=f"keep the figures in {RESULTS.relative_to(ROOT)}/")
    parser.add_argument(
        "--folder", type=Path, default=SCRATCH, help="where to work; its disk is part of what is measured"
    )
    found = parser.parse_args(arguments)
    return Options(quick=found.quick, json=found.json, write=found.write, folder=found.folder.resolve())


def publish(program: str, figures: Sequence[Figure], *, options: Options, results: Path = RESULTS) -> None:
    """Print the figures as they were asked for, and keep them if that was asked for."""
    facts = {figure.name: figure.to_json() for figure in figures}
    if options.write:
        results.mkdir(exist_ok=True)
        whole = {"program": program, "quick": options.quick, "machine": machine(), "figures": facts}
        write_snapshot(results / f"{program}.json", document(whole), mode=RESULT_MODE)
    if options.json:
        print(json.dumps(facts))
    else:
        Console().print(as_table(program, figures))


def as_table(program: str, figures: Sequence[Figure]) -> Table:
    """Lay the figures out for a person."""
    table = Table(title=program, title_justify="left")
    table.add_column("figure", no_wrap=True)
    for heading in ("value", "floor", "ratio", "target"):
        table.add_column(heading, justify="right")
    table.add_column("met")
    for figure in figures:
        table.add_row(
            figure.name,
            f"{rounded(figure.value)} {figure.unit}",
            "" if figure.floor is None else f"{rounded(figure.floor)} {figure.unit}",
            "" if figure.ratio is None else f"{figure.ratio:.3f}",
            "" if figure.target is None else f">= {figure.target}",
            {None: "", True: "yes", False: "no"}[figure.met],
        )
    return table


def machine() -> dict[str, Any]:
    """Say on what the figures were measured, without naming the machine."""
    return {
        "measured_at": iso(datetime.now(UTC)),
        "cpus": os.cpu_count(),
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "python": platform.python_version(),
    }


def rounded(number: float | None) -> float | None:
    """Keep four digits."""
    return None if number is None else float(f"{number:.4g}")
