"""Data for the scripts of the pages: scenarios, the fields with their rules, and mitigations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from ettr import budget, evidence, mitigation
from ettr.cli.plan import FLAGS
from ettr.core import durable
from ettr.core.errors import EttrError
from ettr.core.results import PART_WORDS
from ettr.core.sentences import about
from ettr.core.units import H_PER_DAY, LAST_DIGITS, unit_of
from ettr.plan import assumed_fields
from ettr.plots.named import DEFAULTS
from ettr.plots.theme import PART_COLOURS, cited
from ettr.ranges.assumed import RANGE_WORDS, measured_words
from ettr.ranges.inputs import Assumed, around, assumed_inputs, median_rate, rate_across_clusters
from ettr.recommendation.answer import EACH_SAVING
from ettr.scenario import Scenario
from ettr.scenario.field_list import fields_of
from ettr.scenario.fields import amount_of, is_written, meta_at
from ettr.scenario.paths import INIT, N_GPUS, OBSERVED, PERSIST, SLOWDOWN, bounds_at, model_of
from ettr_book.validation import CALCULATORS

DEFAULT = "llama3-405b"
MINE = "your-cluster"
"""Start for a reader without a scenario: a job with only a size and a failure rate."""
_MINE_GPUS, _MINE_GPUS_PER_NODE = 4096, 8
"""Initial size of that job (assumed)."""

INPUTS: dict[str, tuple[float, float, str]] = {
    "cluster.n_gpus": (8, 1_000_000, "GPUs"),
    "cluster.gpus_per_node": (1, 72, "GPUs per node"),
    "failures.job_mttf_h": (0.1, 1000, "MTBF of the job"),
    "failures.node_mttf_h": (100, 1_000_000, "MTBF of a node"),
    "failures.gpu_mttf_h": (1000, 10_000_000, "MTBF of a GPU"),
    "failures.observed_nodes": (1, 125_000, "Nodes on which this MTBF was observed"),
    "failures.rate_per_1000_node_days": (0.1, 100, "Failure rate"),
    "failures.n_events": (0, 1000, "Failures counted"),
    "failures.node_days": (10, 1_000_000, "Node-days observed"),
    "checkpoint.stall_s": (0.1, 600, "Checkpoint stall"),
    "checkpoint.interval_min": (0.5, 240, "Checkpoint interval"),
    "checkpoint.persist_s": (0, 600, "Background write"),
    "checkpoint.persist_slowdown": (0, 0.5, "Slowdown during the write"),
    "checkpoint.load_s": (0, 600, "Load from the store"),
    "recovery.detection_min": (0.05, 60, "Failure detection"),
    "recovery.queue_min": (0, 60, "Queue for nodes"),
    "recovery.restart_min": (0.2, 60, "Restart"),
    "recovery.init_s_per_1000_gpus": (0, 10, "Extra start-up time per 1,000 GPUs"),
    "recovery.person_share": (0, 0.5, "Failures that need a person"),
    "recovery.person_min": (0, 240, "Wait for a person"),
    "maintenance.per_day": (0, 4, "Maintenance stops"),
    "maintenance.duration_min": (1, 240, "Duration of a maintenance stop"),
    "job.productive_h": (24, 8760, "Failure-free training time"),
    "job.throughput_factor": (0.5, 1, "Relative training speed"),
    "cost.usd_per_gpu_h": (0.5, 10, "Price per GPU-hour"),
    "cost.usd_per_day": (0, 100_000, "Fixed price per day"),
    "measured.ettr": (0.3, 0.99, "Measured ETTR"),
}
"""Input fields of the pages, with the ends of their sliders and their labels."""
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
"""Values in captions of charts, if name, value and unit in this order would not read well."""
_ETTR = "Effective Training Time Ratio: hours of useful training over wall-clock hours, queueing included"
QUESTIONS: dict[str, dict[str, Any]] = {
    "target": {
        "label": "ETTR to reach",
        "caption": "target ETTR {}",
        "slider": [0.5, 0.99],
        "least": 0.01,
        "most": 0.999,
    },
    "days": {"label": "Done within", "caption": "done within {} days", "unit": "days", "slider": [1, 400], "most": 1e6},
    "repair_h": {
        "label": "Repair time of a node",
        "caption": "repair {} h",
        "unit": "h",
        "slider": [0.5, 336],
        "most": 1e5,
        "note": "assumed",
    },
    "level": {
        "label": "Service level of the pool",
        "caption": "service level {}",
        "slider": [0.5, 0.9999],
        "least": 0.01,
        "most": 0.999999,
    },
    "events": {
        "label": "Failures counted",
        "caption": "failure count {}",
        "quantity": "failures",
        "slider": [0, 1000],
        "least": 0,
        "most": 1e7,
        "whole": True,
    },
    "in_days": {
        "label": "Observation time",
        "caption": "observed for {} days",
        "unit": "days",
        "slider": [1, 365],
        "most": 1e5,
    },
}
"""Inputs of single charts, which are no fields of a scenario; without ``least`` their value is above 0."""
_UNITS = {"maintenance.per_day": "per day", "cost.usd_per_gpu_h": "USD", "cost.usd_per_day": "USD"}


def page_data(scenario: Scenario, named: str = "") -> dict[str, Any]:
    """Return all data for the script of the pages.

    Parameters
    ----------
    scenario : Scenario
        The run of the book.
    named : str
        Its name in a command, if that is a file.

    Returns
    -------
    dict
        ``starts``: scenarios to start from; ``book``: id of the book's scenario; ``mine``: id of the reader's own;
        ``defaults`` of each section; ``fields``: label, units, ends and rules of each input; ``catalogue``:
        mitigations; ``formulas``: names and titles of the formulas in use.
    """
    starts = {scenario.name: start(scenario) | {"command": named or scenario.name}}
    mine = _mine()
    starts.setdefault(MINE, start(Scenario.of(mine), mine))
    for name in evidence.scenario_names():
        if name not in starts:
            starts[name] = start(preset(name)) | {"command": name}
    return {
        "book": scenario.name,
        "mine": MINE,
        "starts": starts,
        "defaults": _defaults(),
        "fields": {path: _field(path) for path in INPUTS},
        "catalogue": [*_catalogue()],
        "parts": [
            {"part": part, "words": words, "colour": PART_COLOURS[part.removesuffix("_h")]}
            for part, words in PART_WORDS.items()
        ],
        "questions": {name: _question(name) for name in QUESTIONS},
        "flags": {path: f"--{name.replace('_', '-')}" for name, path in FLAGS.items()},
        "sentences": {"range": RANGE_WORDS, "each": EACH_SAVING},
        "terms": {"ETTR": _ETTR},
        "clusters": _assumed(rate_across_clusters(scenario)),
        "published": [run.record for run in evidence.published_runs()],
        "similar": evidence.SIMILAR,
        "formulas": [{"name": name, "title": calculator.title} for name, calculator in CALCULATORS.items()],
    }


def _mine() -> dict[str, Any]:
    """Return a job with a size and the median failure rate of published clusters, as in a plan without a scenario."""
    nodes = _MINE_GPUS / _MINE_GPUS_PER_NODE
    mttf_h = 1000 * H_PER_DAY / (median_rate(_MINE_GPUS_PER_NODE)[0] * nodes)
    return {
        "title": "Your cluster",
        "cluster": {"n_gpus": _MINE_GPUS, "gpus_per_node": _MINE_GPUS_PER_NODE},
        "failures": {"job_mttf_h": about(mttf_h)},
    }


def script(scenario: Scenario, named: str = "") -> str:
    """Return the page data as a script, which browsers can load from a file."""
    text = json.dumps(page_data(scenario, named), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return f"window.ettrData={text};\n"


def start(scenario: Scenario, written: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return one scenario for the script: its values, their sources, its assumed inputs and its plausible ETTR.

    ``assumed`` has the inputs with a range, ``assumed_fields`` all values without a source; ``cited`` is the title with
    its sources, as captions of charts state it.

    Tokens of a job are replaced by its hours at its own size; ``tokens_per_h`` leads back to them.
    """
    tokens = scenario.job.tokens
    stated = scenario.override({"job.productive_h": scenario.productive_h}) if tokens else scenario
    return {
        "title": scenario.title,
        "written": written or _written(stated),
        "assumed": [_assumed(entry) for entry in _inputs(stated)] if _is_closed(stated) else [],
        "assumed_fields": assumed_fields(stated),
        "cited": cited(stated),
        "condition": measured_words(stated),
        "fixed": ["cluster.n_gpus"] if tokens else [],
        "tokens_per_h": tokens / scenario.productive_h if tokens else None,
    }


