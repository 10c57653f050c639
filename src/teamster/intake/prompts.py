"""What a step's agent is told: its pack, its prompt, its appendix, in this order, a blank line between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from teamster.intake.fields import Fields, text_fact
from teamster.intake.folders import Folders
from teamster.intake.keys import check_keys, only_one, unknown_name
from teamster.intake.limits import Limits
from teamster.intake.parsed import FieldPath, Problems
from teamster.intake.rows import as_id
from teamster.intake.weight import Scale, size_of
from teamster.model import ID_RULE, REFERENCE_RULE, Reference, is_id, references_in

NO_PACK = "none"
BETWEEN = "\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class PackChoice:
    """The pack that holds at one level, and where that was said."""

    pack_id: str
    path: FieldPath


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt with the references that stand in it."""

    text: str = ""
    references: tuple[Reference, ...] = ()

    def then(self, other: Prompt) -> Prompt:
        """Put another one after it, a blank line between them."""
        if not self.text or not other.text:
            return self if self.text else other
        shift = len(self.text) + len(BETWEEN)
        moved = (replace(reference, at=reference.at + shift) for reference in other.references)
        return Prompt(text=f"{self.text}{BETWEEN}{other.text}", references=(*self.references, *moved))


@dataclass(slots=True, kw_only=True)
class Prompts:
    """Puts prompts together, as long as there is room for them."""

    folders: Folders
    limits: Limits
    scale: Scale
    packs: Mapping[str, str] = field(default_factory=dict)

    def read_packs(self, table: Fields) -> None:
        """Read the table's `packs`: each is text, or a mapping with `text` or `text_ref`."""
        inner = table.inner("packs")
        if inner is None:
            return
        if len(inner.value) > self.limits.packs_max:
            table.add("packs", f"{len(inner.value)} packs, the limit is {self.limits.packs_max}", "join some of them")
            return
        self.packs = {name: self._pack(inner, name) for name in inner.value}

    def choice(self, fields: Fields, name: str, outer: PackChoice | None) -> PackChoice | None:
        """Read which pack holds at a level; `none` takes it away."""
        pack_id = fields.text(name, characters_max=self.limits.text_characters_max)
        if pack_id is None:
            return outer
        if pack_id == NO_PACK:
            return None
        if pack_id not in self.packs:
            nothing = "the table has no `packs`"
            unknown_name(fields, fields.at(name), pack_id, kind="pack", known=self.packs, nothing=nothing)
            return None
        return PackChoice(pack_id=pack_id, path=fields.at(name))

    def of_step(self, step: Fields, pack: PackChoice | None, *, job_folder: Path | None, needed: bool) -> Prompt:
        """Put a step's prompt together; what is wrong is noted, and the rest comes back.

        A program of one's own may do without a prompt; whoever resumes may have nothing but an appendix.
        """
        own = self._own(step, job_folder)
        added = self._word(step, "append_prompt")
        if needed and own is None and not (added and step.has("resume_from")) and not _says(step):
            step.add("prompt", "it is missing", "write `prompt`, or `prompt_ref` with the name of a file")
        start = Prompt(text=self.packs[pack.pack_id].strip() if pack else "")
        whole = start.then(own or Prompt()).then(added or Prompt())
        return whole if self._has_room(step, whole.text) else Prompt()

    def _word(self, step: Fields, name: str) -> Prompt | None:
        text = step.raw_text(name, characters_max=self.limits.prompt_bytes_max)
        return None if text is None else self._filled(step, text, name)

    def _filled(self, step: Fields, text: str, name: str) -> Prompt | None:
        """Fill a text from its row, and find its references; a value of a row is never taken for one."""
        path = step.at(name)
        texts, named = references_in(text)
        if not text.strip() or not (named or step.filled(text, path).strip()):
            step.add(name, "it is blank", "say something, or leave the key out")
            return None
        whole = Prompt(text=step.filled(texts[0], path))
        for reference, following in zip(named, texts[1:], strict=True):
            found: tuple[Reference, ...] = ()
            said = step.filled(reference, path, fit=as_id)
            try:
                found = (Reference.read(said, at=len(whole.text)),)
            except ValueError as error:
                step.add(name, str(error), f"{REFERENCE_RULE}; {{{{{said}}}}} passes the braces on")
            text = f"{whole.text}{{{said}}}{step.filled(following, path)}"
            whole = Prompt(text=text, references=(*whole.references, *found))
        return whole

    def _own(self, step: Fields, job_folder: Path | None) -> Prompt | None:
        if only_one(step, ("prompt", "prompt_ref")):
            return None
        ref = step.word("prompt_ref", characters_max=self.limits.text_characters_max)
        if ref is None:
            return self._word(step, "prompt")
        path = step.at("prompt_ref")
        text = self.folders.text(ref, path, job_folder=job_folder, bytes_max=self.limits.prompt_bytes_max)
        return None if text is None else self._filled(step, text, "prompt_ref")

    def _has_room(self, step: Fields, text: str) -> bool:
        size = size_of(text)
        name = "prompt_ref" if step.has("prompt_ref") else "prompt"
        if size > self.limits.prompt_bytes_max:
            fact = f"with its pack and appendix it has {size} bytes, the limit is {self.limits.prompt_bytes_max}"
            step.add(name, fact, "put it into a file of the repository, and name that in the prompt")
        return self.scale.takes(step, size)

    def _pack(self, packs: Fields, name: str) -> str:
        if not is_id(name) or name == NO_PACK:
            packs.add(name, f"{name!r} is no name for a pack", f"use {ID_RULE}; `{NO_PACK}` means no pack")
        value = packs.value[name]
        if isinstance(value, str):
            fact = text_fact(value, characters_max=self.limits.prompt_bytes_max)
            if fact is not None:
                packs.add(name, fact)
            return _not_blank(value, packs.at(name), packs.problems) or ""
        pack = packs.mapping(value, packs.at(name))
        if pack is None:
            return ""
        check_keys(pack, "pack")
        pack.text("description", characters_max=self.limits.text_characters_max)
        return self._pack_text(pack) or ""

    def _pack_text(self, pack: Fields) -> str | None:
        if only_one(pack, ("text", "text_ref")):
            return None
        ref = pack.word("text_ref", characters_max=self.limits.text_characters_max)
        if ref is not None:
            text = self.folders.text(
                ref, pack.at("text_ref"), job_folder=self.folders.working_root, bytes_max=self.limits.prompt_bytes_max
            )
            return _not_blank(text, pack.at("text_ref"), pack.problems)
        if not (pack.has("text") or pack.has("text_ref")):
            pack.add("text", "it is missing", "write `text`, or `text_ref` with the name of a file")
        return pack.word("text", characters_max=self.limits.prompt_bytes_max)


def _says(step: Fields) -> bool:
    """Tell whether a prompt is there at all; where it is wrong, that was noted."""
    return step.has("prompt") or step.has("prompt_ref")


def _not_blank(text: str | None, path: FieldPath, problems: Problems) -> str | None:
    if text is None or text.strip():
        return text
    problems.add(path, "it is blank", "say something")
    return None
