"""A scenario as a file that people read: a line a section, a line a mode, a line an origin."""

from __future__ import annotations

from typing import Any

import yaml

from ettr.scenario.loader import StrictLoader
from ettr.scenario.paths import LISTS

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