def preset(name: str) -> Scenario:
    """Return a preset as far as the script covers it: without a spare pool, and without racks, which draw on it.

    Examples
    --------
    >>> preset("gb200-nvl72").spares is None, preset("rsc-1") == Scenario.load("rsc-1")
    (True, True)
    """
    run = budget.without_extras(Scenario.load(name)).scenario
    return run.override({"rack": None}) if run.rack else run


def _written(scenario: Scenario) -> dict[str, Any]:
    """Return the scenario's values, with the clock of its rate if its file states one: a new MTBF keeps that clock."""
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
    """Return the assumed inputs, including those that matter only with a background write or at another size."""
    inputs = {entry.field: entry for entry in assumed_inputs(scenario)}
    if scenario.persist_h == 0:
        writing = scenario.override({PERSIST: 1e-6})  # shorter than any interval
        inputs |= {entry.field: entry for entry in assumed_inputs(writing) if entry.field == SLOWDOWN}
    grown = scenario.override({N_GPUS: 2 * scenario.cluster.n_gpus})
    inputs |= {entry.field: entry for entry in assumed_inputs(grown) if entry.field == INIT}
    return [inputs[path] for path in scenario.swept if path in inputs]


def _assumed(assumed: Assumed) -> dict[str, Any]:
    half, twice = around(assumed.field, assumed.value)
    name = assumed.name.removeprefix("the ")
    named = {
        "field": assumed.field,
        "name": name,
        "value": assumed.value,
        "low": assumed.low,
        "high": assumed.high,
        "unit": assumed.unit,
    }
    named |= {"quantiles": list(assumed.quantiles)} if assumed.quantiles else {}
    return {**named, "source": assumed.source, "half": half, "twice": twice}


