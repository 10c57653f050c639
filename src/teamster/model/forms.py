"""The forms of contract v1: which members each object has, and what they have to do with each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType
from typing import Any, Final

from teamster.kit import Fault
from teamster.model.grammar import ID, KEY, MOMENT, NAME, WORDS
from teamster.model.record import CONTRACT_VERSION
from teamster.model.rules import OneOf, When
from teamster.model.shapes import AnyObject, Anything, Choice, Count, Field, Form, ListOf, Part
from teamster.model.states import MOVES, EventType, ItemStatus
from teamster.model.target import TARGET

OWNER: Final = Form(
    form="owner",
    about="Who is responsible for the job now.",
    fields={
        "worker_id": Field(NAME, required=True, about="The worker: for our runners the runner's id."),
        "runtime": Field(NAME, required=True, about="What kind of worker: `cursor`, `opencode`, `teamster`."),
        "host": Field(NAME, about="Where it runs, to be shown."),
        "pid": Field(Count(least=1), about="Its process there, to be shown."),
    },
)
LEASE: Final = Form(
    form="lease",
    about="The right to write about the job, until it runs out.",
    fields={
        "expires_at": Field(MOMENT, required=True, about="From then on somebody else may take the job."),
        "renewed_at": Field(MOMENT, about="When the owner was last heard of."),
    },
)
EVENT: Final = Form(
    form="event",
    about="One line of the job's history; never changed, never removed.",
    fields={
        "event_id": Field(NAME, required=True, about="Opaque; used once."),
        "type": Field(Choice(values=tuple(EventType)), required=True, about="What happened."),
        "from_status": Field(Choice(values=tuple(ItemStatus)), about="The status before; null for `enqueued` alone."),
        "to_status": Field(Choice(values=tuple(ItemStatus)), required=True, about="The status after."),
        "at": Field(MOMENT, required=True, about="When."),
        "actor": Field(NAME, required=True, about="Who: a worker, an operator, or the orchestrator."),
        "request_id": Field(NAME, about="The request that asked for it: the same one again gets the same answer."),
        "data": Field(AnyObject(), about="What else is known (extension)."),
    },
    rules=(
        OneOf(
            fields=("type", "from_status", "to_status"),
            rows=tuple(
                dict.fromkeys(
                    (move.event.value, None if source is None else source.value, to.value)
                    for move in MOVES.values()
                    for source, to in move.steps()
                )
            ),
            hint="see the moves of contract v1",
        ),
    ),
)
ERROR: Final = Form(
    form="error",
    about="Why the job failed.",
    fields={
        "message": Field(WORDS, required=True, about="What went wrong, for people."),
        "code": Field(NAME, about="What went wrong, for programs."),
        "stack": Field(WORDS, about="Where in a program."),
        "details": Field(Anything(), about="What else is known."),
    },
)
STATUS_FIELDS: Final[Mapping[ItemStatus, tuple[str, ...]]] = MappingProxyType(
    {
        ItemStatus.QUEUED: (),
        ItemStatus.CLAIMED: ("owner", "lease"),
        ItemStatus.RUNNING: ("owner", "lease"),
        ItemStatus.STALLED: (),
        ItemStatus.SUCCEEDED: ("result",),
        ItemStatus.FAILED: ("error",),
    }
)
CONDITIONAL_FIELDS: Final = tuple(dict.fromkeys(chain.from_iterable(STATUS_FIELDS.values())))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Version:
    """The one version of the contract that we read."""

    form: str = f"the number {CONTRACT_VERSION}"

    def faults(self, value: Any, path: str) -> Iterator[Fault]:
        """Tell what is wrong with a value."""
        if type(value) is not int or value != CONTRACT_VERSION:
            hint = f"this reader knows version {CONTRACT_VERSION} alone"
            yield Fault(path=path, fact="it is another version of the contract", hint=hint)

    def schema(self) -> dict[str, Any]:
        """Write it as JSON Schema."""
        return {"type": "integer", "const": CONTRACT_VERSION}


RECORD: Final = Form(
    form="record",
    about="One job of contract v1. Members that are not listed are ignored, and kept when it is written back.",
    fields={
        "contract_version": Field(_Version(), required=True, about="Which contract this is."),
        "job_id": Field(ID, required=True, about="The record's own id; a UUID fits."),
        "dedupe_key": Field(KEY, required=True, about="What makes two requests the same work."),
        "target": Field(Part(of=TARGET), required=True, about="What the job acts on."),
        "status": Field(Choice(values=tuple(ItemStatus)), required=True, about="Where the job is in its life."),
        "owner": Field(Part(of=OWNER), about="Who is responsible now."),
        "lease": Field(Part(of=LEASE), about="Until when the owner may write."),
        "attempt": Field(Count(), required=True, about="0 at first; one more with each claim, and with nothing else."),
        "rev": Field(Count(), required=True, about="One more with each accepted mutation; never with a repeat."),
        "events": Field(ListOf(each=Part(of=EVENT)), required=True, about="The history, oldest first."),
        "result": Field(AnyObject(), about="What came of it: any object."),
        "error": Field(Part(of=ERROR), about="Why it failed."),
    },
    rules=tuple(
        When(
            field="status",
            words=(status.value,),
            needs=there,
            lacks=tuple(name for name in CONDITIONAL_FIELDS if name not in there),
        )
        for status, there in STATUS_FIELDS.items()
    ),
)
FORMS: Final = (RECORD, TARGET, OWNER, LEASE, EVENT, ERROR)
