"""What the package answered before a change: numbers, chart specifications and texts, held by their digests.

    python tests/golden.py                  # compute all again and name what differs from golden.json
    python tests/golden.py --renew          # accept what is computed now
    python tests/golden.py --keep DIR       # also write the answers themselves to DIR, to see what differs
    python tests/golden.py --only chapter   # those whose name contains this

Numbers are rounded to ten significant digits. A specification is told apart from another by what it says: names that
Altair counts on or makes from the data are replaced by their order.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
KEPT = Path(__file__).with_suffix(".json")
DIGITS = 10

PRESETS = sorted(path.stem for path in (ROOT / "data" / "scenarios").glob("*.yml"))
BASE = """
name: {name}
title: {name}
cluster: {{n_gpus: 1024}}
job: {{productive_h: 500}}
failures: {failures}
checkpoint: {checkpoint}
recovery: {{detection_min: 5, restart_min: 12}}
{more}
"""
FAILURES = "{n_events: 12, node_days: 5120, rate_clock: wall}"
CHECKPOINT = "{interval_min: 60, stall_s: 45}"
ODD = {
    "plain": {},
    "tiers": {
        "checkpoint": "{interval_min: 60, stall_s: 45, store: {n_parameters: 70e9, write_gb_s: 50}, tiers: "
        "[{name: peer memory, interval_s: 60, stall_s: 0.2, write_s: 5, load_s: 10, copies: 2}]}"
    },
    "predicted": {"more": "prediction: {recall: 0.6, precision: 0.85, lead_s: 120, action_s: 30}"},
    "silent": {
        "failures": "{n_events: 12, node_days: 5120, modes: [{name: SDC, category: GPU, share: 0.2, latency_h: 24}]}"
    },
    "burn-in": {"failures": "{n_events: 12, node_days: 5120, burn_in: {factor: 5, decay_days: 20}}"},
    "weibull": {"failures": "{n_events: 12, node_days: 5120, lifetime: {shape: 0.7, start: new}}"},
    "repairs": {
        "failures": "{n_events: 60, node_days: 5120, lemons: {share: 0.02, factor: 8}}",
        "more": "spares: {n_nodes: 3}\nrepair: {manual_h: 24}",
    },
    "background": {
        "checkpoint": "{interval_min: 30, stall_s: 5, persist_s: 300, persist_slowdown: 0.1}",
        "more": "maintenance: {per_day: 0.5, duration_min: 30}",
    },
    "warm": {
        "failures": "{rate_per_1000_node_days: 6.5, modes: "
        "[{name: GPU, category: GPU, share: 0.6, heat_share: 0.5, heat_energy_ev: 0.7}]}",
        "more": "heat: {part: h100, cooling: air_economiser, mean_c: 22, swing_k: 7}\n"
        "power: {step_s: 5, pue: 1.2, country: DEU}\ncost: {usd_per_gpu_h: 2.5, usd_per_kwh: 0.1}",
    },
    "never": {"failures": "{n_events: 0, node_days: 5120}"},
}
LOG = (
    *("fit", "data/glm130b_events.csv", "--nodes", "96"),
    *("--window", "2022-05-06T04:00+08:00/2022-06-29T21:53+08:00", "--map", "start=time", "cause=kind"),
    *("--planned", "start|planned|suspect|experiment|maintenance|loss"),
)
SPEC = re.compile(r'<script type="application/vnd\.vegalite[^"]*">(.*?)</script>', re.DOTALL)
COUNTED = re.compile(r"\b(?:data-[0-9a-f]{32}|(?:view|param|selector|layer|concat|name)_?\d+(?=\b|_))")


def commands(folder: Path) -> dict[str, tuple[str, ...]]:
    """Every question to the ``ettr`` command, by name."""
    runs = {name: name for name in PRESETS}
    for name, changed in ODD.items():
        path = folder / f"{name}.yml"
        values = {"failures": FAILURES, "checkpoint": CHECKPOINT, "more": "", **changed}
        path.write_text(BASE.format(name=name, **values), encoding="utf-8")
        runs[f"odd-{name}"] = str(path)
    asked: dict[str, tuple[str, ...]] = {}
    for name, run in runs.items():
        asked[f"plan/{name}"] = ("plan", run)
        asked[f"target/{name}"] = ("plan", run, "--quick", "--target", "0.95")
        asked[f"simulate/{name}"] = ("simulate", run, "--runs", "200", "--quiet")
        asked[f"power/{name}"] = ("power", run)
        asked[f"compare/{name}"] = ("compare", run, "--runs", "20", "--quiet")
    asked["fit/glm-130b"] = (*LOG, "--quiet")
    asked["limits"] = ("power", "llama3-405b", "--limits", "utility-example")
    asked["budget"] = ("compare", "llama3-405b", "--runs", "20", "--budget", "2000000", "--quiet")
    for name in ("scenarios", "formats", "mitigations"):
        asked[name] = (name,)
    return asked


def answer(arguments: tuple[str, ...]) -> str:
    """What the command says, its errors and its exit status included."""
    from ettr import cli

    out, err, status = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            cli.main(arguments)
        except SystemExit as stopped:
            status = int(stopped.code or 0)
    answered = status in (0, 3)  # 3 where the answer is that a target is not reached
    return out.getvalue() if answered else f"exit {status}\n{err.getvalue()}"


def command(name: str, arguments: tuple[str, ...]) -> dict[str, Any]:
    """The answer as JSON and as text, without the folder that scenarios were written to."""
    folder = str(Path(arguments[1]).parent) if len(arguments) > 1 and arguments[1].endswith(".yml") else None
    found: dict[str, Any] = {}
    for form, options in (("json", ("--json",)), ("text", ())):
        text = answer((*arguments, *options))
        text = text.replace(folder, "FOLDER") if folder else text
        found[f"{form}/{name}"] = json.loads(text) if form == "json" and text.startswith(("{", "[")) else text
    return found


def chapter(name: str, scenario: str | None) -> dict[str, Any]:
    """What a notebook shows and records, output by output."""
    from ettr import notebook

    source = ROOT / f"{name}.ipynb"
    declared = notebook.declared_parameters(source)
    if scenario and not any(parameter.name == "scenario" for parameter in declared):
        return {}
    with tempfile.TemporaryDirectory() as folder:
        done = notebook.run(source, Path(folder) / "out.ipynb", {"scenario": scenario} if scenario else {})
        executed = notebook.read(done.path)
    found = {}
    for cell in executed.cells:
        for at, output in enumerate(cell.get("outputs", [])):
            place = f"{cell.id}/{at}"
            found |= {f"{kind}/{name}@{scenario or 'own'}/{place}": value for kind, value in shown(output)}
    return found


def shown(output: Any) -> Iterator[tuple[str, Any]]:
    """An output as a chart, a record or a text."""
    data = output.get("data", {})
    for kind, value in data.items():
        if kind.endswith("record+json"):
            yield "record", value
            return
    page = data.get("text/html", "")
    specs = SPEC.findall(page)
    if specs:
        yield "chart", json.loads(specs[0].replace("<\\/", "</"))
    else:
        yield "words", page or data.get("text/markdown") or data.get("text/plain") or output.get("text", "")


def plain(value: Any) -> Any:
    """The value with ten significant digits."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def canonical(value: Any) -> str:
    """The value as text: ten digits, keys in order, and counted names by their order."""
    text = json.dumps(plain(value), sort_keys=True, ensure_ascii=False)
    names: dict[str, str] = {}
    return COUNTED.sub(lambda match: names.setdefault(match[0], f"counted-{len(names)}"), text)


