"""An installation without extras: its commands work, and all others name the missing extra in one sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import metadata

import pytest

import lean
from generated import is_answer

RUN = """
import contextlib, importlib.machinery, io, json, sys

request = json.load(sys.stdin)


class Fewer(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in request["hidden"] else super().find_spec(name, path, target)

    @classmethod
    def find_distributions(cls, *args, **kwargs):
        distributions = super().find_distributions(*args, **kwargs)
        return (dist for dist in distributions if dist.name.lower() not in request["gone"])


sys.meta_path[:] = [Fewer if finder is importlib.machinery.PathFinder else finder for finder in sys.meta_path]
from ettr.cli import main


def command(*arguments):
    out, err, status = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(arguments)
        except SystemExit as end:
            status = end.code or 0
    return [status, out.getvalue(), err.getvalue()]


def expression(text):
    import ettr, ettr_book.validation

    try:
        names = {"ettr": ettr, "ettr_book": ettr_book, "run": ettr.Scenario.load("llama3-405b")}
        return [0, repr(eval(text, names)), ""]
    except ImportError as error:
        return [1, "", f"{error}\\n"]


answers = [command(*arguments) for arguments in request["commands"]]
answers += [expression(text) for text in request["expressions"]]
print(json.dumps(answers))
"""
FEW = "run.override({'spares': {'n_nodes': 4}, 'repair': {'manual_h': 24}})"
TIMELINE = "__import__('pandas').DataFrame({'start_h': [0.0], 'end_h': [0.1], 'state': ['training']})"
SERIES = f"ettr.power.series({TIMELINE}, ettr.power.profile(run), 1.0)"
WORKS = (
    "ettr.plan.make(run).headline",
    f"ettr.plan.make({FEW}).headline",
    f"ettr.plan.make({FEW}, simulate=False)._repr_html_()",
    "ettr.plan.make(run)._repr_html_()",
    "ettr.evidence.bibliography()",
    "ettr.record(value=1.0)",
    "ettr_book.validation.referee(64)",
    f"ettr.power.metrics({SERIES})",
)
"""Functions that need no extra."""
NEEDS = {
    "ettr.simulate(run, 1)": "simulate",
    f"ettr.plan.make({FEW}).simulation": "simulate",
    f"ettr.spares.least_pool({FEW}, 0.9)": "simulate",
    "ettr.recommendation.mitigations(run, ['peer-checkpoint'])": "simulate",
    "ettr_book.validation.run()": "simulate",
    f"ettr.power.smooth({SERIES}, ettr.power.PowerFloor(0.5, 1.0, 0.1, 0.1))": "simulate",
    "__import__('ettr_book.chapters.scale')": "sweep",
    "ettr.sweep.call": "sweep",
    "ettr.notebook.run(ettr.notebook.chapter('scale'), 'out.ipynb')": "sweep",
    "__import__('ettr_book.publish')": "book",
    "ettr.telemetry.record('new.csv', load='none')": "record",
    "ettr.evidence.validate()": "dev",
}
"""Functions that need an extra, and which one."""


@pytest.fixture(scope="module")
def answers_of(tmp_path_factory):
    """Answers of commands and expressions in an installation with an extra, all in one process."""

    def ask(extra, commands, expressions=()):
        folder = tmp_path_factory.mktemp("lean")
        for name, text in lean.FILES.items():
            (folder / name).write_text(text, encoding="utf-8")
        hidden = lean.not_brought(extra)
        of_module = metadata.packages_distributions()
        gone = sorted({name.lower() for module in hidden for name in of_module[module]})
        request = {"hidden": sorted(hidden), "gone": gone, "commands": commands, "expressions": expressions}
        command = [sys.executable, "-W", "error", "-c", RUN]
        done = subprocess.run(
            command, cwd=folder, input=json.dumps(request), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        answers = json.loads(done.stdout.splitlines()[-1])
        return dict(zip([*commands, *expressions], answers, strict=True))

    return ask


@pytest.fixture(scope="module")
def without_extras(answers_of):
    return answers_of(lean.BASE, [*lean.ANSWERS, *lean.WITHOUT_DATES, *lean.NEEDS], [*WORKS, *NEEDS])


def test_only_packages_outside_the_dependencies_are_hidden():
    hidden = lean.not_brought(lean.BASE)
    assert {"numba", "altair", "pyarrow", "papermill", "IPython", "frictionless", "pybtex"} <= hidden
    assert not {"numpy", "scipy", "pandas", "pydantic", "pydantic_core", "yaml", "typer", "rich", "ettr"} & hidden
    assert {"numba", "altair", "pyarrow"} <= hidden - lean.not_brought("sweep")


@pytest.mark.parametrize("what", [*lean.ANSWERS, *WORKS], ids=str)
def test_it_answers_without_extras(without_extras, what):
    status, out, err = without_extras[what]
    assert is_answer(" ".join(what), status, err) and out
    assert "pip install" not in out


@pytest.mark.parametrize("what", lean.WITHOUT_DATES, ids=str)
def test_it_answers_without_simulated_dates(without_extras, what):
    status, out, err = without_extras[what]
    assert (status, err) == (0, "") and out.count("pip install 'ettr[simulate]'") == 1
    assert "recommendation" in out if "--json" in what else "ETTR (" in out


@pytest.mark.parametrize(("what", "extra"), [*lean.NEEDS.items(), *NEEDS.items()], ids=str)
def test_a_command_without_its_extra_names_it_in_one_sentence(without_extras, what, extra):
    status, out, err = without_extras[what]
    assert (status, out) == (1, "")
    assert lean.sentence(extra).match(err.removesuffix("\n")), err
    if "plan" in what[0] or "plan.make" in what:
        option = "`simulate=False`" if "plan.make" in what else "`--quick`"
        assert err.endswith(f"pip install 'ettr[simulate]', or plan without it ({option})\n")


def test_an_answer_in_a_notebook_names_the_missing_extra(answers_of):
    expression = f"ettr.plan.make({FEW})._repr_html_()"
    status, out, _ = answers_of(lean.BASE, [], [expression])[expression]
    assert status == 0 and out.count("<p") == 2 and "pip install" in out and "llama3-405b: checkpoint every" in out


@pytest.mark.slow
@pytest.mark.parametrize("extra", ["simulate", "sweep"])
def test_an_extra_enables_its_commands(answers_of, extra):
    extras = [extra, "simulate"]
    good = [what for what, needed in lean.NEEDS.items() if needed in extras and what[:2] != ("sweep", "scale")]
    short = [what for what, needed in lean.NEEDS.items() if needed not in extras]
    answers = answers_of(extra, [*good, *short])
    for what in good:
        assert answers[what][0] == 0, answers[what]
    for what in short:
        assert lean.sentence(lean.NEEDS[what]).match(answers[what][2].removesuffix("\n")), answers[what]
