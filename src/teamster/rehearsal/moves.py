"""Read one move of a scenario: what each verb takes."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from teamster.rehearsal.diffs import NOTHING, names_in
from teamster.rehearsal.scenario import (
    Break,
    Delay,
    Fail,
    InvalidReport,
    Loop,
    Move,
    Patch,
    Report,
    Run,
    Say,
    Write,
)
from teamster.rehearsal.yaml_source import Document, Place

DELAY_SECONDS_MAX: Final = 86_400
TEXT_CHARACTERS_MAX: Final = 60_000
"""What fits into one argument of a program on Linux, with room for quotes."""

FAIL_STATUSES: Final = (400, 401, 403, 404, 408, 429, 500, 502, 503, 504, 529)
THIS_NAMES: Final = ("job", "step", "attempt", "call", "random")
PLACEHOLDER: Final = re.compile(r"\{(seen|remembered|this):((?:[^{}]|\{[^{}]*\})+)\}")


def check_names(document: Document, path: Place, value: Mapping[str, Any], names: set[str]) -> None:
    """Report each name of a mapping that nothing is known by, with the nearest that is."""
    for name in value:
        if name not in names:
            near = difflib.get_close_matches(name, sorted(names), n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"known are {', '.join(sorted(names))}"
            document.report((*path, name), "is unknown", hint)


def read_words(document: Document, path: Place, value: Any, *, placeholders: bool = True) -> str:
    """Read a text that is not empty; where it may hold placeholders, check them too."""
    if not isinstance(value, str) or not value:
        document.report(path, "is no text", "put it in quotes" if value is not None else "")
        return ""
    if len(value) > TEXT_CHARACTERS_MAX:
        document.report(path, f"is longer than {TEXT_CHARACTERS_MAX} characters")
    if "\0" in value:
        document.report(path, "holds a NUL, which no shell takes")
    if placeholders:
        _check_placeholders(document, path, value)
    return value


def _check_placeholders(document: Document, path: Place, text: str) -> None:
    for placeholder in PLACEHOLDER.finditer(text):
        if placeholder[1] == "this":
            if placeholder[2] not in THIS_NAMES:
                document.report(
                    path,
                    f"asks for {placeholder[0]}",
                    f"known are {', '.join(f'{{this:{name}}}' for name in THIS_NAMES)}",
                )
            continue
        try:
            re.compile(placeholder[2])
        except re.error as error:
            document.report(path, f"{placeholder[2]!r} is no regular expression: {error}")


def _say(document: Document, path: Place, value: Any) -> Move:
    return Say(read_words(document, path, value))


def _run(document: Document, path: Place, value: Any) -> Move:
    return Run(read_words(document, path, value))


def _write(document: Document, path: Place, value: Any) -> Move | None:
    if not isinstance(value, Mapping):
        document.report(path, "is no mapping", "write `{path: notes.md, content: text}`")
        return None
    check_names(document, path, value, {"path", "content"})
    name = read_words(document, (*path, "path"), value.get("path"))
    if _leads_out(name):
        document.report((*path, "path"), f"is {name!r}", "write the path of a file beneath the working directory")
    content = value.get("content")
    content = "" if content == "" else read_words(document, (*path, "content"), content)
    return Write(name, content)


def _patch(document: Document, path: Place, value: Any) -> Move | None:
    diff = read_words(document, path, value)
    names = names_in(diff)
    if diff and not names:
        document.report(path, "is no unified diff", "write `--- a/FILE`, `+++ b/FILE`, `@@ -1 +1 @@`, and the lines")
    for name in names:
        if name != NOTHING and (_leads_out(name) or not name.startswith(("a/", "b/"))):
            document.report(path, f"changes {name!r}", "write `a/FILE` and `b/FILE`, beneath the working directory")
    return Patch(diff)


def _loop(document: Document, path: Place, value: Any) -> Move:
    return Loop(read_words(document, path, value))


def _delay(document: Document, path: Place, value: Any) -> Move | None:
    ends = value if isinstance(value, list) else [value, value]
    if len(ends) == 2 and all(map(_is_delay, ends)) and ends[0] <= ends[1]:  # noqa: PLR2004 - from and to
        return Delay(float(ends[0]), float(ends[1]))
    hint = f"write a number of seconds, {DELAY_SECONDS_MAX} at most, or two such as [1, 5]"
    document.report(path, f"is {value!r}", hint)
    return None


def _is_delay(value: Any) -> bool:
    return type(value) in {int, float} and math.isfinite(value) and 0 <= value <= DELAY_SECONDS_MAX


def _leads_out(name: str) -> bool:
    return name.startswith("/") or name.endswith("/") or ".." in PurePosixPath(name).parts


def _report(document: Document, path: Place, value: Any) -> Move | None:
    if value is None:
        return Report({})
    if not isinstance(value, Mapping):
        document.report(path, "is no mapping", "write the fields that matter: `{status: ok, summary: done}`")
        return None
    _check_all(document, path, value)
    return Report(value)


def _check_all(document: Document, path: Place, value: Any) -> None:
    if isinstance(value, str):
        _check_placeholders(document, path, value)
    elif isinstance(value, Mapping):
        for name, part in value.items():
            _check_all(document, (*path, name), part)
    elif isinstance(value, list):
        for index, part in enumerate(value):
            _check_all(document, (*path, index), part)


def _invalid_report(document: Document, path: Place, value: Any) -> Move:
    if isinstance(value, Mapping):
        _check_all(document, path, value)
        return InvalidReport(value)
    return InvalidReport("" if value == "" else read_words(document, path, value))


def _fail(document: Document, path: Place, value: Any) -> Move | None:
    if isinstance(value, str) and value in set(Break):
        return Break(value)
    if not isinstance(value, Mapping):
        document.report(path, f"is {value!r}", f"write {', '.join(Break)}, or `{{status: 500, message: text}}`")
        return None
    check_names(document, path, value, {"status", "message", "retry_after_seconds"})
    status = value.get("status", 500)
    if type(status) is not int or status not in FAIL_STATUSES:
        document.report((*path, "status"), f"is {status!r}", f"write one of {', '.join(map(str, FAIL_STATUSES))}")
        return None
    wait = value.get("retry_after_seconds")
    if wait is not None and (type(wait) is not int or not 0 <= wait <= DELAY_SECONDS_MAX):
        document.report((*path, "retry_after_seconds"), f"is {wait!r}", "write a whole number of seconds")
        return None
    message = read_words(document, (*path, "message"), value.get("message", "scripted failure"))
    return Fail(status, message, wait)


MOVES: Final[Mapping[str, Callable[[Document, Place, Any], Move | None]]] = {
    "say": _say,
    "run": _run,
    "write": _write,
    "patch": _patch,
    "loop": _loop,
    "report": _report,
    "delay": _delay,
    "fail": _fail,
    "invalid_report": _invalid_report,
}
