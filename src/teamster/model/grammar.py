"""The grammars of the contract's texts: ids, names that others give, moments."""

from __future__ import annotations

from typing import Final

from teamster.model.ids import ID_PATTERN, ID_RULE
from teamster.model.shapes import TEXT_CHARACTERS_MAX, Text

KEY_CHARACTERS_MAX: Final = 4096
_VISIBLE: Final = r"[^\u0000-\u001f\u007f-\u009f\u2028\u2029]"
_YEAR: Final = r"(?!0000)[0-9]{4}"
_LEAP_YEAR: Final = r"(?!0000)(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
_LONG_MONTH: Final = r"(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
_SHORT_MONTH: Final = r"(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8])"
_TIME: Final = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?"

ID: Final = Text(form="id", pattern=ID_PATTERN.pattern, hint=ID_RULE)
NAME: Final = Text(
    form="name",
    pattern=f"{_VISIBLE}{{1,{TEXT_CHARACTERS_MAX}}}",
    hint=f"1 to {TEXT_CHARACTERS_MAX} characters, none of them a control character",
)
KEY: Final = Text(
    form="key",
    pattern=f"{_VISIBLE}{{1,{KEY_CHARACTERS_MAX}}}",
    hint=f"1 to {KEY_CHARACTERS_MAX} characters, none of them a control character",
)
WORDS: Final = Text(form="text")
MOMENT: Final = Text(  # days that do not exist are no matter of a second check: a schema could not make it
    form="moment",
    pattern=f"(?:{_YEAR}-(?:{_LONG_MONTH}|{_SHORT_MONTH})|{_LEAP_YEAR}-02-29)T{_TIME}(?:Z|\\+00:00)",
    hint="ISO-8601 in UTC, such as 2026-01-14T17:30:00.000000Z, microseconds at most",
)
