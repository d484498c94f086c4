"""The command `committee`."""

from committee.cli.main import main

__all__ = ["main"]
