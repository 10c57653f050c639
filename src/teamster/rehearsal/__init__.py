"""The scripted model: real agent programs on a real table, without a key, a bill or a network.

May touch its own folder, loopback, clones of working directories, and the signals of a process that serves; starts its
server by what it is given. Must not touch a user's files, know the store, or look at what attempts left behind.
"""

from teamster.rehearsal.clones import Clone, clone_directories, read_clones
from teamster.rehearsal.codex import MODEL_KEY, MODEL_KEY_VARIABLE, codex_arguments
from teamster.rehearsal.conversation import Conversation
from teamster.rehearsal.copying import CloneLimits
from teamster.rehearsal.journal import ModelRequest, read_requests
from teamster.rehearsal.pointing import AGENTS, Pointing
from teamster.rehearsal.reading import idle_rules, read_scenario
from teamster.rehearsal.record import IDLE_SECONDS_MAX
from teamster.rehearsal.scenario import Scenario
from teamster.rehearsal.service import Model, Spawn, find_model, start_model, stop_model
from teamster.rehearsal.serving import serve_model

__all__ = [
    "AGENTS",
    "IDLE_SECONDS_MAX",
    "MODEL_KEY",
    "MODEL_KEY_VARIABLE",
    "Clone",
    "CloneLimits",
    "Conversation",
    "Model",
    "ModelRequest",
    "Pointing",
    "Scenario",
    "Spawn",
    "clone_directories",
    "codex_arguments",
    "find_model",
    "idle_rules",
    "read_clones",
    "read_requests",
    "read_scenario",
    "serve_model",
    "start_model",
    "stop_model",
]
