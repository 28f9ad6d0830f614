"""The ``ettr`` command, one file per command."""

from ettr.cli.app import main

__all__ = ["main"]
