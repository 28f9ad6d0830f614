"""Mitigations that act more weakly or strongly."""

from __future__ import annotations

import pytest

from ettr import Scenario, mitigation
from ettr.mitigation import with_strength

RUN = Scenario.load("llama3-405b")
OF = mitigation.catalogue()


@pytest.mark.parametrize(
    ("name", "path", "half"),
    [
        ("in-process-restart", "recovery.restart_min", 3.0),  # capped at 1 of 5 min
        ("faulty-machine-detection", "recovery.detection_min", 0.5585),  # scaled by 0.117 from 1 min
        ("async-checkpoint", "checkpoint.stall_s", 10.0),  # in place already
    ],
)
def test_numbers_go_half_of_the_way(name, path, half):
    run = mitigation.apply(RUN, name, with_strength(OF, name, 0.5, RUN))
    assert run.flat()[path] == pytest.approx(half)
    assert mitigation.apply(RUN, name, with_strength(OF, name, 1.0, RUN)).flat()[path] == pytest.approx(
        mitigation.apply(RUN, name).flat()[path]
    )


def test_a_tier_survives_a_part_of_the_failures():
    (tier,) = mitigation.apply(RUN, "peer-checkpoint", with_strength(OF, "peer-checkpoint", 0.5, RUN)).checkpoint.tiers
    assert list(tier.survives.values()) == [0.5] and tier.copies is None


def test_a_stronger_effect_goes_further_and_copies_survive_as_many():
    strong = with_strength(OF, "in-process-restart", 2.0, RUN)
    assert mitigation.apply(RUN, "in-process-restart", strong).recovery.restart_min == pytest.approx(0.2)
    strong = with_strength(OF, "peer-checkpoint", 1.5, RUN)
    assert mitigation.apply(RUN, "peer-checkpoint", strong) == mitigation.apply(RUN, "peer-checkpoint")


def test_a_predictor_announces_a_part_of_the_failures():
    recall = mitigation.apply(RUN, "failure-prediction").prediction.recall
    weak = mitigation.apply(RUN, "failure-prediction", with_strength(OF, "failure-prediction", 0.5, RUN))
    assert weak.prediction.recall == pytest.approx(recall / 2)


def test_other_mitigations_stay_as_they_are():
    weak = with_strength(OF, "peer-checkpoint", 0.5, RUN)
    assert [one for one in weak if one.id != "peer-checkpoint"] == [one for one in OF if one.id != "peer-checkpoint"]
    assert weak.conflict("peer-checkpoint", "just-in-time-checkpoint")
