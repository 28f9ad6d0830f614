"""What every chart specification is asked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from book_pages import fields_of, layers, values_of


@pytest.fixture
def check_chart() -> Callable[..., None]:
    """A valid specification that carries its texts and reads only fields that its data has."""

    def check(spec: dict, subtitle: str = "") -> None:
        assert subtitle in spec["title"].get("subtitle", "")
        json.dumps(spec, allow_nan=False)
        assert spec["title"]["text"].strip() and spec["width"] == "container" and spec["height"] > 40
        assert len(spec["description"]) > 40
        assert not re.search(r"\b(nan|inf|None)\b|  ", spec["description"])
        for layer in layers(spec):
            rows = values_of(spec, layer)
            assert set(fields_of(layer["encoding"])) <= set().union(*(set(row) for row in rows))
        titles = [
            channel["title"]
            for layer in layers(spec)
            for name, channel in layer["encoding"].items()
            if name == "x" and isinstance(channel, dict) and channel.get("title")
        ]
        assert titles  # an axis has a name

    return check


@pytest.fixture
def layers_of() -> Callable[..., list[dict]]:
    """All single charts of a specification, or those with a kind of mark; ``rows`` are the data of each."""
    return lambda spec, mark="": [
        {**layer, "rows": values_of(spec, layer)} for layer in layers(spec) if not mark or layer["mark"]["type"] == mark
    ]


@pytest.fixture
def layer_of() -> Callable[..., dict]:
    """The layer with a kind of mark, and a field if several have it; ``rows`` are its data."""

    def find(spec: dict, mark: str, field: str = "") -> dict:
        (match,) = [
            {**layer, "rows": values_of(spec, layer)}
            for layer in layers(spec)
            if layer["mark"]["type"] == mark and (not field or field in fields_of(layer["encoding"]))
        ]
        return match

    return find


@pytest.fixture
def encoding_of(layer_of) -> Callable[..., dict]:
    return lambda *which: layer_of(*which)["encoding"]


@pytest.fixture
def chart_values() -> Callable[[dict], list[dict]]:
    """The rows of a chart whose layers share their data."""
    return lambda spec: values_of(spec, next(layers(spec)))
