"""The help of every command, and the completion of commands in shells."""

from __future__ import annotations

import itertools
import os
import re
import shlex
import subprocess
import sys

import pytest

from ettr import Scenario, __version__
from ettr.cli.app import COMMANDS
from ettr.cli.completion import SHELLS
from ettr.cli.help import WIDEST
from ettr.scenario.paths import paths_of

NAMES = [name for commands in COMMANDS.values() for name in commands]
HELPED = [(name,) for name in NAMES] + [("telemetry", "record")]


@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("command", [(), *HELPED], ids=" ".join)
def test_help_is_wrapped_once_to_the_terminal(ettr, monkeypatch, command, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    status, out, _ = ettr(*command, "--help")
    width = min(columns, WIDEST) - 2
    assert status == 0
    first = out.partition("Usage: ")[0].split("\n\n")
    details = out.partition("Usage: ")[2].partition("\n\n")[2].partition("Examples:")[0].split("\n\n")
    for paragraph in [*first, *details]:
        lines = paragraph.split("\n")
        if any(line.startswith(" ") for line in lines):  # options
            continue
        for line, following in itertools.pairwise(lines):
            assert len(line) <= width < len(line) + 1 + len(f"{following} ".split()[0]), (line, following)


@pytest.mark.parametrize("command", HELPED, ids=" ".join)
def test_help_names_usage_options_and_exit_status_without_types(ettr, command):
    _, out, _ = ettr(*command, "--help")
    assert f"Usage: ettr {' '.join(command)} [OPTIONS]" in out
    assert not re.search(r"<(bool|str|int|float|path|text|integer)>|[{}]\n", out, re.IGNORECASE)
    assert out == ettr(*command, "-h")[1] == ettr("help", *command)[1]
    if command[0] not in ("scenarios", "completion"):
        assert "Exit status: 0 " in out and "Examples:\n  ettr " in out


def test_the_help_of_ettr_groups_its_commands(ettr):
    out = ettr("--help")[1]
    assert out == ettr("help")[1]
    for topic, commands in COMMANDS.items():
        listed = out.partition(f"{topic}:\n")[2].partition("\n\n")[0]
        assert re.findall(r"^  (\w+)", listed, re.MULTILINE) == list(commands)
    assert re.search(r"Exit status: 0 .* 1 .* 2 .* 3 .* 130 ", " ".join(out.split()))


def test_the_version_is_shown(ettr):
    assert ettr("--version")[:2] == ettr("-V")[:2] == (0, f"ettr {__version__}\n")


def completed(line: str, shell: str = "bash") -> list[str]:
    """Return what a shell is offered for the last word of a command line."""
    words = shlex.split(line) + [""] * line.endswith(" ")
    variables = {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)}
    variables |= {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    variables["_ETTR_COMPLETE"] = f"complete_{shell}"
    command = [os.path.join(os.path.dirname(sys.executable), "ettr")]
    done = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, check=True)
    if shell == "zsh":
        return re.findall(r'(?:^|\()"([^"]*)"', done.stdout, re.MULTILINE)
    return [candidate.split("\t")[0] for candidate in done.stdout.split("\n") if candidate]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes_commands(shell):
    assert completed("ettr pl", shell) == ["plan"]
    assert completed("ettr plan --set cluster.n", shell) == ["cluster.n_gpus="]


@pytest.mark.parametrize(
    ("line", "candidates"),
    [
        ("ettr ", NAMES),
        ("ettr plan --gp", ["--gpus", "--gpus-per-node", "--gpu-mtbf-h"]),
        ("ettr plan llama3-405b-", ["llama3-405b-tokens"]),
        ("ettr plan --target 0.9 --field recovery.r", ["recovery.restart_min"]),
        ("ettr fields ", paths_of(Scenario)),
        ("ettr compare rsc-1 --only lemon-removal,peer-c", ["lemon-removal,peer-checkpoint"]),
        ("ettr fit faults.csv --format slurm-", ["slurm-json"]),
        ("ettr power rsc-1 --part gb3", ["gb300"]),
        ("ettr drill dir --fault cr", ["crash="]),
        ("ettr completion ", list(SHELLS)),
    ],
)
def test_arguments_are_completed(line, candidates):
    assert completed(line) == candidates


def test_bash_takes_the_script_and_adds_no_space_after_a_field(ettr, tmp_path):
    status, script, _ = ettr("completion", "bash")
    (tmp_path / "ettr.bash").write_text(script)
    check = 'source ettr.bash; compopt() { echo "$@"; }; COMP_WORDS=(ettr plan --set cluster.n); COMP_CWORD=3\n'
    check += '_ettr_completion ettr; echo "${COMPREPLY[@]}"; complete -p ettr'
    path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", check], cwd=tmp_path, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=True
    )
    assert status == 0 and done.stdout.split()[:3] == ["-o", "nospace", "cluster.n_gpus="]
    assert "-F _ettr_completion ettr" in done.stdout


def test_an_unknown_shell_is_refused(refused):
    assert "bash, fish, zsh" in refused("completion", "tcsh")
