"""Numbers of the study cells on a cluster of many jobs."""

from ettr import cluster, evidence


def numbers():
    plan = cluster.make("rsc-1")
    by_size = plan.by_size.set_index("n_gpus")
    small = by_size[by_size.index < 8]
    large, top = by_size[by_size.index >= 256], plan.most_costly

    def figure(key):
        return evidence.figure(key).value

    taken = figure("rsc_preempted_n_gpus") / figure("rsc_requeues") / figure("rsc_requeued_n_gpus")
    published_days, published_h = figure("rsc_mttf_8_gpus_days"), figure("rsc_mttf_1024_gpus_h")
    stall_min = plan.common.checkpoint.stall_s / 60
    rules = plan.policy
    return [
        ("with 16,000 GPUs", plan.n_gpus),
        ("more than 90%", round(small["job_share"].sum(), 1)),
        ("server of 8 GPUs", plan.common.cluster.gpus_per_node),
        ("less than 10%", round(small["share"].sum(), 1)),
        ("Jobs of 256 GPUs", large.index[0]),
        ("and more use 66%", large["share"].sum()),
        ("jobs of 2,048 GPUs and 4,096 GPUs", *top["n_gpus"]),
        ("are 0.3% of the jobs and 28%", top["job_share"].sum(), top["share"].sum()),
        ("cause 77%", top["lost"].sum()),
        ("of 2,000 to 4,000 GPUs", top["n_gpus"].iloc[0], top["n_gpus"].iloc[1]),
        ("the 5-minute writes", stall_min),
        ("jobs of 4,096 GPUs lose", by_size.index[-1]),
        ("lose 15%", 1 - by_size.loc[4096, "productive"]),
        ("lose 8%", 1 - by_size.loc[8, "productive"]),
        ("jobs lose 8%", by_size.loc[8, "checkpoint"]),
        ("jobs of 8 GPUs lose", 8),
        ("an 8-GPU job", 8),
        ("Jobs over 1,024 GPUs", rules[0].above_gpus),
        ("up to 64 GPUs", rules[-1].up_to_gpus),
        ("for 5 minutes", stall_min),
        ("every 154 days", by_size.loc[8, "mttf_h"] / 24),
        ("6.5 per 1,000 node-days", plan.rate.per_1000_node_days, 1000),
        ("more than 128 GPUs", 128),
        ("to 16,384 GPUs", 16_384),
        ("published 1.8 hours", figure("rsc_mttf_16384_gpus_h")),
        ("observed 7.9 hours", published_h),
        ("hours at 1,024 GPUs", 1024),
        ("gives 29 hours", by_size.loc[1024, "mttf_h"]),
        ("and 47.7 days", published_days),
        ("days at 8 GPUs", 8),
        ("gives 154 days", by_size.loc[8, "mttf_h"] / 24),
        ("attributes 16%", figure("rsc_second_order_pct") / 100),
        ("job of 1,024 GPUs was", figure("rsc_requeued_n_gpus")),
        ("again 35 times", figure("rsc_requeues")),
        ("pre-empted 548 jobs with more than 7,000 GPUs", figure("rsc_preemptions"), figure("rsc_preempted_n_gpus")),
        ("is 20%", taken),
        ("all jobs of 1,024 GPUs", min(jobs.n_gpus for jobs in plan.classes if jobs.priority)),
        ("model gives 13%", plan.second_order),
        ("published 16%", figure("rsc_second_order_pct") / 100),
    ]
