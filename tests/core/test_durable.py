"""Files that are replaced as a whole: what is left of the old one, and the order in which files reach a disk."""

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


MAKER = """
import sys, time
from pathlib import Path
from ettr.core import durable
here = Path(sys.argv[1])
with durable.temporary_folder(here) as folder, durable.replacing(here / "a.yml") as part:
    (folder / "data").touch()
    part.write_text("half")
    print("made", flush=True)
    time.sleep(600)
"""


def left(folder: Path) -> list[str]:
    """What is in a folder when the next process has started to write there."""
    durable.remove_leftovers.cache_clear()
    durable.remove_leftovers(folder)
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def maker(tmp_path):
    """A process that has a temporary folder and an unfinished file in a folder with files of others."""
    (tmp_path / f".b.yml{durable.PART}").touch()
    (tmp_path / f".c.{durable._MACHINE}-x-1{durable.PART}").touch()
    process = subprocess.Popen([sys.executable, "-c", MAKER, str(tmp_path)], stdout=subprocess.PIPE)
    assert process.stdout.read(4) == b"made"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def kill(process: subprocess.Popen) -> None:
    process.kill()
    process.wait()


OTHERS = [f".b.yml{durable.PART}", f".c.{durable._MACHINE}-x-1{durable.PART}"]


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_has_is_not(maker, tmp_path):
    with_maker = left(tmp_path)
    assert len(with_maker) == 5  # a lock, a folder, and an unfinished file of it
    kill(maker)
    assert left(tmp_path) == OTHERS


@pytest.mark.parametrize("name", ["_MACHINE", "_runs"])
def test_what_another_machine_or_container_has_stays(maker, tmp_path, name, monkeypatch):
    """Elsewhere its id means nothing: another machine has another name, and a container on this one the same locks."""
    if name == "_MACHINE":
        kill(maker)
        monkeypatch.setattr(durable, "_MACHINE", "123456")
    else:
        monkeypatch.setattr(durable, "_runs", lambda _: False)
    assert len(left(tmp_path)) == 5


def test_what_another_user_left_stays(maker, tmp_path, monkeypatch):
    kill(maker)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert len(left(tmp_path)) == 5


def test_what_a_living_process_has_stays_where_locks_do_not_work(tmp_path):
    name = f".a.{durable._MACHINE}-{os.getpid()}-1{durable.PART}"
    (tmp_path / name).touch()
    assert left(tmp_path) == [name]


def test_a_process_that_ended_and_was_not_collected_does_not_run():
    with subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE) as process:
        process.stdout.read()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert not durable._runs(process.pid) and durable._runs(os.getpid())
    assert not durable._runs(process.pid)


def test_a_temporary_folder_is_its_user_s_alone_and_goes_with_its_block(tmp_path):
    with durable.temporary_folder(tmp_path) as folder:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        (folder / "a").touch()
    assert not list(tmp_path.iterdir())


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
