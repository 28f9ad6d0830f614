"""A page of a real browser that holds the script of the pages, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from script.comparing import STATIC


@pytest.fixture(scope="session")
def page(browser) -> Iterator[Any]:
    context = browser.new_context(offline=True)
    page = context.new_page()
    for name in ("model.js", "plan.js", "calculators.js"):
        page.add_script_tag(content=(STATIC / name).read_text(encoding="utf-8"))
    yield page
    context.close()
