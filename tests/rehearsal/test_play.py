"""What the model does next: it follows from the script and the conversation alone."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from teamster.rehearsal.conversation import Conversation
from teamster.rehearsal.play import Answer, Call, Turn, decide
from teamster.rehearsal.reading import load_scenario
from teamster.rehearsal.reports import Unplayable
from teamster.rehearsal.responses import Responses
from teamster.rehearsal.scenario import Break, Fail
from teamster.rehearsal.tools import COMMAND_WAIT_MILLISECONDS

SHELL = {
    "type": "function",
    "name": "exec_command",
    "parameters": {"type": "object", "properties": {"cmd": {}, "yield_time_ms": {}}},
}
WHO = Conversation(job_id="docs", step_id="outline", attempt_number=2)


class Dialogue:
    """A conversation that goes on: what the script answers, and what the world says to it."""

    def __init__(self, moves: str, *, schema: Any = None, seed: int = 0) -> None:
        scenario = load_scenario(f"{{seed: {seed}, rules: [{{moves: {moves}}}]}}", "s.yaml")
        self._lines = scenario.lines_for(WHO)
        self._draw = scenario.draw
        self._items: list[dict[str, Any]] = []
        self._schema = schema

    def asks(self, prompt: str) -> Turn:
        """Say something to the model and return its answer."""
        self._items.append({"type": "message", "role": "user", "content": prompt})
        return self._next()

    def ran(self, output: str) -> Turn:
        """Give the output of the command that it called for, and return its answer."""
        self._items.append({"type": "function_call_output", "output": output})
        return self._next()

    def _next(self) -> Turn:
        body: dict[str, Any] = {"input": self._items, "tools": [SHELL]}
        if self._schema is not None:
            body["text"] = {"format": {"type": "json_schema", "schema": self._schema}}
        turn = decide(self._lines, Responses().read(body, {}), WHO, self._draw)
        self._items += [{"type": "message", "role": "assistant", "content": text} for text in turn.said]
        if isinstance(turn.ending, Call):
            self._items.append({"type": "function_call", "name": turn.ending.name})
        elif isinstance(turn.ending, Answer):
            self._items.append({"type": "message", "role": "assistant", "content": turn.ending.text})
        return turn


def command(turn: Turn) -> str:
    """Return the command of a turn."""
    assert isinstance(turn.ending, Call)
    assert turn.ending.name == "exec_command"
    return str(turn.ending.arguments["cmd"])


def report(turn: Turn) -> Any:
    """Return the report of a turn."""
    assert isinstance(turn.ending, Answer)
    return json.loads(turn.ending.text)


def test_moves_are_made_one_after_the_other() -> None:
    """Each request plays on from where the conversation shows the script to be."""
    dialogue = Dialogue("[{say: one}, {delay: 2}, {run: ls}, {say: two}, {run: pwd}, {report: {summary: done}}]")

    first = dialogue.asks("go")
    second = dialogue.ran("a b")
    third = dialogue.ran("/x")

    assert (first.said, first.delay_seconds, command(first)) == (("one",), 2.0, "ls")
    assert (second.said, second.delay_seconds, command(second)) == (("two",), 0.0, "pwd")
    assert report(third)["summary"] == "done"


def test_a_script_that_ends_without_a_report_gets_a_good_one() -> None:
    """The usual end needs no line."""
    dialogue = Dialogue("[{run: ls}]")
    dialogue.asks("go")

    assert report(dialogue.ran("a"))["summary"] == "Rehearsal of docs.outline, attempt 2."


def test_the_next_prompt_begins_the_script_anew() -> None:
    """A resumed conversation holds the moves of the step before; they don't count for this one."""
    dialogue = Dialogue("[{run: ls}, {report: {summary: done}}]")
    dialogue.asks("first")
    dialogue.ran("a")

    assert command(dialogue.asks("second")) == "ls"


