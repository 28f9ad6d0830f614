"""Numbers of the study cells on the number of GPUs."""

from ettr import Scenario, evidence, sizing
from ettr_book.chapters import how_many_gpus
from ettr_book.chapters.how_many_gpus import sizes


def numbers():
    run = Scenario.load("llama3-405b-tokens")
    answer = sizing.make(run)
    fastest, patient, here = answer.best["fastest"], how_many_gpus.in_time(run, answer), answer.at_current
    n_gpus, share = run.cluster.n_gpus, answer.next.share
    flop = run.throughput.model.flop_per_token * run.job.tokens
    days = flop / (here.mfu * n_gpus * run.part.compute.peak_tflops * 1e12) / 86_400
    steps = sizes.step_by_size(run, [fastest.n_gpus], n_sizes=2)
    of_step = {size: rows.set_index("term")["share"] for size, rows in steps.groupby("n_gpus")}
    now, large = of_step[n_gpus], of_step[fastest.n_gpus]
    gain = how_many_gpus.peaks_of_ways(run, how_many_gpus.ways()).set_index("way")["gain"]
    layouts = evidence.table("llama3_parallelism").set_index("row")
    measured = evidence.table("scaling_runs").set_index("run_id")
    few, many = measured.loc["megascale-3072"], measured.loc["megascale-12288"]
    return [
        ("On 16,384 GPUs with an MFU of 40%", n_gpus, here.mfu),
        ("takes 70 days", days),
        ("and 77 with an ETTR of 0.91", days / here.ettr, here.ettr),
        ("next GPU adds 79%", share),
        ("being 1% faster costs 0.27% more", 0.01, 0.01 * (1 - share) / share),
        ("fastest size, 96,000 GPUs", fastest.n_gpus),
        ("on 16,384 GPUs, kernels below the peak take 24%", n_gpus, now["kernels below the peak"]),
        ("slowest node 16%", now["waiting for the slowest node"]),
        ("pipeline bubble 8%", now["pipeline bubble"]),
        ("On 96,000 GPUs the bubble is the largest loss with 30%", fastest.n_gpus, large["pipeline bubble"]),
        ("MFU falls to 24%", large[sizes.IDEAL]),
        ("on 16,384 GPUs takes 77 days and 63 million", n_gpus, here.days, here.usd),
        ("takes 31 days and 150 million", fastest.yields.days, fastest.yields.usd),
        ("only 21,000 GPUs and 67 million", patient.n_gpus, patient.yields.usd),
        ("by 27%", gain["fewer failures"]),
        ("in two by 23%", gain["sequences cut in two"]),
        ("SGD by 19%", gain["local SGD"]),
        ("restart by 15%", gain["faster restart"]),
        ("gradients by 8%", gain["compressed gradients"]),
        ("on 8,192 GPUs at first and on 16,384 later", *layouts.loc[[1, 2], "n_gpus"]),
        ("from 43% to 41%", *(layouts.loc[[1, 2], "printed_mfu_pct"] / 100)),
        ("of 175 billion weights", few["n_parameters"]),
        (
            ": 59.1% on 3,072 GPUs and 55.2% on 12,288",
            few["measured_pct"] / 100,
            few["n_gpus"],
            many["measured_pct"] / 100,
            many["n_gpus"],
        ),
    ]
