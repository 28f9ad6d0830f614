"""What every chart specification is asked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

import pandas as pd
import pytest

from ettr.core.errors import InputError


def layers(spec: dict, data: dict | None = None) -> Iterator[dict]:
    """The single charts of a specification, however deep, each with the data that it reads."""
    data = spec.get("data", data)
    if "layer" in spec:
        for layer in spec["layer"]:
            yield from layers(layer, data)
    else:
        yield {**spec, "data": data}


def values_of(spec: dict, layer: dict) -> list[dict]:
    return spec["datasets"][layer["data"]["name"]]


def fields_of(encoding: object) -> Iterator[str]:
    if isinstance(encoding, dict):
        if isinstance(encoding.get("field"), str):
            yield encoding["field"]
        for value in encoding.values():
            yield from fields_of(value)
    elif isinstance(encoding, list):
        for value in encoding:
            yield from fields_of(value)


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
def check_columns() -> Callable[..., None]:
    """A chart names each of these columns when one of its frames lacks it; a text of names for each frame."""

    def check(draw: Callable[..., object], frames: list[pd.DataFrame], *columns: str) -> None:
        for place, names in enumerate(columns):
            for name in names.split():
                lacking = [frame.drop(columns=name) if i == place else frame for i, frame in enumerate(frames)]
                with pytest.raises(InputError, match=f"the chart needs column {name}; there are: "):
                    draw(*lacking)

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
        (found,) = [
            {**layer, "rows": values_of(spec, layer)}
            for layer in layers(spec)
            if layer["mark"]["type"] == mark and (not field or field in fields_of(layer["encoding"]))
        ]
        return found

    return find


@pytest.fixture
def encoding_of(layer_of) -> Callable[..., dict]:
    return lambda *which: layer_of(*which)["encoding"]


@pytest.fixture
def chart_values() -> Callable[[dict], list[dict]]:
    """The rows of a chart whose layers share their data."""
    return lambda spec: values_of(spec, next(layers(spec)))
