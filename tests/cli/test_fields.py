"""`ettr fields`: every field of a scenario is found, and what is said of it stands in the model."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from ettr import Gpu, Scenario, evidence
from ettr.cli import fields
from ettr.mitigation import catalogue
from ettr.scenario.field_list import fields_of, without_items
from ettr.scenario.fields import meta_at
from ettr.scenario.paths import each_field

PATHS = [path for path, _ in each_field(Scenario, items=True)]
TEXTS = {field.path: "\n".join((*field.entry.names, field.entry.text)).casefold() for field in fields_of(Scenario)}
ALIASES = [(alias, field.path) for field in fields_of(Scenario) for alias in field.meta.aliases]
NAMES = [(name, entry.id) for entry in catalogue() for name in (entry.title, *entry.aliases)]


def test_without_a_word_every_field_of_the_model_is_listed(as_json):
    assert [record["field"] for record in as_json("fields")] == PATHS


def test_the_list_says_what_the_data_dictionary_says(as_json):
    of_book = Scenario.dictionary()
    records = as_json("fields")
    for column in ("field", "unit", "meaning"):
        assert [record[column] for record in records] == of_book[column].tolist()
    assert [record["required"] for record in records] == (of_book["default"] == "required").tolist()


@pytest.mark.parametrize(
    ("words", "path"),
    [
        (("restart",), "recovery.restart_min"),
        (("RESTART", "failures"), "recovery.exposed"),
        (("false alarms",), "recovery.false_alarms_per_day"),  # what a sentence calls it
        (("1/day",), "maintenance.per_day"),  # a unit
        (("lemons",), "failures.lemons.factor"),
        (("Weibull",), "failures.lifetime.shape"),  # what only its section says
        (("faster", "tiers"), "checkpoint.tiers.<name>.stall_s"),
        (("bibliography",), "sources"),
    ],
)
def test_a_word_finds_its_fields_and_no_others(as_json, words, path):
    paths = [record["field"] for record in as_json("fields", *words)]
    assert path in paths and len(paths) < len(PATHS) / 2
    sought = " ".join(words).casefold().split()
    assert set(paths) == {path for path, text in TEXTS.items() if all(word in text for word in sought)}


WORDS = ["goodput", "MTTR", "MTBF", "async", "timeout", "NCCL", "spot", "preemptible", "torchft", "HSDP", "SDC"]
WORDS += ["straggler", "peer", "Lustre", "storage", "TPU", "MoE", "ECC", "dual-ToR"]


@pytest.mark.parametrize("command", ["fields", "mitigations"])
@pytest.mark.parametrize("words", [*WORDS, "hot spare", "incremental checkpoint", "mixture of experts"])
def test_the_words_of_the_field_find_fields_or_mitigations(in_words, command, words):
    assert len(in_words(command, *words.split()).splitlines()) >= 2


@pytest.mark.parametrize(("alias", "path"), ALIASES)
def test_every_alias_of_a_field_finds_it_among_the_first(alias, path):
    others = sum(other.casefold() == alias.casefold() for other, _ in ALIASES)
    assert path in [field.path for field in fields.matching_fields([alias])[:others]]


@pytest.mark.parametrize(("name", "entry"), NAMES)
def test_every_name_of_a_mitigation_finds_it_first(name, entry):
    assert catalogue().search([name])[0] == catalogue()[name].id == entry


@pytest.mark.parametrize("name", evidence.gpu_names())
def test_every_alias_of_a_gpu_finds_it(as_json, name):
    for alias in (name, *Gpu.load(name).aliases):
        assert name in [row["name"] for row in as_json("gpus", alias)]


def test_the_path_of_a_field_finds_it_alone():
    for path in (path for path in PATHS if "." in path):
        assert [field.path for field in fields.matching_fields([path])] == [path]
        assert [field.path for field in fields.matching_fields([without_items(path)])] == [path]


def test_one_field_is_said_in_full(in_words):
    out = in_words("fields", "recovery.restart_min")
    lines = dict(line.strip().split(maxsplit=1) for line in out.splitlines()[1:])
    assert out.startswith("recovery.restart_min\n")
    assert (lines["unit"], lines["default"], lines["rule"]) == ("min", "10", ">= 0")
    limits = meta_at("recovery.restart_min", Scenario).plausible
    low, high, source = (limits.low, limits.high, limits.source or "assumed") if limits else (5, 20, "assumed")
    assert lines["plausible"].startswith(f"{low:g} to {high:g} min: ") and lines["plausible"].endswith(f"({source})")
    assert lines["better"].startswith("less") and "--target" in lines["better"]


def test_a_range_without_a_source_is_half_to_double(as_json):
    (record,) = as_json("fields", "checkpoint.store.bytes_per_parameter")
    assert record["default"] == 12
    assert record["plausible"] == {"low": 6, "high": 24, "source": "", "reason": "half to double"}


@pytest.mark.parametrize(
    ("path", "rule", "low", "high"),
    [
        ("cluster.n_gpus", ">= 1", 1, None),  # more than any machine has is no bound
        ("network.failed_share", ">= 0, < 1", 0, 1),
        ("checkpoint.interval_min", ">= 0.0001, or best, young or daly", 0.0001, None),
        ("checkpoint.tiers.survives", ">= 0, <= 1", 0, 1),
        ("layout.sharded", "true or false", None, None),
        ("failures.rate_clock", "exposed or wall", None, None),
        ("job.productive_h", ">= 1e-06", 1e-6, None),
        ("heat.weather", "", None, None),
    ],
)
def test_the_rule_is_the_tightest_of_what_the_model_checks(as_json, path, rule, low, high):
    (record,) = as_json("fields", path)
    assert (record["rule"], record["low"], record["high"]) == (rule, low, high)


def test_records_are_plain_and_keep_within_their_rules(as_json):
    records = as_json("fields")
    assert records == json.loads(json.dumps([fields.record_of(field) for field in fields_of(Scenario)]))
    for record in records:
        if record["plausible"]:
            assert record["plausible"]["low"] < record["plausible"]["high"], record
            assert record["plausible"]["source"] or record["plausible"]["reason"], record
            assert record["low"] is None or record["plausible"]["low"] >= record["low"], record
            assert record["high"] is None or record["plausible"]["high"] <= record["high"], record


# --------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (("restrt",), "recovery.restart_min"),
        (("checkpoint", "intervl"), "checkpoint.interval_min"),
        (("recovery.restrt_min",), "recovery.restart_min"),
        (("spares", "weather"), "spares.n_nodes"),  # each finds some, none both
    ],
)
def test_what_is_not_found_is_answered_with_what_is_near(refused, words, near):
    message = refused("fields", *words)
    assert all(repr(word) in message for word in words)
    assert near in message and message.endswith(f"`ettr fields` lists all {len(PATHS)} fields")


@pytest.mark.parametrize(
    ("words", "heavy"),
    [
        (["fields", "--json"], ["pandas", "scipy.stats", "numba"]),
        (["plan", "--gpus", "4096"], ["pandas", "scipy.stats", "numba"]),
        (["plan", "llama3-405x"], ["numpy", "pandas"]),
    ],
)
def test_an_answer_does_not_wait_for_libraries_that_it_does_not_need(words, heavy):
    code = (
        "import sys; from ettr.cli.app import main\n"
        f"try: main({words})\n"
        f"finally: print([name for name in {heavy} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == "[]"
