"""Write a scenario as a readable YAML file: one line per section, mode and origin."""

from __future__ import annotations

from typing import Any

import yaml
from pydantic.fields import FieldInfo

from ettr.core.units import unit_of
from ettr.core.yaml_files import StrictLoader
from ettr.scenario.basics import Section
from ettr.scenario.fields import meta_of
from ettr.scenario.paths import LISTS, model_of

_LISTED = [path.rpartition(".")[2] for path in LISTS]


class StrictDumper(yaml.SafeDumper):
    """YAML writer for :class:`StrictLoader`: text that YAML would read as a number is quoted."""

    yaml_implicit_resolvers = {  # noqa: RUF012
        first: [
            *yaml.SafeDumper.yaml_implicit_resolvers.get(first, ()),
            *StrictLoader.yaml_implicit_resolvers.get(first, ()),
        ]
        for first in {*yaml.SafeDumper.yaml_implicit_resolvers, *StrictLoader.yaml_implicit_resolvers}
    }

    def ignore_aliases(self, data: Any) -> bool:
        return True


def as_yaml(sections: dict[str, Any]) -> str:
    """Return the YAML text of a scenario's values, in the order of ``sections``."""
    lines = []
    for name, value in sections.items():
        if name == "evidence":
            lines += ["evidence:", *(f"  {_flow(path)}: {_flow(origin)}" for path, origin in value.items())]
        elif isinstance(value, dict) and (listed := [key for key in _LISTED if value.get(key)]):
            fields = {field: inner for field, inner in value.items() if field not in listed}
            lines += [f"{name}:", *(f"  {field}: {_flow(inner)}" for field, inner in fields.items())]
            for key in listed:
                lines += [f"  {key}:", *(f"    - {_flow(item)}" for item in value[key])]
        else:
            lines.append(f"{name}: {_flow(value)}")
    return "\n".join(lines) + "\n"


_HEAD = """# A job on a cluster, the input of `ettr plan` and all other commands; `ettr fields WORD` finds fields.
# Lines that begin with # show assumed values: remove the #, and that of their section, to set your own.
"""
_SHOWN = ("cluster", "job", "checkpoint", "recovery", "cost")
"""Sections whose assumed fields are written as comments."""


def commented(sections: dict[str, Any], model: type[Section]) -> str:
    """Return YAML text with the meaning of each field and the assumed values as comments."""
    lines = [_HEAD.rstrip("\n")]
    order = [name for name in model.model_fields if name in sections or name in _SHOWN]
    for name in order:
        inner, values = model_of(model.model_fields[name].annotation), sections.get(name, {})
        if (
            inner is None
            or name == "evidence"
            or any(isinstance(inner_value, (list, tuple, dict)) for inner_value in values.values())
        ):
            lines.append(as_yaml({name: values}).rstrip("\n"))
            continue
        fields = list(inner.model_fields.items())
        field_lines = [
            f"  {key}: {_flow(values[key])}  # {_meaning(key, field)}" for key, field in fields if key in values
        ]
        rest = [line for key, field in fields if key not in values and (line := _assumed(key, field))]
        if name in _SHOWN:
            field_lines += rest
        real = any(not line.startswith("  #") for line in field_lines)
        lines += [f"{name}:" if real else f"# {name}:", *field_lines]
    return "\n".join(lines) + "\n"


def _meaning(key: str, field: FieldInfo) -> str:
    unit = unit_of(key)
    return f"{f'[{unit}] ' if unit else ''}{field.description}"


def _assumed(key: str, field: FieldInfo) -> str:
    """Return an assumed field as a comment with default, range and source; empty without a default."""
    plausible = meta_of(field).plausible
    if (
        field.default is None
        or not isinstance(field.default, (int, float, str))
        or (plausible is None and field.default == 0)
    ):
        return ""
    ends = f"; plausible range {plausible.low:g} to {plausible.high:g} ({plausible.source})" if plausible else ""
    return f"  # {key}: {_flow(field.default)}  # {_meaning(key, field)}{ends}"


def _flow(value: Any) -> str:
    """Return one value on one line."""
    value = list(value) if isinstance(value, tuple) else _short(value)
    text: str = yaml.dump(
        value, Dumper=StrictDumper, default_flow_style=True, width=10**6, allow_unicode=True, sort_keys=False
    )
    return text.removesuffix("\n...\n").rstrip("\n")


def _short(value: Any) -> Any:
    """Return whole numbers without a decimal point."""
    if isinstance(value, dict):
        return {key: _short(inner) for key, inner in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else value
