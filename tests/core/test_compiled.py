"""Where compiled code is cached, also for a user without a home folder."""

from __future__ import annotations

import os
import shutil
import warnings
from pathlib import Path

import pytest

from ettr.core import compiled

caching = pytest.importorskip("numba.core.caching")


@pytest.fixture
def homeless(monkeypatch, tmp_path) -> Path:
    """The working folder of a user without HOME and account, as in a container with any user id."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOME")
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 2_000_000_000)
    return tmp_path


def test_without_a_home_nothing_is_written_into_the_working_folder(homeless, monkeypatch):
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [caching.UserWideCacheLocator])
    assert not compiled.has_home() and not compiled.can_cache()
    with pytest.warns(RuntimeWarning, match="set NUMBA_CACHE_DIR"):
        assert compiled.cached(lambda number: number + 1)(2) == 3
    assert not any(homeless.iterdir())


def test_code_is_cached_where_there_is_a_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [caching.UserWideCacheLocator])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiled.can_cache()
    assert (tmp_path / ".cache" / "numba").is_dir()


def test_a_command_gives_its_libraries_a_home(homeless, ettr):
    status, _, _ = ettr("scenarios")
    home = Path(os.environ["HOME"])
    assert status == 0 and not any(home.iterdir())
    shutil.rmtree(home)
