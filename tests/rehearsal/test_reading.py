"""Scenarios that people wrote: what is taken, and every problem at once with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from teamster.model import (
    AgentChoice,
    BatchId,
    ExecutionPolicy,
    Job,
    JobId,
    RetryPolicy,
    Step,
    StepId,
    Table,
    TableProblems,
    UsageError,
)
from teamster.rehearsal import Conversation, idle_rules, read_scenario
from teamster.rehearsal.reading import load_scenario
from teamster.rehearsal.scenario import (
    Break,
    Condition,
    Delay,
    Fail,
    InvalidReport,
    Line,
    Report,
    Rule,
    Run,
    Say,
    Scenario,
    Write,
)


def problems(text: str) -> list[str]:
    """Return what is wrong with a scenario, as lines."""
    with pytest.raises(TableProblems) as raised:
        load_scenario(text, "s.yaml")
    return [str(problem) for problem in raised.value.problems]


def test_every_move_is_read() -> None:
    """The whole language in one rule."""
    scenario = load_scenario(
        """
rules:
  - match: docs.*
    attempt: [1, 2]
    moves:
      - say: Hello.
      - run: make test
      - write: {path: a/b.md, content: text}
      - {delay: 1.5, if_seen: error}
      - {fail: {status: 429, message: slow down, retry_after_seconds: 30}, unless_remembered: calm}
      - {fail: {status: 500}, if_remembered: bad}
      - {fail: stream_cut, unless_seen: good}
      - {invalid_report: "{", if_seen: x}
      - report: {status: failed}
""",
        "s.yaml",
    )

    def condition(text: str, *, is_wanted: bool, is_remembered: bool = False) -> tuple[Condition, ...]:
        return (Condition(text=text, is_wanted=is_wanted, is_remembered=is_remembered),)

    assert scenario == Scenario(
        (
            Rule(
                match="docs.*",
                attempts=frozenset({1, 2}),
                lines=(
                    Line(Say("Hello.")),
                    Line(Run("make test")),
                    Line(Write("a/b.md", "text")),
                    Line(Delay(1.5, 1.5), condition("error", is_wanted=True)),
                    Line(Fail(429, "slow down", 30), condition("calm", is_wanted=False, is_remembered=True)),
                    Line(Fail(500, "scripted failure"), condition("bad", is_wanted=True, is_remembered=True)),
                    Line(Break.STREAM_CUT, condition("good", is_wanted=False)),
                    Line(InvalidReport("{"), condition("x", is_wanted=True)),
                    Line(Report({"status": "failed"})),
                ),
            ),
        )
    )


@pytest.mark.parametrize("text", ["", "rules:", "rules: []", "{}"])
def test_an_empty_scenario_is_one(text: str) -> None:
    """Every step then reports that all is well."""
    assert load_scenario(text, "s.yaml") == Scenario()


def test_all_problems_come_at_once_with_line_and_column() -> None:
    """Nobody wants to mend a file one error at a time."""
    found = problems(
        """\
rules:
  - match: docs
    atempt: 2
    moves:
      - sya: hello
      - {say: a, run: b}
      - write: {path: ../x, content: y}
      - delay: soon
      - fail: {status: 418}
      - say: "{seen:(}"
      - say: "{this:name}"
      - report:
      - say: late
