"""A job given by its tokens: its hours, its layout, and what it may not say."""

from __future__ import annotations

import re

import numpy as np
import pytest

from ettr import Gpu, Scenario, budget
from ettr.core.validity import ValidityWarning
from ettr.scaling import calibration, layer_parameters
from refusals import refusal

SIZE = "cluster.n_gpus"


@pytest.fixture(scope="module")
def run():
    return Scenario.load("llama3-405b-tokens")


# --------------------------------------------------------------------------- hours and layout


def test_hours_follow_from_tokens_and_throughput(run):
    step = run.throughput.step(16384, run.layout_of_job)
    by_hand = 15.6e12 / 2**24 * float(step.total_s) / 3600
    assert run.productive_h == pytest.approx(by_hand) and run.work_h == pytest.approx(by_hand)
    assert run.override({"job.throughput_factor": 0.5}).work_h == pytest.approx(2 * by_hand)
    assert run.override({"job.tokens": 31.2e12}).productive_h == pytest.approx(2 * by_hand)


def test_utilisation_is_that_of_the_published_run(run):
    """41% on 16,384 GPUs (Dubey et al. 2024, table 4); the fit knows of it."""
    assert run.throughput.step(16384, run.layout_of_job).mfu == pytest.approx(0.41, abs=0.02)
    assert run.throughput.constants == calibration.fit("llama3").constants


def test_the_layout_of_the_job_divides_it_and_is_no_faster_than_the_free_one(run):
    for n_gpus in (896, 3072, 16384, 98_304):
        at = run.override({SIZE: n_gpus})
        layout = at.layout_of_job
        assert n_gpus % layout.replica_gpus == 0
        assert at.throughput.memory_gb(n_gpus, layout) <= 72
        assert at.productive_h >= at.productive_h_on(n_gpus) * (1 - 1e-12)


def test_layouts_that_are_given_stay(run):
    laid_out = run.override({"layout": {"tensor": 4, "pipeline": 32}})
    assert str(laid_out.layout_of_job) == "tensor 4, pipeline 32 with 4 virtual stages, recomputed"
    assert laid_out.productive_h > run.productive_h


def test_the_part_brings_its_peak_memory_and_links(run):
    a100, gpu = run.override({"power.part": "a100"}), Gpu.load("a100").compute
    assert (a100.throughput.peak_tflops, a100.throughput.gpu_memory_gb) == (gpu.peak_tflops, gpu.memory_gb) == (312, 80)
    assert a100.throughput.network.inside_gb_s == 300
    assert a100.productive_h > 2 * run.productive_h
    bare = run.override({"power": None, "heat": {"mean_c": 20, "part": "h200"}})
    assert bare.throughput.gpu_memory_gb == 141


@pytest.mark.parametrize(
    "change",
    [{"model.n_parameters": 37e9}, {"model.n_parameters": 4e12}, {"model.n_layers": 12}, {"model.hidden": 5120}],
)
def test_a_model_whose_weights_contradict_its_shape_is_refused_with_the_count(run, change):
    message = refusal(run.override, change)
    assert message.startswith("model.n_parameters must be ") and "mixture of experts" in message
    n_layers, hidden = (change.get(f"model.{name}", getattr(run.model, name)) for name in ("n_layers", "hidden"))
    assert f"= {layer_parameters(n_layers, hidden, run.model.kv_share) / 1e9:.3g} billion" in message


DEEPSEEK = {"n_parameters": 671e9, "n_active_parameters": 37e9, "n_layers": 61, "hidden": 7168}
"""DeepSeek-V3 (arXiv:2412.19437)."""


def test_a_mixture_of_experts_computes_with_some_parameters_and_keeps_all(run):
    mixture = run.override({"model": DEEPSEEK, SIZE: 2048})
    dense = run.override({"model": {**DEEPSEEK, "n_parameters": 37e9, "n_active_parameters": None}, SIZE: 2048})
    layout = mixture.layout_of_job
    steps = [job.throughput.step(2048, layout) for job in (mixture, dense)]
    assert float(steps[0].ideal_s) == float(steps[1].ideal_s)
    assert float(steps[0].data_s) > float(steps[1].data_s)
    states_gb = [float(job.throughput.memory_gb(2048, layout)) for job in (mixture, dense)]
    weights_gb = (671e9 - 37e9) / layout.tensor * (18 / (2048 / layout.tensor) + 2 * 2 / 61) / 1e9
    assert layout.sharded and states_gb[0] - states_gb[1] == pytest.approx(weights_gb)
    free = run.override({"model": {"n_parameters": 671e9, "n_active_parameters": 37e9}}).model.transformer
    shaped = run.override({"model": {"n_parameters": 37e9}}).model.transformer
    assert (free.n_layers, free.hidden) == (shaped.n_layers, shaped.hidden)


def test_all_parameters_active_is_the_dense_model(run):
    dense, active = run, run.override({"model.n_active_parameters": run.model.n_parameters})
    assert active.layout_of_job == dense.layout_of_job and active.productive_h == dense.productive_h


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"n_active_parameters": 700e9},
            r"model.n_active_parameters must be <= 6.71e\+11, .* n_parameters .* got 7e\+11",
        ),
        ({"n_active_parameters": 0}, "model.n_active_parameters must be >= 1"),
        ({"n_active_parameters": 3e9}, "model.n_active_parameters must be .* got 3 billion"),
    ],
)
def test_active_parameters_that_cannot_be_are_refused(run, change, words):
    assert re.match(words, refusal(run.override, {"model": {**DEEPSEEK, **change}}))


