"""A scenario as a file that people read: a line a section, a line a mode, a line an origin."""

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
    """Writes what :class:`StrictLoader` reads back: text that either YAML would take for a number is quoted."""

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
    """YAML text of a scenario's values, in the order of ``sections``."""
    lines = []
    for name, value in sections.items():
        if name == "evidence":
            lines += ["evidence:", *(f"  {_flow(path)}: {_flow(origin)}" for path, origin in value.items())]
        elif isinstance(value, dict) and (listed := [key for key in _LISTED if value.get(key)]):
            given = {field: inner for field, inner in value.items() if field not in listed}
            lines += [f"{name}:", *(f"  {field}: {_flow(inner)}" for field, inner in given.items())]
            for key in listed:
                lines += [f"  {key}:", *(f"    - {_flow(item)}" for item in value[key])]
        else:
            lines.append(f"{name}: {_flow(value)}")
    return "\n".join(lines) + "\n"


_HEAD = """# A job on a cluster, as `ettr plan` and all other commands take it; `ettr fields` finds every field.
# A line that begins with # is what is assumed: without the sign, its section's too, it is your own value.
"""
_SHOWN = ("cluster", "job", "checkpoint", "recovery", "cost")
"""Sections whose assumed fields are written down as comments."""


def commented(sections: dict[str, Any], model: type[Section]) -> str:
    """YAML text as of :func:`as_yaml` that says what each field means, and what is assumed where nothing is given."""
    lines = [_HEAD.rstrip("\n")]
    order = [name for name in model.model_fields if name in sections or name in _SHOWN]
    for name in order:
        inner, given = model_of(model.model_fields[name].annotation), sections.get(name, {})
        if inner is None or name == "evidence" or any(isinstance(one, (list, tuple, dict)) for one in given.values()):
            lines.append(as_yaml({name: given}).rstrip("\n"))
            continue
        fields = list(inner.model_fields.items())
        own = [f"  {key}: {_flow(given[key])}  # {_meaning(key, field)}" for key, field in fields if key in given]
        rest = [line for key, field in fields if key not in given and (line := _assumed(key, field))]
        if name in _SHOWN:
            own += rest
        real = any(not line.startswith("  #") for line in own)
        lines += [f"{name}:" if real else f"# {name}:", *own]
    return "\n".join(lines) + "\n"


def _meaning(key: str, field: FieldInfo) -> str:
    unit = unit_of(key)
    return f"{f'[{unit}] ' if unit else ''}{field.description}"


def _assumed(key: str, field: FieldInfo) -> str:
    """A field that nobody gave, as a comment: its default, its range and who says so; empty without a default."""
    known = meta_of(field).plausible
    if (
        field.default is None
        or not isinstance(field.default, (int, float, str))
        or (known is None and field.default == 0)
    ):
        return ""
    ends = f"; {known.low:g} to {known.high:g} is plausible ({known.source})" if known else ""
    return f"  # {key}: {_flow(field.default)}  # {_meaning(key, field)}{ends}"


def _flow(value: Any) -> str:
    """One value on one line."""
    value = list(value) if isinstance(value, tuple) else _short(value)
    text: str = yaml.dump(
        value, Dumper=StrictDumper, default_flow_style=True, width=10**6, allow_unicode=True, sort_keys=False
    )
    return text.removesuffix("\n...\n").rstrip("\n")


def _short(value: Any) -> Any:
    """Whole numbers without their point, as people write them."""
    if isinstance(value, dict):
        return {key: _short(inner) for key, inner in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else value
