"""What a person can look at: batches, one batch, one step, one attempt, its logs; as values, for every surface.

May touch the store and the runs store, through their doors, for reading. Must not change anything, print, or format
for one surface.
"""

from teamster.views.batches import BatchRow, list_batches
from teamster.views.finding import Reference, batch_forgotten, find_batch, find_run, find_steps, parse_reference
from teamster.views.logs import follow_log, read_log
from teamster.views.scoreboard import Scoreboard, StepRow, scoreboard
from teamster.views.show import AttemptView, StepView, show_attempt, show_step, step_of
from teamster.views.troubles import Trouble, troubles
from teamster.views.usage import in_words

__all__ = [
    "AttemptView",
    "BatchRow",
    "Reference",
    "Scoreboard",
    "StepRow",
    "StepView",
    "Trouble",
    "batch_forgotten",
    "find_batch",
    "find_run",
    "find_steps",
    "follow_log",
    "in_words",
    "list_batches",
    "parse_reference",
    "read_log",
    "scoreboard",
    "show_attempt",
    "show_step",
    "step_of",
    "troubles",
]
