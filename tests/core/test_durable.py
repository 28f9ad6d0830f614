"""The order in which files reach a disk."""

import contextlib
import errno
import fcntl
import os

import pytest

from ettr.core import durable
from ettr.core.errors import InputError
from ettr.files.locking import locked


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


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="names of open files are read from /proc")
def test_a_file_is_on_disk_before_it_has_its_name_and_so_is_the_name_after(tmp_path, calls):
    durable.write(tmp_path / "a.json", "whole")
    part = f".a.json.{os.getpid()}{durable.PART}"
    assert calls == [("sync", part), ("move", "a.json"), ("sync", tmp_path.name)]
    assert (tmp_path / "a.json").read_text() == "whole"


def test_an_error_leaves_what_was_there(tmp_path):
    durable.write(tmp_path / "a.json", "old")
    with pytest.raises(UnicodeEncodeError):
        durable.write(tmp_path / "a.json", "new \ud800")
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    assert (tmp_path / "a.json").read_text() == "old"


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="names of open files are read from /proc")
def test_a_folder_is_synced_with_all_that_it_holds(tmp_path, calls):
    (tmp_path / "inner").mkdir()
    (tmp_path / "a").write_text("1")
    (tmp_path / "inner" / "b").write_text("2")
    durable.sync_tree(tmp_path)
    assert {name for _, name in calls} == {"a", "b", "inner", tmp_path.name}


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
