"""The list of components of a release: valid, whole, and the same when made again."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime

import pytest

import audit
import ettr
from components import components, faults, named

MADE = datetime(2026, 11, 26, tzinfo=UTC)
PROJECT = tomllib.loads((audit.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
OTHERS = {"test", "dev", *PROJECT["dependency-groups"]}


@pytest.fixture(scope="module")
def bill() -> dict:
    return components(MADE)


def test_the_list_fits_the_schema_and_a_wrong_one_does_not(bill):
    assert faults(bill) == ""
    assert "novel" in faults(bill | {"components": [bill["components"][0] | {"type": "novel"}]})


def test_it_has_what_users_install_with_versions_hashes_and_licences(bill):
    listed = {(part["name"], part["version"]): part for part in bill["components"]}
    for_users = {(row.name, row.version): row for row in audit.packages() if row.asked_for_by not in OTHERS}
    assert set(listed) == set(for_users)
    for key, part in listed.items():
        files = part["externalReferences"]
        assert files and all(file["hashes"][0]["alg"] == "SHA-256" for file in files)
        assert (part.get("licenses") == [named(for_users[key].licence)]) or not for_users[key].licence
    assert bill["metadata"]["component"]["version"] == ettr.__version__
    own = next(entry for entry in bill["dependencies"] if entry["ref"] == bill["metadata"]["component"]["bom-ref"])
    assert any(reference.startswith("numpy-") for reference in own["dependsOn"])


def test_it_is_the_same_when_made_again(bill):
    assert components(MADE) == bill
    assert components(MADE.replace(year=2027))["serialNumber"] != bill["serialNumber"]


def test_a_licence_is_an_expression_where_its_names_are_those_of_spdx():
    assert named("mit AND psf-2.0") == {"expression": "MIT AND PSF-2.0"}
    assert named("BSD") == {"license": {"name": "BSD"}}
