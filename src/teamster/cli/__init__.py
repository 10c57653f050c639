"""The command line: parses what a person typed, calls operations, draws views in a terminal or as JSON.

May touch its terminal and the signals of its process. Must not import store, process or policy, or decide anything.
"""

from teamster.cli.application import Application, Desk, Rehearsal, Site
from teamster.cli.program import run

__all__ = ["Application", "Desk", "Rehearsal", "Site", "run"]
