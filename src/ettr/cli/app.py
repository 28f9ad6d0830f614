"""The ``ettr`` command: its options, its commands, and how errors end it."""

from __future__ import annotations

import importlib
import os
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Annotated, Any, NoReturn

import typer

from ettr import __version__
from ettr.cli.help import SETTINGS, Command, Group, write_help
from ettr.cli.number_options import NotANumber, read_numbers
from ettr.core.compiled import has_home
from ettr.core.errors import EttrError, InputError
from ettr.core.extras import MissingExtra

COMMANDS = {
    "Plan": {
        "plan": "Find the best checkpoint interval, the cost of failures, and the mitigations to start with.",
        "compare": "Rank mitigations by the money or time they save, and recommend a set.",
        "simulate": "Simulate a run many times: finishing dates, ETTR and where the hours go.",
        "cluster": "Show where the GPU-hours of a cluster of many jobs go, and what to do about failures.",
        "power": "Compute the power that a run draws from the grid, its swings and its cost.",
    },
    "Learn from logs": {
        "fit": "Estimate failure rates from a failure log, or the ETTR of a run from its training log.",
        "telemetry": "Fit a GPU's power and thermal figures to a recording, or make a recording.",
        "drill": "Train on this machine, inject faults, and compare the lost time with the model's prediction.",
    },
    "Explore": {
        "sweep": "Run a notebook, or a function of the package, at every point of a parameter grid.",
        "book": "Run the chapters of the book, also with your own scenario, and build its pages.",
    },
    "Reference": {
        "scenarios": "List the preset scenarios with their size, MTTF and ETTR.",
        "fields": "Search the fields of a scenario: meaning, unit, default and allowed values.",
        "mitigations": "List or search the mitigations of `ettr compare`, and the evidence for each.",
        "gpus": "List or search the GPUs known by name, and how many figures of each are assumed.",
        "formats": "List the log formats that `ettr fit` reads, or show one format.",
        "completion": "Print the script that completes `ettr` commands in bash, zsh or fish.",
    },
}
"""First lines of the commands by name and topic, in the order of the help, so that it needs no command loaded."""
_SUMMARIES = {name: summary for commands in COMMANDS.values() for name, summary in commands.items()}
_MODULES = {**dict.fromkeys(("scenarios", "gpus", "formats", "mitigations"), "lists")}
"""Modules of commands that are not called like them."""


class _Commands(Group):
    """The commands of ``ettr``, each loaded when it is used, as most load libraries that others do not need."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands: Any = dict.fromkeys(_SUMMARIES)  # the names, so that a slip is answered with the nearest

    def make_context(self, *args: Any, **extra: Any) -> Any:
        with _usage_errors():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: Any) -> Any:
        with _usage_errors():
            return super().invoke(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if self.commands.get(cmd_name) is None and cmd_name in _SUMMARIES:
            self.commands[cmd_name] = _loaded(cmd_name)
        return self.commands.get(cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        write_help(self, ctx, formatter, COMMANDS)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        loaded = self.commands
        self.commands = {name: Command(name, help=summary) for name, summary in _SUMMARIES.items()}
        try:
            return super().shell_complete(ctx, incomplete)
        finally:
            self.commands = loaded


class _UsageError(InputError):
    """Arguments that no command takes, in the words of Typer and with the usage."""


@contextmanager
def _usage_errors() -> Iterator[None]:
    """Raise the errors that Typer would print itself as ours, which end the command with a message like all others."""
    try:
        yield
    except Exception as error:
        if not hasattr(error, "format_message") or type(error).__name__ == "NoArgsIsHelpError":
            raise
        message = error.format_message().rstrip(".")
        message = re.sub(r"[.]? +(?:Did you mean|\(Possible options:) (.*?)[?)]$", r"; did you mean \1?", message)
        message = re.sub(
            r"^Got (unexpected extra argument)\S* \((.*)\)$", r"\1: \2 (quote values with spaces)", message
        )
        context = getattr(error, "ctx", None)
        usage = [] if context is None else [re.sub("[{}]", "", f"{context.get_usage()}  (more with --help)")]
        raise _UsageError(message[:1].lower() + message[1:], *usage) from None


def _loaded(name: str) -> Any:
    module = importlib.import_module(f"ettr.cli.{_MODULES.get(name, name)}")
    group = getattr(module, "app", None)
    if group is None:
        group = typer.Typer(add_completion=False, context_settings=SETTINGS)
        group.command(name, cls=Command)(getattr(module, name))
    for registered in group.registered_commands:
        read_numbers(registered.callback)
    command = typer.main.get_command(group)
    command.name = name
    return command


app = typer.Typer(
    name="ettr",
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings=SETTINGS,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ettr {__version__}")  # noqa: TID251
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Plan large training runs: failures, checkpoints and the effective training time ratio (ETTR).

    `ettr help COMMAND` and `ettr COMMAND --help` describe a command. Numbers may be written with thousands separators,
    k, M, B or T, %, and units: 4,096, 4k, 90%, 9h, 12min, $2.5.

    Exit status: 0 answer; 1 a file cannot be written or an extra is not installed; 2 input refused; 3 the plan misses
    --target or --fail-below; 130 stopped with Ctrl-C.

    Example: ettr plan --gpus 4096 --mtbf-h 9 --stall-s 90 --restart-min 12

    Example: ettr compare llama3-405b

    Example: ettr fit faults.csv --nodes 256
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; errors raised on purpose become one message and an exit status."""
    command_line = _with_each_map(list(sys.argv[1:] if arguments is None else arguments))
    debug = "--debug" in command_line
    command_line = [argument for argument in command_line if argument != "--debug"]  # before or after a command
    if command_line[:1] == ["help"]:
        command_line = [*command_line[1:], "--help"]
    _give_home()
    try:
        if "_ETTR_COMPLETE" in os.environ:
            from typer.completion import completion_init  # type: ignore[attr-defined]

            completion_init()
        app(args=command_line, prog_name="ettr")
    except (EttrError, MissingExtra) as error:
        lines = error.args if isinstance(error, EttrError) else [error]
        _fail(debug, 2 if isinstance(error, (ValueError, NotANumber)) else 1, *map(str, lines))
    except OSError as error:  # without a name it is standard output
        where = error.filename or "cannot write the answer"
        _fail(debug, 1, f"{where}: {error.strerror or error}")


def _give_home() -> None:
    """Give this process an empty home folder if its user has none: libraries of charts and notebooks need one."""
    if not has_home():
        import atexit

        from ettr.core import durable

        stack = ExitStack()
        with suppress(OSError):
            os.environ["HOME"] = str(stack.enter_context(durable.temporary_folder()))
            atexit.register(stack.close)


def _fail(debug: bool, status: int, first: str = "", *others: str) -> NoReturn:
    """End with a message on standard error, and before it the traceback if asked to."""
    from ettr.cli.terminal import say, with_options

    if debug:
        # indented, so that a line end within a name cannot fake a message of this command
        say(*(f"  {line}" for line in traceback.format_exc().splitlines()), err=True)
    say(*(with_options(line) for line in (f"ettr: {first}", *others)), err=True)
    sys.exit(status)


def _with_each_map(arguments: list[str]) -> list[str]:
    """Repeat ``--map`` before each of its pairs, so that it may be followed by several."""
    spread: list[str] = []
    in_map = False
    for argument in arguments:
        pair = "=" in argument and not argument.startswith("-")
        if in_map and pair and spread[-1] != "--map":
            spread.append("--map")
        in_map = argument == "--map" or argument.startswith("--map=") or (in_map and pair)
        spread.append(argument)
    return spread
