"""Files that are replaced as a whole: what is left of the old one, and the order in which files reach a disk."""

import contextlib
import errno
import fcntl
import os
import resource
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from ettr.core import durable
from ettr.core.durable import locked
from ettr.core.errors import InputError


@pytest.fixture
def calls(monkeypatch):
    """What was synced and moved, in order, by the names of files."""
    made, fsync, replace = [], os.fsync, os.replace

    def synced(handle):
        made.append(("sync", os.path.basename(os.readlink(f"/proc/self/fd/{handle}"))))
        fsync(handle)

    def moved(source, target):
        made.append(("move", os.path.basename(target)))
        replace(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", moved)
    return made


@pytest.mark.parametrize(("number", "is_said"), [(errno.EINVAL, False), (errno.ENOTSUP, False), (errno.EIO, True)])
def test_a_folder_that_cannot_be_synced_is_no_error_and_one_whose_disk_fails_is(tmp_path, monkeypatch, number, is_said):
    def refuse(_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError) if is_said else contextlib.nullcontext():
        durable.sync(tmp_path)
    (tmp_path / "a").touch()
    with pytest.raises(OSError):
        durable.sync(tmp_path / "a")


def test_a_file_system_without_locks_is_not_taken_for_another_process(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(InputError, match="cannot lock .*: No locks available"), locked(tmp_path / "lock", "sweep"):
        pass


@pytest.fixture
def old(tmp_path) -> Path:
    path = tmp_path / "a.yml"
    path.write_text("old")
    return path


def is_untouched(old: Path) -> bool:
    return [path.name for path in old.parent.iterdir()] == [old.name] and old.read_text() == "old"


def test_a_full_disk_leaves_the_old_file_and_nothing_beside_it(old):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))  # a write beyond it fails, as on a full disk
    try:
        with pytest.raises(OSError, match="File too large"):
            durable.write(old, "n" * 2000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert is_untouched(old)


def test_ctrl_c_while_a_file_is_written_leaves_the_old_one(old):
    def cut_off() -> None:
        with durable.replacing(old) as part:
            part.write_text("hal")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cut_off()
    assert is_untouched(old)


@pytest.mark.parametrize("exists", [True, False])
def test_a_symbolic_link_stays_one_and_the_file_it_leads_to_is_replaced(tmp_path, exists):
    (tmp_path / "elsewhere").mkdir()
    file, first, second = tmp_path / "elsewhere/b.yml", tmp_path / "first.yml", tmp_path / "second.yml"
    if exists:
        file.write_text("old")
    first.symlink_to("second.yml")
    second.symlink_to("elsewhere/b.yml")
    durable.write(first, "new")
    assert first.is_symlink() and second.is_symlink() and not file.is_symlink()
    assert file.read_text() == "new" and list(file.parent.iterdir()) == [file]


def test_a_loop_of_links_and_a_folder_are_refused_and_stay(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "folder").mkdir()
    for refuses in (durable.check, lambda path: durable.write(path, "new")):
        with pytest.raises(OSError, match="symbolic links"):
            refuses(tmp_path / "loop")
        with pytest.raises(IsADirectoryError):
            refuses(tmp_path / "folder")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "loop"]


def test_permissions_are_kept_and_those_of_a_new_file_are_as_for_any_other(old):
    before = os.umask(0o027)
    try:
        old.chmod(0o604)
        durable.write(old, "new")
        durable.write(old.with_name("b.yml"), "new")
    finally:
        os.umask(before)
    assert [stat.S_IMODE(old.with_name(name).stat().st_mode) for name in ("a.yml", "b.yml")] == [0o604, 0o640]


def test_what_is_being_written_in_place_of_a_private_file_is_private(old):
    old.chmod(0o600)
    with durable.replacing(old) as part:
        assert stat.S_IMODE(part.stat().st_mode) == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file to others")
def test_the_owner_is_kept(old):
    os.chown(old, 12345, 23456)
    durable.write(old, "new")
    assert (old.stat().st_uid, old.stat().st_gid) == (12345, 23456) and old.read_text() == "new"


def test_another_name_of_the_same_file_keeps_the_old_content(old):
    other = old.with_name("other.yml")
    other.hardlink_to(old)
    durable.write(old, "new")
    assert (old.read_text(), other.read_text()) == ("new", "old")


@pytest.mark.parametrize("sign", ["x", "é", "😀"])
def test_the_longest_name_that_a_folder_takes_can_be_written(tmp_path, sign):
    path = tmp_path / (sign * (255 // len(sign.encode())))
    durable.check(path)
    durable.write(path, "new")
    assert path.read_text() == "new" and list(tmp_path.iterdir()) == [path]
    with pytest.raises(OSError, match="File name too long"):
        durable.check(tmp_path / (sign * 256))


@pytest.mark.parametrize("is_linked", [False, True])
def test_a_pipe_is_written_to_and_stays_one(tmp_path, is_linked):
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to("pipe")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    durable.write(link if is_linked else pipe, "new")
    reader.join(timeout=5)
    assert read == ["new"] and pipe.is_fifo() and link.is_symlink()
    assert {path.name for path in tmp_path.iterdir()} == {"pipe", "link"}


# /dev/fd/1, and not /dev/stdout, which root could replace by a file
@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="open files have no names here")
@pytest.mark.parametrize("mode", ["w", "a"])
def test_a_file_that_standard_output_goes_to_gets_both_in_their_order(tmp_path, mode):
    (tmp_path / "out").write_text("before\n")
    code = (
        "import pathlib; from ettr.core import durable; print('first');"
        "durable.write(pathlib.Path('/dev/fd/1'), 'page\\n'); print('last')"
    )
    with (tmp_path / "out").open(mode) as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert (tmp_path / "out").read_text() == ("before\n" if mode == "a" else "") + "first\npage\nlast\n"


@pytest.fixture
def of_another():
    """A folder of a user who is not root, whose rights the test has."""
    with tempfile.TemporaryDirectory() as name:
        folder, is_root = Path(name), os.geteuid() == 0
        if is_root:
            os.chown(folder, 65534, 65534)
            os.setegid(65534)
            os.seteuid(65534)
        try:
            yield folder
        finally:
            if is_root:
                os.seteuid(0)
                os.setegid(0)


def test_a_folder_that_takes_no_files_keeps_those_it_has(of_another):
    old = of_another / "a.yml"
    old.write_text("old")
    of_another.chmod(0o555)
    for refuses in (durable.check, lambda path: durable.write(path, "new")):
        with pytest.raises(PermissionError, match="no new file can be created in"):
            refuses(old)
    assert is_untouched(old)


def test_a_file_that_may_not_be_written_is_not_replaced(of_another):
    old = of_another / "a.yml"
    old.write_text("old")
    old.chmod(0o444)
    for refuses in (durable.check, lambda path: durable.write(path, "new")):
        with pytest.raises(PermissionError):
            refuses(old)
    assert is_untouched(old)


def test_a_folder_that_shows_no_names_takes_a_file(of_another):
    of_another.chmod(0o333)
    durable.write(of_another / "a.yml", "new")
    of_another.chmod(0o700)
    assert (of_another / "a.yml").read_text() == "new"
