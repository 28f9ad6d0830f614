"""Builds that are cut off at any moment: what they leave of the site before, and what the next build makes of it."""

from __future__ import annotations

import contextlib
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import power_cut
from ettr.core import durable
from ettr.core.errors import EttrError, InputError
from ettr_book import publish
from ettr_book.publish import assets, chapters, place, site
from notebooks import written
from power_cut import Disk

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals and locks on Windows"),
    pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning"),  # copies that only read and write files
]
needs_procfs = pytest.mark.skipif(sys.platform != "linux", reason="follows inodes as Linux has them")
WRITES = {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "shutil.copyfile"}
"""Events of Python's audit before any of which a process may end."""
REPOSITORY = Path(__file__).parents[2]
PAGES = {"book/index.html": 3000, "book/_static/a.js": 10, "search.html": 500}


def pages(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def made(word: str) -> dict[str, str]:
    """The site that says this word."""
    return {name: f"{word} " * n for name, n in PAGES.items()} | {place.MARK: '{"parameters": {}}'}


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
    small = Book(tmp_path / "small")
    small.root.mkdir()
    (small.root / "_toc.yml").write_text("root: book/index")
    (small.root / "_config.yml").write_text("title: A book\nsphinx: {config: {extensions: [ettr_book.publish]}}\n")
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
    try:
        yield
    finally:
        shutil.rmtree(book.root)
        kept.rename(book.root)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
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


def test_an_exchange_that_fails_leaves_the_site_before(book, monkeypatch):
    """As where a virus scanner holds a file of the new one."""
    rename = Path.rename

    def refuse(path, target):
        if path.name.startswith(".") and Path(target) == book.out and "copy" in path.name:
            raise PermissionError(13, "held")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(EttrError, match="could not be put at .*: held"):
        book.build("new")
    assert pages(book.out) == made("old") and book.left_over() == []


# --------------------------------------------------------------------------- power cuts


def is_whole_after_a_cut(book: Book, log: Path, chance: random.Random, forgets: str = "") -> bool:
    """Cut the power at a random moment of a build or right after it, and say whether a whole site was left.

    It is the new one if that was finished. The next build makes the new one of what it finds, and leaves nothing else.
    """
    disk = Disk(book.root, log, forgets)

    def work() -> None:
        os.environ |= disk.environment
        power_cut.install()
        book.build("new")

    with copy_of(book):
        finished = in_a_copy(work, chance.randrange(80)) == 0
        disk.cut(chance)
        place.restore(book.out)
        left = pages(book.out)
        book.build("new")
        again = pages(book.out) == made("new") and book.left_over() == []
    return again and (left == made("new") or (left == made("old") and not finished))


@needs_procfs
@pytest.mark.parametrize("n_cuts", [20, pytest.param(300, marks=pytest.mark.slow)])
def test_a_power_cut_leaves_a_whole_site(book, tmp_path, n_cuts):
    chance = random.Random(1)
    for n in range(n_cuts):
        assert is_whole_after_a_cut(book, tmp_path / f"log-{n}", chance), f"cut {n}"


@needs_procfs
def test_on_a_disk_that_keeps_nothing_it_would_not(book, tmp_path):
    chance, whole = random.Random(1), 0
    for n in range(20):
        with contextlib.suppress(InputError):  # half of a site is no book to replace
            whole += is_whole_after_a_cut(book, tmp_path / f"log-{n}", chance, forgets="files")
    assert 0 < whole < 20


# --------------------------------------------------------------------------- what a build goes on from


def test_a_build_goes_on_from_what_the_last_one_left(book):
    book.build("old")
    assert book.written == []


@pytest.mark.parametrize("name", ["html/search.html", ".doctrees/environment.pickle"])
@pytest.mark.parametrize("damage", [lambda text: text[: len(text) // 2], lambda text: "\0" * len(text), None])
def test_what_is_damaged_is_made_anew(book, name, damage):
    path = book.root / "_build/site-default/_build" / name
    if damage:
        path.write_text(damage(path.read_text()))
    else:
        path.unlink()
    book.build("old")
    assert set(book.written) == set(made("old")) and pages(book.out) == made("old")


def test_what_was_built_with_a_warning_is_not_taken_for_good_the_second_time(book):
    book.code = 1
    for _ in range(2):
        with pytest.raises(EttrError, match="WARNING: a label is missing"):
            book.build("new")
        assert set(book.written) == set(made("new")) and pages(book.out) == made("old")


def test_scripts_that_are_damaged_are_made_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(assets, "_vega", lambda: "vega")
    monkeypatch.setattr(assets, "_mathjax", lambda folder: folder.mkdir())
    script = assets.make(tmp_path) / "vega-bundle.js"
    before = script.stat().st_mtime_ns
    assert assets.make(tmp_path) == script.parent and script.stat().st_mtime_ns == before
    script.write_text("ve")
    assets.make(tmp_path)
    assert script.read_text() == "vega"


# --------------------------------------------------------------------------- several at once


SLOW = """#!{python}
import os, pathlib, sys, time
out = pathlib.Path(sys.argv[sys.argv.index("--path-output") + 1])
(out / "begun").write_text(str(os.getpid()))
while not (out / "go").exists():
    time.sleep(0.01)
page = out / "_build/html/book/index.html"
page.parent.mkdir(parents=True, exist_ok=True)
page.write_text(f"of {{os.getpid()}}")
(out / "ended").write_text("")
"""


@pytest.fixture
def slow_book(book, monkeypatch) -> Iterator[Path]:
    """Where Jupyter Book is played by a process that works until there is a file ``go``; its folder."""
    monkeypatch.undo()
    monkeypatch.setattr(chapters, "execute", lambda *_, **__: [])
    python = book.root / "python"
    python.write_text(SLOW.format(python=sys.executable))
    python.chmod(0o755)
    monkeypatch.setattr(site.sys, "executable", str(python))
    work = book.root / "_build/site-default"
    yield work
    (work / "go").write_text("")  # for what a failed test left waiting


def wait_for(path: Path) -> None:
    until = time.monotonic() + 60
    while not path.exists() or not path.read_text():
        assert time.monotonic() < until, f"waited too long for {path}"
        time.sleep(0.01)


def test_a_build_waits_for_what_a_killed_one_still_does(book, slow_book, capfd):
    child = os.fork()
    if not child:
        with contextlib.suppress(BaseException):
            publish.build(book.root, book.out, progress=False)
        os._exit(0)
    wait_for(slow_book / "begun")
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    orphan = (slow_book / "begun").read_text()
    os.kill(int(orphan), 0)

    second = os.fork()
    if not second:
        publish.build(book.root, book.out, progress=True)
        os._exit(0)
    until, said = time.monotonic() + 60, ""
    while "waiting" not in said and time.monotonic() < until:
        time.sleep(0.01)
        said += capfd.readouterr().err
    assert said == f"waiting for the build that is at work in {slow_book}\n"
    assert (slow_book / "begun").read_text() == orphan and pages(book.out) == made("old")
    (slow_book / "go").write_text("")
    assert os.waitpid(second, 0)[1] == 0
    assert (slow_book / "begun").read_text() != orphan
    assert pages(book.out) == {"book/index.html": f"of {(slow_book / 'begun').read_text()}"}
    assert book.left_over() == []


def test_builds_to_one_place_come_one_after_the_other(book, tmp_path):
    """Of three books; each finds a whole site there, and the last one stays."""
    sites = {}
    for word in ("a", "b", "c"):
        for name, text in made(word).items():
            path = tmp_path / word / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        sites[word] = made(word)

    def work(word: str) -> None:
        for _ in range(10):
            place.put(tmp_path / word, book.out)

    children = []
    for word in sites:
        children.append(os.fork())
        if not children[-1]:
            with contextlib.suppress(BaseException):
                work(word)
                os._exit(0)
            os._exit(1)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
    assert pages(book.out) in sites.values() and book.left_over() == []


# --------------------------------------------------------------------------- disks and places


def test_a_site_that_does_not_fit_leaves_the_one_before(book):
    """A disk that takes small files only, which needs no right to mount one."""

    def work() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))
        with pytest.raises(EttrError, match=rf"the site could not be put at {book.out}: .*File too large"):
            place.put(book.root / "_build/site-default/_build/html", book.out)

    assert in_a_copy(work) == 0
    assert pages(book.out) == made("old") and book.left_over() == []


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    """A disk of 200 kB, where one can be had."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=200k", "none", folder], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("only the administrator of a machine can give it another disk")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_disk_and_one_that_takes_nothing_leave_the_site(book, small_disk):
    book.out = small_disk / "site"
    book.build("old")
    taken = small_disk / "taken"
    taken.write_bytes(b"x" * (os.statvfs(small_disk).f_bavail * 4096 - 8192))
    with pytest.raises(EttrError, match=rf"the site could not be put at {book.out}: .*No space left on device"):
        book.build("new")
    assert pages(book.out) == made("old") and book.left_over() == ["taken"]
    taken.unlink()
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    with pytest.raises(InputError, match="is not a folder that takes new files"):
        book.build("new")
    assert pages(book.out) == made("old")
    subprocess.run(["mount", "-o", "remount,rw", small_disk], check=True)
    book.build("new")
    assert pages(book.out) == made("new") and book.left_over() == []


def test_a_place_that_cannot_be_replaced_stays_and_nothing_is_left_beside_it(book, small_disk):
    book.out = small_disk
    with pytest.raises(InputError, match="a disk is mounted at"):
        book.build("new")
    with pytest.raises(EttrError, match="could not be put"):
        place.put(book.root / "_build/site-default/_build/html", small_disk)
    assert list(small_disk.iterdir()) == [] and not list(small_disk.parent.glob(f".*{durable.PART}"))


def test_a_full_disk_below_the_build_is_said(book, small_disk):
    shutil.rmtree(book.root / "_build")
    (book.root / "_build").symlink_to(small_disk)
    book.build("old")
    taken = small_disk / "taken"
    taken.write_bytes(b"x" * (os.statvfs(small_disk).f_bavail * 4096))
    with pytest.raises(EttrError, match=r"the pages could not be written to .*: No space left on device"):
        book.build("longer than before")
    assert pages(book.out) == made("old")
    taken.unlink()
    book.build("new")
    assert pages(book.out) == made("new") and book.left_over() == []


@pytest.mark.parametrize("where", ["book/site", "book/_static/site", "data/site", "src"])
def test_a_site_does_not_become_part_of_the_book(book, where):
    with pytest.raises(InputError, match="would become part of the book"):
        publish.build(book.root, book.root / where, progress=False)
    assert not (book.root / where).exists()


# --------------------------------------------------------------------------- the real thing


class RealBook:
    """A book of one quick notebook and a page, made by ``ettr book`` with the real book's configuration."""

    def __init__(self, root: Path) -> None:
        self.root, self.out = root, root / "_build" / "html"
        (root / "data").mkdir(parents=True)
        (root / "data" / "references.bib").write_text("")
        (root / "_toc.yml").write_text("format: jb-book\nroot: book/index\nchapters: [{file: book/notes}]\n")
        shutil.copy(REPOSITORY / "_config.yml", root)
        shutil.copytree(REPOSITORY / "book" / "_static", root / "book" / "_static")

    def change(self, n: int) -> None:
        """Another text of the page, and every third time another notebook."""
        (self.root / "book" / "notes.md").write_text(f"# Notes\n\nof version {n}\n")
        if n % 3 == 0:
            written(self.root / "book" / "index.ipynb", f"print({n})", parameters=None, title="How often?")

    def start(self, environment: dict[str, str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "ettr.cli", "book", "--quiet", "--root", str(self.root)],
            env=os.environ | environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def build(self) -> dict[str, bytes]:
        process = self.start({})
        said = process.communicate(timeout=900)[1]
        assert process.returncode == 0, said
        return self.pages()

    def pages(self) -> dict[str, bytes]:
        return {str(path.relative_to(self.out)): plain(path) for path in self.out.rglob("*") if path.is_file()}


def plain(path: Path) -> bytes:
    """What a file says, without what Sphinx says in another way when it goes on from what it made before.

    Then the address of one style sheet ends with a checksum, and the index keeps words that are on no page any more.
    """
    content = path.read_bytes()
    if path.suffix == ".html":
        return re.sub(rb"(mystnb\.\w+\.css)\?v=\w+", rb"\1", content)
    return re.sub(rb'"[^"]*": *\[\](, *|(?=}))', b"", content) if path.name == "searchindex.js" else content


def differing(one: dict[str, bytes], other: dict[str, bytes]) -> list[str]:
    """Files that two sites do not share."""
    return [name for name in {**one, **other} if one.get(name) != other.get(name)]


@needs_procfs
@pytest.mark.slow
@pytest.mark.parametrize(("how", "n_builds"), [("power cut", 20), ("main", 4), ("group", 4), ("term", 4), ("int", 4)])
def test_a_real_build_that_ends_at_a_random_moment(tmp_path, how, n_builds):
    """The site is then the one before or the new one, and the next build makes the one that a calm build makes."""
    chance, root = random.Random(1), tmp_path / "real"
    root.mkdir()
    book = RealBook(root)
    book.change(0)
    began = time.monotonic()
    before = book.build()
    for n in range(1, n_builds + 1):
        duration_s = (time.monotonic() - began) / 2 if n > 1 else time.monotonic() - began
        book.change(n)
        disk = Disk(root, tmp_path / f"log-{n}")
        began = time.monotonic()
        process = book.start(disk.environment)
        time.sleep(chance.uniform(0, duration_s))
        if how == "power cut":
            disk.cut(chance)
        elif how in ("main", "term"):
            process.send_signal(signal.SIGKILL if how == "main" else signal.SIGTERM)
        else:
            os.killpg(process.pid, signal.SIGKILL if how == "group" else signal.SIGINT)
        process.wait()
        process.stderr.close()
        place.restore(book.out)
        left = book.pages()
        after = book.build()
        assert not differing(left, before) or not differing(left, after), f"build {n}"
        assert f"of version {n}".encode() in after["book/notes.html"]
        assert {path.name for path in book.out.parent.iterdir()} == {".assets", "chapters", "html", "site-default"}
        assert not list(root.rglob(f"*{durable.PART}"))
        before = after
    shutil.rmtree(root / "_build")
    assert differing(book.build(), before) == []
