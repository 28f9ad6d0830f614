"""Names of version 0.1: they lead to what they have become, and say so."""

from __future__ import annotations

import importlib

import pytest

import ettr
from ettr.chapters import scale, sources, thermal
from ettr.chapters.common import theme
from ettr.core import errors, moved, sentences
from ettr.files import weather
from ettr.scenario.heat_response import HeatResponse

MODULES = {
    "ettr.audit": ("audit", sources.tables.audit),
    "ettr.charts": ("finish", theme.finish),
    "ettr.charts.heat": ("afternoon", thermal.charts.afternoon),
    "ettr.curves": ("parts_by_size", scale.tables.parts_by_size),
    "ettr.errors": ("InputError", errors.InputError),
    "ettr.findings": ("Finding", sentences.Finding),
    "ettr.findings.scale": ("answer", scale.words.answer),
    "ettr.scenario.warmth": ("Warmth", HeatResponse),
    "ettr.weather": ("read", weather.read),
}


@pytest.mark.parametrize("name", MODULES)
def test_a_module_that_was_moved_is_found_with_a_warning(name):
    attribute, new = MODULES[name]
    module = importlib.import_module(name)
    with pytest.warns(DeprecationWarning, match=rf"{name}.{attribute} is now ettr\.\w[\w.]*; the old name goes with"):
        assert getattr(module, attribute) is new


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        (ettr, "Part", "Gpu"),
        (ettr.scenario, "Part", "Gpu"),
        (ettr.mitigation, "lend", "with_assumptions"),
        (ettr.mitigation, "Loan", "Assumption"),
        (ettr.evidence, "part_names", "gpu_names"),
    ],
)
def test_a_name_that_was_replaced_leads_to_the_new_one(module, old, new):
    with pytest.warns(DeprecationWarning, match=f"{old} is now .*{new}; the old name goes with version 0.3"):
        assert getattr(module, old) is getattr(module, new)


def test_attributes_that_were_renamed_lead_to_the_new_ones(llama3):
    catalogue = ettr.mitigation.catalogue()
    with pytest.warns(DeprecationWarning, match=r"Catalogue\.lends is now Catalogue\.assumptions"):
        assert catalogue.lends is catalogue.assumptions
    with pytest.warns(DeprecationWarning, match=r"Scenario\.warmth is now Scenario\.heat_response"):
        assert llama3.warmth is None


@pytest.mark.parametrize(
    "ask",
    [lambda _: ettr.weather.read, lambda _: ettr.Part, lambda _: ettr.scenario.Part, lambda run: run.warmth],
)
def test_the_warning_points_at_the_line_that_asks(llama3, ask):
    with pytest.warns(DeprecationWarning, match="is now") as warned:
        ask(llama3)
    assert warned[0].filename == __file__


@pytest.mark.parametrize("name", ["ettr.curve", "ettr.charts.heatt", "ettr.charts.heat.pace"])
def test_what_never_was_is_not_found(name):
    with pytest.raises(ModuleNotFoundError, match=name):
        importlib.import_module(name)


def test_names_that_never_were_are_refused():
    with pytest.raises(AttributeError, match="module 'ettr' has no attribute 'budgets'"):
        ettr.budgets  # noqa: B018
    with pytest.raises(AttributeError, match=r"module 'ettr\.curves' has no attribute 'by_colour'"):
        ettr.curves.by_colour  # noqa: B018


def test_every_new_place_is_there():
    for places in moved._MODULES.values():
        for place in places:
            importlib.import_module(f"ettr.{place}")
    for new in moved._NAMES.values():
        module, _, name = f"ettr.{new}".rpartition(".")
        assert hasattr(importlib.import_module(module), name)
    for chapter in moved._CHAPTERS.values():
        importlib.import_module(f"ettr.chapters.{chapter}")
