"""Builds that are cut off at any moment: what they leave of the site before, and what the next build makes of it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ettr import publish
from ettr.files import durable
from ettr.publish import chapters, extension, place, site

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals and locks on Windows"),
    pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning"),  # copies that only read and write files
]
WRITES = {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "shutil.copyfile"}
"""Events of Python's audit before any of which a process may end."""
PAGES = {"book/index.html": 3000, "book/_static/a.js": 10, "search.html": 500}


def pages(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def made(word: str) -> dict[str, str]:
    """The site that says this word."""
    return {name: f"{word} " * n for name, n in PAGES.items()} | {extension.MARK: '{"parameters": {}}'}


class Book:
    """A book that takes no time: it has no notebooks, and Jupyter Book is played by a function.

    As Sphinx does, that writes only what is not there yet or said something else when the source last changed.
    """

    def __init__(self, root: Path) -> None:
        self.root, self.out = root, root / "public" / "site"
        self.word, self.code = "old", 0
        self.written: list[str] = []

    def jupyter_book(self, root: Path, work: Path, options: list[str], log: Path, lock: object) -> int:
        out, pickle = work / "_build/html", work / "_build/.doctrees/environment.pickle"
        known = pickle.read_text() if pickle.is_file() else ""
        pickle.parent.mkdir(parents=True, exist_ok=True)
        pickle.write_text(self.word)
        for name, text in made(self.word).items():
            if known != self.word or not (out / name).is_file():
                (out / name).parent.mkdir(parents=True, exist_ok=True)
                with (out / name).open("w", buffering=1) as file:
                    for half in (text[: len(text) // 2], text[len(text) // 2 :]):
                        sys.audit("open", name, "w", 0)  # in the middle of a page
                        file.write(half)
                        file.flush()
                self.written.append(name)
        log.write_text("WARNING: a label is missing" if self.code else "")
        return self.code

    def build(self, word: str) -> None:
        self.word, self.written = word, []
        publish.build(self.root, self.out, progress=False)

    def left_over(self) -> list[str]:
        """What is there that a build should not leave."""
        names = [path.name for path in self.out.parent.iterdir() if path != self.out]
        return names + [path.name for path in self.root.rglob(f"*{durable.PART}")]


@pytest.fixture
def book(tmp_path, monkeypatch) -> Book:
    """A book whose site says ``old``."""
    (tmp_path / "_toc.yml").write_text("root: book/index")
    (tmp_path / "_config.yml").write_text("title: A book")
    small = Book(tmp_path)
    monkeypatch.setattr(chapters, "execute", lambda *_, **__: [])
    monkeypatch.setattr(site, "_jupyter_book", small.jupyter_book)
    small.build("old")
    assert pages(small.out) == made("old") and small.left_over() == []
    return small


def in_a_copy(work: Callable[[], None], end_before: int | None = None, how: int = signal.SIGKILL) -> int:
    """Do this in a copy of this process, which ends before it does its n-th thing to a file.

    Returns
    -------
    int
        The status of the copy, as the signal that ended it, or 0.
    """
    child = os.fork()
    if not child:
        n = 0

        def count(event: str, args: tuple[object, ...]) -> None:
            nonlocal n
            if event in WRITES and (event != "open" or args[1] not in ("r", "rb")):
                if n == end_before:
                    signal.raise_signal(how)
                n += 1

        status = 1
        try:
            sys.addaudithook(count)
            work()
            status = 0
        except KeyboardInterrupt:
            status = 130
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@contextlib.contextmanager
def copy_of(book: Book) -> Iterator[None]:
    """Put the book back as it was, after this."""
    kept = book.root.with_name("kept")
    shutil.copytree(book.root, kept, symlinks=True)
    yield
    shutil.rmtree(book.root)
    kept.rename(book.root)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_build_that_ends_at_any_moment_leaves_a_whole_site_and_the_next_one_nothing_else(book, how):
    n, seen = 0, set()
    while True:
        with copy_of(book):
            ended = in_a_copy(lambda: book.build("new"), n, how)
            moment = f"before its thing {n}"
            if n % 2:  # the next one fails
                place.restore(book.out)
                found = pages(book.out)
                assert found in (made("old"), made("new")), moment
                seen.add(found == made("new"))
            else:
                book.build("new")
                assert pages(book.out) == made("new"), moment
            assert book.left_over() == [], moment
        if ended == 0:
            break
        assert ended in (-how, 130), moment
        n += 1
    assert seen == {True, False} and n > 40
