"""``ettr completion``, and the words that a shell completes arguments with."""

from __future__ import annotations

import glob
from collections.abc import Iterable
from typing import Annotated

import typer

from ettr.cli import terminal
from ettr.core.errors import UnknownName

SHELLS = ("bash", "zsh", "fish")
_NO_SPACE = "[[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace\n    return 0"
"""Lines of bash: no space is added behind ``FIELD=``, whose value comes next."""


def completion(
    shell: Annotated[
        str,
        typer.Argument(metavar="SHELL", help="bash, zsh or fish.", autocompletion=lambda: list(SHELLS)),
    ],
) -> None:
    """Print the script that completes `ettr` commands in bash, zsh or fish.

    In bash, add this line to ~/.bashrc: eval "$(ettr completion bash)"

    In zsh, add this line to ~/.zshrc, below compinit: eval "$(ettr completion zsh)"

    In fish, once: ettr completion fish > ~/.config/fish/completions/ettr.fish

    Commands, options, presets and the fields of --set are completed.
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    if shell not in SHELLS:
        raise UnknownName("shell", shell, SHELLS)
    script = get_completion_script(prog_name="ettr", complete_var="_ETTR_COMPLETE", shell=shell)
    terminal.say(*script.replace("return 0", _NO_SPACE).split("\n"))


def scenarios(incomplete: str) -> list[str]:
    """Return the presets and scenario files that begin with a text."""
    from ettr.evidence import scenario_names

    return [*_beginning(incomplete, scenario_names()), *files(incomplete, ".yml", ".yaml")]


def gpus(incomplete: str) -> list[str]:
    """Return the GPUs and GPU files that begin with a text."""
    from ettr.scenario import Gpu

    return [*_beginning(incomplete, Gpu.presets()["name"]), *files(incomplete, ".yml", ".yaml")]


def periods(incomplete: str) -> list[str]:
    """Return the periods by which the ETTR of a run can be shown."""
    from ettr.logs.training.goodput import PERIODS

    return _beginning(incomplete, PERIODS)


def files(incomplete: str, *endings: str) -> list[str]:
    """Return the files with some endings whose path begins with a text."""
    return [path for ending in endings for path in sorted(glob.glob(f"{glob.escape(incomplete)}*{ending}"))]


def fields(incomplete: str) -> list[str]:
    """Return the paths of a scenario's fields that begin with a text."""
    from ettr.scenario import Scenario
    from ettr.scenario.paths import paths_of

    return _beginning(incomplete, paths_of(Scenario))


def fields_to_set(incomplete: str) -> list[str]:
    """Return what ``--set`` may begin with."""
    return [f"{path}=" for path in fields(incomplete)]


def mitigations(incomplete: str) -> list[str]:
    """Return the mitigations that the last name of a list begins with."""
    from ettr import mitigation

    *before, last = incomplete.split(",")
    return [",".join([*before, id_]) for id_ in _beginning(last, mitigation.catalogue().to_frame()["id"])]


def faults(incomplete: str) -> list[str]:
    """Return what ``--fault`` may begin with."""
    from ettr.drill.settings import KINDS

    return _beginning(incomplete, (f"{kind}=" for kind in KINDS))


def formats(incomplete: str) -> list[str]:
    """Return the formats of logs that begin with a text."""
    from ettr.logs.formats import ALL_FORMATS

    return _beginning(incomplete, ALL_FORMATS.table()["name"])


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