def test_a_job_given_by_its_hours_is_as_it_was(llama3):
    assert llama3.throughput is None and llama3.layout_of_job is None
    assert llama3.productive_h == llama3.job.productive_h == llama3.productive_h_on([8, 16])


def test_hours_of_other_sizes_are_those_of_other_scenarios(run):
    sizes = np.array([[1792.0, 16128.0], [32256.0, 1792.0]])  # whole replicas of 112 = 8 x 14 GPUs
    hours = run.productive_h_on(sizes)
    assert hours.shape == (2, 2) and hours[0, 0] == hours[1, 1]
    form = budget.exact(run, {SIZE: sizes})
    assert form.productive_h == pytest.approx(hours)
    single = run.override({SIZE: 16128})
    assert budget.exact(single).ettr == pytest.approx(form.ettr[0, 1], rel=1e-6)


def test_sizes_that_fit_nothing_are_marked_with_the_reason(run):
    with pytest.warns(ValidityWarning) as caught:
        form = budget.exact(run, {SIZE: [8.0, 16384.0, 2e6]})
    assert "job.tokens holds only for sizes that some layout of the model and batch fits: 2 of 3 points are NaN" in str(
        caught[0].message
    )
    assert np.isnan(form.ettr).tolist() == [True, False, True]


# --------------------------------------------------------------------------- one void by the other


def test_hours_void_tokens_and_what_only_they_need(run):
    hours = run.override({"job.productive_h": 100})
    assert hours.job.tokens is None and hours.productive_h == 100
    assert (hours.model, hours.layout, hours.network, hours.scaling, hours.sync) == (None,) * 5
    assert not [path for path in hours.evidence if path.startswith(("model", "network", "job.tokens"))]
    assert Scenario.parse(hours.to_yaml()) == hours


def test_tokens_void_hours(llama3, run):
    tokens = llama3.override({"job.tokens": 15.6e12, "model": run.model.model_dump(), "scaling.like": "llama3"})
    assert tokens.job.productive_h is None
    assert tokens.productive_h == pytest.approx(run.productive_h)
    assert tokens.override({"job.tokens": 1e12, "job.productive_h": None}).job.tokens == 1e12


# --------------------------------------------------------------------------- refused

EITHER = "takes productive_h, or tokens with a section model, not both; a job with neither has no end"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"job.tokens": 1e12, "job.productive_h": 3}, f"job {EITHER}"),
        ({"job.tokens": None}, "model needs job.tokens instead of job.productive_h; without tokens it has no effect"),
        ({"model": None}, "job.tokens needs model, e.g. model: {n_parameters: 405e9}"),
        (
            {"job.productive_h": 9, "network.across_gb_s": 25},
            "network needs job.tokens instead of job.productive_h; without tokens it has no effect",
        ),
        ({"scaling.like": "llama"}, "scaling.like must be one of megascale, megatron, llama3, fsdp, eos, got 'llama'"),
        (
            {"model.batch_tokens": 4096},
            "model.batch_tokens must be >= 8192, the sequence_tokens of one sequence, got 4096",
        ),
        (
            {"sync": {"every_steps": 4}, "layout": {"sharded": True}},
            "sync.every_steps must be 1 with layout.sharded: weights that are spread over replicas are gathered in "
            "every step",
        ),
        ({"layout": {"pipeline": 256}}, "layout.pipeline must be <= 126, the layers of the model, got 256"),
    ],
    ids=str,
)
def test_what_breaks_a_rule_is_answered_with_its_place(run, values, message):
    assert message in refusal(run.override, values)


def test_a_size_that_no_layout_divides_names_the_nearest(run):
    message = refusal(run.override, {SIZE: 100_000})
    assert message == (
        "no layout divides 100,000 GPUs: replicas of 56, 63, 64, 72, 84, 112 GPUs fit the memory and the batch; "
        "use 99,968 or 100,096 GPUs, or a larger model.batch_tokens (cluster.n_gpus=100000)"
    )
    for size in (99_968, 100_008):
        run.override({SIZE: size})
    run.override({SIZE: 100_000, "model.batch_tokens": 12_500 * 8192.0})
    odd = refusal(run.override, {SIZE: 16_384, "layout": {"tensor": 3}})
    assert "use 16,368 or 16,416 GPUs (" in odd  # no batch helps


def test_a_model_that_does_not_fit_says_from_how_many_on_it_does(run):
    message = refusal(run.override, {SIZE: 8})
    assert message == (
        "a model of 4.05e+11 parameters does not fit 8 GPUs of 80 GB: the layout with the smallest memory (tensor 8, "
        "recomputed) needs 916 GB per GPU, and 72 GB are usable; it fits from 112 GPUs on (cluster.n_gpus=8)"
    )
    assert "does not fit" in refusal(run.override, {SIZE: 104})
    run.override({SIZE: 112})
