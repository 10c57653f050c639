"""What a step's agent is told: its pack, its prompt, its appendix, in this order, a blank line between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from teamster.intake.fields import Fields, text_fact
from teamster.intake.folders import Folders
from teamster.intake.keys import check_keys, only_one, unknown_name
from teamster.intake.limits import Limits
from teamster.intake.parsed import FieldPath, Problems
from teamster.intake.weight import Scale, size_of
from teamster.model import ID_RULE, is_id

NO_PACK = "none"
BETWEEN = "\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class PackChoice:
    """The pack that holds at one level, and where that was said."""

    pack_id: str
    path: FieldPath


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

    def of_step(self, step: Fields, pack: PackChoice | None, *, job_folder: Path | None, needed: bool) -> str:
        """Put a step's prompt together; what is wrong is noted, and the rest comes back.

        A program of one's own may do without a prompt; whoever resumes may have nothing but an appendix.
        """
        own = self._own(step, job_folder)
        added = step.word("append_prompt", characters_max=self.limits.prompt_bytes_max)
        if needed and own is None and not (added and step.has("resume_from")) and not _says(step):
            step.add("prompt", "it is missing", "write `prompt`, or `prompt_ref` with the name of a file")
        start = self.packs[pack.pack_id].strip() if pack else None
        parts = [part for part in (start, own, added) if part]
        return BETWEEN.join(parts) if self._has_room(step, parts) else ""

    def _own(self, step: Fields, job_folder: Path | None) -> str | None:
        if only_one(step, ("prompt", "prompt_ref")):
            return None
        ref = step.word("prompt_ref", characters_max=self.limits.text_characters_max)
        if ref is None:
            return step.word("prompt", characters_max=self.limits.prompt_bytes_max)
        path = step.at("prompt_ref")
        text = self.folders.text(ref, path, job_folder=job_folder, bytes_max=self.limits.prompt_bytes_max)
        return None if text is None else _not_blank(step.filled(text, path), path, step.problems)

    def _has_room(self, step: Fields, parts: Sequence[str]) -> bool:
        size = sum(size_of(part) for part in parts) + len(BETWEEN) * max(0, len(parts) - 1)
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
