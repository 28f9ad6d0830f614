"""Files that are replaced as a whole: what is left of the old one, and the order in which files reach a disk."""

import os
import resource
import stat
import tempfile
import threading
from pathlib import Path

import pytest

from ettr.core import durable


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
    (_, part), *others = calls
    assert part.startswith(".a.json.") and part.endswith(durable.PART)
    assert others == [("move", "a.json"), ("sync", tmp_path.name)]
    assert (tmp_path / "a.json").read_text() == "whole"


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


def test_a_symbolic_link_stays_one_and_the_file_it_leads_to_is_replaced(old):
    link = old.with_name("link.yml")
    link.symlink_to(old.name)
    durable.write(link, "new")
    assert link.is_symlink() and not old.is_symlink() and old.read_text() == "new"


def test_permissions_are_kept_and_those_of_a_new_file_are_as_for_any_other(old):
    before = os.umask(0o027)
    try:
        old.chmod(0o604)
        durable.write(old, "new")
        durable.write(old.with_name("b.yml"), "new")
    finally:
        os.umask(before)
    assert [stat.S_IMODE(old.with_name(name).stat().st_mode) for name in ("a.yml", "b.yml")] == [0o604, 0o640]


def test_a_pipe_is_written_to_and_stays_one(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    durable.write(pipe, "new")
    reader.join(timeout=5)
    assert read == ["new"] and pipe.is_fifo()


# /dev/fd/1, and not /dev/stdout, which root could replace by a file
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
