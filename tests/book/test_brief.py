"""The one-page brief."""

from __future__ import annotations

import re

import pytest

pytestmark = pytest.mark.browser


def test_the_brief_prints_on_one_sheet_of_a4(site, open_page):
    page = open_page(site / "book/your_cluster/brief.html")
    sheets = page.pdf(format="A4", margin=dict.fromkeys(("top", "right", "bottom", "left"), "12mm"))
    assert len(re.findall(rb"/Type\s*/Page\b", sheets)) == 1
