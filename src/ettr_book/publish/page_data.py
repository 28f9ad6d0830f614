"""What the pages know when they open: scenarios as written, the fields with their rules, and mitigations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ettr import budget, evidence, mitigation
from ettr.core import durable
from ettr.core.errors import EttrError
from ettr.core.sentences import about
from ettr.core.units import H_PER_DAY, LAST_DIGITS, unit_of
from ettr.plan import assumed_fields
from ettr.plan.losses import WORDS
from ettr.plots.theme import PART_COLOURS, cited
from ettr.ranges.assumed import known_of
from ettr.ranges.inputs import Assumed, around, assumed_inputs, median_rate, rate_across_clusters
from ettr.scenario import Scenario
from ettr.scenario.fields import amount_of, is_written, meta_at
from ettr.scenario.paths import INIT, N_GPUS, OBSERVED, PERSIST, SLOWDOWN, bounds_at, model_of
from ettr_book.chapters.what_if.tables import ASKED
from ettr_book.validation import CALCULATORS

DEFAULT = "llama3-405b"
MINE = "your-cluster"
"""What a reader begins with who has no scenario: a job of which only its size and its failures are said."""
_MINE_GPUS, _MINE_GPUS_PER_NODE = 4096, 8
"""Size with which that job begins (assumed)."""

INPUTS: dict[str, tuple[float, float, str]] = {
    "cluster.n_gpus": (8, 1_000_000, "GPUs"),
    "cluster.gpus_per_node": (1, 72, "GPUs of a node"),
    "failures.job_mttf_h": (0.1, 1000, "Time between failures of the job"),
    "failures.node_mttf_h": (100, 1_000_000, "Time between failures of a node"),
    "failures.gpu_mttf_h": (1000, 10_000_000, "Time between failures of a GPU"),
    "failures.observed_nodes": (1, 125_000, "Nodes of the job that had this time between failures"),
    "failures.rate_per_1000_node_days": (0.1, 100, "Failure rate"),
    "failures.n_events": (0, 1000, "Failures counted"),
    "failures.node_days": (10, 1_000_000, "Node-days in which they were counted"),
    "checkpoint.stall_s": (0.1, 600, "Checkpoint stall"),
    "checkpoint.interval_min": (0.5, 240, "Checkpoint every"),
    "checkpoint.persist_s": (0, 600, "Background write"),
    "checkpoint.persist_slowdown": (0, 0.5, "Slowdown by the write"),
    "checkpoint.load_s": (0, 600, "Loading from the store"),
    "recovery.detection_min": (0.05, 60, "Until noticed"),
    "recovery.queue_min": (0, 60, "Waiting in the queue"),
    "recovery.restart_min": (0.2, 60, "Restart"),
    "recovery.init_s_per_1000_gpus": (0, 10, "Start-up growth, for 1,000 GPUs more"),
    "recovery.person_share": (0, 0.5, "Failures that need a person"),
    "recovery.person_min": (0, 240, "Wait for a person"),
    "maintenance.per_day": (0, 4, "Maintenance stops"),
    "maintenance.duration_min": (1, 240, "Length of a maintenance stop"),
    "job.productive_h": (24, 8766, "Training needed"),
    "job.throughput_factor": (0.5, 1, "Speed of training"),
    "cost.usd_per_gpu_h": (0.5, 10, "Price a GPU-hour"),
    "cost.usd_per_day": (0, 100_000, "Price of a day, whatever the size"),
    "measured.ettr": (0.3, 0.99, "Measured ETTR"),
}
"""Fields that a page takes, with the ends of their sliders and their labels."""
_CAPTIONS = {
    "cluster.n_gpus": "{} GPUs",
    "cluster.gpus_per_node": "{} GPUs per node",
    "failures.job_mttf_h": "MTBF {} h",
    "failures.node_mttf_h": "node MTBF {} h",
    "failures.gpu_mttf_h": "GPU MTBF {} h",
    "failures.observed_nodes": "failures observed on {} nodes",
    "failures.rate_per_1000_node_days": "{} failures per 1,000 node-days",
    "failures.n_events": "{} failures",
    "failures.node_days": "{} node-days observed",
    "checkpoint.interval_min": "checkpoint every {} min",
    "recovery.init_s_per_1000_gpus": "start-up {} s longer per 1,000 GPUs",
    "maintenance.per_day": "{} maintenance stops per day",
    "job.productive_h": "{} h of training",
    "cost.usd_per_gpu_h": "{} USD per GPU-hour",
    "cost.usd_per_day": "{} USD per day",
    "measured.ettr": "measured ETTR {}",
}
"""Values as captions of charts state them, where name, value and unit in this order would not read well."""
_UNITS = {"maintenance.per_day": "a day", "cost.usd_per_gpu_h": "USD", "cost.usd_per_day": "USD"}


def page_data(scenario: Scenario, named: str = "") -> dict[str, Any]:
    """All that the script of the pages is told.

    Parameters
    ----------
    scenario : Scenario
        The run that the book speaks of.
    named : str
        What a command calls it, where that is not its name: its file.

    Returns
    -------
    dict
        ``starts``: scenarios to begin with; ``book``: the id of the book's own, ``own`` that of one that says hardly
        anything; ``defaults`` of each section; ``fields``: label, unit, ends and rules of each input; ``catalogue``:
        mitigations; ``formulas``: names and titles of those that people use.
    """
    starts = {scenario.name: start(scenario) | {"command": named or scenario.name}}
    mine = _mine()
    starts.setdefault(MINE, start(Scenario.of(mine), mine))
    for name in evidence.scenario_names():
        if name not in starts:
            starts[name] = start(Scenario.load(name)) | {"command": name}
    return {
        "book": scenario.name,
        "own": MINE,
        "starts": starts,
        "defaults": _defaults(),
        "fields": {path: _field(path) for path in INPUTS},
        "catalogue": [*_catalogue()],
        "parts": [
            {"part": part, "words": words, "colour": PART_COLOURS[part.removesuffix("_h")]}
            for part, words in ({"productive_h": "useful training"} | WORDS).items()
        ],
        "asked": ASKED,
        "clusters": _assumed(rate_across_clusters(scenario)),
        "published": [one.record for one in evidence.published_runs()],
        "similar": evidence.SIMILAR,
        "formulas": [{"name": name, "title": one.title} for name, one in CALCULATORS.items()],
    }


def _mine() -> dict[str, Any]:
    """A job of which only its size is known, at the median failure rate of published clusters, as of a plan."""
    nodes = _MINE_GPUS / _MINE_GPUS_PER_NODE
    mttf_h = 1000 * H_PER_DAY / (median_rate(_MINE_GPUS_PER_NODE)[0] * nodes)
    return {
        "title": "Your cluster",
        "cluster": {"n_gpus": _MINE_GPUS, "gpus_per_node": _MINE_GPUS_PER_NODE},
        "failures": {"job_mttf_h": about(mttf_h)},
    }


def script(scenario: Scenario, named: str = "") -> str:
    """The same as a script, which browsers load from a file."""
    text = json.dumps(page_data(scenario, named), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return f"window.ettrData={text};\n"


def start(scenario: Scenario, written: dict[str, Any] | None = None) -> dict[str, Any]:
    """One scenario: as it is written, what is assumed in it, where its values come from, and what is known of its ETTR.

    ``assumed`` has the inputs with a range, ``assumed_fields`` all values without a source; ``cited`` is the title with
    its sources, as captions of charts state it.

    The hours of a job that is given by its tokens stand in their place, as they are at its own size.
    """
    tokens = scenario.job.tokens is not None
    told = scenario.override({"job.productive_h": scenario.productive_h}) if tokens else scenario
    return {
        "title": scenario.title,
        "written": written or _written(told),
        "assumed": [_assumed(one) for one in _inputs(told)] if _is_closed(told) else [],
        "assumed_fields": assumed_fields(told),
        "cited": cited(told),
        "known": known_of(told),
        "fixed": ["cluster.n_gpus"] if tokens else [],
    }


def _written(scenario: Scenario) -> dict[str, Any]:
    """The scenario's values, with the clock of its rate if its file says it: a new time between failures keeps that."""
    written = scenario.written()
    if is_written(scenario, "failures.rate_clock"):
        written["failures"] = {**written["failures"], "rate_clock": scenario.failures.rate_clock}
    return written


