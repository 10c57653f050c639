"""How a step is done: settings, then the table, then the job, then the step, the innermost last."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

from teamster.intake.fields import Fields, nearest
from teamster.intake.keys import check_keys, choose, missing, only_one
from teamster.intake.limits import Limits
from teamster.intake.names import read_id
from teamster.intake.parsed import FieldPath
from teamster.intake.rows import as_argument
from teamster.intake.shapes import INHERITED
from teamster.model import (
    APPROVAL_POLICIES,
    ID_RULE,
    PLACEHOLDERS,
    RETRIED_STATUSES,
    SANDBOXES,
    AgentName,
    ExecutionPolicy,
    RetriedStatus,
    RetryPolicy,
    RunnerAffinity,
    RunnerId,
    StepId,
    TableDefaults,
    is_id,
    references_in,
    unknown_placeholders,
)

SECONDS_MIN = 1
# Stands for a command that was noted as wrong, so that nobody says it is missing too.
WRONG_COMMAND = ("?",)


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaSource:
    """A report schema as it was written: inline, or the name of its file; and where it stands."""

    value: Any
    path: FieldPath


@dataclass(frozen=True, slots=True, kw_only=True)
class AffinitySource:
    """An affinity as it was written, and where; whether its step is there is known within a job."""

    affinity: RunnerAffinity
    path: FieldPath


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """What holds at one level. Folders are as written: what they are relative to is known at the job."""

    agent: AgentName
    agents: tuple[AgentName, ...]
    command: tuple[str, ...]
    policy: ExecutionPolicy
    timeout_seconds: float
    retry: RetryPolicy
    schema: SchemaSource | None = None
    folders_path: FieldPath = ()
    affinity: AffinitySource | None = None


def outermost(defaults: TableDefaults) -> Manner:
    """Return what the settings say."""
    return Manner(
        agent=defaults.agent.agent,
        agents=defaults.agents,
        command=defaults.agent.command,
        policy=defaults.policy,
        timeout_seconds=float(defaults.timeout_seconds),
        retry=defaults.retry,
    )


def within(outer: Manner, fields: Fields, limits: Limits) -> Manner:
    """Lay what a level says over what holds around it."""
    if _INHERITED.isdisjoint(fields.value):
        return outer
    agent, command = _agent(fields, outer, limits)
    policy, folders_path = _policy(fields, outer, limits)
    _workspace(fields)
    return Manner(
        agent=agent,
        agents=outer.agents,
        command=command,
        policy=policy,
        folders_path=folders_path,
        timeout_seconds=_timeout(fields, outer.timeout_seconds, limits),
        retry=_retry(fields, outer.retry, limits),
        schema=_schema(fields, outer.schema, limits),
        affinity=_affinity(fields, outer.affinity, limits),
    )


def _agent(fields: Fields, outer: Manner, limits: Limits) -> tuple[AgentName, tuple[str, ...]]:
    name = fields.choice("agent", outer.agents)
    if not fields.has("command"):
        return name or outer.agent, outer.command
    if name is not None and name != "command":
        fields.add("command", f"the agent is {name}, which takes none", "write `agent: command`, or leave it out")
    argv = fields.texts(
        "command",
        items_max=limits.arguments_max,
        characters_max=limits.argument_characters_max,
        fit=as_argument,
        later=PLACEHOLDERS,
    )
    if argv is None:
        return "command", WRONG_COMMAND
    if not argv or not argv[0].strip():
        fields.add("command", "it names no program", "write the program and its arguments: `[make, test]`")
        return "command", WRONG_COMMAND
    if any(references_in(argument)[1] for argument in argv):
        hint = "refer to it in the prompt, and give the program {prompt_file}"
        fields.add("command", "what an earlier step left is put into prompts only, never into a command", hint)
    for unknown in unknown_placeholders(argv):
        close = nearest(unknown, PLACEHOLDERS, otherwise=f"known are {', '.join(PLACEHOLDERS)}")
        fact = f"{{{unknown}}} is no placeholder"
        fields.add("command", fact, f"{close}; {{{{{unknown}}}}} passes the braces on")
    return "command", argv


def _policy(fields: Fields, outer: Manner, limits: Limits) -> tuple[ExecutionPolicy, FieldPath]:
    inner = fields.inner("execution_policy")
    if inner is None:
        return outer.policy, outer.folders_path
    check_keys(inner, "execution_policy")
    inner.flag("capture_codex_thread_id")  # always captured: nothing can be resumed without it
    said: dict[str, Any] = {
        "sandbox": inner.choice("sandbox", SANDBOXES),
        "approval_policy": inner.choice("approval_policy", APPROVAL_POLICIES),
        "web_search_enabled": inner.flag("web_search_enabled"),
        "model": inner.word("model", characters_max=limits.text_characters_max),
        "model_reasoning_effort": inner.word("model_reasoning_effort", characters_max=limits.text_characters_max),
        "skip_git_repo_check": inner.flag("skip_git_repo_check"),
        "add_dirs": inner.texts("add_dirs", items_max=limits.folders_max, characters_max=limits.text_characters_max),
        "capture_events_jsonl": inner.flag("capture_events_jsonl"),
    }
    policy = replace(outer.policy, **{name: value for name, value in said.items() if value is not None})
    return policy, inner.at("add_dirs") if inner.has("add_dirs") else outer.folders_path


def _timeout(fields: Fields, outer: float, limits: Limits) -> float:
    if only_one(fields, ("timeouts", "timeout_seconds")):
        return outer
    inner = fields.inner("timeouts")
    if inner is not None:
        check_keys(inner, "timeouts")
        seconds = inner.number("step_timeout_seconds", at_least=SECONDS_MIN, at_most=limits.seconds_max)
    else:
        seconds = fields.number("timeout_seconds", at_least=SECONDS_MIN, at_most=limits.seconds_max)
    return outer if seconds is None else float(seconds)


def _retry(fields: Fields, outer: RetryPolicy, limits: Limits) -> RetryPolicy:
    if only_one(fields, ("retries", "retry_policy")):
        return outer
    inner = fields.inner("retry_policy") or fields.inner("retries")
    if inner is None:
        return outer
    check_keys(inner, "retry_policy")
    choose(inner, "mode", ("fresh",), later="retry_policy.mode")
    statuses = inner.choices("retry_on_statuses", RETRIED_STATUSES)
    attempts = inner.whole("max_attempts", at_least=1, at_most=limits.attempts_max)
    first = inner.number("backoff_seconds", at_least=0, at_most=limits.seconds_max)
    longest = inner.number("backoff_seconds_max", at_least=0, at_most=limits.seconds_max)
    wait = outer.backoff_seconds if first is None else float(first)
    if longest is not None and longest < wait:
        if first is not None:
            inner.add("backoff_seconds_max", f"{longest:g} s is less than the first wait of {wait:g} s")
        wait = min(wait, float(longest))
    return RetryPolicy(
        attempts_max=outer.attempts_max if attempts is None else attempts,
        backoff_seconds=wait,
        # A first wait that is longer than the usual longest one is what the writer wants.
        backoff_seconds_max=max(outer.backoff_seconds_max, wait) if longest is None else float(longest),
        on_statuses=outer.on_statuses if statuses is None else cast("tuple[RetriedStatus, ...]", statuses),
    )


def _workspace(fields: Fields) -> None:
    inner = fields.inner("workspace_policy")
    if inner is not None:
        check_keys(inner, "workspace_policy")
        choose(inner, "mode", ("shared",), later="workspace_policy.mode")


def _schema(fields: Fields, outer: SchemaSource | None, limits: Limits) -> SchemaSource | None:
    if only_one(fields, ("output_schema", "output_schema_ref")):
        return outer
    inline = fields.inner("output_schema")
    if inline is not None:
        return SchemaSource(value=inline.value, path=inline.path)
    ref = fields.word("output_schema_ref", characters_max=limits.text_characters_max)
    return outer if ref is None else SchemaSource(value=ref, path=fields.at("output_schema_ref"))


def _affinity(fields: Fields, outer: AffinitySource | None, limits: Limits) -> AffinitySource | None:
    """Read `runner_affinity`: the id of an earlier step, or a mapping with it or with a runner."""
    if isinstance(fields.value.get("runner_affinity"), str):
        step_id = fields.word("runner_affinity", characters_max=limits.text_characters_max)
        return outer if step_id is None else _pinned(step_id, fields.at("runner_affinity"), fields) or outer
    inner = fields.inner("runner_affinity")
    if inner is None:
        return outer
    check_keys(inner, "runner_affinity")
    if only_one(inner, ("step_id", "runner_id")):
        return outer
    if inner.has("step_id"):
        step_id = inner.word("step_id", characters_max=limits.text_characters_max)
        return outer if step_id is None else _pinned(step_id, inner.at("step_id"), inner) or outer
    if not inner.has("runner_id"):
        missing(inner, "step_id", "name an earlier step of the job, or a runner with `runner_id`")
    runner_id = read_id(inner, "runner_id", limits)
    if runner_id is None:
        return outer
    return AffinitySource(affinity=RunnerAffinity(runner_id=RunnerId(runner_id)), path=inner.at("runner_id"))


def _pinned(step_id: str, path: FieldPath, fields: Fields) -> AffinitySource | None:
    if is_id(step_id):
        return AffinitySource(affinity=RunnerAffinity(step_id=StepId(step_id)), path=path)
    fields.problems.add(path, f"{step_id!r:.80} is no id of a step: {ID_RULE}", "name an earlier step of the same job")
    return None


_INHERITED = frozenset(INHERITED)