"""
    )

    assert found == [
        "s.yaml:2:12: rules[1].match: is 'docs', which names no step (write `job.step`; `*` stands for any)",
        "s.yaml:3:13: rules[1].atempt: is unknown (did you mean `attempt`?)",
        "s.yaml:5:14: rules[1].moves[1].sya: is unknown (did you mean `say`?)",
        (
            "s.yaml:6:9: rules[1].moves[2]: has 2 moves: say, run "
            "(write one of say, run, write, patch, loop, report, delay, fail, invalid_report)"
        ),
        "s.yaml:7:23: rules[1].moves[3].write.path: is '../x' (write the path of a file beneath the working directory)",
        (
            "s.yaml:8:16: rules[1].moves[4].delay: is 'soon' "
            "(write a number of seconds, 86400 at most, or two such as [1, 5])"
        ),
        (
            "s.yaml:9:24: rules[1].moves[5].fail.status: is 418 "
            "(write one of 400, 401, 403, 404, 408, 429, 500, 502, 503, 504, 529)"
        ),
        (
            "s.yaml:10:14: rules[1].moves[6].say: '(' is no regular expression: "
            "missing ), unterminated subpattern at position 0"
        ),
        (
            "s.yaml:11:14: rules[1].moves[7].say: asks for {this:name} "
            "(known are {this:job}, {this:step}, {this:attempt}, {this:call}, {this:random})"
        ),
        "s.yaml:13:9: rules[1].moves[9]: is never reached (nothing comes after the move before it)",
    ]


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        pytest.param("[]", "is no mapping", id="list"),
        pytest.param("rules: 3", "is no list", id="rules"),
        pytest.param("rules: [3]", "is no mapping", id="rule"),
        pytest.param("rules: [{attempt: 0}]", "is 0", id="attempt-zero"),
        pytest.param("rules: [{attempt: true}]", "is True", id="attempt-true"),
        pytest.param("rules: [{moves: x}]", "is no list", id="moves"),
        pytest.param("rules: [{moves: [{if_seen: x}]}]", "has no move", id="condition-alone"),
        pytest.param("rules: [{moves: [x]}]", "is no move", id="move"),
        pytest.param("rules: [{moves: [{say: 3}]}]", "is no text", id="number"),
        pytest.param("rules: [{moves: [{say: }]}]", "is no text", id="no-text"),
        pytest.param('rules: [{moves: [{run: "a\\0b"}]}]', "holds a NUL", id="nul"),
        pytest.param("rules: [{moves: [{write: x}]}]", "is no mapping", id="write"),
        pytest.param("rules: [{moves: [{write: {path: /etc/x}}]}]", "is '/etc/x'", id="absolute"),
        pytest.param("rules: [{moves: [{write: {path: a, contents: b}}]}]", "did you mean `content`", id="content"),
        pytest.param("rules: [{moves: [{delay: -1}]}]", "is -1", id="delay"),
        pytest.param("rules: [{moves: [{delay: [5, 1]}]}]", "is [5, 1]", id="delay-backwards"),
        pytest.param("rules: [{moves: [{delay: [1, 2, 3]}]}]", "two such as [1, 5]", id="delay-of-three"),
        pytest.param("rules: [{chance: 2}]", "write a share from 0 to 1", id="chance"),
        pytest.param("seed: -1", "write a whole number", id="seed"),
        pytest.param("seeds: 1", "did you mean `seed`", id="seeds"),
        pytest.param("rules: [{moves: [{loop: x}, {say: y}]}]", "is never reached", id="after-an-endless-loop"),
        pytest.param("rules: [{moves: [{patch: x}]}]", "is no unified diff", id="no-diff"),
        pytest.param("rules: [{moves: [{patch: }]}]", "is no text", id="empty-diff"),
        pytest.param(r'rules: [{moves: [{patch: "--- a/../x\n+++ b/x\n@@ -1 +1 @@\n"}]}]', "'a/../x'", id="diff-out"),
        pytest.param(r'rules: [{moves: [{patch: "--- x\n+++ x\n@@ -1 +1 @@\n"}]}]', "write `a/FILE`", id="diff-bare"),
        pytest.param("rules: [{moves: [{invalid_report: {a: '{seen:(}'}}]}]", "no regular expression", id="in-fields"),
        pytest.param("rules: [{moves: [{report: ok}]}]", "is no mapping", id="report"),
        pytest.param("rules: [{moves: [{report: {a: ['{seen:(}']}}]}]", "no regular expression", id="deep-in-a-report"),
        pytest.param("rules: [{moves: [{fail: often}]}]", "stream_cut, malformed_json, hang", id="fail"),
        pytest.param("rules: [{moves: [{fail: {retry_after_seconds: -1}}]}]", "whole number", id="reset"),
        pytest.param("rules: [{moves: [{say: a, if_seen: 3}]}]", "is no text", id="condition"),
    ],
)
def test_what_cannot_be_played_is_refused(text: str, fact: str) -> None:
    """Better now than in the middle of a night's rehearsal."""
    assert any(fact in problem for problem in problems(text))


def test_a_file_is_read_and_named(tmp_path: Path) -> None:
    """Problems carry the path that the user typed."""
    path = tmp_path / "mine.yaml"
    path.write_text("rules: [{match: a.b, moves: [{say: hi}]}]", encoding="utf-8")

    assert read_scenario(path).lines_for(Conversation(job_id="a", step_id="b")) == (Line(Say("hi")),)

    path.write_text("rule: []", encoding="utf-8")
    with pytest.raises(TableProblems, match=r"mine\.yaml has 1 problem"):
        read_scenario(path)


def test_a_file_that_cannot_be_read_is_a_plain_error(tmp_path: Path) -> None:
    """No traceback for a typing error."""
    (tmp_path / "binary").write_bytes(b"\xff\xfe\xff")

    with pytest.raises(UsageError, match="no such file"):
        read_scenario(tmp_path / "missing.yaml")
    with pytest.raises(UsageError, match="no text in UTF-8"):
        read_scenario(tmp_path / "binary")


def table_of(*steps: str) -> Table:
    """Return a table of one job, `docs`."""
    made = tuple(
        Step(
            step_id=StepId(name),
            working_directory="/w",
            prompt="Do it.",
            agent=AgentChoice(),
            policy=ExecutionPolicy(),
            timeout_seconds=60.0,
            retry=RetryPolicy(),
        )
        for name in steps
    )
    job = Job(job_id=JobId("docs"), working_directory="/w", steps=made)
    return Table(batch_id=BatchId("b"), goal_summary="goal", jobs=(job,), concurrency=1, source="t.yaml")


def test_a_rule_that_fits_no_step_is_told_with_the_nearest_step() -> None:
    """A slip in a name makes a rehearsal of nothing, and looks like a success."""
    matches = ("docs.outline", "docs.outlin", "*.review", "*", "docs.*", "code.*")
    scenario = load_scenario("rules:\n" + "".join(f"  - match: '{match}'\n" for match in matches), "s.yaml")

    assert idle_rules(scenario, table_of("outline", "build")) == (
        "rules[2].match: docs.outlin fits no step of the table; nearest is docs.outline",
        "rules[3].match: *.review fits no step of the table; nearest is docs.outline",
        "rules[6].match: code.* fits no step of the table; nearest is docs.build",
    )
    assert idle_rules(Scenario(), table_of("outline")) == ()


def test_a_scenario_that_is_not_there_is_told_with_the_nearest_file(tmp_path: Path) -> None:
    """An error without a way out is half an error."""
    (tmp_path / "mine.yaml").touch()
    for name, hint in {"mnie.yaml": f"did you mean {tmp_path / 'mine.yaml'}?", "x": "name a YAML or JSON file"}.items():
        with pytest.raises(UsageError, match="can't be read: no such file or directory") as caught:
            read_scenario(tmp_path / name)
        assert caught.value.hint.startswith(hint)
    with pytest.raises(UsageError) as nowhere:
        read_scenario(tmp_path / "nowhere" / "mine.yaml")
    assert nowhere.value.hint == "check the path"