def _is_closed(scenario: Scenario) -> bool:
    try:
        budget.accepted(scenario)
    except EttrError:
        return False
    return True


def _inputs(scenario: Scenario) -> list[Assumed]:
    """What is assumed, with what would be if there were a background write, or another size."""
    found = {one.field: one for one in assumed_inputs(scenario)}
    if scenario.persist_h == 0:
        writing = scenario.override({PERSIST: 1e-6})  # shorter than any interval
        found |= {one.field: one for one in assumed_inputs(writing) if one.field == SLOWDOWN}
    grown = scenario.override({N_GPUS: 2 * scenario.cluster.n_gpus})
    found |= {one.field: one for one in assumed_inputs(grown) if one.field == INIT}
    return [found[path] for path in scenario.swept if path in found]


def _assumed(one: Assumed) -> dict[str, Any]:
    half, twice = around(one.field, one.value)
    name = one.name.removeprefix("the ")
    named = {"field": one.field, "name": name, "value": one.value, "low": one.low, "high": one.high, "unit": one.unit}
    named |= {"quantiles": list(one.quantiles)} if one.quantiles else {}
    return {**named, "source": one.source, "half": half, "twice": twice}


def _defaults() -> dict[str, dict[str, Any]]:
    """What each section is taken to say where it says nothing."""
    sections = {}
    for name in ("cluster", "job", "failures", "checkpoint", "recovery", "maintenance", "prediction", "cost"):
        model = model_of(Scenario.model_fields[name].annotation)
        assert model is not None
        known = {key: field.default for key, field in model.model_fields.items() if not field.is_required()}
        sections[name] = {key: value for key, value in known.items() if value not in (None, ())}
    return sections


