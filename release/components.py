"""The list of components ("software bill of materials") of the package and its extras, in CycloneDX's JSON."""

from __future__ import annotations

import json
import subprocess
import tomllib
import uuid
from datetime import UTC, datetime
from typing import Any

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

import ettr
from audit import ROOT, UV, packages

FOR_DEVELOPERS = ("test", "dev")
"""Extras that nobody needs who uses the package."""


def components(made: datetime) -> dict[str, Any]:
    """Return the locked packages of all that is for users, with files, hashes, licences, and what needs what.

    It depends on the lock, on the licences of what is installed, and on ``made``: made again it is the same.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [extra for extra in project["optional-dependencies"] if extra not in FOR_DEVELOPERS]
    asked = [UV, "export", "--frozen", "--no-default-groups", "--quiet", "--format", "cyclonedx1.5"]
    asked += [f"--extra={extra}" for extra in extras]
    bill = json.loads(subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
    own = bill["metadata"]["component"]
    own |= {"version": ettr.__version__, "purl": f"pkg:pypi/ettr@{ettr.__version__}"}
    own["licenses"] = [{"expression": project["license"]}]
    licences = {(package.name, package.version): package.licence for package in packages()}
    for component in bill["components"]:
        if licence := licences.get((component["name"], component["version"])):
            component["licenses"] = [named(licence)]
    bill["metadata"]["timestamp"] = made.astimezone(UTC).isoformat()
    del bill["serialNumber"]
    bill["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(bill, sort_keys=True))}"
    return bill


def named(licence: str) -> dict[str, Any]:
    """Return a licence as CycloneDX has it: an expression by SPDX's names, or else the words of the metadata."""
    try:
        return {"expression": str(canonicalize_license_expression(licence))}
    except InvalidLicenseExpression:
        return {"license": {"name": licence}}


def faults(bill: dict[str, Any]) -> str:
    """Return what the schema of CycloneDX finds wrong; empty if nothing."""
    error = JsonStrictValidator(SchemaVersion.V1_5).validate_str(json.dumps(bill))
    return str(error.data.message) if error else ""
