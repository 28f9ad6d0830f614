"""Numbers of the study cells on failure rates of clusters."""

from ettr import Scenario, evidence, failures, make_plan, plots
from ettr.failures.renewal import renewal_count


def numbers():
    run = Scenario.load("llama3-405b")
    node_mttf_h = 24_000 / run.failure_rate
    rates = failures.rate_intervals(evidence.published_rates()).set_index("cluster_id")
    rate, opt, manual = rates["rate"], rates.loc["opt-175b-all"], rates.loc["opt-175b-manual"]
    points = plots.mttf.mttf_data(run)["points"]
    small, medium, *_ = points[points["kind"] == plots.mttf.OBSERVED].itertuples()
    large, n_gpus = rates.loc["ft-hsdp-32k"], evidence.figure("fthsdp_n_gpus").value
    new = [run.n_nodes * renewal_count(24 * 54, shape, node_mttf_h) for shape in (0.7, 1.5)]
    figure = {name: evidence.figure(name).value for name in ("rsc_requeued_n_gpus", "rsc_requeues", "rsc_preemptions")}
    return [
        ("lasts 264 days", node_mttf_h / 24),
        ("2,048 of them lasts 3.09 hours", run.n_nodes, make_plan(run).wall_mttf_h),
        ("MTTF is 3.05 hours", run.job_mttf_h),
        ("from 1.6 (ByteRobust, dense model) to 13.9", rate["byterobust-dense"], opt["rate"]),
        ("factor of 8.6", opt["rate"] / rate["byterobust-dense"]),
        ("105 restarts have a 95% CI of 11.4 to 16.8", opt["n_events"], 0.95, opt["low"], opt["high"]),
        ("from 3.8 in", rate["llama3-unexpected"]),
        ("to 2.3 on 32,000 GPUs", large["rate"], large["n_gpus"]),
        ("fails 2.8 times", rate["rsc-1"] / rate["rsc-2"]),
        (
            "at 8 and 1,024 GPUs imply 21 and 24 failures per 1,000 node-days",
            *(small.n_gpus, medium.n_gpus, small.rate, medium.rate, 1000),
        ),
        ("more than 128 GPUs, is 6.5", 128, rate["rsc-1"]),  # the first is in the scope of the row
        (
            "rate of 2.3 on 32,000 GPUs implies an MTTF of 50 min on 100,000 GPUs",
            *(large["rate"], large["n_gpus"], 60 * failures.job_mttf_h(large["rate"], n_gpus), n_gpus),
        ),
        ("every 18 min", 18),  # in the note of the row
        ("846 failures in its first 54 days at a shape of 0.7", new[0], 54, 0.7),
        ("160 at 1.5, instead of 419", new[1], 1.5, run.failures.n_events),
        ("on 992 GPUs", evidence.figure("opt_n_gpus").value),
        ("at least 35 times", manual["n_events"]),
        ("70 times more", evidence.figure("opt_n_automatic_restarts").value),
        ("more than 100 hosts", evidence.figure("opt_n_hosts_cycled").value),
        ("4.6 or 13.9 per 1,000", manual["rate"], opt["rate"], 1000),
        ("by a factor of 3", opt["rate"] / manual["rate"]),
        ("on 1,024 GPUs was requeued 35 times", figure["rsc_requeued_n_gpus"], figure["rsc_requeues"]),
        ("548 in all", figure["rsc_preemptions"]),
        ("16% was lost", evidence.figure("rsc_second_order_pct").value / 100),
    ]
