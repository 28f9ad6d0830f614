"""``data/`` is transcribed right, and every kind of damage is named with its place."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from ettr import evidence
from ettr.core.errors import DataError, UnknownName
from ettr.evidence.__main__ import main
from ettr.evidence.published import EFFECTIVE

TABLES = ("llama3_interruptions", "llama3_parallelism", "figures")
FILES = ("scenarios/rsc-1", "scenarios/rsc-2", "gpus/h100")


@pytest.fixture(scope="session")
def small(tmp_path_factory) -> Path:
    """A few files of each kind and the sources that they name: all rules, and quick to check."""
    folder = tmp_path_factory.mktemp("small") / "data"
    described = package(evidence.DATA)
    kept = [resource for resource in described["resources"] if resource["name"] in (*TABLES, *FILES, "references")]
    texts = {resource["path"]: (evidence.DATA / resource["path"]).read_text(encoding="utf-8") for resource in kept}
    texts["figures.csv"] = "".join(texts["figures.csv"].splitlines(keepends=True)[:8])
    sources = re.split(r"(?m)^(?=@)", texts.pop("references.bib"))
    used = "".join(texts.values())
    texts["references.bib"] = "".join(source for source in sources[1:] if re.search(r"{([^,]+),", source)[1] in used)
    for path, text in {**texts, "datapackage.json": json.dumps({**described, "resources": kept})}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8", newline="\n")
    evidence.stamp(folder)
    return folder


@pytest.fixture
def copied(small, tmp_path) -> Path:
    """A copy of it, to damage."""
    return Path(shutil.copytree(small, tmp_path / "data"))


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8", newline="\n")


def package(folder: Path) -> dict:
    return json.loads((folder / "datapackage.json").read_text(encoding="utf-8"))


def edit_field(folder: Path, table: str, field: str, **changes: object) -> None:
    described = package(folder)
    resource = next(entry for entry in described["resources"] if entry["name"] == table)
    next(entry for entry in resource["schema"]["fields"] if entry["name"] == field).update(changes)
    (folder / "datapackage.json").write_text(json.dumps(described), encoding="utf-8")


def refusal(folder: Path) -> str:
    with pytest.raises(DataError) as caught:
        evidence.validate(folder)
    return str(caught.value)


# --------------------------------------------------------------------------- what is there


def test_the_command_finds_everything_in_data_valid(capsys):
    assert main([]) == 0
    assert "tables are valid" in capsys.readouterr().out


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
        ("ft-hsdp-32k", 2.3, 2.3, 2.3),
        ("coreweave-hopper", 2.134, 2.134, 2.134),  # 8,000 / 3,748.25
        ("lablup-b200", 2.886, 2.886, 2.886),  # 10,000 / (63 × 55)
        ("databricks-premise", 0.2190, 0.2190, 0.2190),  # 80 / 365.25
        ("nebius-3000", 1.131, 1.131, 1.131),  # 24,000 / (375 × 56.6)
    ],
)
def test_published_rates_on_one_scale(cluster, low, rate, high):
    row = evidence.published_rates().set_index("cluster_id").loc[cluster]
    # tolerance: the expected values are rounded to three or four digits
    assert [row["rate_low"], row["rate"], row["rate_high"]] == pytest.approx([low, rate, high], rel=5e-4)


def test_the_columns_read_without_pandas_are_those_of_the_frame():
    frame = evidence.cluster_rates()
    for name, values in evidence.cluster_rate_columns().items():
        expected = frame[name].to_numpy(values.dtype, na_value=np.nan) if values.dtype == float else frame[name]
        np.testing.assert_array_equal(values, expected, err_msg=name)


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


def test_reported_shares_say_what_they_are_shares_of():
    shares = evidence.published_ettr().set_index("run")
    of_jobs = shares[shares["quantity"] == EFFECTIVE]
    assert list(of_jobs.index) == ["Llama 3 405B", "MegaScale", "ByteRobust, dense", "Meta, 100,000 GPUs"]
    assert (of_jobs["n_gpus"] == of_jobs["n_gpus_high"]).all()
    cloud = shares.loc["NVIDIA DGX Cloud"]
    assert (cloud["share"], cloud["n_gpus"], cloud["n_gpus_high"]) == (0.99, 2000.0, 10000.0)  # less than 1% down
    assert shares.loc[["CoreWeave", "SIGMA"], "n_gpus"].isna().all()  # neither states a size
    assert shares["bound"].isin(["more than", "up to", ""]).all()


def test_causes_of_a_study_are_shares_of_all_its_failures():
    causes = evidence.table("failure_causes")
    assert causes.groupby("study")["share_pct"].sum().to_numpy() == pytest.approx(100.0, abs=0.05)
    crusoe = causes.loc[causes["study"] == "crusoe-h200", "share_pct"]
    # tolerance: shares are printed to one decimal, 17% to none; 205 failures make them whole numbers
    assert crusoe.to_numpy() == pytest.approx((crusoe * 2.05).round().to_numpy() / 2.05, abs=0.08)


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


# --------------------------------------------------------------------------- damage


READ = {
    "figures.csv": lambda folder: evidence.figure("llama3_window_days", folder),
    "llama3_interruptions.csv": lambda folder: evidence.table("llama3_interruptions", folder),
    "scenarios/rsc-1.yml": lambda folder: evidence.scenario_text("rsc-1", folder),
    "references.bib": evidence.bibliography,
}


@pytest.mark.parametrize("file", READ)
def test_a_missing_file(copied, file):
    (copied / file).unlink()
    with pytest.raises(DataError, match=rf"{file} is missing.*version control"):
        READ[file](copied)
    problems = refusal(copied)
    assert f"data/{file} is missing" in problems and problems.count("\n- ") == 1


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [("llama3_interruptions.csv", "GPU,148,", "GPU,126,"), ("scenarios/rsc-1.yml", "6.50", "6.05")],
)
def test_an_edited_number_that_fits_the_schema(copied, file, old, new):
    READ[file](copied)  # what was read before is not remembered too long
    replace(copied / file, old, new)
    with pytest.raises(DataError, match=rf"{file} was changed.*make data-hashes"):
        READ[file](copied)
    assert f"data/{file} was changed" in refusal(copied)


INTERRUPTIONS = "data/llama3_interruptions.csv, row 2, field"


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        ("llama3_interruptions.csv", "GPU,148,", "GPU,many,", f"{INTERRUPTIONS} n_events: 'many' is not of type int"),
        (
            "llama3_interruptions.csv",
            "148,30.1",
            "148,130.1",
            f'{INTERRUPTIONS} printed_pct: \'130.1\' breaks the rule "maximum" is "100"',
        ),
        (
            "llama3_interruptions.csv",
            "dubey2024,primary",
            "dubey2024,certain",
            f"{INTERRUPTIONS} status: 'certain' breaks the rule \"enum\" is \"['primary', 'secondary',",
        ),
        (
            "llama3_interruptions.csv",
            "dubey2024",
            "dubey2025",
            f"{INTERRUPTIONS} source: 'dubey2025' is not a key of references.bib",
        ),
        ("llama3_parallelism.csv", "\n", "\r\n", "data/llama3_parallelism.csv: lines must end in LF"),
        (
            "figures.csv",
            "llama3_window_days,54,d",
            "llama3_window_days,54,h",
            "data/figures.csv, row 5, figure llama3_window_days: the unit 'h' contradicts",
        ),
        ("references.bib", "title = {", "title = {{", "data/references.bib cannot be read"),
    ],
)
def test_damage_to_a_file_is_named_with_its_place(copied, file, old, new, expected):
    replace(copied / file, old, new)
    assert expected in refusal(copied)


@pytest.mark.parametrize(
    ("field", "changes", "expected"),
    [
        ("printed_pct", {"unit": "h"}, "the unit 'h' contradicts the name, whose ending _pct means '%'"),
        ("n_events", {"unit": None}, "the unit is missing"),
        ("n_events", {"unit": "min"}, "the unit 'min' needs an ending of the name"),
        ("n_events", {"type": "whole"}, ""),
    ],
)
def test_damage_to_the_description_of_a_field(copied, field, changes, expected):
    edit_field(copied, "llama3_interruptions", field, **changes)
    place = "datapackage.json, table llama3_interruptions"
    assert (f"{place}, field {field}: {expected}" if expected else place) in refusal(copied)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("source: kokolis2025}", "source: kokolis2024}", "the source 'kokolis2024' is not a key"),
        ("status: secondary", "status: certain", "the status 'certain' is not one of primary"),
        ("  cluster.gpus_per_node:", "  cluster.gpus:", "cluster.gpus_per_node has no entry in evidence"),
        (', note: "highest priority"', "", "the status assumed needs a note"),
        ("name: rsc-1", "name: rsc-3", "the name 'rsc-3' is not the name of the file"),
        ("cluster: {", "cluster: {{", "broken YAML"),
        ("evidence:", "origins:", "needs a section evidence"),
    ],
)
def test_a_damaged_preset(copied, old, new, expected):
    replace(copied / "scenarios" / "rsc-1.yml", old, new)
    message = refusal(copied)
    assert "data/scenarios/rsc-1.yml" in message
    assert expected in message


def test_a_file_that_nothing_describes(copied):
    (copied / "new.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    assert "data/new.csv is not listed in datapackage.json; add it as a resource with its schema" in refusal(copied)


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


def test_stamping_all_of_data_changes_no_byte(tmp_path):
    folder = Path(shutil.copytree(evidence.DATA, tmp_path / "data"))
    assert evidence.stamp(folder) == []
    assert (folder / "datapackage.json").read_bytes() == (evidence.DATA / "datapackage.json").read_bytes()


def copy_preset(folder: Path, old: str, new: str) -> Path:
    path = folder / f"{new}.yml"
    text = (folder / f"{old}.yml").read_text(encoding="utf-8")
    path.write_text(text.replace(f"name: {old.rpartition('/')[2]}", f"name: {path.stem}"), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("old", "new", "names", "text"),
    [
        ("scenarios/rsc-1", "scenarios/rsc-1b", evidence.scenario_names, evidence.scenario_text),
        ("gpus/h100", "gpus/zeta", evidence.gpu_names, evidence.gpu_text),
    ],
)
def test_stamping_lists_a_new_preset_and_changes_nothing_else(copied, capsys, old, new, names, text):
    kind, name = new.split("/")
    before = package(copied)
    names_before, path = names(copied), copy_preset(copied, old, new)
    assert f"data/{new}.yml is not listed in datapackage.json; run `make data-hashes`" in refusal(copied)
    with pytest.raises(DataError, match=rf"^data/{new}\.yml is not listed .*`make data-hashes`, which lists it$"):
        text(name, copied)
    assert main(["--stamp", "--folder", str(copied)]) == 0
    assert capsys.readouterr().out == f"newly listed: {new}.yml\nhashes renewed: {new}.yml\n"
    evidence.validate(copied)
    assert names(copied) == tuple(sorted([*names_before, name]))
    assert text(name, copied) == path.read_text(encoding="utf-8")
    after = package(copied)
    order = [resource["name"] for resource in after["resources"]]
    at = order.index(new)
    added, like = after["resources"].pop(at), after["resources"][at - 1]
    of_kind = [entry for entry in order if entry.startswith(f"{kind}/")]
    assert of_kind == sorted(of_kind) and like["name"] == old
    assert list(added) == list(like) and added["description"] == like["description"]
    assert after == before


# --------------------------------------------------------------------------- published runs, and clusters


@pytest.mark.parametrize(
    ("n_gpus", "operator", "size"),
    [(100_000, "Meta", 100_000), (131_072, "Meta", 100_000), (12_000, "ByteDance", 12_288), (200_000, None, None)],
)
def test_the_published_run_of_similar_size_is_the_nearest(n_gpus, operator, size):
    nearest = evidence.published_near(n_gpus)
    assert (nearest.operator, nearest.n_gpus) == (operator, size) if nearest else operator is None
