"""What a run is known by."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ettr import notebook
from ettr.notebook import Identity
from notebooks import written


def digest(path: Path, parameters: dict, root: Path | None = None) -> str:
    return Identity.of_notebook(path, root).digest(parameters)


def test_a_digest_depends_on_code_values_files_data_and_versions(tmp_path):
    path = written(tmp_path / "book" / "a.ipynb", "print(1)")
    (tmp_path / "_toc.yml").touch()
    mine = tmp_path / "mine.yml"
    mine.write_text("a: 1")
    values = {"scenario": str(mine)}
    seen = {
        digest(path, {}),
        digest(path, values),
        digest(path, {"scenario": "x"}),
    }
    for change in (
        lambda: mine.write_text("a: 2"),
        lambda: (tmp_path / "data").mkdir() or (tmp_path / "data" / "datapackage.json").write_text("{}"),
        lambda: (tmp_path / "data" / "t.csv").write_text("x\n1\n"),
        lambda: (tmp_path / "data" / "t.csv").write_text("x\n2\n"),
        lambda: (tmp_path / "requirements.txt").write_text("numpy==2.4.6\n"),
        lambda: written(path, "print(2)"),
    ):
        change()
        now = digest(path, values)
        assert now not in seen
        seen.add(now)


def test_a_scenario_counts_with_the_files_that_it_names_itself(tmp_path):
    path = written(tmp_path / "a.ipynb", "print(1)")
    scenario, part, weather = (tmp_path / name for name in ("mine.yml", "part.yml", "hall.csv"))
    scenario.write_text(f"heat: {{part: {part}, weather: {weather}, more: [mine.yml, nothing.csv]}}")
    part.write_text("name: mine")
    weather.write_text("time,temperature")
    values = {"scenario": str(scenario)}
    seen = {digest(path, values, root=tmp_path)}
    for changed in (part, weather):
        changed.write_text("other")
        seen.add(digest(path, values, root=tmp_path))
    assert len(seen) == 3
    apart = tmp_path / "apart"
    apart.mkdir()
    beside = apart / "mine.yml"
    beside.write_text("heat: {weather: site.csv}")
    before = digest(path, {"scenario": str(beside)}, root=tmp_path)
    (apart / "site.csv").write_text("time,temperature")
    assert digest(path, {"scenario": str(beside)}, root=tmp_path) != before
    scenario.write_text("broken: [")
    assert digest(path, values, root=tmp_path) not in seen


@pytest.mark.parametrize(
    "text", ["w: !mine inner.txt\n", "w: inner.txt\nw: inner.txt\n", "w: [inner.txt, {\n", "a: b.yml\nw: inner.txt\n"]
)
def test_files_count_that_a_file_names_which_only_the_notebook_can_read(text, tmp_path):
    book = written(tmp_path / "a.ipynb", "1", parameters="x = ''  # a file")
    (tmp_path / "a.yml").write_text(text)
    (tmp_path / "b.yml").write_text("a: a.yml\n")  # names the first one in turn
    seen = set()
    for content in ("old", "new", "newer"):
        (tmp_path / "inner.txt").write_text(content)
        seen.add(digest(book, {"x": "a.yml"}, root=tmp_path))
    assert len(seen) == 3


def test_a_digest_does_not_depend_on_text_cells(tmp_path):
    path = written(tmp_path / "a.ipynb", "print(1)")
    before = digest(path, {})
    document = json.loads(path.read_text())
    document["cells"][0]["source"] = "# Why?"
    path.write_text(json.dumps(document))
    assert digest(path, {}) == before


SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5)
)
VALUES = SCALARS | st.lists(SCALARS | st.lists(SCALARS, max_size=2), max_size=3)
PARAMETERS = st.dictionaries(st.text("ab.", min_size=1, max_size=3), VALUES, max_size=3)


@pytest.fixture(scope="module")
def identity() -> Identity:
    return Identity(["code"], Path("/nowhere"))


@settings(deadline=None)
@given(first=PARAMETERS, second=PARAMETERS)
def test_different_parameters_have_different_ids_in_whatever_order(identity, first, second):
    assert identity.digest(first) == identity.digest(dict(reversed(first.items())))
    same = json.dumps(first, sort_keys=True) == json.dumps(second, sort_keys=True)
    assert (identity.digest(first) == identity.digest(second)) == same


def test_a_part_of_one_value_is_not_taken_for_another(identity):
    assert identity.digest({"a": 'x"]\n["b", "y'}) != identity.digest({"a": "x", "b": "y"})


def test_surroundings_name_what_machines_must_share():
    versions = notebook.surroundings()
    assert {"ettr", "Python", "numpy", "pandas", "papermill"} <= set(versions)
    assert notebook.package_digest()[:12] in versions["ettr"]


def test_a_notebook_whose_cells_have_no_ids_is_the_same_each_time(tmp_path):
    path = written(tmp_path / "a.ipynb", "print(1)")
    document = json.loads(path.read_text())
    for cell in document["cells"]:
        del cell["id"]
    path.write_text(json.dumps(document))
    assert digest(path, {}) == digest(path, {})


def test_whole_and_broken_forms_of_a_number_are_one(tmp_path):
    path = written(tmp_path / "a.ipynb", parameters="x = 1.0  # [1]")
    declared = notebook.declared_parameters(path)
    assert repr(notebook.fitted(declared, {"x": 2}, "")) == repr(notebook.fitted(declared, {"x": 2.0}, ""))
