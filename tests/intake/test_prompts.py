from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from intake.writing import accept, only, refuse, step_of, table
from teamster.intake import LIMITS
from teamster.kit import sha256


def packed(*steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a table with two packs."""
    return table(*steps, packs={"house": "\nBe brief.\n", "loud": {"text": "Shout.", "description": "x"}}, **fields)


def test_a_prompt_is_kept_to_the_letter_with_its_hash(tmp_path: Path) -> None:
    step = step_of(accept(tmp_path, table({"prompt": "  Zwölf Boxkämpfer.\n\n"})))

    assert step.prompt == "  Zwölf Boxkämpfer.\n\n"
    assert step.prompt_sha256 == sha256("  Zwölf Boxkämpfer.\n\n".encode())


@pytest.mark.req("PH-6.2c")
def test_pack_prompt_and_appendix_stand_in_this_order(tmp_path: Path) -> None:
    step = step_of(accept(tmp_path, packed({"prompt": "Do it.", "append_prompt": "Now.", "pack_id": "house"})))

    assert step.prompt == "Be brief.\n\nDo it.\n\nNow."


@pytest.mark.req("PH-6.2c")
@pytest.mark.parametrize(
    ("on_table", "on_job", "on_step", "start"),
    [
        (None, None, None, ""),
        ("house", None, None, "Be brief.\n\n"),
        ("house", "loud", None, "Shout.\n\n"),
        ("house", None, "loud", "Shout.\n\n"),
        ("house", "none", None, ""),
        ("house", "loud", "none", ""),
    ],
)
def test_the_innermost_pack_holds(
    tmp_path: Path, on_table: str | None, on_job: str | None, on_step: str | None, start: str
) -> None:
    content = packed({"pack_id": on_step}, default_pack_id=on_table)
    content["jobs"][0]["pack_id"] = on_job

    assert step_of(accept(tmp_path, content)).prompt == f"{start}Do it."


@pytest.mark.req("PH-6.2c")
def test_a_pack_may_lie_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "house.md").write_text("From a file.\n", encoding="utf-8")
    content = table(packs={"house": {"text_ref": "house.md"}}, default_pack_id="house")

    assert step_of(accept(tmp_path, content)).prompt == "From a file.\n\nDo it."


@pytest.mark.parametrize(
    ("content", "field", "fact"),
    [
        (packed({"pack_id": "huose"}), "jobs[0].steps[0].pack_id", "there is no pack 'huose'"),
        (packed(default_pack_id="x"), "default_pack_id", "there is no pack 'x'"),
        (table(default_pack_id="x"), "default_pack_id", "there is no pack 'x'"),
        (table(packs=[]), "packs", "a list is not a mapping"),
        (table(packs={"a": 1}), "packs.a", "1 is not a mapping"),
        (table(packs={"a": " "}), "packs.a", "it is blank"),
        (table(packs={"a": {}}), "packs.a.text", "it is missing"),
        (table(packs={"a": {"text": "x", "text_ref": "y"}}), "packs.a.text_ref", "both stand here"),
        (table(packs={"a": {"text_ref": "nowhere"}}), "packs.a.text_ref", "there is no file 'nowhere'"),
        (table(packs={"a": {"text": "x", "txet": "y"}}), "packs.a.txet", "a pack has no such key"),
        (table(packs={"none": "x"}), "packs.none", "'none' is no name for a pack"),
        (table(packs={"a b": "x"}), "packs['a b']", "'a b' is no name for a pack"),
    ],
)
def test_packs_are_checked(tmp_path: Path, content: dict[str, Any], field: str, fact: str) -> None:
    problem = only(refuse(tmp_path, content))

    assert problem.field == field
    assert fact in problem.fact


@pytest.mark.parametrize(
    ("step", "field", "fact"),
    [
        ({"prompt": None}, "prompt", "it is missing"),
        ({"prompt": ""}, "prompt", "it is blank"),
        ({"prompt": " \n\t"}, "prompt", "it is blank"),
        ({"prompt": 7}, "prompt", "7 is not text"),
        ({"prompt": "a\0b"}, "prompt", "it holds a NUL character"),
        ({"prompt": "\ud800"}, "prompt", "it holds half of a surrogate pair"),
        ({"prompt_ref": "p.md"}, "prompt_ref", "`prompt` and `prompt_ref` both stand here"),
        ({"prompt": None, "append_prompt": "Now."}, "prompt", "it is missing"),
        ({"append_prompt": " "}, "append_prompt", "it is blank"),
        ({"prompt": "x" * 1_048_577}, "prompt", "1048577 characters, the limit is 1048576"),
        ({"prompt": "ä" * 600_000}, "prompt", "it has 1200000 bytes, the limit is 1048576"),
    ],
)
def test_a_prompt_that_no_agent_could_use_is_told(tmp_path: Path, step: dict[str, Any], field: str, fact: str) -> None:
    problem = only(refuse(tmp_path, table(step)))

    assert problem.field == f"jobs[0].steps[0].{field}"
    assert fact in problem.fact


def test_a_program_may_do_without_a_prompt(tmp_path: Path) -> None:
    assert step_of(accept(tmp_path, table({"prompt": None, "command": ["true"]}))).prompt == ""


@pytest.mark.req("PH-6.4d")
def test_all_prompts_together_are_bounded_and_told_once(tmp_path: Path) -> None:
    """A pack of a megabyte is repeated in every step."""
    limits = replace(LIMITS, steps_bytes_max=20)

    problem = only(refuse(tmp_path, table(*[{"prompt": "123456789"}] * 6), limits=limits))

    assert problem.field == "jobs[0].steps[2]"
    assert problem.fact == "from here on the steps have more than 20 bytes together, with all that they inherit"
