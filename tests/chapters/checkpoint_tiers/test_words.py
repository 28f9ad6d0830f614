"""Sentences on tiers: sums that a reader can check, and what stands in the place of what."""

from __future__ import annotations

import re

import book_pages as pages

PAGE = "book/ettr/checkpoint_tiers"


def test_the_sum_by_hand_is_that_of_the_numbers_that_are_shown():
    (hand,) = [finding.text for finding in pages.findings(PAGE) if finding.title == "By hand"]
    first, second, both = map(float, re.search(r"([\d.]+)% \+ ([\d.]+)% = ([\d.]+)%", hand).groups())
    assert round(first + second, 6) == both
    (gain,) = pages.numbers(PAGE)["tiers-gain"]
    assert f"says {gain}." in hand
    assert f"= {first:.2f}% of the time" in hand and f"= {second:.2f}%. From memory" in hand


def test_the_best_is_not_said_to_be_made_of_what_it_replaces():
    """Just in time stands in the place of peer memory, which cannot be a part of its gain."""
    best, others = pages.answer(PAGE).removeprefix("**").split("**")
    assert best.startswith("Just-in-time") and "peer" not in best
    assert re.search(r"instead.*peer memory", others.split(". ")[0])
