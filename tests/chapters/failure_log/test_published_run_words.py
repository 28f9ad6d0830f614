"""What is said of real runs: the numbers in the sentences are those of their diaries."""

from __future__ import annotations

import pytest

from ettr.chapters import failure_log
from ettr.logs import training_logs
from sentences_read import numbers

DIGITS = {"rel": 5.1e-3, "abs": 5.1e-3}  # three digits, at most two decimals


def test_real_runs_are_told_beside_the_model():
    frame = failure_log.tables.against_model()
    finding = failure_log.published_run_words.against_model(frame)
    bloom, glm = frame.set_index("name").loc[["bloom-176b", "glm-130b"]].itertuples()
    assert numbers(r"had an ETTR of #% \(#% to #%, .* left #%", finding.text.partition("*GLM")[0]) == pytest.approx(
        [100 * value for value in (bloom.realised, bloom.low, bloom.high, bloom.modelled)], abs=0.0501
    )
    assert numbers("GLM.* had an ETTR of #%; .* left #%", finding.text) == pytest.approx(
        [100 * glm.realised, 100 * glm.modelled], abs=0.0501
    )
    share = 100 * (1 - (bloom.modelled_lost_h + glm.modelled_lost_h) / (bloom.lost_h + glm.lost_h))
    assert numbers("by # points and # points: #% of all hours", finding.text) == pytest.approx(
        [100 * bloom.difference, 100 * glm.difference, share], abs=0.0501
    )


@pytest.mark.parametrize("name", failure_log.tables.published_run_names())
def test_losses_are_told_by_reason(name):
    published = failure_log.tables.published_run(name)
    finding = failure_log.published_run_words.losses(published)
    assert numbers("Of # h the run lost #", finding.text) == pytest.approx(
        [published.realised.wall_h, published.realised.lost_h], **DIGITS
    )
    for row in published.losses.itertuples():
        if row.reason in (training_logs.MIXED, failure_log.tables.UNNAMED):
            pattern = "# h more lie in stretches" if row.reason == training_logs.MIXED else "For # h, "
        else:
            pattern = rf"{row.reason} # h \({'once' if row.n == 1 else f'{row.n} times'}\)"
        assert numbers(pattern, finding.text) == pytest.approx([row.lost_h], **DIGITS)
    others = published.losses.loc[published.losses["term"] == failure_log.tables.NOT_MODELLED, "lost_h"].sum()
    assert numbers(": #% of the lost hours", finding.title) == pytest.approx(
        [100 * others / published.realised.lost_h], abs=0.501
    )


def test_stretches_with_too_many_steps_are_kept_and_told():
    bloom, glm = (
        failure_log.published_run_words.losses(failure_log.tables.published_run(name)).text
        for name in ("bloom-176b", "glm-130b")
    )
    assert numbers("# of the # stretches between two entries have more steps", bloom) == [2, 10]
    assert "which dates without an hour explain" in bloom and "more steps" not in glm
