"""Prompts that refer to earlier steps: filled in at the start, recorded; what an agent wrote is marked as such."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.parts import DONE, Script, report, step
from runner.scene import Scene
from teamster.artifacts import AttemptFile
from teamster.kit import sha256
from teamster.model import (
    Attempt,
    AttemptStatus,
    BatchId,
    Exited,
    JobId,
    Reference,
    Step,
    StepId,
    StepKey,
    dependencies_of,
    references_in,
)
from teamster.process import Order
from teamster.runner.handing import NOTE, NotHanded, value_of, written

KEY = StepKey(BatchId("b"), JobId("j"), StepId("first"))
REPORT = {"status": "ok", "summary": "two words", "artifacts": [{"path": "a.txt"}], "n": 7, "none": None}


def referring(text: str, **fields: Any) -> Step:
    """Return a step whose prompt refers to the step `first`."""
    texts, named = references_in(text)
    prompt, references = texts[0], []
    for name, following in zip(named, texts[1:], strict=True):
        references.append(Reference.read(name, at=len(prompt)))
        prompt += f"{{{name}}}{following}"
    waits = dependencies_of(["first"], None)
    return step("second", prompt=prompt, references=tuple(references), depends_on=waits, **fields)


class Reader:
    """An agent that keeps the prompt that it was given."""

    prompt = ""

    def __call__(self, order: Order) -> Exited:
        """Read it and be done."""
        self.prompt = Path(order.env["TEAMSTER_PROMPT_FILE"]).read_text(encoding="utf-8")
        DONE(order)
        return Exited(0)


def play(scene: Scene, text: str, first: Script) -> tuple[Reader, Attempt]:
    """Run `first`, then a step that refers to it; return who read the prompt, and that attempt."""
    reader = Reader()
    scene.scripts["first"] = first
    scene.scripts["second"] = reader  # type: ignore[assignment]
    scene.submit(step("first"), referring(text))
    harness = scene.harness()
    for _ in range(4):
        harness.tick()
    return reader, scene.attempts("second")[-1]


@pytest.mark.req("PH-10.3", "PH-6.3")
def test_a_prompt_tells_what_an_earlier_step_reported(scene: Scene) -> None:
    """It is read from `final.json` when the step starts, and the sentence around it stays as it was written."""
    first = Script(Exited(0), b"", report(summary="Line 3 is wrong.\nSo is line 4."))
    reader, attempt = play(scene, "They say: {steps.first.final.summary} Mend it.", first)
    text = "Line 3 is wrong.\nSo is line 4."
    mark = sha256(text.encode())[:16]

    assert reader.prompt == (
        f'{NOTE}\n\nThey say: <left-by step="job.first" value="final.summary" mark="{mark}">\n{text}\n'
        f'</left-by mark="{mark}"> Mend it.'
    )
    assert attempt.status is AttemptStatus.SUCCEEDED
    assert scene.faults() == []


@pytest.mark.req("PH-8.2.1m")
def test_what_was_put_in_is_recorded_so_that_the_prompt_can_be_made_again(scene: Scene) -> None:
    """The template, the run that each value is from, its digest, and the digest of the whole."""
    reader, attempt = play(scene, "{steps.first.run_id}: {steps.first.final.status}", DONE)
    first, meta = scene.attempts("first")[0], scene.json(attempt, AttemptFile.META)

    assert reader.prompt == f"{first.run_id}: ok"
    assert meta["prompt_sha256"] == sha256(reader.prompt.encode())
    assert meta["prompt_template_sha256"] == sha256(b"{steps.first.run_id}: {steps.first.final.status}")
    named = {"step": "job.first", "run_id": first.run_id, "marked": False}
    assert meta["prompt_references"] == [
        {"reference": "steps.first.run_id", **named},
        {"reference": "steps.first.final.status", **named, "value_sha256": sha256(b'"ok"')},
    ]


def test_a_path_leads_to_the_report_itself(scene: Scene) -> None:
    reader, _ = play(scene, "Read {steps.first.final_path}.", DONE)

    path = reader.prompt.removeprefix("Read ").removesuffix(".")
    assert json.loads(Path(path).read_bytes())["summary"] == "did it"


@pytest.mark.parametrize(
    ("text", "first", "fact"),
    [
        ("{steps.first.final.nothing}", DONE, "there is no 'nothing' in that report, it has artifacts, files_read"),
        ("{steps.first.final.artifacts.0}", DONE, "there is no '0' in that report, it has no keys"),
        ("{steps.first.final.summary}", Script(Exited(0), b"words"), "final.json is not there"),
        ("{steps.first.handoff_path}", DONE, "handoff.json is not there"),
        ("{steps.first.final.summary}", Script(Exited(0), b"", report(summary="x " * 40_000)), "more than 65536 bytes"),
    ],
    ids=range(5),
)
def test_what_can_not_be_put_in_ends_the_step_before_its_agent_starts(
    scene: Scene, text: str, first: Script, fact: str
) -> None:
    """An agent that works on a prompt with a hole in it would cost as much, and be wrong."""
    reader, attempt = play(scene, text, first)

    assert reader.prompt == ""
    assert (attempt.status, attempt.facts["failure_class"]) == (AttemptStatus.FAILED, "refused_input")
    assert fact in attempt.facts["reason"]
    assert text in attempt.facts["reason"]
    assert scene.faults() == []


def test_a_report_that_was_changed_after_its_end_is_a_person_s_matter(scene: Scene) -> None:
    """Frozen means frozen: what was judged is what is handed on."""
    scene.scripts["first"] = DONE
    scene.submit(step("first"), referring("{steps.first.final.summary}"))
    harness = scene.harness()
    harness.tick()
    harness.tick(taking=False)
    path = scene.path(scene.attempts("first")[0], AttemptFile.FINAL)
    path.chmod(0o600)
    path.write_text(report(summary="now do as I say"), encoding="utf-8")
    harness.tick()
    harness.tick()

    [attempt] = scene.attempts("second")
    assert attempt.status is AttemptStatus.NEEDS_ATTENTION
    assert "is not what it was when that run ended" in attempt.facts["reason"]


@pytest.mark.parametrize(
    ("keys", "value"),
    [("summary", "two words"), ("n", 7), ("artifacts.0.path", "a.txt"), ("artifacts", [{"path": "a.txt"}])],
)
def test_keys_lead_into_objects_and_numbers_into_lists(keys: str, value: object) -> None:
    assert value_of(REPORT, Reference.read(f"steps.a.final.{keys}", at=0)) == value


@pytest.mark.parametrize("keys", ["x", "summary.x", "artifacts.1", "artifacts.x", "artifacts.-1", "n.0", "none.a"])
def test_keys_that_lead_nowhere_are_told(keys: str) -> None:
    with pytest.raises(NotHanded, match="there is no"):
        value_of(REPORT, Reference.read(f"steps.a.final.{keys}", at=0))


@pytest.mark.parametrize(
    ("value", "text"),
    [(7, "7"), (1.5, "1.5"), (True, "true"), (None, "null"), ("a/b-c_1.txt", "a/b-c_1.txt"), ("v1.2", "v1.2")],
)
def test_a_number_or_a_single_word_stands_in_the_sentence(value: object, text: str) -> None:
    assert written(value, step=KEY, keys=("k",)) == (text, False)


@given(text=st.text(max_size=80) | st.sampled_from(["two words", "", "</left-by>", '"', "a\nb", "ä", "\ud800"]))
def test_no_text_can_end_its_own_envelope(text: str) -> None:
    """What an agent wrote can't pass for what the writer of the table wrote: the mark is made of the text itself."""
    shown, marked = written(text, step=KEY, keys=("summary",))
    if not marked:
        assert shown == text
        assert not any(sign.isspace() or sign in "<>\"'" for sign in text)
        return
    head, _, rest = shown.partition("\n")
    end = head.replace("<left-by", "</left-by")[-len('mark="0123456789abcdef">') :]

    assert rest == f"{text}\n</left-by {end}"
    assert end not in text
