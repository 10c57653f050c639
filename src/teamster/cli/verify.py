"""`teamster verify`: whether everything is as promised."""

from __future__ import annotations

import typer
from rich.markup import escape

from teamster.cli.application import JsonOption, RootOption, application_of
from teamster.cli.console import counted, out, print_json, say_root
from teamster.cli.explain import EXIT_OK, EXIT_UNSUCCESSFUL
from teamster.kit import printable
from teamster.operations import verify as verify_root


def verify(context: typer.Context, *, root: RootOption = None, json: JsonOption = False) -> None:
    """Check every file and record of a root against what is promised; change nothing. Exit code 1: not clean."""
    site = application_of(context).look(root)
    say_root(site.choice, as_json=json)
    report = verify_root(site.harness)
    if json:
        print_json({"root": str(site.choice.path), **report.to_json()})
    else:
        for finding in report.findings:
            out().print(
                f"[red]{escape(finding.rule)}[/] {escape(printable(finding.path))}: {escape(printable(finding.fact))}",
                soft_wrap=True,
            )
        number = len(report.findings) + report.findings_more
        verdict = "clean" if report.is_clean else counted(number, "finding")
        out().print(f"{verdict}: {counted(report.attempts, 'attempt')}, {counted(report.files, 'file')}")
    raise typer.Exit(EXIT_OK if report.is_clean else EXIT_UNSUCCESSFUL)
