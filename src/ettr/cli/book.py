"""``ettr book``: run the chapters and build the pages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ettr.cli import completion, terminal
from ettr.cli.options import QuietOption


@terminal.stopped_with("stopped; finished chapters are kept, and the same command resumes")
def book(
    scenario: Annotated[
        str | None,
        typer.Option(
            "--scenario",
            metavar="SCENARIO",
            help="Preset or scenario file for all chapters.",
            autocompletion=completion.scenarios,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Folder of the pages.  [default: ettr-book or, with --root, _build/html]"
        ),
    ] = None,
    root: Annotated[
        Path | None,
        typer.Option("--root", metavar="DIR", help="Copy of the repository.  [default: the chapters of the package]"),
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Run the chapters of the book, also with your own scenario, and build its pages.

    Only chapters whose code, parameters or data changed are run. The pages are replaced once all of them are built;
    if a chapter fails, the old pages stay, and the message names the copy of the chapter that ends at the failure. The
    same command resumes after a stop. A first build takes about half an hour on two cores.

    Outside a copy of the repository, the chapters of the package are copied to _build/ettr-book and run there; so are
    those of a copy that cannot be written. Files of the site get the permissions of any new file (umask).

    Exit status: 0 built; 1 a chapter failed or an extra is not installed; 2 input refused; 130 stopped with Ctrl-C.

    Example: ettr book --scenario rsc-2 --out my-book
    """
    from ettr_book.publish import build

    terminal.say(f"The book is at {build(root, out, scenario, progress=not quiet)}")
