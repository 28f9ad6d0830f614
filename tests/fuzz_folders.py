"""Inputs for all that reads notebooks and what sweeps and drills left, and what each promises."""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from fuzz_yaml import Target


@contextmanager
def replaced(name: str, value: object) -> Iterator[None]:
    """Something slow of a module, that does not matter here, replaced for a while."""
    module, _, attribute = name.rpartition(".")
    before = getattr(sys.modules[module], attribute)
    setattr(sys.modules[module], attribute, lambda *_: value())
    try:
        yield
    finally:
        setattr(sys.modules[module], attribute, before)


def document(data: bytes, path: Path) -> None:
    """A notebook that is to be run: its parameters, and its identity."""
    from ettr import notebook

    book = path.with_suffix(".ipynb")
    book.write_bytes(data)
    for parameter in notebook.declared_parameters(book):
        assert parameter.name.isidentifier(), "a parameter without a name"
    with replaced("ettr.notebook.identity.package_digest", str), replaced("ettr.notebook.identity._project", str):
        notebook.Identity.of_notebook(book, path.parent).digest({})


def valid_notebooks() -> Iterator[bytes]:
    cells = [
        {"cell_type": "markdown", "id": "a", "metadata": {}, "source": "# What?"},
        {
            "cell_type": "code",
            "id": "b",
            "metadata": {"tags": ["parameters"]},
            "source": 'scenario = "rsc-1"  # a preset\nn = 8\nx: float = 1.5\nlisted = [1, "a"]',
            "execution_count": 1,
            "outputs": [
                {"output_type": "stream", "name": "stdout", "text": "x"},
                {
                    "output_type": "display_data",
                    "metadata": {},
                    "data": {"application/vnd.ettr.record+json": {"values": [["ettr", 0.5], ["x", {"float": "nan"}]]}},
                },
            ],
        },
    ]
    yield json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()
    for cell in cells:
        del cell["id"]
    yield json.dumps({"cells": cells, "metadata": {"kernelspec": {}}, "nbformat": 4, "nbformat_minor": 2}).encode()


@cache
def jobs() -> tuple[Any, Any]:
    """A call and a notebook over one grid, of which each point's id is ``x``."""
    from ettr.sweep import grid
    from ettr.sweep.jobs import CallJob

    call = CallJob("budget", "rsc-1", grid.load({"checkpoint.interval_min": [10, 20]}, 10))
    book = copy.copy(call)
    book.suffix = ".ipynb"
    return call, book


def left_by_a_sweep(data: bytes, path: Path) -> None:
    """The first byte chooses the file of a sweep's folder that is damaged: then it is refused, or run again."""
    from ettr.sweep.folder import MANIFEST, POINTS, Folder

    call, book = jobs()
    folder = path.with_name("sweep")
    names = (MANIFEST, f"{POINTS}/x.json", f"{POINTS}/x.ipynb")
    name = names[data[0] % len(names) if data else 0]
    shutil.rmtree(folder, ignore_errors=True)
    (folder / POINTS).mkdir(parents=True)
    (folder / MANIFEST).write_text(json.dumps(manifest()))
    (folder / name).write_bytes(data[1:])
    entry = Folder(folder, book if name.endswith(".ipynb") else call).entry("x")
    assert entry is None or isinstance(entry.duration_s, float), "an entry without a duration"


def manifest() -> dict[str, Any]:
    call, _ = jobs()
    return {"sweep": call.what, "n_points": call.grid.n_points, "grid": [vars(block) for block in call.grid.blocks]}


def valid_sweeps() -> Iterator[bytes]:
    record = {"digest": "x", "duration_s": 1.5, "recorded": {"ettr": 0.5, "x": {"float": "nan"}}}
    book = json.loads(next(valid_notebooks()))
    book["metadata"]["ettr"] = {"digest": "x", "duration_s": 1.0, "stopped": STOPPED}
    for number, content in enumerate((manifest(), record, book)):
        yield bytes([number]) + json.dumps(content).encode()


def misplaced() -> Iterator[bytes]:
    """Files of a sweep under each other's names."""
    for number, content in itertools.product(range(3), valid_sweeps()):
        yield bytes([number]) + content[1:]


