"""The ``ettr`` command, a file a command."""

from ettr.cli.app import main

__all__ = ["main"]
