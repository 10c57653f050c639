"""Carries one attempt after the other from its claim to its recorded end, and takes over what dead runners left.

May touch the doors below it. Must not decide which item may run: it meets the scheduler only through the store.
"""

from teamster.runner.crew import Crew, Happened
from teamster.runner.delivery import Delivery
from teamster.runner.drafting import Circumstances
from teamster.runner.logins import LoginBroker, Logins, renew_by_program
from teamster.runner.recovery import Recovery
from teamster.runner.runner import Runner
from teamster.runner.shift import ShiftOnDuty, ShiftPlaces

__all__ = [
    "Circumstances",
    "Crew",
    "Delivery",
    "Happened",
    "LoginBroker",
    "Logins",
    "Recovery",
    "Runner",
    "ShiftOnDuty",
    "ShiftPlaces",
    "renew_by_program",
]
