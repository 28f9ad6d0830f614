"""Tables of lifetimes in two kinds, and their survival against scipy's."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from ettr.core.errors import InputError
from ettr.failures import unit_lifetimes
from ettr.failures.units import log_rank
from ettr.logs import read_lifetimes

DATES = """serial,installed,removed,reason,vendor
a,2024-01-01,2024-05-01,failure,X
b,2024-01-01,,,X
c,2024-02-01,2024-09-01,upgrade,Y
d,2024-02-01,2024-01-01,failure,Y
e,soon,2024-01-01,failure,Y
"""


@pytest.fixture
def lives(write):
    return lambda text, **options: read_lifetimes(write(text), **options)


def days(read):
    return (read.table["duration_h"] / 24).round(6).tolist()


def test_dates_in_and_out(lives, count):
    read = lives(DATES, until="2024-12-31", split="vendor")
    assert days(read) == [121, 366, 213] and read.table["observed"].tolist() == [True, False, False]
    assert read.table["cohort"].tolist() == ["X", "X", "Y"]
    assert count(read, "not parsed", "end not after start") == count(read, "not parsed", "in: no time") == 1
    assert "units removed for another reason than a failure: 1" in read.notes
    assert days(lives(DATES))[1] == 244  # to the last time in the file, which is said
    assert any("until the last time in the file" in note for note in lives(DATES).notes)


def test_ages_with_a_decimal_comma(lives):
    read = lives("unit;age_d;failed\na;100,5;1\nb;1,234;0\n")
    assert days(read) == [100.5, 1.234] and any("decimal signs" in note for note in read.notes)


def test_units_without_a_header(lives):
    text = "a,100,yes\nb,250,no\nc,10,yes\n"
    with pytest.raises(InputError, match=r"value '100'.*`header=\["):
        lives(text)
    assert days(lives(text, header=["unit", "age_d", "failed"])) == [100, 250, 10]


def test_a_value_that_is_no_time_is_shown(lives):
    assert "line 6: 'soon'" in lives(DATES).ledger["example"].tolist()


@pytest.mark.parametrize(
    ("header", "cells"),
    [("age_d,failed", ("10,1", "20,0", "5,1")), ("lifetime (h),status", ("240,dead", "480,alive", "120,broken"))],
)
def test_an_age_and_whether_it_ended(lives, header, cells):
    read = lives("\n".join([header, *cells]))
    assert days(read) == [10, 20, 5] and read.table["observed"].tolist() == [True, False, True]


def test_what_only_the_user_can_know_is_asked(lives):
    with pytest.raises(InputError, match="ages in 'age' have no unit: rename the column to age_d, or give `time_unit`"):
        lives("age,failed\n10,1\n")
    assert days(lives("age,failed\n10,1\n", time_unit="d")) == [10]
    assert days(lives("x,y\n10,1\n", columns={"age": "x", "failed": "y"}, time_unit="d")) == [10]
    with pytest.raises(InputError, match="must have ages and whether units failed.*Columns found: 'x', 'y'"):
        lives("x,y\n10,1\n")
    with pytest.raises(InputError, match="log.csv has no column 'vendor'"):
        lives("age_d,failed\n10,1\n", split="vendor")
    with pytest.raises(InputError, match="must have different names; 'age_d' occurs twice"):
        lives("age_d,failed,age_d\n10,1,10\n")
    with pytest.raises(InputError, match="unknown column of lifetimes 'node'.* age, .*in, out"):
        lives("age_d,failed\n10,1\n", columns={"node": "age_d"})
    with pytest.raises(InputError, match="no lifetime could be read. 1 not parsed: age: no duration"):
        lives("age_d,failed\n10,1\n".replace("10,1", "ten,1\n1:00,maybe"))


# --------------------------------------------------------------------------- survival


def drawn(seed, n, shape=1.5, scale=1000.0, end=1200.0):
    rng = np.random.default_rng(seed)
    life = scale * rng.weibull(shape, n)
    return np.minimum(life, end), life < end


def as_text(*groups):
    rows = [
        f"{hours!r},{int(seen)},{name}"
        for name, (duration, observed) in zip("ABC", groups, strict=False)
        for hours, seen in zip(duration.tolist(), observed.tolist(), strict=True)
    ]
    return "\n".join(["age_h,failed,vendor", *rows])


def test_survival_and_shape_are_those_of_scipy(lives):
    duration, observed = drawn(1, 300)
    fitted = unit_lifetimes(lives(as_text((duration, observed))))
    data = stats.CensoredData(uncensored=duration[observed], right=duration[~observed])
    curve = stats.ecdf(data).sf
    for row in fitted.whole.at_ages.itertuples():
        assert row.survival == pytest.approx(float(curve.evaluate(row.age_d * 24)))
        assert row.at_risk == (duration >= row.age_d * 24).sum()
    shape, _, scale = stats.weibull_min.fit(data, floc=0)
    assert (fitted.whole.weibull.shape, fitted.whole.weibull.scale_h) == pytest.approx((shape, scale), rel=1e-3)
    before, after = (float(curve.evaluate(fitted.whole.median_h + step)) for step in (-1e-6, 1e-6))  # times are in us
    assert after <= 0.5 + 1e-9 < before
    assert fitted.whole.low_h < fitted.whole.median_h < fitted.whole.high_h
    assert fitted.whole.n == 300 and fitted.whole.n_failed == observed.sum()


def test_the_log_rank_test_is_scipy_s():
    first, second = drawn(2, 80), drawn(3, 60, scale=800.0)
    censored = (stats.CensoredData(uncensored=d[seen], right=d[~seen]) for d, seen in (first, second))
    assert log_rank([first, second]) == pytest.approx(stats.logrank(*censored).pvalue, rel=1e-9)
    assert log_rank([first, second]) == pytest.approx(log_rank([second, first]))


def test_the_log_rank_test_of_three_is_even_where_they_are_alike():
    p = [log_rank([drawn(seed + 1000 * i, 50) for i in range(3)]) for seed in range(100)]
    assert stats.kstest(p, "uniform").pvalue > 1e-3
    assert log_rank([drawn(1, 80), drawn(2, 80), drawn(3, 80, scale=400.0)]) < 1e-3


def test_cohorts_are_told_apart_in_words(lives):
    fitted = unit_lifetimes(lives(as_text(drawn(1, 200), drawn(2, 100, scale=500.0)), split="vendor"))
    assert [cohort.name for cohort in fitted.cohorts] == ["A", "B"] and fitted.cohorts_p < 1e-3
    headline, note, table, differ = fitted.report()[:4]
    assert headline.text == "log.csv" and note.text.startswith("The median lifetime is ")
    assert "the failure rate rises with age" in note.text
    assert [row[0] for row in table.rows] == ["all", "A", "B"] and table.columns[3] == "survive 30 d"
    assert differ.text == "Cohorts by vendor (A and B) have different lifetimes (log-rank, p < 0.001)."
    json.dumps(fitted.to_dict(), allow_nan=False)


def test_few_failures_tell_no_median_and_no_shape(lives):
    fitted = unit_lifetimes(lives("age_d,failed,vendor\n10,1,X\n20,0,X\n30,0,Y\n40,0,Y\n", split="vendor"))
    note, differ = fitted.report()[1].text, fitted.report()[3].text
    assert note.startswith("75% of the units live longer than 10 days, the last age at which one failed.")
    assert "A Weibull fit takes at least five different ages" in note and fitted.whole.weibull is None
    assert differ.endswith(" may have the same lifetimes (log-rank, p = 1).")
    assert isinstance(fitted.whole.curve, pd.DataFrame) and np.isinf(fitted.whole.median_h)


def test_one_failure_of_five_bounds_no_median(lives):
    """Five of five alive at 30 days: 48 to 100% (lifelines issue 533)."""
    fitted = unit_lifetimes(lives("age_h,failed\n13467,0\n13760,1\n12011,0\n7798,0\n7928,0\n"))
    note, table = fitted.report()[1].text, fitted.report()[2]
    assert note.startswith("The median lifetime is 573 days, which rests on a single unit")
    assert table.rows[0][3:6] == ["100% (48% to 100%)", "100% (48% to 100%)", "100% (29% to 100%)"]
    assert (fitted.whole.low_h, fitted.whole.high_h) == (0, np.inf)


def test_a_median_of_several_units_has_an_interval_or_says_why_not(lives):
    """At two units at risk the median no longer rests on one; the first loss bounds it from below."""
    two = unit_lifetimes(lives("age_d,failed\n" + "".join(f"{100 * i},{i > 4:d}\n" for i in range(1, 7))))
    assert two.whole.n_at_median == 2 and "500 days (95% CI 100 days or more)" in two.headline
    only = unit_lifetimes(lives("age_d,failed\n100,yes\n"))
    assert "single unit" in only.headline and "The only unit failed." in only.report()[1].text
    all_failed = unit_lifetimes(lives("age_d,failed\n100,yes\n200,yes\n300,yes\n")).report()[1].text
    assert "All 3 units failed." in all_failed and "the others" not in all_failed


def test_a_cohort_without_failures_is_compared(lives):
    """0 of 10 failed in 400 days, 10 of 10 within 300: as scipy's test of the two groups says."""
    ages = np.arange(30, 301, 30)
    rows = [*("400,0,A" for _ in range(10)), *(f"{age},1,B" for age in ages)]
    fitted = unit_lifetimes(lives("age_d,failed,vendor\n" + "\n".join(rows), split="vendor"))
    censored = stats.CensoredData(right=np.full(10, 400.0))
    assert fitted.cohorts_p == pytest.approx(stats.logrank(censored, stats.CensoredData(ages)).pvalue)
    assert 2.9e-6 < fitted.cohorts_p < 3.1e-6 and "have different lifetimes" in fitted.report()[3].text
    other = unit_lifetimes(lives("age_d,failed,rack\n10,no,a\n20,no,a\n50,no,c\n", split="rack"))
    assert other.cohorts_p is None and "no unit failed" in other.report()[3].text


