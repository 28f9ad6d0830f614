"""The layout of ``--help``: wrapped once, options by topic, examples that can be copied."""

from __future__ import annotations

import inspect
import re
import textwrap
from typing import Any

from typer.core import TyperCommand, TyperGroup

WIDEST = 100
"""Characters per line, on terminals that are wider."""
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": WIDEST}
_WIDEST_NAME = 26
"""Characters of a name that leave room for its description."""
_EXAMPLE = "Example: "
_TYPE = re.compile(r"(?<=\S) ?<[^<>]+>(\.\.\.)?$")
"""A type such as ``<str>``, which Typer puts behind arguments and some versions behind flags."""


def write_help(command: Any, ctx: Any, formatter: Any, commands: dict[str, dict[str, str]] | None = None) -> None:
    """Write the help of a command: what it answers, its usage, details, examples, arguments and options.

    Parameters
    ----------
    commands : dict, optional
        Of a group: names and first lines of its commands, by topic.
    """
    first, *paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    examples = [paragraph.removeprefix(_EXAMPLE) for paragraph in paragraphs if paragraph.startswith(_EXAMPLE)]
    details = [paragraph for paragraph in paragraphs if not paragraph.startswith(_EXAMPLE)]
    usage = " ".join(re.sub(r"[{}]", "", piece) for piece in command.collect_usage_pieces(ctx))
    width = formatter.width
    parts = [_wrapped(first, width), _wrapped(f"Usage: {ctx.command_path} {usage}", width, indent=4)]
    parts += [_wrapped(paragraph, width) for paragraph in details]
    if examples:
        parts.append("\n".join(["Examples:", *(_example(example, width) for example in examples)]))
    for topic, entries in {**(commands or {}), **_options(command, ctx)}.items():
        parts.append("\n".join([f"{topic}:", *_columns(entries, width)]))
    formatter.write("\n\n".join(parts))


def _wrapped(text: str, width: int, first: str = "", indent: int = 0) -> str:
    """Return a text in lines, broken between words; ``first`` begins the first line in place of the indent."""
    lines = textwrap.wrap(
        " ".join(text.split()),
        width,
        initial_indent=first,
        subsequent_indent=" " * indent,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return "\n".join(lines)


def _example(example: str, width: int) -> str:
    """Return a command in lines that a shell reads as one, broken between its arguments."""
    arguments = re.findall(r"""(?:--\S+ (?!-))?(?:"[^"]*"|'[^']*'|\S)+""", example)  # an option stays with its value
    text = " ".join(argument.replace(" ", "\0") for argument in arguments)
    return _wrapped(text, width - 2, "  ", 6).replace("\0", " ").replace("\n", " \\\n")


def _columns(entries: dict[str, str], width: int) -> list[str]:
    """Return names and their descriptions side by side; below each other where a name is too long."""
    indent = min(max(map(len, entries)), _WIDEST_NAME) + 4
    lines = []
    for name, description in entries.items():
        label = f"  {name}".ljust(indent)
        if len(name) > _WIDEST_NAME:
            lines.append(label)
            label = " " * indent
        lines.append(_wrapped(description, width, label, indent))
    return lines


def _options(command: Any, ctx: Any) -> dict[str, dict[str, str]]:
    """Return arguments and options with their help, by topic, those without one last."""
    topics: dict[str, dict[str, str]] = {"Arguments": {}}
    common: dict[str, str] = {}
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is None:
            continue
        topic = "Arguments" if parameter.param_type_name == "argument" else getattr(parameter, "rich_help_panel", None)
        entries = topics.setdefault(topic, {}) if topic else common
        entries[_TYPE.sub("", record[0])] = record[1]
    return {topic: entries for topic, entries in {**topics, "Options": common}.items() if entries}


class Command(TyperCommand):
    """A command with this layout of its help."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        write_help(self, ctx, formatter)


class Group(TyperGroup):
    """A group of commands with this layout of its help."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        write_help(self, ctx, formatter)
