"""Decides what becomes of stalled items: another try, or the end.

May touch the store, through its door. Must not call the runner: the two meet only through the store.
"""

from teamster.scheduler.scheduler import Scheduler, after_stall

__all__ = ["Scheduler", "after_stall"]
