"""What an installation without extras answers, and what it says of the rest."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

REPOSITORY = Path(__file__).parents[1]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
BASE = ""
"""An installation without any extra, among the extras."""

LOG = """\
node,start,cause
n1,2026-01-02T03:00:00Z,gpu
n2,2026-01-12T03:00:00Z,link
n3,2026-02-02T03:00:00Z,gpu
n1,2026-03-02T03:00:00Z,gpu
n9,2026-03-09T03:00:00Z,disk
"""
JSON_LOG = '[{"node": "n1", "start": "2026-01-02T03:00:00Z", "cause": "gpu"}]\n'
RECORDING = "t_s,power_w,temperature_c\n" + "".join(f"{i / 10},{700 - i % 7},{60 + i % 3}\n" for i in range(3000))
GRID = "cluster.n_gpus: [4096, 8192]\n"
FILES = {"log.csv": LOG, "log.json": JSON_LOG, "gpu.csv": RECORDING, "grid.yml": GRID}
"""Files for the commands, by name in their folder."""

WATCHED = ("--nodes", "64", "--window", "2026-01-01/2026-04-01")
FEW_SPARES = ("--set", "spares={n_nodes: 4}", "--set", "repair={manual_h: 24}")
TIER = ("--set", "checkpoint.tiers=[{name: peer, interval_s: 60, stall_s: 0.2, copies: 2}]")
ANSWERS = (
    ("--help",),
    ("plan", "--gpus", "4096", "--mtbf-h", "9", "--save", "mine.yml", "--html", "plan.html"),
    ("plan", "llama3-405b", "--details"),
    ("plan", "llama3-405b", "--target", "0.9"),
    ("plan", "llama3-405b-tokens", "--power-mw", "20"),
    ("plan", "llama3-405b", "--start", "2027-01-15", "--deadline", "2027-06-01"),
    ("plan", "llama3-405b", *FEW_SPARES, "--quick"),
    ("fit", "log.csv", *WATCHED),
    ("fit", "log.json", *WATCHED, "--json"),
    ("telemetry", "gpu.csv"),
    ("fields", "restart"),
    *((name,) for name in ("scenarios", "gpus", "formats", "mitigations")),
    *((name, "--help") for name in ("simulate", "compare", "power", "sweep", "book", "drill")),
)
"""Commands that need no extra."""
WITHOUT_DATES = (
    ("plan", "llama3-405b", *TIER),
    ("plan", "llama3-405b", *TIER, "--start", "2027-01-15", "--deadline", "2027-03-08"),
    ("plan", "llama3-405b", "--start", "2027-01-15", "--deadline", "2027-03-06"),
)
"""Commands that answer without an extra, and name the one needed to simulate dates."""
NEEDS = {
    ("plan", "llama3-405b", *FEW_SPARES): "simulate",
    ("simulate", "llama3-405b", "--runs", "2"): "simulate",
    ("power", "llama3-405b", "--set", "job.productive_h=24"): "simulate",
    ("compare", "llama3-405b", "--only", "peer-checkpoint", "--runs", "2", "--quiet"): "simulate",
    ("sweep", "--call", "budget", "--scenario", "rsc-1", "--grid", "grid.yml", "--out", "swept"): "sweep",
    ("sweep", "scale", "--grid", "grid.yml", "--out", "chapters"): "sweep",
    ("book",): "book",
    ("telemetry", "record", "--out", "new.csv", "--load", "none"): "record",
}
"""Commands that need an extra, with the extra."""


def sentence(extra: str) -> re.Pattern[str]:
    """Return the pattern of the message about a missing extra."""
    return re.compile(
        rf"^(?:ettr: )?[^\n]* needs? [\w-]+, which is not installed: pip install 'ettr\[{extra}\]'[^\n]*$"
    )


def normalised(requirement: str) -> str:
    """Return the normalised name of a distribution."""
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", requirement)[0]).lower()


def declared(extra: str) -> set[str]:
    """Return the distributions of an extra, including those of other extras that it names."""
    requirements = set(PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"])
    others = {re.match(r"ettr\[(\w+)\]$", name)[1] for name in requirements if name.startswith("ettr[")}
    return {normalised(name) for name in requirements if not name.startswith("ettr[")}.union(*map(declared, others))


def brought(extra: str) -> set[str]:
    """Return the distributions of an installation with an extra, except the package itself."""
    installed: set[str] = set()
    waiting = {normalised(name): Requirement(name) for name in declared(BASE) | (declared(extra) if extra else set())}
    while waiting:
        name, wanted = waiting.popitem()
        installed.add(name)
        environments = [{"extra": each} for each in wanted.extras] or [{"extra": ""}]
        for text in metadata.requires(name) or []:
            requirement = Requirement(text)
            applies = requirement.marker is None or any(requirement.marker.evaluate(each) for each in environments)
            if applies and normalised(requirement.name) not in installed:
                waiting[normalised(requirement.name)] = requirement
    return installed


def not_brought(extra: str) -> set[str]:
    """Return the importable modules that an installation with only an extra lacks."""
    kept = brought(extra) | {"ettr"}
    of_module = metadata.packages_distributions().items()
    return {module for module, names in of_module if not {normalised(name) for name in names} & kept}
