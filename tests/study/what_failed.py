"""Numbers of the study cells on the causes of stops."""

import pandas as pd

from ettr import evidence, failures


def numbers():
    counts = evidence.table("llama3_interruptions")
    n, days = int(counts["n_events"].sum()), evidence.figure("llama3_window_days").value
    low, high = failures.poisson_interval(n)
    by_component = counts.set_index("component")["n_events"]
    by_category = counts.groupby("category")["n_events"].sum()
    without = failures.without_each(counts, 24 * days).set_index("category")["mtbi_h"]
    rare = by_component[by_component <= 3]
    assert len(rare) == 7 and by_component["Software Bug"] > by_component["Network Switch/Cable"]
    elsewhere = evidence.table("failure_causes").query("study == 'meta-32k'").set_index("cause")["share_pct"] / 100
    diary = evidence.table("glm130b_events")
    start, back = (pd.to_datetime(diary[name], utc=True) for name in ("time", "restarted"))
    diary["stopped"] = (back - start).dt.total_seconds() / 3600
    disk = diary.set_index("kind").loc["node+filesystem", "stopped"]
    before = diary[(diary["kind"] == "node") & (start < pd.Timestamp("2022-05-30", tz="UTC"))]["stopped"].max()
    assert 5 <= disk / before < 5.5
    lost = evidence.table("bloom176b_losses").groupby("kind")["lost_h"].sum()
    gpus = evidence.figure("llama3_n_gpus").value
    return [
        ("419 stops in 54 days", n, days),
        ("to within 10%", 2 / n**0.5),
        ("3.09 hours (95% CI 2.81 to 3.41)", 24 * days / n, 0.95, 24 * days / high, 24 * days / low),
        ("268 stops attributed", by_category["GPU"]),
        ("once in 9 years", gpus * days / by_category["GPU"] / 365.25),
        ("caused 53%", by_component[["Faulty GPU", "GPU HBM3 Memory"]].sum() / n),
        ("at most 3 times", rare.max()),
        ("a count of 3 is compatible with a mean anywhere from 0.6 to 8.8", 3, *failures.poisson_interval(3)),
        ("bugs, at 13%", by_component["Software Bug"] / n),
        ("8.6 hours instead of 3.1", without["GPU"], without["nothing"]),
        ("by 15% at most", without.drop(["GPU", "nothing"]).max() / without["nothing"] - 1),
        ("On 32,000 GPUs", evidence.table("failure_rates").set_index("cluster_id").loc["ft-hsdp-32k", "n_gpus"]),
        ("18% of its stops", elsewhere["PCIe device"]),
        ("only 7.4%", elsewhere["Faulty GPU"]),
        ("on 96 nodes", evidence.figure("glm130b_n_gpus").value / evidence.figure("glm130b_gpus_per_node").value),
        ("at 14:00 a node failed", 14, 0),
        ("after 20.3 hours", disk),
        ("the 3.9 hours", before),
        ("lost 7.3 hours", lost["hardware or network"]),
        ("about 35 hours", lost["software hang"]),
    ]
