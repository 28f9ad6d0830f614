"""Checkpoints are whole, or are not there."""

from __future__ import annotations

import math
import os
import time

import pytest

from ettr.drill import checkpoints


def test_what_was_written_is_read(tmp_path):
    begun_s = time.monotonic()
    checkpoints.write(checkpoints.path_of(tmp_path, 7), b"state", 0.05)
    assert time.monotonic() - begun_s >= 0.05
    assert checkpoints.read(checkpoints.path_of(tmp_path, 7)) == b"state"
    assert [path.name for path in tmp_path.iterdir()] == ["step-000000007"]  # nothing beside


def test_a_corrupt_one_is_passed_over(tmp_path):
    for step in (10, 20, 30):
        checkpoints.write(checkpoints.path_of(tmp_path, step), b"state %d" % step)
    assert checkpoints.newest(tmp_path, math.inf) == 30
    assert checkpoints.newest(tmp_path, 29) == 20
    checkpoints.corrupt(tmp_path, 30)
    assert checkpoints.newest(tmp_path, math.inf) == 20
    checkpoints.path_of(tmp_path, 20).write_bytes(b"cut")
    assert checkpoints.newest(tmp_path, math.inf) == 10
    checkpoints.drop_after(tmp_path, 25)
    (tmp_path / ".step-000000005").touch()  # of a killed worker
    checkpoints.keep_newest(tmp_path, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["step-000000020"]
    assert checkpoints.newest(tmp_path / "none", math.inf) == 0


def test_a_full_disk_leaves_what_was_there(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    why_not = checkpoints.mount(folder, 1)
    if why_not:
        pytest.skip(f"no disk of its own: {why_not}")
    try:
        checkpoints.write(checkpoints.path_of(folder, 1), b"first")
        checkpoints.fill(folder)
        with pytest.raises(OSError) as full:
            checkpoints.write(checkpoints.path_of(folder, 2), bytes(100_000))
        assert checkpoints.is_full(full.value)
        assert checkpoints.steps(folder) == [1] and checkpoints.read(checkpoints.path_of(folder, 1)) == b"first"
        checkpoints.free(folder)
        checkpoints.write(checkpoints.path_of(folder, 2), bytes(100_000))
        assert checkpoints.newest(folder, math.inf) == 2
    finally:
        checkpoints.unmount(folder)
    assert not os.path.ismount(folder)
    assert checkpoints.mount(folder, 1) == ""
    newest = checkpoints.newest(folder, math.inf)
    checkpoints.unmount(folder)
    assert newest == 2  # they came along


def test_a_disk_that_is_not_its_own_is_never_filled(tmp_path):
    checkpoints.fill(tmp_path)
    assert list(tmp_path.iterdir()) == []
