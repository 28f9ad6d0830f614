"""What the tables on published failures hold."""

from __future__ import annotations

import pytest

from ettr import evidence, failures
from ettr.chapters import reading_the_sources
from ettr.chapters.what_failed import tables


def test_the_interval_of_all_interruptions_is_that_of_their_sum():
    shares = reading_the_sources.tables.interruption_shares()
    interval = tables.total_interval(shares)
    assert (interval.low, interval.high) == pytest.approx(failures.poisson_interval(419))
    assert interval.low < shares["n_events"].sum() < interval.high


def test_two_published_rates_are_compared_by_their_counts():
    published = failures.rate_intervals(evidence.published_rates())
    ratio = tables.rates_compared(published, "llama3-unexpected", "byterobust-dense")
    rates = published.set_index("cluster_id")["rate"]
    assert ratio.ratio == pytest.approx(rates["llama3-unexpected"] / rates["byterobust-dense"], rel=0.01)
    back = tables.rates_compared(published, "byterobust-dense", "llama3-unexpected")
    assert (back.low, back.high) == pytest.approx((1 / ratio.high, 1 / ratio.low))
