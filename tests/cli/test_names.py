"""Files and folders may be called anything: scenarios, what stands beside them, and where answers go."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from ettr import Gpu, Scenario

FOLDERS = ("-100% a b'@#ümlaut ß", 'quo"te`tick[br]{ace}$HOME,comma=eq;&~%20%s', "x" * 220)


@pytest.fixture(params=FOLDERS)
def mine(request, tmp_path, monkeypatch) -> Path:
    """A scenario with weather and a GPU beside it, in a folder of the working folder."""
    folder = tmp_path / request.param
    folder.mkdir()
    rows = "".join(f"2025-06-01T{hour:02d}:00,{hour}\n" for hour in range(24))
    (folder / "-site #1@ä.csv").write_text(f"time,temp_c\n{rows}", encoding="utf-8")
    (folder / "my 'gpu' 100%.yml").write_text(Gpu.load("h100").to_yaml(), encoding="utf-8")
    path = folder / "mi'ne @#%.yml"
    path.write_text(
        "cluster: {n_gpus: 64}\njob: {productive_h: 48}\nfailures: {job_mttf_h: 40}\n"
        "heat: {weather: '-site #1@ä.csv', part: \"my 'gpu' 100%.yml\"}\npower: {part: \"my 'gpu' 100%.yml\"}\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    return path


def test_what_a_scenario_names_is_found_beside_it_and_a_saved_one_is_the_same(mine, in_words):
    run, saved = Scenario.load(mine), mine.with_name("-saved '@#.yml")
    assert run.part.name == "h100" and Path(run.heat.weather).parent == mine.parent
    assert "Useful time (ETTR)" in in_words("plan", str(mine), "--quick", "--save", str(saved))
    assert Scenario.load(saved) == run
    assert in_words("plan", f"./{saved.relative_to(Path.cwd())}", "--quick")


def test_a_sweep_takes_such_names_and_writes_to_them(mine, ettr):
    grid, out = mine.with_name("-grid @#'.yml"), mine.with_name("-out @#%'")
    grid.write_text("recovery.restart_min: [5, 10]\n", encoding="utf-8")
    given = (f"--scenario={mine}", f"--grid={grid}", f"--out={out}", "--workers", "1", "--quiet")
    status, _, err = ettr("sweep", "--call", "budget", *given)
    assert (status, err) == (0, "")
    assert pd.read_parquet(out / "results.parquet")["ettr"].is_monotonic_decreasing
