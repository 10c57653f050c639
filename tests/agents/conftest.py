"""Scripted models for the real programs."""

from rehearsal.conftest import start

__all__ = ["start"]