def _field(path: str) -> dict[str, Any]:
    """Label, unit, slider and rules of an input."""
    low, high, label = INPUTS[path]
    rules, meta = dict(bounds_at(path, Scenario)), meta_at(path, Scenario)
    known: dict[str, Any] = {"label": label, "unit": _UNITS.get(path, unit_of(path)), "slider": [low, high]}
    known |= {"least": rules.get(">=", rules.get(">", 0.0)), "open": ">" in rules}
    known |= {"most": rules["<"] * (1 - LAST_DIGITS) if "<" in rules else rules["<="]}
    known["whole"] = path.startswith("cluster.") or path == OBSERVED
    if meta.plausible is not None and path != N_GPUS:  # the size is asked about, and not assumed
        known["plausible"] = [meta.plausible.low, meta.plausible.high]
    known["name"] = amount_of(path, Scenario).removeprefix("the ") if meta.says else label.lower()
    known["caption"] = _CAPTIONS.get(path, f"{known['name']} {{}} {known['unit']}".strip())
    return known


def _catalogue() -> Iterator[dict[str, Any]]:
    """Mitigations whose changes the script of the pages can follow."""
    known = mitigation.catalogue()
    for one in known:
        if not one.changes:
            continue
        changes = []
        for change in one.changes:
            given = {"path": change.path, "op": change.op, "value": change.value, "of": change.of, "when": change.when}
            given["unless"] = list(change.unless)
            changes.append({key: value for key, value in given.items() if value not in (None, [])})
        yield {
            "id": one.id,
            "title": one.title,
            "effect": mitigation.effect_basis(one.changes),
            "usd": one.price.usd,
            "usd_per_gpu": one.price.usd_per_gpu,
            "changes": changes,
            "conflicts": [other.id for other in known if known.conflict(one.id, other.id)],
        }


def write(folder: Path, scenario: Scenario, named: str = "") -> Path:
    """Put the script into a folder of a site's static files, and answer that folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path, content = folder / "data.js", script(scenario, named).encode()
    if not path.is_file() or path.read_bytes() != content:
        with durable.replacing(path) as part:
            part.write_bytes(content)
    return folder
