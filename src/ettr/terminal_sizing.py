"""What `ettr plan` shows of a job given by its tokens: how many GPUs, and what the next one adds."""

from __future__ import annotations

from ettr.findings.words import number, pct
from ettr.sizing import CHEAPEST, FASTEST, GREENEST, Sizing, Yields
from ettr.terminal import console, table

_COLUMNS = {
    "n_gpus": "GPUs",
    "within": "90%",
    "days": "days",
    "cost": "million USD",
    "energy": "GWh",
    "carbon": "t CO2",
    "power": "MW",
    "ettr": "ETTR",
    "mfu": "MFU",
}


def print_sizing(answer: Sizing) -> None:
    """Show how many GPUs a job should have."""
    from rich.text import Text

    from ettr import findings

    out = console()
    out.print(Text("How many GPUs", style="bold"))
    rows = [{"name": "this size", "within": "", **_amounts(answer.as_given)}]
    for goal in (FASTEST, CHEAPEST, GREENEST):
        if goal in answer.best:
            found = answer.best[goal]
            within = f"{number(found.n_gpus_low)} to {number(found.n_gpus_high)}"
            rows.append({"name": goal, "within": within, **_amounts(found.yields)})
    out.print(table("", _COLUMNS, rows))
    for line in findings.sizing.lines(answer):
        out.print(Text(line), soft_wrap=True)
    out.print(Text(f"The bands come {answer.band_source}."), style="dim", soft_wrap=True)


def _amounts(found: Yields) -> dict[str, str]:
    return {
        "n_gpus": f"{float(found.n_gpus):,.0f}",
        "days": f"{float(found.days):,.1f}",
        "cost": f"{float(found.usd) / 1e6:,.1f}",
        "energy": f"{float(found.mwh) / 1e3:,.1f}",
        "carbon": f"{float(found.t_co2):,.0f}",
        "power": f"{float(found.power_mw):,.1f}",
        "ettr": pct(float(found.ettr)),
        "mfu": pct(float(found.mfu)),
    }
