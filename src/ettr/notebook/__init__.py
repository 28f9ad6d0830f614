"""Parameterised notebooks: run strictly, and known again by a digest of all that decides their outputs.

Papermill runs whatever it is given: an unknown parameter is a line in a log, a text where a number belongs
is injected all the same. :func:`run` checks first, and leaves either a whole executed copy or, after a failure, the
executed copy under another name together with one clear error. :func:`record` hands values out of a notebook.
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
