"""Numbers of the study cells on two training diaries."""

import pandas as pd

from ettr import evidence
from ettr.budget import exact
from ettr.core.units import H_PER_DAY
from ettr_book.chapters import two_diaries
from ettr_book.chapters.common.diaries import EXPERIMENT, HARDWARE, LOSS, MIXED
from ettr_book.chapters.two_diaries import CHECKPOINT, HANG, MODELLED, NOT_MODELLED, NOT_STATED, UNNAMED


def numbers():
    glm, bloom = (two_diaries.published_run(name) for name in ("glm-130b", "bloom-176b"))
    losses = {run.name: run.losses.set_index("reason") for run in (glm, bloom)}
    glm_lost, bloom_lost = losses["GLM-130B"]["lost_h"], losses["BLOOM-176B"]["lost_h"]
    modelled_h = two_diaries.against_model().set_index("name")["modelled_lost_h"]
    terms = pd.concat([run.losses for run in (glm, bloom)]).groupby("term")["lost_h"].sum()
    share = terms / terms.sum()
    first = glm.realised.segments.iloc[0]
    april = bloom.realised.segments.set_index("start").loc["2022-04-04"]
    reported = evidence.table("bloom176b_losses").set_index("kind")["lost_h"]
    hangs = reported.loc[HANG].tolist()
    diary = evidence.table("glm130b_events")
    (outage,) = diary[diary["kind"] == "node+filesystem"].itertuples()
    away_h = (pd.to_datetime(outage.restarted) - pd.to_datetime(outage.time)) / pd.Timedelta(hours=1)
    checkpoints_h = bloom.realised.wall_h * checkpoint_share(bloom.scenario)
    forecasts = two_diaries.published_forecasts().set_index("run")
    ahead = {run.name: forecasts.loc[run.scenario.title] for run in (glm, bloom)}

    def figure(key):
        return evidence.figure(key).value

    return [
        ("on 96 nodes of 8 GPUs", glm.scenario.n_nodes, glm.scenario.cluster.gpus_per_node),
        ("full length of 88.5 s", figure("glm130b_step_s")),
        ("49 days later", glm.realised.wall_h / H_PER_DAY),
        ("lost 183 hours, which is an ETTR of 84.6%", glm.realised.lost_h, glm.realised.ettr),
        ("8,100 steps with an ETTR of 98%", first["steps"], first["ettr"]),
        ("from step 22,800", diary.loc[diary["kind"] == "experiment", "restart_step"].mean()),
        ("away: 38 hours", glm_lost[EXPERIMENT]),
        ("took 20 hours", away_h),
        ("stretches cost 24 hours", glm_lost[LOSS]),
        ("on 48 nodes of 8 GPUs", bloom.scenario.n_nodes, bloom.scenario.cluster.gpus_per_node),
        ("82,072 steps of 105 s", bloom.realised.n_steps, figure("bloom_iteration_s")),
        ("in 108 days", bloom.realised.wall_h / H_PER_DAY),
        ("an ETTR of 92.6%, with 193 hours", bloom.realised.ettr, bloom.realised.lost_h),
        ("7.3 hours of training", bloom_lost[HARDWARE]),
        ("every 100 iterations", figure("bloom_checkpoint_iterations")),
        ("40 s each", figure("bloom_checkpoint_s")),
        ("only 387 steps", april["steps"]),
        ("so 37 hours", april["wall_h"] * (1 - april["ettr"])),
        ("18 hours passed", hangs[0]),
        ("took 6 hours", hangs[1]),
        ("and 11 hours", hangs[2]),
        ("stop lost 39 hours", glm_lost[HARDWARE]),
        ("expects 37 hours", modelled_h["glm-130b"]),
        ("another 62 hours", glm_lost[EXPERIMENT] + glm_lost[LOSS]),
        ("75 hours belong", glm_lost[MIXED]),
        ("820 of them took 9.1 hours", losses["BLOOM-176B"].loc[CHECKPOINT, "n"], bloom_lost[CHECKPOINT]),
        ("the model expects 9.4", checkpoints_h),
        ("expects 52 hours", modelled_h["bloom-176b"] - checkpoints_h),
        ("the 125 hours", bloom_lost[UNNAMED]),
        ("attribute 15%", share[MODELLED]),
        ("Another 32%", share[NOT_MODELLED]),
        ("for 53%", share[NOT_STATED]),
        ("took 89 more days instead of 84", ahead["BLOOM-176B"]["came_days"], ahead["BLOOM-176B"]["middle_days"]),
        ("40 instead of 34", ahead["GLM-130B"]["came_days"], ahead["GLM-130B"]["middle_days"]),
        ("The 90% intervals", two_diaries.ENDS[-1] - two_diaries.ENDS[0]),
        ("6 days too late", ahead["BLOOM-176B"]["pace_days"] - ahead["BLOOM-176B"]["came_days"]),
        ("6 days too early", ahead["GLM-130B"]["came_days"] - ahead["GLM-130B"]["pace_days"]),
    ]


def checkpoint_share(run):
    hours = exact(run)
    return float(hours.checkpoint_h / hours.total_h)
