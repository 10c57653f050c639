"""What a person can ask for: submit, work, cancel, retry, verify; each verb a module of its own.

May touch store, artifacts and the rooms that act, through their doors. Must not print, prompt or format for a surface.
"""

from teamster.operations.admission import Admission
from teamster.operations.agents import AgentView, check_agents, check_programs, list_agents, sandboxes_of
from teamster.operations.cancel import cancel
from teamster.operations.config import Configuration, configuration, find_config, read_config
from teamster.operations.control import Control
from teamster.operations.harness import Harness, Opened, defaults_of
from teamster.operations.init import Initialised, init
from teamster.operations.paths import straight
from teamster.operations.rehearse import rehearsed, serve_scenario
from teamster.operations.reloading import Reloading
from teamster.operations.retry import retry
from teamster.operations.roots import RootChoice, choose_root, require_root
from teamster.operations.submit import Submitted, submit
from teamster.operations.verify import verify
from teamster.operations.work import Worked, work

__all__ = [
    "Admission",
    "AgentView",
    "Configuration",
    "Control",
    "Harness",
    "Initialised",
    "Opened",
    "Reloading",
    "RootChoice",
    "Submitted",
    "Worked",
    "cancel",
    "check_agents",
    "check_programs",
    "choose_root",
    "configuration",
    "defaults_of",
    "find_config",
    "init",
    "list_agents",
    "read_config",
    "rehearsed",
    "require_root",
    "retry",
    "sandboxes_of",
    "serve_scenario",
    "straight",
    "submit",
    "verify",
    "work",
]