def _defaults() -> dict[str, dict[str, Any]]:
    """Return the default values of each section."""
    sections = {}
    for name in ("cluster", "job", "failures", "checkpoint", "recovery", "maintenance", "prediction", "cost"):
        model = model_of(Scenario.model_fields[name].annotation)
        assert model is not None
        defaults = {key: field.default for key, field in model.model_fields.items() if not field.is_required()}
        sections[name] = {key: value for key, value in defaults.items() if value not in (None, ())}
    return sections


def _field(path: str) -> dict[str, Any]:
    """Return label, unit, slider and rules of an input."""
    low, high, label = INPUTS[path]
    rules, meta = dict(bounds_at(path, Scenario)), meta_at(path, Scenario)
    field: dict[str, Any] = {"label": label, "unit": _UNITS.get(path, unit_of(path)), "slider": [low, high]}
    field |= {"quantity": unit_of(path), "meaning": _meanings()[path]}
    field |= {"least": rules.get(">=", rules.get(">", 0.0)), "open": ">" in rules}
    field |= {"most": rules["<"] * (1 - LAST_DIGITS) if "<" in rules else rules["<="]}
    field["whole"] = path.startswith("cluster.") or path == OBSERVED
    if meta.plausible is not None and path != N_GPUS:  # the size is never assumed
        field["plausible"] = [meta.plausible.low, meta.plausible.high]
    field["name"] = amount_of(path, Scenario).removeprefix("the ") if meta.says else label.lower()
    field["caption"] = _CAPTIONS.get(path, f"{field['name']} {{}} {field['unit']}".strip())
    return field


def _question(name: str) -> dict[str, Any]:
    """Return label, unit, slider and rules of an input of a single chart, and its value at first."""
    question = QUESTIONS[name]
    unit = question.get("unit", "")
    rules = {"unit": unit, "quantity": unit, "least": 0.0, "open": "least" not in question}
    return rules | {"value": DEFAULTS.get(name)} | question


@cache
def _meanings() -> dict[str, str]:
    """Return the meaning of each field, for tooltips."""
    return {field.path: field.meaning for field in fields_of(Scenario)}


def _catalogue() -> Iterator[dict[str, Any]]:
    """Yield the mitigations whose changes the script of the pages can apply."""
    catalogue = mitigation.catalogue()
    for entry in catalogue:
        if not entry.changes:
            continue
        changes = []
        for change in entry.changes:
            conditions = {
                "path": change.path,
                "op": change.op,
                "value": change.value,
                "of": change.of,
                "when": change.when,
            }
            conditions["unless"] = list(change.unless)
            changes.append({key: value for key, value in conditions.items() if value not in (None, [])})
        yield {
            "id": entry.id,
            "title": entry.title,
            "effect": mitigation.effect_basis(entry.changes),
            "usd": entry.price.usd,
            "usd_per_gpu": entry.price.usd_per_gpu,
            "changes": changes,
            "conflicts": [other.id for other in catalogue if catalogue.conflict(entry.id, other.id)],
        }


def write(folder: Path, scenario: Scenario, named: str = "") -> Path:
    """Write the script into a folder of the site's static files and return that folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path, content = folder / "data.js", script(scenario, named).encode()
    if not path.is_file() or path.read_bytes() != content:
        with durable.replacing(path) as part:
            part.write_bytes(content)
    return folder
