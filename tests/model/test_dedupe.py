"""Dedupe keys: equal work gives equal text, other work another one, and the text reads back."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.records import PATIENT, ids
from teamster.model import (
    WORKFLOW_COMMANDS,
    BatchId,
    DedupeScope,
    JobId,
    PlanWork,
    PromptWork,
    StepId,
    StepKey,
    StepWork,
    UsageError,
    Work,
    dedupe_key,
    work_of,
)

STEP = StepKey(BatchId("tour"), JobId("docs"), StepId("write"))
awkward = st.text("/:%#. aé\U0001f600+2F", min_size=1, max_size=6)
numbers = st.integers(0, 3)
optional_ids = st.none() | ids
steps = st.builds(
    lambda batch, job, step, generation: StepWork(
        step=StepKey(BatchId(batch), JobId(job), StepId(step)), generation=generation
    ),
    ids, ids, ids, st.integers(1, 2**53 - 1),
)  # fmt: skip
prompts = st.builds(PromptWork, inbox_path=awkward, drop=ids)
wide: dict[str, Any] = {
    "workflow_command": st.sampled_from(WORKFLOW_COMMANDS),
    "role": st.none() | awkward,
    "runtime": st.none() | awkward,
}
plans = st.one_of(
    st.builds(PlanWork, scope=st.just(DedupeScope.REPO), repo_id=awkward, **wide),
    st.builds(PlanWork, scope=st.just(DedupeScope.EPIC), repo_id=st.none() | awkward, epic_id=ids, **wide),
    st.builds(
        PlanWork,
        scope=st.just(DedupeScope.PLAN),
        repo_id=st.none() | awkward,
        epic_id=optional_ids,
        plan_id=ids,
        plan_iteration=st.none() | numbers,
        **wide,
    ),
)
works = steps | prompts | plans


@pytest.mark.req("DC-enq", "DC-rec")
@settings(**PATIENT)
@given(works)
def test_a_key_reads_back(work: Work) -> None:
    """An operator can see from the key alone which work it is."""
    assert work_of(dedupe_key(work)) == work


@pytest.mark.req("DC-enq")
@settings(**PATIENT)
@given(works, works)
def test_no_two_works_have_one_key(one: Work, other: Work) -> None:
    """The second would be answered with the first one's record, and never be done."""
    assert (dedupe_key(one) == dedupe_key(other)) == (one == other)


@settings(**PATIENT)
@given(
    st.text(max_size=30)
    | st.text("plnstepromt:/%2F01aA", max_size=30).map(lambda rest: f"step:{rest}")
    | st.lists(st.sampled_from(["", "plan", "a", "1", "01", "%2f", "%FF", "\u0663", "code"]), max_size=9).map(
        lambda parts: f"plan:{'/'.join(parts)}"
    )
)
def test_whatever_is_read_as_a_key_is_written_alike(text: str) -> None:
    """Another spelling of the same parts would be another key for the same work."""
    with contextlib.suppress(UsageError):
        assert dedupe_key(work_of(text)) == text


@pytest.mark.parametrize(
    ("work", "key"),
    [
        (StepWork(step=STEP, generation=2), "step:tour/docs/write/2"),
        (PromptWork(inbox_path="shop/fix it.prompt.md", drop="9f2c"), "prompt:shop%2Ffix%20it.prompt.md/9f2c"),
        (
            PlanWork(
                scope=DedupeScope.PLAN,
                repo_id="acme/shop",
                epic_id="02-pay",
                plan_id="01-cart",
                plan_iteration=3,
                workflow_command="review",
                role="plan-reviewer",
                runtime="cursor",
            ),
            "plan:plan/acme%2Fshop/02-pay/01-cart/3/review/plan-reviewer/cursor",
        ),
        (PlanWork(scope=DedupeScope.REPO, repo_id="shop", workflow_command="plan"), "plan:repo/shop////plan//"),
    ],
)  # fmt: skip
def test_the_texts_are_these(work: Work, key: str) -> None:
    """They are kept in databases and written by other programs: another way of writing would be other work."""
    assert dedupe_key(work) == key


@pytest.mark.parametrize(
    "text",
    [
        "", "step", "step:", "job:a/b", "step:a/b/c", "step:a/b/c/1/", "step:a/b/c/0", "step:a/b/c/01", "step:a/b/c/+1",
        "step:a/b/c/%31", "step:a/b.c/d/1", "step:a//c/1", "tour/docs.write#1", "prompt:a%2fb/x", "prompt:a%FF/x",
        "plan:plan/////code//", "plan:repo/r/e///code//", "plan:epic//e//1/code//", "plan:plan///p/-1/code//",
        "plan:plan///p/1/deploy//", "plan:team///p/1/code//", f"step:a/b/c/{'9' * 5000}",
    ],
)  # fmt: skip
def test_what_is_no_key_of_ours_is_refused(text: str) -> None:
    """Other programs' keys are opaque: they are compared, never read."""
    with pytest.raises(UsageError, match="no dedupe key of ours"):
        work_of(text)


@pytest.mark.parametrize(
    "parts",
    [
        {"scope": DedupeScope.PLAN, "epic_id": "e"},
        {"scope": DedupeScope.EPIC, "epic_id": "e", "plan_id": "p"},
        {"scope": DedupeScope.REPO, "repo_id": "r", "plan_iteration": 1},
        {"scope": DedupeScope.REPO, "repo_id": ""},
        {"scope": DedupeScope.REPO, "repo_id": "a\nb"},
        {"scope": DedupeScope.REPO, "repo_id": "half \ud800"},
        {"scope": DedupeScope.REPO, "repo_id": "r", "workflow_command": "deploy"},
        {"scope": DedupeScope.PLAN, "plan_id": "../p"},
        {"scope": DedupeScope.PLAN, "plan_id": "p", "plan_iteration": -1},
        {"scope": DedupeScope.REPO, "repo_id": "\U0001f600" * 200, "role": "\U0001f600" * 200},
    ],
)
def test_work_that_contradicts_itself_is_not_made(parts: dict[str, Any]) -> None:
    """Illegal values cannot be built."""
    with pytest.raises(ValueError):  # noqa: PT011 - each has words of its own
        PlanWork(**{"workflow_command": "code", **parts})
    with pytest.raises(ValueError, match="0 is not within"):
        StepWork(step=STEP, generation=0)