def test_conditions_decide_about_a_move_by_what_was_seen() -> None:
    """And they stay decided: what came later doesn't move the place in the script."""
    dialogue = Dialogue(
        "[{run: make test}, {run: fix, if_seen: FAILED}, {run: publish, unless_seen: FAILED}, {report: }]"
    )
    dialogue.asks("go")

    assert command(dialogue.ran("1 FAILED")) == "fix"
    assert report(dialogue.ran("fixed"))["status"] == "ok"


def test_a_move_that_was_skipped_then_stays_skipped() -> None:
    """The command's own output holds the word that it waited for; it was not there when the script decided."""
    dialogue = Dialogue("[{run: a, if_seen: magic}, {run: b}, {run: c}, {report: }]")

    assert command(dialogue.asks("go")) == "b"
    assert command(dialogue.ran("magic")) == "c"


def test_only_earlier_turns_are_remembered() -> None:
    """`seen` holds this turn too, `remembered` doesn't."""
    dialogue = Dialogue(r"""[{report: {summary: 'seen {seen:word (\w+)}, remembered {remembered:word (\w+)}'}}]""")

    assert report(dialogue.asks("word one"))["summary"] == (r"seen one, remembered [nothing remembered of word (\w+)]")
    assert report(dialogue.asks("word two"))["summary"] == "seen two, remembered one"


def test_placeholders_take_the_last_match_and_name_the_attempt() -> None:
    """Without a group the whole match, in every text of a move."""
    dialogue = Dialogue(r"""[{run: 'echo {seen:v\d+} {this:job} {this:step} {this:attempt} {x} {seen:a{2}}'}]""")

    assert command(dialogue.asks("v1 v2 aa")) == "echo v2 docs outline 2 {x} aa"


def test_a_remembered_fact_can_decide_too() -> None:
    """What a resumed step does may depend on what the first one was told."""
    dialogue = Dialogue("[{fail: {status: 500}, unless_remembered: lantern}, {report: }]")

    assert dialogue.asks("the word is lantern").ending == Fail(500, "scripted failure")
    assert report(dialogue.asks("and?"))["status"] == "ok"


def test_a_file_is_written_by_a_command_that_any_shell_takes(tmp_path: Path) -> None:
    """Exact to the byte, whatever stands in it."""
    text = 'it\'s "$HOME" `x` \\n %s\n\ttab\n'
    dialogue = Dialogue(json.dumps([{"write": {"path": "a b/c'd.md", "content": text}}]))

    subprocess.run(["sh", "-c", command(dialogue.asks("go"))], cwd=tmp_path, check=True)

    assert (tmp_path / "a b" / "c'd.md").read_text(encoding="utf-8") == text


def test_a_file_may_be_empty_and_begin_with_a_dash(tmp_path: Path) -> None:
    """Names that a program could take for an option."""
    dialogue = Dialogue("[{write: {path: -n, content: ''}}]")

    subprocess.run(["sh", "-c", command(dialogue.asks("go"))], cwd=tmp_path, check=True)

    assert (tmp_path / "-n").read_bytes() == b""


def test_a_command_that_is_not_done_is_waited_for() -> None:
    """The agent gave control back too early; no move of the script is spent on it."""
    dialogue = Dialogue("[{run: sleep 60}, {report: {summary: done}}]")
    dialogue.asks("go")

    waiting = dialogue.ran("Process running with session ID 12\nOutput:\n")

    assert waiting.ending == Call(
        name="write_stdin",
        arguments={"session_id": 12, "chars": "", "yield_time_ms": COMMAND_WAIT_MILLISECONDS},
    )
    assert report(dialogue.ran("Process exited with code 0"))["summary"] == "done"


DIFF = """\
--- a/src/tally.sh
+++ b/src/tally.sh
@@ -9,3 +9,3 @@
 it's first
-second
+zweite {this:step}
 third
--- /dev/null
+++ b/new.md
@@ -0,0 +1 @@
+hello"""


