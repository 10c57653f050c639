"""What an attempt changed in its working directory, seen without running anything that an agent could have written.

May touch git, through the process room, with a git directory of its own; reads the repository's files as data.
Must not write into the repository, or read its configuration as git would: an agent can put programs there.
"""

from teamster.workspace.git import Tools
from teamster.workspace.observing import Workspaces
from teamster.workspace.values import Baseline, ChangeKind, FileChange, Limits, WorkspaceFacts

__all__ = ["Baseline", "ChangeKind", "FileChange", "Limits", "Tools", "WorkspaceFacts", "Workspaces"]
