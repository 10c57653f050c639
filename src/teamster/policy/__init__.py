"""Pure decisions: what an attempt's facts mean, whether another try follows, which limits hold.

May touch nothing: values in, values out. Must not read the clock, log, or import a room that acts.
"""

from teamster.policy.failure import TREATMENTS, AgentError, FailureClass, Terminal, Treatment
from teamster.policy.report import Report, report_problems, schema_problems
from teamster.policy.retry import GiveUp, Retry, RetryLimits, after_attempt
from teamster.policy.verdict import Facts, Verdict, decide

__all__ = [
    "TREATMENTS",
    "AgentError",
    "Facts",
    "FailureClass",
    "GiveUp",
    "Report",
    "Retry",
    "RetryLimits",
    "Terminal",
    "Treatment",
    "Verdict",
    "after_attempt",
    "decide",
    "report_problems",
    "schema_problems",
]
