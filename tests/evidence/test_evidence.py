"""``data/`` is transcribed right, and every kind of damage is named with its place."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml

from ettr import Gpu, Scenario, evidence
from ettr.core.errors import DataError, UnknownName
from ettr.evidence.__main__ import main


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    shutil.copytree(evidence.DATA, folder)
    return folder


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8", newline="\n")


def edit_field(folder: Path, table: str, field: str, **changes: object) -> None:
    path = folder / "datapackage.json"
    package = json.loads(path.read_text(encoding="utf-8"))
    resource = next(entry for entry in package["resources"] if entry["name"] == table)
    described = next(entry for entry in resource["schema"]["fields"] if entry["name"] == field)
    described.update(changes)
    path.write_text(json.dumps({**package}), encoding="utf-8")


def refusal(folder: Path) -> str:
    with pytest.raises(DataError) as caught:
        evidence.validate(folder)
    return str(caught.value)


# --------------------------------------------------------------------------- what is there


def test_everything_in_data_is_valid():
    evidence.validate()


def test_the_counts_of_table_5_add_up_to_the_stated_total():
    rows = evidence.table("llama3_interruptions")
    assert len(rows) == 18
    assert rows["n_events"].sum() == evidence.figure("llama3_n_unexpected").value == 419
    assert evidence.figure("llama3_n_planned").value + 419 == evidence.figure("llama3_n_interruptions").value
    totals = rows.groupby("category")["n_events"].sum().to_dict()
    assert totals == {
        "GPU": 268,
        "Dependency": 56,
        "Network": 35,
        "Unplanned Maintenance": 32,
        "Host": 21,
        "Unknown": 7,
    }


def test_the_printed_shares_of_table_5_add_up_to_94_9():
    rows = evidence.table("llama3_interruptions")
    assert rows["printed_pct"].sum() == pytest.approx(94.9, abs=1e-9)
    assert rows.loc[rows["category"] == "GPU", "printed_pct"].sum() == pytest.approx(58.7, abs=1e-9)


def test_table_4_fills_its_gpus_in_version_3_and_not_in_version_1():
    rows = evidence.table("llama3_parallelism")
    other = rows["tensor_parallel"] * rows["context_parallel"] * rows["pipeline_parallel"]
    assert (other * rows["dp_v3"] == rows["n_gpus"]).all()
    assert (other * rows["dp_v1"] == rows["n_gpus"]).tolist() == [True, True, False]
    tokens = rows["dp_v3"] * rows["batch_per_dp"] * rows["sequence_length"]
    assert (tokens == 2**24).all()  # printed as 16M


@pytest.mark.parametrize(
    ("cluster", "low", "rate", "high"),
    [  # worked by hand from the published figures
        ("llama3-unexpected", 3.789, 3.789, 3.789),
        ("llama3-all", 4.214, 4.214, 4.214),
        ("rsc-1", 6.50, 6.50, 6.50),
        ("rsc-2", 2.34, 2.34, 2.34),
        ("byterobust-dense", 1.620, 1.620, 1.620),
        ("byterobust-moe-faults", 2.611, 2.611, 2.611),
        ("megascale", 1.550, 2.325, 3.100),
        ("opt-175b-all", 13.88, 13.88, 13.88),
        ("bloom-176b", 2.976, 4.464, 5.952),
        ("imbue-70b", 4.286, 4.286, 4.286),
        ("epoch-h100", 3.84, 3.84, 3.84),
        ("delta-h100-memory", 2.163, 2.163, 2.163),
        ("aegis-h100", 5.0, 5.0, 5.0),
    ],
)
def test_published_rates_on_one_scale(cluster, low, rate, high):
    row = evidence.published_rates().set_index("cluster_id").loc[cluster]
    # tolerance: the expected values are rounded to three or four digits
    assert [row["rate_low"], row["rate"], row["rate_high"]] == pytest.approx([low, rate, high], rel=5e-4)


def test_every_published_rate_has_exactly_one_origin():
    rates = evidence.table("failure_rates")
    origins = pd.concat(
        [rates["n_events"].notna(), rates["rate_per_1000_node_days"].notna(), rates["stated_low"].notna()],
        axis=1,
    )
    assert (origins.sum(axis=1) == 1).all()
    assert evidence.published_rates()[["rate", "rate_low", "rate_high"]].notna().all(axis=None)
    assert (rates["n_events"].notna() == rates["window_days"].notna()).all()
    assert ((rates["stated_unit"] != "") == rates["stated_low"].notna()).all()


def test_a_table_has_the_types_of_its_schema():
    rates = evidence.table("failure_rates")
    assert str(rates["n_events"].dtype) == "Int64"
    assert rates["at_least"].dtype == bool
    assert rates.loc[rates["cluster_id"] == "rsc-1", "stated_unit"].item() == ""


def test_a_table_is_a_fresh_copy():
    spoiled = evidence.table("figures")
    spoiled["value"] = 0.0
    assert evidence.figure("llama3_window_days").value == 54.0
    assert evidence.table("figures")["value"].max() > 0.0


def test_a_figure_carries_unit_source_and_status():
    found = evidence.figure("llama3_n_gpus")
    assert (found.value, found.unit, found.source, found.status) == (16384.0, "count", "dubey2024", "assumed")


def test_unknown_names_offer_the_nearest():
    with pytest.raises(UnknownName, match="llama3_interruptions"):
        evidence.table("llama3_interuptions")
    with pytest.raises(UnknownName, match="did you mean 'llama3_window_days'"):
        evidence.figure("llama3_window_day")
    with pytest.raises(UnknownName, match="did you mean 'llama3-405b'"):
        evidence.scenario_text("llama-405b")


def test_the_dictionary_describes_every_column():
    described = evidence.dictionary()
    for name in evidence.table_names():
        fields = described.loc[described["table"] == name, "field"].tolist()
        assert fields == list(evidence.table(name).columns)
    assert (described["description"].str.len() > 10).all()
    numbers = described["type"].isin(["integer", "number"])
    assert (described["unit"] != "").equals(numbers)


def test_the_bibliography_names_every_document():
    sources = evidence.bibliography().set_index("key")
    assert {
        "ainewsllama31",
        "beeastsummit",
        "tomshardwarecopy",
        "metaengineering2024",
        "threeabstracts",
    } <= set(sources.index)
    assert (sources["title"].str.len() > 5).all()
    assert (sources["year"] != "").all()
    assert sources.loc["daly2006", "year"] == "2006"
    assert sources.loc["bougeret2011", "authors"].startswith("Marin Bougeret, Henri Casanova, Mikaël Rabie")
    assert not sources["title"].str.contains(r"[{}\\]").any()


@pytest.mark.parametrize("name", evidence.scenario_names())
def test_a_preset_knows_the_origin_of_every_number(name):
    preset = yaml.safe_load(evidence.scenario_text(name))
    assert preset["name"] == name
    assert preset["cluster"]["n_gpus"] % preset["cluster"]["gpus_per_node"] == 0
    assert set(preset["sources"]) <= set(evidence.bibliography()["key"])


def test_the_llama_preset_repeats_the_published_counts():
    preset = yaml.safe_load(evidence.scenario_text("llama3-405b"))
    rows = evidence.table("llama3_interruptions")
    modes = [(mode["name"], mode["category"], mode["n_events"]) for mode in preset["failures"]["modes"]]
    assert modes == list(rows[["component", "category", "n_events"]].itertuples(index=False, name=None))
    window_days, bound = (evidence.figure(f"llama3_{key}").value for key in ("window_days", "ettr_bound"))
    nodes = preset["cluster"]["n_gpus"] / preset["cluster"]["gpus_per_node"]
    assert preset["failures"]["node_days"] == nodes * window_days
    assert preset["job"]["productive_h"] == pytest.approx(24.0 * window_days * bound)


def test_the_bloom_preset_repeats_its_diary():
    preset = yaml.safe_load(evidence.scenario_text("bloom-176b"))
    first, last, step_s = (
        evidence.figure(f"bloom_{key}").value for key in ("first_iteration", "last_iteration", "iteration_s")
    )
    assert preset["job"]["productive_h"] == pytest.approx((last - first) * step_s / 3600.0, abs=0.05)  # one decimal
    rates = evidence.published_rates().set_index("cluster_id")
    assert preset["failures"]["rate_per_1000_node_days"] == pytest.approx(rates.loc["bloom-176b", "rate"], abs=0.005)


def test_the_import_leaves_slow_libraries_alone():
    code = "import sys, ettr.evidence; sys.exit(any(m in sys.modules for m in ('frictionless', 'pybtex')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --------------------------------------------------------------------------- damage


def test_a_missing_table(copied):
    (copied / "figures.csv").unlink()
    with pytest.raises(DataError, match=r"figures\.csv is missing") as caught:
        evidence.figure("llama3_window_days", copied)
    assert "version control" in str(caught.value)
    assert "data/figures.csv is missing" in refusal(copied)


def test_a_missing_preset(copied):
    (copied / "scenarios" / "rsc-1.yml").unlink()
    with pytest.raises(DataError, match=r"scenarios/rsc-1\.yml is missing"):
        evidence.scenario_text("rsc-1", copied)
    assert "data/scenarios/rsc-1.yml is missing" in refusal(copied)


def test_an_edited_number_that_fits_the_schema(copied):
    assert evidence.table("llama3_interruptions", copied)["n_events"].iloc[0] == 148
    replace(copied / "llama3_interruptions.csv", "GPU,148,", "GPU,126,")
    with pytest.raises(DataError, match=r"llama3_interruptions\.csv was changed.*make data-hashes"):
        evidence.table("llama3_interruptions", copied)
    assert "data/llama3_interruptions.csv was changed" in refusal(copied)


def test_an_edited_preset(copied):
    replace(copied / "scenarios" / "rsc-1.yml", "6.50", "6.05")
    with pytest.raises(DataError, match=r"scenarios/rsc-1\.yml was changed"):
        evidence.scenario_text("rsc-1", copied)


def test_a_wrong_type(copied):
    replace(copied / "llama3_interruptions.csv", "GPU,148,", "GPU,many,")
    expected = "data/llama3_interruptions.csv, row 2, field n_events: 'many' is not of type integer"
    with pytest.raises(DataError) as caught:
        evidence.table("llama3_interruptions", copied)
    assert expected in str(caught.value)
    assert expected in refusal(copied)


def test_a_wrong_column(copied):
    replace(copied / "llama3_interruptions.csv", "n_events", "events")
    with pytest.raises(DataError, match=r"field n_events: .*\"events\".*does not match"):
        evidence.table("llama3_interruptions", copied)


def test_a_value_out_of_range(copied):
    replace(copied / "llama3_interruptions.csv", "148,30.1", "148,130.1")
    assert 'row 2, field printed_pct: \'130.1\' breaks the rule "maximum" is "100"' in refusal(copied)


def test_an_empty_required_cell(copied):
    replace(copied / "llama3_interruptions.csv", "GPU,148,", "GPU,,")
    assert "row 2, field n_events: '' breaks the rule \"required\"" in refusal(copied)


def test_an_unknown_status(copied):
    replace(copied / "llama3_interruptions.csv", "148,30.1,dubey2024,primary", "148,30.1,dubey2024,certain")
    message = refusal(copied)
    assert "row 2, field status: 'certain' breaks the rule" in message
    assert "secondary" in message


def test_an_unknown_source(copied):
    replace(copied / "llama3_interruptions.csv", "148,30.1,dubey2024", "148,30.1,dubey2025")
    expected = "data/llama3_interruptions.csv, row 2, field source: 'dubey2025' is not a key of references.bib"
    assert expected in refusal(copied)


def test_a_duplicate_row(copied):
    path = copied / "llama3_interruptions.csv"
    text = path.read_text(encoding="utf-8")
    path.write_text(text + text.splitlines()[-1] + "\n", encoding="utf-8", newline="\n")
    assert "row 20" in refusal(copied)


def test_foreign_line_ends(copied):
    path = copied / "llama3_parallelism.csv"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert "data/llama3_parallelism.csv: lines must end in LF" in refusal(copied)


def test_a_unit_that_contradicts_the_name_of_its_field(copied):
    edit_field(copied, "llama3_interruptions", "printed_pct", unit="h")
    message = refusal(copied)
    assert "table llama3_interruptions, field printed_pct: the unit 'h' contradicts the name" in message
    assert "ending _pct means '%'" in message


def test_a_field_without_unit(copied):
    edit_field(copied, "llama3_interruptions", "n_events", unit=None)
    assert "table llama3_interruptions, field n_events: the unit is missing" in refusal(copied)


def test_a_unit_that_its_name_does_not_carry(copied):
    edit_field(copied, "llama3_interruptions", "n_events", unit="min")
    assert "field n_events: the unit 'min' needs an ending of the name" in refusal(copied)


def test_a_figure_whose_unit_contradicts_its_key(copied):
    replace(copied / "figures.csv", "llama3_window_days,54,d", "llama3_window_days,54,h")
    assert "data/figures.csv, row 5, figure llama3_window_days: the unit 'h' contradicts" in refusal(copied)


def test_an_unknown_type(copied):
    edit_field(copied, "llama3_interruptions", "n_events", type="whole")
    assert "table llama3_interruptions" in refusal(copied)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("source: kokolis2025}", "source: kokolis2024}", "the source 'kokolis2024' is not a key"),
        ("sources: [kokolis2025]", "sources: [kokolis2024]", "sources: 'kokolis2024' is not a key"),
        ("status: secondary", "status: certain", "the status 'certain' is not one of primary"),
        ("  cluster.gpus_per_node:", "  cluster.gpus:", "cluster.gpus_per_node has no entry in evidence"),
        ("  cluster.gpus_per_node:", "  cluster.gpus:", "cluster.gpus is no number of this preset"),
        (', note: "highest priority"', "", "the status assumed needs a note"),
        ("{status: secondary, source: kokolis2025}", "{status: secondary}", "a source is missing"),
        ("name: rsc-1", "name: rsc-3", "the name 'rsc-3' is not the name of the file"),
        ("cluster: {", "cluster: {{", "is not YAML"),
        ("evidence:", "origins:", "needs a section evidence"),
    ],
)
def test_a_damaged_preset(copied, old, new, expected):
    replace(copied / "scenarios" / "rsc-1.yml", old, new)
    message = refusal(copied)
    assert "data/scenarios/rsc-1.yml" in message
    assert expected in message


def test_a_broken_bibliography(copied):
    replace(copied / "references.bib", "title = {The {Llama}", "title = {The {{Llama}")
    assert "data/references.bib cannot be read" in refusal(copied)


def test_a_file_that_is_not_text(copied):
    path = copied / "figures.csv"
    path.write_bytes(path.read_bytes().replace(b"Length", b"\xff\xfe", 1))
    with pytest.raises(DataError, match=r"figures\.csv is not UTF-8 text"):
        evidence.table("figures", copied)
    assert "data/figures.csv is not UTF-8 text" in refusal(copied)


def test_a_missing_bibliography_is_the_only_problem(copied):
    (copied / "references.bib").unlink()
    assert refusal(copied).count("\n- ") == 1
    with pytest.raises(DataError, match=r"references\.bib is missing"):
        evidence.bibliography(copied)


def test_a_file_that_nothing_describes(copied):
    (copied / "new.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    assert "data/new.csv is not listed in datapackage.json; add it as a resource with its schema" in refusal(copied)


def test_a_broken_description(copied):
    (copied / "datapackage.json").write_text("{", encoding="utf-8")
    with pytest.raises(DataError, match="is not JSON"):
        evidence.table("figures", copied)
    (copied / "datapackage.json").unlink()
    with pytest.raises(DataError, match=r"datapackage\.json is missing"):
        evidence.scenario_names(copied)


# --------------------------------------------------------------------------- stamping


def test_stamping_accepts_an_intended_edit(copied, capsys):
    replace(copied / "llama3_interruptions.csv", "GPU,148,", "GPU,126,")
    assert main(["--stamp", "--folder", str(copied)]) == 0
    assert "llama3_interruptions.csv" in capsys.readouterr().out
    evidence.validate(copied)
    assert evidence.table("llama3_interruptions", copied)["n_events"].sum() == 397
    assert evidence.stamp(copied) == []


def test_stamping_refuses_damage_and_writes_nothing(copied, capsys):
    before = (copied / "datapackage.json").read_bytes()
    replace(copied / "llama3_interruptions.csv", "GPU,148,", "GPU,many,")
    assert main(["--stamp", "--folder", str(copied)]) == 1
    assert "'many' is not of type integer" in capsys.readouterr().err
    assert (copied / "datapackage.json").read_bytes() == before


def test_stamping_an_untouched_folder_changes_no_byte(copied):
    before = (copied / "datapackage.json").read_bytes()
    assert evidence.stamp(copied) == []
    assert (copied / "datapackage.json").read_bytes() == before


def copy_preset(folder: Path, old: str, new: str) -> Path:
    path = folder / f"{new}.yml"
    text = (folder / f"{old}.yml").read_text(encoding="utf-8")
    path.write_text(text.replace(f"name: {old.rpartition('/')[2]}", f"name: {path.stem}"), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("old", "new", "names", "text"),
    [
        ("scenarios/rsc-1", "scenarios/rsc-1b", evidence.scenario_names, evidence.scenario_text),
        ("scenarios/rsc-1", "scenarios/aaa", evidence.scenario_names, evidence.scenario_text),
        ("gpus/h100", "gpus/zeta", evidence.gpu_names, evidence.gpu_text),
    ],
)
def test_stamping_lists_a_new_preset(copied, capsys, old, new, names, text):
    kind, name = new.split("/")
    before, path = names(copied), copy_preset(copied, old, new)
    assert f"data/{new}.yml is not listed in datapackage.json; run `make data-hashes`" in refusal(copied)
    with pytest.raises(DataError, match=rf"^data/{new}\.yml is not listed .*`make data-hashes`, which lists it$"):
        text(name, copied)
    assert main(["--stamp", "--folder", str(copied)]) == 0
    assert capsys.readouterr().out == f"newly listed: {new}.yml\nhashes renewed: {new}.yml\n"
    evidence.validate(copied)
    assert names(copied) == tuple(sorted([*before, name]))
    assert text(name, copied) == path.read_text(encoding="utf-8")
    package = json.loads((copied / "datapackage.json").read_text(encoding="utf-8"))
    listed = [entry["name"] for entry in package["resources"] if entry["name"].startswith(f"{kind}/")]
    assert listed == sorted(listed)
    (added,) = (entry for entry in package["resources"] if entry["name"] == new)
    (like,) = (entry for entry in package["resources"] if entry["name"] == old)
    assert list(added) == list(like) and added["description"] == like["description"]


def test_stamping_changes_nothing_else_when_it_lists_a_preset(copied):
    before = json.loads((copied / "datapackage.json").read_text(encoding="utf-8"))
    copy_preset(copied, "scenarios/rsc-1", "scenarios/rsc-1b")
    evidence.stamp(copied)
    after = json.loads((copied / "datapackage.json").read_text(encoding="utf-8"))
    at = [entry["name"] for entry in after["resources"]].index("scenarios/rsc-1b")
    assert [after["resources"][at + side]["name"] for side in (-1, 1)] == ["scenarios/rsc-1", "scenarios/rsc-2"]
    del after["resources"][at]
    assert after == before


def test_stamping_lists_no_preset_that_breaks_a_rule(copied, capsys):
    before = (copied / "datapackage.json").read_bytes()
    replace(copy_preset(copied, "scenarios/rsc-1", "scenarios/mine"), "name: mine", "name: yours")
    assert main(["--stamp", "--folder", str(copied)]) == 1
    assert "data/scenarios/mine.yml: the name 'yours' is not the name of the file" in capsys.readouterr().err
    assert (copied / "datapackage.json").read_bytes() == before


def test_stamping_lists_no_draft_and_no_other_kind_of_file(copied):
    for name in (".mine.yml", "_mine.yml"):
        shutil.copy(copied / "scenarios" / "rsc-1.yml", copied / "scenarios" / name)
    assert evidence.unlisted(copied) == ()
    shutil.copy(copied / "scenarios" / "rsc-1.yml", copied / "scenarios" / "mine.yaml")
    with pytest.raises(DataError, match=r"data/scenarios/mine\.yaml is not listed in datapackage\.json"):
        evidence.stamp(copied)


def test_stamping_drops_no_file_that_is_missing(copied, capsys):
    before = (copied / "datapackage.json").read_bytes()
    (copied / "scenarios" / "rsc-2.yml").unlink()
    assert main(["--stamp", "--folder", str(copied)]) == 1
    assert "data/scenarios/rsc-2.yml is missing" in capsys.readouterr().err
    assert (copied / "datapackage.json").read_bytes() == before


@pytest.mark.parametrize("load", [Scenario.load, Gpu.load])
def test_a_preset_that_is_not_listed_is_said_where_it_is_asked_for(copied, monkeypatch, load):
    kind, old = ("scenarios", "rsc-1") if load == Scenario.load else ("gpus", "h100")
    copy_preset(copied, f"{kind}/{old}", f"{kind}/mine")
    for name in ("unlisted", "scenario_names", "gpu_names", "refuse_unlisted"):
        monkeypatch.setattr(getattr(evidence, name), "__defaults__", (copied,))
    with pytest.raises(DataError, match=rf"data/{kind}/mine\.yml is not listed .*make data-hashes"):
        load("mine")
    with pytest.raises(UnknownName, match="unknown (scenario|part) 'yours'"):
        load("yours")


def test_the_command_validates(capsys):
    assert main([]) == 0
    assert "tables are valid" in capsys.readouterr().out
