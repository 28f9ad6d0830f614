"""Parameterised notebooks: strict execution, recorded values, and a digest of everything that determines the outputs.

Papermill accepts unknown parameters with a log message, and injects text for a number. :func:`run` checks parameters
first. It writes either a complete executed copy or, after a failure, the executed part under another name and a single
clear error. :func:`record` exports values from a notebook.
"""

from ettr.notebook.documents import (
    BOOK,
    Parameter,
    assigned,
    chapter,
    declared_parameters,
    fitted,
    read,
    replaced_values,
    repository_root,
    text,
)
from ettr.notebook.identity import Identity, contents, package_digest, surroundings
from ettr.notebook.recording import RESERVED, plain, record, recorded, restored
from ettr.notebook.running import RECORD, Run, run, stop_message

__all__ = [
    "BOOK",
    "RECORD",
    "RESERVED",
    "Identity",
    "Parameter",
    "Run",
    "assigned",
    "chapter",
    "contents",
    "declared_parameters",
    "fitted",
    "package_digest",
    "plain",
    "read",
    "record",
    "recorded",
    "replaced_values",
    "repository_root",
    "restored",
    "run",
    "stop_message",
    "surroundings",
    "text",
]
