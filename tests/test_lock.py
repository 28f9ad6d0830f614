"""The lock file is complete, contains only wheels, and includes the build requirements."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
UV = Path(sys.executable).with_name("uv")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCK = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))
REQUIREMENTS = (ROOT / "requirements.txt").read_text(encoding="utf-8")
PACKAGES = [package for package in LOCK["package"] if "registry" in package["source"]]


def uv(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([UV, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def test_lock_and_requirements_agree_with_the_project():
    assert (done := uv("lock", "--check", "--offline")).returncode == 0, f"run `make lock`: {done.stderr}"
    written = re.search(r"^#    uv (export .*) --output-file requirements.txt$", REQUIREMENTS, re.MULTILINE)
    exported = uv(*written.group(1).split()).stdout
    in_common = exported[exported.index("\n", exported.index(" export ")) :]
    assert len(in_common) > 10_000 and REQUIREMENTS.endswith(in_common), "run `make lock`"


def test_every_file_has_a_hash_and_every_package_a_wheel():
    assert len(PACKAGES) > 100
    for package in PACKAGES:
        assert package.get("wheels"), f"{package['name']} is sources only, which run code when they are installed"
        assert all(re.fullmatch("sha256:[0-9a-f]{64}", wheel["hash"]) for wheel in package["wheels"])
    required = re.findall(r"^([\w.-]+)==(.*)$", REQUIREMENTS, re.MULTILINE)
    assert {name for name, _ in required} == {package["name"] for package in PACKAGES}
    assert all(rest.endswith(" \\") for _, rest in required), "hashes follow on the next lines"


@pytest.mark.parametrize("required", PROJECT["build-system"]["requires"])
def test_build_requirements_are_locked(required):
    name, version = required.split("==")
    assert (name, version) in {(package["name"], package["version"]) for package in PACKAGES}
    assert required in PROJECT["dependency-groups"]["build"]
