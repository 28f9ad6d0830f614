"""``ettr book``: the chapters run and the site built."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ettr.cli import terminal
from ettr.cli.options import QuietOption


@terminal.stopped_with("stopped; finished chapters are kept, and the same command goes on from there")
def book(
    scenario: Annotated[
        str | None,
        typer.Option("--scenario", metavar="SCENARIO", help="Preset or scenario file that the whole book speaks of."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Folder of the site; ettr-book, or _build/html of --root.",
        ),
    ] = None,
    root: Annotated[
        Path | None,
        typer.Option(
            "--root", metavar="DIR", help="The chapters: a copy of the repository; those of the package if not given."
        ),
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Run the chapters that changed and build the book.

    Chapters whose code, parameters and data are unchanged are not run again. The site is replaced when the new one is
    whole; if a chapter fails, the last good site stays, and the message names the copy of the chapter that ends at the
    failure. After a kill the same command goes on. In a copy of the repository its chapters are run, elsewhere those
    that came with the package, with _build/ettr-book for the work.

    Example: ettr book --scenario rsc-2 --out my-book
    """
    from ettr_book.publish import build

    terminal.say(f"the book is at {build(root, out, scenario, progress=not quiet)}")
