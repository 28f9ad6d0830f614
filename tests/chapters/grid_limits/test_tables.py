"""Tables on specifications of grids."""

from __future__ import annotations

import pytest

from computed.power import table
from ettr import power


def test_spectra_have_their_lines_at_the_steps():
    rows = table("spectrum")
    given = rows[rows["nodes"] == "as given"]
    assert given.loc[given["psd_mw2_per_hz"].idxmax(), "frequency_hz"] == pytest.approx(0.2, abs=0.01)
    fast = rows[rows["frequency_hz"] > 20].groupby("nodes")["psd_mw2_per_hz"].max()
    assert fast["as given"] < 0.01 * fast["all nodes at once"]
    assert rows["band_share"].between(0, 1).all() and rows.groupby("nodes").size().max() <= 240


def test_limits_are_checked_where_the_bins_can():
    rows = table("limits")
    assert set(rows["specification"]) == set(power.specifications()) and (rows["verdict"] != "not known").all()
