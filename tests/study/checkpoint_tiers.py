"""Numbers of the study cells on checkpoint tiers."""

from ettr import Scenario, checkpoint, evidence, mitigation
from ettr.core.units import H_PER_DAY, MIN_PER_H, S_PER_H
from ettr_book.chapters import checkpoint_tiers
from ettr_book.chapters.checkpoint_tiers import bandwidth, corruption, tiers

LARGER = 100_000


def numbers():
    run = Scenario.load("llama3-405b")
    rungs = checkpoint_tiers.shares(run, 0.01, 32, 16).drop_duplicates("rung").set_index("rung")
    steps = 100 * rungs["ettr"].diff()
    gains = 100 * (rungs["ettr"] - rungs.loc[tiers.STORE, "ettr"])
    survival = {lost: checkpoint.peer_survival(run.n_nodes, lost) for lost in (8, 32)}
    n_bytes = checkpoint_tiers.stored_bytes(run, 405e9, 12.0)
    stores = bandwidth.published_stores(n_bytes).set_index("store")["write_s"]
    crossings = checkpoint_tiers.bandwidth_crossings(run, n_bytes, LARGER).set_index("n_gpus")["crossing_gb_s"]
    share, _ = corruption.silent_share(run, "Silent Data Corruption")
    lost_points = corruption.found_late(run, share, 1.0).set_index("latency_h")["lost_points"]
    stops = evidence.table("llama3_interruptions").set_index("component")["n_events"]
    prediction = mitigation.catalogue()["failure-prediction"]
    (values,) = [change.value for change in prediction.changes if change.path == "prediction"]
    load_h = tiers.store_only(run).load_h
    return [
        ("is 98.6% if 8 of the 2,048 nodes", survival[8], 8, run.n_nodes),
        ("78% if 32 are", survival[32], 32),
        ("adds 0.5 points", steps["+ host memory"]),
        ("only 23% of", 1 - rungs.loc["+ host memory", "from_store"]),
        ("adds 4.5 points", steps["+ peer memory"]),
        ("Disks add 0.1 points", steps["+ neighbour disks"]),
        ("is 15 hours", rungs.loc["+ neighbour disks", "interval_min"] / MIN_PER_H),
        ("gain 5.4 points", gains["Just in time, instead"]),
        ("rework take 4.3%", (2 * run.stall_h / run.job_mttf_h) ** 0.5),
        ("for 2.2 minutes after each failure 1.2%", load_h * MIN_PER_H, load_h / run.job_mttf_h),
        ("with 12 bytes per parameter has a checkpoint of 4.9 TB", 12, n_bytes / 1e12),
        ("written in 51 s", stores["ByteCheckpoint"]),
        ("storage in 2.4 s", stores["Llama 3, sustained"]),
        ("at 11 GB/s on 16,384 GPUs", crossings[run.cluster.n_gpus], run.cluster.n_gpus),
        ("27 GB/s on 100,000 GPUs", crossings[LARGER], LARGER),
        ("6 of 419", stops["Silent Data Corruption"], stops.sum()),
        ("cost 0.5 points", lost_points[1.0]),
        ("day, 11 points", lost_points[H_PER_DAY]),
        ("stop of 70 s", values["action_s"]),
        ("precision of 85.4%", values["precision"]),
        (
            "once 1.4 minutes",
            checkpoint.heed_threshold_h(values["action_s"] / S_PER_H, values["precision"]) * MIN_PER_H,
        ),
    ]
