"""Tokens and cost, added up."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from teamster.model import JsonObject

TOKENS: Final = ("input", "cached", "output", "reasoning")


def total(usages: Iterable[JsonObject | None]) -> JsonObject | None:
    """Add up what is known; None where nothing is. A cost is that of those which state one."""
    known = [usage for usage in usages if usage is not None]
    if not known:
        return None
    costs = [usage["cost_usd"] for usage in known if usage.get("cost_usd") is not None]
    return {**{name: sum(usage[name] for usage in known) for name in TOKENS}, "cost_usd": sum(costs) if costs else None}


def in_words(usage: JsonObject | None) -> str:
    """Say it in one line; nothing where nothing is known."""
    if usage is None:
        return ""
    words = f"{usage['input']:,} tokens in ({usage['cached']:,} cached), {usage['output']:,} out"
    cost = usage.get("cost_usd")
    return words if cost is None else f"{words}, ${cost:.4f}"