def digest(value: Any) -> str:
    return hashlib.sha256(canonical(value).encode()).hexdigest()[:16]


def job(kind: str, name: str, what: Any) -> dict[str, Any]:
    os.chdir(ROOT)
    os.environ |= {"COLUMNS": "120", "NO_COLOR": "1"}
    return command(name, what) if kind == "command" else chapter(name, what)


def everything(only: str) -> dict[str, Any]:
    """All values by name."""
    from ettr_book.publish import chapters

    pages = [name for name in chapters.docnames(ROOT) if (ROOT / f"{name}.ipynb").is_file()]
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(2) as pool:
        jobs = [("chapter", name, scenario) for name in pages for scenario in (None, "rsc-1")]
        jobs += [("command", name, asked) for name, asked in commands(Path(folder)).items()]
        jobs = [one for one in jobs if only in f"{one[0]}/{one[1]}@{one[2]}"]
        futures = [pool.submit(job, *one) for one in jobs]
        found: dict[str, Any] = {}
        for at, future in enumerate(as_completed(futures), 1):
            found |= future.result()
            print(f"\r{at} of {len(jobs)}", end="", file=sys.stderr)
    print(file=sys.stderr)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--renew", action="store_true", help="accept what is computed now")
    parser.add_argument("--keep", type=Path, help="write the answers themselves here")
    parser.add_argument("--only", default="", help="those whose name contains this")
    asked = parser.parse_args()
    found = everything(asked.only)
    if asked.keep:
        for name, value in found.items():
            path = asked.keep / f"{name.replace('/', '--')}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(json.loads(canonical(value)), indent=1, ensure_ascii=False), encoding="utf-8")
    now = {name: digest(value) for name, value in sorted(found.items())}
    if asked.renew:
        KEPT.write_text(json.dumps(now, indent=0) + "\n", encoding="utf-8")
        return 0
    before = json.loads(KEPT.read_text(encoding="utf-8"))
    different = [
        name for name in sorted({*now, *(before if not asked.only else now)}) if now.get(name) != before.get(name)
    ]
    for name in different:
        state = "gone" if name not in now else "new" if name not in before else "differs"
        print(f"{state:8} {name}")
    print(f"{len(now) - sum(name in now for name in different)} of {len(before)} equal, {len(different)} different")
    return bool(different)


if __name__ == "__main__":
    sys.exit(main())
