"""Teamster drives a team of coding agents in harness."""

__version__ = "0.1.0"