@pytest.mark.parametrize("is_in_a_repository", [True, False])
def test_a_patch_changes_files_wherever_the_agent_works(tmp_path: Path, *, is_in_a_repository: bool) -> None:
    """Line numbers may be wrong; a repository further up does not make its paths mean something else."""
    if is_in_a_repository:
        subprocess.run(["git", "init", "-q", tmp_path], check=True)
    work = tmp_path / "work"
    (work / "src").mkdir(parents=True)
    (work / "src" / "tally.sh").write_text("it's first\nsecond\nthird\n", encoding="utf-8")

    asked = command(Dialogue(json.dumps([{"patch": DIFF}])).asks("go"))
    subprocess.run(["sh", "-c", asked], cwd=work, check=True)

    assert (work / "src" / "tally.sh").read_text(encoding="utf-8") == "it's first\nzweite outline\nthird\n"
    assert (work / "new.md").read_text(encoding="utf-8") == "hello\n"


def test_a_loop_never_ends_and_can_be_new_each_time() -> None:
    """How a guard against agents that go round in circles is rehearsed: both the dull circle and the clever one."""
    dialogue = Dialogue("[{run: first}, {loop: 'try {this:call} {this:random}'}]")
    dialogue.asks("go")

    tried = [command(dialogue.ran("no")).split() for _ in range(50)]

    assert [int(number) for _, number, _ in tried] == list(range(2, 52))
    assert len({word for _, _, word in tried}) == 50


def test_a_loop_with_a_condition_goes_on_until_it_holds_no_more() -> None:
    """As an agent does that tries until the tests pass."""
    dialogue = Dialogue("[{loop: make test, unless_seen: PASSED}, {run: git diff}, {report: }]")

    assert command(dialogue.asks("go")) == "make test"
    assert command(dialogue.ran("FAILED")) == "make test"
    assert command(dialogue.ran("PASSED")) == "git diff"
    assert report(dialogue.ran("none"))["status"] == "ok"


def test_what_is_drawn_follows_from_the_seed() -> None:
    """A rehearsal that failed can be played again exactly; another seed plays another one."""
    moves = "[{delay: [1, 5]}, {run: 'echo {this:random}'}]"
    one, again, other = (Dialogue(moves, seed=seed).asks("go") for seed in (7, 7, 8))

    assert one == again
    assert one.delay_seconds != other.delay_seconds
    assert 1 <= one.delay_seconds <= 5
    assert command(one) != command(other)


def test_a_report_can_be_wrong_on_purpose_field_by_field() -> None:
    """What a model sends that has misread the form."""
    turn = Dialogue("[{invalid_report: {status: fine, who: '{this:job}'}}]").asks("go")

    assert report(turn) == {"status": "fine", "who": "docs"}


@pytest.mark.parametrize("kind", list(Break))
def test_an_answer_can_break_off(kind: Break) -> None:
    """Whatever was to be said is said before."""
    turn = Dialogue(f"[{{say: well}}, {{fail: {kind}}}]").asks("go")

    assert turn == Turn(ending=kind, said=("well",))


def test_a_bad_report_is_sent_only_on_purpose() -> None:
    """A slip in the scenario is not a rehearsal of a bad report."""
    with pytest.raises(Unplayable, match=r"docs\.outline, attempt 2 does not fit the output schema: status"):
        Dialogue("[{report: {status: fine}}]").asks("go")

    assert Dialogue('[{invalid_report: \'{"status": "fine"}\'}]').asks("go").ending == Answer(text='{"status": "fine"}')


@pytest.mark.parametrize(
    ("schema", "fact"),
    [
        pytest.param({"type": "no such type"}, "is no JSON schema", id="no-schema"),
        pytest.param({"$ref": "#/x"}, "no report can be made", id="unfillable"),
    ],
)
def test_a_schema_that_cannot_be_served_is_told(schema: Any, fact: str) -> None:
    """The author of the table learns it in rehearsal."""
    with pytest.raises(Unplayable, match=fact):
        Dialogue("[]", schema=schema).asks("go")
