"""The ``ettr`` command: its options, its commands, and how errors end it."""

from __future__ import annotations

import importlib
import inspect
import sys
import traceback
import typing
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from ettr import __version__
from ettr.core.errors import EttrError
from ettr.core.extras import MissingExtra
from ettr.core.quantities import noun_of, parse_count, parse_quantity
from ettr.core.sentences import cut, printable
from ettr.core.units import unit_of

COMMANDS = {
    "plan": "plan",
    "simulate": "simulate",
    "compare": "compare",
    "fit": "fit",
    "power": "power",
    "telemetry": "telemetry",
    "sweep": "sweep",
    "book": "book",
    "drill": "drill",
    "scenarios": "lists",
    "gpus": "lists",
    "formats": "lists",
    "fields": "fields",
    "mitigations": "lists",
}
"""Commands in the order of the help, and the files that hold them."""


class _Commands(TyperGroup):
    """The commands, each loaded when it is asked for: no question waits for what only others need."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands: Any = dict.fromkeys(COMMANDS)  # the names, so that a slip is answered with the nearest

    def make_context(self, *args: Any, **extra: Any) -> Any:
        with _cleaned_usage_errors():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: Any) -> Any:
        with _cleaned_usage_errors():
            return super().invoke(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if self.commands.get(cmd_name) is None and cmd_name in COMMANDS:
            self.commands[cmd_name] = _loaded(cmd_name)
        return self.commands.get(cmd_name)


@contextmanager
def _cleaned_usage_errors() -> Iterator[None]:
    """Take what terminals would follow out of the words that Typer repeats in its errors, which it prints itself."""
    try:
        yield
    except Exception as error:
        if isinstance(message := getattr(error, "message", None), str):
            error.message = printable(message)  # type: ignore[attr-defined]
        raise


def _loaded(name: str) -> Any:
    module = importlib.import_module(f"ettr.cli.{COMMANDS[name]}")
    one = getattr(module, "app", None)
    if one is None:
        one = typer.Typer(add_completion=False)
        one.command(name)(getattr(module, name))
    for registered in one.registered_commands:
        _read_numbers(registered.callback)
    command = typer.main.get_command(one)
    command.name = name
    return command


class _NoNumber(EttrError):
    """An option that takes a number was given something else; no ``ValueError``, which Typer would put in its words."""


_UNITS = {"S": "s", "MIN": "min", "H": "h", "DAYS": "days", "USD": "USD"}
"""Units of options whose name has none, by their placeholder in the help."""


def _read_numbers(function: Any) -> None:
    """Have all options of a command that take a number read it as people write numbers."""
    function = inspect.unwrap(function)  # whose annotations Typer reads
    hints = typing.get_type_hints(function, include_extras=True)
    for name, hint in hints.items():
        kind, *facts = typing.get_args(hint) or (hint,)
        kinds = {kind, *typing.get_args(kind)}
        for option in facts if {int, float} & kinds else ():
            # of an annotated option Typer keeps the first of its names as the default, until it makes a command of it
            option.metavar = option.metavar or "N"
            unit = unit_of(name) or _UNITS.get(option.metavar, "")
            noun = noun_of(unit, whole=int in kinds)
            if option.metavar in ("ETTR", "SHARE"):
                noun = "a share, e.g. 0.9 or 90%"
            option.parser = _reader(str(option.default), noun, unit, whole=int in kinds)
    function.__annotations__ = hints


def _reader(option: str, noun: str, unit: str, *, whole: bool) -> Callable[[Any], float]:
    """Return the function that reads the number of an option, or refuses it by the option's name and unit."""

    def read(text: Any) -> float:
        if not isinstance(text, str):  # the default
            return typing.cast("float", text)
        try:
            return parse_count(text, unit) if whole else parse_quantity(text, unit)
        except ValueError as error:
            raise _NoNumber(f"{option} takes {noun}, got {cut(repr(text), 80)} ({error})") from None

    return read


app = typer.Typer(
    name="ettr",
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ettr {__version__}")  # noqa: TID251
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Failures, checkpoints and the Effective Training Time Ratio of large training runs.

    Exit status: 0 with an answer; 1 if a file cannot be written or an extra is
    missing; 2 if the input is refused; 3 if a plan does not reach --target or
    --fail-below; 130 after Ctrl-C.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; errors raised on purpose become one message and an exit status."""
    given = _with_each_map(list(sys.argv[1:] if arguments is None else arguments))
    debug = "--debug" in given
    given = [argument for argument in given if argument != "--debug"]  # holds before and after a command
    try:
        app(args=given, prog_name="ettr")
    except (EttrError, MissingExtra) as error:
        lines = error.args if isinstance(error, EttrError) else [error]
        _fail(debug, 2 if isinstance(error, (ValueError, _NoNumber)) else 1, *map(str, lines))
    except OSError as error:  # without a name it is standard output
        where = error.filename or "cannot write the answer"
        _fail(debug, 1, f"{where}: {error.strerror or error}")


def _fail(debug: bool, status: int, first: str = "", *others: str) -> NoReturn:
    """End with a message on standard error, and before it the traceback if asked to."""
    from ettr.cli.terminal import say

    if debug:
        # indented, as a message may break within a name, and no line of it is to look like one of ours
        say(*(f"  {line}" for line in traceback.format_exc().splitlines()), err=True)
    say(f"ettr: {first}", *others, err=True)
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