STOPPED = {"number": 2, "id": "b", "error": "ValueError: x", "source": "x"}


def drill(data: bytes, path: Path) -> None:
    """The first byte chooses the file of a drill's folder that is damaged: then it is refused."""
    from ettr.drill import checkpoints, log, measured, running

    folder = path.with_name("drill")
    folder.mkdir(exist_ok=True)
    name = ("settings.json", log.EVENTS, "step-000000001")[data[0] % 3 if data else 0]
    if name.startswith("step"):
        (folder / name).write_bytes(data[1:])
        checkpoints.newest(folder, 10)
        return
    (folder / "settings.json").write_bytes(data[1:] if name == "settings.json" else b"{}")
    (folder / log.EVENTS).write_bytes(data[1:] if name == log.EVENTS else b"")
    settings = running.settings_in(folder)
    running.is_done(folder)
    if name == "settings.json":
        return
    log.Log(folder, settings).standing()
    measured.measured(log.events(folder), settings)


def valid_drills() -> Iterator[bytes]:
    from ettr.drill.settings import Settings

    yield b"\0" + json.dumps(Settings(faults={"crash": 5.0}).to_dict()).encode()
    events = (
        {"event": "start", "at_s": 1.0, "step": 0, "exposed_s": 0.0},
        {"event": "ready", "at_s": 1.1, "step": 0},
        {"event": "step", "at_s": 1.2, "step": 1, "checked": False, "loss": 0.5},
        {"event": "stalled", "at_s": 1.3, "step": 1, "writing": False},
        {"event": "durable", "at_s": 1.4, "step": 1},
        {"event": "fault", "at_s": 1.5, "kind": "crash", "missed": False, "rank": 0},
        {"event": "down", "at_s": 1.6},
        {"event": "start", "at_s": 2.0, "step": 1, "exposed_s": 0.5},
        {"event": "ready", "at_s": 2.1, "step": 1},
        {"event": "step", "at_s": 2.2, "step": 2, "checked": False, "loss": 0.5},
        {"event": "end", "at_s": 2.3},
    )
    yield b"\1" + "".join(f"{json.dumps(event)}\n" for event in events).encode()
    state = b"state"
    yield b"\2" + hashlib.sha256(state).digest() + state


BOOK = json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()
ODD_BOOKS = (
    b"[" * 100_000,
    BOOK[:-1] + b', "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    BOOK[:-1] + b', "x": ' + b"9" * 5000 + b"}",
    BOOK.replace(b"[]", b"5"),
    BOOK.replace(b"[]", b"[1, 2]"),
    *(
        BOOK.replace(b"[]", json.dumps([cell]).encode())
        for cell in (
            {"cell_type": "code", "id": "a", "metadata": {"tags": 5}, "source": "1", "outputs": []},
            {"cell_type": "code", "id": "a", "metadata": {"tags": [5, "a", {}]}, "source": "1", "outputs": []},
            {"cell_type": "code", "id": {}, "metadata": {}, "source": "\ud800", "outputs": []},
            {"cell_type": "code", "id": "a", "metadata": {}, "source": "1", "outputs": [5, {"data": 5}]},
            {
                "cell_type": "code",
                "id": "a",
                "metadata": {"tags": ["parameters"]},
                "source": "x = " + "-" * 50_000 + "1",
            },
            {"cell_type": "code", "id": "a", "metadata": {"tags": ["parameters"]}, "source": "x = " + "[" * 5000},
            {"cell_type": "code", "id": "a", "metadata": {"tags": ["parameters"]}, "source": "x = 1\0"},
        )
    ),
)


def behind(inputs: tuple[bytes, ...], n_kinds: int) -> tuple[bytes, ...]:
    """The same with each byte before them that chooses what they are."""
    return tuple(bytes([kind]) + one for one in inputs for kind in range(n_kinds))


TARGETS = {
    "notebooks": Target(document, valid_notebooks, ODD_BOOKS),
    "folders of sweeps": Target(left_by_a_sweep, valid_sweeps, (*behind(ODD_BOOKS, 3), *misplaced())),
    "folders of drills": Target(drill, valid_drills, (*behind(ODD_BOOKS, 3), b'\1{"event": "end", "at_s": 2.3}\n')),
}
