"""Sentences of the chapter on one failure log do not contradict each other."""

from __future__ import annotations

import book_pages as pages

PAGE = "book/your_cluster/failure_log"


def test_failures_are_not_called_memoryless_beside_a_rising_rate_and_bad_repairs():
    titles = {finding.title for finding in pages.findings(PAGE)}
    assert "Failures become more" in titles and any("test after repair" in title for title in titles)
    assert "failures are memoryless" not in pages.answer(PAGE).lower()
    assert not any(title.startswith("Failures are memoryless") for title in titles)