def test_the_p_value_of_few_failures_is_that_of_their_draws():
    """One failure among 11 units at risk is that of the only B in 1 of 11 draws; four of four in 1 of 70."""
    survivors = (np.full(10, 400.0), np.zeros(10, dtype=bool))
    assert log_rank([survivors, ([5.0], [True])]) == pytest.approx(1 / 11, abs=0.01)
    alive, dead = (np.full(4, 400.0), np.zeros(4, dtype=bool)), (np.arange(1.0, 5.0), np.ones(4, dtype=bool))
    assert log_rank([alive, dead]) == pytest.approx(1 / 70, abs=0.004)


def test_cohorts_of_different_ages_cannot_be_compared(lives):
    rows = ["100,1,A", "200,1,A", "210,1,A", "220,1,A", "250,1,A", "50,0,B", "50,0,B"]
    fitted = unit_lifetimes(lives("\n".join(["age_d,failed,vendor", *rows]), split="vendor"))
    assert fitted.cohorts_p is None
    assert fitted.report()[3].text.endswith("cannot be compared: no unit failed at an age that others reached.")


def test_where_none_failed_the_bound_is_exact(lives):
    fitted = unit_lifetimes(lives("age_h,failed\n" + "6,0\n" * 100))
    assert fitted.report()[1].text.startswith(
        "None of 100 units failed in 6 h of service or more: at least 96.4% of such units live longer (95%, exact)."
    )
